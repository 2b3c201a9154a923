/* idle.c - refuses options that were given but have no effect in this call, in one line each. Values from a profile or a file for all
 * calls are skipped, and so are defaults that were spelt out. */
#include <string.h>

#include "cli/input.h"
#include "data/formats.h"

static bool asked(const hawser_options *options, const char *key)
{
    if (!hawser_options_has(options, key) || hawser_options_source(options, key, NULL) != HAWSER_FROM_COMMAND_LINE)
        return false;
    for (size_t i = 0; hawser_options_row(options, i) != NULL; i++) {
        const hawser_option *row = hawser_options_row(options, i);
        if (strcmp(row->key, key) == 0)
            return row->value == NULL || strcmp(row->value, hawser_options_text(options, key)) != 0;
    }
    return false;
}

static bool is_set(const hawser_options *options, const char *key, const char *nothing)
{
    const char *text = hawser_options_text(options, key);
    return text != NULL && strcmp(text, nothing) != 0;
}

void hw_say_idle_job(const hw_call *call, uint32_t workers)
{
    static const char *const together[] = {"sync", "merge", "filter", "quota", "max-held-clocks", "encoding"};
    const hawser_options *options = call->options;
    bool filter = is_set(options, "filter", "none"), quota = hawser_options_bytes(options, "quota") > 0;
    if (hawser_options_flag(options, "quiet"))
        return;
    for (size_t i = 0; workers == 1 && i < sizeof together / sizeof *together; i++)
        if (asked(options, together[i]))
            fprintf(call->err, "hawser: --%s does nothing here: one worker has no other to exchange with\n", together[i]);
    if (workers == 1)
        return;
    if (asked(options, "quota") && !filter)
        fprintf(call->err, "hawser: --quota does nothing here: it needs a --filter, which chooses what is held back\n");
    if (asked(options, "filter") && !quota)
        fprintf(call->err, "hawser: --filter does nothing here: without a --quota everything passes\n");
    if (asked(options, "max-held-clocks") && !(filter && quota))
        fprintf(call->err, "hawser: --max-held-clocks does nothing here: it needs a --filter and a --quota\n");
}

void hw_say_idle_input(const hw_call *call, hawser_format format)
{
    for (const hawser_option *row = hawser_data_rows(); row->key != NULL; row++) {
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
