/* The readers' option rows and what they come to: every row must reach the load, or it is an option that does nothing. */
#include "data_common.h"

#include "hawser/options.h"

static hawser_options *given(int count, char **words)
{
    const hawser_option *tables[] = {hawser_data_rows(), NULL};
    hawser_options *options = NULL;
    hawser_error error = {0};
    assert_int_equal(hawser_options_new(tables, &options, &error), HAWSER_OK);
    if (hawser_options_arguments(options, &count, words, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_int_equal(count, 1);
    return options;
}

static void defaults_ask_for_nothing(void **state)
{
    (void)state;
    char *words[] = {"test", NULL};
    hawser_load load;
    hawser_error error = {0};
    hawser_options *options = given(1, words);
    assert_int_equal(hawser_load_from_options(options, &load, &error), HAWSER_OK);
    assert_int_equal(load.format, HAWSER_GUESS);
    assert_null(load.target);
    assert_null(load.weights);
    assert_null(load.offset);
    assert_null(load.names);
    assert_string_equal(load.missing, "refuse");
    assert_int_equal(load.header, 0);
    assert_int_equal(load.delimiter, 0);
    assert_int_equal(load.index_base, 0);
    assert_int_equal(load.type, HAWSER_F64);
    assert_int_equal(load.threads, 0);
    assert_int_equal(load.memory_limit, 0);
    hawser_options_free(options);
}

static void every_row_reaches_the_load(void **state)
{
    (void)state;
    char *words[] = {"test",
                     "--format",
                     "matrix-market",
                     "--target",
                     "y",
                     "--weights",
                     "w",
                     "--offset",
                     "o",
                     "--names",
                     "n.txt",
                     "--header",
                     "no",
                     "--missing",
                     "mean",
                     "--delimiter",
                     "tab",
                     "--index-base",
                     "1",
                     "--type",
                     "f32",
                     "--memory-limit",
                     "3M",
                     "--threads",
                     "5",
                     NULL};
    hawser_load load;
    hawser_error error = {0};
    hawser_options *options = given((int)(sizeof words / sizeof *words) - 1, words);
    assert_int_equal(hawser_load_from_options(options, &load, &error), HAWSER_OK);
    assert_int_equal(load.format, HAWSER_MATRIX_MARKET);
    assert_string_equal(load.target, "y");
    assert_string_equal(load.weights, "w");
    assert_string_equal(load.offset, "o");
    assert_string_equal(load.names, "n.txt");
    assert_true(load.header < 0);
    assert_string_equal(load.missing, "mean");
    assert_int_equal(load.delimiter, '\t');
    assert_int_equal(load.index_base, 2);
    assert_int_equal(load.type, HAWSER_F32);
    assert_int_equal(load.memory_limit, 3 << 20);
    assert_int_equal(load.threads, 5);
    hawser_options_free(options);
}

static void every_format_has_its_word(void **state)
{
    (void)state;
    char *names[] = {"guess", "svmlight", "csv", "matrix-market", "npy", "cache", "idx"};
    const hawser_format formats[] = {HAWSER_GUESS, HAWSER_SVMLIGHT, HAWSER_CSV, HAWSER_MATRIX_MARKET,
                                     HAWSER_NPY,   HAWSER_CACHE,    HAWSER_IDX};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char *words[] = {"test", "--format", names[i], "--header", "yes", "--index-base", "0", NULL};
        hawser_load load;
        hawser_error error = {0};
        hawser_options *options = given(7, words);
        assert_int_equal(hawser_load_from_options(options, &load, &error), HAWSER_OK);
        assert_int_equal(load.format, formats[i]);
        assert_true(load.header > 0);
        assert_int_equal(load.index_base, 1);
        hawser_options_free(options);
    }
}

static void blanks_are_a_delimiter(void **state)
{
    (void)state;
    char *asked[] = {"blanks", " "};
    const char meant[] = {HAWSER_BLANKS, ' '};
    for (int i = 0; i < 2; i++) {
        char *words[] = {"test", "--delimiter", asked[i], NULL};
        hawser_load load;
        hawser_options *options = given(3, words);
        assert_int_equal(hawser_load_from_options(options, &load, NULL), HAWSER_OK);
        assert_int_equal(load.delimiter, meant[i]);
        hawser_options_free(options);
    }
}

static void a_delimiter_is_one_character_of_no_number(void **state)
{
    (void)state;
    char *wrong[] = {"", "xy", "1", ".", "-", "e", "\"", "tabs", "\1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *words[] = {"test", "--delimiter", wrong[i], NULL}, message[200];
        hawser_load load;
        hawser_error error = {0};
        hawser_options *options = given(3, words);
        assert_int_equal(hawser_load_from_options(options, &load, &error), HAWSER_BAD_OPTION);
        snprintf(message, sizeof message,
                 "--delimiter: '%s': expected one character that is no part of a number, tab or blanks",
                 wrong[i][0] == '\1' ? "\\x01" : wrong[i]);
        assert_string_equal(error.text, message);
        hawser_options_free(options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_ask_for_nothing),
        cmocka_unit_test(every_row_reaches_the_load),
        cmocka_unit_test(every_format_has_its_word),
        cmocka_unit_test(blanks_are_a_delimiter),
        cmocka_unit_test(a_delimiter_is_one_character_of_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
