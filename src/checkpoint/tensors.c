#include "checkpoint/tensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "checkpoint/checksum.h"

#define CHECKSUM "hawser.checksum"
enum { MOST_HEADER = 100000000 };

/* ---------------------------------------------------------------------------------------------------------- headers ---- */

void hw_tensors_begin(hw_tensors_header *header)
{
    *header = (hw_tensors_header){.tensors = json_object(), .facts = json_object()};
    header->ok = header->tensors != NULL && header->facts != NULL;
}

/* Takes the value, also if it returns false. */
static bool put(hw_tensors_header *header, json_t *object, const char *name, json_t *value)
{
    bool twice = json_object_get(object, name) != NULL;
    if (twice)
        json_decref(value);
    header->ok = !twice && json_object_set_new(object, name, value) == 0 && header->ok;
    return header->ok;
}

bool hw_tensors_fact(hw_tensors_header *header, const char *name, const char *value)
{
    return put(header, header->facts, name, json_string(value));
}

bool hw_tensors_add(hw_tensors_header *header, const char *name, const char *type, uint64_t rows, uint64_t cols,
                    uint64_t bytes)
{
    json_t *shape = cols == 0 ? json_pack("[I]", (json_int_t)rows) : json_pack("[I,I]", (json_int_t)rows, (json_int_t)cols);
    json_t *tensor = json_pack("{s:s, s:o, s:[I,I]}", "dtype", type, "shape", shape, "data_offsets",
                               (json_int_t)header->bytes, (json_int_t)(header->bytes + bytes));
    header->bytes += bytes;
    return put(header, header->tensors, name, tensor);
}

char *hw_tensors_text(hw_tensors_header *header)
{
    bool ok = hw_tensors_add(header, CHECKSUM, "U8", sizeof(uint64_t), 0, sizeof(uint64_t));
    ok = json_object_set_new(header->tensors, "__metadata__", header->facts) == 0 && ok;
    char *line = ok ? json_dumps(header->tensors, JSON_COMPACT) : NULL;
    json_decref(header->tensors);
    *header = (hw_tensors_header){0};
    size_t length = line != NULL ? strlen(line) : 0, padded = (length + 7) / 8 * 8;
    char *text = line != NULL ? realloc(line, padded + 1) : NULL;
    if (text == NULL) {
        free(line);
        return NULL;
    }
    memset(text + length, ' ', padded - length);
    text[padded] = '\0';
    return text;
}

/* ---------------------------------------------------------------------------------------------------------- reading ---- */

hawser_status hw_tensors_read(const hw_tensors_file *file, uint64_t at, void *out, size_t bytes, hawser_error *error)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(file->fd, (unsigned char *)out + done, bytes - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return hawser_fail(error, HAWSER_IO, "cannot read %s: %s", file->path,
                               got < 0 ? strerror(errno) : "it is cut off");
        done += (size_t)got;
    }
    return HAWSER_OK;
}

hawser_status hw_tensors_open(hw_tensors_file *file, const char *path, hawser_error *error)
{
    struct stat about;
    uint64_t length = 0;
    *file = (hw_tensors_file){.path = path};
    file->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file->fd < 0 || fstat(file->fd, &about) != 0)
        return hawser_fail(error, HAWSER_IO, "cannot open %s: %s", path, strerror(errno));
    file->size = S_ISREG(about.st_mode) && about.st_size > 0 ? (uint64_t)about.st_size : 0;
    if (file->size >= sizeof length)
        HAWSER_TRY(hw_tensors_read(file, 0, &length, sizeof length, error));
    if (length == 0 || length > MOST_HEADER || length > file->size - sizeof length)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s is not a safetensors file, or is cut off", path);
    HAWSER_TRY(HW_NEW(&file->header, (size_t)length, "the header of a file", error));
    file->header_length = (size_t)length;
    return hw_tensors_read(file, sizeof length, file->header, (size_t)length, error);
}

void hw_tensors_close(hw_tensors_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    free(file->header);
    *file = (hw_tensors_file){.fd = -1};
}

hawser_status hw_tensors_check(const hw_tensors_file *file, uint64_t *checksum, hawser_error *error)
{
    hw_checksum seal = {0};
    unsigned char piece[HW_CHECKSUM_PIECE];
    uint64_t end = file->size - sizeof(uint64_t), stored;
    for (uint64_t at = 0; at < end; at += sizeof piece) {
        size_t count = end - at < sizeof piece ? (size_t)(end - at) : sizeof piece;
        HAWSER_TRY(hw_tensors_read(file, at, piece, count, error));
        hw_checksum_add(&seal, piece, count);
    }
    HAWSER_TRY(hw_tensors_read(file, end, &stored, sizeof stored, error));
    if (checksum != NULL)
        *checksum = stored;
    if (stored == hw_checksum_of(&seal))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "%s: the checksum does not match: the file was damaged, or changed by other software", file->path);
}

bool hw_tensors_whole(const json_t *header, uint64_t bytes)
{
    json_int_t begin = 0, end = 0;
    return json_unpack(json_object_get(header, CHECKSUM), "{s:[I,I]}", "data_offsets", &begin, &end) == 0 && begin >= 0 &&
           end - begin == sizeof(uint64_t) && (uint64_t)end == bytes;
}
