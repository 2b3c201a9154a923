#include "data_common.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct bytes {
    char text[4096];
    size_t count;
} bytes;

/* An .npy file of version 1 (or 2) with the given dictionary and content. */
static bytes npy_file(int version, const char *facts, const void *values, size_t size)
{
    bytes b = {.text = "\x93NUMPY"};
    size_t length = strlen(facts), start = version == 1 ? 10 : 12;
    b.text[6] = (char)version;
    b.text[8] = (char)(length & 255);
    b.text[9] = (char)(length >> 8);
    memcpy(b.text + start, facts, length);
    memcpy(b.text + start + length, values, size);
    b.count = start + length + size;
    return b;
}

static hawser_dataset *load_bytes(bytes b, hawser_load load)
{
    hawser_dataset *dataset;
    hawser_error error = {0};
    load.threads = 2;
    if (hw_load_memory("in", b.text, b.count, 0, &load, &dataset, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    return dataset;
}

static const double six[] = {1, 2, 3, 4, 5, 6};
static const float six_narrow[] = {1, 2, 3, 4, 5, 6};

static void both_types_and_orders_are_read(void **state)
{
    (void)state;
    const double by_rows[] = {2, 3, 5, 6}, by_columns[] = {3, 5, 4, 6}, y_rows[] = {1, 4}, y_columns[] = {1, 2};
    for (int k = 0; k < 16; k++) {
        int narrow = k & 1, fortran = k >> 1 & 1, single = k >> 2 & 1, version = 1 + (k >> 3 & 1);
        char facts[200];
        snprintf(facts, sizeof facts, "{'descr': '<f%d', 'fortran_order': %s, 'shape': (2, 3), }  \n", narrow ? 4 : 8,
                 fortran ? "True" : "False");
        bytes b = npy_file(version, facts, narrow ? (const void *)six_narrow : six, narrow ? sizeof six_narrow : sizeof six);
        hawser_load load = {.type = single ? HAWSER_F32 : HAWSER_F64};
        hawser_dataset *dataset = load_bytes(b, load);
        expect_matrix(dataset, 2, 2, fortran ? by_columns : by_rows);
        assert_memory_equal(hawser_dataset_target(dataset), fortran ? y_columns : y_rows, sizeof y_rows);
        assert_int_equal(hawser_dataset_figures(dataset)->format, HAWSER_NPY);
        hawser_dataset_free(dataset);
        load.target = "none";
        load.columns = 2;
        load.target_optional = true; /* the first column was the target, and is the one too many */
        load.target = NULL;
        dataset = load_bytes(b, load);
        expect_matrix(dataset, 2, 2, fortran ? by_columns : by_rows);
        assert_null(hawser_dataset_target(dataset));
        hawser_dataset_free(dataset);
    }
}

/* The parts of two arrays laid end to end, one in either order, are the rows of the whole: each once, in order, and no more
 * bytes. */
static void parts_are_runs_of_rows(void **state)
{
    (void)state;
    const char *names[] = {"/tmp/hawser-npy-1-XXXXXX", "/tmp/hawser-npy-2-XXXXXX"};
    char paths[2][40];
    const char *list[2] = {paths[0], paths[1]};
    for (int k = 0; k < 2; k++) {
        const char *facts = k ? "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }\n"
                              : "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
        bytes b = npy_file(1, facts, k ? (const void *)six : six_narrow, k ? sizeof six : sizeof six_narrow);
        snprintf(paths[k], sizeof paths[k], "%s", names[k]);
        int file = mkstemp(paths[k]);
        assert_int_equal(write(file, b.text, b.count), b.count);
        close(file);
    }
    const double whole[4][3] = {{1, 2, 3}, {4, 5, 6}, {1, 3, 5}, {2, 4, 6}};
    for (uint32_t parts = 2; parts <= 6; parts++) {
        size_t row = 0;
        for (uint32_t part = 0; part < parts; part++) {
            hawser_load load = {.threads = 2, .part = part, .parts = parts};
            hawser_dataset *dataset;
            hawser_error error = {0};
            if (hawser_dataset_load(list, 2, &load, &dataset, &error) != HAWSER_OK)
                fail_msg("%s", error.text);
            const hawser_matrix *A = hawser_dataset_matrix(dataset);
            const hawser_load_figures *figures = hawser_dataset_figures(dataset);
            assert_true(figures->parted);
            assert_true(A->rows <= (4 + parts - 1) / parts && A->cols == 2);
            assert_int_equal(figures->rows_read[0] + figures->rows_read[1], A->rows);
            for (size_t i = 0; i < A->rows; i++, row++) {
                assert_true(hawser_dataset_target(dataset)[i] == whole[row][0]);
                assert_true(entry_at(dataset, i, 0) == whole[row][1] && entry_at(dataset, i, 1) == whole[row][2]);
            }
            assert_true(figures->bytes_read <= 2 * 80 + A->rows * 24 && figures->bytes_text == figures->bytes_read);
            hawser_dataset_free(dataset);
        }
        assert_int_equal(row, 4);
    }
    unlink(paths[0]);
    unlink(paths[1]);
}

static void one_dimension_is_one_column(void **state)
{
    (void)state;
    hawser_dataset *dataset = load_bytes(
        npy_file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }\n", six, sizeof six), (hawser_load){0});
    expect_matrix(dataset, 6, 1, six);
    assert_null(hawser_dataset_target(dataset));
    hawser_dataset_free(dataset);
}

static void refuse_npy(bytes b, const char *message)
{
    refuse_bytes(b.text, b.count, (hawser_load){0}, message);
}

static void numbers_too_large_for_f32_are_named(void **state)
{
    (void)state;
    const double wide[] = {1, 2, 3, 4, 5, 1e39};
    bytes b = npy_file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", wide, sizeof wide);
    refuse_bytes(b.text, b.count, (hawser_load){.type = HAWSER_F32},
                 "in: row 2, column 1 (from 0): the value is 1e+39; it is too large for type f32, use f64");
}

static void other_arrays_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *facts, *message;
    } cases[] = {
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (3,), }",
         "in: numbers of type '<f16' are not supported; save the array as '<f4' or '<f8'"},
        {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (6,), }",
         "in: numbers of type '<M8[ns]' are not supported; save the array as '<f4' or '<f8'"},
        {"{'descr': '<U12', 'fortran_order': False, 'shape': (1,), }",
         "in: numbers of type '<U12' are not supported; save the array as '<f4' or '<f8'"},
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (6,), }",
         "in: numbers of type [('a' are not supported; save the array as '<f4' or '<f8'"},
        {"{'descr': '<c16', 'fortran_order': False, 'shape': (3,), }",
         "in: holds complex numbers ('<c16'), which are not supported; save their parts as columns"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (6,), }",
         "in: holds complex numbers ('<c8'), which are not supported; save their parts as columns"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (6,), }",
         "in: holds Python's objects ('|O'), and reading these would run code; save an array of numbers"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 3), }",
         "in: the shape (1, 2, 3) is not one or two dimensions of at most 4294967294"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-6,), }",
         "in: the shape (-6,) is not one or two dimensions of at most 4294967294"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (), }", "in: holds a single number, not a matrix"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 6), }", "in: other data follow the numbers"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (5,), }", "in: other data follow the numbers"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (120000, 120000), }",
         "in: the header declares 120000 x 120000 numbers, but the file has 48 bytes of them"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967294, 4294967294), }",
         "in: the header declares 4294967294 x 4294967294 numbers, but the file has 48 bytes of them"},
        {"{'descr': '<f8', 'shape': (6,), }", "in: damaged .npy header: {'descr': '<f8', 'shape': (6,), }"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse_npy(npy_file(1, cases[i].facts, six, sizeof six), cases[i].message);
    bytes b = npy_file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }", six, sizeof six);
    b.count = 20;
    refuse_npy(b, "in: is cut off in its header");
    b = npy_file(7, "{}", six, 0);
    refuse_npy(b, "in: .npy version 7 is not supported");
    double bad[] = {1, 2, 3, NAN};
    refuse_npy(npy_file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }", bad, sizeof bad),
               "in: row 1, column 1 (from 0): the value is nan; remove the row");
    bad[3] = -INFINITY;
    refuse_npy(npy_file(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }", bad, sizeof bad),
               "in: row 1, column 1 (from 0): the value is -inf; remove the row");
}

/* Types of numpy, each in both byte orders, against values that C converts. */
static void all_types_are_read_in_both_byte_orders(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        size_t size;
        uint64_t bits[4];
        double values[4];
    } cases[] = {
        {"b1", 1, {0, 1, 1, 0}, {0, 1, 1, 0}},
        {"u1", 1, {0, 1, 255, 128}, {0, 1, 255, 128}},
        {"i1", 1, {0, 1, 0xff, 0x80}, {0, 1, -1, -128}},
        {"u2", 2, {0, 1, 0xffff, 0x0102}, {0, 1, 65535, 258}},
        {"i2", 2, {0, 1, 0xffff, 0x8000}, {0, 1, -1, -32768}},
        {"u4", 4, {0, 1, 0xffffffff, 0x01020304}, {0, 1, 4294967295.0, 16909060}},
        {"i4", 4, {0, 1, 0xffffffff, 0x80000000}, {0, 1, -1, -2147483648.0}},
        {"u8", 8, {0, 1, UINT64_C(1) << 63, 0x0102030405}, {0, 1, 0x1p63, 4328719365.0}},
        {"i8", 8, {0, 1, UINT64_MAX, UINT64_C(1) << 63}, {0, 1, -1, -0x1p63}},
        {"f2", 2, {0x3c00, 0xc000, 0x0001, 0x7bff}, {1, -2, 0x1p-24, 65504}},
        {"f4", 4, {0x3f800000, 0xc0000000, 0x00000001, 0x7f7fffff}, {1, -2, 0x1p-149, 0x1.fffffep127}},
        {"f8", 8, {UINT64_C(0x3ff0000000000000), UINT64_C(0xc000000000000000), 1, 0}, {1, -2, 0x1p-1074, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int big = 0; big < 2; big++) {
            unsigned char numbers[32];
            char facts[100];
            size_t size = cases[i].size;
            for (size_t k = 0; k < 4 * size; k++) {
                size_t byte = big ? size - 1 - k % size : k % size;
                numbers[k] = (unsigned char)(cases[i].bits[k / size] >> 8 * byte);
            }
            snprintf(facts, sizeof facts, "{'descr': '%c%s', 'fortran_order': False, 'shape': (4,), }",
                     size == 1 ? '|'
                     : big     ? '>'
                               : '<',
                     cases[i].type);
            hawser_dataset *dataset = load_bytes(npy_file(1, facts, numbers, 4 * size), (hawser_load){0});
            expect_matrix(dataset, 4, 1, cases[i].values);
            hawser_dataset_free(dataset);
        }
    const uint64_t halves[] = {0x7c00, 0x7e00};
    for (int k = 0; k < 2; k++)
        refuse_npy(npy_file(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }", &halves[k], 2),
                   k == 0 ? "in: row 0, column 0 (from 0): the value is inf; remove the row"
                          : "in: row 0, column 0 (from 0): the value is nan; remove the row");
}

/* Whole numbers of 64 bits that a double rounds are numbers of a feature, but no labels. */
static void labels_that_would_become_others_are_refused(void **state)
{
    (void)state;
    const int64_t labels[] = {1, 2, (INT64_C(1) << 53) + 1, 3, -(INT64_C(1) << 53) - 1, INT64_MAX, (INT64_C(1) << 53) + 2,
                              5};
    for (size_t k = 0; k < 8; k += 2) {
        const char *facts = "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2), }";
        bool good = k == 0 || k == 6;
        bytes b = npy_file(1, facts, labels + k, 16);
        if (!good) {
            refuse_npy(b, k == 2
                              ? "in: row 0, column 0 (from 0): the target is a whole number near 9007199254740992 that a "
                                "double cannot hold, so it could become another one; number them anew"
                              : "in: row 0, column 0 (from 0): the target is a whole number near -9007199254740992 that a "
                                "double cannot hold, so it could become another one; number them anew");
            continue;
        }
        hawser_dataset *dataset = load_bytes(b, (hawser_load){0});
        assert_true(hawser_dataset_target(dataset)[0] == (double)labels[k]);
        hawser_dataset_free(dataset);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_types_and_orders_are_read),
        cmocka_unit_test(parts_are_runs_of_rows),
        cmocka_unit_test(one_dimension_is_one_column),
        cmocka_unit_test(all_types_are_read_in_both_byte_orders),
        cmocka_unit_test(labels_that_would_become_others_are_refused),
        cmocka_unit_test(numbers_too_large_for_f32_are_named),
        cmocka_unit_test(other_arrays_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
