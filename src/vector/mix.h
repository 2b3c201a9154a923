/* mix.h - sums and means of arrays, in an order that the caller fixes, so that equal inputs give equal bits. */
#ifndef HW_VECTOR_MIX_H
#define HW_VECTOR_MIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/matrix.h"

/* Stores the sum of `terms`, added from the first to the last in `type` (f32 or f64), and divided by `divisor` if that is
 * not 1. `out` may be one of the terms, which are otherwise apart from it. */
void hw_terms_mean(hawser_type type, void *out, const void *const *terms, size_t term_count, uint64_t divisor, size_t count);
/* Adds an array to another one. */
void hw_terms_add(hawser_type type, void *to, const void *from, size_t count);
/* Adds to an array what `sum` has and `seen` has not, divides by `divisor`, and copies `sum` to `seen`. */
void hw_terms_take_new(hawser_type type, void *array, const void *sum, void *seen, uint64_t divisor, size_t count);

#endif
