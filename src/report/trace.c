#include "report/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "checkpoint/folder.h"
#include "checkpoint/log.h"
#include "program/change.h"
#include "program/program.h"

static void keep_failure(hw_trace *trace)
{
    if (trace->error.status == HAWSER_OK)
        (void)hawser_fail(&trace->error, HAWSER_IO, "cannot write '%s': %s", trace->path, strerror(errno));
}

/* Flushes each line, so that another program can follow the run. */
static void flush(hw_trace *trace)
{
    if (fflush(trace->file) != 0 || ferror(trace->file))
        keep_failure(trace);
}

/* Names in a program may have commas, quotes and line breaks. */
static bool needs_quotes(const char *text)
{
    return strpbrk(text, ",\"\r\n") != NULL;
}

static void add_text(FILE *file, const char *text)
{
    for (; *text != '\0'; text++)
        fputs(*text == '"' ? "\"\"" : (char[]){*text, '\0'}, file);
}

bool hw_trace_goes_on(const hawser_options *options)
{
    hw_checkpoint *newest = NULL;
    hawser_error ignored;
    const char *folder = hawser_options_text(options, "checkpoint");
    if (folder == NULL || hawser_options_flag(options, "fresh"))
        return false;
    bool there = hw_folder_newest(folder, &newest, &ignored) == HAWSER_OK && newest != NULL;
    hw_checkpoint_free(newest);
    return there;
}

static void add_names(FILE *file, const char *const *metrics, size_t count)
{
    fputs("clock,seconds", file);
    for (size_t k = 0; k < count; k++) {
        const char *quote = needs_quotes(metrics[k]) ? "\"" : "";
        fprintf(file, ",%s", quote);
        add_text(file, metrics[k]);
        fputs(quote, file);
    }
    fputs(",bytes,staleness,policy\n", file);
}

hawser_status hw_trace_begin(hw_trace *trace, const char *path, bool appends, const char *const *metrics, size_t count,
                             hawser_error *error)
{
    hw_memory_text names;
    *trace = (hw_trace){.path = path, .appends = appends, .clock = NAN};
    if (path == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_log_open(path, &trace->file, error));
    HAWSER_TRY(hw_text_open(&names, error));
    add_names(names.file, metrics, count);
    return hw_text_close(&names, HAWSER_OK, &trace->names, error);
}

void hw_trace_accept(hw_trace *trace)
{
    if (trace->names == NULL)
        return;
    if (!trace->appends)
        hw_log_clear(trace->file);
    if (!trace->appends || fseek(trace->file, 0, SEEK_END) != 0 || ftell(trace->file) <= 0) /* else it has the names */
        fputs(trace->names, trace->file);
    free(trace->names);
    trace->names = NULL;
    flush(trace);
}

static void add_field(FILE *file, double value, char end)
{
    if (isfinite(value))
        fprintf(file, "%.17g", value);
    fputc(end, file);
}

static bool change_needs_quotes(const hawser_policy_change *change)
{
    bool needs = needs_quotes(change->loop) || needs_quotes(change->state);
    for (size_t k = 0; k < HAWSER_FIT_METRICS; k++)
        needs |= needs_quotes(change->fit[k].metric);
    return needs;
}

static void add_change(FILE *file, const hawser_policy_change *change)
{
    fputs("loop ", file);
    add_text(file, change->loop);
    fprintf(file, " from clock %" PRIu64, change->clock);
    for (size_t k = 0; k < HAWSER_FIT_METRICS && change->fit[k].metric[0] != '\0'; k++) {
        fputc(' ', file);
        add_text(file, change->fit[k].metric);
        fprintf(file, " %.17g", change->fit[k].value);
    }
    const hw_change_words words = hw_change_in_words(change);
    fprintf(file, ": %s", words.what);
    if (change->share[1] > 0)
        fprintf(file, " of block %" PRIu32, change->block);
    else if (change->state[0] != '\0') {
        fputs(" of state ", file);
        add_text(file, change->state);
    }
    fprintf(file, " %s -> %s", words.texts[0], words.texts[1]);
}

/* Writes the changes of policies since the last line. */
static void add_changes(hw_trace *trace, const hawser_progress *progress)
{
    const hawser_policy_change *change;
    bool quoted = false;
    for (size_t k = trace->changes; (change = hawser_progress_change(progress, k)) != NULL; k++)
        quoted |= change_needs_quotes(change);
    fputs(quoted ? "\"" : "", trace->file);
    for (const char *before = ""; (change = hawser_progress_change(progress, trace->changes)) != NULL; before = "; ") {
        fputs(before, trace->file);
        add_change(trace->file, change);
        trace->changes++;
    }
    fputs(quoted ? "\"\n" : "\n", trace->file);
}

void hw_trace_add(hw_trace *trace, const hawser_progress *progress, const hw_trace_line *line, const double *values,
                  size_t count)
{
    if (trace->file == NULL)
        return;
    hw_trace_accept(trace);
    if (line->clock < trace->clock) /* another run has begun, and counts its changes from 0 */
        trace->changes = 0;
    trace->clock = line->clock;
    add_field(trace->file, line->clock, ',');
    add_field(trace->file, line->seconds, ',');
    for (size_t k = 0; k < count; k++)
        add_field(trace->file, values[k], ',');
    add_field(trace->file, line->bytes, ',');
    add_field(trace->file, line->staleness, ',');
    add_changes(trace, progress);
    flush(trace);
}

void hw_trace_end(hw_trace *trace)
{
    if (trace->file != NULL && fclose(trace->file) != 0)
        keep_failure(trace);
    trace->file = NULL;
    free(trace->names);
    trace->names = NULL;
}
