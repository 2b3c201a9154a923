#include "cli/plot_trace.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/monitor.h"
#include "cli/plot.h"

static const char BEGIN[] = "clock,seconds,";
static const char *const END[] = {"bytes", "staleness", "policy"};
enum { FIRST = 2 /* the column of the first metric */, AFTER = sizeof END / sizeof *END };

/* A trace as it is read. */
typedef struct trace_file {
    const char *path;
    FILE *file;
    char *line;
    size_t line_capacity, number; /* the line that was read last, and its number from 1 */
    char **field;                 /* of this line, within it */
    size_t fields, field_capacity;
    hawser_metric_row rows[HAWSER_TRACED];
    hw_watched watched;
    char *names; /* the first line, which the rows' names are part of */
    hw_sample *samples;
    size_t count, capacity;
} trace_file;

bool hw_is_trace(const char *path)
{
    char begin[sizeof BEGIN] = "";
    FILE *file = fopen(path, "re");
    bool is = file != NULL && fread(begin, 1, sizeof BEGIN - 1, file) == sizeof BEGIN - 1 && strcmp(begin, BEGIN) == 0;
    if (file != NULL)
        (void)fclose(file);
    return is;
}

/* Returns the end of a field of CSV, which loses its quotes. */
static char *take_field(char *text)
{
    char *to = text;
    bool quoted = false;
    for (; *text != '\0' && (quoted || *text != ','); text++)
        if (*text != '"')
            *to++ = *text;
        else if (quoted && text[1] == '"')
            *to++ = *text++;
        else
            quoted = !quoted;
    char *end = *text == ',' ? text + 1 : NULL;
    *to = '\0';
    return end;
}

/* Reads a line into its fields; *more is false at the end of the file. Names may have line breaks, within quotes. */
static hawser_status read_line(trace_file *trace, bool *more, hawser_error *error)
{
    size_t used = 0, quotes = 0;
    do {
        char *part = NULL;
        size_t size = 0;
        ssize_t length = getline(&part, &size, trace->file);
        if (length < 0 || part[length - 1] != '\n') { /* the run may be writing a line that does not end yet */
            free(part);
            *more = false;
            return !ferror(trace->file) ? HAWSER_OK
                                        : hawser_fail(error, HAWSER_IO, "%s: cannot read: %s", trace->path, strerror(errno));
        }
        for (ssize_t i = 0; i < length; i++)
            quotes += part[i] == '"';
        hawser_status status =
            HW_GROW(&trace->line, &trace->line_capacity, used + (size_t)length + 1, "a line of a trace", error);
        if (status == HAWSER_OK)
            memcpy(trace->line + used, part, (size_t)length + 1);
        free(part);
        HAWSER_TRY(status);
        used += (size_t)length;
    } while (quotes % 2 != 0);
    trace->number++;
    *more = true;
    trace->line[used - 1] = '\0';
    trace->fields = 0;
    for (char *field = trace->line; field != NULL;) {
        HAWSER_TRY(HW_GROW(&trace->field, &trace->field_capacity, trace->fields + 1, "the fields of a trace", error));
        trace->field[trace->fields++] = field;
        field = take_field(field);
    }
    return HAWSER_OK;
}

static hawser_status read_names(trace_file *trace, hawser_error *error)
{
    bool more;
    HAWSER_TRY(read_line(trace, &more, error));
    bool sound = more && trace->fields >= FIRST + AFTER && strcmp(trace->field[0], "clock") == 0;
    for (size_t k = 0; sound && k < AFTER; k++)
        sound = strcmp(trace->field[trace->fields - AFTER + k], END[k]) == 0;
    if (!sound)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s:1: not the first line of a trace", trace->path);
    size_t count = trace->fields - FIRST - AFTER;
    if (count > HAWSER_TRACED)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: %zu metrics, of which a plot shows %d; remove columns", trace->path,
                           count, HAWSER_TRACED);
    trace->names = trace->line;
    trace->line = NULL;
    trace->line_capacity = 0;
    for (size_t k = 0; k < count; k++) {
        trace->rows[k] = (hawser_metric_row){.name = trace->field[FIRST + k], .axis = trace->field[FIRST + k]};
        trace->watched.row[trace->watched.count++] = &trace->rows[k];
    }
    return HAWSER_OK;
}

static hawser_status number_of(const trace_file *trace, size_t column, double *value, hawser_error *error)
{
    const char *text = trace->field[column], *end = text;
    *value = NAN;
    if (*text != '\0')
        end = hawser_read_number(text, value);
    if (end == NULL || *end != '\0')
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: '%.40s' in column %zu is no number", trace->path, trace->number,
                           text, column + 1);
    return HAWSER_OK;
}

static hawser_status read_samples(trace_file *trace, hawser_error *error)
{
    bool more;
    size_t columns = FIRST + trace->watched.count + AFTER;
    for (;;) {
        HAWSER_TRY(read_line(trace, &more, error));
        if (!more)
            return HAWSER_OK;
        if (trace->fields != columns)
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: %zu fields, not %zu; was the file cut?", trace->path,
                               trace->number, trace->fields, columns);
        HAWSER_TRY(HW_GROW(&trace->samples, &trace->capacity, trace->count + 1, "the lines of a trace", error));
        hw_sample *sample = &trace->samples[trace->count++];
        *sample = (hw_sample){.ends = SIZE_MAX, .target = NAN};
        HAWSER_TRY(number_of(trace, 0, &sample->clock, error));
        HAWSER_TRY(number_of(trace, 1, &sample->seconds, error));
        for (size_t k = 0; k < trace->watched.count; k++)
            HAWSER_TRY(number_of(trace, FIRST + k, &sample->value[k], error));
    }
}

hawser_status hw_plot_trace(const char *path, const char *plot, hawser_error *error)
{
    trace_file trace = {.path = path, .file = fopen(path, "re")};
    if (trace.file == NULL)
        return hawser_fail(error, HAWSER_IO, "%s: cannot open: %s", path, strerror(errno));
    hawser_status status = read_names(&trace, error);
    HAWSER_THEN(status, read_samples(&trace, error));
    if (status == HAWSER_OK) {
        char subtitle[100];
        const hw_sample *last = trace.count > 0 ? &trace.samples[trace.count - 1] : NULL;
        snprintf(subtitle, sizeof subtitle, "%.0f clocks, %.3g s", last != NULL ? last->clock : 0.0,
                 last != NULL ? last->seconds : 0.0);
        status = hw_plot_write(plot, path, subtitle, &trace.watched, trace.samples, trace.count, error);
    }
    (void)fclose(trace.file);
    free(trace.samples);
    free(trace.field);
    free(trace.line);
    free(trace.names);
    return status;
}
