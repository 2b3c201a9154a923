/*
 * keys.h - ascending lists of keys as bytes.
 *
 * The first key is stored elsewhere, in a head. The others follow as gaps in groups of 128, each with a byte for the size of
 * its gaps: 0, 1, 2, 4 or 8 bytes. A gap is a key less the one before it, less one. Consecutive keys take no bytes except
 * the group's. Decoding never reads past the end, and accepts only ascending keys.
 */
#ifndef HW_CODEC_KEYS_H
#define HW_CODEC_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/gaps.h"

/* Returns true if keys[0..count), count > 0, strictly ascend. */
bool hw_keys_ascend(const uint64_t *keys, size_t count);
/* Returns true if strictly ascending keys are consecutive: then their ends differ by count - 1. */
static inline bool hw_keys_follow(const uint64_t *keys, size_t count)
{
    return keys[count - 1] - keys[0] == count - 1;
}

/* Returns true if a bitmap of first .. last is at most as long as one byte per key. It is then also faster to write and to
 * read. */
static inline bool hw_keys_crowded(uint64_t first, uint64_t last, size_t count)
{
    return (last - first) / 64 < count / 8;
}

/* Returns the end of the keys <= last among ascending keys[begin..end). keys[begin] must be one of them. */
size_t hw_keys_up_to(const uint64_t *keys, size_t begin, size_t end, uint64_t last);

/* The type of the keys, and whether the widths of all groups stand before the first group or each before its own. */
typedef struct hw_keys_layout {
    hw_gaps_number number;
    bool widths_first;
} hw_keys_layout;

/* Returns the most bytes that `count` keys can take in any layout. */
size_t hw_keys_bound(size_t count);
/* Returns the bytes that keys[0..count) take, count > 0. */
size_t hw_keys_bytes(hw_keys_layout layout, const void *keys, size_t count);
/* Writes the gaps of ascending keys[0..count), count > 0; returns the number of bytes. */
size_t hw_keys_encode(hw_keys_layout layout, const void *keys, size_t count, unsigned char *out);
/* Reads `count` keys from `first` on. Returns false if the bytes are not exactly those of such a list. */
bool hw_keys_decode(hw_keys_layout layout, const unsigned char *in, size_t bytes, uint64_t first, size_t count, void *keys);

#endif
