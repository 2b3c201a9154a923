/* bits.h - sets of numbers as bits, and rows that lie at them: bit i of word w is the number 64 w + i, counted from a first one. */
#ifndef HW_CODEC_BITS_H
#define HW_CODEC_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What rows are, where it matters. */
typedef enum hw_bits_number { HW_BITS_F32, HW_BITS_F64, HW_BITS_I64 } hw_bits_number;

/* What is done with many of them at a time. Rows are of 4 or 8 bytes (`size`), at any address. What has no bit is not changed, though it may be
 * written as it is; what lies behind the last that has one is not touched. */
typedef struct hw_bits {
    /* Sets the bits of numbers[0..count), count > 0, in words for first .. first + span, where those before may be set, and none behind is. False:
     * they do not ascend, each once, or one is not among those; some bits are set then. */
    bool (*set)(const uint64_t *numbers, size_t count, uint64_t first, uint64_t span, uint64_t *words);
    /* How many bits are set. */
    size_t (*count)(const uint64_t *words, size_t n);
    /* Writes `first` plus the number of each; how many. */
    size_t (*list)(const uint64_t *words, size_t n, uint64_t first, uint64_t *numbers);
    /* Writes the words of `count` rows: a bit for each that is not zero in all its bits. How many are. */
    size_t (*mark)(const void *rows, size_t size, size_t count, uint64_t *words);
    /* Copies those of the 64 n rows that have a bit to `out`, one behind the other; how many. */
    size_t (*take)(const void *rows, size_t size, const uint64_t *words, size_t n, void *out);
    /* And back: the next of `in` to each row that has one. */
    size_t (*put)(const void *in, size_t size, const uint64_t *words, size_t n, void *rows);
    /* Or the next is added to what is there, in the order that a loop would have; integers wrap. A row whose sum would be NaN or infinite stays as
     * it was: *kept is the number of the first such bit, or SIZE_MAX. */
    size_t (*add)(const void *in, hw_bits_number number, const uint64_t *words, size_t n, void *rows, size_t *kept);
} hw_bits;

/* The quickest form that this machine has. */
const hw_bits *hw_bits_best(void);
/* All forms that it has, the quickest last; NULL past them. For tests. */
const hw_bits *hw_bits_variant(size_t index);

/* Words that bits 0 .. span take; span < 2^64 - 64. */
static inline size_t hw_bits_words(uint64_t span)
{
    return (size_t)(span / 64) + 1;
}

/* Bits from .. from + n - 1 as words of their own, n > 0; what is past them is 0. */
void hw_bits_slice(const uint64_t *words, uint64_t from, size_t n, uint64_t *out);
/* How many of the bits from .. to are set, from <= to; and which are the first and the last of these, if there are any. */
size_t hw_bits_between(const uint64_t *words, uint64_t from, uint64_t to, uint64_t *first, uint64_t *last);

#endif
