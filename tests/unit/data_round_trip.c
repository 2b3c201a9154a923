/* What the writers write, the readers read: every format, dense and sparse, bit for bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "directory.h"
#include "hawser/data.h"

/* Row `i` of a matrix of any layout, spread out. */
static void spread(const hawser_matrix *A, size_t i, double *row)
{
    const double *values = A->values;
    memset(row, 0, A->cols * sizeof *row);
    for (size_t j = 0; j < A->cols; j++) {
        if (A->layout == HAWSER_DENSE)
            row[j] = values[j * A->stride + i];
        else
            for (uint64_t e = A->offsets[j]; e < A->offsets[j + 1]; e++)
                if (A->indices[e] == i)
                    row[j] = values[e];
    }
}

static void there_and_back(const char *kind, hawser_format format, const hawser_load *load)
{
    enum { ROWS = 60, COLUMNS = 25, BEGIN = 7 };
    hawser_error error = {0};
    hawser_dataset *made, *read = NULL;
    const hawser_generate what = {.kind = kind, .rows = ROWS, .cols = COLUMNS, .seed = 3};
    assert_int_equal(hawser_dataset_generate(&what, &made, NULL, &error), HAWSER_OK);
    const char *path = "file";
    if (hawser_dataset_write(made, BEGIN, ROWS, format, path, &error) != HAWSER_OK ||
        hawser_dataset_load(&path, 1, load, &read, &error) != HAWSER_OK)
        fail_msg("%s: %s", kind, error.text);
    const hawser_matrix *A = hawser_dataset_matrix(made), *B = hawser_dataset_matrix(read);
    assert_int_equal(B->rows, ROWS - BEGIN);
    assert_int_equal(B->cols, COLUMNS);
    assert_true(B->layout != HAWSER_CSR);
    assert_memory_equal(hawser_dataset_target(read), hawser_dataset_target(made) + BEGIN, B->rows * sizeof(double));
    for (size_t i = 0; i < B->rows; i++) {
        double wrote[COLUMNS], got[COLUMNS];
        spread(A, i + BEGIN, wrote);
        spread(B, i, got);
        assert_memory_equal(got, wrote, sizeof got);
    }
    hawser_dataset_free(read);
    hawser_dataset_free(made);
}

static void every_format(void **state)
{
    (void)state;
    const hawser_load plain = {0}, beside = {.target = "file.target"};
    const char *kinds[] = {"dense", "url"};
    for (int k = 0; k < 2; k++) {
        there_and_back(kinds[k], HAWSER_SVMLIGHT, &plain);
        there_and_back(kinds[k], HAWSER_CSV, &plain);
        there_and_back(kinds[k], HAWSER_NPY, &plain);
        there_and_back(kinds[k], HAWSER_MATRIX_MARKET, &beside);
        there_and_back(kinds[k], HAWSER_CACHE, &plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(every_format, make_directory, remove_directory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
