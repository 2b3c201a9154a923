#include "vector/mix.h"

#include <string.h>

enum { PIECE = 1024 }; /* numbers that are added up at a time, so that each array is read from memory once */

#define DEFINE_MIX(number, suffix)                                                                                          \
    static void mix_##suffix(number *out, const void *const *terms, size_t term_count, number divisor, size_t count)        \
    {                                                                                                                       \
        number sum[PIECE];                                                                                                  \
        for (size_t begin = 0; begin < count; begin += PIECE) {                                                             \
            size_t length = count - begin < PIECE ? count - begin : PIECE;                                                  \
            memcpy(sum, (const number *)terms[0] + begin, length * sizeof *sum);                                            \
            for (size_t t = 1; t < term_count; t++) {                                                                       \
                const number *term = (const number *)terms[t] + begin;                                                      \
                for (size_t i = 0; i < length; i++)                                                                         \
                    sum[i] += term[i];                                                                                      \
            }                                                                                                               \
            for (size_t i = 0; divisor != 1 && i < length; i++)                                                             \
                sum[i] /= divisor;                                                                                          \
            memcpy(out + begin, sum, length * sizeof *sum);                                                                 \
        }                                                                                                                   \
    }                                                                                                                       \
    static void add_##suffix(number *to, const number *from, size_t count)                                                  \
    {                                                                                                                       \
        for (size_t i = 0; i < count; i++)                                                                                  \
            to[i] += from[i];                                                                                               \
    }                                                                                                                       \
    static void take_new_##suffix(number *array, const number *sum, number *seen, number divisor, size_t count)             \
    {                                                                                                                       \
        for (size_t i = 0; i < count; i++) {                                                                                \
            array[i] = (array[i] + (sum[i] - seen[i])) / divisor;                                                           \
            seen[i] = sum[i];                                                                                               \
        }                                                                                                                   \
    }

DEFINE_MIX(float, f32)
DEFINE_MIX(double, f64)

void hw_terms_mean(hawser_type type, void *out, const void *const *terms, size_t term_count, uint64_t divisor, size_t count)
{
    if (term_count == 0)
        return;
    if (type == HAWSER_F32)
        mix_f32(out, terms, term_count, (float)divisor, count);
    else
        mix_f64(out, terms, term_count, (double)divisor, count);
}

void hw_terms_add(hawser_type type, void *to, const void *from, size_t count)
{
    if (type == HAWSER_F32)
        add_f32(to, from, count);
    else
        add_f64(to, from, count);
}

void hw_terms_take_new(hawser_type type, void *array, const void *sum, void *seen, uint64_t divisor, size_t count)
{
    if (type == HAWSER_F32)
        take_new_f32(array, sum, seen, (float)divisor, count);
    else
        take_new_f64(array, sum, seen, (double)divisor, count);
}
