#include "codec/values.h"

#include <string.h>

#include "base/bytes.h"
#include "base/finite.h"
#include "codec/bits.h"

static size_t bitmap_bytes(size_t count)
{
    return (count + 63) / 64 * 8;
}

static void copy_number(void *to, const void *from, size_t size)
{
    if (size == sizeof(uint32_t))
        memcpy(to, from, sizeof(uint32_t));
    else
        memcpy(to, from, sizeof(uint64_t));
}

enum { PLACES = 32, BESIDE = 8, SAMPLED = PLACES * BESIDE, SAMPLE_OF = 16 * SAMPLED };

static const unsigned char *place_at(const unsigned char *numbers, size_t count, size_t size, size_t place)
{
    return numbers + (count - BESIDE) * place / (PLACES - 1) * size;
}

/* Returns true if a sample of many numbers has hardly a zero, so that counting all of them would gain nothing. The sample
 * has BESIDE neighbours at each place. All places are prefetched before the first is read, because each may be a wait for
 * memory. */
static bool hardly_zero(const unsigned char *numbers, size_t count, size_t size)
{
    size_t zeros = 0;
    if (count < SAMPLE_OF)
        return false;
    for (size_t p = 0; p < PLACES; p++)
        hw_prefetch(place_at(numbers, count, size, p));
    for (size_t p = 0; p < PLACES; p++)
        for (size_t i = 0; i < BESIDE; i++) {
            uint64_t number = 0;
            copy_number(&number, place_at(numbers, count, size, p) + i * size, size);
            zeros += number == 0;
        }
    return zeros <= SAMPLED / 64;
}

enum { WORDS = 64, SLICE = 64 * WORDS /* numbers that are processed together */ };

static size_t nonzero(const unsigned char *numbers, size_t count, size_t size)
{
    const hw_bits *form = hw_bits_best();
    uint64_t words[WORDS];
    size_t all = 0;
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < SLICE ? count - i : SLICE;
        all += form->mark(numbers + i * size, size, n, words);
    }
    return all;
}

/* NONZERO must save an eighth of the bytes: on a fast network, packing and unpacking cost as much. */
hw_values_form hw_values_choose(hw_value_type type, const void *values, size_t count, size_t *bytes)
{
    size_t size = hw_value_size(type);
    if (hardly_zero(values, count, size)) {
        *bytes = count * size;
        return HW_VALUES_DENSE;
    }
    size_t dense = count * size, without = bitmap_bytes(count) + nonzero(values, count, size) * size;
    bool pays = without < dense - dense / 8;
    *bytes = pays ? without : dense;
    return pays ? HW_VALUES_NONZERO : HW_VALUES_DENSE;
}

/* Writes the bitmap of the nonzero numbers, then these numbers. */
static void encode_nonzero(const unsigned char *from, size_t count, size_t size, unsigned char *out)
{
    const hw_bits *form = hw_bits_best();
    unsigned char *next = out + bitmap_bytes(count);
    uint64_t words[WORDS];
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < SLICE ? count - i : SLICE;
        (void)form->mark(from + i * size, size, n, words);
        memcpy(out + i / 8, words, bitmap_bytes(n));
        next += form->take(from + i * size, size, words, bitmap_bytes(n) / sizeof *words, next) * size;
    }
}

void hw_values_encode(hw_values_form form, hw_value_type type, const void *values, size_t count, unsigned char *out)
{
    size_t size = hw_value_size(type);
    if (form == HW_VALUES_DENSE)
        memcpy(out, values, count * size);
    else if (form > HW_VALUES_NONZERO)
        hw_values_encode_rounded(form, type, values, count, out);
    else if (form == HW_VALUES_NONZERO)
        encode_nonzero(values, count, size, out);
}

/* Reads the words of a bitmap for n numbers. Returns false if a bit behind the last number is set. */
static bool next_words(const unsigned char *bitmap, size_t n, uint64_t words[WORDS])
{
    size_t bytes = bitmap_bytes(n);
    memcpy(words, bitmap, bytes);
    return n % 64 == 0 || words[bytes / sizeof *words - 1] >> n % 64 == 0;
}

/* Returns the numbers that a bitmap marks as nonzero; SIZE_MAX if a bit behind the last number is set. */
static size_t count_marked(const unsigned char *in, size_t count)
{
    const hw_bits *form = hw_bits_best();
    uint64_t words[WORDS];
    size_t all = 0;
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < SLICE ? count - i : SLICE;
        if (!next_words(in + i / 8, n, words))
            return SIZE_MAX;
        all += form->count(words, bitmap_bytes(n) / sizeof *words);
    }
    return all;
}

static bool decode_nonzero(const unsigned char *in, size_t bytes, size_t count, size_t size, unsigned char *to)
{
    const hw_bits *form = hw_bits_best();
    size_t bitmap = bitmap_bytes(count), marked = bytes < bitmap ? SIZE_MAX : count_marked(in, count);
    if (marked == SIZE_MAX || bytes - bitmap != marked * size)
        return false;
    const unsigned char *next = in + bitmap;
    uint64_t words[WORDS];
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < SLICE ? count - i : SLICE;
        (void)next_words(in + i / 8, n, words);
        memset(to + i * size, 0, n * size);
        next += form->put(next, size, words, bitmap_bytes(n) / sizeof *words, to + i * size) * size;
    }
    return true;
}

bool hw_values_decode(hw_values_form form, hw_value_type type, const unsigned char *in, size_t bytes, size_t count,
                      void *values)
{
    size_t size = hw_value_size(type);
    if (form == HW_VALUES_DENSE) {
        if (bytes != count * size)
            return false;
        memcpy(values, in, bytes);
        return true;
    }
    if (form > HW_VALUES_NONZERO)
        return hw_values_decode_rounded(form, type, in, bytes, count, values);
    return form == HW_VALUES_NONZERO && decode_nonzero(in, bytes, count, size, values);
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
