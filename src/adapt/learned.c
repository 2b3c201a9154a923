#include "adapt/learned.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/line.h"
#include "adapt/log.h"
#include "base/json.h"
#include "base/memory.h"

/* Lines of version 1 have no trials across runs. */
enum { VERSION = 2, DIGEST = 17 };

/* --------------------------------------------------------------------------------------------------------- writing ---- */

static void put_run(json_t *object, const hw_learned_run *run, bool *ok)
{
    char places[DIGEST], identity[DIGEST];
    (void)snprintf(places, sizeof places, "%016" PRIx64, run->places);
    (void)snprintf(identity, sizeof identity, "%016" PRIx64, run->identity);
    hw_json_text(object, "program", run->program, ok);
    hw_json_text(object, "loop", run->loop, ok);
    hw_json_count(object, "workers", run->workers, ok);
    hw_json_count(object, "hosts", run->hosts, ok);
    hw_json_text(object, "places", places, ok);
    hw_json_text(object, "identity", identity, ok);
    hw_json_number(object, "exchange", run->exchange, ok);
    hw_json_number(object, "bytes", run->bytes, ok);
}

/* Writes what was decided. Settings that are as at the start are null. */
static void put_decided(json_t *object, const hw_decided *decided, uint32_t workers, bool *ok)
{
    json_t *value = json_object(), *losses = json_object();
    json_t *shares = decided->shares != NULL ? json_array() : json_null();
    for (int k = 0; k < HW_KNOB_SHARE; k++)
        hw_json_number(value, hw_knob_name((hw_knob)k), decided->value[k], ok);
    for (int k = 0; k < HW_KNOBS; k++)
        hw_json_count(losses, hw_knob_name((hw_knob)k), decided->losses[k], ok);
    for (uint32_t b = 0; decided->shares != NULL && b < workers; b++)
        hw_json_append(shares, hw_json_value(decided->shares[b]), ok);
    hw_json_take(object, "settings", value, ok);
    hw_json_take(object, "shares", shares, ok);
    hw_json_take(object, "lost", losses, ok);
    hw_json_number(object, "clocks", decided->clocks, ok);
    hw_json_number(object, "lost_clocks", decided->lost, ok);
    hw_json_number(object, "noise", decided->noise, ok);
}

static void put_setting(json_t *object, const hw_setting *setting, bool *ok)
{
    hw_json_text(object, "setting", hw_knob_name(setting->knob), ok);
    hw_json_count(object, "worker", setting->block, ok);
    hw_json_number(object, "value", setting->to, ok);
}

/* Writes what runs leave for each other: what is unknown is 0 or null. */
static void put_across(json_t *object, const hw_across *across, bool *ok)
{
    const hw_across_trial *tried = &across->tried;
    json_t *next = across->next.windows > 0 ? json_object() : json_null();
    json_t *trial = tried->before > 0 ? json_object() : json_null();
    json_t *doubted = across->lost_seconds > 0 ? json_object() : json_null();
    if (across->next.windows > 0) {
        put_setting(next, &across->next.setting, ok);
        hw_json_text(next, "why", across->next.why, ok);
    }
    if (across->lost_seconds > 0) {
        put_setting(doubted, &across->lost, ok);
        hw_json_number(doubted, "seconds", across->lost_seconds, ok);
    }
    if (tried->before > 0) {
        put_setting(trial, &tried->setting, ok);
        hw_json_number(trial, "old", tried->from, ok);
        hw_json_number(trial, "seconds_old", tried->before, ok);
        hw_json_number(trial, "seconds", tried->after, ok);
        hw_json_take(trial, "kept", json_boolean(tried->kept), ok);
    }
    hw_json_number(object, "seconds", across->seconds, ok);
    hw_json_number(object, "progress", across->progress, ok);
    hw_json_take(object, "next", next, ok);
    hw_json_take(object, "tried", trial, ok);
    hw_json_take(object, "doubted", doubted, ok);
}

char *hw_learned_text(const hw_learned_run *run, const hw_decided *decided)
{
    bool ok = true;
    json_t *object = json_object();
    hw_json_text(object, "line", "learned", &ok);
    hw_json_count(object, "version", VERSION, &ok);
    put_run(object, run, &ok);
    put_decided(object, decided, run->workers, &ok);
    put_across(object, &decided->across, &ok);
    return hw_line_seal(object, ok);
}

/* --------------------------------------------------------------------------------------------------------- reading ---- */

/* Reads a number that is not below `least`; false: it is none. */
static bool get(const json_t *object, const char *key, double least, double *number)
{
    const json_t *value = json_object_get(object, key);
    *number = json_number_value(value);
    return json_is_number(value) && isfinite(*number) && *number >= least;
}

static bool get_count(const json_t *object, const char *key, uint32_t least, uint32_t *count)
{
    const json_t *value = json_object_get(object, key);
    const json_int_t number = json_integer_value(value);
    *count = (uint32_t)number;
    return json_is_integer(value) && number >= least && number <= INT32_MAX;
}

static bool get_digest(const json_t *object, const char *key, uint64_t *digest)
{
    const char *text = json_string_value(json_object_get(object, key));
    *digest = text != NULL ? strtoull(text, NULL, 16) : 0;
    return text != NULL && strlen(text) == DIGEST - 1;
}

static bool get_run(const json_t *object, hw_learned_run *run)
{
    run->program = json_string_value(json_object_get(object, "program"));
    run->loop = json_string_value(json_object_get(object, "loop"));
    return run->program != NULL && run->loop != NULL && get_digest(object, "places", &run->places) &&
           get_count(object, "workers", 1, &run->workers) && get_count(object, "hosts", 1, &run->hosts) &&
           get(object, "exchange", 0, &run->exchange) && get(object, "bytes", 0, &run->bytes);
}

/* Reads the share of each worker into memory from malloc, or null. */
static bool get_shares(const json_t *list, uint32_t workers, double **shares)
{
    if (json_is_null(list))
        return true;
    *shares = json_array_size(list) == workers ? malloc(workers * sizeof **shares) : NULL;
    for (uint32_t b = 0; *shares != NULL && b < workers; b++) {
        const json_t *share = json_array_get(list, b);
        (*shares)[b] = json_number_value(share);
        if (!json_is_number(share) || !((*shares)[b] > 0 && (*shares)[b] <= 1))
            return false;
    }
    return *shares != NULL;
}

static bool get_decided(const json_t *object, hw_decided *decided, uint32_t workers)
{
    const json_t *values = json_object_get(object, "settings"), *losses = json_object_get(object, "lost");
    for (int k = 0; k < HW_KNOB_SHARE; k++) {
        const char *name = hw_knob_name((hw_knob)k);
        const json_t *value = json_object_get(values, name);
        const bool whole = k == HW_KNOB_ENCODING || k == HW_KNOB_SYNC || k == HW_KNOB_QUOTA;
        if (value == NULL || !(json_is_null(value) || get(values, name, 0, &decided->value[k])))
            return false;
        if (json_is_null(value))
            decided->value[k] = (double)NAN;
        else if (whole && floor(decided->value[k]) < decided->value[k])
            return false;
    }
    for (int k = 0; k < HW_KNOBS; k++)
        if (!get_count(losses, hw_knob_name((hw_knob)k), 0, &decided->losses[k]))
            return false;
    return get(object, "clocks", 0, &decided->clocks) && get(object, "lost_clocks", 0, &decided->lost) &&
           get(object, "noise", 0, &decided->noise) &&
           get_shares(json_object_get(object, "shares"), workers, &decided->shares);
}

static bool get_setting(const json_t *object, uint32_t workers, hw_setting *setting)
{
    const char *name = json_string_value(json_object_get(object, "setting"));
    while (setting->knob < HW_KNOBS && (name == NULL || strcmp(name, hw_knob_name(setting->knob)) != 0))
        setting->knob++;
    const bool whole = setting->knob == HW_KNOB_ENCODING || setting->knob == HW_KNOB_SYNC || setting->knob == HW_KNOB_QUOTA;
    return setting->knob < HW_KNOBS && get_count(object, "worker", 0, &setting->block) && setting->block < workers &&
           get(object, "value", 0, &setting->to) && !(whole && floor(setting->to) < setting->to);
}

static bool get_next(const json_t *object, uint32_t workers, hw_untried *next)
{
    const char *why = json_string_value(json_object_get(object, "why"));
    if (json_is_null(object))
        return true;
    next->windows = 1;
    (void)snprintf(next->why, sizeof next->why, "%s", why != NULL ? why : "");
    return why != NULL && get_setting(object, workers, &next->setting);
}

static bool get_tried(const json_t *object, uint32_t workers, hw_across_trial *tried)
{
    const json_t *kept = json_object_get(object, "kept");
    if (json_is_null(object))
        return true;
    tried->kept = json_is_true(kept);
    return json_is_boolean(kept) && get_setting(object, workers, &tried->setting) && get(object, "old", 0, &tried->from) &&
           get(object, "seconds_old", DBL_MIN, &tried->before) && get(object, "seconds", 0, &tried->after);
}

static bool get_doubted(const json_t *object, uint32_t workers, hw_across *across)
{
    return json_is_null(object) ||
           (get_setting(object, workers, &across->lost) && get(object, "seconds", DBL_MIN, &across->lost_seconds));
}

static bool get_across(const json_t *object, uint32_t workers, hw_across *across)
{
    return get(object, "seconds", 0, &across->seconds) && get(object, "progress", 0, &across->progress) &&
           get_next(json_object_get(object, "next"), workers, &across->next) &&
           get_tried(json_object_get(object, "tried"), workers, &across->tried) &&
           get_doubted(json_object_get(object, "doubted"), workers, across);
}

/* Adds a line, if its checksum is right. One of another version is kept, and stays unknown. */
static hawser_status add_line(hw_learned_file *file, size_t *capacity, const char *text, size_t length, size_t number,
                              hawser_error *error)
{
    uint32_t version;
    hw_learned_line line = {.text = text, .length = length};
    json_t *object = hw_line_open(text, length);
    const char *kind = json_string_value(json_object_get(object, "line"));
    if (kind == NULL || strcmp(kind, "learned") != 0) {
        json_decref(object);
        file->first_damaged = file->damaged++ == 0 ? number : file->first_damaged;
        return HAWSER_OK;
    }
    if (json_array_append_new(file->objects, object) != 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a line of settings");
    HAWSER_TRY(HW_GROW(&file->lines, capacity, file->count + 1, "lines of settings", error));
    line.known = get_count(object, "version", 1, &version) && version <= VERSION && get_run(object, &line.run) &&
                 get_decided(object, &line.decided, line.run.workers);
    if (line.known && version > 1)
        line.known =
            get_digest(object, "identity", &line.run.identity) && get_across(object, line.run.workers, &line.decided.across);
    file->lines[file->count++] = line;
    return HAWSER_OK;
}

hawser_status hw_learned_read(const char *text, size_t length, hw_learned_file *file, hawser_error *error)
{
    size_t capacity = 0, at = 0;
    *file = (hw_learned_file){.objects = json_array()};
    if (file->objects == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for lines of settings");
    for (size_t number = 1; at < length; number++) {
        const char *stop = memchr(text + at, '\n', length - at);
        const size_t size = stop != NULL ? (size_t)(stop - text) - at : length - at;
        HAWSER_TRY(add_line(file, &capacity, text + at, size, number, error));
        at += size + (stop != NULL);
    }
    return HAWSER_OK;
}

void hw_learned_free(hw_learned_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        free(file->lines[i].decided.shares);
    free(file->lines);
    json_decref(file->objects);
    *file = (hw_learned_file){0};
}

/* ---------------------------------------------------------------------------------------------------------- choice ---- */

/* Returns how far apart two numbers are, as a logarithm; INFINITY: more than a factor of two. */
static double distance(double a, double b)
{
    if (!(a < b || a > b))
        return 0;
    if (!(a > 0 && b > 0))
        return INFINITY;
    const double ratio = fmax(a, b) / fmin(a, b);
    return ratio <= 2 ? log(ratio) : INFINITY;
}

/* Returns how far a line's run is from another one; INFINITY: nothing can be learned from it. */
static double distance_of(const hw_learned_line *line, const hw_learned_run *run)
{
    const hw_learned_run *there = &line->run;
    if (!line->known || strcmp(there->program, run->program) != 0 || strcmp(there->loop, run->loop) != 0 ||
        there->workers != run->workers || there->exchange < run->exchange || there->exchange > run->exchange)
        return INFINITY;
    return distance(there->hosts, run->hosts) + distance(there->bytes, run->bytes);
}

const hw_learned_line *hw_learned_nearest(const hw_learned_file *file, const hw_learned_run *run)
{
    const hw_learned_line *nearest = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < file->count; i++) {
        const double far = distance_of(&file->lines[i], run);
        const bool nearer = nearest == NULL || far < least, same = file->lines[i].run.identity == run->identity;
        if (isinf(far) || far > least || (!nearer && !same && nearest->run.identity == run->identity))
            continue;
        least = far;
        nearest = &file->lines[i];
    }
    return nearest;
}
