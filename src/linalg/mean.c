#include "linalg/mean.h"

#include <string.h>

enum { PIECE = 1024 }; /* numbers that are added up at a time, so that each array is read from memory once */

/* Terms are added two at a time, in their order: one pass less over the sum for every other term. */
#define DEFINE_SUMS(number, name, target)                                                                                   \
    target static void name(void *to, const void *const *terms, size_t term_count, uint64_t parts, size_t count)            \
    {                                                                                                                       \
        number sum[PIECE], *out = to, divisor = (number)parts;                                                              \
        for (size_t begin = 0; begin < count; begin += PIECE) {                                                             \
            size_t length = count - begin < PIECE ? count - begin : PIECE, t = 1;                                           \
            memcpy(sum, (const number *)terms[0] + begin, length * sizeof *sum);                                            \
            for (; t + 1 < term_count; t += 2) {                                                                            \
                const number *one = (const number *)terms[t] + begin, *two = (const number *)terms[t + 1] + begin;          \
                for (size_t i = 0; i < length; i++)                                                                         \
                    sum[i] = sum[i] + one[i] + two[i];                                                                      \
            }                                                                                                               \
            for (size_t i = 0; t < term_count && i < length; i++)                                                           \
                sum[i] += ((const number *)terms[t])[begin + i];                                                            \
            for (size_t i = 0; parts != 1 && i < length; i++)                                                               \
                sum[i] /= divisor;                                                                                          \
            memcpy(out + begin, sum, length * sizeof *sum);                                                                 \
        }                                                                                                                   \
    }
DEFINE_SUMS(float, mean_f32_portable, )
DEFINE_SUMS(double, mean_f64_portable, )
#ifdef __x86_64__
DEFINE_SUMS(float, mean_f32_avx2, __attribute__((target("avx2"))))
DEFINE_SUMS(double, mean_f64_avx2, __attribute__((target("avx2"))))
#endif

hw_mean_form hw_mean_variant(hawser_type type, size_t index)
{
    bool single = type == HAWSER_F32;
    if (index == 0)
        return single ? mean_f32_portable : mean_f64_portable;
#ifdef __x86_64__
    if (index == 1 && __builtin_cpu_supports("avx2"))
        return single ? mean_f32_avx2 : mean_f64_avx2;
#endif
    return NULL;
}
