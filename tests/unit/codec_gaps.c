/* Every variant of gaps is compared with single sums and differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/random.h"
#include "codec/gaps.h"

enum { MOST = 131, ROUNDS = 20000 };

static const unsigned widths[] = {0, 1, 2, 4, 8};
static const hw_gaps_number types[] = {HW_GAPS_U32, HW_GAPS_U64};

static uint64_t most_of(size_t bytes)
{
    return bytes == 0 ? 0 : UINT64_MAX >> (64 - 8 * bytes);
}

/* Copies numbers, which the tests keep in 64 bits, to the type. */
static void copy_to(hw_gaps_number type, const uint64_t *numbers, size_t count, void *to)
{
    for (size_t k = 0; k < count; k++)
        memcpy((unsigned char *)to + k * type, &numbers[k], type);
}

static void copy_from(hw_gaps_number type, const void *from, size_t count, uint64_t *numbers)
{
    memset(numbers, 0, count * sizeof *numbers);
    for (size_t k = 0; k < count; k++)
        memcpy(&numbers[k], (const unsigned char *)from + k * type, type);
}

/* Gaps at any address, which may overflow the type. */
static void read_numbers_are_sums_of_gaps(void **state)
{
    (void)state;
    unsigned char bytes[8 * MOST + 16];
    uint64_t expected[MOST + 1], read[MOST + 2], typed[MOST + 2];
    hw_random random = hw_random_at(1, 0, 0, 0);
    for (int round = 0; round < ROUNDS; round++) {
        hw_gaps_number type = types[round % 2];
        unsigned width = widths[hw_random_below(&random, type == HW_GAPS_U32 ? 4 : 5)];
        size_t n = 1 + (size_t)hw_random_below(&random, MOST), from = (size_t)hw_random_below(&random, 16);
        uint64_t last = most_of(type), before = (hw_random_next(&random) & last) >> hw_random_below(&random, 8 * type),
                 little = hw_random_below(&random, type);
        if (hw_random_below(&random, 2) == 0)
            before = last - before;
        uint64_t number = expected[0] = before;
        bool right = true;
        for (size_t k = 0; k < n; k++) {
            uint64_t gap = (hw_random_next(&random) & most_of(width)) >> (width == (unsigned)type ? 7 * little : 0);
            if (hw_random_below(&random, 50) == 0)
                gap = most_of(width);
            memcpy(bytes + from + k * width, &gap, width);
            right &= number < last && gap < last - number;
            expected[k + 1] = number += gap + 1;
        }
        for (size_t form = 0; hw_gaps_variant(type, form) != NULL; form++) {
            read[0] = before, read[n + 1] = 77;
            copy_to(type, read, n + 2, typed);
            assert_int_equal(hw_gaps_variant(type, form)->read(bytes + from, n, width, typed), right);
            copy_from(type, typed, n + 2, read);
            assert_int_equal(read[n + 1], 77);
            if (right)
                assert_memory_equal(read, expected, (n + 1) * sizeof *read);
        }
    }
}

static void written_gaps_are_differences(void **state)
{
    (void)state;
    unsigned char bytes[8 * MOST + 1];
    uint64_t numbers[MOST + 1], typed[MOST + 1];
    hw_random random = hw_random_at(2, 0, 0, 0);
    for (int round = 0; round < ROUNDS; round++) {
        hw_gaps_number type = types[round % 2];
        unsigned width = widths[1 + hw_random_below(&random, type == HW_GAPS_U32 ? 3 : 4)];
        size_t n = 1 + (size_t)hw_random_below(&random, MOST);
        uint64_t all = 0, gaps[MOST];
        numbers[0] = hw_random_next(&random);
        for (size_t k = 0; k < n; k++) { /* they may wrap, because only differences are written */
            gaps[k] = hw_random_next(&random) & most_of(width);
            numbers[k + 1] = numbers[k] + gaps[k] + 1;
            all |= gaps[k];
        }
        copy_to(type, numbers, n + 1, typed);
        for (size_t form = 0; hw_gaps_variant(type, form) != NULL; form++) {
            assert_true(hw_gaps_variant(type, form)->bits(typed, n) == all);
            bytes[n * width] = 99;
            hw_gaps_variant(type, form)->write(typed, n, width, bytes);
            assert_int_equal(bytes[n * width], 99);
            for (size_t k = 0; k < n; k++)
                assert_memory_equal(bytes + k * width, &gaps[k], width);
        }
    }
}

static bool ascend(hw_gaps_number type, size_t form, const uint64_t *numbers, size_t n)
{
    uint64_t typed[MOST];
    copy_to(type, numbers, n, typed);
    return hw_gaps_variant(type, form)->ascend(typed, n);
}

/* One pair that does not ascend is found anywhere, on either side of the middle of the number range. */
static void a_number_that_does_not_ascend_is_found(void **state)
{
    (void)state;
    uint64_t numbers[MOST];
    for (size_t round = 0; round < 2 * MOST; round++) {
        hw_gaps_number type = types[round % 2];
        size_t n = 1 + round / 2;
        for (size_t form = 0; hw_gaps_variant(type, form) != NULL; form++)
            for (size_t k = 0; k < n; k++) {
                for (size_t i = 0; i < n; i++)
                    numbers[i] = most_of(type) / 2 - n + 2 * i;
                assert_true(ascend(type, form, numbers, n));
                if (k == 0)
                    continue;
                numbers[k] = numbers[k - 1];
                assert_false(ascend(type, form, numbers, n));
                numbers[k] = k % 2 ? 0 : numbers[k - 1] - 1;
                assert_false(ascend(type, form, numbers, n));
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_numbers_are_sums_of_gaps),
        cmocka_unit_test(written_gaps_are_differences),
        cmocka_unit_test(a_number_that_does_not_ascend_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
