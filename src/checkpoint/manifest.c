#include "checkpoint/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/difference.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"

/* The second line of a manifest. */
#define SEAL        "{\"checksum\":\"%016" PRIx64 "\"}\n"
#define FORMAT      2
#define MOST_NUMBER UINT64_C(999999999999)
enum { SEAL_LENGTH = 32, MOST_BYTES = 1 << 30 };

/* What was read: the strings are in the JSON. */
typedef struct owned {
    hw_checkpoint checkpoint;
    json_t *json;
    hw_checkpoint_metric *metrics;
    hw_checkpoint_part *parts;
} owned;

static const char *const kinds[HW_CHECKPOINT_KINDS] = {"driver", "node", "block"};

/* ------------------------------------------------------------------------------------------------------------ names ---- */

void hw_checkpoint_name(char name[HW_CHECKPOINT_NAME], uint64_t number, const char *token)
{
    (void)snprintf(name, HW_CHECKPOINT_NAME, "checkpoint-%08" PRIu64 "-%s.json", number, token);
}

void hw_checkpoint_part_name(char name[HW_CHECKPOINT_NAME], uint64_t number, const char *token, hw_checkpoint_kind kind,
                             uint32_t index)
{
    if (kind == HW_CHECKPOINT_DRIVER)
        (void)snprintf(name, HW_CHECKPOINT_NAME, "checkpoint-%08" PRIu64 "-%s.driver.safetensors", number, token);
    else
        (void)snprintf(name, HW_CHECKPOINT_NAME, "checkpoint-%08" PRIu64 "-%s.%s-%" PRIu32 ".safetensors", number, token,
                       kinds[kind], index);
}

const char *hw_checkpoint_part_text(uint32_t kind, uint32_t index, char text[40])
{
    if (kind == HW_CHECKPOINT_DRIVER || kind >= HW_CHECKPOINT_KINDS)
        (void)snprintf(text, 40, "the driver");
    else
        (void)snprintf(text, 40, "%s %" PRIu32, kinds[kind], index);
    return text;
}

/* Finds the kind and index of a part by writing the name of each kind. */
static void read_kind(const char *name, const char *rest, hw_checkpoint_label *label)
{
    char made[HW_CHECKPOINT_NAME];
    label->kind = HW_CHECKPOINT_KINDS;
    for (uint32_t kind = 0; kind < HW_CHECKPOINT_KINDS; kind++) {
        size_t length = strlen(kinds[kind]);
        if (strncmp(rest, kinds[kind], length) != 0)
            continue;
        unsigned long long index = rest[length] == '-' ? strtoull(rest + length + 1, NULL, 10) : 0;
        hw_checkpoint_part_name(made, label->number, label->token, (hw_checkpoint_kind)kind, (uint32_t)index);
        if (strcmp(made, name) == 0) {
            label->kind = kind;
            label->index = (uint32_t)index;
        }
    }
}

bool hw_checkpoint_read_name(const char *name, hw_checkpoint_label *label)
{
    char made[HW_CHECKPOINT_NAME];
    int end = 0;
    *label = (hw_checkpoint_label){.kind = HW_CHECKPOINT_KINDS};
    if (strlen(name) >= HW_CHECKPOINT_NAME ||
        sscanf(name, "checkpoint-%12" SCNu64 "-%16[0-9a-f].%n", &label->number, label->token, &end) != 2 || end == 0 ||
        strlen(label->token) != HW_TOKEN_SIZE - 1)
        return false;
    hw_checkpoint_name(made, label->number, label->token);
    label->part = strcmp(made, name) != 0;
    if (strncmp(made, name, (size_t)end) != 0)
        return false; /* it has other zeros */
    if (label->part)
        read_kind(name, name + end, label);
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- writing ---- */

static json_t *json_of_parts(const hw_checkpoint *checkpoint, bool *ok)
{
    json_t *list = json_array();
    for (size_t i = 0; i < checkpoint->part_count; i++) {
        const hw_checkpoint_part *part = &checkpoint->parts[i];
        char checksum[20];
        (void)snprintf(checksum, sizeof checksum, "%016" PRIx64, part->checksum);
        json_t *one = json_object();
        hw_json_text(one, "file", part->file, ok);
        hw_json_count(one, "bytes", part->bytes, ok);
        hw_json_text(one, "checksum", checksum, ok);
        hw_json_append(list, one, ok);
    }
    return list;
}

static json_t *json_of_metrics(const hw_checkpoint *checkpoint, bool *ok)
{
    json_t *list = json_array();
    for (size_t i = 0; i < checkpoint->metric_count; i++) {
        json_t *one = json_object();
        hw_json_text(one, "name", checkpoint->metrics[i].name, ok);
        hw_json_number(one, "value", checkpoint->metrics[i].value, ok);
        hw_json_append(list, one, ok);
    }
    return list;
}

static json_t *json_of_logs(const hw_checkpoint *checkpoint, bool *ok)
{
    json_t *object = json_object();
    for (size_t i = 0; i < HW_LOGS; i++) {
        const hw_log_mark *mark = &checkpoint->logs[i];
        char checksum[20];
        if (mark->bytes == 0)
            continue;
        (void)snprintf(checksum, sizeof checksum, "%016" PRIx64, mark->checksum);
        json_t *one = json_object();
        hw_json_count(one, "bytes", mark->bytes, ok);
        hw_json_text(one, "checksum", checksum, ok);
        hw_json_take(object, hw_log_options[i], one, ok);
    }
    return object;
}

hawser_status hw_checkpoint_print(const hw_checkpoint *checkpoint, char **text, hawser_error *error)
{
    bool ok = true;
    json_t *object = json_object();
    hw_json_count(object, "format", FORMAT, &ok);
    hw_json_count(object, "number", checkpoint->number, &ok);
    hw_json_text(object, "token", checkpoint->token, &ok);
    hw_json_text(object, "build", checkpoint->build, &ok);
    hw_json_text(object, "program", checkpoint->program, &ok);
    hw_json_text(object, "loop", checkpoint->loop, &ok);
    hw_json_count(object, "run", checkpoint->run, &ok);
    hw_json_count(object, "ended", checkpoint->ended, &ok);
    hw_json_count(object, "clock", checkpoint->clock, &ok);
    hw_json_number(object, "seconds", checkpoint->seconds, &ok);
    hw_json_number(object, "time", checkpoint->time, &ok);
    hw_json_count(object, "workers", checkpoint->workers, &ok);
    hw_json_take(object, "metrics", json_of_metrics(checkpoint, &ok), &ok);
    hw_json_text(object, "identity", checkpoint->identity, &ok);
    hw_json_take(object, "logs", json_of_logs(checkpoint, &ok), &ok);
    hw_json_take(object, "parts", json_of_parts(checkpoint, &ok), &ok);
    char *line = hw_json_print(object, ok);
    size_t length = line != NULL ? strlen(line) : 0;
    char *whole = line != NULL ? realloc(line, length + 2 + SEAL_LENGTH + 1) : NULL;
    if (whole == NULL) {
        free(line);
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot allocate the manifest of a checkpoint");
    }
    whole[length++] = '\n';
    (void)snprintf(whole + length, SEAL_LENGTH + 2, SEAL, hw_hash(whole, length, 0));
    *text = whole;
    return HAWSER_OK;
}

/* ---------------------------------------------------------------------------------------------------------- reading ---- */

static hawser_status damaged(const char *path, const char *what, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the manifest of a checkpoint is damaged: %s", path, what);
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Checks that the text ends with the checksum of the line before, and finds the length of that line. */
static hawser_status check_seal(const char *text, size_t length, const char *path, size_t *line, hawser_error *error)
{
    char seal[SEAL_LENGTH + 2];
    size_t seal_length = (size_t)snprintf(seal, sizeof seal, SEAL, UINT64_C(0));
    if (length <= seal_length || text[length - seal_length - 1] != '\n')
        return damaged(path, "it is cut off", error);
    *line = length - seal_length;
    (void)snprintf(seal, sizeof seal, SEAL, hw_hash(text, *line, 0));
    return memcmp(seal, text + *line, seal_length) == 0 ? HAWSER_OK : damaged(path, "its checksum does not match", error);
}

/* Reads a number that is not negative. */
static bool count_of(const json_t *object, const char *key, uint64_t most, uint64_t *value)
{
    const json_t *item = json_object_get(object, key);
    json_int_t number = json_integer_value(item);
    *value = number > 0 ? (uint64_t)number : 0;
    return json_is_integer(item) && number >= 0 && *value <= most;
}

/* Reads a number; null is NaN. */
static bool number_of(const json_t *object, const char *key, double *value)
{
    const json_t *item = json_object_get(object, key);
    *value = json_is_number(item) ? json_number_value(item) : NAN;
    return json_is_number(item) || json_is_null(item);
}

static bool text_of(const json_t *object, const char *key, const char **value)
{
    *value = json_string_value(json_object_get(object, key));
    return *value != NULL;
}

/* Reads a checksum of 16 hexadecimal digits. */
static bool checksum_of(const json_t *object, uint64_t *value)
{
    const char *text;
    char made[20];
    if (!text_of(object, "checksum", &text))
        return false;
    *value = strtoull(text, NULL, 16);
    (void)snprintf(made, sizeof made, "%016" PRIx64, *value);
    return strcmp(made, text) == 0;
}

/* Reads where logs ended. NULL: nowhere. */
static bool read_logs(const json_t *logs, hw_log_mark marks[HW_LOGS])
{
    bool sound = logs == NULL || json_is_object(logs);
    for (size_t i = 0; i < HW_LOGS; i++) {
        const json_t *one = json_object_get(logs, hw_log_options[i]);
        if (one != NULL)
            sound = sound && count_of(one, "bytes", INT64_MAX, &marks[i].bytes) && checksum_of(one, &marks[i].checksum);
    }
    return sound;
}

/* Reads a part. Its name must be one that a checkpoint not newer than this one may have. */
static bool read_part(const json_t *item, uint64_t number, hw_checkpoint_part *part)
{
    const char *file;
    hw_checkpoint_label label;
    if (!text_of(item, "file", &file) || !checksum_of(item, &part->checksum) ||
        !count_of(item, "bytes", INT64_MAX, &part->bytes) || !hw_checkpoint_read_name(file, &label) || !label.part ||
        label.kind == HW_CHECKPOINT_KINDS || label.number > number)
        return false;
    (void)snprintf(part->file, sizeof part->file, "%s", file);
    part->kind = label.kind;
    part->index = label.index;
    return true;
}

static int compare_parts(const void *a, const void *b)
{
    const hw_checkpoint_part *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Reads the parts, in order of kind and index. */
static hawser_status read_parts(owned *it, const char *path, hawser_error *error)
{
    hw_checkpoint *checkpoint = &it->checkpoint;
    const json_t *list = json_object_get(it->json, "parts");
    if (!json_is_array(list))
        return damaged(path, "it has no parts", error);
    size_t count = json_array_size(list);
    HAWSER_TRY(HW_NEW(&it->parts, count, "the parts of a checkpoint", error));
    for (size_t i = 0; i < count; i++) {
        if (!read_part(json_array_get(list, i), checkpoint->number, &it->parts[i]))
            return damaged(path, "a part has no name, length or checksum", error);
        checkpoint->bytes += it->parts[i].bytes;
    }
    qsort(it->parts, count, sizeof *it->parts, compare_parts);
    for (size_t i = 1; i < count; i++)
        if (compare_parts(&it->parts[i - 1], &it->parts[i]) == 0)
            return damaged(path, "a part occurs twice", error);
    checkpoint->parts = it->parts;
    checkpoint->part_count = count;
    return HAWSER_OK;
}

static hawser_status read_metrics(owned *it, const char *path, hawser_error *error)
{
    const json_t *list = json_object_get(it->json, "metrics");
    size_t count = json_array_size(list);
    HAWSER_TRY(HW_NEW(&it->metrics, count, "the metrics of a checkpoint", error));
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        if (!text_of(item, "name", &it->metrics[i].name) || !number_of(item, "value", &it->metrics[i].value))
            return damaged(path, "a metric has no name or value", error);
    }
    it->checkpoint.metrics = it->metrics;
    it->checkpoint.metric_count = count;
    return HAWSER_OK;
}

static hawser_status read_facts(owned *it, const char *path, hawser_error *error)
{
    hw_checkpoint *own = &it->checkpoint;
    hw_checkpoint_label label;
    const char *token;
    uint64_t workers, ended;
    if (!count_of(it->json, "number", MOST_NUMBER, &own->number) || !text_of(it->json, "token", &token) ||
        !text_of(it->json, "build", &own->build) || !text_of(it->json, "program", &own->program) ||
        !text_of(it->json, "loop", &own->loop) || !count_of(it->json, "run", INT64_MAX, &own->run) ||
        !count_of(it->json, "ended", 1, &ended) || !count_of(it->json, "clock", INT64_MAX, &own->clock) ||
        !number_of(it->json, "seconds", &own->seconds) || !number_of(it->json, "time", &own->time) ||
        !count_of(it->json, "workers", UINT32_MAX, &workers) || !text_of(it->json, "identity", &own->identity) ||
        !read_logs(json_object_get(it->json, "logs"), own->logs))
        return damaged(path, "a fact is missing", error);
    own->workers = (uint32_t)workers;
    own->ended = ended != 0;
    if (!hw_checkpoint_read_name(name_of(path), &label) || label.part || label.number != own->number ||
        strcmp(label.token, token) != 0)
        return damaged(path, "it is that of another checkpoint", error);
    memcpy(own->token, label.token, sizeof own->token);
    (void)snprintf(own->file, sizeof own->file, "%s", name_of(path));
    HAWSER_TRY(read_metrics(it, path, error));
    return read_parts(it, path, error);
}

hawser_status hw_checkpoint_parse(const char *text, size_t length, const char *path, hw_checkpoint **checkpoint,
                                  hawser_error *error)
{
    size_t line = 0;
    owned *it = NULL;
    uint64_t format = 0;
    *checkpoint = NULL;
    HAWSER_TRY(check_seal(text, length, path, &line, error));
    HAWSER_TRY(HW_NEW(&it, 1, "the manifest of a checkpoint", error));
    it->checkpoint.owned = it;
    it->json = json_loadb(text, line, JSON_REJECT_DUPLICATES, NULL);
    hawser_status status;
    if (!count_of(it->json, "format", INT64_MAX, &format))
        status = damaged(path, "it is no JSON", error);
    else if (format != FORMAT)
        status = hawser_fail(error, HAWSER_BAD_INPUT,
                             "%s is a checkpoint in format %" PRIu64 "; this Hawser reads format %d", path, format, FORMAT);
    else
        status = read_facts(it, path, error);
    if (status == HAWSER_OK)
        *checkpoint = &it->checkpoint;
    else
        hw_checkpoint_free(&it->checkpoint);
    return status;
}

void hw_checkpoint_free(hw_checkpoint *checkpoint)
{
    owned *it = checkpoint != NULL ? checkpoint->owned : NULL;
    if (it == NULL)
        return;
    json_decref(it->json);
    free(it->metrics);
    free(it->parts);
    free(it);
}

static hawser_status read_file(const char *path, int fd, char **text, size_t *length, hawser_error *error)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return hawser_fail(error, HAWSER_IO, "cannot read %s: %s", path, strerror(errno));
    if (!S_ISREG(facts.st_mode) || facts.st_size > MOST_BYTES)
        return damaged(path, "it is no file, or is too large", error);
    HAWSER_TRY(HW_NEW(text, (size_t)facts.st_size + 1, "the manifest of a checkpoint", error));
    while (*length < (size_t)facts.st_size) {
        ssize_t got = read(fd, *text + *length, (size_t)facts.st_size - *length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hawser_fail(error, HAWSER_IO, "cannot read %s: %s", path, strerror(errno));
        if (got == 0)
            break;
        *length += (size_t)got;
    }
    return HAWSER_OK;
}

hawser_status hw_checkpoint_read(const char *path, hw_checkpoint **checkpoint, hawser_error *error)
{
    char *text = NULL;
    size_t length = 0;
    *checkpoint = NULL;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return hawser_fail(error, HAWSER_IO, "cannot open %s: %s", path, strerror(errno));
    hawser_status status = read_file(path, fd, &text, &length, error);
    (void)close(fd);
    if (status == HAWSER_OK)
        status = hw_checkpoint_parse(text, length, path, checkpoint, error);
    free(text);
    return status;
}

const hw_checkpoint_part *hw_checkpoint_find(const hw_checkpoint *checkpoint, hw_checkpoint_kind kind, uint32_t index)
{
    for (size_t i = 0; i < checkpoint->part_count; i++)
        if (checkpoint->parts[i].kind == (uint32_t)kind && checkpoint->parts[i].index == index)
            return &checkpoint->parts[i];
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- comparing ---- */

hawser_status hw_checkpoint_same(const hw_checkpoint *there, const hw_checkpoint *here, const char *folder,
                                 hawser_error *error)
{
    if (strcmp(there->build, here->build) != 0)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "%s has a checkpoint of Hawser %s, and this is %s: go on with that build, or give --fresh to begin "
            "anew",
            folder, there->build, here->build);
    if (there->workers != here->workers)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "%s has a checkpoint of %" PRIu32 " workers, and there are %" PRIu32
                           " here: leave out --workers, "
                           "or give --workers %" PRIu32 "; --threads may differ",
                           folder, there->workers, here->workers, there->workers);
    json_t *stored = hw_json_string(here->identity); /* what is no UTF-8 was replaced when it was written */
    if (stored == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory to compare a checkpoint");
    char difference[HW_DIFFERENCE];
    const bool differs = hw_lines_differ(there->identity, json_string_value(stored), difference);
    json_decref(stored);
    if (differs)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "%s has a checkpoint of another run: %s; choose another folder or give --fresh", folder,
                           difference);
    return HAWSER_OK;
}
