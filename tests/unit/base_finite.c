/* Every form of the search for NaN and infinities, with one at every place, at every alignment of floats, beside what isfinite says. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/finite.h"

enum { MOST = 150, SHIFT = 16 };

static const double odd[] = {NAN, -NAN, INFINITY, -INFINITY, 1.7e308, -1.7e308, 4.9e-324, -0.0};

static void floats_are_judged_as_by_isfinite(void **state)
{
    (void)state;
    float room[MOST + SHIFT];
    for (size_t n = 0; n < MOST; n++)
        for (size_t at = 0; at < n; at++) {
            float *numbers = room + n % SHIFT;
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
    double room[MOST + SHIFT];
    for (size_t n = 0; n < MOST; n++)
        for (size_t at = 0; at < n; at++) {
            double *numbers = room + n % SHIFT;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_judged_as_by_isfinite),
        cmocka_unit_test(doubles_are_judged_as_by_isfinite),
        cmocka_unit_test(the_first_of_several_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
