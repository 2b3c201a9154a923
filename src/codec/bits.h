/* bits.h - sets of numbers as bits, and operations on the rows with these numbers. Bit i of word w is the number first + 64
 * w + i. */
#ifndef HW_CODEC_BITS_H
#define HW_CODEC_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The type of rows that are added. */
typedef enum hw_bits_number { HW_BITS_F32, HW_BITS_F64, HW_BITS_I64 } hw_bits_number;

/* The functions for many numbers at a time. Rows have 4 or 8 bytes (`size`) and may be unaligned. A row without a bit keeps
 * its value, though it may be written; rows behind the last with a bit are not touched. */
typedef struct hw_bits {
    /* Sets the bits of numbers[0..count), count > 0, in words for first .. first + span. Bits before numbers[0] may be set
     * already; no later bit may be. Returns false, with some bits set, if the numbers do not strictly ascend or one is out
     * of range. */
    bool (*set)(const uint64_t *numbers, size_t count, uint64_t first, uint64_t span, uint64_t *words);
    /* Returns how many bits are set. */
    size_t (*count)(const uint64_t *words, size_t n);
    /* Writes the numbers of all set bits; returns how many. */
    size_t (*list)(const uint64_t *words, size_t n, uint64_t first, uint64_t *numbers);
    /* Writes the words of `count` rows, with a bit for each row that has a bit set; returns how many. */
    size_t (*mark)(const void *rows, size_t size, size_t count, uint64_t *words);
    /* Copies the rows with a bit, of 64 n rows, to `out` without gaps; returns how many. */
    size_t (*take)(const void *rows, size_t size, const uint64_t *words, size_t n, void *out);
    /* Copies the next row of `in` to each row with a bit; returns how many. */
    size_t (*put)(const void *in, size_t size, const uint64_t *words, size_t n, void *rows);
    /* Adds the next number of `in` to each row with a bit, in ascending order; returns how many. Integers wrap. A row whose
     * sum would be NaN or infinite keeps its value: *kept is the number of the first such bit, or SIZE_MAX. */
    size_t (*add)(const void *in, hw_bits_number number, const uint64_t *words, size_t n, void *rows, size_t *kept);
} hw_bits;

/* Returns the fastest functions that this machine runs. */
const hw_bits *hw_bits_best(void);
/* Returns each variant that this machine runs, the fastest last; NULL past the last. For tests. */
const hw_bits *hw_bits_variant(size_t index);

/* Returns the number of words for bits 0 .. span; span < 2^64 - 64. */
static inline size_t hw_bits_words(uint64_t span)
{
    return (size_t)(span / 64) + 1;
}

/* Copies bits from .. from + n - 1, n > 0, to the beginning of `out`; the bits behind them are 0. */
void hw_bits_slice(const uint64_t *words, uint64_t from, size_t n, uint64_t *out);
/* Returns how many of the bits from .. to are set, from <= to, and stores the first and the last of them if there are
 * any. */
size_t hw_bits_between(const uint64_t *words, uint64_t from, uint64_t to, uint64_t *first, uint64_t *last);

#endif
