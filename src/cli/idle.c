/* idle.c - refuses options that were given but have no effect in this call, in one line each. Values from a profile or a
 * file for all calls are skipped, and so are defaults that were spelt out. */
#include <string.h>

#include "base/option_value.h"
#include "cli/input.h"
#include "data/formats.h"

static bool asked(const hawser_options *options, const char *key)
{
    return hawser_options_source(options, key, NULL) == HAWSER_FROM_COMMAND_LINE && hw_option_differs(options, key);
}

void hw_say_idle_input(const hw_call *call, hawser_format format)
{
    for (const hawser_option *row = hawser_data_rows(); row->key != NULL; row++) {
        if (strcmp(row->key, "min-length") == 0 && hw_format_has_option(format, "text") &&
            hawser_options_text(call->options, "text") != NULL)
            continue; /* the column of a table is text, too */
        hawser_format of = hw_format_of_option(row->key);
        if (of != HAWSER_GUESS && !hw_format_has_option(format, row->key) && asked(call->options, row->key))
            fprintf(call->err, "hawser: --%s does nothing here: it is about %s input, and this is %s\n", row->key,
                    hw_format_name(of), hw_format_name(format));
    }
}

hawser_status hw_refuse_idle(const hw_call *call, const char *key, bool idle, const char *why, hawser_error *error)
{
    if (!idle || !asked(call->options, key))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION, "--%s does nothing here: %s", key, why);
}
