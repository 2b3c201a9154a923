/* arrays.h - arrays that are checked once, after the last of them is made, and freed together. */
#ifndef HW_ALGORITHMS_MODEL_ARRAYS_H
#define HW_ALGORITHMS_MODEL_ARRAYS_H

#include <stdbool.h>
#include <stddef.h>

/* Zeros: no arrays. */
typedef struct hw_arrays {
    struct hw_array *last;
    bool failed; /* there was no memory for one of them */
} hw_arrays;

/* Returns zeros: `count` items of `size` bytes, which hw_arrays_free frees. Returns NULL, and sets arrays->failed, if there
 * is no memory. */
void *hw_array_new(hw_arrays *arrays, size_t count, size_t size);
void hw_arrays_free(hw_arrays *arrays);

#endif
