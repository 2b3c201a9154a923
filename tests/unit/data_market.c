#include "data_common.h"

static const hawser_load plain = {0};

static void coordinates_in_any_order_are_read(void **state)
{
    (void)state;
    const char *text =
        "%%MatrixMarket matrix coordinate real general\n% a comment\n\n3 4 5\n3 4 1.5\n1 1 2\n\n2 1 -3\n1 4 4e0\n3 2 5\n";
    const double values[] = {2, 0, 0, 4, -3, 0, 0, 0, 0, 5, 0, 1.5};
    for (int by_row = 0; by_row < 2; by_row++)
        for (int single = 0; single < 2; single++) {
            hawser_load load = {.rows_layout = by_row, .type = single ? HAWSER_F32 : HAWSER_F64};
            hawser_dataset *dataset = load_text(text, load);
            expect_matrix(dataset, 3, 4, values);
            assert_int_equal(hawser_dataset_matrix(dataset)->layout, by_row ? HAWSER_CSR : HAWSER_CSC);
            assert_int_equal(hawser_dataset_matrix(dataset)->stored, 5);
            assert_null(hawser_dataset_target(dataset));
            assert_int_equal(hawser_dataset_figures(dataset)->format, HAWSER_MATRIX_MARKET);
            hawser_dataset_free(dataset);
        }
}

static void symmetric_and_pattern_files_are_read(void **state)
{
    (void)state;
    hawser_dataset *dataset = load_text("%%MatrixMarket MATRIX Coordinate pattern symmetric\n3 3 3\n1 1\n3 1\n3 2\n", plain);
    const double values[] = {1, 0, 1, 0, 0, 1, 1, 1, 0};
    expect_matrix(dataset, 3, 3, values);
    assert_int_equal(hawser_dataset_matrix(dataset)->stored, 5);
    hawser_dataset_free(dataset);
    dataset = load_text("%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n2 1 7\n2 2 -1\n",
                        (hawser_load){.rows_layout = 1});
    const double two[] = {0, 7, 7, -1};
    expect_matrix(dataset, 2, 2, two);
    hawser_dataset_free(dataset);
}

static void arrays_are_read_by_columns(void **state)
{
    (void)state;
    for (int single = 0; single < 2; single++) {
        hawser_load load = {.type = single ? HAWSER_F32 : HAWSER_F64};
        hawser_dataset *dataset = load_text("%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n", load);
        const double values[] = {1, 3, 5, 2, 4, 6}, mirrored[] = {1, 2, 3, 2, 4, 5, 3, 5, 6};
        expect_matrix(dataset, 2, 3, values);
        assert_int_equal(hawser_dataset_matrix(dataset)->layout, HAWSER_DENSE);
        hawser_dataset_free(dataset);
        dataset = load_text("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", load);
        expect_matrix(dataset, 3, 3, mirrored);
        hawser_dataset_free(dataset);
        load.columns = 2;
        dataset = load_text("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", load);
        const double cut[] = {1, 2, 2, 4, 3, 5};
        expect_matrix(dataset, 3, 2, cut);
        hawser_dataset_free(dataset);
    }
}

static void skew_symmetric_files_are_read(void **state)
{
    (void)state;
    const double values[] = {0, 1, 2, -1, 0, 3, -2, -3, 0}, cut[] = {0, 1, -1, 0, -2, -3};
    for (int by_row = 0; by_row < 2; by_row++)
        for (int single = 0; single < 2; single++)
            for (int array = 0; array < 2; array++)
                for (int columns = 0; columns < 3; columns += 2) {
                    hawser_load load = {
                        .rows_layout = by_row, .type = single ? HAWSER_F32 : HAWSER_F64, .columns = (size_t)columns};
                    hawser_dataset *dataset = load_text(
                        array
                            ? "%%MatrixMarket matrix array real skew-symmetric\n3 3\n-1\n-2\n-3\n"
                            : "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 4\n3 1 -2\n2 1 -1\n3 2 -3\n2 2 0\n",
                        load);
                    expect_matrix(dataset, 3, columns != 0 ? 2 : 3, columns != 0 ? cut : values);
                    hawser_dataset_free(dataset);
                }
}

/* Entries of one place are added in the order of the file, as scipy does: 1 + 1e16 - 1e16 is 0 in doubles. */
static void repeated_entries_are_added(void **state)
{
    (void)state;
    const double values[] = {0, 4, 0, 0, 0, 0, 5, 0, 0}, mirrored[] = {0, 3, 0, 3, 0, 0, 0, 0, 7};
    for (int by_row = 0; by_row < 2; by_row++)
        for (uint32_t threads = 1; threads < 4; threads += 2) {
            hawser_load load = {.rows_layout = by_row, .threads = threads};
            hawser_dataset *dataset =
                load_text("%%MatrixMarket matrix coordinate real general\n3 3 8\n1 2 1\n3 1 2\n1 2 3\n3 1 1\n3 1 2\n2 3 1\n"
                          "2 3 1e16\n2 3 -1e16\n",
                          load);
            expect_matrix(dataset, 3, 3, values);
            assert_int_equal(hawser_dataset_matrix(dataset)->stored, 3);
            hawser_dataset_free(dataset);
            dataset =
                load_text("%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n2 1 1\n2 1 2\n3 3 3\n3 3 4\n", load);
            expect_matrix(dataset, 3, 3, mirrored);
            assert_int_equal(hawser_dataset_matrix(dataset)->stored, 3);
            hawser_dataset_free(dataset);
        }
}

static void bags_of_words_are_read(void **state)
{
    (void)state;
    const double values[] = {0, 2, 0, 7, 0, 0, 0, 0, 1, 0, 0, 0};
    static const char *const texts[] = {"3\n4\n3\n1 2 2\n1 4 7\n3 1 1\n", " 3 \r\n4\r\n3\r\n1 2 2\r\n3 1 1\r\n1 4 7"};
    for (int i = 0; i < 2; i++) {
        hawser_dataset *dataset = load_text(texts[i], plain);
        expect_matrix(dataset, 3, 4, values);
        assert_int_equal(hawser_dataset_figures(dataset)->format, HAWSER_MATRIX_MARKET);
        hawser_dataset_free(dataset);
    }
    const hawser_load asked = {.format = HAWSER_MATRIX_MARKET};
    refuse_text("3\n4\n3\n1 2 2\n1 4 7\n", asked, "in: the line of sizes declares 3 entries, but the file has 2");
    refuse_text("3\n4\n1\n1 5 2\n", asked,
                "in:4:3: the column number is not in 1 to 4, which the line of sizes gives: \"5\"");
    refuse_text("0\n4\n1\n1 1 2\n", asked,
                "in:1:1: expected the number of documents, 4294967294 at most, alone in its line: \"0\"");
    refuse_text("3\n4\n0\n1 1 2\n", asked, "in: the line of sizes declares 0 entries, but the file has 1");
    refuse_text("3\n4294967295\n1\n1 1 2\n", asked,
                "in:2:1: expected the number of words, 4294967294 at most, alone in its line: \"4294967295\"");
}

static void columns_beyond_the_models_are_counted(void **state)
{
    (void)state;
    for (int by_row = 0; by_row < 2; by_row++) {
        hawser_load load = {.columns = 2, .rows_layout = by_row};
        hawser_dataset *dataset =
            load_text("%%MatrixMarket matrix coordinate real general\n2 9 4\n1 1 1\n1 9 1\n2 2 2\n2 9 2\n", load);
        const double values[] = {1, 0, 0, 2};
        expect_matrix(dataset, 2, 2, values);
        assert_int_equal(hawser_dataset_figures(dataset)->unseen_entries, 2);
        assert_int_equal(hawser_dataset_figures(dataset)->unseen_columns, 1);
        hawser_dataset_free(dataset);
        /* Of a symmetric file the other side has columns too: (1, 3), (1, 4) and (4, 3) beside (3, 3) and (3, 4). */
        dataset =
            load_text("%%MatrixMarket matrix coordinate real symmetric\n4 4 5\n1 1 1\n3 1 2\n4 1 3\n4 3 4\n3 3 5\n", load);
        const double mirrored[] = {1, 0, 0, 0, 2, 0, 3, 0};
        expect_matrix(dataset, 4, 2, mirrored);
        assert_int_equal(hawser_dataset_figures(dataset)->unseen_entries, 5);
        assert_int_equal(hawser_dataset_figures(dataset)->unseen_columns, 2);
        hawser_dataset_free(dataset);
    }
}

#define REAL "%%MatrixMarket matrix coordinate real general\n"

static void wrong_text_is_refused_with_place_and_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n",
         "in:1:34: complex matrices are not supported; write real and imaginary parts as two matrices: \"complex\""},
        {"%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 1\n",
         "in:1:39: complex matrices are not supported; write real and imaginary parts as two matrices: \"hermitian\""},
        {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 1\n1 1\n",
         "in:1:1: a skew-symmetric matrix has values, and no pattern: \"%%MatrixMarket\""},
        {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 5\n",
         "in:3:5: the diagonal of a skew-symmetric matrix is zero, and this is on it: \"5\""},
        {"%%MatrixMarket vector array real general\n1 1\n1\n",
         "in:1:16: a Matrix Market file of this kind is not supported; expected one of: matrix: \"vector\""},
        {REAL "2 2\n1 1 1\n", "in:2:4: expected ROWS COLUMNS ENTRIES: end of line"},
        {REAL "2 2 1 9\n1 1 1\n", "in:2:7: other text follows the sizes: \"9\""},
        {REAL "0 2 1\n1 1 1\n", "in:2:1: the matrix has no rows or no columns: \"0\""},
        {REAL "2 2 1\n3 1 1\n", "in:3:1: the row number is not in 1 to 2, which the line of sizes gives: \"3\""},
        {REAL "2 2 1\n1 0 1\n", "in:3:3: the column number is not in 1 to 2, which the line of sizes gives: \"0\""},
        {REAL "2 2 1\n1 1.5 1\n", "in:3:3: expected a column number: \"1.5\""},
        {REAL "2 2 1\n1 1 nan\n", "in:3:5: the value is NaN; remove the row or write a number: \"nan\""},
        {REAL "2 2 1\n1 1\n", "in:3:4: the value is not a number: end of line"},
        {REAL "2 2 1\n1 1 1 7\n", "in:3:7: other text follows the entry: \"7\""},
        {REAL "2 2 3\n1 1 1\n", "in: the line of sizes declares 3 entries, but the file has 1"},
        {REAL "2 2 1\n1 1 1\n2 2 2\n", "in: the line of sizes declares 1 entries, but the file has 2"},
        {REAL "2 2 2\n2 1 1e308\n2 1 1e308\n",
         "in: the entries in row 2 and column 1 add up to inf, which cannot be stored"},
        {REAL "% only comments\n", "in: ends before the line of sizes"},
        {"%%MatrixMarket matrix array real general\n100000 100000\n1\n",
         "in: the line of sizes declares 10000000000 entries, but the file has 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse_text(cases[i].text, plain, cases[i].message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coordinates_in_any_order_are_read),
        cmocka_unit_test(symmetric_and_pattern_files_are_read),
        cmocka_unit_test(arrays_are_read_by_columns),
        cmocka_unit_test(skew_symmetric_files_are_read),
        cmocka_unit_test(repeated_entries_are_added),
        cmocka_unit_test(bags_of_words_are_read),
        cmocka_unit_test(columns_beyond_the_models_are_counted),
        cmocka_unit_test(wrong_text_is_refused_with_place_and_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
