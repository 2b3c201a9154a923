#include "data_common.h"
#include "sanitized.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static const hawser_load plain = {.format = HAWSER_SVMLIGHT};

static void entries_targets_comments_and_queries_are_read(void **state)
{
    (void)state;
    const char *text = "# a comment: 1:2\n"
                       "1 1:0.5 3:-2e1 # trailing 9:9\n"
                       "\n"
                       "-1.5 qid:7 2:1\t4:+.25\r\n"
                       "   \t\n"
                       "+2\n"
                       "0 00000003:7 # no line end";
    const double target[] = {1, -1.5, 2, 0};
    const double values[] = {0.5, 0, -20, 0, 0, 1, 0, 0.25, 0, 0, 0, 0, 0, 0, 7, 0};
    for (int by_row = 0; by_row < 2; by_row++)
        for (int single = 0; single < 2; single++) {
            hawser_load load = {.rows_layout = by_row, .type = single ? HAWSER_F32 : HAWSER_F64};
            hawser_dataset *dataset = load_text(text, load);
            expect_matrix(dataset, 4, 4, values);
            assert_int_equal(hawser_dataset_matrix(dataset)->layout, by_row ? HAWSER_CSR : HAWSER_CSC);
            assert_int_equal(hawser_dataset_matrix(dataset)->type, load.type);
            assert_int_equal(hawser_dataset_matrix(dataset)->stored, 5);
            assert_memory_equal(hawser_dataset_target(dataset), target, sizeof target);
            assert_null(hawser_dataset_weights(dataset));
            assert_null(hawser_dataset_column(dataset, 0));
            assert_int_equal(hawser_dataset_figures(dataset)->index_base, 1);
            assert_false(hawser_dataset_figures(dataset)->base_guessed); /* column 1 occurs, as it does in most files */
            hawser_dataset_free(dataset);
            dataset = load_text("1 2:3\n2 3:1\n", load);
            assert_int_equal(hawser_dataset_figures(dataset)->index_base, 1);
            assert_true(hawser_dataset_figures(dataset)->base_guessed);
            hawser_dataset_free(dataset);
        }
}

/* Rows of which the target alone is there say nothing about the format, however many come first. */
static void rows_without_entries_may_come_first(void **state)
{
    (void)state;
    enum { EMPTY = 500 };
    char text[EMPTY * 4 + 40], *at = text;
    for (int i = 0; i < EMPTY; i++)
        at += sprintf(at, "%d%s", i % 2, i % 3 == 0 ? "\n" : i % 3 == 1 ? " \n" : "\r\n");
    strcpy(at, "1 2:0.5\n");
    hawser_dataset *dataset = load_text(text, (hawser_load){0});
    const hawser_matrix *matrix = hawser_dataset_matrix(dataset);
    assert_int_equal(matrix->rows, EMPTY + 1);
    assert_int_equal(matrix->cols, 2);
    assert_int_equal(matrix->stored, 1);
    hawser_dataset_free(dataset);
    strcpy(at, "1,2:0.5\n");
    refuse_text(text, (hawser_load){0},
                "in:501:3: expected 1 fields, as in the first line, but found more: \"2:0.5\"; its first line shows no "
                "delimiter: see --delimiter and --format");
}

static void one_index_zero_anywhere_decides_the_base(void **state)
{
    (void)state;
    hawser_dataset *dataset = load_text("1 1:1 2:2\n2 1:3\n3 0:4\n4 2:5\n", plain);
    const double values[] = {0, 1, 2, 0, 3, 0, 4, 0, 0, 0, 0, 5};
    expect_matrix(dataset, 4, 3, values);
    assert_int_equal(hawser_dataset_figures(dataset)->index_base, 0);
    assert_false(hawser_dataset_figures(dataset)->base_guessed);
    hawser_dataset_free(dataset);
}

static void a_forced_base_is_kept(void **state)
{
    (void)state;
    hawser_load zero = {.format = HAWSER_SVMLIGHT, .index_base = 1}, one = {.format = HAWSER_SVMLIGHT, .index_base = 2};
    hawser_dataset *dataset = load_text("1 1:1\n", zero);
    const double values[] = {0, 1};
    expect_matrix(dataset, 1, 2, values);
    assert_false(hawser_dataset_figures(dataset)->base_guessed);
    hawser_dataset_free(dataset);
    refuse_text("1 1:1\n1 0:1\n", one, "in:2:3: column index 0, but columns are counted from 1; see --index-base: \"0:1\"");
}

static void columns_beyond_the_models_are_counted_and_left_out(void **state)
{
    (void)state;
    for (int by_row = 0; by_row < 2; by_row++) {
        hawser_load load = {.columns = 2, .index_base = 2, .rows_layout = by_row};
        hawser_dataset *dataset = load_text("1 1:1 3:9 5:9\n2 2:2 5:9\n3 5:9 6:1\n", load);
        const double values[] = {1, 0, 0, 2, 0, 0};
        expect_matrix(dataset, 3, 2, values);
        assert_int_equal(hawser_dataset_matrix(dataset)->stored, 2);
        assert_int_equal(hawser_dataset_figures(dataset)->unseen_entries, 5);
        assert_int_equal(hawser_dataset_figures(dataset)->unseen_columns, 3);
        hawser_dataset_free(dataset);
        load.columns = 9; /* and columns that the input lacks are there */
        dataset = load_text("1 1:1\n", load);
        assert_int_equal(hawser_dataset_matrix(dataset)->cols, 9);
        hawser_dataset_free(dataset);
    }
}

static void wrong_text_is_refused_with_place_and_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"1 1:2\n1 2:x\n", "in:2:5: the value is not a number: \"x\""},
        {"1 1:2\n1 2:1.5.2 3:1\n", "in:2:5: the value is not a number: \"1.5.2\""},
        {"1 1:nan\n", "in:1:5: the value is NaN; remove the row or write a number: \"nan\""},
        {"1 1:1 2:-Inf\n", "in:1:9: the value is infinite; remove the row or write a number: \"-Inf\""},
        {"1 1:1e999\n", "in:1:5: the value is too large for the storage type: \"1e999\""},
        {"NaN 1:1\n", "in:1:1: the target is NaN; remove the row or write a number: \"NaN\""},
        {"1e400 1:1\n", "in:1:1: the target is too large: \"1e400\""},
        {"cat 1:1\n", "in:1:1: the target is not a number; classes are numbers too, like 0 and 1: \"cat\""},
        {"1 1:1\n\n# c\n1:1 2:1\n", "in:4:1: the target is missing: the line begins with INDEX:VALUE: \"1:1\""},
        {"1,2 1:1\n", "in:1:1: several targets in a line are not supported: \"1\""},
        {"1 3:1 2:1\n", "in:1:7: column index 2 follows 3; indices must ascend in a row: \"2:1\""},
        {"1 3:1 3:1\n", "in:1:7: column index 3 occurs twice in the row: \"3:1\""},
        {"1 4294967295:1\n", "in:1:3: the column index is larger than 4294967294: \"4294967295:1\""},
        {"1 99999999999999999999999:1\n",
         "in:1:3: the column index is larger than 4294967294: \"99999999999999999999999:1\""},
        {"1 -1:1\n", "in:1:3: a column index cannot be negative: \"-1:1\""},
        {"1 1:\n", "in:1:5: the value is not a number: end of line"},
        {"1 5\n", "in:1:3: expected INDEX:VALUE: \"5\""},
        {"1 :5\n", "in:1:3: expected INDEX:VALUE: \":5\""},
        {"1 a:5\n", "in:1:3: expected INDEX:VALUE: \"a:5\""},
        {"1 1 :5\n", "in:1:3: expected INDEX:VALUE: \"1\""},
        {"1 1:5x\n", "in:1:5: the value is not a number: \"5x\""},
        {"1 1:0x10\n", "in:1:5: the value is not a number: \"0x10\""},
        {"1 1:1\n1 1:\x01\x02\n", "in:2:5: the value is not a number: \"\\x01\\x02\""},
        {"# nothing\n\n", "in: no rows in the input"},
        {"\xef\xbb\xbf", "in: no rows in the input"},
        {"\xef\xbb\xbf \n", "in: no rows in the input"},
        {"1 1:1\n1 2:2\n1 1:bad\n1 1:worse\n1 1:worst\n", "in:3:5: the value is not a number: \"bad\""},
        {"1 1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
         "in:1:5: the value is not a number: \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse_text(cases[i].text, plain, cases[i].message);
    hawser_load narrow = {.format = HAWSER_SVMLIGHT, .type = HAWSER_F32};
    refuse_text("1 1:1e39\n", narrow, "in:1:5: the value is too large for the storage type: \"1e39\"");
    refuse_bytes("1 1:1\n1 2:\0\n", 12, plain, "in:2:5: the value is not a number: \"\\x00\"");
    refuse_bytes("", 0, plain, "in: is empty");
}

static void rows_without_target_are_read_when_none_is_asked_for(void **state)
{
    (void)state;
    hawser_load load = {.target = "none"};
    hawser_dataset *dataset = load_text("1:1 2:2\n5 2:3\n", load);
    const double values[] = {1, 2, 0, 3};
    expect_matrix(dataset, 2, 2, values);
    assert_null(hawser_dataset_target(dataset));
    hawser_dataset_free(dataset);
    hawser_error error;
    load.target = "price";
    assert_int_equal(hw_load_memory("in", "1 1:1\n", 6, 0, &load, &dataset, &error), HAWSER_BAD_OPTION);
    assert_non_null(strstr(error.text, "price"));
}

/* A large input with rows of all lengths: the arrays must be the same bytes for any number of threads and chunk size. */
static void threads_and_chunks_change_nothing(void **state)
{
    (void)state;
    enum { ROWS = 3000, BYTES = 1 << 20 };
    char *text = malloc(BYTES);
    size_t used = 0;
    unsigned x = 1;
    for (int i = 0; i < ROWS; i++) {
        used += (size_t)snprintf(text + used, BYTES - used, "%d", i % 7);
        for (unsigned column = 0; (x = x * 1103515245 + 12345), (x >> 16) % 12 != 0;)
            used +=
                (size_t)snprintf(text + used, BYTES - used, " %u:%g", column += 1 + (x >> 20) % 50, (double)(x >> 8) * 1e-5);
        if (i % 500 == 77) /* what cannot be counted by its colons alone */
            used += (size_t)snprintf(text + used, BYTES - used, "%s",
                                     i % 3 == 0   ? " # 1:2"
                                     : i % 3 == 1 ? "\r\n\r\n 1\tqid:3 004:5  00004500:6 "
                                                  : "\n#\n\t\n0 qid:1");
        text[used++] = '\n';
    }
    for (int by_row = 0; by_row < 4; by_row++) { /* 2, 3: with a limit on columns, which is another way through the house */
        hawser_dataset *first = NULL, *other;
        for (uint32_t threads = 1; threads <= 5; threads += SANITIZED ? 2 : 1)
            for (size_t chunk = 37; chunk < 100000; chunk *= 13) {
                hawser_load load = {.threads = threads, .rows_layout = by_row & 1};
                if (by_row > 1 && first != NULL)
                    load.columns = first->matrix.cols;
                assert_int_equal(hw_load_memory("in", text, used, chunk, &load, &other, NULL), HAWSER_OK);
                if (first == NULL) {
                    first = other;
                    continue;
                }
                const hawser_matrix *A = &first->matrix, *B = &other->matrix;
                size_t majors = A->layout == HAWSER_CSR ? A->rows : A->cols;
                assert_int_equal(A->rows, ROWS + 4);
                assert_int_equal(A->cols, B->cols);
                assert_memory_equal(A->offsets, B->offsets, (majors + 1) * sizeof *A->offsets);
                assert_memory_equal(A->indices, B->indices, A->stored * sizeof *A->indices);
                assert_memory_equal(A->values, B->values, A->stored * sizeof(double));
                assert_memory_equal(first->target, other->target, A->rows * sizeof(double));
                hawser_dataset_free(other);
            }
        hawser_dataset_free(first);
    }
    free(text);
}

/* Values of all lengths and forms behind indices of all lengths, with all that may stand between them: what each is was
 * printed and read by the C library. */
static void every_entry_equals_the_written_one(void **state)
{
    (void)state;
    enum { ROWS = 400, MOST = 60, BYTES = 1 << 20 };
    static const char *const gaps[] = {" ", " ", " ", " ", " ", " ", "\t", "  ", " \t ", "\r "}, *const ends[] = {
                                                                                                     "\n",        "\n",
                                                                                                     "\n",        " \n",
                                                                                                     "\r\n",      "\t\n",
                                                                                                     " # 7:7 \n", "#1\n"};
    char *text = malloc(BYTES);
    double *values = malloc(ROWS * MOST * sizeof *values);
    uint32_t *indices = malloc(ROWS * MOST * sizeof *indices), x = 9;
    uint64_t offsets[ROWS + 1] = {0}, entries = 0;
    size_t used = 0;
    for (int i = 0; i < ROWS; i++) {
        used += (size_t)snprintf(text + used, BYTES - used, "%.*g", i % 5, sin(i));
        uint32_t column = 0;
        for (unsigned k = 0, count = (x >> 9) % MOST; k < count && column < 1000000000; k++) {
            x = x * 1664525 + 1013904223;
            column += 1 + (x >> 8) % (i % 9 == 0 ? 100000000 : i % 3 == 0 ? 3000 : 5);
            double value = ldexp((double)(int32_t)(x * 2654435761u), -(int)(x >> 3) % 40);
            static const char *const forms[] = {" %u:%.17g", " %u:%g",    " %u:%.0f", " %u:%.3f",
                                                " %u:%.9f",  " %u:%.12e", " %u:+%g"};
            char entry[80];
            int length = snprintf(entry, sizeof entry, forms[i % 11 < 7 ? (unsigned)i % 11 : (x >> 12) % 6], column,
                                  i % 11 == 6 ? fabs(value) : value);
            indices[entries] = column - 1;
            values[entries++] = strtod(strchr(entry, ':') + 1, NULL);
            used += (size_t)snprintf(text + used, BYTES - used, "%s%.*s", gaps[(x >> 5) % 10], length - 1, entry + 1);
        }
        used += (size_t)snprintf(text + used, BYTES - used, "%s", ends[(x >> 7) % 8]);
        offsets[i + 1] = entries;
    }
    for (size_t chunk = 0; chunk <= 20000; chunk += 4999) {
        hawser_load load = {.format = HAWSER_SVMLIGHT, .threads = 2, .rows_layout = 1, .index_base = 2};
        hawser_dataset *dataset;
        hawser_error error = {0};
        if (hw_load_memory("in", text, used, chunk, &load, &dataset, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        const hawser_matrix *A = hawser_dataset_matrix(dataset);
        assert_int_equal(A->rows, ROWS);
        assert_int_equal(A->stored, entries);
        assert_memory_equal(A->offsets, offsets, sizeof offsets);
        assert_memory_equal(A->indices, indices, entries * sizeof *indices);
        assert_memory_equal(A->values, values, entries * sizeof *values);
        hawser_dataset_free(dataset);
    }
    free(text);
    free(values);
    free(indices);
}

/* Chunks that end about as far from the input's end as may be read behind them. */
static void every_row_is_read_once(void **state)
{
    (void)state;
    enum { ROWS = 60 };
    char text[4 * ROWS + 1] = "";
    for (int rows = 1; rows <= ROWS; rows++) {
        strcat(text, rows % 7 == 0 ? "44\n" : rows % 5 == 0 ? "\n5\n" : "4\n");
        if (SANITIZED && rows % 4 != 3)
            continue;
        for (size_t chunk = 1; chunk <= 8; chunk++)
            for (uint32_t i = 0; i < 6; i++) {
                hawser_load load = {.format = HAWSER_SVMLIGHT, .threads = 1 + i / 2, .rows_layout = i & 1};
                hawser_dataset *dataset;
                assert_int_equal(hw_load_memory("in", text, strlen(text), chunk, &load, &dataset, NULL), HAWSER_OK);
                assert_int_equal(hawser_dataset_matrix(dataset)->rows, rows);
                hawser_dataset_free(dataset);
            }
    }
}

/* Rows are read twice: a file that is overwritten meanwhile may be refused or read, but never lead out of the arrays. */
static void *overwrite(void *argument)
{
    const int file = *(const int *)argument;
    static const char *const texts[] = {"1 1:1 5:2\n2 2:3 7:1\n", "1 4:1 6:2\n2\n4 1:1 9:8", "12345 5:1 12:3\n6 1:2\n"};
    for (int i = 0; i < 30000; i++)
        (void)!pwrite(file, texts[i % 3], 21, i % 5 * 21);
    return NULL;
}

static void a_file_that_changes_is_refused_or_read(void **state)
{
    (void)state;
    char path[] = "/tmp/hawser-changing-XXXXXX", text[] = "1 1:1 5:2\n2 2:3 7:1\n";
    const char *name = path;
    int file = mkstemp(path);
    assert_true(file >= 0);
    for (int i = 0; i < 40; i++)
        assert_int_equal(write(file, text, 21), 21);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, overwrite, &file), 0);
    for (int i = 0; i < (int)tried_of(1500); i++) {
        hawser_load load = {.format = HAWSER_SVMLIGHT, .threads = 1, .rows_layout = i & 1};
        hawser_dataset *dataset;
        hawser_error error;
        hawser_status status = hawser_dataset_load(&name, 1, &load, &dataset, &error);
        assert_true(status == HAWSER_OK || status == HAWSER_BAD_INPUT || status == HAWSER_IO);
        if (status != HAWSER_OK)
            continue;
        const hawser_matrix *A = hawser_dataset_matrix(dataset);
        size_t majors = i & 1 ? A->rows : A->cols, minors = i & 1 ? A->cols : A->rows;
        assert_int_equal(A->offsets[0], 0);
        assert_int_equal(A->offsets[majors], A->stored);
        for (size_t j = 0; j < majors; j++)
            for (uint64_t e = A->offsets[j]; e < A->offsets[j + 1]; e++)
                assert_true(A->indices[e] < minors && (e == A->offsets[j] || A->indices[e - 1] < A->indices[e]));
        hawser_dataset_free(dataset);
    }
    pthread_join(thread, NULL);
    close(file);
    unlink(path);
}

static void a_far_column_is_read(void **state)
{
    (void)state;
    for (int by_row = 0; by_row < 2; by_row++) {
        hawser_load load = {.format = HAWSER_SVMLIGHT, .rows_layout = by_row};
        hawser_dataset *dataset = load_text("1 1:1 7000001:2\n2 2:3 7000000:1\n", load);
        const hawser_matrix *A = hawser_dataset_matrix(dataset);
        assert_int_equal(A->cols, 7000001);
        assert_int_equal(A->stored, 4);
        assert_true(entry_at(dataset, 0, 7000000) == 2 && entry_at(dataset, 1, 6999999) == 1 &&
                    entry_at(dataset, 1, 1) == 3);
        hawser_dataset_free(dataset);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_targets_comments_and_queries_are_read),
        cmocka_unit_test(rows_without_entries_may_come_first),
        cmocka_unit_test(one_index_zero_anywhere_decides_the_base),
        cmocka_unit_test(a_forced_base_is_kept),
        cmocka_unit_test(columns_beyond_the_models_are_counted_and_left_out),
        cmocka_unit_test(wrong_text_is_refused_with_place_and_text),
        cmocka_unit_test(rows_without_target_are_read_when_none_is_asked_for),
        cmocka_unit_test(threads_and_chunks_change_nothing),
        cmocka_unit_test(every_entry_equals_the_written_one),
        cmocka_unit_test(every_row_is_read_once),
        cmocka_unit_test(a_file_that_changes_is_refused_or_read),
        cmocka_unit_test(a_far_column_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
