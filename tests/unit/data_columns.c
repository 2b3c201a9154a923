/* Columns gathered from rows by way of buckets: more rows than a stretch has, columns narrow and far, text, archives,
 * limits, threads; all against columns that were put together entry by entry. */
#include "data_common.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "data/layout/buckets.h"

static void buckets_follow_each_other(void **state)
{
    (void)state;
    assert_int_equal(hw_bucket_begin(0), 0);
    assert_int_equal(hw_bucket_of(UINT32_MAX), hw_bucket_of(UINT32_MAX - 1));
    size_t last = hw_bucket_of(UINT32_MAX);
    for (size_t b = 0; b <= last; b++) {
        uint64_t begin = hw_bucket_begin(b), end = hw_bucket_begin(b + 1);
        assert_true(begin < end && end - begin <= 1 << HW_BUCKET_MOST);
        assert_int_equal(hw_bucket_of((uint32_t)begin), b);
        assert_int_equal(hw_bucket_of((uint32_t)(end - 1)), b);
    }
    assert_true(hw_bucket_begin(last + 1) == (uint64_t)UINT32_MAX + 1);
}

static void counts_are_distinguished_from_other_values(void **state)
{
    (void)state;
    unsigned char count;
    for (int n = 0; n < 256; n++) {
        assert_true(hw_small_count(n, &count));
        assert_int_equal(count, n);
        assert_false(hw_small_count(nextafter(n, 1000), &count));
        assert_false(hw_small_count(nextafter(n, -1000), &count));
        assert_false(hw_small_count(n + 0.5, &count));
    }
    const double others[] = {-0.0,       -1,          256,    257,   65536,  0x1p32, 0x1p52,
                             0x1p52 + 7, -0x1p52 + 7, 0x1p53, 1e308, -1e308, 1e-300, INFINITY};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(hw_small_count(others[i], &count));
}

enum { ROWS = 70000, COLUMNS = 2200000, LIMIT = 70001 };

typedef struct known {
    char *text;
    size_t bytes;
    uint32_t *columns, *rows; /* of each entry, as written */
    float *values;
    size_t entries, capacity;
} known;

static void add(known *k, uint32_t row, uint32_t column, float value)
{
    if (k->entries == k->capacity) {
        k->capacity = k->capacity * 2 + 1000;
        k->columns = realloc(k->columns, k->capacity * sizeof *k->columns);
        k->rows = realloc(k->rows, k->capacity * sizeof *k->rows);
        k->values = realloc(k->values, k->capacity * sizeof *k->values);
    }
    k->columns[k->entries] = column;
    k->rows[k->entries] = row;
    k->values[k->entries++] = value;
}

/* Some columns have counts alone, some until a row far down, one of them all but one, others anything. */
static float value_for(uint32_t row, uint32_t column, uint32_t chance)
{
    float count = (float)(chance >> 8 & 255), any = ((float)(chance >> 8 & 2047) - 1000) / 2;
    switch (column < 64 ? column % 5 : column >> 8 & 3) {
    case 0: return count;
    case 1: return row < 40000 ? count : any;
    case 2: return row % 10000 == 9999 ? -0.0F : count;
    case 3: return row % 2 == 0 ? 256 : count;
    default: return any;
    }
}

/* Rows of 0 to 6 entries; every power of two of columns is about as often met. */
static known make(void)
{
    known k = {.text = malloc(ROWS * 90)};
    uint32_t x = 7;
    for (uint32_t row = 0; row < ROWS; row++) {
        k.bytes += (size_t)sprintf(k.text + k.bytes, "%u", row % 1000);
        uint32_t column = row % 3; /* some first entries stand in the same column */
        for (uint32_t n = row % 7; n > 0 && column < COLUMNS; n--) {
            x = x * 1664525 + 1013904223;
            float value = value_for(row, column, x);
            k.bytes += (size_t)sprintf(k.text + k.bytes, " %u:%g", column + 1, (double)value);
            add(&k, row, column, value);
            column += 1 + (x >> 16) % (1u << ((x >> 4) % 19));
        }
        k.text[k.bytes++] = '\n';
    }
    k.text[k.bytes] = '\0';
    return k;
}

static void expect(const known *k, const hawser_dataset *dataset, size_t limit)
{
    const hawser_matrix *A = hawser_dataset_matrix(dataset);
    uint64_t *next = calloc(COLUMNS + 1, sizeof *next), unseen = 0, columns = 0, stored = 0;
    uint32_t most = 0;
    size_t wrong = 0; /* an assertion each would take most of the time */
    for (size_t e = 0; e < k->entries; e++) {
        next[k->columns[e]]++;
        most = k->columns[e] > most ? k->columns[e] : most;
    }
    size_t cols = limit != 0 ? limit : most + 1;
    assert_int_equal(A->rows, ROWS);
    assert_int_equal(A->cols, cols);
    for (size_t j = 0; j <= most; j++) {
        uint64_t count = next[j];
        if (j < cols) {
            wrong += A->offsets[j] != stored;
            next[j] = stored;
            stored += count;
        } else {
            unseen += count;
            columns += count > 0;
        }
    }
    assert_int_equal(A->stored, stored);
    assert_int_equal(A->offsets[cols], stored);
    for (size_t e = 0; e < k->entries; e++) {
        if (k->columns[e] >= cols)
            continue;
        uint64_t place = next[k->columns[e]]++;
        double value =
            A->type == HAWSER_F32 ? (double)((const float *)A->values)[place] : ((const double *)A->values)[place];
        if (A->indices[place] != k->rows[e] || value != (double)k->values[e] || !signbit(value) != !signbit(k->values[e]))
            fail_msg("entry %zu: row %u, value %g", e, A->indices[place], value);
    }
    for (size_t r = 0; r < ROWS; r++)
        wrong += hawser_dataset_target(dataset)[r] != (double)(r % 1000);
    assert_int_equal(wrong, 0);
    const hawser_load_figures *figures = hawser_dataset_figures(dataset);
    assert_int_equal(figures->unseen_entries, unseen);
    assert_int_equal(figures->unseen_columns, columns);
    uint64_t read = 0;
    for (uint32_t t = 0; t < figures->readers; t++)
        read += figures->rows_read[t];
    assert_int_equal(read, ROWS);
    free(next);
}

static void columns_equal_the_written_ones(void **state)
{
    (void)state;
    known k = make();
    char path[] = "/tmp/hawser-columns-XXXXXX.gz", command[100];
    int file = mkstemps(path, 3);
    assert_true(file >= 0);
    close(file);
    snprintf(command, sizeof command, "gzip -1 >%s", path);
    FILE *pipe = popen(command, "we");
    assert_int_equal(fwrite(k.text, 1, k.bytes, pipe), k.bytes);
    assert_int_equal(pclose(pipe), 0);
    const char *name = path;
    for (int single = 0; single < 2; single++)
        for (uint32_t threads = 1; threads <= 4; threads += 3)
            for (size_t limit = 0; limit <= LIMIT; limit += LIMIT) {
                hawser_load load = {.threads = threads, .columns = limit, .type = single ? HAWSER_F32 : HAWSER_F64};
                hawser_dataset *dataset;
                assert_int_equal(hw_load_memory("in", k.text, k.bytes, 0, &load, &dataset, NULL), HAWSER_OK);
                expect(&k, dataset, limit);
                hawser_dataset_free(dataset);
                assert_int_equal(hawser_dataset_load(&name, 1, &load, &dataset, NULL), HAWSER_OK);
                expect(&k, dataset, limit);
                hawser_dataset_free(dataset);
            }
    hawser_load load = {.columns = COLUMNS + 100}; /* columns that no entry has */
    hawser_dataset *dataset;
    assert_int_equal(hw_load_memory("in", k.text, k.bytes, 0, &load, &dataset, NULL), HAWSER_OK);
    expect(&k, dataset, load.columns);
    assert_int_equal(hawser_dataset_matrix(dataset)->offsets[COLUMNS + 50], k.entries);
    hawser_dataset_free(dataset);
    unlink(path);
    free(k.text);
    free(k.columns);
    free(k.rows);
    free(k.values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_follow_each_other),
        cmocka_unit_test(counts_are_distinguished_from_other_values),
        cmocka_unit_test(columns_equal_the_written_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
