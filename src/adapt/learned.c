#include "adapt/learned.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/line.h"
#include "adapt/log.h"
#include "base/json.h"
#include "base/memory.h"

enum { VERSION = 1, DIGEST = 17 };

/* --------------------------------------------------------------------------------------------------------- writing ---- */

static void put_run(json_t *object, const hw_learned_run *run, bool *ok)
{
    char places[DIGEST];
    (void)snprintf(places, sizeof places, "%016" PRIx64, run->places);
    hw_json_text(object, "program", run->program, ok);
    hw_json_text(object, "loop", run->loop, ok);
    hw_json_count(object, "workers", run->workers, ok);
    hw_json_count(object, "hosts", run->hosts, ok);
    hw_json_text(object, "places", places, ok);
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

char *hw_learned_text(const hw_learned_run *run, const hw_decided *decided)
{
    bool ok = true;
    json_t *object = json_object();
    hw_json_text(object, "line", "learned", &ok);
    hw_json_count(object, "version", VERSION, &ok);
    put_run(object, run, &ok);
    put_decided(object, decided, run->workers, &ok);
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

static bool get_run(const json_t *object, hw_learned_run *run)
{
    const char *places = json_string_value(json_object_get(object, "places"));
    run->program = json_string_value(json_object_get(object, "program"));
    run->loop = json_string_value(json_object_get(object, "loop"));
    run->places = places != NULL ? strtoull(places, NULL, 16) : 0;
    return run->program != NULL && run->loop != NULL && places != NULL && strlen(places) == DIGEST - 1 &&
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
    line.known = get_count(object, "version", VERSION, &version) && version == VERSION && get_run(object, &line.run) &&
                 get_decided(object, &line.decided, line.run.workers);
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
        if (isinf(far) || far > least)
            continue;
        least = far;
        nearest = &file->lines[i];
    }
    return nearest;
}
