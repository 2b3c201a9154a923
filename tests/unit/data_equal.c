/* Lists of columns of one value: digits that doubles do not hold, and lists that meet in any order. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/equal.h"

static uint64_t digits(const char *text)
{
    return hw_equal_digits(text, text + strlen(text));
}

static void spellings_of_one_number_have_one_hash(void **state)
{
    static const char *const same[][4] = {
        {"12345678901234567891", "12345678901234567891.0", "1.2345678901234567891e19", "+0012345678901234567891000e-3"},
        {"0.30000000000000004", "00.300000000000000040000", "3.0000000000000004e-1", ".30000000000000004"},
        {"-1234567890123456.5", "-12345678901234565E-1", "-1.2345678901234565e+15", "-1234567890123456.50"}};
    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_true(digits(same[i][0]) != 0);
        for (size_t k = 1; k < 4; k++)
            assert_true(digits(same[i][k]) == digits(same[i][0]));
        for (size_t k = 0; k < i; k++)
            assert_true(digits(same[k][0]) != digits(same[i][0]));
    }
}

static void other_numbers_have_other_hashes(void **state)
{
    static const char *const all[] = {"12345678901234567891",  "12345678901234567892", "-12345678901234567891",
                                      "1234567890123456789.1", "0.30000000000000004",  "0.30000000000000005",
                                      "0.030000000000000004",  "30000000000000004"};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t k = 0; k < i; k++)
            assert_true(digits(all[i]) != digits(all[k]));
}

/* Different doubles have these numbers. */
static void few_digits_have_no_hash(void **state)
{
    static const char *const all[] = {"0",
                                      "-0.0",
                                      "7.1",
                                      "7.100000000000000000000",
                                      "100000000000000000000000",
                                      "123456789012345",
                                      "1e300",
                                      ".5",
                                      "000000000000000000001"};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_true(digits(all[i]) == 0);
}

static void fill(hw_equals *list, const double *values, size_t count)
{
    hawser_error error = {0};
    list->begun = true;
    for (size_t j = 0; j < count; j++)
        if (values[j] != -1)
            assert_int_equal(hw_equals_add(list, (uint32_t)j, values[j], 0, &error), HAWSER_OK);
}

/* Columns: equal, differing beyond f32, another number, left by one list, all missing in one list. */
static void lists_meet_in_any_order(void **state)
{
    static const double a[] = {7.1, 7.1, 3, 5, NAN}, b[] = {7.1, 7.1000000001, 4, -1, 2.5};
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        hw_equals one = {0}, two = {0};
        fill(&one, turn == 0 ? a : b, 5);
        fill(&two, turn == 0 ? b : a, 5);
        hw_equals_meet(&one, &two, HAWSER_F32);
        assert_int_equal(one.count, 3);
        assert_false(hw_equals_find(&one, 0)->differ);
        assert_true(hw_equals_find(&one, 1)->differ);
        assert_null(hw_equals_find(&one, 2));
        assert_null(hw_equals_find(&one, 3));
        assert_true(hw_equals_find(&one, 4)->value == 2.5 && !hw_equals_find(&one, 4)->differ);
        hw_equals_free(&one);
        hw_equals_free(&two);
    }
}

static void targets_are_doubles(void **state)
{
    hw_equal target = {.column = HW_EQUAL_TARGET(0), .value = 7.1}, column = {.column = 0, .value = 7.1};
    (void)state;
    assert_false(hw_equal_see(&target, 7.1000000001, 0, HAWSER_F32));
    assert_true(hw_equal_see(&column, 7.1000000001, 0, HAWSER_F32) && column.differ);
    assert_true(hw_equal_see(&target, 7.1, 1, HAWSER_F32) && target.differ);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(spellings_of_one_number_have_one_hash),
                                       cmocka_unit_test(other_numbers_have_other_hashes),
                                       cmocka_unit_test(few_digits_have_no_hash), cmocka_unit_test(lists_meet_in_any_order),
                                       cmocka_unit_test(targets_are_doubles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
