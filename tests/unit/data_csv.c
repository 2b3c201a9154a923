#include "data_common.h"

#include <math.h>
#include <stdlib.h>

static const hawser_load plain = {.format = HAWSER_CSV};

static void a_header_gives_names(void **state)
{
    (void)state;
    hawser_load load = {.target = "y"};
    hawser_dataset *dataset = load_text("a,\"b \"\"x\"\", c\",y\n1, 2 ,3\r\n\"4\",5e0,-6\n\n", load);
    const double values[] = {1, 2, 4, 5}, target[] = {3, -6};
    expect_matrix(dataset, 2, 2, values);
    assert_memory_equal(hawser_dataset_target(dataset), target, sizeof target);
    assert_string_equal(hawser_dataset_column(dataset, 0), "a");
    assert_string_equal(hawser_dataset_column(dataset, 1), "b \"x\", c");
    assert_null(hawser_dataset_column(dataset, 2));
    assert_string_equal(hawser_dataset_target_name(dataset), "y");
    assert_int_equal(hawser_dataset_figures(dataset)->format, HAWSER_CSV);
    assert_int_equal(hawser_dataset_figures(dataset)->index_base, -1);
    hawser_dataset_free(dataset);
}

/* The first line looks like the second one, a word and a number: it is a header if an option says one of its names. */
static void a_header_is_known_by_a_name_in_an_option(void **state)
{
    (void)state;
    const struct {
        hawser_load load;
        size_t rows;
    } cases[] = {
        {{.target = "y"}, 1}, {{.target = "1", .ignore = "9,y"}, 1},      {{.target = "1", .categories = "y"}, 1},
        {{.target = "1"}, 2}, {{.target = "1", .categories = "auto"}, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hawser_dataset *dataset = load_text("y,7,9\nred,2,4\n", cases[i].load);
        assert_int_equal(hawser_dataset_matrix(dataset)->rows, cases[i].rows);
        assert_int_equal(hawser_dataset_figures(dataset)->header_guessed, cases[i].rows == 1 ? 1 : -1);
        hawser_dataset_free(dataset);
    }
    hawser_dataset *dataset = load_text("auto,7\nred,2\n", (hawser_load){.target = "1", .categories = "auto"});
    assert_int_equal(hawser_dataset_matrix(dataset)->rows, 2);
    hawser_dataset_free(dataset);
}

static void columns_have_roles_by_name_or_number(void **state)
{
    (void)state;
    static const char *const targets[] = {"-2", "2", "t"};
    for (int i = 0; i < 3; i++)
        for (int single = 0; single < 2; single++) {
            hawser_load load = {
                .target = targets[i], .weights = "w", .offset = "-1", .type = single ? HAWSER_F32 : HAWSER_F64};
            hawser_dataset *dataset = load_text("x,w,t,o\n1,2,3,4\n5,6,7,8\n", load);
            const double x[] = {1, 5}, w[] = {2, 6}, t[] = {3, 7}, o[] = {4, 8};
            expect_matrix(dataset, 2, 1, x);
            assert_memory_equal(hawser_dataset_weights(dataset), w, sizeof w);
            assert_memory_equal(hawser_dataset_target(dataset), t, sizeof t);
            assert_memory_equal(hawser_dataset_offset(dataset), o, sizeof o);
            hawser_dataset_free(dataset);
        }
    hawser_load none = {.target = "none", .header = -1};
    hawser_dataset *dataset = load_text("1,2\n3,4\n", none);
    const double all[] = {1, 2, 3, 4};
    expect_matrix(dataset, 2, 2, all);
    assert_null(hawser_dataset_target(dataset));
    hawser_dataset_free(dataset);
    hawser_load wrong = {.target = "price"};
    refuse_text("x,y\n1,2\n", wrong,
                "in: the target 'price' is neither a column (of 2, from 0) nor a file; its columns are x, y");
    hawser_load twice = {.target = "0", .weights = "0"};
    char long_names[300]; /* names that do not fit the message are left out of it */
    for (int length = 150; length < 200; length++) {
        snprintf(long_names, sizeof long_names, "%0*d,y\n1,2\n", length, 7);
        long_names[0] = 'c';
        hawser_dataset *refused;
        hawser_error error = {0};
        assert_int_equal(hw_load_memory("in", long_names, strlen(long_names), 0, &wrong, &refused, &error),
                         HAWSER_BAD_INPUT);
        assert_non_null(strstr(error.text, "is neither a column (of 2, from 0) nor a file"));
    }
    refuse_text("1,2\n", twice, "in: the weights '0' names a column that has another role");
    hawser_load negative = {.weights = "1"};
    refuse_text("1,2,3\n1,-2,3\n", negative,
                "in: the weight of row 2 is negative: -2; weights are 0 or more, so remove the row or correct it");
}

/* Whatever it is called: that another column's name is a number does not make it the target. */
static void the_first_column_is_the_target_if_none_is_named(void **state)
{
    (void)state;
    const char *text = "y,0,1,2\n5,6,7,8\n9,10,11,12\n";
    const double first[] = {5, 9}, named[] = {6, 10}, features[] = {6, 7, 8, 10, 11, 12};
    hawser_dataset *dataset = load_text(text, plain);
    expect_matrix(dataset, 2, 3, features);
    assert_memory_equal(hawser_dataset_target(dataset), first, sizeof first);
    assert_string_equal(hawser_dataset_target_name(dataset), "y");
    hawser_dataset_free(dataset);
    dataset = load_text(text, (hawser_load){.format = HAWSER_CSV, .target = "0"});
    assert_memory_equal(hawser_dataset_target(dataset), named, sizeof named);
    assert_string_equal(hawser_dataset_target_name(dataset), "0");
    hawser_dataset_free(dataset);
}

/* The sum of numbers whose mean is one may be none. */
static void means_of_large_numbers_are_finite(void **state)
{
    (void)state;
    hawser_load load = {.missing = "mean"};
    hawser_dataset *dataset =
        load_text("y,a,b\n1,1.5e308,-1.7976931348623157e308\n2,1.7e308,\n3,,-1.7976931348623157e308\n", load);
    assert_true(fabs(entry_at(dataset, 2, 0) / 1.6e308 - 1) < 1e-15);
    assert_true(entry_at(dataset, 1, 1) == -1.7976931348623157e308);
    assert_true(hawser_dataset_means(dataset)[1] == -1.7976931348623157e308);
    hawser_dataset_free(dataset);
    const double means[] = {1e300};
    hawser_load narrow = {.missing = "mean", .type = HAWSER_F32, .means = means, .columns = 1};
    refuse_text("y,a\n1,\n2,3\n", narrow,
                "in: the mean 1e+300, which the model has for column 'a', is too large for type f32; use f64");
}

static void a_header_must_be_utf8(void **state)
{
    (void)state;
    refuse_text("y,a,caf\xe9\n1,2,3\n", plain,
                "in: the name of column 2 (from 0) is not UTF-8; convert the file, for example: "
                "iconv -f ISO-8859-1 -t UTF-8");
    hawser_dataset *dataset = load_text("y,a,caf\xc3\xa9\n1,2,3\n", plain);
    assert_string_equal(hawser_dataset_column(dataset, 1), "caf\xc3\xa9");
    hawser_dataset_free(dataset);
}

static void the_delimiter_is_found(void **state)
{
    (void)state;
    static const char *const texts[] = {"1,2,3\n4,5,6\n", "1;2;3\n4;5;6\n", "1\t2\t3\n4\t5\t6\n", "1 \t2\t 3\n4\t5\t6\n"};
    const double values[] = {2, 3, 5, 6};
    for (int i = 0; i < 4; i++) {
        hawser_dataset *dataset = load_text(texts[i], plain);
        expect_matrix(dataset, 2, 2, values);
        hawser_dataset_free(dataset);
    }
    hawser_load bar = {.format = HAWSER_CSV, .delimiter = '|'};
    hawser_dataset *dataset = load_text("1|2|3\n4|5|6\n", bar);
    expect_matrix(dataset, 2, 2, values);
    hawser_dataset_free(dataset);
}

static void missing_values_are_treated_as_asked(void **state)
{
    (void)state;
    const char *text = "y,a,b\n1,2,3\n2,,5\n3,4,NA\n4,6,\"\"\n";
    hawser_load load = {.missing = "zero"};
    hawser_dataset *dataset = load_text(text, load);
    const double zero[] = {2, 3, 0, 5, 4, 0, 6, 0}, mean[] = {2, 3, 4, 5, 4, 4, 6, 4}, drop[] = {2, 3};
    expect_matrix(dataset, 4, 2, zero);
    hawser_dataset_free(dataset);
    load.missing = "mean";
    dataset = load_text(text, load);
    expect_matrix(dataset, 4, 2, mean);
    hawser_dataset_free(dataset);
    load.missing = "drop";
    dataset = load_text(text, load);
    expect_matrix(dataset, 1, 2, drop);
    assert_int_equal(hawser_dataset_figures(dataset)->rows_dropped, 3);
    hawser_dataset_free(dataset);
    load.missing = "refuse";
    refuse_text(text, load, "in:3:3: a value is missing in column 1 'a'; use --missing zero, mean or drop: \",5\"");
    load.missing = "mean";
    refuse_text("y,a\n1,2\n,3\n", load,
                "in:3:1: the target is missing in column 0 'y'; only --missing drop helps here: \",3\"");
    refuse_text("y,a\n1,\n2,?\n", load,
                "in: every value of column 'a' is missing, so it has no mean; leave it out (--ignore)");
    load.missing = "drop";
    refuse_text("y,a\n1,\n2,?\n", load, "in: no rows in the input");
}

static void wrong_text_is_refused_with_place_and_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"1,2\n3,x\n", "in:2: column 1 has numbers (1) and words (1, as here 'x'); correct the words, or read all as words: "
                       "--categories 1"},
        {"1,2\n3, cat \n", "in:2: column 1 has numbers (1) and words (1, as here 'cat'); correct the words, or read all as "
                           "words: --categories 1"},
        {"1,2\nyes,3\n", "in:2: column 0 has numbers (1) and words (1, as here 'yes'); correct the words, or read all as "
                         "words: --categories 0"},
        {"1;2\n3;4,5\n", "in:2:3: a comma is in the number; write a decimal point, and no groups: \"4\""},
        {"1,2\n3,\"1,000\"\n", "in:2:4: a comma is in the number; write a decimal point, and no groups: \"1\""},
        {"1,2\n3,inf\n", "in:2:3: the value is infinite; remove the row or write a number: \"inf\""},
        {"1,2\n3,1e999\n", "in:2:3: the value is too large: \"1e999\""},
        {"1,2\n3,4\n5,6,7\n", "in:3:5: expected 2 fields, as in the first line, but found more: \"7\""},
        {"1,2\n3\n", "in:2:2: expected 2 fields, as in the first line, but found 1: end of line"},
        {"1,2\n3,\"4\n5,6\n", "in:2:3: no quote closes the field that begins here, within 64 MiB or up to the end of the "
                              "input: \"\"4\""},
        {"1,2\n3,\"4\n5\",1e999\n",
         "in:3:4: expected 2 fields, as in the first line, but found more: \"1e999\"; the row begins "
         "on line 2"},
        {"1,2\n3,\"4\"5\n", "in:2:6: something follows a closing quote: \"5\""},
        {"1,2\n3,4 5\n", "in:2:3: a separator is in the number; write a decimal point, and no groups: \"4\""},
        {"1,2\n3,-nan\n", "in:2:3: the value is NaN; remove the row or write a number: \"-nan\""},
        {"a,b\n", "in: no rows in the input"},
        {"\n\n", "in: no rows in the input"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse_text(cases[i].text, plain, cases[i].message);
    hawser_load narrow = {.format = HAWSER_CSV, .type = HAWSER_F32};
    refuse_text("1,2\n3,1e39\n", narrow, "in:2:3: the value in column 1 is too large for type f32; use f64: \"1e39\"");
    hawser_dataset_free(load_text("\n\n\n\n\n\n\n\n\n\n\na,b\n1,2\n", plain)); /* a header many chunks in */
    hawser_load odd = {.format = HAWSER_CSV, .missing = "guess"};
    hawser_dataset *dataset;
    assert_int_equal(hw_load_memory("in", "1,2\n", 4, 0, &odd, &dataset, NULL), HAWSER_BAD_OPTION);
}

static void columns_without_names_are_as_many_as_the_models(void **state)
{
    (void)state;
    const double values[] = {2, 7, 4, 5};
    hawser_dataset *dataset = load_text("1,2,7\n3,4,5\n", (hawser_load){.columns = 2, .header = -1});
    expect_matrix(dataset, 2, 2, values);
    hawser_dataset_free(dataset);
    for (size_t columns = 1; columns < 6; columns += 4) {
        char text[200];
        snprintf(
            text, sizeof text,
            "in: has 2 columns besides target, weights and offset, and the model has %zu; without names on both sides they "
            "are matched by position",
            columns);
        refuse_text("1,2,3\n", (hawser_load){.columns = columns}, text);
    }
}

static void threads_and_chunks_change_nothing(void **state)
{
    (void)state;
    enum { ROWS = 500, COLS = 70, BYTES = 1 << 20 };
    char *text = malloc(BYTES);
    size_t used = 0;
    for (unsigned i = 0; i < ROWS; i++)
        for (unsigned j = 0; j < COLS; j++)
            used += (size_t)snprintf(text + used, BYTES - used, "%.*g%c", 1 + (int)(i % 15), (i * 7919 + j * 104729) * 1e-7,
                                     j + 1 < COLS ? ',' : '\n');
    hawser_dataset *first = NULL, *other;
    for (uint32_t threads = 1; threads <= 5; threads++)
        for (size_t chunk = 37; chunk < 100000; chunk *= 13) {
            hawser_load load = {.threads = threads};
            assert_int_equal(hw_load_memory("in", text, used, chunk, &load, &other, NULL), HAWSER_OK);
            if (first == NULL) {
                first = other;
                continue;
            }
            assert_int_equal(other->matrix.rows, ROWS);
            assert_memory_equal(first->matrix.values, other->matrix.values, ROWS * (COLS - 1) * sizeof(double));
            assert_memory_equal(first->target, other->target, ROWS * sizeof(double));
            hawser_dataset_free(other);
        }
    for (size_t j = 1; j < COLS; j++) {
        char number[40];
        snprintf(number, sizeof number, "%.*g", 1 + 499 % 15, (499 * 7919 + j * 104729) * 1e-7);
        assert_true(entry_at(first, 499, j - 1) == strtod(number, NULL));
    }
    hawser_dataset_free(first);
    free(text);
}

/* Lines without a row are recognised only when they are parsed, and their space is closed again. */
static void blank_lines_and_dropped_rows_leave_no_gaps(void **state)
{
    (void)state;
    enum { ROWS = 400, BYTES = 1 << 16 };
    char *full = malloc(BYTES), *gaps = malloc(BYTES);
    size_t full_used = (size_t)snprintf(full, BYTES, "a,y,w,b\n"), gaps_used = (size_t)snprintf(gaps, BYTES, "\na,y,w,b\n");
    for (int i = 0; i < ROWS; i++) {
        char row[80];
        snprintf(row, sizeof row, "%d,%d,%d,%d\n", 3 * i, i * i, i % 5 + 1, -i);
        full_used += (size_t)snprintf(full + full_used, BYTES - full_used, "%s", row);
        gaps_used += (size_t)snprintf(gaps + gaps_used, BYTES - gaps_used, "%s%s%s", i % 7 == 3 ? "\n\r\n" : "",
                                      i % 11 == 5 || i > 390 ? "1,2,3,\n" : "", row);
    }
    for (int single = 0; single < 2; single++) {
        hawser_load load = {.type = single ? HAWSER_F32 : HAWSER_F64, .target = "y", .weights = "w", .missing = "drop"};
        hawser_dataset *plain_one, *other;
        assert_int_equal(hw_load_memory("in", full, full_used, 0, &load, &plain_one, NULL), HAWSER_OK);
        const hawser_matrix *A = &plain_one->matrix;
        for (load.threads = 1; load.threads <= 5; load.threads++)
            for (size_t chunk = 37; chunk < 10000; chunk *= 13) {
                assert_int_equal(hw_load_memory("in", gaps, gaps_used, chunk, &load, &other, NULL), HAWSER_OK);
                assert_int_equal(other->matrix.rows, ROWS);
                assert_int_equal(other->matrix.stride, ROWS);
                assert_int_equal(other->matrix.cols, 2);
                assert_memory_equal(A->values, other->matrix.values, ROWS * 2 * (single ? sizeof(float) : sizeof(double)));
                assert_memory_equal(plain_one->target, other->target, ROWS * sizeof(double));
                assert_memory_equal(plain_one->weights, other->weights, ROWS * sizeof(double));
                assert_int_equal(other->figures.rows_dropped, 45);
                hawser_dataset_free(other);
            }
        assert_true(entry_at(plain_one, 399, 0) == 3 * 399 && entry_at(plain_one, 399, 1) == -399);
        hawser_dataset_free(plain_one);
    }
    free(full);
    free(gaps);
}

static void an_error_names_the_guessed_csv_format(void **state)
{
    (void)state;
    refuse_text("a b\n5 6 7\n", (hawser_load){0},
                "in:2:1: a separator is in the number; write a decimal point, and no groups: \"5\"; its first line shows no "
                "delimiter: see --delimiter and --format");
    refuse_text("1 -1:2\n", (hawser_load){0},
                "in: no rows in the input; its first line shows no delimiter: see --delimiter and --format");
}

/* However many there are, and where a line begins and ends. */
static void blanks_are_a_delimiter(void **state)
{
    (void)state;
    const double values[] = {2, -3, 5, .25, 8, 9};
    static const char *const texts[] = {" 1  2 -3 \n4 5   .25\n\n   7 8 9  \r\n",
                                        "  1\t2   -3 \r\n\n  \n \t4 5 \t.25\t\n7 8  9",
                                        " 1 \"2\" -3\n4 \"5\"\t \".25\" \r\n 7  8 9  \n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t chunk = 0; chunk < 40; chunk += 3) {
            hawser_load load = {.threads = 3, .delimiter = strchr(texts[i], '\t') != NULL ? HAWSER_BLANKS : 0};
            hawser_dataset *dataset;
            assert_int_equal(hw_load_memory("in", texts[i], strlen(texts[i]), chunk, &load, &dataset, NULL), HAWSER_OK);
            expect_matrix(dataset, 3, 2, values);
            for (int r = 0; r < 3; r++)
                assert_true(hawser_dataset_target(dataset)[r] == 1 + 3 * r);
            hawser_dataset_free(dataset);
        }
    hawser_dataset *named = load_text(" y  a b \n1 2 -3\n4 5 .25\n7 8 9\n", (hawser_load){.delimiter = HAWSER_BLANKS});
    expect_matrix(named, 3, 2, values);
    assert_string_equal(hawser_dataset_column(named, 1), "b");
    hawser_dataset_free(named);
    named = load_text("body mass\n1\n2\n", (hawser_load){.target = "none"});
    assert_string_equal(hawser_dataset_column(named, 0), "body mass");
    hawser_dataset_free(named);
    refuse_text("1 2 3\n4 5 \n", (hawser_load){.missing = "zero"},
                "in:2:5: expected 3 fields, as in the first line, but found 2: end of line");
    refuse_text("1 2\n3  4  5\n", (hawser_load){0},
                "in:2:7: expected 2 fields, as in the first line, but found more: \"5\"");
    refuse_text("1 2\n3 x\n", (hawser_load){0},
                "in:2: column 1 has numbers (1) and words (1, as here 'x'); correct the words, or read all as words: "
                "--categories 1");
}

/* Between two of them stands an empty field. */
static void one_blank_is_a_delimiter(void **state)
{
    (void)state;
    const double values[] = {1, 0, 3, 4, 5, 6};
    const hawser_load load = {.format = HAWSER_CSV, .delimiter = ' ', .target = "none", .missing = "zero"};
    hawser_dataset *dataset = load_text("1  3\n4 5 6\n", load);
    expect_matrix(dataset, 2, 3, values);
    hawser_dataset_free(dataset);
    refuse_text("1  3\n4 5\n", load, "in:2:4: expected 3 fields, as in the first line, but found 2: end of line");
}

/* Values of all forms, some quoted or with blanks around them: what each is was printed and read by the C library. */
static void every_field_equals_the_written_one(void **state)
{
    (void)state;
    enum { ROWS = 300, WIDTH = 13, BYTES = 1 << 18 };
    static const char *const forms[] = {"%.17g", "%.9f", "%.0f", "%g", "%.12f", "%.3f", "%.14e", "+%g"};
    char *text = malloc(BYTES);
    double *values = malloc(ROWS * WIDTH * sizeof *values);
    size_t used = 0;
    uint32_t x = 3;
    for (size_t e = 0; e < ROWS * WIDTH; e++) {
        x = x * 1664525 + 1013904223;
        double value = ldexp((double)(int32_t)x, -(int)(e % 41));
        char field[60];
        snprintf(field, sizeof field, forms[e / WIDTH % 9 < 8 ? e / WIDTH % 9 : (x >> 9) % 7], fabs(value));
        values[e] = strtod(field, NULL);
        const char *around = (x >> 13) % 20 == 0 ? "\"" : (x >> 13) % 20 == 1 ? " " : "";
        used += (size_t)snprintf(text + used, BYTES - used, "%s%s%s%s", around, field, around,
                                 (e + 1) % WIDTH != 0  ? ","
                                 : e / WIDTH % 10 == 3 ? "\r\n"
                                                       : "\n");
    }
    for (size_t chunk = 0; chunk <= 20000; chunk += 4999) {
        hawser_load load = {.format = HAWSER_CSV, .threads = 2, .target = "none", .header = -1};
        hawser_dataset *dataset;
        hawser_error error = {0};
        if (hw_load_memory("in", text, used, chunk, &load, &dataset, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        expect_matrix(dataset, ROWS, WIDTH, values);
        hawser_dataset_free(dataset);
    }
    free(text);
    free(values);
}

/* Writes rows of two numbers and a text, which has line ends, quotes and separators where its field is quoted. */
static size_t put_texts(char *text, uint64_t seed, size_t rows, bool ended, double *values)
{
    static const char *const pieces[] = {"\n", "\r\n", "\"\"", ",", "a", " ", "#", "\n\n", "7,8", "5\"\" x"};
    size_t used = 0;
    for (size_t i = 0; i < rows; i++) {
        values[2 * i] = (double)(i % 89);
        values[2 * i + 1] = (double)(seed % 97);
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        used += (size_t)sprintf(text + used, "%g,", values[2 * i]);
        if (seed >> 60 < 3)
            used += (size_t)sprintf(text + used, "5\" tall,");
        else
            used += (size_t)sprintf(text + used, " \"");
        for (uint64_t k = 0; seed >> 60 >= 3 && k < (seed >> 40) % 9; k++)
            used += (size_t)sprintf(text + used, "%s", pieces[(seed >> (20 + k)) % 10]);
        used += (size_t)sprintf(text + used, "%s%g%s", seed >> 60 < 3 ? "" : "\" ,", values[2 * i + 1],
                                i + 1 < rows || ended ? "\n" : "");
    }
    return used;
}

static void line_ends_in_quotes_end_no_row(void **state)
{
    (void)state;
    enum { ROWS = 40 };
    static char text[ROWS * 80];
    double values[2 * ROWS];
    for (uint64_t seed = 1; seed < 60; seed++) {
        size_t used = put_texts(text, seed * UINT64_C(0x9e3779b97f4a7c15), ROWS, seed % 2 == 0, values);
        hawser_load load = {.format = HAWSER_CSV,
                            .threads = (uint32_t)(1 + seed % 4),
                            .target = "none",
                            .ignore = "1",
                            .header = -1,
                            .delimiter = ','};
        for (size_t chunk = 1; chunk < 300; chunk = 2 * chunk + seed % 3) {
            hawser_dataset *dataset;
            hawser_error error = {0};
            if (hw_load_memory("in", text, used, chunk, &load, &dataset, &error) != HAWSER_OK)
                fail_msg("seed %d, chunk %zu: %s\n%s", (int)seed, chunk, error.text, text);
            expect_matrix(dataset, ROWS, 2, values);
            hawser_dataset_free(dataset);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_equals_the_written_one),
        cmocka_unit_test(an_error_names_the_guessed_csv_format),
        cmocka_unit_test(blanks_are_a_delimiter),
        cmocka_unit_test(one_blank_is_a_delimiter),
        cmocka_unit_test(a_header_gives_names),
        cmocka_unit_test(a_header_is_known_by_a_name_in_an_option),
        cmocka_unit_test(columns_have_roles_by_name_or_number),
        cmocka_unit_test(the_first_column_is_the_target_if_none_is_named),
        cmocka_unit_test(means_of_large_numbers_are_finite),
        cmocka_unit_test(a_header_must_be_utf8),
        cmocka_unit_test(the_delimiter_is_found),
        cmocka_unit_test(missing_values_are_treated_as_asked),
        cmocka_unit_test(wrong_text_is_refused_with_place_and_text),
        cmocka_unit_test(columns_without_names_are_as_many_as_the_models),
        cmocka_unit_test(threads_and_chunks_change_nothing),
        cmocka_unit_test(blank_lines_and_dropped_rows_leave_no_gaps),
        cmocka_unit_test(line_ends_in_quotes_end_no_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
