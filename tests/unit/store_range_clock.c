/* Clocks of ranges against an array with a number for every key; and how much they keep. */
#include "store/range_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"

enum { KEYS = 60 };

/* Keys lie at the end of the key space, where a range's end has no successor. */
static uint64_t key_at(uint64_t k)
{
    return UINT64_MAX - (KEYS - 1) + k;
}

static void check_shape(const hw_range_clock *clock)
{
    assert_true(clock->ranges[0].first == key_at(0));
    for (size_t i = 1; i < clock->count; i++)
        assert_true(clock->ranges[i].first > clock->ranges[i - 1].first &&
                    clock->ranges[i].time != clock->ranges[i - 1].time);
}

static void a_range_clock_equals_a_clock_per_key(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        hw_random random = hw_random_at(seed, 0, 0, 0);
        hw_range_clock clock;
        uint64_t plain[KEYS] = {0};
        assert_int_equal(hw_range_clock_new(key_at(0), key_at(KEYS - 1), &clock, NULL), HAWSER_OK);
        for (uint64_t step = 1; step < 80; step++) {
            uint64_t first = hw_random_below(&random, KEYS), last = first + hw_random_below(&random, KEYS - first);
            uint64_t time = hw_random_below(&random, 1 + step / 4);
            assert_int_equal(hw_range_clock_advance(&clock, key_at(first), key_at(last), time, NULL), HAWSER_OK);
            for (uint64_t k = first; k <= last; k++)
                if (plain[k] < time)
                    plain[k] = time;
            check_shape(&clock);
            for (uint64_t k = 0, behind = 0, until = 0; k < KEYS; k++) {
                assert_true(hw_range_clock_at(&clock, key_at(k)) == plain[k]);
                assert_true(hw_range_clock_from(&clock, key_at(k), &until) == plain[k]);
                for (behind = k; behind + 1 < KEYS && plain[behind + 1] == plain[k];)
                    behind++;
                assert_true(until == key_at(behind));
            }
            first = hw_random_below(&random, KEYS), last = first + hw_random_below(&random, KEYS - first);
            uint64_t least = UINT64_MAX;
            for (uint64_t k = first; k <= last; k++)
                if (plain[k] < least)
                    least = plain[k];
            assert_true(hw_range_clock_least(&clock, key_at(first), key_at(last)) == least);
        }
        hw_range_clock_free(&clock);
    }
}

/* k messages on ranges leave at most 2k + 1 of them, whatever the number of keys; one that covers all joins them again. */
static void memory_follows_messages(void **state)
{
    (void)state;
    hw_random random = hw_random_at(3, 0, 0, 0);
    hw_range_clock clock;
    assert_int_equal(hw_range_clock_new(0, UINT64_MAX, &clock, NULL), HAWSER_OK);
    for (uint64_t k = 1; k <= 2000; k++) {
        uint64_t a = hw_random_next(&random), b = hw_random_next(&random);
        assert_int_equal(hw_range_clock_advance(&clock, a < b ? a : b, a < b ? b : a, k, NULL), HAWSER_OK);
        assert_true(clock.count <= 2 * k + 1);
    }
    assert_int_equal(hw_range_clock_advance(&clock, 0, UINT64_MAX, 2001, NULL), HAWSER_OK);
    assert_int_equal(clock.count, 1);
    /* Blocks of keys in turn, as an algorithm goes over them: never more ranges than blocks. */
    for (uint64_t pass = 0; pass < 20; pass++)
        for (uint64_t block = 0; block < 16; block++) {
            assert_int_equal(
                hw_range_clock_advance(&clock, block << 60, (block << 60) + (UINT64_MAX >> 4), 2002 + pass, NULL),
                HAWSER_OK);
            assert_true(clock.count <= 2);
        }
    hw_range_clock_free(&clock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_clock_equals_a_clock_per_key),
        cmocka_unit_test(memory_follows_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
