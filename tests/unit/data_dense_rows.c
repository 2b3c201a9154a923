/* Dense input by rows (rows_layout 1) is compared with the same input by columns: every reader, the cache file, pieces and
 * writers. */
#include "data_common.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "data/cache/cache.h"
#include "data/layout/flip.h"
#include "directory.h"

static hawser_dataset *load_file(const char *path, hawser_load load)
{
    hawser_dataset *dataset;
    hawser_error error = {0};
    load.threads = 3;
    if (hawser_dataset_load(&path, 1, &load, &dataset, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    return dataset;
}

static void same_doubles(const double *a, const double *b, size_t count)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a != NULL)
        assert_memory_equal(a, b, count * sizeof *a);
}

static void same_data(const hawser_dataset *columns, const hawser_dataset *rows)
{
    const hawser_matrix *A = &columns->matrix, *B = &rows->matrix;
    assert_int_equal(A->layout, HAWSER_DENSE);
    assert_int_equal(B->layout, HAWSER_DENSE_ROWS);
    assert_true(A->rows == B->rows && A->cols == B->cols && A->stored == B->stored && A->type == B->type);
    assert_true(B->stride >= B->cols);
    for (size_t i = 0; i < A->rows; i++)
        for (size_t j = 0; j < A->cols; j++) {
            double a = entry_at(columns, i, j), b = entry_at(rows, i, j);
            assert_memory_equal(&a, &b, sizeof a);
        }
    same_doubles(columns->target, rows->target, A->rows);
    same_doubles(columns->weights, rows->weights, A->rows);
    same_doubles(columns->means, rows->means, A->cols);
    assert_int_equal(columns->further_count, rows->further_count);
    for (size_t k = 0; k < rows->further_count; k++)
        same_doubles(columns->further[k], rows->further[k], A->rows);
    assert_int_equal(columns->figures.rows_dropped, rows->figures.rows_dropped);
    assert_int_equal(columns->figures.unseen_columns, rows->figures.unseen_columns);
    assert_int_equal(columns->figures.unseen_entries, rows->figures.unseen_entries);
}

static void both_ways(const char *path, hawser_load load)
{
    for (int type = HAWSER_F64; type <= HAWSER_F32; type++) {
        load.type = (hawser_type)type;
        load.rows_layout = 0;
        hawser_dataset *columns = load_file(path, load);
        load.rows_layout = 1;
        hawser_dataset *rows = load_file(path, load);
        same_data(columns, rows);
        hawser_dataset_free(columns);
        hawser_dataset_free(rows);
    }
}

static hawser_dataset *generated(size_t rows, size_t cols)
{
    hawser_dataset *dataset;
    hawser_error error;
    const hawser_generate what = {.kind = "dense", .rows = rows, .cols = cols, .seed = 3};
    assert_int_equal(hawser_dataset_generate(&what, &dataset, NULL, &error), HAWSER_OK);
    return dataset;
}

static void every_reader_reads_dense_rows(void **state)
{
    (void)state;
    hawser_error error;
    static const hawser_format formats[] = {HAWSER_CSV, HAWSER_NPY, HAWSER_MATRIX_MARKET};
    static const char *const paths[] = {"d.csv", "d.npy", "d.mtx"};
    hawser_dataset *data = generated(150, 37);
    for (int f = 0; f < 3; f++) {
        assert_int_equal(hawser_dataset_write(data, 0, 150, formats[f], paths[f], &error), HAWSER_OK);
        both_ways(paths[f], (hawser_load){.target = f == 2 ? "d.mtx.target" : NULL});
        both_ways(paths[f], (hawser_load){.target = "none"});
        both_ways(paths[f], (hawser_load){.columns = f == 2 ? 30 : 37, .target_optional = true});
    }
    hawser_dataset_free(data);
}

static void text_is_read_alike(const char *text, hawser_load load, size_t rows, size_t cols, const double *values)
{
    hawser_dataset *both[2];
    for (int by_row = 0; by_row < 2; by_row++) {
        load.rows_layout = by_row;
        both[by_row] = load_text(text, load);
        expect_matrix(both[by_row], rows, cols, values);
    }
    same_data(both[0], both[1]);
    hawser_dataset_free(both[0]);
    hawser_dataset_free(both[1]);
}

/* Empty lines leave gaps between the runs of threads, dropped rows too, and missing numbers become means. */
static void gaps_and_missing_numbers(void **state)
{
    (void)state;
    static const char table[] = "y,a,b\n1,2,3\n\n\n2,NA,6\n3,8,9\n\n4,5,NA\n";
    text_is_read_alike(table, (hawser_load){.missing = "mean"}, 4, 2, (const double[]){2, 3, 5, 6, 8, 9, 5, 6});
    text_is_read_alike(table, (hawser_load){.missing = "drop"}, 2, 2, (const double[]){2, 3, 8, 9});
    text_is_read_alike(table, (hawser_load){.missing = "zero"}, 4, 2, (const double[]){2, 3, 0, 6, 8, 9, 5, 0});
    text_is_read_alike(table, (hawser_load){.missing = "mean", .type = HAWSER_F32}, 4, 2,
                       (const double[]){2, 3, 5, 6, 8, 9, 5, 6});
}

static void arrays_of_matrix_market(void **state)
{
    (void)state;
    text_is_read_alike("%%MatrixMarket matrix array real general\n2 3\n1\n4\n2\n5\n3\n6\n", (hawser_load){0}, 2, 3,
                       (const double[]){1, 2, 3, 4, 5, 6});
    text_is_read_alike("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", (hawser_load){0}, 3, 3,
                       (const double[]){1, 2, 3, 2, 4, 5, 3, 5, 6});
    text_is_read_alike("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
                       (hawser_load){.columns = 2, .target_optional = true}, 3, 2, (const double[]){1, 2, 2, 4, 3, 5});
}

static void a_cache_keeps_or_turns_the_layout(void **state)
{
    (void)state;
    hawser_error error;
    hawser_dataset *data = generated(70, 45), *made;
    hw_flipped turned;
    assert_int_equal(hw_flip_dense(&data->matrix, &turned, &error), HAWSER_OK);
    turned.matrix.first = 0;
    assert_int_equal(hawser_dataset_from(&turned.matrix, data->target, &made, &error), HAWSER_OK);
    same_data(data, made);
    assert_int_equal(hawser_dataset_save(data, "columns.hwc", &error), HAWSER_OK);
    assert_int_equal(hawser_dataset_save(made, "rows.hwc", &error), HAWSER_OK);
    for (int f = 0; f < 2; f++)
        for (size_t most = 0; most <= 45; most += 15) {
            hawser_load load = {.columns = most, .format = HAWSER_CACHE};
            hawser_dataset *columns = load_file(f ? "rows.hwc" : "columns.hwc", load);
            load.rows_layout = 1;
            hawser_dataset *rows = load_file(f ? "rows.hwc" : "columns.hwc", load);
            same_data(columns, rows);
            assert_int_equal(rows->matrix.cols, most == 0 ? 45 : most);
            hawser_dataset_free(columns);
            hawser_dataset_free(rows);
        }
    const char *path = "rows.hwc";
    hawser_dataset_free(made);
    assert_int_equal(
        hawser_dataset_load(&path, 1, &(hawser_load){.format = HAWSER_CACHE, .memory_limit = 1000}, &made, &error),
        HAWSER_NO_MEMORY);
    hw_flip_free(&turned);
    hawser_dataset_free(data);
}

static void files_are_equal(const char *one, const char *two)
{
    char command[100];
    assert_true(snprintf(command, sizeof command, "cmp -s %s %s", one, two) < 100);
    assert_int_equal(system(command), 0);
}

/* Text has the same bytes; npy has rows in their order, and reads back as the same numbers. */
static void writers_write_the_same(void **state)
{
    (void)state;
    hawser_error error;
    hawser_dataset *data = generated(60, 11), *rows;
    assert_int_equal(hawser_dataset_write(data, 0, 60, HAWSER_CSV, "d.csv", &error), HAWSER_OK);
    hawser_dataset *columns = load_file("d.csv", (hawser_load){0});
    rows = load_file("d.csv", (hawser_load){.rows_layout = 1});
    static const hawser_format formats[] = {HAWSER_CSV, HAWSER_SVMLIGHT, HAWSER_MATRIX_MARKET};
    for (int f = 0; f < 3; f++) {
        assert_int_equal(hawser_dataset_write(columns, 7, 55, formats[f], "a", &error), HAWSER_OK);
        assert_int_equal(hawser_dataset_write(rows, 7, 55, formats[f], "b", &error), HAWSER_OK);
        files_are_equal("a", "b");
    }
    hawser_dataset *back[2];
    assert_int_equal(hawser_dataset_write(columns, 7, 55, HAWSER_NPY, "a.npy", &error), HAWSER_OK);
    assert_int_equal(hawser_dataset_write(rows, 7, 55, HAWSER_NPY, "b.npy", &error), HAWSER_OK);
    back[0] = load_file("a.npy", (hawser_load){0});
    back[1] = load_file("b.npy", (hawser_load){.rows_layout = 1});
    same_data(back[0], back[1]);
    hawser_dataset_free(back[0]);
    hawser_dataset_free(back[1]);
    assert_int_equal(hawser_dataset_write(columns, 7, 55, HAWSER_CACHE, "a.hwc", &error), HAWSER_OK);
    assert_int_equal(hawser_dataset_write(rows, 7, 55, HAWSER_CACHE, "b.hwc", &error), HAWSER_OK);
    back[0] = load_file("a.hwc", (hawser_load){0});
    back[1] = load_file("b.hwc", (hawser_load){.rows_layout = 1});
    same_data(back[0], back[1]);
    hawser_dataset_free(back[0]);
    hawser_dataset_free(back[1]);
    hawser_dataset_free(columns);
    hawser_dataset_free(rows);
    hawser_dataset_free(data);
}

/* Predictions of pieces have the bits of those of the whole, whatever the layout of either. */
static void products_of_pieces(const char *path, const hawser_matrix *whole, const double *w)
{
    hawser_error error = {0};
    hawser_rows *rows;
    hawser_piece piece;
    bool more = true;
    double *expected = calloc(whole->rows, sizeof *expected), *got = calloc(whole->rows, sizeof *got);
    size_t done = 0;
    assert_true(expected != NULL && got != NULL);
    hawser_multiply(whole, w, 0.5, expected);
    const hawser_load load = {.columns = whole->cols, .target_optional = true, .threads = 1};
    assert_int_equal(hawser_rows_open(&path, 1, &load, &rows, &error), HAWSER_OK);
    while (more) {
        assert_int_equal(hawser_rows_next(rows, &piece, &more, &error), HAWSER_OK);
        if (piece.data == NULL)
            continue;
        const hawser_matrix *A = hawser_dataset_matrix(piece.data);
        assert_true(done + A->rows <= whole->rows);
        hawser_multiply(A, w, 0.5, got + done);
        done += A->rows;
        hawser_dataset_free(piece.data);
    }
    assert_int_equal(done, whole->rows);
    assert_memory_equal(got, expected, done * sizeof *got);
    hawser_rows_close(rows);
    free(expected);
    free(got);
}

static void pieces_predict_the_same_bits(void **state)
{
    (void)state;
    hawser_error error;
    enum { ROWS = 9000, COLS = 140 };
    hawser_dataset *data = generated(ROWS, COLS), *made;
    hw_flipped turned;
    double w[COLS];
    for (int j = 0; j < COLS; j++)
        w[j] = j % 5 == 2 ? 0 : sin(j);
    assert_int_equal(hw_flip_dense(&data->matrix, &turned, &error), HAWSER_OK);
    assert_int_equal(hawser_dataset_from(&turned.matrix, data->target, &made, &error), HAWSER_OK);
    assert_int_equal(hawser_dataset_save(data, "columns.hwc", &error), HAWSER_OK);
    assert_int_equal(hawser_dataset_save(made, "rows.hwc", &error), HAWSER_OK);
    assert_int_equal(hawser_dataset_write(data, 0, ROWS, HAWSER_NPY, "columns.npy", &error), HAWSER_OK);
    assert_int_equal(hawser_dataset_write(made, 0, ROWS, HAWSER_NPY, "rows.npy", &error), HAWSER_OK);
    assert_int_equal(hawser_dataset_write(data, 0, ROWS, HAWSER_CSV, "d.csv", &error), HAWSER_OK);
    static const char *const paths[] = {"columns.hwc", "rows.hwc", "columns.npy", "rows.npy", "d.csv"};
    for (size_t f = 0; f < sizeof paths / sizeof *paths; f++)
        products_of_pieces(paths[f], &data->matrix, w);
    hw_flip_free(&turned);
    hawser_dataset_free(made);
    hawser_dataset_free(data);
}

static void broken_dense_rows_are_refused(void **state)
{
    (void)state;
    hawser_error error;
    hawser_dataset *dataset;
    const double six[] = {1, 2, 3, 4, 5, NAN};
    hawser_matrix A = {.rows = 3, .cols = 2, .layout = HAWSER_DENSE_ROWS, .values = six, .stride = 1};
    assert_int_equal(hawser_dataset_from(&A, NULL, &dataset, &error), HAWSER_BAD_ARGUMENT);
    assert_string_equal(error.text, "the matrix has a stride that is below its columns");
    A.stride = 2;
    assert_int_equal(hawser_dataset_from(&A, NULL, &dataset, &error), HAWSER_BAD_ARGUMENT);
    A.rows = 2;
    assert_int_equal(hawser_dataset_from(&A, NULL, &dataset, &error), HAWSER_OK);
    hawser_dataset_free(dataset);
    A.values = NULL;
    assert_int_equal(hawser_dataset_from(&A, NULL, &dataset, &error), HAWSER_BAD_ARGUMENT);
}

int main(void)
{
#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(every_reader_reads_dense_rows),
        cmocka_unit_test(gaps_and_missing_numbers),
        cmocka_unit_test(arrays_of_matrix_market),
        IN_DIRECTORY(a_cache_keeps_or_turns_the_layout),
        IN_DIRECTORY(writers_write_the_same),
        IN_DIRECTORY(pieces_predict_the_same_bits),
        cmocka_unit_test(broken_dense_rows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
