/* Every form of gaps against sums and differences taken one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/random.h"
#include "codec/gaps.h"

enum { MOST = 131, ROUNDS = 20000 };

static const unsigned widths[] = {1, 2, 4, 8};

/* Bytes at any address, of gaps that may well go past 2^64. */
static void what_is_read_are_the_sums(void **state)
{
    (void)state;
    unsigned char bytes[8 * MOST + 16];
    uint64_t expected[MOST], read[MOST + 1];
    hw_random random = hw_random_at(1, 0, 0, 0);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned width = widths[hw_random_below(&random, 4)];
        size_t n = 1 + (size_t)hw_random_below(&random, MOST), from = (size_t)hw_random_below(&random, 16);
        uint64_t before = hw_random_next(&random) >> hw_random_below(&random, 64), number = before,
                 little = hw_random_below(&random, 8);
        if (hw_random_below(&random, 2) == 0)
            before = number = ~before;
        bool right = true;
        for (size_t k = 0; k < n; k++) {
            uint64_t gap = hw_random_next(&random) >> (width == 8 && little > 0 ? 7 * little : 64 - 8 * width);
            if (hw_random_below(&random, 50) == 0)
                gap = UINT64_MAX >> (64 - 8 * width);
            memcpy(bytes + from + k * width, &gap, width);
            right &= gap != UINT64_MAX && number <= UINT64_MAX - (gap + 1);
            expected[k] = number += gap + 1;
        }
        for (size_t form = 0; hw_gaps_variant(form) != NULL; form++) {
            read[n] = 77;
            assert_int_equal(hw_gaps_variant(form)->read(bytes + from, n, width, before, read), right);
            assert_int_equal(read[n], 77);
            if (right)
                assert_memory_equal(read, expected, n * sizeof *read);
        }
    }
}

static void what_is_written_are_the_differences(void **state)
{
    (void)state;
    unsigned char bytes[8 * MOST + 1];
    uint64_t numbers[MOST + 1];
    hw_random random = hw_random_at(2, 0, 0, 0);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned width = widths[hw_random_below(&random, 4)];
        size_t n = 1 + (size_t)hw_random_below(&random, MOST);
        uint64_t all = 0, gaps[MOST];
        numbers[0] = hw_random_next(&random);
        for (size_t k = 0; k < n; k++) { /* they may wrap: it is differences alone that are written */
            gaps[k] = hw_random_next(&random) >> (64 - 8 * width);
            numbers[k + 1] = numbers[k] + gaps[k] + 1;
            all |= gaps[k];
        }
        for (size_t form = 0; hw_gaps_variant(form) != NULL; form++) {
            assert_true(hw_gaps_variant(form)->bits(numbers, n) == all);
            bytes[n * width] = 99;
            hw_gaps_variant(form)->write(numbers, n, width, bytes);
            assert_int_equal(bytes[n * width], 99);
            for (size_t k = 0; k < n; k++)
                assert_memory_equal(bytes + k * width, &gaps[k], width);
        }
    }
}

/* One neighbour that does not ascend, anywhere, on either side of the middle of all numbers. */
static void one_that_does_not_ascend_is_seen(void **state)
{
    (void)state;
    uint64_t numbers[MOST];
    for (size_t n = 1; n <= MOST; n++)
        for (size_t form = 0; hw_gaps_variant(form) != NULL; form++)
            for (size_t k = 0; k < n; k++) {
                for (size_t i = 0; i < n; i++)
                    numbers[i] = (UINT64_C(1) << 63) - n + 2 * i;
                assert_true(hw_gaps_variant(form)->ascend(numbers, n));
                if (k == 0)
                    continue;
                numbers[k] = numbers[k - 1];
                assert_false(hw_gaps_variant(form)->ascend(numbers, n));
                numbers[k] = k % 2 ? 0 : numbers[k - 1] - 1;
                assert_false(hw_gaps_variant(form)->ascend(numbers, n));
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_are_the_sums),
        cmocka_unit_test(what_is_written_are_the_differences),
        cmocka_unit_test(one_that_does_not_ascend_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
