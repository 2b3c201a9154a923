/*
 * values.h - the numbers of a request or a reply as bytes: as they lie, or without zeros: a bit for each number that is there, then
 * those; or in fewer bits where nothing is lost by it. Zero is the number whose bits are all 0, so -0.0 arrives as it was.
 */
#ifndef HW_CODEC_VALUES_H
#define HW_CODEC_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "codec/narrow.h"

typedef enum hw_value_type { HW_VALUE_F32 = 1, HW_VALUE_F64, HW_VALUE_I64 } hw_value_type;

static inline size_t hw_value_size(hw_value_type type)
{
    return type == HW_VALUE_F32 ? 4 : 8;
}

typedef enum hw_values_form {
    HW_VALUES_NONE = 0,
    HW_VALUES_DENSE,
    HW_VALUES_NONZERO,
    HW_VALUES_BF16,
    HW_VALUES_F16,
    HW_VALUES_INT8 /* an exponent (i16), then i8 times two to the power of it */
} hw_values_form;

/* The shorter of the first two forms for `count` numbers, and its length in bytes. */
hw_values_form hw_values_choose(hw_value_type type, const void *values, size_t count, size_t *bytes);
/* The shortest form of all for numbers that were rounded to a width; what is not a number of that width goes in the others. */
hw_values_form hw_values_choose_rounded(hw_value_type type, hw_width width, const void *values, size_t count, size_t *bytes);
void hw_values_encode(hw_values_form form, hw_value_type type, const void *values, size_t count, unsigned char *out);
/* False when the bytes are not `count` numbers in that form. */
bool hw_values_decode(hw_values_form form, hw_value_type type, const unsigned char *in, size_t bytes, size_t count,
                      void *values);

/* rounded.c: the two for the other forms. */
void hw_values_encode_rounded(hw_values_form form, hw_value_type type, const void *values, size_t count, unsigned char *out);
bool hw_values_decode_rounded(hw_values_form form, hw_value_type type, const unsigned char *in, size_t bytes, size_t count,
                              void *values);

/* Number of the first that is NaN or infinite, or `count`; integers all pass. */
size_t hw_values_not_finite(hw_value_type type, const void *values, size_t count);

#endif
