#include "codec/narrow.h"

#include <math.h>
#include <string.h>

static double of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double hw_of_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

uint16_t hw_to_bf16(double value)
{
    const uint16_t largest = 0x7f7f, sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    if (!(size < hw_of_bf16(largest)))
        return sign | largest;
    if (size < 0x1p-126) /* below the normal range: multiples of 2^-133 */
        return sign | (uint16_t)rint(size * 0x1p133);
    /* It rounds once, from the double: a float in between could make a tie of what is none. A fraction that rounds up to 256
     * carries into the exponent, as it should. */
    uint64_t bits = hw_double_bits(size), half = (UINT64_C(1) << 44) - 1;
    return sign | (uint16_t)(((bits + half + ((bits >> 45) & 1)) >> 45) - ((1023 - 127) << 7));
}

double hw_power_of_two(int exponent)
{
    if (exponent < -1022)
        return of_bits(UINT64_C(1) << (exponent + 1074));
    return of_bits((uint64_t)(exponent + 1023) << 52);
}

/* Returns the exponent of a normal number; -1023 for smaller ones. */
static int exponent_of(double value)
{
    return (int)((hw_double_bits(value) >> 52) & 0x7ff) - 1023;
}

double hw_of_f16(uint16_t bits)
{
    int exponent = (bits >> 10) & 31;
    double fraction = bits & 0x3ff, size = 0;
    if (exponent == 31)
        size = HUGE_VAL;
    else if (exponent == 0)
        size = fraction * 0x1p-24;
    else
        size = (fraction + 1024) * hw_power_of_two(exponent - 25);
    return bits & 0x8000 ? -size : size;
}

uint16_t hw_to_f16(double value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    if (!(size < 65504))
        return sign | 0x7bff;
    int exponent = exponent_of(size) < -15 ? -15 : exponent_of(size);
    if (exponent < -14) /* below the normal range: multiples of 2^-24 */
        return sign | (uint16_t)rint(size * 0x1p24);
    /* A fraction that rounds up to 2048 carries into the exponent, as it should. */
    unsigned fraction = (unsigned)rint(size * hw_power_of_two(10 - exponent));
    return sign | (uint16_t)(((unsigned)(exponent + 14) << 10) + fraction);
}

double hw_narrowed(double value, hw_width width)
{
    switch (width) {
    case HW_F32: return fabs(value) <= 0x1.fffffep127 ? (double)(float)value : copysign(0x1.fffffep127, value);
    case HW_BF16: return hw_of_bf16(hw_to_bf16(value));
    case HW_F16: return hw_of_f16(hw_to_f16(value));
    case HW_F64:
    case HW_INT8: break;
    }
    return value;
}

int hw_scale_for(double most)
{
    int exponent = exponent_of(most) - 6; /* most / 2^exponent is in [64, 128) */
    if (exponent < -1074)
        return -1074;
    if (exponent > HW_SCALE_MOST - 1)
        return HW_SCALE_MOST;
    return rint(hw_scaled(most, exponent)) > 127 ? exponent + 1 : exponent;
}

/* Returns the exponent of the lowest set bit of a finite number other than 0. */
static int lowest_bit(double value)
{
    uint64_t bits = hw_double_bits(value), fraction = bits & ((UINT64_C(1) << 52) - 1);
    int exponent = (int)((bits >> 52) & 0x7ff), place = 0;
    if (exponent == 0)
        exponent = 1;
    else
        fraction |= UINT64_C(1) << 52;
    for (; (fraction & 0xff) == 0; fraction >>= 8)
        place += 8;
    for (; (fraction & 1) == 0; fraction >>= 1)
        place++;
    return exponent - 1075 + place;
}

bool hw_scale_of(const double *values, size_t count, int *exponent)
{
    double most = 0;
    int lowest = HW_SCALE_MOST;
    for (size_t i = 0; i < count; i++) {
        double size = fabs(values[i]);
        if (!(size <= 0x1.fffffffffffffp1023) || hw_double_bits(values[i]) == UINT64_C(1) << 63)
            return false;
        if (size == 0)
            continue;
        int low = lowest_bit(values[i]);
        lowest = low < lowest ? low : lowest;
        most = size > most ? size : most;
        if (exponent_of(most) - lowest > 6)
            return false;
    }
    *exponent = lowest;
    return hw_scaled(most, lowest) <= 127;
}
