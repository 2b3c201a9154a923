/* rounded.c - writes numbers that were rounded to fewer bits in these bits, and reads them. */
#include <math.h>
#include <string.h>

#include "codec/values.h"

static double number_at(hw_value_type type, const void *values, size_t i)
{
    return type == HW_VALUE_F32 ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

static bool same(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static int scale_of(hw_value_type type, const void *values, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(number_at(type, values, i)));
    return hw_scale_for(most);
}

static bool fits_int8(hw_value_type type, const void *values, size_t count)
{
    int exponent = scale_of(type, values, count);
    for (size_t i = 0; i < count; i++) {
        double value = number_at(type, values, i), number = hw_scaled(value, exponent);
        if (number != rint(number) || fabs(number) > 127 || same(value, -0.0) || number * hw_power_of_two(exponent) != value)
            return false;
    }
    return true;
}

hw_values_form hw_values_choose_rounded(hw_value_type type, hw_width width, const void *values, size_t count, size_t *bytes)
{
    hw_values_form form = hw_values_choose(type, values, count, bytes);
    size_t shorter = width == HW_INT8 ? sizeof(int16_t) + count : 2 * count;
    if (type == HW_VALUE_I64 || (width != HW_BF16 && width != HW_F16 && width != HW_INT8) || shorter >= *bytes)
        return form;
    bool fits = width != HW_INT8 || fits_int8(type, values, count);
    for (size_t i = 0; i < count && fits && width != HW_INT8; i++)
        fits = same(hw_narrowed(number_at(type, values, i), width), number_at(type, values, i));
    if (!fits)
        return form;
    *bytes = shorter;
    return width == HW_BF16 ? HW_VALUES_BF16 : width == HW_F16 ? HW_VALUES_F16 : HW_VALUES_INT8;
}

void hw_values_encode_rounded(hw_values_form form, hw_value_type type, const void *values, size_t count, unsigned char *out)
{
    int16_t exponent = 0;
    if (form == HW_VALUES_INT8) {
        exponent = (int16_t)scale_of(type, values, count);
        memcpy(out, &exponent, sizeof exponent);
        out += sizeof exponent;
    }
    for (size_t i = 0; i < count; i++) {
        double value = number_at(type, values, i);
        if (form == HW_VALUES_INT8) {
            out[i] = (unsigned char)(int8_t)hw_scaled(value, exponent);
        } else {
            uint16_t bits = form == HW_VALUES_BF16 ? hw_to_bf16(value) : hw_to_f16(value);
            memcpy(out + i * sizeof bits, &bits, sizeof bits);
        }
    }
}

bool hw_values_decode_rounded(hw_values_form form, hw_value_type type, const unsigned char *in, size_t bytes, size_t count,
                              void *values)
{
    int16_t exponent = 0;
    bool eight = form == HW_VALUES_INT8;
    if (form > HW_VALUES_INT8 || type == HW_VALUE_I64 || bytes != (eight ? sizeof exponent + count : 2 * count))
        return false;
    if (eight) {
        memcpy(&exponent, in, sizeof exponent);
        in += sizeof exponent;
        if (exponent < -1074 || exponent > HW_SCALE_MOST)
            return false;
    }
    for (size_t i = 0; i < count; i++) {
        uint16_t word = 0;
        if (!eight)
            memcpy(&word, in + i * sizeof word, sizeof word);
        double value = eight                    ? (double)(int8_t)in[i] * hw_power_of_two(exponent)
                       : form == HW_VALUES_BF16 ? hw_of_bf16(word)
                                                : hw_of_f16(word);
        if (type == HW_VALUE_F32)
            ((float *)values)[i] = (float)value;
        else
            ((double *)values)[i] = value;
    }
    return true;
}
