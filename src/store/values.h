/*
 * values.h - the numbers of a request or a reply as bytes: as they lie, or without zeros: a bit for each number that is there, then
 * those. Zero is the number whose bits are all 0, so -0.0 arrives as it was.
 */
#ifndef HW_STORE_VALUES_H
#define HW_STORE_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "store/table.h"

typedef enum hw_values_form { HW_VALUES_NONE = 0, HW_VALUES_DENSE, HW_VALUES_NONZERO } hw_values_form;

/* The shorter form for `count` numbers, and its length in bytes. */
hw_values_form hw_values_choose(hw_value_type type, const void *values, size_t count, size_t *bytes);
void hw_values_encode(hw_values_form form, hw_value_type type, const void *values, size_t count, unsigned char *out);
/* False when the bytes are not `count` numbers in that form. */
bool hw_values_decode(hw_values_form form, hw_value_type type, const unsigned char *in, size_t bytes, size_t count,
                      void *values);

/* Number of the first that is NaN or infinite, or `count`; integers all pass. */
size_t hw_values_not_finite(hw_value_type type, const void *values, size_t count);

#endif
