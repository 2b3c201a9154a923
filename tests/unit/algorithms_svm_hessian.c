/* The matrix of second derivatives of a support vector machine against plain sums over rows, in each layout and type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "algorithms/svm/hessian.h"

enum { ROWS = 23, COLS = 7, WIDTH = COLS + 1 };

/* Rows in which every third number is missing, in all layouts. */
typedef struct table {
    double plain[ROWS][COLS], bends[ROWS], direction[WIDTH];
    uint64_t offsets[ROWS + 1];
    uint32_t indices[ROWS * COLS];
    double values[ROWS * COLS];
    float floats[ROWS * COLS];
} table;

static hawser_matrix make(table *t, hawser_layout layout, hawser_type type)
{
    size_t stored = 0;
    for (size_t i = 0; i < ROWS; i++) {
        t->offsets[i] = stored;
        t->bends[i] = i % 4 == 0 ? 0.0 : 0.25 * (double)(1 + i % 3);
        for (size_t j = 0; j < COLS; j++) {
            double x = t->plain[i][j] = (i + 2 * j) % 3 == 0 ? 0.0 : (double)((i * 5 + j * 11) % 13) - 5.5;
            size_t at = layout == HAWSER_DENSE_ROWS ? i * COLS + j : layout == HAWSER_DENSE ? j * ROWS + i : stored;
            if (layout == HAWSER_CSR && x == 0.0)
                continue;
            t->indices[stored++] = (uint32_t)j;
            t->values[at] = x;
            t->floats[at] = (float)x;
        }
    }
    t->offsets[ROWS] = stored;
    for (size_t j = 0; j < WIDTH; j++)
        t->direction[j] = 1.5 - (double)j;
    return (hawser_matrix){.rows = ROWS,
                           .cols = COLS,
                           .stored = stored,
                           .layout = layout,
                           .type = type,
                           .offsets = layout == HAWSER_CSR ? t->offsets : NULL,
                           .indices = layout == HAWSER_CSR ? t->indices : NULL,
                           .values = type == HAWSER_F32 ? (const void *)t->floats : t->values,
                           .stride = layout == HAWSER_DENSE ? ROWS : COLS};
}

/* Returns the product at column j: sum_i bend_i x_ij (x_i direction + the intercept's). */
static double expected(const table *t, size_t j)
{
    double sum = 0.0;
    for (size_t i = 0; i < ROWS; i++) {
        double product = t->direction[COLS];
        for (size_t c = 0; c < COLS; c++)
            product += t->plain[i][c] * t->direction[c];
        sum += t->bends[i] * product * (j < COLS ? t->plain[i][j] : 1.0);
    }
    return sum;
}

static void check(hawser_layout layout, hawser_type type)
{
    static table t;
    double hessian[WIDTH * (WIDTH + 1) / 2], packed[WIDTH], reduced[WIDTH];
    hw_svm svm = {.path.outputs = 1};
    hw_svm_block block = {.svm = &svm, .X = make(&t, layout, type), .width = WIDTH};
    hawser_error error = {0};
    assert_int_equal(hw_row_tiles_new(&block.tiles, &block.X, &svm.path.centre, &error), HAWSER_OK);
    block.primal = (hw_svm_primal){
        .hessian = hessian, .packed = packed, .reduced = reduced, .bends = t.bends, .direction = t.direction};
    hw_svm_hessian_make(&block);
    hw_svm_hessian_product(&block);
    for (size_t j = 0; j < WIDTH; j++)
        assert_true(fabs(reduced[j] - expected(&t, j)) <= 1e-12 * (1.0 + fabs(expected(&t, j))));
}

static void product_is_that_of_the_rows(void **state)
{
    (void)state;
    static const hawser_layout layouts[] = {HAWSER_CSR, HAWSER_DENSE_ROWS, HAWSER_DENSE};
    for (size_t k = 0; k < 3; k++) {
        check(layouts[k], HAWSER_F64);
        check(layouts[k], HAWSER_F32);
    }
}

/* The matrix is made where the last step had many products for the length of a row, if there is memory for it. */
static void matrix_pays_after_many_products(void **state)
{
    (void)state;
    hawser_matrix X = {.rows = 100, .cols = 20, .stored = 1600};
    double hessian[1];
    hw_svm svm = {.path.X = &X, .path.outputs = 1};
    hw_svm_memory memory = {.products = 4};
    hw_svm_block block = {.svm = &svm, .memory = &memory, .primal = {.hessian = hessian}};
    assert_false(hw_svm_hessian_pays(&block));
    memory.products = 5;
    assert_true(hw_svm_hessian_pays(&block));
    block.primal.hessian = NULL;
    assert_false(hw_svm_hessian_pays(&block));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(product_is_that_of_the_rows),
                                       cmocka_unit_test(matrix_pays_after_many_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
