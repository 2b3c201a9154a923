#include "checkpoint/part.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define FACT   "hawser.checkpoint" /* "1 12 TOKEN block 3": format, number, token, part */
#define FORMAT 1
enum { FACT_SIZE = 120 };

static const char *const types[] = {"F64", "F32", "I64", "U64", "U8"};
static const size_t sizes[] = {8, 4, 8, 8, 1};

uint64_t hw_checkpoint_tensor_bytes(const hw_checkpoint_tensor *tensor)
{
    return tensor->rows * (tensor->cols > 0 ? tensor->cols : 1) * sizes[tensor->type];
}

static hawser_status path_of(const char *folder, const char *file, char **path, hawser_error *error)
{
    size_t size = strlen(folder) + strlen(file) + 2;
    HAWSER_TRY(HW_NEW(path, size, "a file name", error));
    (void)snprintf(*path, size, "%s/%s", folder, file);
    return HAWSER_OK;
}

static void print_fact(char fact[FACT_SIZE], uint64_t number, const char *token, uint32_t kind, uint32_t index)
{
    char text[40];
    (void)snprintf(fact, FACT_SIZE, "%d %" PRIu64 " %s %s", FORMAT, number, token,
                   hw_checkpoint_part_text(kind, index, text));
}

/* ---------------------------------------------------------------------------------------------------------- writing ---- */

static hawser_status write_sealed(hw_part_writer *writer, const void *data, size_t size, hawser_error *error)
{
    hw_checksum_add(&writer->seal, data, size);
    return hw_file_write(&writer->file, data, size, error);
}

/* Makes the header; the caller frees it. */
static hawser_status make_header(hw_part_writer *writer, const hw_checkpoint *of, const hw_checkpoint_tensor *tensors,
                                 size_t count, char **text, hawser_error *error)
{
    hw_tensors_header header;
    char fact[FACT_SIZE];
    const char *last = "";
    hw_tensors_begin(&header);
    print_fact(fact, of->number, of->token, writer->part.kind, writer->part.index);
    bool ok = hw_tensors_fact(&header, FACT, fact);
    for (size_t i = 0; ok && i < count; i++) {
        last = tensors[i].name;
        ok = hw_tensors_add(&header, last, types[tensors[i].type], tensors[i].rows, tensors[i].cols,
                            hw_checkpoint_tensor_bytes(&tensors[i]));
    }
    writer->left = header.bytes;
    *text = hw_tensors_text(&header);
    if (*text != NULL)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_NO_MEMORY,
                       "cannot describe tensor '%s' of a checkpoint: no memory, or a name that is not UTF-8 or occurs twice",
                       last);
}

static hawser_status begin_file(hw_part_writer *writer, const char *folder, const char *header, hawser_error *error)
{
    char *path = NULL;
    uint64_t length = strlen(header);
    HAWSER_TRY(path_of(folder, writer->part.file, &path, error));
    hawser_status status = hw_file_begin(&writer->file, path, error);
    free(path);
    if (status == HAWSER_OK)
        status = write_sealed(writer, &length, sizeof length, error);
    return status == HAWSER_OK ? write_sealed(writer, header, (size_t)length, error) : status;
}

hawser_status hw_part_begin(hw_part_writer *writer, const char *folder, const hw_checkpoint *of, hw_checkpoint_kind kind,
                            uint32_t index, const hw_checkpoint_tensor *tensors, size_t count, hawser_error *error)
{
    char *header = NULL;
    *writer = (hw_part_writer){.file = {.fd = -1}, .part = {.kind = (uint32_t)kind, .index = index}};
    hw_checkpoint_part_name(writer->part.file, of->number, of->token, kind, index);
    HAWSER_TRY(make_header(writer, of, tensors, count, &header, error));
    writer->part.bytes = sizeof(uint64_t) + strlen(header) + writer->left + sizeof(uint64_t);
    hawser_status status = begin_file(writer, folder, header, error);
    free(header);
    if (status != HAWSER_OK)
        hw_part_abort(writer);
    return status;
}

hawser_status hw_part_write(hw_part_writer *writer, const void *data, size_t size, hawser_error *error)
{
    if (size > writer->left)
        return hawser_fail(error, HAWSER_INTERNAL, "%s: more bytes than its tensors have", writer->part.file);
    writer->left -= size;
    return write_sealed(writer, data, size, error);
}

hawser_status hw_part_commit(hw_part_writer *writer, hw_checkpoint_part *part, hawser_error *error)
{
    uint64_t checksum = writer->part.checksum = hw_checksum_of(&writer->seal);
    hawser_status status = HAWSER_OK;
    if (writer->left > 0)
        status = hawser_fail(error, HAWSER_INTERNAL, "%s: fewer bytes than its tensors have", writer->part.file);
    if (status == HAWSER_OK)
        status = hw_file_write(&writer->file, &checksum, sizeof checksum, error);
    if (status == HAWSER_OK)
        status = hw_file_commit(&writer->file, error);
    if (status == HAWSER_OK)
        *part = writer->part;
    hw_part_abort(writer);
    return status;
}

void hw_part_abort(hw_part_writer *writer)
{
    hw_file_abort(&writer->file);
}

hawser_status hw_part_put(const char *folder, const hw_checkpoint *of, hw_checkpoint_kind kind, uint32_t index,
                          const hw_checkpoint_tensor *tensors, size_t count, hw_checkpoint_part *part, hawser_error *error)
{
    hw_part_writer writer;
    HAWSER_TRY(hw_part_begin(&writer, folder, of, kind, index, tensors, count, error));
    hawser_status status = HAWSER_OK;
    for (size_t i = 0; status == HAWSER_OK && i < count; i++)
        status = hw_part_write(&writer, tensors[i].data, (size_t)hw_checkpoint_tensor_bytes(&tensors[i]), error);
    if (status == HAWSER_OK)
        return hw_part_commit(&writer, part, error);
    hw_part_abort(&writer);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- reading ---- */

/* Checks that the file is of the checkpoint and the part that its name says. */
static hawser_status check_fact(const hw_part_reader *reader, const hw_checkpoint_part *part, hawser_error *error)
{
    char wanted[FACT_SIZE], text[40];
    hw_checkpoint_label label;
    const char *fact = json_string_value(json_object_get(json_object_get(reader->header, "__metadata__"), FACT));
    if (fact == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s is no part of a checkpoint", reader->path);
    (void)hw_checkpoint_read_name(part->file, &label);
    print_fact(wanted, label.number, label.token, part->kind, part->index);
    if (strcmp(fact, wanted) != 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s is not %s of this checkpoint, but '%.80s'", reader->path,
                           hw_checkpoint_part_text(part->kind, part->index, text), fact);
    if (!hw_tensors_whole(reader->header, reader->file.size - sizeof(uint64_t) - reader->file.header_length))
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s does not end with its checksum", reader->path);
    return HAWSER_OK;
}

hawser_status hw_part_open(hw_part_reader *reader, const char *folder, const hw_checkpoint_part *part, hawser_error *error)
{
    uint64_t checksum = 0;
    *reader = (hw_part_reader){.file = {.fd = -1}};
    HAWSER_TRY(path_of(folder, part->file, &reader->path, error));
    HAWSER_TRY(hw_tensors_open(&reader->file, reader->path, error));
    if (reader->file.size != part->bytes)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s has %" PRIu64 " bytes instead of %" PRIu64, reader->path,
                           reader->file.size, part->bytes);
    HAWSER_TRY(hw_tensors_check(&reader->file, &checksum, error));
    if (checksum != part->checksum)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s is not the file that the manifest names: it has the checksum %016" PRIx64
                           " instead of %016" PRIx64,
                           reader->path, checksum, part->checksum);
    reader->header = json_loadb(reader->file.header, reader->file.header_length, JSON_REJECT_DUPLICATES, NULL);
    return check_fact(reader, part, error);
}

void hw_part_close(hw_part_reader *reader)
{
    hw_tensors_close(&reader->file);
    json_decref(reader->header);
    free(reader->path);
    *reader = (hw_part_reader){.file = {.fd = -1}};
}

hawser_status hw_part_find(const hw_part_reader *reader, hw_checkpoint_tensor *tensor, hawser_error *error)
{
    const json_t *item = json_object_get(reader->header, tensor->name), *shape = json_object_get(item, "shape");
    const char *type = "";
    json_int_t begin = -1, end = -1;
    uint64_t data = sizeof(uint64_t) + reader->file.header_length, size = reader->file.size - data;
    if (item == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s has no tensor '%s'", reader->path, tensor->name);
    if (json_unpack((json_t *)(uintptr_t)item, "{s:s, s:[I,I]}", "dtype", &type, "data_offsets", &begin, &end) != 0 ||
        strcmp(type, types[tensor->type]) != 0 || begin < 0 || end < begin || (uint64_t)end > size)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: tensor '%s' is no array of %s within the file", reader->path,
                           tensor->name, types[tensor->type]);
    json_int_t rows = json_integer_value(json_array_get(shape, 0)), cols = json_integer_value(json_array_get(shape, 1));
    size_t dims = json_array_size(shape), width = sizes[tensor->type];
    uint64_t bytes = (uint64_t)(end - begin), line = dims == 2 ? (uint64_t)cols * width : width;
    bool fits = rows >= 0 && cols >= 0 && (dims == 1 || (dims == 2 && (uint64_t)cols <= size));
    fits = fits && (line == 0 || rows == 0 ? bytes == 0 : bytes / line == (uint64_t)rows && bytes % line == 0);
    if (!fits)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: tensor '%s' has another shape than length", reader->path,
                           tensor->name);
    tensor->rows = (uint64_t)rows;
    tensor->cols = dims == 2 ? (uint64_t)cols : 0;
    tensor->at = data + (uint64_t)begin;
    return HAWSER_OK;
}

hawser_status hw_part_read(const hw_part_reader *reader, const hw_checkpoint_tensor *tensor, uint64_t from, void *out,
                           size_t bytes, hawser_error *error)
{
    uint64_t all = hw_checkpoint_tensor_bytes(tensor);
    if (from > all || bytes > all - from)
        return hawser_fail(error, HAWSER_INTERNAL, "%s: tensor '%s' is read beyond its end", reader->path, tensor->name);
    return hw_tensors_read(&reader->file, tensor->at + from, out, bytes, error);
}
