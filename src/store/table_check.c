#include "store/table_check.h"

#include <string.h>

#include "base/utf8.h"
#include "store/holding.h"

/* Held values are added to the row's next update, so the function must treat the sum as it treats two updates. */
static hawser_status check_filter(const hw_table_spec *spec, hawser_error *error)
{
    const hw_function *function = spec->function;
    if (spec->filter == HW_PASS_ALL && spec->rounding == HW_F64)
        return HAWSER_OK;
    if (spec->type == HW_VALUE_I64)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': integers are neither rounded nor filtered", spec->name);
    if (function->whole || spec->summed || spec->centric)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': %s updates go as they are, neither rounded nor filtered",
                           spec->name,
                           spec->summed    ? "a summed table's"
                           : spec->centric ? "a data-centric table's"
                                           : function->name);
    return hw_filter_check(spec, error);
}

static bool ends_in(const char *name, const char *tail)
{
    size_t length = strlen(name), last = strlen(tail);
    return length >= last && strcmp(name + length - last, tail) == 0;
}

/* Tables are tensors of a file, beside others with reserved names that describe them. */
hawser_status hw_table_check_name(const char *name, hawser_error *error)
{
    if (name[0] == '\0' || memchr(name, '\0', HW_TABLE_NAME) == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a table needs a name of 1 to %d bytes", HW_TABLE_NAME - 1);
    if (!hw_is_utf8(name))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a table's name is no UTF-8");
    if (hw_has_control(name))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "a table's name has a newline or another control character: use letters, digits and signs");
    if (strncmp(name, "hawser.", 7) == 0 || strncmp(name, "__", 2) == 0 || ends_in(name, ".keys") ||
        ends_in(name, ".memory"))
        return hawser_fail(
            error, HAWSER_BAD_ARGUMENT,
            "table '%s': names that begin with 'hawser.' or '__', or end in '.keys' or '.memory', are taken by "
            "what files say beside the tables",
            name);
    return HAWSER_OK;
}

/* A function that takes values of another type would read and write beyond them. */
static hawser_status check_type(const hw_table_spec *spec, hawser_error *error)
{
    static const char *const names[] = {[HW_VALUE_F32] = "f32", [HW_VALUE_F64] = "f64", [HW_VALUE_I64] = "i64"};
    uint32_t types = spec->function->types;
    if (types == 0 || (types & 1U << spec->type) != 0)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': '%s' is not for values of type %s", spec->name,
                       spec->function->name, names[spec->type]);
}

hawser_status hw_table_check(const hw_table_spec *spec, hawser_error *error)
{
    enum { WIDTH_MOST = 1 << 24 };
    HAWSER_TRY(hw_table_check_name(spec->name, error));
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
    HAWSER_TRY(check_filter(spec, error));
    HAWSER_TRY(check_type(spec, error));
    char text[400];
    const char *wrong = hw_function_wrong(function, spec->parameters, text, sizeof text);
    return wrong == NULL ? HAWSER_OK : hawser_fail(error, HAWSER_BAD_ARGUMENT, "table '%s': %s", spec->name, wrong);
}
