/* gaps.h - the gaps between ascending numbers of 32 or 64 bits, many at a time. */
#ifndef HW_CODEC_GAPS_H
#define HW_CODEC_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The type of the numbers; its value is its size in bytes. */
typedef enum hw_gaps_number { HW_GAPS_U32 = 4, HW_GAPS_U64 = 8 } hw_gaps_number;

/* The functions for one type of numbers. A gap is a number less the one before it, less one. It is written little-endian in
 * `width` bytes: 1, 2, 4 or 8, at most as many as a number has. */
typedef struct hw_gaps {
    /* Returns true if numbers[0..count), count > 0, strictly ascend. */
    bool (*ascend)(const void *numbers, size_t count);
    /* Returns the bits that are set in any of the n gaps between numbers[0..n]. */
    uint64_t (*bits)(const void *numbers, size_t n);
    /* Writes these n gaps; each fits `width` bytes. */
    void (*write)(const void *numbers, size_t n, unsigned width, unsigned char *out);
    /* Reads these n gaps, 0 < n <= 65536, and writes numbers[1..n]; `width` may be 0. Returns false if they pass the end of
     * their type. */
    bool (*read)(const unsigned char *in, size_t n, unsigned width, void *numbers);
} hw_gaps;

/* Returns the fastest functions that this machine runs. */
const hw_gaps *hw_gaps_best(hw_gaps_number number);
/* Returns each variant that this machine runs, the fastest last; NULL past the last. For tests. */
const hw_gaps *hw_gaps_variant(hw_gaps_number number, size_t index);

#endif
