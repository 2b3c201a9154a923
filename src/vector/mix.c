#include "vector/mix.h"

#include "linalg/mean.h"

#define DEFINE_MIX(number, suffix)                                                                                          \
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
    hw_mean_form wide = hw_mean_variant(type, 1);
    (wide != NULL ? wide : hw_mean_variant(type, 0))(out, terms, term_count, divisor, count);
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
