#include "store/table.h"

#include <string.h>

hawser_status hw_table_check(const hw_table_spec *spec, hawser_error *error)
{
    enum { WIDTH_MOST = 1 << 24 };
    if (spec->name[0] == '\0' || memchr(spec->name, '\0', HW_TABLE_NAME) == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a table needs a name of 1 to %d bytes", HW_TABLE_NAME - 1);
    if (spec->type != HW_VALUE_F32 && spec->type != HW_VALUE_F64 && spec->type != HW_VALUE_I64)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': there is no value type %d", spec->name, (int)spec->type);
    if (spec->width == 0 || spec->width > WIDTH_MOST)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': %u numbers a key are not within [1,%d]", spec->name,
                           spec->width, WIDTH_MOST);
    if (spec->first > spec->last)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': its first key %llu is behind its last, %llu", spec->name,
                           (unsigned long long)spec->first, (unsigned long long)spec->last);
    const hw_function *function = spec->function;
    if (function == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s' has no function; 'add' is the plain one", spec->name);
    if (spec->centric && spec->sparse)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': a data-centric table is dense", spec->name);
    if (spec->centric && spec->summed)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "table '%s': a data-centric table is written as its chunks come, not summed by clock",
                           spec->name);
    if (function->floats_only && spec->type == HW_VALUE_I64)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': '%s' is for floating-point values", spec->name,
                           function->name);
    const char *wrong = function->check != NULL ? function->check(spec->parameters) : NULL;
    if (wrong != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': '%s' (%s): %s", spec->name, function->name,
                           function->parameter_names, wrong);
    return HAWSER_OK;
}
