#include "store/values.h"

#include <string.h>

#include "base/bytes.h"
#include "base/finite.h"

static size_t bitmap_bytes(size_t count)
{
    return (count + 63) / 64 * 8;
}

/* Counted in the numbers' own width, as vectors like it, a block at a time. */
#define COUNT_NONZERO(type)                                                                                                 \
    static size_t nonzero_##type(const unsigned char *numbers, size_t count)                                                \
    {                                                                                                                       \
        size_t all = 0;                                                                                                     \
        for (size_t at = 0, n; at < count; at += n) {                                                                       \
            type own = 0;                                                                                                   \
            n = count - at < 1 << 16 ? count - at : 1 << 16;                                                                \
            for (size_t i = 0; i < n; i++) {                                                                                \
                type bits;                                                                                                  \
                memcpy(&bits, numbers + (at + i) * sizeof bits, sizeof bits);                                               \
                own += bits != 0;                                                                                           \
            }                                                                                                               \
            all += own;                                                                                                     \
        }                                                                                                                   \
        return all;                                                                                                         \
    }
COUNT_NONZERO(uint32_t)
COUNT_NONZERO(uint64_t)

static void copy_number(void *to, const void *from, size_t size)
{
    if (size == sizeof(uint32_t))
        memcpy(to, from, sizeof(uint32_t));
    else
        memcpy(to, from, sizeof(uint64_t));
}

enum { PLACES = 32, NEAR = 8, SAMPLED = PLACES * NEAR, SAMPLE_OF = 16 * SAMPLED };

static const unsigned char *place_at(const unsigned char *numbers, size_t count, size_t size, size_t place)
{
    return numbers + (count - NEAR) * place / (PLACES - 1) * size;
}

/* Of many numbers some are looked at: where hardly one is zero, nothing is won by counting them all. Some lie beside each other: each place is
 * a wait for memory, and all are asked for before the first is looked at. */
static bool hardly_zero(const unsigned char *numbers, size_t count, size_t size)
{
    size_t zeros = 0;
    if (count < SAMPLE_OF)
        return false;
    for (size_t p = 0; p < PLACES; p++)
        hw_prefetch(place_at(numbers, count, size, p));
    for (size_t p = 0; p < PLACES; p++)
        for (size_t i = 0; i < NEAR; i++) {
            uint64_t number = 0;
            copy_number(&number, place_at(numbers, count, size, p) + i * size, size);
            zeros += number == 0;
        }
    return zeros <= SAMPLED / 64;
}

hw_values_form hw_values_choose(hw_value_type type, const void *values, size_t count, size_t *bytes)
{
    size_t size = hw_value_size(type);
    if (hardly_zero(values, count, size)) {
        *bytes = count * size;
        return HW_VALUES_DENSE;
    }
    size_t nonzero = size == 4 ? nonzero_uint32_t(values, count) : nonzero_uint64_t(values, count);
    size_t dense = count * size, without = bitmap_bytes(count) + nonzero * size;
    *bytes = without < dense ? without : dense;
    return without < dense ? HW_VALUES_NONZERO : HW_VALUES_DENSE;
}

/* Bits of the numbers, 64 at most, that are not zero; without a branch on each, which no processor foresees. */
static uint64_t bits_of(const unsigned char *numbers, size_t count, size_t size)
{
    uint64_t bits = 0;
    for (size_t k = 0; k < count; k++) {
        uint64_t number = 0;
        copy_number(&number, numbers + k * size, size);
        bits |= (uint64_t)(number != 0) << k;
    }
    return bits;
}

void hw_values_encode(hw_values_form form, hw_value_type type, const void *values, size_t count, unsigned char *out)
{
    size_t size = hw_value_size(type);
    if (form == HW_VALUES_DENSE)
        memcpy(out, values, count * size);
    else if (form > HW_VALUES_NONZERO)
        hw_values_encode_rounded(form, type, values, count, out);
    if (form != HW_VALUES_NONZERO)
        return;
    const unsigned char *from = values;
    unsigned char *next = out + bitmap_bytes(count);
    for (size_t i = 0; i < count; i += 64) {
        uint64_t bits = bits_of(from + i * size, count - i < 64 ? count - i : 64, size);
        memcpy(out + i / 8, &bits, sizeof bits);
        for (; bits != 0; bits &= bits - 1, next += size)
            copy_number(next, from + (i + hw_lowest_bit(bits)) * size, size);
    }
}

/* Numbers that a bitmap says are there; SIZE_MAX when it speaks of numbers behind the last. */
static size_t told(const unsigned char *in, size_t count)
{
    size_t all = 0;
    for (size_t i = 0; i < count; i += 64) {
        uint64_t bits;
        memcpy(&bits, in + i / 8, sizeof bits);
        if (count - i < 64 && bits >> (count - i) != 0)
            return SIZE_MAX;
        for (; bits != 0; bits &= bits - 1)
            all++;
    }
    return all;
}

bool hw_values_decode(hw_values_form form, hw_value_type type, const unsigned char *in, size_t bytes, size_t count,
                      void *values)
{
    size_t size = hw_value_size(type), bitmap = bitmap_bytes(count);
    if (form == HW_VALUES_DENSE) {
        if (bytes != count * size)
            return false;
        memcpy(values, in, bytes);
        return true;
    }
    if (form > HW_VALUES_NONZERO)
        return hw_values_decode_rounded(form, type, in, bytes, count, values);
    if (form != HW_VALUES_NONZERO || bytes < bitmap)
        return false;
    size_t there = told(in, count);
    if (there == SIZE_MAX || bytes - bitmap != there * size)
        return false;
    unsigned char *to = values;
    const unsigned char *next = in + bitmap;
    memset(to, 0, count * size);
    for (size_t i = 0; i < count; i += 64) {
        uint64_t bits;
        memcpy(&bits, in + i / 8, sizeof bits);
        for (; bits != 0; bits &= bits - 1, next += size)
            copy_number(to + (i + hw_lowest_bit(bits)) * size, next, size);
    }
    return true;
}

size_t hw_values_not_finite(hw_value_type type, const void *values, size_t count)
{
    switch (type) {
    case HW_VALUE_F32: return hw_first_not_finite_f32(values, count);
    case HW_VALUE_F64: return hw_first_not_finite_f64(values, count);
    case HW_VALUE_I64: break;
    }
    return count;
}
