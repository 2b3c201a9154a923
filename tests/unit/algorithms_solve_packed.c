/* Products of packed rows are compared with sums over a dense table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algorithms/solve/packed.h"

enum { ROWS = 97, COLUMNS = 40, LISTED = 23 };

typedef enum stored { DOUBLES, FLOATS, ONES } stored;

/* A sparse table. Every third column and some rows are empty, and column 1 is in every other row. */
typedef struct table {
    double dense[COLUMNS][ROWS];
    uint64_t offsets[COLUMNS + 1];
    uint32_t indices[COLUMNS * ROWS];
    double doubles[COLUMNS * ROWS];
    float floats[COLUMNS * ROWS];
    hawser_matrix matrix;
} table;

static double value_of(size_t i, size_t j, stored kind)
{
    if (i % 11 == 5 || j % 3 == 0 || (j != 1 && (i * 7 + j * j) % (2 + j % 5) != 0))
        return 0.0;
    return kind == ONES ? 1.0 : (double)((i * 31 + j * 17) % 64) / 8.0 - 3.5;
}

static void make(table *t, stored kind)
{
    uint64_t at = 0;
    t->offsets[0] = 0;
    for (size_t j = 0; j < COLUMNS; j++) {
        for (size_t i = 0; i < ROWS; i++) {
            double x = t->dense[j][i] = value_of(i, j, kind);
            if (x == 0.0)
                continue;
            t->indices[at] = (uint32_t)i;
            t->doubles[at] = x;
            t->floats[at++] = (float)x;
        }
        t->offsets[j + 1] = at;
    }
    t->matrix = (hawser_matrix){.rows = ROWS,
                                .cols = COLUMNS,
                                .stored = at,
                                .layout = HAWSER_CSC,
                                .type = kind == DOUBLES ? HAWSER_F64 : HAWSER_F32,
                                .offsets = t->offsets,
                                .indices = t->indices,
                                .values = kind == DOUBLES ? (const void *)t->doubles : (const void *)t->floats};
}

static void check(const table *t, hw_linear_packed *packed, const uint32_t *list, size_t begin, size_t end,
                  const double *weights)
{
    assert_int_equal(hw_linear_pack(packed, &t->matrix, list, LISTED, begin, end, NULL), HAWSER_OK);
    for (size_t k = 0; k < LISTED; k++)
        packed->in[k] = (double)(k % 7) - 2.75;
    hw_linear_packed_product(packed, weights);
    double image[ROWS] = {0.0};
    hw_linear_packed_rows(packed, image);
    for (size_t i = 0; i < ROWS; i++) {
        double wanted = 0.0;
        for (size_t k = 0; k < LISTED && i >= begin && i < end; k++)
            wanted += t->dense[list[k]][i] * packed->in[k];
        assert_true(image[i] - wanted < 1e-12 && wanted - image[i] < 1e-12);
    }
    for (size_t k = 0; k < LISTED; k++) {
        double wanted = 0.0, size = 1.0;
        for (size_t i = begin; i < end; i++) {
            double u = 0.0;
            for (size_t other = 0; other < LISTED; other++)
                u += t->dense[list[other]][i] * packed->in[other];
            double term = (weights != NULL ? weights[i] : 1.0) * u * t->dense[list[k]][i];
            wanted += term;
            size += term < 0.0 ? -term : term;
        }
        double off = packed->out[k] - wanted;
        assert_true((off < 0.0 ? -off : off) <= 1e-13 * size);
    }
}

static void products(void **unused)
{
    (void)unused;
    table *t = malloc(sizeof *t);
    double weights[ROWS];
    uint32_t list[LISTED];
    for (size_t i = 0; i < ROWS; i++)
        weights[i] = i % 4 == 1 ? 0.0 : 0.5 + (double)(i % 3);
    for (size_t k = 0; k < LISTED; k++)
        list[k] = (uint32_t)((k * 5 + 1) % COLUMNS);
    for (stored kind = DOUBLES; kind <= ONES; kind++) {
        static const size_t cuts[][2] = {{0, ROWS}, {0, 40}, {40, ROWS}, {12, 13}, {5, 6}, {30, 30}};
        make(t, kind);
        for (size_t cut = 0; cut < sizeof cuts / sizeof *cuts; cut++) {
            hw_linear_packed packed = {0};
            check(t, &packed, list, cuts[cut][0], cuts[cut][1], NULL);
            assert_true((packed.values == NULL) == (kind == ONES || packed.run_count == 0));
            check(t, &packed, list, cuts[cut][0], cuts[cut][1], weights);
            hw_linear_packed_free(&packed);
        }
    }
    free(t);
}

/* Packed rows are reused only if neither matrix, columns nor rows have changed. */
static void packed_again(void **unused)
{
    (void)unused;
    table *t = malloc(sizeof *t);
    hw_linear_packed packed = {0};
    uint32_t list[LISTED];
    make(t, DOUBLES);
    for (size_t k = 0; k < LISTED; k++)
        list[k] = (uint32_t)k;
    check(t, &packed, list, 0, ROWS, NULL);
    const uint32_t *first = packed.index;
    check(t, &packed, list, 0, ROWS, NULL);
    assert_ptr_equal(packed.index, first);
    list[LISTED - 1] = COLUMNS - 1;
    check(t, &packed, list, 0, ROWS, NULL);
    check(t, &packed, list, 0, ROWS / 2, NULL);
    check(t, &packed, list, 1, ROWS / 2, NULL);
    make(t, FLOATS);
    check(t, &packed, list, 1, ROWS / 2, NULL);
    hw_linear_packed_free(&packed);
    free(t);
}

enum { TALL = 9000, FEW = 12 };

static double tall_value(size_t i, size_t j)
{
    return (i * (j + 3)) % 5 == 0 ? 0.0 : (double)((i * 13 + j * 5) % 9) - 3.5;
}

/* Many entries are packed a few rows at a time, into memory that was used before. Their products are exact. */
static void tall_columns(void **unused)
{
    (void)unused;
    uint64_t offsets[FEW + 1] = {0}, at = 0;
    uint32_t *indices = malloc(FEW * TALL * sizeof *indices), list[FEW];
    double *values = malloc(FEW * TALL * sizeof *values);
    for (size_t j = 0; j < FEW; offsets[++j] = at)
        for (size_t i = 0; i < TALL; i++)
            if (tall_value(i, j) != 0.0) {
                indices[at] = (uint32_t)i;
                values[at++] = tall_value(i, j);
            }
    hawser_matrix matrix = {.rows = TALL, .cols = FEW, .stored = at, .layout = HAWSER_CSC, .type = HAWSER_F64};
    matrix.offsets = offsets;
    matrix.indices = indices;
    matrix.values = values;
    hw_linear_packed packed = {0};
    for (size_t round = 0; round < 4; round++) {
        size_t count = FEW - round % 2 * 5, begin = round * 700, end = TALL - round * 300;
        for (size_t k = 0; k < count; k++)
            list[k] = (uint32_t)((k * 7 + round) % FEW);
        assert_int_equal(hw_linear_pack(&packed, &matrix, list, count, begin, end, NULL), HAWSER_OK);
        double wanted[FEW] = {0.0};
        for (size_t k = 0; k < count; k++)
            packed.in[k] = (double)k - 4.0;
        for (size_t i = begin; i < end; i++) {
            double u = 0.0;
            for (size_t k = 0; k < count; k++)
                u += tall_value(i, list[k]) * packed.in[k];
            for (size_t k = 0; k < count; k++)
                wanted[k] += tall_value(i, list[k]) * u;
        }
        hw_linear_packed_product(&packed, NULL);
        for (size_t k = 0; k < count; k++)
            assert_true(packed.out[k] == wanted[k]);
    }
    hw_linear_packed_free(&packed);
    free(indices);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products), cmocka_unit_test(packed_again),
                                       cmocka_unit_test(tall_columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
