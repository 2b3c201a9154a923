/* What is written, letter by letter, and that numbers read back as they were. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "comma_locale.h"
#include "data/cache/cache.h"
#include "data/dataset.h"
#include "data/format/number_text.h"
#include "directory.h"

/* The 3 x 3 matrix  1 0 2.5 / 0 -3 0 / 0.1 0 4e20  in every layout. */
static const uint64_t CSC_OFFSETS[] = {0, 2, 3, 5}, CSR_OFFSETS[] = {0, 2, 3, 5};
static const uint32_t CSC_INDICES[] = {0, 2, 1, 0, 2}, CSR_INDICES[] = {0, 2, 1, 0, 2};
static const double CSC_VALUES[] = {1, 0.1, -3, 2.5, 4e20}, CSR_VALUES[] = {1, 2.5, -3, 0.1, 4e20};
static const double DENSE[] = {1, 0, 0.1, 99, 0, -3, 0, 99, 2.5, 0, 4e20, 99};
static const double TARGET[] = {1, -0.25, 3}, WEIGHTS[] = {1, 2, 0.5};
static const char *const NAMES[] = {"a", "b \"c\"", ""};

static hawser_dataset sample(hawser_layout layout)
{
    hawser_dataset d = {.target = TARGET, .figures = {.index_base = 1}};
    d.matrix = (hawser_matrix){.rows = 3, .cols = 3, .layout = layout, .stored = layout == HAWSER_DENSE ? 9 : 5};
    d.matrix.offsets = layout == HAWSER_CSC ? CSC_OFFSETS : layout == HAWSER_CSR ? CSR_OFFSETS : NULL;
    d.matrix.indices = layout == HAWSER_CSC ? CSC_INDICES : layout == HAWSER_CSR ? CSR_INDICES : NULL;
    d.matrix.values = layout == HAWSER_CSC ? CSC_VALUES : layout == HAWSER_CSR ? CSR_VALUES : DENSE;
    d.matrix.stride = layout == HAWSER_DENSE ? 4 : 0;
    return d;
}

static void content_is(const char *path, const void *expected, size_t size)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    char content[2000] = {0};
    size_t got = fread(content, 1, sizeof content, in);
    (void)fclose(in);
    if (got != size || memcmp(content, expected, size) != 0)
        fail_msg("%s holds %zu bytes: %s", path, got, content);
}

static void text_is(const char *path, const char *expected)
{
    content_is(path, expected, strlen(expected));
}

static void svmlight(void **state)
{
    (void)state;
    hawser_error error;
    for (int layout = HAWSER_DENSE; layout <= HAWSER_CSR; layout++) {
        hawser_dataset d = sample((hawser_layout)layout);
        assert_int_equal(hawser_dataset_write(&d, 0, 3, HAWSER_SVMLIGHT, "o", &error), HAWSER_OK);
        text_is("o", "1 1:1 3:2.5\n-0.25 2:-3\n3 1:0.1 3:4e+20\n");
        assert_int_equal(hawser_dataset_write(&d, 1, 2, HAWSER_SVMLIGHT, "o", &error), HAWSER_OK);
        text_is("o", "-0.25 2:-3\n");
        d.figures.index_base = 0; /* a model of the original must read the copy alike */
        assert_int_equal(hawser_dataset_write(&d, 0, 3, HAWSER_SVMLIGHT, "o", &error), HAWSER_OK);
        text_is("o", "1 0:1 2:2.5\n-0.25 1:-3\n3 0:0.1 2:4e+20\n");
    }
}

static void csv(void **state)
{
    (void)state;
    hawser_error error;
    for (int layout = HAWSER_DENSE; layout <= HAWSER_CSR; layout++) {
        hawser_dataset d = sample((hawser_layout)layout);
        assert_int_equal(hawser_dataset_write(&d, 1, 3, HAWSER_CSV, "o", &error), HAWSER_OK);
        text_is("o", "target,x1,x2,x3\n-0.25,0,-3,0\n3,0.1,0,4e+20\n");
        d.columns = NAMES;
        d.target_name = "y,z";
        d.weights = WEIGHTS;
        d.offset = TARGET;
        assert_int_equal(hawser_dataset_write(&d, 0, 2, HAWSER_CSV, "o", &error), HAWSER_OK);
        text_is("o", "\"y,z\",weight,offset,a,\"b \"\"c\"\"\",\"\"\n1,1,1,1,0,2.5\n-0.25,2,-0.25,0,-3,0\n");
    }
}

static void matrix_market(void **state)
{
    (void)state;
    hawser_error error;
    for (int layout = HAWSER_DENSE; layout <= HAWSER_CSR; layout++) {
        hawser_dataset d = sample((hawser_layout)layout);
        assert_int_equal(hawser_dataset_write(&d, 1, 3, HAWSER_MATRIX_MARKET, "o", &error), HAWSER_OK);
        text_is("o.target", "%%MatrixMarket matrix array real general\n2 1\n-0.25\n3\n");
        if (layout == HAWSER_DENSE)
            text_is("o", "%%MatrixMarket matrix array real general\n2 3\n0\n0.1\n-3\n0\n0\n4e+20\n");
        else
            text_is("o", "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 2 -3\n2 1 0.1\n2 3 4e+20\n");
    }
}

/* A new target beside an old matrix would pass for its target. */
static void matrix_and_target_appear_together(void **state)
{
    (void)state;
    hawser_error error;
    hawser_dataset d = sample(HAWSER_CSC);
    assert_int_equal(mkdir("taken", 0700), 0);
    assert_int_equal(hawser_dataset_write(&d, 0, 3, HAWSER_MATRIX_MARKET, "taken", &error), HAWSER_IO);
    assert_int_equal(access("taken.target", F_OK), -1);
    assert_int_equal(mkdir("half.target", 0700), 0);
    assert_int_equal(hawser_dataset_write(&d, 0, 3, HAWSER_MATRIX_MARKET, "half", &error), HAWSER_IO);
    assert_int_equal(access("half", F_OK), -1);
    if (access("/dev/full", W_OK) != 0)
        return;
    assert_int_equal(symlink("/dev/full", "full"), 0);
    assert_int_equal(hawser_dataset_write(&d, 0, 3, HAWSER_MATRIX_MARKET, "full", &error), HAWSER_IO);
    assert_int_equal(access("full.target", F_OK), -1);
}

/* Columns without a name get one that no other has; two alike are refused, as the reader would. */
static void headers_read_back(void **state)
{
    (void)state;
    static const char *const taken[] = {"weight", "target", "offset"}, *const more[] = {"weight", "weight_2", "x"},
                             *const twice[] = {"b", "a", "b"};
    hawser_error error;
    hawser_dataset d = sample(HAWSER_DENSE), *back;
    d.weights = d.offset = WEIGHTS;
    d.columns = taken;
    assert_int_equal(hawser_dataset_write(&d, 0, 1, HAWSER_CSV, "c", &error), HAWSER_OK);
    text_is("c", "target_2,weight_2,offset_2,weight,target,offset\n1,1,1,1,0,2.5\n");
    const char *path = "c";
    const hawser_load load = {.target = "target_2", .weights = "weight_2", .offset = "offset_2"};
    assert_int_equal(hawser_dataset_load(&path, 1, &load, &back, &error), HAWSER_OK);
    assert_string_equal(hawser_dataset_column(back, 0), "weight");
    hawser_dataset_free(back);
    d.columns = more;
    d.target_name = "offset";
    assert_int_equal(hawser_dataset_write(&d, 0, 1, HAWSER_CSV, "c", &error), HAWSER_OK);
    text_is("c", "offset,weight_3,offset_2,weight,weight_2,x\n1,1,1,1,0,2.5\n");
    d.columns = twice;
    assert_int_equal(hawser_dataset_write(&d, 0, 1, HAWSER_CSV, "d", &error), HAWSER_BAD_INPUT);
    assert_string_equal(error.text,
                        "d: two columns are named 'b', so a CSV file with both could not be read back; give other "
                        "--names");
    assert_int_equal(access("d", F_OK), -1);
}

static void npy(void **state)
{
    (void)state;
    hawser_error error;
    for (int layout = HAWSER_DENSE; layout <= HAWSER_CSR; layout++) {
        hawser_dataset d = sample((hawser_layout)layout);
        bool dense = layout == HAWSER_DENSE;
        char expected[128 + 8 * sizeof(double)];
        memset(expected, ' ', 128);
        memcpy(expected, "\x93NUMPY\x01\0\x76\0", 10);
        char head[118];
        int length = snprintf(head, sizeof head, "{'descr': '<f8', 'fortran_order': %s, 'shape': (2, 4), }",
                              dense ? "True" : "False");
        memcpy(expected + 10, head, (size_t)length);
        expected[127] = '\n';
        const double rows[] = {-0.25, 0, -3, 0, 3, 0.1, 0, 4e20}, columns[] = {-0.25, 3, 0, 0.1, -3, 0, 0, 4e20};
        memcpy(expected + 128, dense ? columns : rows, sizeof rows);
        assert_int_equal(hawser_dataset_write(&d, 1, 3, HAWSER_NPY, "o", &error), HAWSER_OK);
        content_is("o", expected, sizeof expected);
    }
}

static void cache_of_some_rows(void **state)
{
    (void)state;
    hawser_error error;
    for (int layout = HAWSER_DENSE; layout <= HAWSER_CSR; layout++) {
        hawser_dataset d = sample((hawser_layout)layout), *part;
        d.weights = WEIGHTS;
        assert_int_equal(hawser_dataset_write(&d, 1, 3, HAWSER_CACHE, "o", &error), HAWSER_OK);
        const hawser_load load = {.rows_layout = layout == HAWSER_CSR};
        assert_int_equal(hw_cache_open("o", &load, &part, &error), HAWSER_OK);
        assert_int_equal(part->matrix.layout, layout);
        assert_int_equal(part->matrix.rows, 2);
        double out[2];
        hawser_multiply(&part->matrix, (const double[]){1, 10, 0}, 0, out);
        assert_true(out[0] == -30 && out[1] == 0.1);
        assert_memory_equal(part->target, TARGET + 1, sizeof out);
        assert_memory_equal(part->weights, WEIGHTS + 1, sizeof out);
        hawser_dataset_free(part);
    }
}

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    hawser_error error;
    hawser_dataset d = sample(HAWSER_CSC);
    assert_int_equal(hawser_dataset_write(&d, 2, 2, HAWSER_CSV, "o", &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_dataset_write(&d, 0, 4, HAWSER_CSV, "o", &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_dataset_write(&d, 0, 3, HAWSER_GUESS, "o", &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_dataset_write(&d, 0, 3, HAWSER_MATRIX_MARKET, "-", &error), HAWSER_BAD_ARGUMENT);
    if (access("/dev/full", W_OK) == 0)
        assert_int_equal(hawser_dataset_write(&d, 0, 3, HAWSER_CSV, "/dev/full", &error), HAWSER_IO);
    assert_int_equal(hawser_dataset_write(&d, 0, 3, HAWSER_CSV, "no/where", &error), HAWSER_IO);
    d.weights = WEIGHTS; /* never dropped in silence */
    assert_int_equal(hawser_dataset_write(&d, 0, 3, HAWSER_SVMLIGHT, "o", &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_dataset_write(&d, 0, 3, HAWSER_NPY, "o", &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(access("o", F_OK), -1);
}

static void number_is(double value, hawser_type type, const char *expected)
{
    char text[HW_NUMBER_TEXT + 1] = {0};
    text[hw_number_text(text, value, type)] = '\0';
    assert_string_equal(text, expected);
}

static void numbers_are_short(void **state)
{
    (void)state;
    number_is(0, HAWSER_F64, "0");
    number_is(-0.0, HAWSER_F64, "-0");
    number_is(123456789012345, HAWSER_F64, "123456789012345");
    number_is(-1000, HAWSER_F32, "-1000");
    number_is(0.1, HAWSER_F64, "0.1");
    number_is(0.1F, HAWSER_F32, "0.1");
    number_is(0.1 + 0.2, HAWSER_F64, "0.30000000000000004");
    number_is(2.5e-7, HAWSER_F64, "2.5e-07");
    number_is(5e-324, HAWSER_F64, "4.94065645841247e-324");
    number_is(1.7976931348623157e308, HAWSER_F64, "1.7976931348623157e+308");
}

static void numbers_read_back(void **state)
{
    (void)state;
    hw_random random = hw_random_at(1, 2, 3, 4);
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = hw_random_next(&random), back_bits;
        uint32_t few = (uint32_t)(bits >> 7);
        double value;
        float single;
        memcpy(&value, &bits, sizeof value);
        memcpy(&single, &few, sizeof single);
        char text[HW_NUMBER_TEXT + 1];
        if (isfinite(value)) {
            text[hw_number_text(text, value, HAWSER_F64)] = '\0';
            double back = strtod(text, NULL);
            memcpy(&back_bits, &back, sizeof back);
            assert_true(back_bits == bits);
        }
        if (isfinite(single)) {
            text[hw_number_text(text, single, HAWSER_F32)] = '\0';
            assert_true(strtof(text, NULL) == single);
        }
    }
}

/* Of the usual sizes, never longer than the shortest of the library's texts that reads back. */
static void a_comma_locale_changes_no_number(void **state)
{
    (void)state;
    if (!set_comma_locale())
        skip();
    static const double values[] = {0.1, 1e-300, 1.5e300, 0.00001234};
    char text[4][HW_NUMBER_TEXT];
    size_t length[4];
    for (int i = 0; i < 4; i++)
        length[i] = hw_number_text(text[i], values[i], i == 3 ? HAWSER_F32 : HAWSER_F64);
    setlocale(LC_ALL, "C");
    static const char *const expected[] = {"0.1", "1e-300", "1.5e+300", "1.234e-05"};
    for (int i = 0; i < 4; i++)
        assert_true(length[i] == strlen(expected[i]) && memcmp(text[i], expected[i], length[i]) == 0);
}

static void numbers_are_the_shortest(void **state)
{
    (void)state;
    hw_random random = hw_random_at(1, 2, 3, 5);
    for (int i = 0; i < 100000; i++) {
        double value = pow(10, 22 * hw_random_uniform(&random) - 6);
        if (i % 3 == 0) { /* a decimal of few digits, as people type them */
            char typed[40];
            (void)snprintf(typed, sizeof typed, "%.*g", 1 + i % 14, value);
            value = strtod(typed, NULL);
        }
        if (i % 2 == 0)
            value = -value;
        for (int type = HAWSER_F64; type <= HAWSER_F32; type++) {
            double stored = type == HAWSER_F32 ? (double)(float)value : value;
            char text[HW_NUMBER_TEXT + 1], library[40];
            size_t length = hw_number_text(text, stored, (hawser_type)type);
            text[length] = '\0';
            assert_true(type == HAWSER_F32 ? strtof(text, NULL) == (float)stored : strtod(text, NULL) == stored);
            for (int digits = 1; digits <= 17; digits++) {
                (void)snprintf(library, sizeof library, "%.*g", digits, stored);
                if (type == HAWSER_F32 ? strtof(library, NULL) == (float)stored : strtod(library, NULL) == stored)
                    break;
            }
            if (fabs(stored) >= 1e-4 && fabs(stored) < 1e15 && strchr(library, 'e') == NULL && length != strlen(library))
                fail_msg("%s, the library writes %s", text, library);
        }
    }
}

int main(void)
{
#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(svmlight),
        IN_DIRECTORY(csv),
        IN_DIRECTORY(matrix_market),
        IN_DIRECTORY(matrix_and_target_appear_together),
        IN_DIRECTORY(headers_read_back),
        IN_DIRECTORY(npy),
        IN_DIRECTORY(cache_of_some_rows),
        IN_DIRECTORY(wrong_calls_are_refused),
        cmocka_unit_test(numbers_are_short),
        cmocka_unit_test(numbers_read_back),
        cmocka_unit_test(numbers_are_the_shortest),
        cmocka_unit_test(a_comma_locale_changes_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
