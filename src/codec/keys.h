/*
 * keys.h - ascending lists of keys as bytes.
 *
 * The first key stands in whoever's head; the others follow as gaps in groups of 128: a byte that says how many bytes a gap of the group
 * takes, then the gaps less one. Keys that follow one another take no bytes but the group's. Decoding never reads past the end, and
 * takes nothing for keys that is not ascending.
 */
#ifndef HW_CODEC_KEYS_H
#define HW_CODEC_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Are keys[0..count) ascending without repetitions?  count > 0. */
bool hw_keys_ascend(const uint64_t *keys, size_t count);
/* Are they first, first + 1, ...?  Of ascending ones that is a comparison of both ends. */
static inline bool hw_keys_follow(const uint64_t *keys, size_t count)
{
    return keys[count - 1] - keys[0] == count - 1;
}

/* Are bits, one for each key from first to last, as short as gaps of a byte each?  Then they are also quicker, on both sides. */
static inline bool hw_keys_crowded(uint64_t first, uint64_t last, size_t count)
{
    return (last - first) / 64 < count / 8;
}

/* Where, from `begin` on, those of ascending keys end that are `last` at most; keys[begin] is one of them. */
size_t hw_keys_up_to(const uint64_t *keys, size_t begin, size_t end, uint64_t last);

/* Most bytes that `count` keys can take. */
size_t hw_keys_bound(size_t count);
/* Writes the gaps of ascending keys[0..count); returns how many bytes. */
size_t hw_keys_encode(const uint64_t *keys, size_t count, unsigned char *out);
/* Reads count keys from `first` on; false when the bytes are not those of such a list, to the last one. */
bool hw_keys_decode(const unsigned char *in, size_t bytes, uint64_t first, size_t count, uint64_t *keys);

#endif
