#include "data/source/zip.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"

enum { END_BYTES = 22, COMMENT_MOST = 65535, ENTRY_BYTES = 46, LOCAL_BYTES = 30, STORED = 0, DEFLATED = 8, WIDE = 1 };

static uint64_t number(const unsigned char *at, size_t bytes)
{
    uint64_t value = 0;
    for (size_t k = 0; k < bytes; k++)
        value |= (uint64_t)at[k] << 8 * k;
    return value;
}

static hawser_status damaged(const hw_zip *zip, const char *what, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_INPUT, "%s: damaged zip archive: %s", zip->path, what);
}

bool hw_is_zip(const void *bytes, size_t size)
{
    return size >= 4 && memcmp(bytes, "PK\3\4", 4) == 0;
}

/* Finds the record at the end of the archive: where its list of files is. */
static hawser_status find_list(const hw_zip *zip, uint64_t *count, uint64_t *offset, uint64_t *bytes, hawser_error *error)
{
    const unsigned char *end = NULL;
    for (size_t back = END_BYTES; back <= zip->size && back <= END_BYTES + COMMENT_MOST && end == NULL; back++)
        if (memcmp(zip->bytes + zip->size - back, "PK\5\6", 4) == 0)
            end = zip->bytes + zip->size - back;
    if (end == NULL)
        return damaged(zip, "its end is missing", error);
    *count = number(end + 10, 2);
    *bytes = number(end + 12, 4);
    *offset = number(end + 16, 4);
    size_t before = (size_t)(end - zip->bytes);
    if (before >= 20 && memcmp(end - 20, "PK\6\7", 4) == 0) { /* numbers of 64 bits are elsewhere */
        uint64_t at = number(end - 20 + 8, 8);
        if (at > before - 20 || before - 20 - at < 56 || memcmp(zip->bytes + at, "PK\6\6", 4) != 0)
            return damaged(zip, "its end of 64 bits is missing", error);
        *count = number(zip->bytes + at + 32, 8);
        *bytes = number(zip->bytes + at + 40, 8);
        *offset = number(zip->bytes + at + 48, 8);
    }
    if (*offset > zip->size || *bytes > zip->size - *offset || *count > *bytes / ENTRY_BYTES)
        return damaged(zip, "its list of files is beyond its end", error);
    return HAWSER_OK;
}

/* Reads sizes of 64 bits from the extra fields of an entry, where those of 32 bits are all ones. */
static void widen(const unsigned char *extra, size_t length, hw_zip_member *m)
{
    uint64_t *const wide[] = {&m->size, &m->packed, &m->offset};
    for (size_t at = 0; at + 4 <= length;) {
        size_t id = number(extra + at, 2), bytes = number(extra + at + 2, 2), from = at + 4;
        at = from + bytes;
        for (size_t k = 0; id == WIDE && at <= length && k < 3; k++)
            if (*wide[k] == UINT32_MAX && from + 8 <= at) {
                *wide[k] = number(extra + from, 8);
                from += 8;
            }
    }
}

/* Reads an entry of the list, and where the file's bytes are. */
static hawser_status read_entry(hw_zip *zip, const unsigned char **at, const unsigned char *end, hw_zip_member *m,
                                hawser_error *error)
{
    const unsigned char *entry = *at;
    if (end - entry < ENTRY_BYTES || memcmp(entry, "PK\1\2", 4) != 0)
        return damaged(zip, "its list of files is cut off", error);
    size_t name = number(entry + 28, 2), extra = number(entry + 30, 2), comment = number(entry + 32, 2);
    if ((size_t)(end - entry) - ENTRY_BYTES < name + extra + comment)
        return damaged(zip, "its list of files is cut off", error);
    *m = (hw_zip_member){.name = (const char *)entry + ENTRY_BYTES,
                         .name_length = name,
                         .offset = number(entry + 42, 4),
                         .packed = number(entry + 20, 4),
                         .size = number(entry + 24, 4),
                         .method = (unsigned)number(entry + 10, 2),
                         .checksum = (uint32_t)number(entry + 16, 4)};
    widen(entry + ENTRY_BYTES + name, extra, m);
    *at = entry + ENTRY_BYTES + name + extra + comment;
    if ((entry[8] & 1) != 0)
        return damaged(zip, "it is encrypted", error);
    if (m->offset > zip->size || zip->size - m->offset < LOCAL_BYTES || memcmp(zip->bytes + m->offset, "PK\3\4", 4) != 0)
        return damaged(zip, "a file is beyond its end", error);
    const unsigned char *local = zip->bytes + m->offset;
    m->offset += LOCAL_BYTES + number(local + 26, 2) + number(local + 28, 2);
    if (m->offset > zip->size || m->packed > zip->size - m->offset || (m->method == STORED && m->packed != m->size))
        return damaged(zip, "a file is beyond its end", error);
    return HAWSER_OK;
}

hawser_status hw_zip_open(const void *bytes, size_t size, const char *path, hw_zip *zip, hawser_error *error)
{
    uint64_t count = 0, offset = 0, length = 0;
    *zip = (hw_zip){.bytes = bytes, .size = size, .path = path};
    HAWSER_TRY(find_list(zip, &count, &offset, &length, error));
    HAWSER_TRY(HW_NEW(&zip->members, count + 1, "the files of an archive", error));
    const unsigned char *at = zip->bytes + offset, *end = at + length;
    for (; zip->count < count; zip->count++)
        HAWSER_TRY(read_entry(zip, &at, end, &zip->members[zip->count], error));
    return HAWSER_OK;
}

const hw_zip_member *hw_zip_array(const hw_zip *zip, const char *name)
{
    size_t length = strlen(name);
    for (size_t k = 0; k < zip->count; k++) {
        const hw_zip_member *m = &zip->members[k];
        bool begins = m->name_length >= length && memcmp(m->name, name, length) == 0;
        bool whole = m->name_length == length && length > 4 && memcmp(name + length - 4, ".npy", 4) == 0;
        if (begins && (whole || (m->name_length == length + 4 && memcmp(m->name + length, ".npy", 4) == 0)))
            return m;
    }
    return NULL;
}

hawser_status hw_zip_unpack(const hw_zip *zip, const hw_zip_member *member, void *out, hawser_error *error)
{
    const unsigned char *from = zip->bytes + member->offset;
    if (member->method == STORED) {
        memcpy(out, from, member->size);
    } else if (member->method == DEFLATED) {
        z_stream s = {0};
        if (inflateInit2(&s, -MAX_WBITS) != Z_OK)
            return hawser_fail(error, HAWSER_NO_MEMORY, "%s: no memory to unpack it", zip->path);
        uint64_t read = 0, written = 0;
        int outcome = Z_OK;
        while (outcome == Z_OK) {
            uint64_t in = member->packed - read, space = member->size - written;
            s.next_in = (unsigned char *)(uintptr_t)(from + read);
            s.avail_in = in < INT_MAX ? (unsigned)in : INT_MAX;
            s.next_out = (unsigned char *)out + written;
            s.avail_out = space < INT_MAX ? (unsigned)space : INT_MAX;
            outcome = inflate(&s, Z_NO_FLUSH);
            read = (uint64_t)(s.next_in - from);
            written = (uint64_t)(s.next_out - (unsigned char *)out);
        }
        inflateEnd(&s);
        if (outcome != Z_STREAM_END || written != member->size)
            return damaged(zip, "a file does not unpack to its size", error);
    } else {
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: '%.*s' is packed by method %u, and 0 and 8 (deflate) are read; save it with numpy.savez",
                           zip->path, (int)(member->name_length < 100 ? member->name_length : 100), member->name,
                           member->method);
    }
    if (crc32_z(0, out, member->size) != member->checksum)
        return damaged(zip, "a checksum does not match", error);
    return HAWSER_OK;
}
