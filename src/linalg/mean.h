/* mean.h - the sum or mean of several arrays, added one term after another. */
#ifndef HW_LINALG_MEAN_H
#define HW_LINALG_MEAN_H

#include <stddef.h>
#include <stdint.h>

#include "hawser/matrix.h"

/* Stores the sum of at least one term, divided by `divisor` if that is not 1. `out` may be one of the terms. */
typedef void (*hw_mean_form)(void *out, const void *const *terms, size_t term_count, uint64_t divisor, size_t count);

/* Returns a form for HAWSER_F32 or HAWSER_F64; all have the same bits. Index 0 is for any processor, 1 for the wide
 * registers of this one. NULL: there is no such form here. */
hw_mean_form hw_mean_variant(hawser_type type, size_t index);

#endif
