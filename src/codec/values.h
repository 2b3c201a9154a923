/*
 * values.h - the numbers of a request or a reply as bytes: all of them, or a bitmap of the nonzero numbers and these, or all
 * in fewer bits if that is exact. A zero has no bit set, so -0.0 is not lost.
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
    HW_VALUES_INT8 /* an exponent (i16), then the factors (i8) of two to its power */
} hw_values_form;

/* Returns DENSE or NONZERO for `count` numbers, and stores its length in bytes. NONZERO must save more than an eighth. */
hw_values_form hw_values_choose(hw_value_type type, const void *values, size_t count, size_t *bytes);
/* Returns the shortest form for numbers that were rounded to a width; DENSE or NONZERO if a number does not fit that
 * width. */
hw_values_form hw_values_choose_rounded(hw_value_type type, hw_width width, const void *values, size_t count, size_t *bytes);
void hw_values_encode(hw_values_form form, hw_value_type type, const void *values, size_t count, unsigned char *out);
/* Returns false if the bytes are not `count` numbers in that form. */
bool hw_values_decode(hw_values_form form, hw_value_type type, const unsigned char *in, size_t bytes, size_t count,
                      void *values);

/* rounded.c: the same for the forms of fewer bits. */
void hw_values_encode_rounded(hw_values_form form, hw_value_type type, const void *values, size_t count, unsigned char *out);
bool hw_values_decode_rounded(hw_values_form form, hw_value_type type, const unsigned char *in, size_t bytes, size_t count,
                              void *values);

/* Returns the place of the first NaN or infinity, or `count`; integers are always finite. */
size_t hw_values_not_finite(hw_value_type type, const void *values, size_t count);

#endif
