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

/* A block of the table, and what it keeps of a matrix. */
typedef struct fixture {
    table t;
    double hessian[WIDTH * (WIDTH + 1) / 2], most[WIDTH], square[WIDTH * WIDTH], gathered[2 * HW_SVM_GATHERED * WIDTH];
    double reduced[2 * WIDTH], costs[ROWS];
    uint8_t in[ROWS];
    uint32_t fold[ROWS];
    double weights[ROWS];
    hw_svm svm;
    hw_svm_memory memory;
    hw_svm_block block;
} fixture;

static void begin(fixture *f, hawser_layout layout, hawser_type type)
{
    hawser_error error = {0};
    *f = (fixture){.svm = {.path.outputs = 1}, .memory = {.width = 0.5}};
    f->block =
        (hw_svm_block){.svm = &f->svm, .X = make(&f->t, layout, type), .width = WIDTH, .C = 3.0, .memory = &f->memory};
    assert_int_equal(hw_row_tiles_new(&f->block.tiles, &f->block.X, &f->svm.path.centre, &error), HAWSER_OK);
    f->block.primal = (hw_svm_primal){.hessian = f->hessian,
                                      .share = f->hessian,
                                      .most = f->most,
                                      .square = f->square,
                                      .gathered = f->gathered,
                                      .reduced = f->reduced,
                                      .costs = f->costs,
                                      .in = f->in,
                                      .bends = f->t.bends,
                                      .direction = f->t.direction};
}

/* Gives every row a cost, and those with (i + turn) % 4 != 0 a bend: the cost by the width. */
static void bend(fixture *f, size_t turn)
{
    for (size_t i = 0; i < ROWS; i++) {
        f->costs[i] = (i % 2 == 0 ? -0.25 : 0.25) * (double)(1 + i % 3);
        f->t.bends[i] = (i + turn) % 4 == 0 ? 0.0 : fabs(f->costs[i]) / f->memory.width;
    }
}

static void check_product(fixture *f)
{
    hw_svm_hessian_update(&f->block, 0);
    hw_svm_hessian_product(&f->block, 0, 1, 2);
    for (size_t j = 0; j < WIDTH; j++)
        assert_true(fabs(f->reduced[2 * j + 1] - expected(&f->t, j)) <= 1e-12 * (1.0 + fabs(expected(&f->t, j))));
}

/* The bends move from rows to rows, the width and C change, and the rows are weighted anew. */
static void check(hawser_layout layout, hawser_type type)
{
    static fixture f;
    begin(&f, layout, type);
    for (size_t turn = 0; turn < 6; turn++) {
        f.memory.width *= turn == 2 ? 0.25 : 1.0;
        bend(&f, turn);
        check_product(&f);
    }
    for (size_t i = 0; i < ROWS; i++) {
        f.costs[i] *= 2.0;
        f.t.bends[i] *= 2.0;
    }
    f.block.C *= 2.0;
    check_product(&f);
    f.costs[1] *= 3.0;
    f.t.bends[1] *= 3.0;
    hw_svm_hessian_forget(&f.block);
    check_product(&f);
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

/* Rows of a fold leave the matrix, and those of the fold before come back, each with its weight. */
static void matrix_follows_the_folds(void **state)
{
    (void)state;
    static fixture f;
    begin(&f, HAWSER_CSR, HAWSER_F64);
    bend(&f, 0);
    hw_svm_hessian_update(&f.block, 0);
    f.svm.path.fold = f.fold;
    f.block.beside.weights = f.weights;
    f.block.primal.by_matrix = true;
    for (size_t i = 0; i < ROWS; i++) {
        f.fold[i] = 1 + i % 3;
        f.weights[i] = fabs(f.costs[i]) / f.block.C;
    }
    for (f.block.own.turn.fold = 1; f.block.own.turn.fold <= 3; f.block.own.turn.fold++) {
        hw_svm_hessian_leave_out(&f.block);
        bend(&f, f.block.own.turn.fold);
        for (size_t i = 0; i < ROWS; i++)
            if (f.fold[i] == f.block.own.turn.fold) {
                assert_false(f.in[i]);
                f.costs[i] = f.t.bends[i] = 0.0;
            }
        check_product(&f);
    }
}

/* A row whose square hides all digits of the others leaves the matrix: it is made anew, with all digits. */
static void matrix_keeps_digits_when_large_row_leaves(void **state)
{
    (void)state;
    static fixture f;
    static const hawser_layout layouts[] = {HAWSER_CSR, HAWSER_DENSE_ROWS};
    for (size_t k = 0; k < 2; k++) {
        begin(&f, layouts[k], HAWSER_F64);
        bend(&f, 0);
        for (size_t j = 0, at = k == 0 ? f.t.offsets[2] : 2 * COLS; j < COLS; j++)
            if (f.t.plain[2][j] != 0.0 || k == 1)
                f.t.values[at++] = f.t.plain[2][j] *= 1e10;
        hw_svm_hessian_update(&f.block, 0);
        f.t.bends[2] = 0.0;
        check_product(&f);
    }
}

/* The matrix is made where the last step had many products for the length of a row, if there is memory for it. */
static void matrix_pays_after_many_products(void **state)
{
    (void)state;
    hawser_matrix X = {.rows = 100, .cols = 20, .stored = 1600, .layout = HAWSER_CSR};
    double hessian[1];
    hw_svm svm = {.path.X = &X, .path.outputs = 1};
    hw_svm_memory memory = {.products = 4};
    hw_svm_block block = {.svm = &svm, .memory = &memory, .primal = {.hessian = hessian}};
    assert_false(hw_svm_hessian_pays(&block));
    memory.products = 5;
    assert_true(hw_svm_hessian_pays(&block));
    X.layout = HAWSER_DENSE_ROWS; /* sums of dense rows take less time */
    memory.products = 1;
    assert_false(hw_svm_hessian_pays(&block));
    memory.products = 2;
    assert_true(hw_svm_hessian_pays(&block));
    svm.path.blocks = 2; /* which would send the matrix */
    assert_false(hw_svm_hessian_pays(&block));
    svm.path.blocks = 1;
    memory.products = 1;
    block.primal.by_matrix = true; /* it only changes then */
    assert_true(hw_svm_hessian_pays(&block));
    block.primal.hessian = NULL;
    assert_false(hw_svm_hessian_pays(&block));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(product_is_that_of_the_rows), cmocka_unit_test(matrix_follows_the_folds),
        cmocka_unit_test(matrix_keeps_digits_when_large_row_leaves), cmocka_unit_test(matrix_pays_after_many_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
