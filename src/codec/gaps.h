/* gaps.h - ascending numbers of 64 bits and what lies between them, many at a time. */
#ifndef HW_CODEC_GAPS_H
#define HW_CODEC_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A gap is a number less the one before, less one. They are written little-endian, `width` bytes each: 1, 2, 4 or 8. */
typedef struct hw_gaps {
    /* Are numbers[0..count) ascending, each once? count > 0. */
    bool (*ascend)(const uint64_t *numbers, size_t count);
    /* The bits that any of the n gaps behind numbers[0] has; numbers[0..n]. */
    uint64_t (*bits)(const uint64_t *numbers, size_t n);
    /* Writes these gaps; each has room in `width` bytes. */
    void (*write)(const uint64_t *numbers, size_t n, unsigned width, unsigned char *out);
    /* Reads the n numbers behind `before`, n > 0; false: they go past 2^64. */
    bool (*read)(const unsigned char *in, size_t n, unsigned width, uint64_t before, uint64_t *numbers);
} hw_gaps;

/* The quickest form that this machine has. */
const hw_gaps *hw_gaps_best(void);
/* All forms that it has, the quickest last; NULL past them. For tests. */
const hw_gaps *hw_gaps_variant(size_t index);

#endif
