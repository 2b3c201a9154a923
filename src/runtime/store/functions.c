/* functions.c - finds functions and filters of tables by name: the built-in ones and the user's own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "runtime/store/hub.h"

static const hawser_type types[] = {[HW_VALUE_F32] = HAWSER_F32, [HW_VALUE_F64] = HAWSER_F64, [HW_VALUE_I64] = HAWSER_I64};

static uint32_t types_of(const hawser_function *own)
{
    uint32_t declared = own->types != 0 ? own->types : 1U << HAWSER_F64, all = 0;
    for (unsigned i = HW_VALUE_F32; i <= HW_VALUE_I64; i++)
        all |= (declared >> types[i] & 1) << i;
    return all;
}

/* Applies a user's function. hw_guard restores the numbers that are not finite. */
static size_t apply_own(const hw_applying *applying)
{
    const hw_own_function *function = applying->function->user;
    const hawser_function *own = function->own;
    hw_call_place *place = hw_hub_call_begin(function->store, "table function", own->name, applying->table);
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
    hw_hub_call_end(place);
    return applying->rows;
}

static const char *check_own(const hw_function *function, const double *parameters)
{
    const hw_own_function *own = function->user;
    hw_call_place *place = hw_hub_call_begin(own->store, "check of table function", function->name, NULL);
    const char *wrong = own->own->check(parameters);
    hw_hub_call_end(place);
    return wrong;
}

static void choose_own(const hw_own_filter *filter, const hw_table_spec *spec, const uint64_t *keys, const void *rows,
                       size_t count, bool *go)
{
    const hw_watched_filter *watched = (const hw_watched_filter *)filter;
    size_t bytes = spec->width * hw_value_size(spec->type);
    hw_call_place *place = hw_hub_call_begin(watched->store, "filter", watched->own->name, spec->name);
    for (size_t i = 0; i < count; i++)
        go[i] = watched->own->pass(keys[i], (const unsigned char *)rows + i * bytes, spec->width, spec->level);
    hw_hub_call_end(place);
}

static const hw_function *hub_function(const hawser_store *store, const char *name)
{
    for (size_t i = 0; i < store->options.function_count; i++)
        if (strcmp(store->functions[i].name, name) == 0)
            return &store->functions[i];
    return hw_function_find(name);
}

hawser_status hw_hub_function_there(hawser_store *store, const char *name, const hw_function **function, hawser_error *error)
{
    *function = hub_function(store, name);
    if (*function != NULL || store->remote == NULL)
        return HAWSER_OK;
    hw_remote_function **at = &store->remote_functions;
    while (*at != NULL && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    if (*at == NULL) {
        HAWSER_TRY(HW_NEW(at, 1, "a function of the servers'", error));
        snprintf((*at)->name, sizeof(*at)->name, "%s", name);
        (*at)->function =
            (hw_function){.name = (*at)->name, .parameters = HW_FUNCTION_PARAMETERS, .parameter_names = "its parameters"};
    }
    *function = &(*at)->function;
    return HAWSER_OK;
}

void hw_hub_functions_free(hawser_store *store)
{
    for (hw_remote_function *one = store->remote_functions, *next; one != NULL; one = next) {
        next = one->next;
        free(one);
    }
    free(store->own_functions);
    free(store->own_filters);
    free(store->functions);
}

/* The filters of the options; a filter without a name or a function is not found by any table. */
static hawser_status take_filters(hawser_store *store, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&store->own_filters, store->options.filter_count, "a store's filters", error));
    for (size_t i = 0; i < store->options.filter_count; i++) {
        const hawser_store_filter *own = &store->options.filters[i];
        hw_filter_of built_in;
        if (own->name != NULL && hw_filter_of_name(own->name, &built_in))
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is a filter '%s' already", own->name);
        store->own_filters[i] = (hw_watched_filter){.base.choose = choose_own, .store = store, .own = own};
    }
    return HAWSER_OK;
}

hawser_status hw_hub_functions(hawser_store *store, hawser_error *error)
{
    enum { MEMORY_MOST = 1024 };
    size_t count = store->options.function_count;
    store->options.function_count = 0; /* counts those that were checked */
    HAWSER_TRY(HW_NEW(&store->functions, count, "a store's functions", error));
    HAWSER_TRY(HW_NEW(&store->own_functions, count, "a store's functions", error));
    for (size_t i = 0; i < count; i++) {
        const hawser_function *own = &store->options.functions[i];
        if (own->name == NULL || own->name[0] == '\0' || strlen(own->name) >= HW_TABLE_NAME)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a function needs a name of 1 to %d bytes", HW_TABLE_NAME - 1);
        if (!hw_is_utf8(own->name) || hw_has_control(own->name))
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "function number %zu: its name is no UTF-8, or has a control character", i);
        if (hub_function(store, own->name) != NULL)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is a function '%s' already", own->name);
        if (own->apply == NULL || own->parameters > HW_FUNCTION_PARAMETERS || own->memory > MEMORY_MOST)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "function '%s' needs `apply`, %d parameters at most and %d doubles of memory at most",
                               own->name, HW_FUNCTION_PARAMETERS, MEMORY_MOST);
        if (own->types > (1U << HAWSER_F64 | 1U << HAWSER_F32 | 1U << HAWSER_I64))
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "function '%s': `types` has %u: more than there are", own->name,
                               own->types);
        store->functions[i] = (hw_function){.name = own->name,
                                            .memory = own->memory,
                                            .parameters = own->parameters,
                                            .parameter_names = "its parameters",
                                            .types = types_of(own),
                                            .check = own->check != NULL ? check_own : NULL,
                                            .apply = apply_own,
                                            .user = &store->own_functions[i]};
        store->own_functions[i] = (hw_own_function){store, own};
        store->options.function_count = i + 1;
    }
    return take_filters(store, error);
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

hawser_status hw_hub_filter(const hawser_store *store, const hawser_table *table, hw_table_spec *spec, hawser_error *error)
{
    spec->level = table->level;
    if (table->filter == NULL)
        return HAWSER_OK;
    if (hw_filter_of_name(table->filter, &spec->filter))
        return HAWSER_OK;
    for (size_t i = 0; i < store->options.filter_count; i++) {
        const hawser_store_filter *own = &store->options.filters[i];
        if (own->name == NULL || own->pass == NULL || strcmp(own->name, table->filter) != 0)
            continue;
        spec->filter = HW_PASS_OWN;
        spec->own_filter = &store->own_filters[i].base;
        return HAWSER_OK;
    }
    char names[400];
    return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                       "table '%s': there is no filter '%s'; there are %s, and those of the store's options", table->name,
                       table->filter, hw_filter_names(names, sizeof names));
}
