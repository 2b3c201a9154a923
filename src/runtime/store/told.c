/* told.c - tables as servers and guests tell each other of them. */
#include <stdio.h>
#include <string.h>

#include "hawser/version.h"
#include "runtime/store/visit.h"

void hw_store_build(char text[HW_STORE_BUILD])
{
    snprintf(text, HW_STORE_BUILD, "%s store %d", hawser_version(), HW_STORE_WORDS);
}

void hw_table_tell(const hw_table_spec *spec, hw_told_table *told)
{
    *told = (hw_told_table){
        .type = spec->type,
        .width = spec->width,
        .sparse = spec->sparse,
        .summed = spec->summed,
        .centric = spec->centric,
        .first = spec->first,
        .last = spec->last,
        .delay = spec->delay,
    };
    memcpy(told->name, spec->name, sizeof told->name);
    strncpy(told->function, spec->function->name, sizeof told->function - 1);
    memcpy(told->parameters, spec->parameters, sizeof told->parameters);
}

hawser_status hw_table_hear(hawser_store *store, const hw_told_table *told, hw_table_spec *spec, hawser_error *error)
{
    if (memchr(told->name, '\0', sizeof told->name) == NULL || memchr(told->function, '\0', sizeof told->function) == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "a table was told of without a name");
    HAWSER_TRY(hw_table_check_name(told->name, error));
    if (told->sparse != 0 && (told->first != 0 || told->last != UINT64_MAX))
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s' is sparse and has a range of keys", told->name);
    *spec = (hw_table_spec){
        .type = (hw_value_type)told->type,
        .width = told->width,
        .sparse = told->sparse != 0,
        .summed = told->summed != 0,
        .centric = told->centric != 0,
        .first = told->first,
        .last = told->last,
        .delay = told->delay,
        .rounding = HW_F64,
    };
    memcpy(spec->name, told->name, sizeof spec->name);
    memcpy(spec->parameters, told->parameters, sizeof spec->parameters);
    HAWSER_TRY(hw_hub_function_there(store, told->function, &spec->function, error));
    if (spec->function == NULL)
        return hw_hub_no_function(store, told->name, told->function, error);
    return hw_table_check(spec, error);
}
