/* table_wire.c - packs and unpacks a table's description. */
#include <stdio.h>
#include <string.h>

#include "hawser/version.h"
#include "runtime/store/remote.h"
#include "store/table_check.h"

void hw_store_build(char text[HW_STORE_BUILD])
{
    snprintf(text, HW_STORE_BUILD, "%s store %d", hawser_version(), HW_STORE_CONTROL_FORMAT);
}

void hw_table_pack(const hw_table_spec *spec, hw_table_wire *wire)
{
    *wire = (hw_table_wire){
        .type = spec->type,
        .width = spec->width,
        .sparse = spec->sparse,
        .summed = spec->summed,
        .centric = spec->centric,
        .first = spec->first,
        .last = spec->last,
        .delay = spec->delay,
    };
    memcpy(wire->name, spec->name, sizeof wire->name);
    strncpy(wire->function, spec->function->name, sizeof wire->function - 1);
    memcpy(wire->parameters, spec->parameters, sizeof wire->parameters);
}

hawser_status hw_table_unpack(hawser_store *store, const hw_table_wire *wire, hw_table_spec *spec, hawser_error *error)
{
    if (memchr(wire->name, '\0', sizeof wire->name) == NULL || memchr(wire->function, '\0', sizeof wire->function) == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "a table's description has no name");
    HAWSER_TRY(hw_table_check_name(wire->name, error));
    if (wire->sparse != 0 && (wire->first != 0 || wire->last != UINT64_MAX))
        return hawser_fail(error, HAWSER_BAD_INPUT, "table '%s' is sparse and has a range of keys", wire->name);
    *spec = (hw_table_spec){
        .type = (hw_value_type)wire->type,
        .width = wire->width,
        .sparse = wire->sparse != 0,
        .summed = wire->summed != 0,
        .centric = wire->centric != 0,
        .first = wire->first,
        .last = wire->last,
        .delay = wire->delay,
        .rounding = HW_F64,
    };
    memcpy(spec->name, wire->name, sizeof spec->name);
    memcpy(spec->parameters, wire->parameters, sizeof spec->parameters);
    HAWSER_TRY(hw_hub_function_there(store, wire->function, &spec->function, error));
    if (spec->function == NULL)
        return hw_hub_no_function(store, wire->name, wire->function, error);
    return hw_table_check(spec, error);
}
