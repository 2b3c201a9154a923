#include "data/source/stream.h"

#include <errno.h>
#include <lzma.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/memory.h"

enum { INPUT_BYTES = 1 << 17 };

struct hw_unpacker {
    int fd;
    const char *name;
    hw_budget *budget;
    uint64_t taken; /* bytes of the file read so far */
    hw_archive packing;
    bool at_end;    /* the file is at its end */
    bool in_member; /* a member of the archive has begun and not ended */
    bool done;      /* no more data */
    uint64_t consumed;
    size_t used, filled; /* of input */
    z_stream gzip;
    lzma_stream xz;
    ZSTD_DStream *zstd;
    unsigned char input[INPUT_BYTES];
};

hw_archive hw_packing_of(const unsigned char *first, size_t count)
{
    if (count >= 3 && first[0] == 0x1f && first[1] == 0x8b && first[2] == 8)
        return HW_GZIP;
    if (count >= 6 && memcmp(first,
                             "\xfd"
                             "7zXZ\0",
                             6) == 0)
        return HW_XZ;
    if (count >= 4 && memcmp(first, "\x28\xb5\x2f\xfd", 4) == 0)
        return HW_ZSTD;
    if (count >= 4 && (first[0] & 0xf0) == 0x50 && memcmp(first + 1, "\x2a\x4d\x18", 3) == 0)
        return HW_ZSTD; /* a skippable frame before the data */
    return HW_PLAIN;
}

/* Returns whether bytes that follow may make these the first ones of an archive. */
static bool undecided(const unsigned char *first, size_t count)
{
    static const struct {
        const char *begin;
        size_t length;
    } archives[] = {{"\x1f\x8b\x08", 3}, {"\xfd\x37zXZ\0", 6}, {"\x28\xb5\x2f\xfd", 4}, {"\x50\x2a\x4d\x18", 4}};
    for (size_t k = 0; k < sizeof archives / sizeof *archives; k++) {
        size_t same = 0;
        for (; same < count && same < archives[k].length; same++) {
            bool skippable = same == 0 && (unsigned char)archives[k].begin[0] == 0x50 && (first[0] & 0xf0) == 0x50;
            if (!skippable && first[same] != (unsigned char)archives[k].begin[same])
                break;
        }
        if (same == count && count < archives[k].length)
            return true;
    }
    return false;
}

static const char *packing_name(hw_archive packing)
{
    return packing == HW_GZIP ? "gzip" : packing == HW_XZ ? "xz" : "zstd";
}

/* Refills the input by what one read returns; unused bytes move to the front. */
static hawser_status fill(hw_unpacker *s, hawser_error *error)
{
    memmove(s->input, s->input + s->used, s->filled - s->used);
    s->filled -= s->used;
    s->used = 0;
    ssize_t count = -1;
    if (s->at_end || s->filled == INPUT_BYTES)
        return HAWSER_OK;
    HAWSER_TRY(hw_cancellation_poll(s->budget->cancellation, s->fd, error));
    do
        count = read(s->fd, s->input + s->filled, INPUT_BYTES - s->filled);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return hawser_fail(error, HAWSER_IO, "%s: cannot read: %s", s->name, strerror(errno));
    s->at_end = count == 0;
    s->filled += (size_t)count;
    s->consumed += (uint64_t)count;
    return HAWSER_OK;
}

static uint64_t memory_left(const hw_unpacker *s)
{
    uint64_t used = atomic_load(&s->budget->used);
    return used < s->budget->limit ? s->budget->limit - used : 1;
}

static hawser_status start(hw_unpacker *s, hawser_error *error)
{
    bool ready = true;
    if (s->packing == HW_GZIP)
        ready = inflateInit2(&s->gzip, 15 + 16) == Z_OK;
    else if (s->packing == HW_XZ)
        ready = lzma_stream_decoder(&s->xz, memory_left(s), LZMA_CONCATENATED) == LZMA_OK;
    else if (s->packing == HW_ZSTD)
        ready = (s->zstd = ZSTD_createDStream()) != NULL && !ZSTD_isError(ZSTD_initDStream(s->zstd));
    s->in_member = s->packing == HW_XZ;
    return ready ? HAWSER_OK
                 : hawser_fail(error, HAWSER_NO_MEMORY, "%s: cannot start unpacking %s", s->name, packing_name(s->packing));
}

hawser_status hw_stream_open(int fd, const char *name, hw_budget *budget, hw_unpacker **stream, hawser_error *error)
{
    *stream = NULL;
    hw_unpacker *s;
    hawser_status status = HW_NEW(&s, 1, "an input buffer", error);
    if (status != HAWSER_OK) {
        close(fd);
        return status;
    }
    s->fd = fd;
    s->name = name;
    s->budget = budget;
    do
        status = fill(s, error);
    while (status == HAWSER_OK && !s->at_end && undecided(s->input, s->filled));
    s->packing = hw_packing_of(s->input, s->filled);
    HAWSER_THEN(status, start(s, error));
    if (status != HAWSER_OK) {
        hw_stream_close(s);
        return status;
    }
    *stream = s;
    return HAWSER_OK;
}

static hawser_status damaged(const hw_unpacker *s, const char *why, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the %s archive is damaged: %s", s->name, packing_name(s->packing), why);
}

/* Accepts only zeros after an archive, which fill a block of its medium, as in gzip(1). */
static hawser_status end_padded(hw_unpacker *s, hawser_error *error)
{
    do {
        for (; s->used < s->filled; s->used++)
            if (s->input[s->used] != 0)
                return damaged(s, "other data follow its end", error);
        HAWSER_TRY(fill(s, error));
    } while (s->filled > 0);
    s->done = true;
    return HAWSER_OK;
}

/* One step of each decoder: reads input, writes at most `capacity` bytes, reports their number. */
static hawser_status step_gzip(hw_unpacker *s, char *out, size_t capacity, size_t *got, hawser_error *error)
{
    while (!s->in_member && s->filled - s->used < 3 && !s->at_end)
        HAWSER_TRY(fill(s, error)); /* enough of the next member to recognise it */
    if (!s->in_member && s->filled - s->used > 0) {
        if (hw_packing_of(s->input + s->used, s->filled - s->used) != HW_GZIP)
            return end_padded(s, error);
        inflateReset(&s->gzip);
        s->in_member = true;
    }
    s->gzip.next_in = s->input + s->used;
    s->gzip.avail_in = (uInt)(s->filled - s->used);
    s->gzip.next_out = (unsigned char *)out;
    s->gzip.avail_out = capacity > 1 << 30 ? 1 << 30 : (uInt)capacity;
    uInt asked = s->gzip.avail_out;
    int outcome = inflate(&s->gzip, Z_NO_FLUSH);
    s->used = s->filled - s->gzip.avail_in;
    *got = asked - s->gzip.avail_out;
    if (outcome == Z_STREAM_END)
        s->in_member = false;
    else if (outcome == Z_MEM_ERROR)
        return hawser_fail(error, HAWSER_NO_MEMORY, "%s: no memory to unpack", s->name);
    else if (outcome != Z_OK && outcome != Z_BUF_ERROR)
        return damaged(s, s->gzip.msg != NULL ? s->gzip.msg : "wrong data", error);
    return HAWSER_OK;
}

/* Counts the memory that the decoder has, or needs by the header that it has read. More than the budget allows is refused as
 * usual. */
static hawser_status take_xz(hw_unpacker *s, hawser_error *error)
{
    uint64_t now = lzma_memusage(&s->xz);
    if (now <= s->taken)
        return HAWSER_OK;
    HAWSER_TRY(hw_budget_take(s->budget, now - s->taken, error));
    s->taken = now;
    return HAWSER_OK;
}

static hawser_status step_xz(hw_unpacker *s, char *out, size_t capacity, size_t *got, hawser_error *error)
{
    s->xz.next_in = s->input + s->used;
    s->xz.avail_in = s->filled - s->used;
    s->xz.next_out = (unsigned char *)out;
    s->xz.avail_out = capacity;
    lzma_ret outcome = lzma_code(&s->xz, s->at_end ? LZMA_FINISH : LZMA_RUN);
    s->used = s->filled - s->xz.avail_in;
    *got = capacity - s->xz.avail_out;
    HAWSER_TRY(take_xz(s, error));
    if (outcome == LZMA_STREAM_END) {
        s->in_member = false;
        s->done = true;
    } else if (outcome == LZMA_MEM_ERROR || outcome == LZMA_MEMLIMIT_ERROR) {
        return hawser_fail(error, HAWSER_NO_MEMORY, "%s: no memory to unpack", s->name);
    } else if (outcome != LZMA_OK && outcome != LZMA_BUF_ERROR) {
        return damaged(s, outcome == LZMA_FORMAT_ERROR ? "other data follow its end" : "wrong data", error);
    }
    return HAWSER_OK;
}

static hawser_status step_zstd(hw_unpacker *s, char *out, size_t capacity, size_t *got, hawser_error *error)
{
    ZSTD_inBuffer in = {s->input, s->filled, s->used};
    ZSTD_outBuffer to = {out, capacity, 0};
    size_t outcome = ZSTD_decompressStream(s->zstd, &to, &in);
    if (ZSTD_isError(outcome))
        return damaged(s, ZSTD_getErrorName(outcome), error);
    if (in.pos != s->used || to.pos != 0)
        s->in_member = outcome != 0;
    s->used = in.pos;
    *got = to.pos;
    return HAWSER_OK;
}

static hawser_status step(hw_unpacker *s, char *out, size_t capacity, size_t *got, hawser_error *error)
{
    switch (s->packing) {
    case HW_GZIP: return step_gzip(s, out, capacity, got, error);
    case HW_XZ: return step_xz(s, out, capacity, got, error);
    case HW_ZSTD: return step_zstd(s, out, capacity, got, error);
    case HW_PLAIN: break;
    }
    *got = s->filled - s->used < capacity ? s->filled - s->used : capacity;
    memcpy(out, s->input + s->used, *got);
    s->used += *got;
    return HAWSER_OK;
}

/* Returns whether there is input. `waits`: waits until there is some, `stop` becomes readable, or the load is cancelled,
 * which the read finds. */
static bool has_input(const hw_unpacker *s, int stop, bool waits_for_it)
{
    struct pollfd waits[] = {{.fd = s->fd, .events = POLLIN}, {.fd = stop, .events = POLLIN}};
    const hawser_cancellation *cancellation = s->budget->cancellation;
    int ready;
    do
        ready = poll(waits, stop >= 0 ? 2 : 1, !waits_for_it ? 0 : cancellation != NULL ? HW_CANCELLATION_MS : -1);
    while ((ready < 0 && errno == EINTR) || (ready == 0 && waits_for_it && !hw_cancelled(cancellation)));
    if (hw_cancelled(cancellation))
        return true;
    return ready < 0 || waits[0].revents != 0; /* what cannot be polled is read */
}

/* How a read waits. `begin`: whether it does before the first byte; `on`: before further ones. */
typedef struct stream_wait {
    bool begin, on;
    int stop;
} stream_wait;

static hawser_status read_bytes(hw_unpacker *s, char *out, size_t capacity, const stream_wait *wait, size_t *got,
                                hawser_error *error)
{
    *got = 0;
    while (*got < capacity && !s->done) {
        if (s->used == s->filled && !s->at_end) {
            if (!wait->on && !has_input(s, wait->stop, *got == 0 && wait->begin))
                break;
            HAWSER_TRY(fill(s, error));
        }
        size_t before = s->used, count = 0;
        HAWSER_TRY(hw_cancellation_check(s->budget->cancellation, error)); /* a few bytes may unpack to many */
        HAWSER_TRY(step(s, out + *got, capacity - *got, &count, error));
        *got += count;
        if (count > 0 || s->used != before || !s->at_end)
            continue;
        if (s->in_member)
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the %s archive is cut off after %llu bytes; fetch it again",
                               s->name, packing_name(s->packing), (unsigned long long)s->consumed);
        s->done = true;
    }
    return HAWSER_OK;
}

hawser_status hw_stream_read(hw_unpacker *s, char *out, size_t capacity, size_t *got, hawser_error *error)
{
    return read_bytes(s, out, capacity, &(stream_wait){.begin = true, .on = true}, got, error);
}

hawser_status hw_stream_read_some(hw_unpacker *s, char *out, size_t capacity, bool wait, int stop, size_t *got, bool *ended,
                                  hawser_error *error)
{
    hawser_status status = read_bytes(s, out, capacity, &(stream_wait){.begin = wait, .stop = stop}, got, error);
    *ended = s->done;
    return status;
}

uint64_t hw_stream_consumed(const hw_unpacker *s)
{
    return s->consumed - (s->filled - s->used);
}

hw_archive hw_stream_packing(const hw_unpacker *s)
{
    return s->packing;
}

void hw_stream_close(hw_unpacker *s)
{
    if (s == NULL)
        return;
    if (s->packing == HW_GZIP)
        inflateEnd(&s->gzip);
    if (s->packing == HW_XZ)
        lzma_end(&s->xz);
    hw_budget_give(s->budget, s->taken);
    ZSTD_freeDStream(s->zstd);
    close(s->fd);
    free(s);
}
