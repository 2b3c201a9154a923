#include "data_common.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct bytes {
    char text[4096];
    size_t count;
} bytes;

/* An idx file's header of the given type and sizes. */
static bytes idx_head(int type, size_t dimensions, const uint32_t *sizes)
{
    bytes b = {.text = {0, 0, (char)type, (char)dimensions}, .count = 4};
    for (size_t d = 0; d < dimensions; d++)
        for (int shift = 24; shift >= 0; shift -= 8)
            b.text[b.count++] = (char)(sizes[d] >> shift);
    return b;
}

/* Appends a number of `size` bytes, the most significant first. */
static void put_number(bytes *b, int type, size_t size, double value)
{
    float narrow = (float)value;
    uint32_t low;
    uint64_t bits;
    memcpy(&low, &narrow, sizeof low);
    memcpy(&bits, &value, sizeof bits);
    bits = type == 0x0e ? bits : type == 0x0d ? low : (uint64_t)(int64_t)value;
    for (size_t i = size; i-- > 0;)
        b->text[b->count++] = (char)(bits >> 8 * i);
}

static hawser_dataset *load_bytes(bytes b, hawser_load load)
{
    hawser_dataset *dataset;
    hawser_error error = {0};
    if (hw_load_memory("in", b.text, b.count, 0, &load, &dataset, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    return dataset;
}

/* Least and most of each type, and numbers whose bytes all differ. */
static const struct {
    int type;
    size_t size;
    double values[6];
} kinds[] = {
    {0x08, 1, {0, 255, 127, 128, 1, 254}},
    {0x09, 1, {-128, 127, -1, 0, 1, -127}},
    {0x0b, 2, {-32768, 32767, -1, 0, 0x0102, -0x0102}},
    {0x0c, 4, {-2147483648.0, 2147483647.0, -1, 0, 0x01020304, -0x01020304}},
    {0x0d, 4, {-0x1.fffffep127, 0x1.fffffep127, 0x1p-149, -0.0, 1.5, -0x1.234568p3}},
    {0x0e, 8, {-0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023, 0x1p-1074, -0.0, 1.5, -0x1.23456789abcdep3}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bytes six_of(size_t kind, size_t dimensions, const uint32_t *sizes)
{
    bytes b = idx_head(kinds[kind].type, dimensions, sizes);
    for (size_t i = 0; i < 6; i++)
        put_number(&b, kinds[kind].type, kinds[kind].size, kinds[kind].values[i]);
    return b;
}

static void all_six_types_are_read_to_the_last_bit(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        for (uint32_t threads = 1; threads <= 3; threads++) {
            hawser_dataset *dataset = load_bytes(six_of(k, 2, (uint32_t[]){3, 2}), (hawser_load){.threads = threads});
            expect_matrix(dataset, 3, 2, kinds[k].values);
            for (size_t i = 0; i < 6; i++)
                assert_true(signbit(entry_at(dataset, i / 2, i % 2)) == signbit(kinds[k].values[i]));
            assert_null(hawser_dataset_target(dataset));
            assert_int_equal(hawser_dataset_figures(dataset)->format, HAWSER_IDX);
            hawser_dataset_free(dataset);
        }
}

static void dimensions_behind_the_first_are_columns(void **state)
{
    (void)state;
    static const struct {
        size_t dimensions;
        uint32_t sizes[5];
        size_t rows, columns;
    } shapes[] = {{1, {6}, 6, 1}, {2, {2, 3}, 2, 3}, {3, {1, 2, 3}, 1, 6}, {3, {3, 2, 1}, 3, 2}, {5, {2, 1, 3, 1, 1}, 2, 3}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        hawser_load load = {.threads = 2, .format = HAWSER_IDX};
        hawser_dataset *dataset = load_bytes(six_of(2, shapes[s].dimensions, shapes[s].sizes), load);
        expect_matrix(dataset, shapes[s].rows, shapes[s].columns, kinds[2].values);
        hawser_dataset_free(dataset);
    }
}

static void a_column_is_the_target_if_it_is_named(void **state)
{
    (void)state;
    const double rest[] = {1, 2, 4, 5}, target[] = {3, 6};
    bytes b = idx_head(0x0b, 2, (uint32_t[]){2, 3});
    for (int i = 1; i <= 6; i++)
        put_number(&b, 0x0b, 2, i);
    hawser_dataset *dataset = load_bytes(b, (hawser_load){.target = "-1", .type = HAWSER_F32});
    expect_matrix(dataset, 2, 2, rest);
    assert_memory_equal(hawser_dataset_target(dataset), target, sizeof target);
    hawser_dataset_free(dataset);
    refuse_bytes(
        b.text, b.count, (hawser_load){.columns = 2},
        "in: has 3 columns besides target, weights and offset, and the model has 2; without names they are matched by "
        "position");
    refuse_bytes(b.text, b.count, (hawser_load){.target = "3"},
                 "in: the target '3' is neither a free column (of 3, from 0) nor a file");
}

static void write_file(char *path, bytes b)
{
    int file = mkstemp(path);
    assert_int_equal(write(file, b.text, b.count), b.count);
    close(file);
}

/* Labels are bytes, images are 16-bit numbers in two files; every part has its rows, in order. */
static void labels_are_a_file_and_parts_are_runs_of_rows(void **state)
{
    (void)state;
    char images[2][40] = {"/tmp/hawser-idx-1-XXXXXX", "/tmp/hawser-idx-2-XXXXXX"}, labels[40] = "/tmp/hawser-idx-3-XXXXXX";
    const char *paths[] = {images[0], images[1]};
    bytes target = idx_head(0x08, 1, (uint32_t[]){4});
    for (int k = 0; k < 2; k++) {
        bytes b = idx_head(0x0b, 3, (uint32_t[]){2, 2, 2});
        for (int i = 0; i < 8; i++)
            put_number(&b, 0x0b, 2, 1000 * k - 100 * i);
        write_file(images[k], b);
    }
    for (int i = 0; i < 4; i++)
        put_number(&target, 0x08, 1, 252 + i);
    write_file(labels, target);
    hawser_load load = {.target = labels, .threads = 2};
    hawser_dataset *dataset;
    hawser_error error = {0};
    assert_int_equal(hawser_dataset_load(paths, 2, &load, &dataset, &error), HAWSER_OK);
    assert_true(hawser_dataset_figures(dataset)->target_file);
    for (size_t i = 0; i < 4; i++)
        assert_true(hawser_dataset_target(dataset)[i] == 252 + (double)i);
    for (uint32_t parts = 2; parts <= 5; parts++) {
        size_t row = 0;
        for (uint32_t part = 0; part < parts; part++) {
            hawser_dataset *share;
            load = (hawser_load){.threads = 2, .part = part, .parts = parts};
            assert_int_equal(hawser_dataset_load(paths, 2, &load, &share, &error), HAWSER_OK);
            assert_true(hawser_dataset_figures(share)->parted);
            for (size_t i = 0; i < hawser_dataset_matrix(share)->rows; i++, row++)
                for (size_t j = 0; j < 4; j++)
                    assert_true(entry_at(share, i, j) == entry_at(dataset, row, j));
            hawser_dataset_free(share);
        }
        assert_int_equal(row, 4);
    }
    hawser_dataset_free(dataset);
    for (int k = 0; k < 2; k++)
        unlink(images[k]);
    unlink(labels);
}

static void damaged_headers_are_refused_with_one_line(void **state)
{
    (void)state;
    static const struct {
        int type;
        size_t dimensions;
        uint32_t sizes[4];
        const char *message;
    } cases[] = {
        {0x08, 0, {0}, "in: has no dimensions; expected one or more"},
        {0x08, 2, {0, 6}, "in: dimension 1 of 2 has size 0, so there are no numbers"},
        {0x08, 3, {6, 1, 0}, "in: dimension 3 of 3 has size 0, so there are no numbers"},
        {0x08, 1, {5}, "in: other data follow the numbers"},
        {0x08, 1, {7}, "in: the header declares 7 x 1 numbers, but the file has 6 bytes of them"},
        {0x0b, 2, {2, 2}, "in: the header declares 2 x 2 numbers, but the file has 6 bytes of them"},
        {0x0e,
         2,
         {4294967294, 4294967294},
         "in: the header declares 4294967294 x 4294967294 numbers, but the file has 6 bytes of them"},
        {0x08, 1, {4294967295}, "in: dimension 1 of 1, of size 4294967295, makes more than 4294967294 rows"},
        {0x08, 3, {1, 65536, 65536}, "in: dimension 3 of 3, of size 65536, makes more than 4294967294 columns"},
        {0x08,
         4,
         {1, 4294967294, 4294967295, 1},
         "in: dimension 3 of 4, of size 4294967295, makes more than 4294967294 columns"},
        {0x0a, 1, {6}, "in: idx numbers of type 0x0a are unknown; expected 0x08, 0x09, 0x0b, 0x0c, 0x0d or 0x0e"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes b = idx_head(cases[i].type, cases[i].dimensions, cases[i].sizes);
        for (int k = 0; k < 6; k++)
            put_number(&b, 0x08, 1, k);
        refuse_bytes(b.text, b.count, (hawser_load){0}, cases[i].message);
    }
    bytes b = idx_head(0x07, 1, (uint32_t[]){1});
    refuse_bytes(b.text, b.count, (hawser_load){.format = HAWSER_IDX},
                 "in: idx numbers of type 0x07 are unknown; expected 0x08, 0x09, 0x0b, 0x0c, 0x0d or 0x0e");
    refuse_bytes("1,2\n", 4, (hawser_load){.format = HAWSER_IDX}, "in: is not an idx file, by its first bytes");
    b = idx_head(0x08, 3, (uint32_t[]){1, 1, 1});
    for (size_t count = 1; count < b.count; count++)
        refuse_bytes(b.text, count, (hawser_load){.format = HAWSER_IDX}, "in: is cut off in its header");
    refuse_bytes(b.text, b.count, (hawser_load){0},
                 "in: the header declares 1 x 1 numbers, but the file has 0 bytes of them");
    for (hawser_format format = HAWSER_SVMLIGHT; format <= HAWSER_CSV; format++)
        refuse_bytes(b.text, b.count, (hawser_load){.format = format},
                     "in: is an idx file, and the input is read as text; name idx files alone, with format idx or guess");
}

static void numbers_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    for (size_t k = 4; k < KINDS; k++) {
        bytes b = idx_head(kinds[k].type, 3, (uint32_t[]){2, 2, 1});
        for (int i = 0; i < 4; i++)
            put_number(&b, kinds[k].type, kinds[k].size, i < 3 ? i : INFINITY);
        refuse_bytes(b.text, b.count, (hawser_load){0}, "in: row 1, column 1 (from 0): the value is inf; remove the row");
        b.count -= 2 * kinds[k].size;
        put_number(&b, kinds[k].type, kinds[k].size, NAN);
        put_number(&b, kinds[k].type, kinds[k].size, 1);
        refuse_bytes(b.text, b.count, (hawser_load){0}, "in: row 1, column 0 (from 0): the value is nan; remove the row");
    }
    bytes b = idx_head(0x0e, 1, (uint32_t[]){1});
    put_number(&b, 0x0e, 8, 1e39);
    refuse_bytes(b.text, b.count, (hawser_load){.type = HAWSER_F32},
                 "in: row 0, column 0 (from 0): the value is 1e+39; it is too large for type f32, use f64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_six_types_are_read_to_the_last_bit),
        cmocka_unit_test(dimensions_behind_the_first_are_columns),
        cmocka_unit_test(a_column_is_the_target_if_it_is_named),
        cmocka_unit_test(labels_are_a_file_and_parts_are_runs_of_rows),
        cmocka_unit_test(damaged_headers_are_refused_with_one_line),
        cmocka_unit_test(numbers_that_are_not_finite_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
