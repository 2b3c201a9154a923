/* Generated problems, datasets from arrays, and balanced splits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/share/balance.h"
#include "hawser/data.h"

static hawser_dataset *generated(const char *kind, size_t rows, size_t cols, uint64_t seed, double **truth)
{
    hawser_error error;
    hawser_dataset *dataset = NULL;
    const hawser_generate what = {.kind = kind, .rows = rows, .cols = cols, .nonzeros = 7, .seed = seed};
    assert_int_equal(hawser_dataset_generate(&what, &dataset, truth, &error), HAWSER_OK);
    return dataset;
}

static void rows_have_length_one(void **state)
{
    (void)state;
    const char *kinds[] = {"dense", "url"};
    for (int k = 0; k < 2; k++) {
        hawser_dataset *dataset = generated(kinds[k], 300, 400, 3, NULL);
        const hawser_matrix *A = hawser_dataset_matrix(dataset);
        assert_int_equal(A->layout, k == 0 ? HAWSER_DENSE : HAWSER_CSC);
        double squares[300] = {0};
        const double *values = A->values;
        for (size_t j = 0; j < A->cols; j++)
            for (uint64_t e = k ? A->offsets[j] : j * A->stride; e < (k ? A->offsets[j + 1] : j * A->stride + A->rows); e++)
                squares[k ? A->indices[e] : e - j * A->stride] += values[e] * values[e];
        for (size_t i = 0; i < 300; i++)
            assert_true(fabs(squares[i] - 1) < 1e-12);
        hawser_dataset_free(dataset);
    }
}

static void the_target_is_the_truth_and_a_tenth_of_noise(void **state)
{
    (void)state;
    const char *kinds[] = {"dense", "url"};
    for (int k = 0; k < 2; k++) {
        double *truth;
        hawser_dataset *dataset = generated(kinds[k], 4000, 300, 11, &truth);
        const hawser_matrix *A = hawser_dataset_matrix(dataset);
        const double *y = hawser_dataset_target(dataset);
        size_t nonzeros = 0;
        for (size_t j = 0; j < A->cols; j++)
            nonzeros += truth[j] != 0;
        assert_int_equal(nonzeros, 7);
        double *signal = calloc(A->rows, sizeof *signal), mean = 0, power = 0, noise = 0;
        assert_non_null(signal);
        hawser_multiply(A, truth, 0, signal);
        for (size_t i = 0; i < A->rows; i++)
            mean += signal[i] / (double)A->rows;
        for (size_t i = 0; i < A->rows; i++) {
            power += (signal[i] - mean) * (signal[i] - mean);
            noise += (y[i] - signal[i]) * (y[i] - signal[i]);
        }
        assert_true(fabs(sqrt(noise / power) - 0.1) < 0.01);
        free(signal);
        free(truth);
        hawser_dataset_free(dataset);
    }
}

static void popularity_falls_by_zipfs_law(void **state)
{
    (void)state;
    const hawser_generate what = {.kind = "url", .rows = 20000, .cols = 5000, .per_row = 1, .nonzeros = 1, .seed = 4};
    hawser_dataset *dataset;
    hawser_error error;
    assert_int_equal(hawser_dataset_generate(&what, &dataset, NULL, &error), HAWSER_OK);
    const hawser_matrix *A = hawser_dataset_matrix(dataset);
    assert_int_equal(A->stored, 20000);
    double sum = 0, counts[3] = {0}; /* one entry a row: counts are plain draws */
    for (size_t r = 1; r <= 5000; r++)
        sum += pow((double)r, -0.95);
    for (size_t j = 0; j < A->cols; j++) {
        double count = (double)(A->offsets[j + 1] - A->offsets[j]);
        for (int r = 0; r < 3; r++)
            if (count > counts[r]) {
                for (int s = 2; s > r; s--)
                    counts[s] = counts[s - 1];
                counts[r] = count;
                break;
            }
    }
    for (int r = 0; r < 3; r++) {
        double expected = 20000 * pow(r + 1, -0.95) / sum;
        assert_true(fabs(counts[r] - expected) < 5 * sqrt(expected));
    }
    hawser_dataset_free(dataset);
}

static uint64_t digest(const void *data, size_t size)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * UINT64_C(1099511628211);
    return hash;
}

static void a_seed_gives_one_problem(void **state)
{
    (void)state;
    const char *kinds[] = {"dense", "url"};
    for (int k = 0; k < 2; k++) {
        uint64_t hash[3];
        for (int run = 0; run < 3; run++) {
            hawser_dataset *dataset = generated(kinds[k], 100, 60, run < 2 ? 5 : 6, NULL);
            const hawser_matrix *A = hawser_dataset_matrix(dataset);
            hash[run] = digest(A->values, A->stored * sizeof(double)) ^
                        digest(hawser_dataset_target(dataset), A->rows * sizeof(double));
            /* the factors, of which there are 20, the rows' lengths and the target are there at the same time */
            if (k == 0)
                assert_int_equal(hawser_dataset_figures(dataset)->memory_estimate, 100 * (60 + 20 + 2) * 8);
            if (k == 1)
                for (size_t j = 0; j < A->cols; j++)
                    for (uint64_t e = A->offsets[j] + 1; e < A->offsets[j + 1]; e++)
                        assert_true(A->indices[e] > A->indices[e - 1] && A->indices[e] < A->rows);
            hawser_dataset_free(dataset);
        }
        assert_true(hash[0] == hash[1]);
        assert_true(hash[0] != hash[2]);
    }
}

static void impossible_problems_are_refused(void **state)
{
    (void)state;
    const hawser_generate bad[] = {
        {.kind = "cubic", .rows = 5, .cols = 5},
        {.kind = NULL, .rows = 5, .cols = 5},
        {.kind = "dense", .rows = 0, .cols = 5},
        {.kind = "dense", .rows = 5, .cols = 5, .nonzeros = 6},
        {.kind = "dense", .rows = 5, .cols = 5, .noise = -1},
        {.kind = "dense", .rows = 5, .cols = 5, .noise = NAN},
        {.kind = "url", .rows = 5, .cols = 10, .per_row = 6},
        {.kind = "url", .rows = 5, .cols = 10, .per_row = -2},
        {.kind = "url", .rows = (size_t)1 << 40, .cols = 10},
    };
    hawser_error error;
    hawser_dataset *dataset;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(hawser_dataset_generate(&bad[i], &dataset, NULL, &error), HAWSER_BAD_ARGUMENT);
    const hawser_generate huge = {.kind = "dense", .rows = 4000000000, .cols = 1000000000};
    assert_int_equal(hawser_dataset_generate(&huge, &dataset, NULL, &error), HAWSER_NO_MEMORY);
    assert_non_null(strstr(error.text, "MiB"));
    for (size_t cols = 1; cols < 6; cols++) /* the smallest must work */
        for (int k = 0; k < 2; k++) {
            const hawser_generate tiny = {.kind = k ? "url" : "dense", .rows = 2, .cols = cols};
            assert_int_equal(hawser_dataset_generate(&tiny, &dataset, NULL, &error), HAWSER_OK);
            hawser_dataset_free(dataset);
        }
}

static void a_dataset_from_a_view_is_a_copy(void **state)
{
    (void)state;
    hawser_error error;
    hawser_dataset *whole = generated("url", 50, 30, 1, NULL), *part;
    hawser_matrix view = hawser_matrix_columns(hawser_dataset_matrix(whole), 4, 20);
    double x[50], expected[16], got[16];
    for (int i = 0; i < 50; i++)
        x[i] = sin(i);
    hawser_scan(&view, x, expected);
    assert_int_equal(hawser_dataset_from(&view, x, &part, &error), HAWSER_OK);
    hawser_dataset_free(whole);
    assert_int_equal(hawser_dataset_matrix(part)->offsets[0], 0);
    hawser_scan(hawser_dataset_matrix(part), x, got);
    assert_memory_equal(got, expected, sizeof got);
    assert_memory_equal(hawser_dataset_target(part), x, sizeof x);
    hawser_dataset_free(part);
    const float wide[] = {1, 2, 99, 3, 4, 99};
    const hawser_matrix dense = {
        .rows = 2, .cols = 2, .layout = HAWSER_DENSE, .type = HAWSER_F32, .values = wide, .stride = 3};
    assert_int_equal(hawser_dataset_from(&dense, NULL, &part, &error), HAWSER_OK);
    const float *kept = hawser_dataset_matrix(part)->values;
    assert_true(kept[0] == 1 && kept[1] == 2 && kept[2] == 3 && kept[3] == 4);
    assert_null(hawser_dataset_target(part));
    hawser_dataset_free(part);
}

static void broken_arrays_are_refused(void **state)
{
    (void)state;
    hawser_error error;
    hawser_dataset *dataset;
    const uint64_t good[] = {0, 2, 3}, falling[] = {0, 3, 2}, wide[] = {0, 2, 5};
    const uint32_t in[] = {0, 1, 1}, out[] = {0, 2, 1}, twice[] = {1, 1, 1};
    const double one[] = {1, 2, 3}, nan[] = {1, NAN, 3};
    const hawser_matrix A = {.rows = 2, .cols = 2, .layout = HAWSER_CSC, .offsets = good, .indices = in, .values = one};
    hawser_matrix B[7];
    for (int i = 0; i < 7; i++)
        B[i] = A;
    B[0].offsets = falling;
    B[1].offsets = wide;
    B[2].indices = out;
    B[3].indices = twice;
    B[4].values = nan;
    B[5].rows = 0;
    B[6].type = HAWSER_I64;
    for (int i = 0; i < 7; i++)
        assert_int_equal(hawser_dataset_from(&B[i], NULL, &dataset, &error), HAWSER_BAD_ARGUMENT);
    const double target[] = {1, INFINITY};
    assert_int_equal(hawser_dataset_from(&A, target, &dataset, &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_dataset_from(&A, one, &dataset, &error), HAWSER_OK);
    hawser_dataset_free(dataset);
}

/* Columns without entries count for nothing where they are most: the parts are those of the other columns side by side. */
static void columns_without_entries_change_no_part(void **state)
{
    (void)state;
    enum { WIDE = 200000, MOST = 40 };
    uint64_t *wide = malloc((WIDE + 1) * sizeof *wide), near[MOST + 1];
    size_t place[MOST + 1], found[MOST + 3], expected[MOST + 3];
    assert_non_null(wide);
    srand(7);
    for (int trial = 0; trial < 30; trial++) {
        size_t count = 1 + (size_t)rand() % MOST;
        memset(wide, 0, (WIDE + 1) * sizeof *wide);
        near[0] = 0;
        for (size_t k = 0, at = 0; k < count; k++, at++) {
            at += (size_t)rand() % (WIDE / MOST - 1) * (rand() % 3 != 0);
            place[k] = at;
            wide[at + 1] = 1 + (uint64_t)(rand() % (rand() % 5 == 0 ? 200 : 9));
            near[k + 1] = near[k] + wide[at + 1];
        }
        place[count] = WIDE;
        for (size_t j = 0; j < WIDE; j++)
            wide[j + 1] += wide[j];
        hawser_matrix A = {.rows = 300, .cols = WIDE, .stored = near[count], .layout = HAWSER_CSC, .offsets = wide}, B = A;
        B.cols = count;
        B.offsets = near;
        for (size_t parts = 1; parts <= count + 2; parts++) {
            hawser_balance(&A, parts, found);
            hawser_balance(&B, parts, expected);
            for (size_t p = 1; p <= parts; p++)
                assert_int_equal(found[p], place[expected[p]]);
        }
    }
    free(wide);
}

static void parts_are_balanced_and_not_empty(void **state)
{
    (void)state;
    hawser_dataset *dataset = generated("url", 2000, 1000, 8, NULL);
    const hawser_matrix *A = hawser_dataset_matrix(dataset);
    uint64_t largest = 0;
    for (size_t j = 0; j < A->cols; j++)
        if (A->offsets[j + 1] - A->offsets[j] > largest)
            largest = A->offsets[j + 1] - A->offsets[j];
    size_t bounds[1001];
    for (size_t parts = 1; parts <= 1000; parts = parts * 3 - 1 + (parts == 1)) {
        hawser_balance(A, parts, bounds);
        assert_int_equal(bounds[0], 0);
        assert_int_equal(bounds[parts], 1000);
        for (size_t p = 0; p < parts; p++) {
            assert_true(bounds[p] < bounds[p + 1]);
            if (parts <= 8) /* a cut is off by half a column at most on either side; a column counts as 8 entries more */
                assert_true(A->offsets[bounds[p + 1]] - A->offsets[bounds[p]] + 8 * (bounds[p + 1] - bounds[p]) <=
                            (A->stored + 8 * A->cols) / parts + largest + 9);
        }
    }
    hawser_balance(A, 1000, bounds);
    for (size_t p = 0; p <= 1000; p++)
        assert_int_equal(bounds[p], p);
    hawser_matrix few = hawser_matrix_columns(A, 500, 503);
    hawser_balance(&few, 2, bounds);
    assert_true(bounds[1] == 1 || bounds[1] == 2);
    hawser_balance(&few, 5, bounds); /* more parts than columns: the last ones are empty */
    assert_int_equal(bounds[5], 3);
    for (size_t p = 0; p < 5; p++)
        assert_true(bounds[p] <= bounds[p + 1]);
    const hawser_matrix dense = {.rows = 3, .cols = 10, .layout = HAWSER_DENSE, .stored = 30};
    hawser_balance(&dense, 4, bounds);
    assert_int_equal(bounds[1], 2);
    assert_int_equal(bounds[2], 5);
    assert_int_equal(bounds[3], 7);
    hawser_dataset_free(dataset);
}

/* One column holds nearly everything: the parts around it must still not be empty. */
static void a_giant_column_leaves_the_others_a_part(void **state)
{
    (void)state;
    uint64_t offsets[9] = {0, 1, 2, 1002, 1003, 1004, 1005, 1006, 1007};
    const hawser_matrix A = {.rows = 1000, .cols = 8, .layout = HAWSER_CSC, .stored = 1007, .offsets = offsets};
    size_t bounds[9];
    for (size_t parts = 1; parts <= 8; parts++) {
        hawser_balance(&A, parts, bounds);
        for (size_t p = 0; p < parts; p++)
            assert_true(bounds[p] < bounds[p + 1]);
        assert_int_equal(bounds[parts], 8);
    }
}

/* Frequent columns first, as words come: neither the entries nor the columns of a half are nearly all there are. */
static void frequent_columns_do_not_leave_one_part_all_columns(void **state)
{
    (void)state;
    uint64_t offsets[20001] = {0};
    for (size_t j = 0; j < 20000; j++)
        offsets[j + 1] = offsets[j] + 2 + 20000 / (j + 1);
    const hawser_matrix A = {
        .rows = 20000, .cols = 20000, .layout = HAWSER_CSC, .stored = offsets[20000], .offsets = offsets};
    size_t bounds[3];
    hawser_balance(&A, 2, bounds);
    assert_true((double)offsets[bounds[1]] < 0.8 * (double)A.stored);
    assert_true((double)(A.cols - bounds[1]) < 0.9 * (double)A.cols); /* of equal entries: 0.985 */
}

/* Whatever lines cost besides, a cut is where the costs of both sides differ by a line's at most; without costs it is
 * hawser_balance's. */
static void lines_that_cost_more(void **state)
{
    (void)state;
    hawser_dataset *dataset = generated("url", 2000, 1000, 8, NULL);
    const hawser_matrix *A = hawser_dataset_matrix(dataset);
    double costs[1000] = {0}, before[1001] = {0}, most = 0;
    size_t bounds[9], plain[9];
    for (size_t parts = 1; parts <= 8; parts++) {
        hawser_balance(A, parts, plain);
        hw_balance_costs(A, costs, parts, bounds);
        for (size_t p = 0; p <= parts; p++)
            assert_true(bounds[p] <= plain[p] + 1 && plain[p] <= bounds[p] + 1);
    }
    for (size_t j = 0; j < 1000; j++)
        costs[j] = j >= 900 ? 500 : 0;
    for (size_t j = 0; j < 1000; j++) {
        double cost = (double)(A->offsets[j + 1] - A->offsets[j]) + 8 + costs[j];
        before[j + 1] = before[j] + cost;
        most = cost > most ? cost : most;
    }
    for (size_t parts = 2; parts <= 8; parts++) {
        hw_balance_costs(A, costs, parts, bounds);
        assert_int_equal(bounds[0], 0);
        assert_int_equal(bounds[parts], 1000);
        for (size_t p = 1; p < parts; p++) {
            assert_true(bounds[p - 1] < bounds[p]);
            assert_true(fabs(before[bounds[p]] - before[1000] * (double)p / (double)parts) <= 0.5 * most + 1e-6);
        }
    }
    for (size_t j = 0; j < 1000; j++)
        costs[j] = j == 0 ? 1e9 : 0; /* one line holds every cut: the other parts still have lines */
    hw_balance_costs(A, costs, 8, bounds);
    for (size_t p = 0; p < 8; p++)
        assert_true(bounds[p] < bounds[p + 1]);
    hawser_dataset_free(dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequent_columns_do_not_leave_one_part_all_columns),
        cmocka_unit_test(lines_that_cost_more),
        cmocka_unit_test(rows_have_length_one),
        cmocka_unit_test(the_target_is_the_truth_and_a_tenth_of_noise),
        cmocka_unit_test(popularity_falls_by_zipfs_law),
        cmocka_unit_test(a_seed_gives_one_problem),
        cmocka_unit_test(impossible_problems_are_refused),
        cmocka_unit_test(a_dataset_from_a_view_is_a_copy),
        cmocka_unit_test(broken_arrays_are_refused),
        cmocka_unit_test(columns_without_entries_change_no_part),
        cmocka_unit_test(parts_are_balanced_and_not_empty),
        cmocka_unit_test(a_giant_column_leaves_the_others_a_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
