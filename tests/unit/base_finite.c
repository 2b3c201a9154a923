/* Every form of the search for NaN and infinities, with one at every place, at every alignment of floats, beside what
 * isfinite says. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/finite.h"
#include "base/random.h"

enum { MOST = 150, SHIFT = 16 };

static const double odd[] = {NAN, -NAN, INFINITY, -INFINITY, 1.7e308, -1.7e308, 4.9e-324, -0.0};

static void floats_are_judged_as_by_isfinite(void **state)
{
    (void)state;
    float space[MOST + SHIFT];
    for (size_t n = 0; n < MOST; n++)
        for (size_t at = 0; at < n; at++) {
            float *numbers = space + n % SHIFT;
            for (size_t i = 0; i < n; i++)
                numbers[i] = i % 2 == 0 ? 3.4e38F : -1e-45F;
            numbers[at] = (float)odd[(n + at) % (sizeof odd / sizeof *odd)]; /* the largest doubles are infinite floats */
            bool finite = isfinite(numbers[at]);
            for (size_t v = 0; hw_finite_f32_variant(v) != NULL; v++)
                assert_int_equal(hw_finite_f32_variant(v)(numbers, n), finite);
            assert_int_equal(hw_first_not_finite_f32(numbers, n), finite ? n : at);
        }
}

static void doubles_are_judged_as_by_isfinite(void **state)
{
    (void)state;
    double space[MOST + SHIFT];
    for (size_t n = 0; n < MOST; n++)
        for (size_t at = 0; at < n; at++) {
            double *numbers = space + n % SHIFT;
            for (size_t i = 0; i < n; i++)
                numbers[i] = i % 2 == 0 ? 1.7e308 : -4.9e-324;
            numbers[at] = odd[(n + at) % (sizeof odd / sizeof *odd)];
            bool finite = isfinite(numbers[at]);
            for (size_t v = 0; hw_finite_f64_variant(v) != NULL; v++)
                assert_int_equal(hw_finite_f64_variant(v)(numbers, n), finite);
            assert_int_equal(hw_first_not_finite_f64(numbers, n), finite ? n : at);
        }
}

static void the_first_of_several_is_named(void **state)
{
    (void)state;
    double wide[MOST] = {0};
    float narrow[MOST] = {0};
    wide[71] = wide[70] = wide[MOST - 1] = NAN;
    narrow[71] = narrow[70] = narrow[MOST - 1] = -INFINITY;
    assert_int_equal(hw_first_not_finite_f64(wide, MOST), 70);
    assert_int_equal(hw_first_not_finite_f32(narrow, MOST), 70);
}

/* Sums of numbers near the largest, among which none, some or all are infinite, at any alignment and length. */
#define SUMS(bits, number, most)                                                                                            \
    static void sums_of_##number##s_stay_finite(void **state)                                                               \
    {                                                                                                                       \
        (void)state;                                                                                                        \
        enum { LONGEST = 1600 };                                                                                            \
        number values[LONGEST], updates[LONGEST], sums[LONGEST], got[LONGEST];                                              \
        for (unsigned round = 0; round < 400; round++) {                                                                    \
            hw_random random = hw_random_at(round, bits, 0, 0);                                                             \
            size_t shift = round % SHIFT, n = (size_t)hw_random_below(&random, LONGEST - SHIFT), first = n;                 \
            uint64_t rare = round % 3 == 0 ? 0 : round % 3 == 1 ? 300 : 2;                                                  \
            for (size_t i = 0; i < n; i++) {                                                                                \
                bool large = rare > 0 && hw_random_below(&random, rare) == 0;                                               \
                values[i] = (number)((hw_random_uniform(&random) - 0.5) * (large ? (most) : 1) * 1.99);                     \
                updates[i] = (number)((hw_random_uniform(&random) - 0.5) * (large ? (most) : 1) * 1.99);                    \
                bool fine = isfinite((number)(values[i] + updates[i]));                                                     \
                sums[i] = fine ? values[i] + updates[i] : values[i];                                                        \
                first = !fine && first == n ? i : first;                                                                    \
            }                                                                                                               \
            for (size_t v = 0; hw_add_finite_f##bits##_variant(v) != NULL; v++) {                                           \
                memcpy(got + shift, values, n * sizeof *got);                                                               \
                assert_int_equal(hw_add_finite_f##bits##_variant(v)(got + shift, updates, n), first);                       \
                assert_memory_equal(got + shift, sums, n * sizeof *got);                                                    \
            }                                                                                                               \
            memcpy(got, values, n * sizeof *got);                                                                           \
            assert_int_equal(hw_add_finite_f##bits(got, updates, n), first);                                                \
            assert_memory_equal(got, sums, n * sizeof *got);                                                                \
        }                                                                                                                   \
    }
SUMS(32, float, 3.4e38)
SUMS(64, double, 1.79e308)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_judged_as_by_isfinite), cmocka_unit_test(doubles_are_judged_as_by_isfinite),
        cmocka_unit_test(the_first_of_several_is_named),    cmocka_unit_test(sums_of_floats_stay_finite),
        cmocka_unit_test(sums_of_doubles_stay_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
