#include "codec/keys.h"

#include "codec/gaps.h"

enum { GROUP = 128 };

bool hw_keys_ascend(const uint64_t *keys, size_t count)
{
    return hw_gaps_best()->ascend(keys, count);
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

size_t hw_keys_encode(const uint64_t *keys, size_t count, unsigned char *out)
{
    unsigned char *start = out;
    const hw_gaps *gaps = hw_gaps_best();
    for (size_t at = 0; at + 1 < count; at += GROUP) {
        size_t n = count - 1 - at < GROUP ? count - 1 - at : GROUP;
        unsigned width = width_of(gaps->bits(keys + at, n));
        *out++ = (unsigned char)width;
        if (width > 0)
            gaps->write(keys + at, n, width, out);
        out += n * width;
    }
    return (size_t)(out - start);
}

static bool read_group(const hw_gaps *gaps, const unsigned char *in, size_t n, unsigned width, uint64_t key, uint64_t *keys)
{
    switch (width) {
    case 0:
        for (size_t k = 0; k < n; k++)
            keys[k] = key + k + 1;
        return keys[n - 1] > key;
    case 1:
    case 2:
    case 4:
    case 8: return gaps->read(in, n, width, key, keys);
    default: return false;
    }
}

bool hw_keys_decode(const unsigned char *in, size_t bytes, uint64_t first, size_t count, uint64_t *keys)
{
    const unsigned char *end = in + bytes;
    const hw_gaps *gaps = hw_gaps_best();
    if (count == 0)
        return false;
    keys[0] = first;
    for (size_t at = 0; at + 1 < count; at += GROUP) {
        size_t n = count - 1 - at < GROUP ? count - 1 - at : GROUP;
        if (in == end)
            return false;
        unsigned width = *in++;
        if (width > 8 || (size_t)(end - in) < n * width || !read_group(gaps, in, n, width, keys[at], keys + at + 1))
            return false;
        in += n * width;
    }
    return in == end;
}
