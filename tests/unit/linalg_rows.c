/* The kernels over rows are compared with long double loops, in every layout and type; both dense layouts, and variants,
 * with each other bit by bit. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/type.h"
#include "hawser/row_kernels.h"
#include "linalg/kernels.h"

/* One matrix in three layouts, and as plain numbers by rows. */
typedef struct problem {
    size_t rows, cols;
    hawser_matrix by_row, by_column, sparse;
    void *arrays[5];
    double *plain;
} problem;

static void *numbers(size_t count, hawser_type type, uint64_t seed)
{
    void *made;
    assert_int_equal(hw_new_array(&made, count + 1, hw_type_size(type), "numbers", NULL), HAWSER_OK);
    hw_random random = hw_random_at(seed, 1, 0, 0);
    for (size_t i = 0; i < count; i++) {
        double value = hw_random_normal(&random);
        if (type == HAWSER_F32)
            ((float *)made)[i] = (float)value;
        else
            ((double *)made)[i] = value;
    }
    return made;
}

static void put(void *values, hawser_type type, size_t at, double value)
{
    if (type == HAWSER_F32)
        ((float *)values)[at] = (float)value;
    else
        ((double *)values)[at] = value;
}

/* About half of the entries are zero and not stored; values begin one number after the start of their arrays, so they are
 * not aligned. */
static problem make(size_t rows, size_t cols, hawser_type type, uint64_t seed)
{
    problem p = {.rows = rows, .cols = cols};
    size_t wide = cols + seed % 3, high = rows + seed % 4, size = hw_type_size(type), stored = 0;
    p.plain = numbers(rows * cols, HAWSER_F64, seed);
    for (int k = 0; k < 3; k++)
        p.arrays[k] = numbers(rows * wide + cols * high + 2, type, seed + 9);
    uint64_t *offsets = p.arrays[3] = calloc(rows + 1, sizeof *offsets);
    uint32_t *indices = p.arrays[4] = calloc(rows * cols + 1, sizeof *indices);
    assert_true(offsets != NULL && indices != NULL);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++) {
            double *value = &p.plain[i * cols + j];
            bool ends = j == 0 || j + 1 == cols;
            *value = *value > 0 || (ends && i % 2) ? *value : 0;
            if (type == HAWSER_F32)
                *value = (float)*value;
            put(p.arrays[0], type, 1 + i * wide + j, *value);
            put(p.arrays[1], type, 1 + j * high + i, *value);
            if (*value != 0) {
                indices[stored] = (uint32_t)j;
                put(p.arrays[2], type, 1 + stored++, *value);
            }
        }
        offsets[i + 1] = stored;
    }
    p.by_row = (hawser_matrix){.rows = rows,
                               .cols = cols,
                               .stored = rows * cols,
                               .layout = HAWSER_DENSE_ROWS,
                               .type = type,
                               .values = (char *)p.arrays[0] + size,
                               .stride = wide};
    p.by_column = p.by_row;
    p.by_column.layout = HAWSER_DENSE;
    p.by_column.values = (char *)p.arrays[1] + size;
    p.by_column.stride = high;
    p.sparse = p.by_row;
    p.sparse.layout = HAWSER_CSR;
    p.sparse.stored = stored;
    p.sparse.values = (char *)p.arrays[2] + size;
    p.sparse.offsets = offsets;
    p.sparse.indices = indices;
    return p;
}

static void release(problem *p)
{
    for (int k = 0; k < 5; k++)
        free(p->arrays[k]);
    free(p->plain);
}

/* Compares a sum of `count` terms up to its rounding. */
static void close_to(double got, long double expected, long double sizes, size_t count, double epsilon)
{
    if (!(fabsl((long double)got - expected) <= epsilon * (long double)(count + 4) * sizes + 1e-300L))
        fail_msg("%.17g instead of %.17Lg", got, expected);
}

static const size_t SHAPES[][2] = {{0, 5},  {5, 0},  {1, 1},   {3, 1},   {1, 40},  {4, 16},
                                   {5, 17}, {8, 33}, {13, 70}, {197, 9}, {6, 300}, {300, 130}};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };
static const size_t WIDTHS[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 15, 16, 17, 25, 31, 32, 33, 50, 67};
enum { WIDTH_COUNT = sizeof WIDTHS / sizeof *WIDTHS };

#define T          double
#define F(name)    name
#define ARITHMETIC HAWSER_F64
#define EPSILON    DBL_EPSILON
#define TEST(name) name##_in_double
#include "linalg_rows_typed.h"
#undef T
#undef F
#undef ARITHMETIC
#undef EPSILON
#undef TEST
#define T          float
#define F(name)    name##_f32
#define ARITHMETIC HAWSER_F32
#define EPSILON    (double)FLT_EPSILON
#define TEST(name) name##_in_float
#include "linalg_rows_typed.h"

/* Near a far centre the product's digits cancel, and the sum of squared differences keeps them. */
static void exact_distances_do_not_cancel(void **state)
{
    (void)state;
    const double values[] = {1e8, 1e8, 1e8 + 1, 1e8}, centre[] = {1e8, 1e8 + 1};
    const hawser_matrix A = {.rows = 2, .cols = 2, .stored = 4, .layout = HAWSER_DENSE_ROWS, .values = values, .stride = 2};
    assert_true(hawser_row_distance(&A, 0, centre) == 1 && hawser_row_distance(&A, 1, centre) == 2);
    double squares[2], of_centre = 1e16 + (1e8 + 1) * (1e8 + 1), out[2];
    hawser_row_squares(&A, squares);
    hawser_distances(&A, squares, centre, 1, &of_centre, 1, out, 1);
    for (int i = 0; i < 2; i++)
        assert_true(out[i] >= 0 && fabs(out[i] - (i + 1)) <= 4 * DBL_EPSILON * (squares[i] + of_centre));
}

/* The product form of a row's distance to itself rounds to either side of 0. */
static void distances_are_not_negative(void **state)
{
    (void)state;
    enum { COLS = 21 };
    int below = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        double *x = numbers(COLS, HAWSER_F64, seed), own, sum = 0, far, near;
        const hawser_matrix A = {
            .rows = 1, .cols = COLS, .stored = COLS, .layout = HAWSER_DENSE_ROWS, .values = x, .stride = COLS};
        for (int j = 0; j < COLS; j++)
            sum += x[j] * x[j];
        hawser_row_squares(&A, &own);
        hawser_distances(&A, &own, x, 1, &sum, 1, &near, 1);
        hawser_distances(&A, NULL, x, 1, &sum, 1, &far, 1);
        assert_true(near >= 0 && near <= 1e-12);
        assert_true(far == -2 * sum + sum);
        below += own + far < 0;
        free(x);
    }
    assert_true(below > 10);
}

static void a_row_without_entries_has_a_distance(void **state)
{
    (void)state;
    const uint64_t offsets[] = {0, 0};
    const hawser_matrix A = {.rows = 1, .cols = 2, .layout = HAWSER_CSR, .offsets = offsets};
    assert_true(hawser_row_distance(&A, 0, (const double[]){3, 4}) == 25);
    assert_true(hawser_row_dot(&A, 0, (const double[]){3, 4}) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_match_long_double_in_double),
        cmocka_unit_test(rows_match_long_double_in_float),
        cmocka_unit_test(blocks_match_long_double_in_double),
        cmocka_unit_test(blocks_match_long_double_in_float),
        cmocka_unit_test(sums_are_in_order_in_double),
        cmocka_unit_test(sums_are_in_order_in_float),
        cmocka_unit_test(nearest_and_second_nearest_are_found_in_double),
        cmocka_unit_test(nearest_and_second_nearest_are_found_in_float),
        cmocka_unit_test(variants_agree_in_double),
        cmocka_unit_test(variants_agree_in_float),
        cmocka_unit_test(exact_distances_do_not_cancel),
        cmocka_unit_test(distances_are_not_negative),
        cmocka_unit_test(a_row_without_entries_has_a_distance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
