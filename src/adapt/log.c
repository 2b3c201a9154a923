#include "adapt/log.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/line.h"
#include "base/json.h"
#include "base/memory.h"

enum { VERSION = 1 };

static const char *const kinds[HW_LOG_KINDS] = {"decisions", "run", "loop", "window", "point", "restart", "change", "end"};
static const char *const knobs[HW_KNOBS + 1] = {"encoding", "quota", "work", "sync", "gain", "share", "point"};

const char *hw_knob_name(hw_knob knob)
{
    return knobs[knob];
}

/* --------------------------------------------------------------------------------------------------------- writing ---- */

/* Makes a number, also one that is not finite, which JSON has only as a text. */
static json_t *number_of(double value)
{
    return isfinite(value) ? hw_json_value(value) : json_string(isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

static void put(json_t *object, const char *key, double value, bool *ok)
{
    hw_json_take(object, key, number_of(value), ok);
}

static void put_list(json_t *object, const char *key, const double *values, size_t count, bool *ok)
{
    json_t *list = values != NULL ? json_array() : json_null();
    for (size_t i = 0; values != NULL && i < count; i++)
        hw_json_append(list, number_of(values[i]), ok);
    hw_json_take(object, key, list, ok);
}

static void put_loop(json_t *object, const hw_log_line *line, bool *ok)
{
    const hw_bounds *bounds = &line->bounds;
    hw_json_take(object, "measured", json_boolean(bounds->measured), ok);
    hw_json_take(object, "gap", json_boolean(bounds->is_gap), ok);
    hw_json_take(object, "returns", json_boolean(bounds->returns), ok);
    hw_json_take(object, "often", json_boolean(bounds->often), ok);
    put_list(object, "start", bounds->start, HW_KNOBS, ok);
    put_list(object, "least", bounds->least, HW_KNOBS, ok);
    put_list(object, "most", bounds->most, HW_KNOBS, ok);
    put(object, "work", line->work, ok);
    put_list(object, "shares", line->shares, line->blocks, ok);
}

static void put_window(json_t *object, const hw_log_line *line, bool *ok)
{
    const hw_feedback *feedback = &line->feedback;
    hw_json_count(object, "cause", feedback->found.cause, ok);
    hw_json_count(object, "clocks", feedback->found.clocks, ok);
    put(object, "seconds", feedback->found.seconds, ok);
    put(object, "waited", feedback->found.waited, ok);
    put(object, "measure", feedback->found.measure, ok);
    hw_json_count(object, "of", feedback->found.number, ok);
    put(object, "units", feedback->units, ok);
    put(object, "exchanging", feedback->exchanging, ok);
    put(object, "sent", feedback->sent, ok);
    put_list(object, "pace", feedback->pace, line->blocks, ok);
}

static void put_change(json_t *object, const hw_log_line *line, bool *ok)
{
    const hw_instruction *change = &line->change;
    hw_json_text(object, "knob", knobs[change->knob], ok);
    hw_json_count(object, "block", change->block, ok);
    put(object, "from", change->from, ok);
    put(object, "to", change->to, ok);
    hw_json_count(object, "after", line->place.clocks, ok);
    hw_json_count(object, "point", line->place.point, ok);
    hw_json_text(object, "reason", change->reason, ok);
}

static void put_members(json_t *object, const hw_log_line *line, bool *ok)
{
    switch (line->kind) {
    case HW_LOG_HEAD:
        hw_json_count(object, "version", VERSION, ok);
        hw_json_text(object, "build", line->identity, ok);
        hw_json_count(object, "workers", line->number, ok);
        break;
    case HW_LOG_RUN:
        hw_json_count(object, "number", line->number, ok);
        hw_json_text(object, "identity", line->identity, ok);
        break;
    case HW_LOG_LOOP: put_loop(object, line, ok); break;
    case HW_LOG_WINDOW: put_window(object, line, ok); break;
    case HW_LOG_POINT:
        put(object, "seconds", line->seconds, ok);
        put(object, "clocks", line->clocks, ok);
        put(object, "metric", line->metric, ok);
        break;
    case HW_LOG_CHANGE: put_change(object, line, ok); break;
    case HW_LOG_END: hw_json_count(object, "lines", line->number, ok); break;
    case HW_LOG_RESTART:
    case HW_LOG_KINDS: break;
    }
}

hawser_status hw_log_add(const hw_log_line *line, char **text, size_t *length, hawser_error *error)
{
    bool ok = true;
    json_t *object = json_object();
    hw_json_text(object, "line", kinds[line->kind], &ok);
    if (line->loop != NULL)
        hw_json_text(object, "loop", line->loop, &ok);
    put_members(object, line, &ok);
    char *sealed = hw_line_seal(object, ok);
    char *grown = sealed != NULL ? realloc(*text, *length + strlen(sealed) + 1) : NULL;
    if (grown == NULL) {
        free(sealed);
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a line of decisions");
    }
    memcpy(grown + *length, sealed, strlen(sealed) + 1);
    *text = grown;
    *length += strlen(sealed);
    free(sealed);
    return HAWSER_OK;
}

hawser_status hw_log_end(size_t count, char **text, size_t *length, hawser_error *error)
{
    return hw_log_add(&(hw_log_line){.kind = HW_LOG_END, .number = (uint32_t)count}, text, length, error);
}

/* --------------------------------------------------------------------------------------------------------- reading ---- */

/* The member of a line that is not as expected; NULL so far. */
typedef struct log_reader {
    const json_t *object;
    const char *wrong;
} log_reader;

static bool read_number(const json_t *value, double *number)
{
    static const struct {
        const char *text;
        double number;
    } rest[] = {{"nan", (double)NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}};
    const char *text = json_string_value(value);
    *number = json_number_value(value);
    for (size_t i = 0; text != NULL && i < sizeof rest / sizeof *rest; i++)
        if (strcmp(text, rest[i].text) == 0) {
            *number = rest[i].number;
            return true;
        }
    return json_is_number(value);
}

static double get(log_reader *r, const char *key)
{
    double number = 0;
    if (!read_number(json_object_get(r->object, key), &number))
        r->wrong = key;
    return number;
}

static uint64_t get_count(log_reader *r, const char *key, uint64_t most)
{
    const json_t *value = json_object_get(r->object, key);
    const json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || (uint64_t)number > most)
        r->wrong = key;
    return (uint64_t)number;
}

static const char *get_text(log_reader *r, const char *key)
{
    const char *text = json_string_value(json_object_get(r->object, key));
    if (text == NULL)
        r->wrong = key;
    return text;
}

static bool get_flag(log_reader *r, const char *key)
{
    const json_t *value = json_object_get(r->object, key);
    if (!json_is_boolean(value))
        r->wrong = key;
    return json_is_true(value);
}

/* Reads a list of `count` numbers. */
static void get_list(log_reader *r, const char *key, double *values, size_t count)
{
    const json_t *list = json_object_get(r->object, key);
    if (json_array_size(list) != count)
        r->wrong = key;
    for (size_t i = 0; i < count && i < json_array_size(list); i++)
        if (!read_number(json_array_get(list, i), &values[i]))
            r->wrong = key;
}

/* Reads a list by block, or null if there may be none. */
static hawser_status get_by_block(log_reader *r, const char *key, hw_log_line *line, bool may_lack, hawser_error *error)
{
    if (may_lack && json_is_null(json_object_get(r->object, key)))
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&line->numbers, line->blocks, "numbers by block", error));
    get_list(r, key, line->numbers, line->blocks);
    return HAWSER_OK;
}

static hawser_status get_loop(log_reader *r, hw_log_line *line, hawser_error *error)
{
    hw_bounds *bounds = &line->bounds;
    bounds->measured = get_flag(r, "measured");
    bounds->is_gap = get_flag(r, "gap");
    bounds->returns = get_flag(r, "returns");
    bounds->often = get_flag(r, "often");
    get_list(r, "start", bounds->start, HW_KNOBS);
    get_list(r, "least", bounds->least, HW_KNOBS);
    get_list(r, "most", bounds->most, HW_KNOBS);
    line->work = get(r, "work");
    HAWSER_TRY(get_by_block(r, "shares", line, true, error));
    line->shares = line->numbers;
    return HAWSER_OK;
}

static hawser_status get_window(log_reader *r, hw_log_line *line, hawser_error *error)
{
    hw_finding *found = &line->feedback.found;
    found->cause = (hawser_cause)get_count(r, "cause", HAWSER_CAUSES - 1);
    found->clocks = get_count(r, "clocks", INT64_MAX);
    found->seconds = get(r, "seconds");
    found->waited = get(r, "waited");
    found->measure = get(r, "measure");
    found->number = (uint32_t)get_count(r, "of", UINT32_MAX);
    line->feedback.units = get(r, "units");
    line->feedback.exchanging = get(r, "exchanging");
    line->feedback.sent = get(r, "sent");
    HAWSER_TRY(get_by_block(r, "pace", line, true, error));
    line->feedback.pace = line->numbers;
    return HAWSER_OK;
}

static void get_change(log_reader *r, hw_log_line *line)
{
    const char *name = get_text(r, "knob");
    while (line->change.knob <= HW_KNOBS && (name == NULL || strcmp(name, knobs[line->change.knob]) != 0))
        line->change.knob++;
    if (line->change.knob > HW_KNOBS)
        r->wrong = "knob";
    line->change.block = (uint32_t)get_count(r, "block", line->blocks - 1);
    line->change.from = get(r, "from");
    line->change.to = get(r, "to");
    line->place.clocks = get_count(r, "after", INT64_MAX);
    line->place.point = get_count(r, "point", INT64_MAX);
    line->change.reason = get_text(r, "reason");
}

static hawser_status get_members(log_reader *r, hw_log_line *line, hawser_error *error)
{
    switch (line->kind) {
    case HW_LOG_HEAD:
        if (get_count(r, "version", VERSION) != VERSION)
            r->wrong = "version";
        line->identity = get_text(r, "build");
        line->number = (uint32_t)get_count(r, "workers", UINT32_MAX);
        break;
    case HW_LOG_RUN:
        line->number = (uint32_t)get_count(r, "number", UINT32_MAX);
        line->identity = get_text(r, "identity");
        break;
    case HW_LOG_LOOP: return get_loop(r, line, error);
    case HW_LOG_WINDOW: return get_window(r, line, error);
    case HW_LOG_POINT:
        line->seconds = get(r, "seconds");
        line->clocks = get(r, "clocks");
        line->metric = get(r, "metric");
        break;
    case HW_LOG_CHANGE: get_change(r, line); break;
    case HW_LOG_END: line->number = (uint32_t)get_count(r, "lines", UINT32_MAX); break;
    case HW_LOG_RESTART:
    case HW_LOG_KINDS: break;
    }
    return HAWSER_OK;
}

static hw_log_kind kind_of(const json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "line"));
    hw_log_kind kind = HW_LOG_HEAD;
    while (kind < HW_LOG_KINDS && (name == NULL || strcmp(name, kinds[kind]) != 0))
        kind++;
    return kind;
}

/* Returns what is wrong with a line's place among those before it; NULL: nothing. */
static const char *wrong_place(const hw_log_file *file, const hw_log_line *line)
{
    const size_t before = file->count;
    if (before == 0)
        return line->kind == HW_LOG_HEAD ? NULL : "the first line of a file of decisions (--save-decisions)";
    if (line->kind == HW_LOG_HEAD || line->kind == HW_LOG_KINDS)
        return "a line of a run, or the last line";
    if (line->kind > HW_LOG_RUN && line->kind < HW_LOG_END && file->lines[before - 1].kind == HW_LOG_HEAD)
        return "the line of a run";
    return NULL;
}

/* Reads a line, which is added to the file. Sets *end if it is the last one. */
static hawser_status read_line(hw_log_file *file, size_t *capacity, const char *text, size_t length, const char *path,
                               bool *end, hawser_error *error)
{
    const size_t number = file->count + 1;
    json_t *object = hw_line_open(text, length);
    if (object == NULL || json_array_append_new(file->objects, object) != 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: expected %s with its checksum; the file is damaged%s", path,
                           number, number == 1 ? "the first line of a file of decisions" : "a line of decisions",
                           number == 1 ? ", or is not one of --save-decisions" : "");
    log_reader r = {.object = object};
    hw_log_line line = {.kind = kind_of(object), .blocks = number > 1 ? file->lines[0].number : 0};
    const char *wrong = wrong_place(file, &line);
    if (wrong != NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: expected %s", path, number, wrong);
    if (line.kind > HW_LOG_RUN && line.kind < HW_LOG_END)
        line.loop = get_text(&r, "loop");
    HAWSER_TRY(HW_GROW(&file->lines, capacity, number, "lines of decisions", error));
    hawser_status status = get_members(&r, &line, error);
    file->lines[file->count++] = line;
    HAWSER_TRY(status);
    if (r.wrong != NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: expected another value of '%s'; the file is of another version",
                           path, number, r.wrong);
    *end = line.kind == HW_LOG_END;
    return HAWSER_OK;
}

static hawser_status read_lines(const char *text, size_t length, const char *path, hw_log_file *file, hawser_error *error)
{
    size_t capacity = 0, at = 0;
    bool end = false;
    while (at < length && !end) {
        const char *stop = memchr(text + at, '\n', length - at);
        const size_t size = stop != NULL ? (size_t)(stop - text) - at : length - at;
        HAWSER_TRY(read_line(file, &capacity, text + at, size, path, &end, error));
        at += size + (stop != NULL);
    }
    if (!end)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: expected another line, but the file ends: it was cut", path,
                           file->count + 1);
    const uint32_t lines = file->lines[--file->count].number;
    if (lines != file->count || at != length)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: expected the last of %" PRIu32 " lines; the file was changed",
                           path, file->count + 1, lines + 1);
    return HAWSER_OK;
}

hawser_status hw_log_read(const char *text, size_t length, const char *path, hw_log_file *file, hawser_error *error)
{
    *file = (hw_log_file){.objects = json_array()};
    if (file->objects == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for lines of decisions");
    hawser_status status = read_lines(text, length, path, file, error);
    if (status != HAWSER_OK)
        hw_log_free(file);
    return status;
}

void hw_log_free(hw_log_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        free(file->lines[i].numbers);
    free(file->lines);
    json_decref(file->objects);
    *file = (hw_log_file){0};
}
