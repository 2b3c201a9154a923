#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"

static void draws_depend_on_the_key_alone(void **state)
{
    (void)state;
    hw_random a = hw_random_at(1, 2, 3, 4), b = hw_random_at(1, 2, 3, 4);
    for (int i = 0; i < 100; i++)
        assert_true(hw_random_next(&a) == hw_random_next(&b));
    const uint64_t keys[][4] = {{2, 2, 3, 4}, {1, 3, 3, 4}, {1, 2, 4, 4}, {1, 2, 3, 5}, {2, 1, 3, 4}, {1, 2, 4, 3}};
    hw_random first = hw_random_at(1, 2, 3, 4);
    uint64_t value = hw_random_next(&first);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        hw_random other = hw_random_at(keys[i][0], keys[i][1], keys[i][2], keys[i][3]);
        assert_true(hw_random_next(&other) != value);
    }
}

static void below_is_uniform(void **state)
{
    (void)state;
    enum { BINS = 7, DRAWS = 70000 };
    uint64_t counts[BINS] = {0};
    hw_random random = hw_random_at(5, 0, 0, 0);
    for (int i = 0; i < DRAWS; i++)
        counts[hw_random_below(&random, BINS)]++;
    double chi2 = 0, expected = (double)DRAWS / BINS;
    for (int i = 0; i < BINS; i++)
        chi2 += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    assert_true(chi2 < 27.9); /* 6 degrees of freedom, p = 1e-4 */
}

static void normal_has_its_moments(void **state)
{
    (void)state;
    enum { DRAWS = 200000 };
    hw_random random = hw_random_at(9, 1, 0, 0);
    double sum = 0, squares = 0, fourth = 0;
    for (int i = 0; i < DRAWS; i++) {
        double x = hw_random_normal(&random);
        sum += x;
        squares += x * x;
        fourth += x * x * x * x;
    }
    assert_true(fabs(sum / DRAWS) < 0.012);
    assert_true(fabs(squares / DRAWS - 1) < 0.016);
    assert_true(fabs(fourth / DRAWS - 3) < 0.12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_depend_on_the_key_alone),
        cmocka_unit_test(below_is_uniform),
        cmocka_unit_test(normal_has_its_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
