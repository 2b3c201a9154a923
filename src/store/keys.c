#include "store/keys.h"

#include <string.h>

enum { GROUP = 128 };

bool hw_keys_ascend(const uint64_t *keys, size_t count)
{
    bool ascend = true;
    for (size_t i = 1; i < count; i++) /* without a way out: the compiler compares many at once */
        ascend &= keys[i - 1] < keys[i];
    return ascend;
}

size_t hw_keys_up_to(const uint64_t *keys, size_t begin, size_t end, uint64_t last)
{
    if (keys[end - 1] <= last)
        return end;
    for (size_t step = 1; end - begin > step; step *= 2) /* by growing steps, since mostly it is near */
        if (keys[begin + step] > last) {
            end = begin + step;
            break;
        } else {
            begin += step;
        }
    while (end - begin > 1) {
        size_t middle = begin + (end - begin) / 2;
        if (keys[middle] <= last)
            begin = middle;
        else
            end = middle;
    }
    return end;
}

size_t hw_keys_bound(size_t count)
{
    return 8 * count + count / GROUP + 1;
}

/* Bytes that hold a number: 0, 1, 2, 4 or 8. */
static unsigned width_of(uint64_t number)
{
    return number == 0 ? 0 : number <= UINT8_MAX ? 1 : number <= UINT16_MAX ? 2 : number <= UINT32_MAX ? 4 : 8;
}

/* Little-endian: the low bytes come first. */
#define WRITE(type)                                                                                                         \
    for (size_t k = 0; k < n; k++) {                                                                                        \
        type gap = (type)(keys[k + 1] - keys[k] - 1);                                                                       \
        memcpy(out + k * sizeof gap, &gap, sizeof gap);                                                                     \
    }

static void write_group(const uint64_t *keys, size_t n, unsigned width, unsigned char *out)
{
    switch (width) {
    case 1: WRITE(uint8_t) return;
    case 2: WRITE(uint16_t) return;
    case 4: WRITE(uint32_t) return;
    case 8: WRITE(uint64_t) return;
    default: return;
    }
}

size_t hw_keys_encode(const uint64_t *keys, size_t count, unsigned char *out)
{
    unsigned char *start = out;
    for (size_t at = 0; at + 1 < count; at += GROUP) {
        size_t n = count - 1 - at < GROUP ? count - 1 - at : GROUP;
        uint64_t all = 0;
        for (size_t k = at; k < at + n; k++)
            all |= keys[k + 1] - keys[k] - 1;
        unsigned width = width_of(all);
        *out++ = (unsigned char)width;
        write_group(keys + at, n, width, out);
        out += n * width;
    }
    return (size_t)(out - start);
}

/* A key that is not above the one before has gone round: seen by comparing. */
#define READ(type)                                                                                                          \
    for (size_t k = 0; k < n; k++) {                                                                                        \
        type gap;                                                                                                           \
        memcpy(&gap, in + k * sizeof gap, sizeof gap);                                                                      \
        uint64_t next = key + gap + 1;                                                                                      \
        ascend &= next > key;                                                                                               \
        keys[k] = key = next;                                                                                               \
    }

static bool read_group(const unsigned char *in, size_t n, unsigned width, uint64_t key, uint64_t *keys)
{
    bool ascend = true;
    switch (width) {
    case 0:
        for (size_t k = 0; k < n; k++)
            keys[k] = key + k + 1;
        return keys[n - 1] > key;
    case 1: READ(uint8_t) break;
    case 2: READ(uint16_t) break;
    case 4: READ(uint32_t) break;
    case 8: READ(uint64_t) break;
    default: return false;
    }
    return ascend;
}

bool hw_keys_decode(const unsigned char *in, size_t bytes, uint64_t first, size_t count, uint64_t *keys)
{
    const unsigned char *end = in + bytes;
    if (count == 0)
        return false;
    keys[0] = first;
    for (size_t at = 0; at + 1 < count; at += GROUP) {
        size_t n = count - 1 - at < GROUP ? count - 1 - at : GROUP;
        if (in == end)
            return false;
        unsigned width = *in++;
        if (width > 8 || (size_t)(end - in) < n * width || !read_group(in, n, width, keys[at], keys + at + 1))
            return false;
        in += n * width;
    }
    return in == end;
}
