#include "codec/keys.h"

enum { GROUP = 128 };

bool hw_keys_ascend(const uint64_t *keys, size_t count)
{
    return hw_gaps_best(HW_GAPS_U64)->ascend(keys, count);
}

size_t hw_keys_up_to(const uint64_t *keys, size_t begin, size_t end, uint64_t last)
{
    if (keys[end - 1] <= last)
        return end;
    for (size_t step = 1; end - begin > step; step *= 2) /* by growing steps, because the end is usually near */
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

/* `count` keys have count - 1 gaps. */
static size_t groups_of(size_t count)
{
    return (count + GROUP - 2) / GROUP;
}

static size_t gaps_from(size_t at, size_t count)
{
    return count - 1 - at < GROUP ? count - 1 - at : GROUP;
}

/* Returns the bytes that hold a number: 0, 1, 2, 4 or 8. */
static unsigned width_of(uint64_t number)
{
    return number == 0 ? 0 : number <= UINT8_MAX ? 1 : number <= UINT16_MAX ? 2 : number <= UINT32_MAX ? 4 : 8;
}

size_t hw_keys_bound(size_t count)
{
    return 8 * count + count / GROUP + 1;
}

size_t hw_keys_bytes(hw_keys_layout layout, const void *keys, size_t count)
{
    const hw_gaps *gaps = hw_gaps_best(layout.number);
    size_t bytes = groups_of(count);
    for (size_t at = 0; at + 1 < count; at += GROUP) {
        size_t n = gaps_from(at, count);
        bytes += n * width_of(gaps->bits((const unsigned char *)keys + at * layout.number, n));
    }
    return bytes;
}

/* Both directions are compiled once for each layout. */
#define INLINE static inline __attribute__((always_inline))

INLINE size_t encode(hw_gaps_number number, bool widths_first, const void *keys, size_t count, unsigned char *out)
{
    const hw_gaps *gaps = hw_gaps_best(number);
    unsigned char *start = out, *widths = out;
    out += widths_first ? groups_of(count) : 0;
    for (size_t at = 0; at + 1 < count; at += GROUP) {
        const unsigned char *from = (const unsigned char *)keys + at * number;
        size_t n = gaps_from(at, count);
        unsigned width = width_of(gaps->bits(from, n));
        *(widths_first ? widths++ : out++) = (unsigned char)width;
        if (width > 0)
            gaps->write(from, n, width, out);
        out += n * width;
    }
    return (size_t)(out - start);
}

INLINE bool decode(hw_gaps_number number, bool widths_first, const unsigned char *in, size_t bytes, size_t count, void *keys)
{
    const hw_gaps *gaps = hw_gaps_best(number);
    const unsigned char *end = in + bytes, *widths = in;
    if (widths_first && bytes < groups_of(count))
        return false;
    in += widths_first ? groups_of(count) : 0;
    for (size_t at = 0; at + 1 < count; at += GROUP) {
        size_t n = gaps_from(at, count);
        if (!widths_first && in == end)
            return false;
        unsigned width = *(widths_first ? widths++ : in++);
        if (width > number || (width & (width - 1)) != 0 || (size_t)(end - in) < n * width ||
            !gaps->read(in, n, width, (unsigned char *)keys + at * number))
            return false;
        in += n * width;
    }
    return in == end;
}

size_t hw_keys_encode(hw_keys_layout layout, const void *keys, size_t count, unsigned char *out)
{
    if (layout.number == HW_GAPS_U32)
        return layout.widths_first ? encode(HW_GAPS_U32, true, keys, count, out)
                                   : encode(HW_GAPS_U32, false, keys, count, out);
    return layout.widths_first ? encode(HW_GAPS_U64, true, keys, count, out) : encode(HW_GAPS_U64, false, keys, count, out);
}

bool hw_keys_decode(hw_keys_layout layout, const unsigned char *in, size_t bytes, uint64_t first, size_t count, void *keys)
{
    if (count == 0 || (layout.number == HW_GAPS_U32 && first > UINT32_MAX))
        return false;
    if (layout.number == HW_GAPS_U32) {
        *(uint32_t *)keys = (uint32_t)first;
        return layout.widths_first ? decode(HW_GAPS_U32, true, in, bytes, count, keys)
                                   : decode(HW_GAPS_U32, false, in, bytes, count, keys);
    }
    *(uint64_t *)keys = first;
    return layout.widths_first ? decode(HW_GAPS_U64, true, in, bytes, count, keys)
                               : decode(HW_GAPS_U64, false, in, bytes, count, keys);
}
