/* What people call a column: its name, or its number as options and messages count it. */
#include "data_common.h"

#include <stdlib.h>

#include "data/label.h"

static void is_called(const hawser_dataset *dataset, size_t column, const char *expected)
{
    char text[64];
    assert_int_equal(hawser_dataset_label(dataset, column, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);
}

static void numbers_count_the_target(void **state)
{
    (void)state;
    hawser_load third = {.target = "2", .weights = "-1"};
    hawser_dataset *d = load_text("1,2,3,4,5\n2,3,4,5,6\n", third);
    assert_string_equal(hawser_dataset_numbers(d), "0-1,3");
    assert_int_equal(hawser_dataset_figures(d)->target_column, 3);
    is_called(d, 0, "0");
    is_called(d, 1, "1");
    is_called(d, 2, "3");
    assert_int_equal(hawser_dataset_label(d, 3, NULL, 0), 0);
    hawser_dataset_free(d);
    hawser_load some = {.target = "2", .select = "4,0"};
    d = load_text("1,2,3,4,5\n2,3,4,5,6\n", some);
    is_called(d, 0, "0");
    is_called(d, 1, "4");
    hawser_dataset_free(d);
}

static void ignored_columns_keep_their_numbers(void **state)
{
    (void)state;
    hawser_load load = {.target = "0", .ignore = "1,3"};
    hawser_dataset *d = load_text("1,2,3,4,5\n2,3,4,5,6\n", load);
    assert_string_equal(hawser_dataset_numbers(d), "2,4");
    hawser_dataset *first = load_text("1,2,3\n2,3,4\n", (hawser_load){.target = "-1"});
    assert_null(hawser_dataset_numbers(first)); /* the features come first */
    is_called(first, 1, "1");
    hawser_dataset_free(first);
    is_called(d, 0, "2");
    is_called(d, 1, "4");
    hawser_dataset_free(d);
}

static void names_come_before_numbers(void **state)
{
    (void)state;
    char text[HW_COLUMN_CALLED], cut[4];
    hawser_dataset *d = load_text("y,age,,sky\n1,2,3,rain\n2,3,4,sun\n", (hawser_load){0});
    is_called(d, 0, "age");
    is_called(d, 1, "2");
    is_called(d, 2, "sky=rain");
    assert_string_equal(hw_column_called(d, 0, text), "column 'age'");
    assert_string_equal(hw_column_called(d, 1, text), "column 2");
    assert_int_equal(hawser_dataset_label(d, 2, cut, sizeof cut), 8);
    assert_string_equal(cut, "sky");
    hawser_dataset_free(d);
}

static void words_without_a_name_have_the_number(void **state)
{
    (void)state;
    char cut[2];
    hawser_dataset *d = load_text("7,a,1,u\n8,b,2,v\n9,a,3,u\n", (hawser_load){0});
    is_called(d, 0, "1=a");
    is_called(d, 2, "2");
    is_called(d, 4, "3=v");
    assert_int_equal(hawser_dataset_label(d, 4, cut, sizeof cut), 3);
    assert_string_equal(cut, "3");
    hawser_dataset_free(d);
}

static void svmlight_keeps_its_own_numbers(void **state)
{
    (void)state;
    hawser_dataset *d = load_text("1 1:1 3:2\n2 2:1\n", (hawser_load){0});
    assert_null(hawser_dataset_numbers(d));
    is_called(d, 0, "1");
    is_called(d, 2, "3");
    hawser_dataset_free(d);
    d = load_text("1 0:1 2:2\n2 1:1\n", (hawser_load){0});
    is_called(d, 2, "2");
    hawser_dataset_free(d);
}

static void models_keep_the_numbers(void **state)
{
    (void)state;
    char text[16];
    hawser_model *model;
    hawser_error error;
    assert_int_equal(hawser_model_new(&model, &error), HAWSER_OK);
    assert_int_equal(hawser_model_label(model, NULL, 4, text, sizeof text), 1);
    assert_string_equal(text, "4");
    assert_int_equal(hawser_model_fact(model, "column_numbers", "1,3-4,7-9", &error), HAWSER_OK);
    static const char *const expected[] = {"1", "3", "4", "7", "8", "9"};
    for (size_t j = 0; j < 6; j++) {
        assert_int_equal(hawser_model_label(model, NULL, j, text, sizeof text), 1);
        assert_string_equal(text, expected[j]);
    }
    hawser_model_free(model);
}

/* Files may be damaged or written by others: no text makes the search read beyond it, or wrap around. */
static void any_text_of_numbers_is_survived(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",   ",",  "x",  "3-", "-3", "5-2", "1,,2", "0-18446744073709551615", "1-2-3", "7;8", "18446744073709551615",
        "1 ", " 1", "1,x"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        for (size_t j = 0; j < 5; j++)
            (void)hw_column_number(texts[k], j);
    assert_int_equal(hw_column_number("5-2", 1), 1);
    assert_int_equal(hw_column_number("1,x", 0), 1);
    assert_int_equal(hw_column_number("1,x", 3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_count_the_target),        cmocka_unit_test(ignored_columns_keep_their_numbers),
        cmocka_unit_test(names_come_before_numbers),       cmocka_unit_test(words_without_a_name_have_the_number),
        cmocka_unit_test(svmlight_keeps_its_own_numbers),  cmocka_unit_test(models_keep_the_numbers),
        cmocka_unit_test(any_text_of_numbers_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
