/* data_batch.c - packed rows have the entries of the rows that were asked for, in their order, and the bound of their bytes
 * holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/type.h"
#include "hawser/batches.h"
#include "hawser/data.h"

enum { MOST = 60, PLACES = 4 };
static const hawser_layout LAYOUTS[] = {HAWSER_CSR, HAWSER_DENSE, HAWSER_DENSE_ROWS};

/* A matrix drawn by seed, with every entry apart in `truth` (rows x cols, by row). */
typedef struct drawn {
    hawser_matrix A;
    double truth[MOST * MOST];
    uint64_t offsets[MOST + 1];
    uint32_t indices[MOST * MOST];
    double doubles[(MOST + PLACES) * (MOST + PLACES)];
    float floats[(MOST + PLACES) * (MOST + PLACES)];
} drawn;

static void store(drawn *d, size_t at, double value)
{
    d->doubles[at] = value;
    d->floats[at] = (float)value;
}

static void draw(drawn *d, hawser_layout layout, hawser_type type, hw_random *random)
{
    size_t rows = hw_random_below(random, MOST), cols = hw_random_below(random, MOST), at = 0;
    size_t stride = (layout == HAWSER_DENSE ? rows : cols) + hw_random_below(random, PLACES);
    d->A = (hawser_matrix){.rows = rows, .cols = cols, .layout = layout, .type = type, .stride = stride};
    for (size_t i = 0; i < rows; i++) {
        d->offsets[i] = at;
        size_t share = 1 + hw_random_below(random, 6); /* one entry of `share` is stored */
        for (size_t j = 0; j < cols; j++) {
            bool stored = layout != HAWSER_CSR || hw_random_below(random, share) == 0;
            double value = stored ? (double)(1 + i * MOST + j) : 0;
            d->truth[i * cols + j] = value;
            if (layout != HAWSER_CSR)
                store(d, layout == HAWSER_DENSE ? j * stride + i : i * stride + j, value);
            else if (stored) {
                d->indices[at] = (uint32_t)j;
                store(d, at++, value);
            }
        }
    }
    d->offsets[rows] = at;
    d->A.stored = layout == HAWSER_CSR ? at : rows * cols;
    d->A.values = type == HAWSER_F32 ? (const void *)d->floats : (const void *)d->doubles;
    if (layout == HAWSER_CSR) {
        d->A.offsets = d->offsets;
        d->A.indices = d->indices;
    }
}

/* Checks every entry of row k of `packed` against a row of the truth. */
static void check_row(const hawser_matrix *packed, size_t k, const double *row)
{
    double found[MOST] = {0};
    if (packed->layout == HAWSER_CSR)
        for (uint64_t e = packed->offsets[k]; e < packed->offsets[k + 1]; e++)
            found[packed->indices[e]] = hw_value_at(packed->values, packed->type, e);
    else
        for (size_t j = 0; j < packed->cols; j++)
            found[j] = hw_value_at(packed->values, packed->type, k * packed->stride + j);
    for (size_t j = 0; j < packed->cols; j++)
        assert_true(found[j] == row[j]);
}

/* Takes an epoch of batches of a view of some rows, in memory of the size that the bound names, at its end for the address
 * sanitizer. */
static void check_epoch(const drawn *d, size_t begin, size_t size, uint64_t seed)
{
    hawser_matrix view = hawser_matrix_rows(&d->A, begin, d->A.rows), packed;
    size_t bytes = hawser_batch_bytes(&view, size), rows[MOST + 1];
    assert_true(bytes > 0);
    void *memory = malloc(bytes);
    assert_non_null(memory);
    hawser_batches b = {.rows = view.rows, .size = size, .seed = seed};
    hawser_batch batch = {0};
    do {
        assert_int_equal(hawser_batches_next(&b, rows, &batch, NULL), HAWSER_OK);
        assert_int_equal(hawser_batch_pack(&view, &batch, memory, bytes, &packed, NULL), HAWSER_OK);
        assert_true(packed.rows == batch.count && packed.cols == d->A.cols &&
                    packed.layout == (d->A.layout == HAWSER_CSR ? HAWSER_CSR : HAWSER_DENSE_ROWS) &&
                    packed.type == d->A.type && packed.residence == NULL);
        uint64_t stored = packed.layout == HAWSER_CSR ? packed.offsets[batch.count] : (uint64_t)batch.count * packed.cols;
        assert_true(packed.stored == stored);
        for (size_t k = 0; k < batch.count; k++)
            check_row(&packed, k, d->truth + (begin + rows[k]) * d->A.cols);
    } while (!batch.last);
    free(memory);
}

static void packed_rows_are_those_of_the_batch(void **state)
{
    (void)state;
    static drawn d;
    hw_random random = hw_random_at(3, 0, 0, 0);
    for (int trial = 0; trial < 400; trial++) {
        draw(&d, LAYOUTS[trial % 3], trial % 2 ? HAWSER_F64 : HAWSER_F32, &random);
        size_t begin = hw_random_below(&random, d.A.rows + 1);
        check_epoch(&d, begin, 1 + hw_random_below(&random, MOST), (uint64_t)trial);
    }
}

static void kernels_take_packed_rows(void **state)
{
    (void)state;
    static drawn d;
    hw_random random = hw_random_at(4, 0, 0, 0);
    for (int trial = 0; trial < 100; trial++) {
        draw(&d, LAYOUTS[trial % 3], trial % 2 ? HAWSER_F64 : HAWSER_F32, &random);
        if (d.A.rows == 0)
            continue;
        double w[MOST], all[MOST], some[3];
        for (size_t j = 0; j < d.A.cols; j++)
            w[j] = (double)hw_random_below(&random, 100);      /* products and sums are exact */
        const size_t rows[] = {d.A.rows - 1, 0, d.A.rows - 1}; /* a row may repeat */
        const hawser_batch batch = {.rows = rows, .count = 3};
        static double memory[8 * MOST];
        hawser_matrix packed;
        assert_int_equal(hawser_batch_pack(&d.A, &batch, memory, sizeof memory, &packed, NULL), HAWSER_OK);
        hawser_multiply(&d.A, w, 0, all);
        hawser_multiply(&packed, w, 0, some);
        for (size_t k = 0; k < 3; k++)
            assert_true(some[k] == all[rows[k]]);
    }
}

static void refuse(const hawser_matrix *A, const size_t *rows, size_t count, size_t bytes, const char *says)
{
    static double memory[64];
    hawser_matrix out = {.rows = 77};
    hawser_error error = {HAWSER_OK, ""};
    const hawser_batch batch = {.rows = rows, .count = count};
    assert_int_equal(hawser_batch_pack(A, &batch, memory, bytes, &out, &error), HAWSER_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, says));
    assert_int_equal(out.rows, 77);
}

static void wrong_batch_is_refused(void **state)
{
    (void)state;
    const double values[] = {1, 2, 3, 4, 5, 6};
    const uint64_t offsets[] = {0, 1, 6};
    const uint32_t indices[] = {0, 0, 1, 2, 3, 4};
    const hawser_matrix dense = {.rows = 3, .cols = 2, .stored = 6, .values = values, .stride = 3};
    const hawser_matrix csr = {
        .rows = 2, .cols = 5, .stored = 6, .layout = HAWSER_CSR, .offsets = offsets, .indices = indices, .values = values};
    hawser_matrix csc = csr;
    csc.layout = HAWSER_CSC;
    csc.rows = 5;
    csc.cols = 2;
    const size_t good[] = {1, 0}, bad[] = {0, 3}, twice[] = {1, 1};
    refuse(&dense, bad, 2, 512, "row 3 is asked for, and the matrix has 3 rows");
    refuse(&dense, NULL, 2, 512, "no list of rows");
    refuse(&dense, good, 2, 31, "2 rows take 32 bytes, and the memory has 31");
    refuse(&csr, good, 2, 95, "2 rows take 96 bytes, and the memory has 95");
    refuse(&csr, twice, 2, 96, "2 rows take 144 bytes, and the memory has 96");
    refuse(&csc, good, 2, 512, "CSC");
    assert_int_equal(hawser_batch_bytes(&dense, 2), 32);
    assert_int_equal(hawser_batch_bytes(&dense, 99), 48);
    assert_int_equal(hawser_batch_bytes(&csr, 1), 16 + 5 * 12);
    assert_int_equal(hawser_batch_bytes(&csr, 2), 96);
    assert_int_equal(hawser_batch_bytes(&csr, 0), 8);
    assert_int_equal(hawser_batch_bytes(&csc, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_rows_are_those_of_the_batch),
        cmocka_unit_test(kernels_take_packed_rows),
        cmocka_unit_test(wrong_batch_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
