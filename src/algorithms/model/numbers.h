/* numbers.h - single numbers: of a matrix, in order, and drawn. */
#ifndef HW_ALGORITHMS_MODEL_NUMBERS_H
#define HW_ALGORITHMS_MODEL_NUMBERS_H

#include <stdint.h>

#include "hawser/matrix.h"

/* Returns the number at a place of a matrix's values, of any type. */
static inline double hw_number_at(const hawser_matrix *X, uint64_t at)
{
    return X->type == HAWSER_F32 ? (double)((const float *)X->values)[at] : ((const double *)X->values)[at];
}

/* For qsort over double. */
static inline int hw_smaller_first(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns random bits that depend on x alone: a step of SplitMix64. */
static inline uint64_t hw_scramble(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

#endif
