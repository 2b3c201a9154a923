/* functions.c - what tables' functions are called: the store's, and the user's own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/store/hub.h"

static void apply_own(const hw_applying *applying)
{
    static const hawser_type types[] = {
        [HW_VALUE_F32] = HAWSER_F32, [HW_VALUE_F64] = HAWSER_F64, [HW_VALUE_I64] = HAWSER_I64};
    const hawser_function *own = applying->function->user;
    const hawser_applying given = {
        .type = types[applying->type],
        .width = applying->width,
        .rows = applying->rows,
        .values = applying->values,
        .memory = applying->memory,
        .updates = applying->updates,
        .parameters = applying->parameters,
    };
    own->apply(&given);
}

const hw_function *hw_hub_function(const hawser_store *store, const char *name)
{
    for (size_t i = 0; i < store->options.function_count; i++)
        if (strcmp(store->functions[i].name, name) == 0)
            return &store->functions[i];
    return hw_function_find(name);
}

hawser_status hw_hub_functions(hawser_store *store, hawser_error *error)
{
    enum { MEMORY_MOST = 1024 };
    size_t count = store->options.function_count;
    store->options.function_count = 0; /* of those that are there */
    HAWSER_TRY(HW_NEW(&store->functions, count, "a store's functions", error));
    for (size_t i = 0; i < count; i++) {
        const hawser_function *own = &store->options.functions[i];
        if (own->name == NULL || own->name[0] == '\0' || strlen(own->name) >= HW_TABLE_NAME)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a function needs a name of 1 to %d bytes", HW_TABLE_NAME - 1);
        if (hw_hub_function(store, own->name) != NULL)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is a function '%s' already", own->name);
        if (own->apply == NULL || own->parameters > HW_FUNCTION_PARAMETERS || own->memory > MEMORY_MOST)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "function '%s' needs `apply`, %d parameters at most and %d doubles of memory at most",
                               own->name, HW_FUNCTION_PARAMETERS, MEMORY_MOST);
        store->functions[i] = (hw_function){.name = own->name,
                                            .memory = own->memory,
                                            .parameters = own->parameters,
                                            .parameter_names = "its parameters",
                                            .check = own->check,
                                            .apply = apply_own,
                                            .user = own};
        store->options.function_count = i + 1;
    }
    return HAWSER_OK;
}

hawser_status hw_hub_no_function(const hawser_store *store, const char *table, const char *function, hawser_error *error)
{
    char names[400] = "";
    size_t used = 0;
    const hw_function *known;
    for (size_t i = 0; (known = hw_function_at(i)) != NULL && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", known->name);
    for (size_t i = 0; i < store->options.function_count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, ", %s", store->functions[i].name);
    return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': there is no function '%s'; there are %s", table, function,
                       names);
}
