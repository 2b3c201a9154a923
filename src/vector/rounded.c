#include "vector/rounded.h"

#include <math.h>
#include <string.h>

#include "base/type.h"

enum { F32_SCALE_MOST = 121 }; /* 127 times 2^121 is a finite float, and more is none */

static double number_at(hawser_type type, const void *values, size_t i)
{
    return type == HAWSER_F32 ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

static void set_number(hawser_type type, void *values, size_t i, double value)
{
    if (type == HAWSER_F32)
        ((float *)values)[i] = (float)value;
    else
        ((double *)values)[i] = value;
}

static size_t tile_bytes(hw_width width, size_t count)
{
    return width == HW_INT8 ? sizeof(int16_t) + count : sizeof(uint16_t) * count;
}

static size_t tile_length(size_t count, size_t tile)
{
    size_t begin = tile * HW_TILE;
    return count - begin < HW_TILE ? count - begin : HW_TILE;
}

size_t hw_rounded_bytes(hw_width width, size_t count)
{
    size_t tiles = (count + HW_TILE - 1) / HW_TILE;
    return width == HW_INT8 ? tiles * sizeof(int16_t) + count : sizeof(uint16_t) * count;
}

bool hw_rounded_whole(hw_width width, hawser_type type, const void *in, size_t bytes, size_t count)
{
    if (bytes != hw_rounded_bytes(width, count))
        return false;
    const char *at = in;
    for (size_t begin = 0; width == HW_INT8 && begin < count; begin += HW_TILE, at += tile_bytes(width, HW_TILE)) {
        int16_t exponent;
        memcpy(&exponent, at, sizeof exponent);
        if (exponent < -1074 || exponent > (type == HAWSER_F32 ? F32_SCALE_MOST : HW_SCALE_MOST))
            return false;
    }
    return true;
}

static int scale_of(hawser_type type, const void *values, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(number_at(type, values, i)));
    int exponent = hw_scale_for(most);
    return type == HAWSER_F32 && exponent > F32_SCALE_MOST ? F32_SCALE_MOST : exponent;
}

static void write_int8(hawser_type type, void *values, size_t count, char *out)
{
    int16_t exponent = (int16_t)scale_of(type, values, count);
    double unit = hw_power_of_two(exponent);
    memcpy(out, &exponent, sizeof exponent);
    for (size_t i = 0; i < count; i++) {
        double value = number_at(type, values, i), units = fmin(fmax(rint(hw_scaled(value, exponent)), -127), 127);
        out[sizeof exponent + i] = (char)(int8_t)units;
        set_number(type, values, i, value - units * unit);
    }
}

static void write_16(hw_width width, hawser_type type, void *values, size_t count, char *out)
{
    for (size_t i = 0; i < count; i++) {
        double value = number_at(type, values, i);
        uint16_t bits = width == HW_BF16 ? hw_to_bf16(value) : hw_to_f16(value);
        memcpy(out + i * sizeof bits, &bits, sizeof bits);
        set_number(type, values, i, value - (width == HW_BF16 ? hw_of_bf16(bits) : hw_of_f16(bits)));
    }
}

void hw_rounded_write(hw_width width, hawser_type type, void *values, size_t count, void *out)
{
    for (size_t tile = 0; tile * HW_TILE < count; tile++) {
        char *from = (char *)values + tile * HW_TILE * hw_type_size(type);
        char *to = (char *)out + tile * tile_bytes(width, HW_TILE);
        if (width == HW_INT8)
            write_int8(type, from, tile_length(count, tile), to);
        else
            write_16(width, type, from, tile_length(count, tile), to);
    }
}

size_t hw_rounded_tile(hw_width width, hawser_type type, const void *in, size_t count, size_t tile, void *values)
{
    const char *from = (const char *)in + tile * tile_bytes(width, HW_TILE);
    size_t length = tile_length(count, tile);
    int16_t exponent = 0;
    if (width == HW_INT8)
        memcpy(&exponent, from, sizeof exponent);
    double unit = hw_power_of_two(exponent);
    for (size_t i = 0; i < length; i++) {
        uint16_t bits = 0;
        if (width == HW_INT8) {
            set_number(type, values, i, (double)(int8_t)from[sizeof exponent + i] * unit);
            continue;
        }
        memcpy(&bits, from + i * sizeof bits, sizeof bits);
        set_number(type, values, i, width == HW_BF16 ? hw_of_bf16(bits) : hw_of_f16(bits));
    }
    return length;
}

void hw_rounded_read(hw_width width, hawser_type type, const void *in, size_t count, void *values)
{
    for (size_t tile = 0; tile * HW_TILE < count; tile++)
        (void)hw_rounded_tile(width, type, in, count, tile, (char *)values + tile * HW_TILE * hw_type_size(type));
}
