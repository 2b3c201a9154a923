/* file.c - models as safetensors files: eight bytes of header length, a JSON header, the tensors' bytes without gaps. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/type.h"
#include "data/model/model.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "model and cache files are little-endian and written without conversion");

static const char *const TYPE_NAMES[] = {
    [HAWSER_F64] = "F64", [HAWSER_F32] = "F32", [HAWSER_I64] = "I64", [HAWSER_I32] = "I32"};

/* ---- writing ---- */

/* Tensors of eight-byte numbers are first, so that every tensor is aligned without the gaps that the format forbids. */
static bool in_pass(const hw_tensor *tensor, int pass)
{
    return (hw_type_size(tensor->type) == 4) == (pass == 1);
}

/* Adds a member. Takes over `value`; NULL is allowed. */
static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *describe_tensor(const hw_tensor *tensor, size_t begin)
{
    json_t *shape = json_pack("[I]", (json_int_t)tensor->dims[0]);
    if (shape != NULL && tensor->dims[1] != 0 &&
        json_array_append_new(shape, json_integer((json_int_t)tensor->dims[1])) != 0) {
        json_decref(shape);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", TYPE_NAMES[tensor->type], "shape", shape, "data_offsets",
                     (json_int_t)begin, (json_int_t)(begin + tensor->bytes));
}

static bool describe_facts(const hawser_model *model, json_t *facts)
{
    char digest[20];
    (void)snprintf(digest, sizeof digest, "%016" PRIx64, hw_model_digest(model));
    bool good =
        put(facts, HW_MODEL_FORMAT, json_string(HW_MODEL_VERSION)) && put(facts, HW_MODEL_CHECKSUM, json_string(digest));
    for (size_t i = 0; good && i < model->fact_count; i++)
        good = put(facts, model->facts[i].key, json_string(model->facts[i].value));
    return good;
}

/* Returns the header's text, for free(); NULL if memory is short. */
static char *describe(const hawser_model *model)
{
    json_t *header = json_object(), *facts = json_object();
    bool good = header != NULL && facts != NULL && describe_facts(model, facts);
    good = put(header, "__metadata__", facts) && good;
    size_t begin = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; good && i < model->tensor_count; i++)
            if (in_pass(&model->tensors[i], pass)) {
                good = put(header, model->tensors[i].name, describe_tensor(&model->tensors[i], begin));
                begin += model->tensors[i].bytes;
            }
    char *text = good ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    return text;
}

/* Takes the bytes of a model in their order: into a file, or into memory that has space for them. */
typedef struct model_sink {
    hw_file *file;
    unsigned char *at; /* in place of the file */
} model_sink;

static hawser_status put_bytes(model_sink *to, const void *bytes, size_t size, hawser_error *error)
{
    if (to->file != NULL)
        return hw_file_write(to->file, bytes, size, error);
    if (size > 0)
        memcpy(to->at, bytes, size);
    to->at += size;
    return HAWSER_OK;
}

static size_t padded_length(const char *header)
{
    return (strlen(header) + 7) / 8 * 8;
}

/* Describes the model; `name` is for messages. The caller frees *header. */
static hawser_status make_header(const hawser_model *model, const char *name, char **header, hawser_error *error)
{
    *header = describe(model);
    if (*header == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "%s: no memory for the header", name);
    if (padded_length(*header) <= HW_MODEL_MOST_HEADER)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                       "%s: a header of %zu bytes; safetensors allows %d: store fewer or shorter "
                       "facts",
                       name, padded_length(*header), HW_MODEL_MOST_HEADER);
}

static hawser_status put_all(const hawser_model *model, const char *header, model_sink *to, hawser_error *error)
{
    size_t length = strlen(header);
    uint64_t padded = padded_length(header);
    HAWSER_TRY(put_bytes(to, &padded, sizeof padded, error));
    HAWSER_TRY(put_bytes(to, header, length, error));
    HAWSER_TRY(put_bytes(to, "       ", padded - length, error));
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < model->tensor_count; i++)
            if (in_pass(&model->tensors[i], pass))
                HAWSER_TRY(put_bytes(to, model->tensors[i].values, model->tensors[i].bytes, error));
    return HAWSER_OK;
}

hawser_status hawser_model_save(const hawser_model *model, const char *path, hawser_error *error)
{
    HW_GIVEN(model);
    HW_GIVEN(path);
    hw_file file;
    char *header = NULL;
    HAWSER_TRY(hw_file_begin(&file, path, error));
    hawser_status status = make_header(model, path, &header, error);
    HAWSER_THEN(status, put_all(model, header, &(model_sink){.file = &file}, error));
    free(header);
    if (status == HAWSER_OK)
        return hw_file_commit(&file, error);
    hw_file_abort(&file);
    return status;
}

hawser_status hawser_model_to_bytes(const hawser_model *model, void **bytes, size_t *size, hawser_error *error)
{
    HW_GIVEN(model);
    HW_GIVEN(bytes);
    HW_GIVEN(size);
    char *header = NULL;
    unsigned char *all = NULL;
    *bytes = NULL;
    *size = 0;
    hawser_status status = make_header(model, "a model", &header, error);
    size_t length = status == HAWSER_OK ? HW_MODEL_LENGTH_BYTES + padded_length(header) : 0;
    for (size_t i = 0; i < model->tensor_count; i++)
        length += model->tensors[i].bytes;
    HAWSER_THEN(status, HW_NEW(&all, length, "the bytes of a model", error));
    if (status == HAWSER_OK)
        status = put_all(model, header, &(model_sink){.at = all}, error); /* memory takes all */
    free(header);
    if (status != HAWSER_OK) {
        free(all);
        return status;
    }
    *bytes = all;
    *size = length;
    return HAWSER_OK;
}

hawser_status hawser_model_from_bytes(const void *bytes, size_t size, hawser_model **model, hawser_error *error)
{
    HW_GIVEN(bytes);
    HW_GIVEN(model);
    return hw_model_parse(bytes, size, "the bytes of a model", model, error);
}

/* ---- reading ---- */

typedef struct source {
    const char *name;
    const unsigned char *data; /* after the header */
    size_t size;
    hawser_model *model;
    const char *format, *checksum; /* of the header; NULL if absent */
} source;

static hawser_status damaged(const char *name, hawser_error *error, const char *what)
{
    return hawser_fail(error, HAWSER_BAD_INPUT, "%s: not a whole model file: %s", name, what);
}

static hawser_status bad_tensor(const source *in, const char *tensor, const char *what, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_INPUT, "%s: not a whole model file: tensor \"%.100s\": %s", in->name, tensor, what);
}

/* Reads a whole number from 0 to `most`. */
static bool whole(const json_t *json, size_t most, size_t *out)
{
    if (!json_is_integer(json) || json_integer_value(json) < 0 || (uint64_t)json_integer_value(json) > most)
        return false;
    *out = (size_t)json_integer_value(json);
    return true;
}

static bool read_type(const json_t *json, hawser_type *type)
{
    for (int t = HAWSER_F64; json_is_string(json) && t <= HAWSER_I32; t++)
        if (strcmp(json_string_value(json), TYPE_NAMES[t]) == 0) {
            *type = (hawser_type)t;
            return true;
        }
    return false;
}

/* A scalar is read as one number in one dimension. */
static bool read_shape(const json_t *json, size_t most, size_t dims[2])
{
    dims[0] = 1;
    dims[1] = 0;
    size_t count = json_array_size(json);
    if (!json_is_array(json) || count > 2)
        return false;
    for (size_t d = 0; d < count; d++)
        if (!whole(json_array_get(json, d), most, &dims[d]))
            return false;
    return count < 2 || dims[1] > 0;
}

/* Reads a tensor. *covered is the number of data bytes of the tensors so far; the last check in read_header detects overlaps
 * by it. */
static hawser_status read_tensor(source *in, const char *name, const json_t *json, size_t *covered, hawser_error *error)
{
    hawser_type type;
    size_t dims[2], begin, end;
    const json_t *offsets = json_object_get(json, "data_offsets");
    if (!read_type(json_object_get(json, "dtype"), &type))
        return bad_tensor(in, name, "dtype must be F64, F32, I64 or I32", error);
    if (!read_shape(json_object_get(json, "shape"), in->size, dims))
        return bad_tensor(in, name, "shape must be one or two sizes that the file can hold", error);
    if (json_array_size(offsets) != 2 || !whole(json_array_get(offsets, 0), in->size, &begin) ||
        !whole(json_array_get(offsets, 1), in->size, &end) || begin > end)
        return bad_tensor(in, name, "data_offsets must be two places within the file; is the file cut off?", error);
    size_t size = hw_type_size(type), columns = dims[1] == 0 ? 1 : dims[1];
    if (dims[0] > in->size / columns || dims[0] * columns != (end - begin) / size || (end - begin) % size != 0)
        return bad_tensor(in, name, "shape and data_offsets disagree", error);
    *covered += end - begin;
    if (*covered > in->size)
        return bad_tensor(in, name, "it overlaps another tensor", error);
    return hawser_model_tensor(in->model, name, type, dims, in->data + begin, error);
}

static hawser_status read_facts(source *in, json_t *facts, hawser_error *error)
{
    if (!json_is_object(facts))
        return damaged(in->name, error, "__metadata__ is not an object");
    if (json_object_size(facts) > HW_MODEL_MOST_NAMES)
        return damaged(in->name, error, "it has more than 1000 facts, so it is not a model of Hawser");
    const char *key;
    json_t *value;
    json_object_foreach(facts, key, value)
    {
        if (!json_is_string(value))
            return damaged(in->name, error, "__metadata__ may only have texts");
        if (strcmp(key, HW_MODEL_CHECKSUM) == 0)
            in->checksum = json_string_value(value);
        else if (strcmp(key, HW_MODEL_FORMAT) == 0)
            in->format = json_string_value(value);
        else
            HAWSER_TRY(hawser_model_fact(in->model, key, json_string_value(value), error));
    }
    return HAWSER_OK;
}

/* Checks for gaps and overlaps: in order, each span must begin where the one before ended. */
static hawser_status check_spans(const source *in, json_t *header, hawser_error *error)
{
    size_t reached = 0, count = json_object_size(header), steps = 0;
    while (reached < in->size && steps++ <= count) {
        const char *key;
        json_t *value;
        size_t next = reached;
        json_object_foreach(header, key, value)
        {
            const json_t *offsets = json_object_get(value, "data_offsets");
            if (json_array_size(offsets) == 2 && (size_t)json_integer_value(json_array_get(offsets, 0)) == reached &&
                (size_t)json_integer_value(json_array_get(offsets, 1)) > next)
                next = (size_t)json_integer_value(json_array_get(offsets, 1));
        }
        if (next == reached)
            break;
        reached = next;
    }
    return reached == in->size
               ? HAWSER_OK
               : damaged(in->name, error, "the tensors overlap or do not cover the data; is the file cut off?");
}

static hawser_status check_digest(const source *in, hawser_error *error)
{
    if (in->format == NULL && in->checksum == NULL)
        return HAWSER_OK;
    if (in->format == NULL || in->checksum == NULL)
        return damaged(in->name, error, "one of \"" HW_MODEL_FORMAT "\" and \"" HW_MODEL_CHECKSUM "\" is missing");
    if (strcmp(in->format, HW_MODEL_VERSION) != 0)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: model format \"%.20s\"; this version of Hawser reads " HW_MODEL_VERSION, in->name,
                           in->format);
    char digest[20];
    (void)snprintf(digest, sizeof digest, "%016" PRIx64, hw_model_digest(in->model));
    if (strcmp(in->checksum, digest) != 0)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: the checksum does not match: the file was damaged, or changed by other "
                           "software that kept the fact \"" HW_MODEL_CHECKSUM "\"",
                           in->name);
    return HAWSER_OK;
}

static hawser_status read_header(source *in, json_t *header, hawser_error *error)
{
    const char *key;
    json_t *value;
    size_t covered = 0;
    if (!json_is_object(header))
        return damaged(in->name, error, "the header is not an object");
    if (json_object_size(header) > HW_MODEL_MOST_NAMES)
        return damaged(in->name, error, "it has more than 1000 tensors, so it is not a model of Hawser");
    json_object_foreach(header, key, value)
    {
        if (strcmp(key, "__metadata__") == 0)
            HAWSER_TRY(read_facts(in, value, error));
        else
            HAWSER_TRY(read_tensor(in, key, value, &covered, error));
    }
    if (covered != in->size)
        return damaged(in->name, error, "the tensors do not cover the data; is the file cut off?");
    HAWSER_TRY(check_spans(in, header, error));
    return check_digest(in, error);
}

hawser_status hw_model_parse(const unsigned char *bytes, size_t size, const char *name, hawser_model **model,
                             hawser_error *error)
{
    uint64_t length;
    *model = NULL;
    if (size < HW_MODEL_LENGTH_BYTES + 2)
        return damaged(name, error, "it is too short");
    memcpy(&length, bytes, sizeof length);
    if (length > size - HW_MODEL_LENGTH_BYTES || length > HW_MODEL_MOST_HEADER)
        return damaged(name, error, "it does not begin with the length of a safetensors header");
    json_error_t where;
    json_t *header = json_loadb((const char *)bytes + HW_MODEL_LENGTH_BYTES, (size_t)length, JSON_REJECT_DUPLICATES, &where);
    if (header == NULL && json_error_code(&where) == json_error_out_of_memory)
        return hawser_fail(error, HAWSER_NO_MEMORY, "%s: no memory for the header of %llu bytes", name,
                           (unsigned long long)length);
    if (header == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: not a whole model file: header byte %d: %s", name, where.position,
                           where.text);
    source in = {
        .name = name, .data = bytes + HW_MODEL_LENGTH_BYTES + length, .size = size - HW_MODEL_LENGTH_BYTES - (size_t)length};
    hawser_status status = hawser_model_new(&in.model, error);
    HAWSER_THEN(status, read_header(&in, header, error));
    json_decref(header);
    if (status != HAWSER_OK) {
        hawser_model_free(in.model);
        return status;
    }
    *model = in.model;
    return HAWSER_OK;
}

static hawser_status read_whole(int fd, const char *path, unsigned char **bytes, size_t *size, hawser_error *error)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return hawser_fail(error, HAWSER_IO, "%s: cannot read: %s", path, strerror(errno));
    if (!S_ISREG(facts.st_mode))
        return hawser_fail(error, HAWSER_IO, "%s: a model must be a plain file", path);
    *size = (size_t)facts.st_size;
    if (*size > hw_machine_memory(1))
        return hawser_fail(error, HAWSER_NO_MEMORY, "%s: %zu bytes do not fit into memory", path, *size);
    HAWSER_TRY(HW_NEW(bytes, *size, "the content of a model file", error));
    for (size_t done = 0; done < *size;) {
        ssize_t got = read(fd, *bytes + done, *size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hawser_fail(error, HAWSER_IO, "%s: cannot read: %s", path, strerror(errno));
        if (got == 0)
            *size = done; /* the file was truncated meanwhile; the checks will report it */
        done += (size_t)got;
    }
    return HAWSER_OK;
}

hawser_status hw_model_read(const char *path, unsigned char **bytes, size_t *size, hawser_error *error)
{
    *bytes = NULL;
    *size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return hawser_fail(error, HAWSER_IO, "%s: cannot open: %s", path, strerror(errno));
    hawser_status status = read_whole(fd, path, bytes, size, error);
    (void)close(fd);
    return status;
}

hawser_status hawser_model_load(const char *path, hawser_model **model, hawser_error *error)
{
    HW_GIVEN(path);
    HW_GIVEN(model);
    unsigned char *bytes = NULL;
    size_t size = 0;
    *model = NULL;
    hawser_status status = hw_model_read(path, &bytes, &size, error);
    HAWSER_THEN(status, hw_model_parse(bytes, size, path, model, error));
    free(bytes);
    return status;
}
