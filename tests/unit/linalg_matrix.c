/* The kernels are compared with plain long double loops, for every layout, type and variant, and variants with each other
 * bit by bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/type.h"
#include "hawser/matrix.h"
#include "linalg/kernels.h"

/* A random matrix with its dense long double shadow. */
typedef struct problem {
    hawser_matrix A;
    uint64_t *offsets;
    uint32_t *indices;
    void *values;
    double *shadow; /* column-major, rows x cols */
} problem;

static void put(void *values, hawser_type type, size_t at, double value)
{
    if (type == HAWSER_F32)
        ((float *)values)[at] = (float)value;
    else
        ((double *)values)[at] = value;
}

static void fill(problem *p, hw_random *random, double density)
{
    size_t stored = 0, major = p->A.layout == HAWSER_CSR ? p->A.rows : p->A.cols;
    size_t minor = p->A.layout == HAWSER_CSR ? p->A.cols : p->A.rows;
    for (size_t j = 0; j < major; j++) {
        for (size_t i = 0; i < minor; i++) {
            if (p->A.layout != HAWSER_DENSE && hw_random_uniform(random) >= density * 2 * (double)(j + 1) / (double)major)
                continue;
            double value = hw_random_normal(random);
            if (p->A.type == HAWSER_F32)
                value = (float)value;
            size_t place = p->A.layout == HAWSER_DENSE ? j * p->A.stride + i : stored;
            put(p->values, p->A.type, place, value);
            if (p->A.layout != HAWSER_DENSE)
                p->indices[stored] = (uint32_t)i;
            p->shadow[p->A.layout == HAWSER_CSR ? i * p->A.rows + j : j * p->A.rows + i] = value;
            stored++;
        }
        if (p->A.layout != HAWSER_DENSE)
            p->offsets[j + 1] = stored;
    }
    p->A.stored = stored;
}

static problem make(hawser_layout layout, hawser_type type, size_t rows, size_t cols, double density, uint64_t seed)
{
    problem p = {.A = {.rows = rows, .cols = cols, .layout = layout, .type = type}};
    p.A.stride = layout == HAWSER_DENSE ? rows + 3 : 0;
    size_t space = (rows + 3) * cols;
    assert_int_equal(HW_NEW(&p.shadow, rows * cols, "shadow", NULL), HAWSER_OK);
    assert_int_equal(hw_new_array(&p.values, space, hw_type_size(type), "values", NULL), HAWSER_OK);
    assert_int_equal(HW_NEW(&p.offsets, (rows > cols ? rows : cols) + 1, "offsets", NULL), HAWSER_OK);
    assert_int_equal(HW_NEW(&p.indices, space, "indices", NULL), HAWSER_OK);
    hw_random random = hw_random_at(seed, 0, 0, 0);
    fill(&p, &random, density);
    p.A.values = p.values;
    p.A.offsets = layout == HAWSER_DENSE ? NULL : p.offsets;
    p.A.indices = layout == HAWSER_DENSE ? NULL : p.indices;
    return p;
}

static void release(problem *p)
{
    free(p->offsets);
    free(p->indices);
    free(p->values);
    free(p->shadow);
}

static double *numbers(size_t n, uint64_t seed)
{
    double *x;
    assert_int_equal(HW_NEW(&x, n, "numbers", NULL), HAWSER_OK);
    hw_random random = hw_random_at(seed, 1, 0, 0);
    for (size_t i = 0; i < n; i++)
        x[i] = hw_random_normal(&random);
    return x;
}

/* Compares numbers up to rounding, which the sum of the terms' magnitudes bounds. */
static void close_to(double got, long double expected, long double terms)
{
    assert_true(fabsl((long double)got - expected) <= 1e-14L * terms + 1e-300L);
}

static const size_t SHAPES[][2] = {{1, 1},  {3, 5},   {7, 9},   {8, 4},     {15, 6},
                                   {16, 7}, {17, 13}, {33, 70}, {1100, 11}, {2500, 6}};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

/* A scan of every second column stores the same numbers as the whole scan, and leaves the rest unchanged. */
static void check_some(const hawser_matrix *V, const double *x, const double *all)
{
    uint32_t columns[48];
    size_t count = 0;
    double *some = numbers(V->cols, 5), *before = numbers(V->cols, 5);
    for (uint32_t j = 0; j < V->cols; j += 2)
        columns[count++] = j;
    hawser_scan_some(V, columns, count, x, some);
    for (size_t j = 0; j < V->cols; j++)
        assert_memory_equal(&some[j], j % 2 == 0 ? &all[j] : &before[j], sizeof *some);
    hawser_scan_some(V, columns, 0, x, before);
    free(some);
    free(before);
}

/* Checks dot, scan, axpy and moments on a view that does not begin at the first column. */
static void check_columns(problem *p, const double *x, const double *w)
{
    size_t rows = p->A.rows, skip = p->A.cols > 1 ? 1 : 0;
    hawser_matrix V = hawser_matrix_columns(&p->A, skip, p->A.cols);
    assert_int_equal(V.first, skip);
    assert_int_equal(V.cols, p->A.cols - skip);
    double *out = numbers(V.cols, 3), *y = numbers(rows, 4), *start = numbers(rows, 4);
    hawser_scan(&V, x, out);
    check_some(&V, x, out);
    for (size_t j = 0; j < V.cols; j++) {
        const double *column = p->shadow + (j + skip) * rows;
        long double dot = 0, terms = 0, sum = 0, squares = 0, total = 0, sizes = 0;
        for (size_t i = 0; i < rows; i++) {
            dot += (long double)column[i] * x[i];
            terms += fabsl((long double)column[i] * x[i]);
            sum += (long double)w[i] * column[i];
            sizes += fabsl((long double)w[i] * column[i]);
            squares += (long double)w[i] * ((long double)column[i] - 0.3L) * ((long double)column[i] - 0.3L);
            total += w[i];
        }
        close_to(out[j], dot, terms);
        double alone = hawser_column_dot(&V, j, x);
        assert_memory_equal(&alone, &out[j], sizeof alone); /* a scan has the bits of single dots */
        double got_sum, got_squares;
        hawser_column_moments(&V, j, w, (double)total, 0.3, &got_sum, &got_squares);
        close_to(got_sum, sum, sizes);
        close_to(got_squares, squares, squares + total);
        hawser_column_moments(&V, j, NULL, (double)rows, 0.3, &got_sum, &got_squares);
        sum = squares = sizes = 0;
        for (size_t i = 0; i < rows; i++) {
            sum += column[i];
            sizes += fabsl((long double)column[i]);
            squares += ((long double)column[i] - 0.3L) * ((long double)column[i] - 0.3L);
        }
        close_to(got_sum, sum, sizes);
        close_to(got_squares, squares, squares + (long double)rows);
        memcpy(y, start, rows * sizeof *y);
        hawser_column_axpy(&V, j, -1.7, y);
        for (size_t i = 0; i < rows; i++)
            close_to(y[i], start[i] - 1.7 * column[i], fabs(start[i]) + 2 * fabs(column[i]));
    }
    free(out);
    free(y);
    free(start);
}

static void column_kernels_match_long_double(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (int layout = HAWSER_DENSE; layout <= HAWSER_CSC; layout++)
            for (int type = HAWSER_F64; type <= HAWSER_F32; type++) {
                problem p = make((hawser_layout)layout, (hawser_type)type, SHAPES[s][0], SHAPES[s][1], 0.4, s);
                double *x = numbers(p.A.rows, 1), *w = numbers(p.A.rows, 2);
                for (size_t i = 0; i < p.A.rows; i++)
                    w[i] = w[i] * w[i];
                check_columns(&p, x, w);
                free(x);
                free(w);
                release(&p);
            }
}

static void multiply_and_combine_match_long_double(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (int layout = HAWSER_DENSE; layout <= HAWSER_CSR; layout++)
            for (int type = HAWSER_F64; type <= HAWSER_F32; type++) {
                size_t rows = SHAPES[s][0], cols = SHAPES[s][1];
                problem p = make((hawser_layout)layout, (hawser_type)type, rows, cols, 0.4, s + 50);
                double *w = numbers(cols, 5), *out = numbers(rows, 6), *again = numbers(rows, 6), *sum = numbers(rows, 6);
                w[cols / 2] = 0;
                uint32_t *order;
                assert_int_equal(HW_NEW(&order, cols, "order", NULL), HAWSER_OK);
                for (size_t j = 0; j < cols; j++)
                    order[j] = (uint32_t)(cols - 1 - j);
                hawser_multiply(&p.A, w, 0.25, out);
                if (layout != HAWSER_CSR) {
                    hawser_combine(&p.A, order, w, cols, sum);
                    for (size_t j = 0; j < cols; j++) /* the same bits as one step after the other */
                        hawser_column_axpy(&p.A, order[j], w[j], again);
                    assert_memory_equal(sum, again, rows * sizeof *sum);
                }
                for (size_t i = 0; i < rows; i++) {
                    long double expected = 0.25, terms = 1;
                    for (size_t j = 0; j < cols; j++) {
                        expected += (long double)p.shadow[j * rows + i] * w[j];
                        terms += fabsl((long double)p.shadow[j * rows + i] * w[j]);
                    }
                    close_to(out[i], expected, terms);
                }
                free(w);
                free(out);
                free(again);
                free(sum);
                free(order);
                release(&p);
            }
}

static void a_csr_view_multiplies_its_rows(void **state)
{
    (void)state;
    problem p = make(HAWSER_CSR, HAWSER_F64, 20, 9, 0.5, 77);
    hawser_matrix V = hawser_matrix_rows(&p.A, 5, 16);
    assert_int_equal(V.first, 5);
    assert_int_equal(V.stored, p.offsets[16] - p.offsets[5]);
    double *w = numbers(9, 5), whole[20], part[11];
    hawser_multiply(&p.A, w, 0, whole);
    hawser_multiply(&V, w, 0, part);
    assert_memory_equal(part, whole + 5, sizeof part);
    free(w);
    release(&p);
}

static void a_dense_view_multiplies_its_rows(void **state)
{
    (void)state;
    for (hawser_type type = HAWSER_F64; type <= HAWSER_F32; type++) {
        problem p = make(HAWSER_DENSE, type, 20, 9, 1, 78);
        hawser_matrix V = hawser_matrix_rows(&p.A, 5, 16), again = hawser_matrix_rows(&V, 2, 4);
        assert_int_equal(V.first, 5);
        assert_int_equal(V.stored, 11 * 9);
        assert_int_equal(again.first, 7);
        double *w = numbers(9, 5), whole[20], part[11];
        hawser_multiply(&p.A, w, 0, whole);
        hawser_multiply(&V, w, 0, part);
        for (size_t i = 0; i < 11; i++)
            assert_true(fabs(part[i] - whole[5 + i]) <= 1e-14 * (1 + fabs(whole[5 + i])));
        hawser_multiply(&again, w, 0, part);
        assert_true(fabs(part[1] - whole[8]) <= 1e-14 * (1 + fabs(whole[8])));
        free(w);
        release(&p);
    }
}

/* The same matrix by rows, whose numbers the caller frees. */
static hawser_matrix turned(const problem *p, size_t stride, void **values)
{
    hawser_matrix A = {.rows = p->A.rows,
                       .cols = p->A.cols,
                       .stored = p->A.stored,
                       .layout = HAWSER_DENSE_ROWS,
                       .type = p->A.type,
                       .stride = stride};
    assert_int_equal(hw_new_array(values, A.rows * stride + 1, hw_type_size(A.type), "values", NULL), HAWSER_OK);
    for (size_t i = 0; i < A.rows; i++)
        for (size_t j = 0; j < A.cols; j++)
            put(*values, A.type, i * stride + j, p->shadow[j * A.rows + i]);
    A.values = *values;
    return A;
}

static void same_columns(const hawser_matrix *A, const hawser_matrix *B, const double *x, const double *w)
{
    size_t rows = A->rows, cols = A->cols;
    double *one = numbers(rows + cols, 4), *two = numbers(rows + cols, 4);
    assert_true(B->rows == rows && B->cols == cols && B->stored == A->stored && B->first == A->first);
    hawser_scan(A, x, one);
    hawser_scan(B, x, two);
    assert_memory_equal(one, two, cols * sizeof *one);
    check_some(B, x, two);
    for (size_t j = 0; j < cols; j++) {
        double dots[2] = {hawser_column_dot(A, j, x), hawser_column_dot(B, j, x)}, sums[2], squares[2];
        assert_memory_equal(&dots[0], &dots[1], sizeof *dots);
        for (int k = 0; k < 2; k++) {
            hawser_column_moments(A, j, k ? w : NULL, (double)rows, 0.3, &sums[0], &squares[0]);
            hawser_column_moments(B, j, k ? w : NULL, (double)rows, 0.3, &sums[1], &squares[1]);
            assert_memory_equal(&sums[0], &sums[1], sizeof *sums);
            assert_memory_equal(&squares[0], &squares[1], sizeof *squares);
        }
        hawser_column_axpy(A, j, -1.7, one);
        hawser_column_axpy(B, j, -1.7, two);
        assert_memory_equal(one, two, (rows + cols) * sizeof *one);
    }
    hawser_multiply(A, w, 0.25, one);
    hawser_multiply(B, w, 0.25, two);
    assert_memory_equal(one, two, (rows + cols) * sizeof *one);
    uint32_t few[3] = {(uint32_t)cols - 1, 0, (uint32_t)cols / 2};
    hawser_combine(A, few, w, cols < 3 ? 1 : 3, one);
    hawser_combine(B, few, w, cols < 3 ? 1 : 3, two);
    assert_memory_equal(one, two, (rows + cols) * sizeof *one);
    free(one);
    free(two);
}

/* Both dense layouts give the same bits, for the whole and for views of columns and rows. */
static void dense_rows_give_the_bits_of_columns(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (int type = HAWSER_F64; type <= HAWSER_F32; type++) {
            size_t rows = SHAPES[s][0], cols = SHAPES[s][1];
            problem p = make(HAWSER_DENSE, (hawser_type)type, rows, cols, 1, s);
            void *values;
            hawser_matrix B = turned(&p, cols + s % 3, &values);
            double *x = numbers(rows, 1), *w = numbers(rows > cols ? rows : cols, 2);
            x[rows / 2] = w[cols / 2] = 0;
            same_columns(&p.A, &B, x, w);
            hawser_matrix A2 = hawser_matrix_columns(&p.A, cols / 3, cols), B2 = hawser_matrix_columns(&B, cols / 3, cols);
            same_columns(&A2, &B2, x, w);
            A2 = hawser_matrix_rows(&A2, rows / 4, rows);
            B2 = hawser_matrix_rows(&B2, rows / 4, rows);
            same_columns(&A2, &B2, x, w);
            A2 = hawser_matrix_rows(&A2, 0, 0);
            B2 = hawser_matrix_rows(&B2, 0, 0);
            same_columns(&A2, &B2, x, w);
            hawser_error error;
            double G[1];
            assert_int_equal(hawser_gram(&B, (const uint32_t[]){0}, 0, 1, NULL, G, 1, &error), HAWSER_BAD_ARGUMENT);
            assert_string_equal(error.text, "the matrix of a Gram matrix is stored by rows (HAWSER_DENSE_ROWS)");
            free(values);
            free(x);
            free(w);
            release(&p);
        }
}

/* More columns than are scanned together. */
static void a_wide_matrix_by_rows_is_scanned_in_parts(void **state)
{
    (void)state;
    problem p = make(HAWSER_DENSE, HAWSER_F64, 37, 300, 1, 9);
    void *values;
    hawser_matrix B = turned(&p, 301, &values);
    double *x = numbers(37, 1), one[300], two[300];
    hawser_scan(&p.A, x, one);
    hawser_scan(&B, x, two);
    assert_memory_equal(one, two, sizeof one);
    free(x);
    free(values);
    release(&p);
}

static void dots_match_long_double(void **state)
{
    (void)state;
    for (size_t n = 0; n < 70; n++) {
        double *x = numbers(n, 1), *y = numbers(n, 2), *w = numbers(n, 3);
        long double dot = 0, weighted = 0, terms = 0, weighted_terms = 0;
        for (size_t i = 0; i < n; i++) {
            dot += (long double)x[i] * y[i];
            weighted += (long double)w[i] * x[i] * y[i];
            terms += fabsl((long double)x[i] * y[i]);
            weighted_terms += fabsl((long double)w[i] * x[i] * y[i]);
        }
        close_to(hawser_dot(n, x, y, NULL), dot, terms);
        close_to(hawser_dot(n, x, y, w), weighted, weighted_terms);
        free(x);
        free(y);
        free(w);
    }
}

static void check_product(const problem *p, size_t begin, size_t end, const double *weights, uint32_t one, uint32_t other,
                          double found)
{
    const double *left = p->shadow + one * p->A.rows, *right = p->shadow + other * p->A.rows;
    long double dot = 0, terms = 0;
    for (size_t i = begin; i < end; i++) {
        long double product = (long double)left[i] * right[i] * (weights != NULL ? weights[i] : 1);
        dot += product;
        terms += fabsl(product);
    }
    close_to(found, dot, terms);
}

static void check_gram_whole(problem *p, const double *weights, const uint32_t *columns, size_t fresh, size_t count)
{
    size_t ld = count + 2;
    double *G = numbers(count * ld, 9), *before = numbers(count * ld, 9);
    hawser_error error;
    assert_int_equal(hawser_gram(&p->A, columns, fresh, count, weights, G, ld, &error), HAWSER_OK);
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < ld; b++) {
            if (b >= count || (a < fresh && b < fresh)) { /* not ours: kept as it was */
                assert_memory_equal(&G[a * ld + b], &before[a * ld + b], sizeof *G);
                continue;
            }
            check_product(p, 0, p->A.rows, weights, columns[a], columns[b], G[a * ld + b]);
            assert_memory_equal(&G[a * ld + b], &G[b * ld + a], sizeof *G);
        }
    free(G);
    free(before);
}

static void check_gram_rows(problem *p, size_t begin, size_t end, const double *weights, const uint32_t *columns,
                            size_t fresh, size_t count)
{
    size_t ld = count + 2, lines = count - fresh;
    double *part = numbers(lines * ld, 9), *before = numbers(lines * ld, 9);
    hawser_error error;
    assert_int_equal(hawser_gram_rows(&p->A, begin, end, columns, fresh, count, weights, part, ld, &error), HAWSER_OK);
    for (size_t a = fresh; a < count; a++)
        for (size_t b = 0; b < ld; b++) {
            size_t at = (a - fresh) * ld + b;
            if (b > a) /* not ours: kept as it was */
                assert_memory_equal(&part[at], &before[at], sizeof *part);
            else
                check_product(p, begin, end, weights, columns[a], columns[b], part[at]);
        }
    free(part);
    free(before);
}

/* All rows, a middle that begins and ends anywhere, none, and an end that is shorter than a tile. */
static void check_gram(problem *p, const double *weights, const uint32_t *columns, size_t fresh, size_t count)
{
    check_gram_whole(p, weights, columns, fresh, count);
    check_gram_rows(p, 0, p->A.rows, weights, columns, fresh, count);
    check_gram_rows(p, 129, 1007, weights, columns, fresh, count);
    check_gram_rows(p, 640, 640, weights, columns, fresh, count);
    check_gram_rows(p, p->A.rows - 5, p->A.rows, weights, columns, fresh, count);
}

static void gram_matches_long_double(void **state)
{
    (void)state;
    const double densities[] = {0.02, 0.5}; /* the first is computed row by row, the second column by column */
    for (int layout = HAWSER_DENSE; layout <= HAWSER_CSC; layout++)
        for (int type = HAWSER_F64; type <= HAWSER_F32; type++)
            for (size_t d = 0; d < 2; d++) {
                problem p = make((hawser_layout)layout, (hawser_type)type, 1300, 90, densities[d], d + 7);
                double *w = numbers(p.A.rows, 2);
                uint32_t columns[80];
                for (uint32_t k = 0; k < 80; k++)
                    columns[k] = (k * 37 + 5) % 90;
                const size_t sets[][2] = {{0, 1}, {0, 3}, {0, 7}, {0, 80}, {79, 80}, {77, 80}, {66, 80}, {13, 71}, {5, 5}};
                for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
                    check_gram(&p, NULL, columns, sets[s][0], sets[s][1]);
                    check_gram(&p, w, columns, sets[s][0], sets[s][1]);
                }
                free(w);
                release(&p);
            }
}

/* Compares every kernel of two variants on the same input. */
static void same_bits(const hw_kernels *one, const hw_kernels *two, const problem *p, const double *x, const double *w)
{
    const hw_typed_kernels *a = &one->typed[p->A.type], *b = &two->typed[p->A.type];
    size_t rows = p->A.rows, cols = p->A.cols;
    double out1[96], out2[96];
    double *y1 = numbers(rows, 4), *y2 = numbers(rows, 4);
    hw_moments m1, m2;
    if (p->A.layout == HAWSER_DENSE) {
        a->dense_scan(rows, cols, p->values, p->A.stride, x, out1);
        b->dense_scan(rows, cols, p->values, p->A.stride, x, out2);
        a->dense_axpy(rows, p->values, 0.7, y1);
        b->dense_axpy(rows, p->values, 0.7, y2);
        const void *four[4] = {p->values, p->values, p->values, p->values};
        a->dense_axpy4(rows, four, x, y1);
        b->dense_axpy4(rows, four, x, y2);
        a->dense_moments(rows, p->values, w, 0.1, &m1);
        b->dense_moments(rows, p->values, w, 0.1, &m2);
    } else {
        a->sparse_scan(cols, p->offsets, p->indices, p->values, x, out1);
        b->sparse_scan(cols, p->offsets, p->indices, p->values, x, out2);
        a->sparse_axpy(p->offsets[1], p->indices, p->values, 0.7, y1);
        b->sparse_axpy(p->offsets[1], p->indices, p->values, 0.7, y2);
        a->sparse_moments(p->offsets[1], p->indices, p->values, w, 0.1, &m1);
        b->sparse_moments(p->offsets[1], p->indices, p->values, w, 0.1, &m2);
    }
    assert_memory_equal(out1, out2, cols * sizeof *out1);
    assert_memory_equal(y1, y2, rows * sizeof *y1);
    assert_memory_equal(&m1, &m2, sizeof m1);
    double d1 = one->weighted_dot(rows, x, w, y1), d2 = two->weighted_dot(rows, x, w, y1);
    assert_memory_equal(&d1, &d2, sizeof d1);
    free(y1);
    free(y2);
}

static void same_gram_bits(const hw_kernels *one, const hw_kernels *two)
{
    enum { COLUMNS = 23 };
    double *packed = numbers(COLUMNS * HW_GRAM_ROWS, 8), G1[COLUMNS * COLUMNS] = {0}, G2[COLUMNS * COLUMNS] = {0};
    const double *columns[COLUMNS];
    for (size_t c = 0; c < COLUMNS; c++)
        columns[c] = packed + c * HW_GRAM_ROWS;
    one->gram_panel(columns, columns, 2, COLUMNS, 0, 19, G1, COLUMNS, 2);
    two->gram_panel(columns, columns, 2, COLUMNS, 0, 19, G2, COLUMNS, 2);
    assert_memory_equal(G1, G2, sizeof G1);
    free(packed);
}

static void variants_agree_to_the_bit(void **state)
{
    (void)state;
    assert_string_equal(hw_kernels_variant(0)->name, "portable");
    size_t v = 1;
    for (; hw_kernels_variant(v) != NULL; v++) {
        const hw_kernels *one = hw_kernels_variant(0), *two = hw_kernels_variant(v);
        for (size_t s = 0; s < SHAPE_COUNT; s++)
            for (int layout = HAWSER_DENSE; layout <= HAWSER_CSC; layout++)
                for (int type = HAWSER_F64; type <= HAWSER_F32; type++) {
                    problem p = make((hawser_layout)layout, (hawser_type)type, SHAPES[s][0], SHAPES[s][1], 0.4, s);
                    double *x = numbers(p.A.rows + 4, 1), *w = numbers(p.A.rows, 2);
                    same_bits(one, two, &p, x, w);
                    free(x);
                    free(w);
                    release(&p);
                }
        same_gram_bits(one, two);
    }
    assert_string_equal(hawser_kernels_name(), hw_kernels_variant(v - 1)->name);
}

/* Lanes are documented: entry i of a dense dot is in lane i mod 16, and of a sparse one in lane i mod 8. The tree is written
 * out here again. */
static void lanes_and_tree_are_as_documented(void **state)
{
    (void)state;
    enum { N = 59 };
    double *x = numbers(N, 1), *y = numbers(N, 2), lane[16] = {0}, eight[8] = {0};
    uint32_t indices[N];
    for (uint32_t i = 0; i < N; i++) {
        lane[i % 16] += x[i] * y[i];
        eight[i % 8] += x[i] * y[i];
        indices[i] = i;
    }
    for (int half = 8; half >= 1; half /= 2)
        for (int i = 0; i < half; i++) {
            lane[i] += lane[i + half];
            if (half < 8)
                eight[i] += eight[i + half];
        }
    for (size_t v = 0; hw_kernels_variant(v) != NULL; v++) {
        double dense = hw_kernels_variant(v)->typed[HAWSER_F64].dense_dot(N, x, y);
        double sparse = hw_kernels_variant(v)->typed[HAWSER_F64].sparse_dot(N, indices, x, y);
        assert_memory_equal(&dense, &lane[0], sizeof dense);
        assert_memory_equal(&sparse, &eight[0], sizeof sparse);
    }
    free(x);
    free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(column_kernels_match_long_double),
        cmocka_unit_test(multiply_and_combine_match_long_double),
        cmocka_unit_test(a_csr_view_multiplies_its_rows),
        cmocka_unit_test(a_dense_view_multiplies_its_rows),
        cmocka_unit_test(dots_match_long_double),
        cmocka_unit_test(gram_matches_long_double),
        cmocka_unit_test(dense_rows_give_the_bits_of_columns),
        cmocka_unit_test(a_wide_matrix_by_rows_is_scanned_in_parts),
        cmocka_unit_test(variants_agree_to_the_bit),
        cmocka_unit_test(lanes_and_tree_are_as_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
