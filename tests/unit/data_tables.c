/* Tables with words and dates: kinds, levels, the matrix that they become, and what is refused. */
#include "data_common.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "data/table/dates.h"

static const hawser_load plain;

static const char *name_of(const hawser_dataset *dataset, size_t column)
{
    return hawser_dataset_column(dataset, column);
}

static void words_become_a_column_per_level(void **state)
{
    (void)state;
    hawser_dataset *d = load_text("y,sky,t\n1,rain,0.5\n2,clear,0\n3,\"a, \"\"b\"\"\",7\n4,rain,-1\n", plain);
    const hawser_matrix *A = hawser_dataset_matrix(d);
    assert_int_equal(A->rows, 4);
    assert_int_equal(A->cols, 4);
    assert_int_equal(A->layout, HAWSER_CSC);
    assert_int_equal(A->stored, 4 + 3);
    assert_string_equal(name_of(d, 0), "sky=a, \"b\"");
    assert_string_equal(name_of(d, 1), "sky=clear");
    assert_string_equal(name_of(d, 2), "sky=rain");
    assert_string_equal(name_of(d, 3), "t");
    const double expected[4][4] = {{0, 0, 1, 0.5}, {0, 1, 0, 0}, {1, 0, 0, 7}, {0, 0, 1, -1}};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++)
            assert_true(entry_at(d, i, j) == expected[i][j]);
    const hawser_schema *schema = hawser_dataset_schema(d);
    hawser_schema_column column;
    assert_int_equal(hawser_schema_count(schema), 2);
    assert_true(hawser_schema_at(schema, 0, &column));
    assert_int_equal(column.kind, HAWSER_CATEGORY);
    assert_int_equal(column.count, 3);
    assert_string_equal(column.levels[1], "clear");
    assert_true(hawser_schema_at(schema, 1, &column) && column.first == 3 && column.kind == HAWSER_NUMERIC);
    assert_false(hawser_schema_at(schema, 2, &column));
    hawser_dataset_free(d);
}

static void a_target_of_words_has_the_numbers_of_its_levels(void **state)
{
    (void)state;
    hawser_dataset *d = load_text("a,y\n1,yes\n2,no\n3,yes\n", (hawser_load){.target = "y"});
    size_t count;
    const char *const *words = hawser_schema_target(hawser_dataset_schema(d), &count);
    assert_int_equal(count, 2);
    assert_string_equal(words[0], "no");
    assert_int_equal(hawser_dataset_matrix(d)->layout, HAWSER_DENSE);
    const double target[] = {1, 0, 1};
    assert_memory_equal(hawser_dataset_target(d), target, sizeof target);
    hawser_dataset_free(d);
}

static void a_table_without_a_header_is_recognised(void **state)
{
    (void)state;
    hawser_dataset *d = load_text("M,0.5,1\nF,0.25,2\nM,1,3\n", (hawser_load){.target = "-1"});
    assert_int_equal(hawser_dataset_matrix(d)->rows, 3);
    assert_int_equal(hawser_dataset_matrix(d)->cols, 3);
    hawser_dataset_free(d);
    d = load_text("sex,size,age\nF,0.25,2\nM,1,3\n", (hawser_load){.target = "age"});
    assert_int_equal(hawser_dataset_matrix(d)->rows, 2);
    hawser_dataset_free(d);
}

static void columns_are_left_out_by_name(void **state)
{
    (void)state;
    static const char text[] = "id,y,a,b\nx1,1,2,3\nx2,4,5,6\n";
    hawser_dataset *d = load_text(text, (hawser_load){.target = "y", .ignore = "id"});
    assert_int_equal(hawser_dataset_matrix(d)->cols, 2);
    assert_int_equal(hawser_dataset_matrix(d)->layout, HAWSER_DENSE);
    assert_null(hawser_dataset_schema(d));
    hawser_dataset_free(d);
    d = load_text(text, (hawser_load){.target = "y", .select = "b"});
    assert_int_equal(hawser_dataset_matrix(d)->cols, 1);
    assert_string_equal(name_of(d, 0), "b");
    assert_true(entry_at(d, 1, 0) == 6);
    hawser_dataset_free(d);
    refuse_text(text, (hawser_load){.target = "y", .ignore = "id,c"},
                "in: the ignored column 'c' is no column (of 4, from 0); its columns are id, y, a, b");
}

static void dates_become_days_and_categories(void **state)
{
    (void)state;
    hawser_dataset *d =
        load_text("y,day\n1,1970-01-02\n2,2026-11-24T18:30:00+02:00\n3,1969-12-31T23:00Z\n", (hawser_load){.dates = "day"});
    const hawser_matrix *A = hawser_dataset_matrix(d);
    assert_int_equal(A->cols, 1 + 12 + 7 + 24);
    assert_string_equal(name_of(d, 0), "day:days");
    assert_string_equal(name_of(d, 11), "day:month=11");
    assert_string_equal(name_of(d, 14), "day:weekday=2");
    assert_string_equal(name_of(d, 20 + 16), "day:hour=16");
    assert_true(entry_at(d, 0, 0) == 1);
    assert_true(entry_at(d, 1, 0) == 20781 + 16.5 / 24);
    assert_true(entry_at(d, 2, 0) == -1 / 24.0);
    assert_true(entry_at(d, 1, 11) == 1 && entry_at(d, 1, 14) == 1 && entry_at(d, 1, 20 + 16) == 1);
    assert_true(entry_at(d, 2, 12) == 1 && entry_at(d, 2, 15) == 1 && entry_at(d, 2, 20 + 23) == 1); /* a Wednesday */
    assert_int_equal(A->stored, 3 * 4);
    hawser_dataset_free(d);
}

/* Against the calendar of the C library, in whose range it lies. */
static void the_calendar_is_right(void **state)
{
    (void)state;
    for (long day = -719162; day < 2932896; day += 97) {
        time_t seconds = (time_t)day * 86400;
        struct tm tm;
        char text[40];
        double read;
        bool timed;
        hw_date_parts parts;
        assert_non_null(gmtime_r(&seconds, &tm));
        int length = snprintf(text, sizeof text, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
        assert_true(hw_date_read(text, text + length, &read, &timed));
        assert_true(read == (double)seconds && !timed);
        hw_date_split(read, &parts);
        assert_int_equal(parts.month, tm.tm_mon);
        assert_int_equal(parts.weekday, (tm.tm_wday + 6) % 7);
    }
    static const char *const wrong[] = {"2026-02-29",
                                        "2026-13-01",
                                        "2026-00-01",
                                        "2026-01-00",
                                        "2026-1-1",
                                        "26-01-01",
                                        "2026-01-01T24:00",
                                        "2026-01-01T10",
                                        "2026-01-01T10:60",
                                        "2026-01-01T10:00+15:00",
                                        "2026-01-01x",
                                        "2026-01-01T10:00Zx",
                                        ""};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        double read;
        bool timed;
        if (hw_date_read(wrong[k], wrong[k] + strlen(wrong[k]), &read, &timed))
            fail_msg("%s is read", wrong[k]);
    }
}

static void missing_words_follow_the_second_policy(void **state)
{
    (void)state;
    static const char text[] = "y,a,b\n1,x,2\n2,,4\n3,z,\n";
    hawser_dataset *d = load_text(text, (hawser_load){.missing = "mean,level"});
    assert_int_equal(hawser_dataset_matrix(d)->cols, 4);
    assert_string_equal(name_of(d, 0), "a=");
    assert_true(entry_at(d, 1, 0) == 1 && entry_at(d, 2, 3) == 3);
    assert_true(hawser_dataset_means(d)[3] == 3);
    hawser_dataset_free(d);
    d = load_text(text, (hawser_load){.missing = "zero"});
    assert_int_equal(hawser_dataset_matrix(d)->cols, 3);
    assert_true(entry_at(d, 1, 0) == 0 && entry_at(d, 1, 1) == 0 && entry_at(d, 2, 2) == 0);
    hawser_dataset_free(d);
    d = load_text(text, (hawser_load){.missing = "drop"}); /* what only dropped rows have is no level */
    assert_int_equal(hawser_dataset_matrix(d)->rows, 1);
    assert_int_equal(hawser_dataset_matrix(d)->cols, 2);
    hawser_dataset_free(d);
    refuse_text(
        text, (hawser_load){.missing = "mean"},
        "in:3: a word is missing in column 1 'a'; --missing can make missing words a level of their own (mean,level), or "
        "zero, or drop the row");
    refuse_text(text, (hawser_load){.missing = "level"},
                "in:4: a number is missing in column 2 'b', and --missing level is for words; mean,level or zero,level fill "
                "numbers too");
}

static void a_cell_that_is_neither_number_nor_word_is_refused(void **state)
{
    (void)state;
    refuse_text("y,age\n1,30\n2,3o\n3,40\n", plain,
                "in:3: column 1 'age' has numbers (2) and words (1, as here '3o'); correct the words, or read all as words: "
                "--categories age");
    refuse_text(
        "y,day\n1,2026-11-24\n2,2026-11-25\n", plain,
        "in:2: column 1 'day' has dates, as '2026-11-24'; read them as dates with --dates day (ISO 8601), as words with "
        "--categories day, or not at all with --ignore day");
    refuse_text("y,day\n1,24.11.2026\n2,25/11/2026\n", (hawser_load){.dates = "day"},
                "in:2:3: column 1 'day' is read as dates, and this is none of ISO 8601 (2026-11-24, 2026-11-24T18:30:00Z): "
                "\"24.11.2026\"");
    refuse_text("y,n\n1,\"1,234\"\n", plain,
                "in:2:4: a comma is in the number; write a decimal point, and no groups: \"1\"");
    static const char *const signs[] = {"$5", "-$5", "5%", "12.5%", "5\xe2\x82\xac", "\xc2\xa3 1,200"};
    for (size_t k = 0; k < sizeof signs / sizeof *signs; k++) {
        char text[64], message[256];
        snprintf(text, sizeof text, "y;n\n1;%s\n2;x\n", signs[k]);
        snprintf(message, sizeof message,
                 "in:2:3: column 1 'n' has a number with a sign of currency or percent; write the number alone, or read the "
                 "column as words (--categories): \"%.*s\"",
                 (int)strcspn(signs[k], " ,"), signs[k]);
        refuse_text(text, plain, message);
    }
    refuse_text("y,a\n1,b\xe9\n", plain,
                "in:2: a word in column 1 'a' is not UTF-8; convert the file, for example: iconv -f ISO-8859-1 -t UTF-8");
    refuse_text("y,a,w\n1,b,2\n2,c,heavy\n", (hawser_load){.weights = "w"}, "in:3:5: the weight is not a number: \"heavy\"");
    refuse_text("y,a,o\n1,b,2\n2,c,none at all\n", (hawser_load){.offset = "o"},
                "in:3:5: the offset is not a number: \"none\"");
    refuse_text("y,a\n1,b\n", (hawser_load){.categories = "none"}, "in:2:3: the value is not a number: \"b\"");
}

static void numbers_are_categories_if_forced(void **state)
{
    (void)state;
    hawser_dataset *d = load_text("y,zip,n\n1,10115,1\n2,020,2\n3,20,3\n", (hawser_load){.categories = "zip"});
    assert_int_equal(hawser_dataset_matrix(d)->cols, 4);
    assert_string_equal(name_of(d, 0), "zip=020");
    assert_string_equal(name_of(d, 2), "zip=20");
    hawser_dataset_free(d);
}

static void too_many_levels_are_refused(void **state)
{
    (void)state;
    char *text = malloc(1 << 16);
    size_t used = (size_t)sprintf(text, "y,id\n");
    for (int i = 0; i < 1001; i++)
        used += (size_t)sprintf(text + used, "%d,u%d\n", i, i);
    refuse_text(text, plain,
                "in:2: column 1 'id' has 1001 different words, and more than 1000 are hardly categories; leave it out with "
                "--ignore id, or read it with --categories id");
    hawser_dataset *d = load_text(text, (hawser_load){.categories = "id"});
    assert_int_equal(hawser_dataset_matrix(d)->cols, 1001);
    hawser_dataset_free(d);
    free(text);
}

/* Words that come late, after what is looked at first: the input is read once more. */
static void words_after_many_numbers_are_levels(void **state)
{
    (void)state;
    enum { ROWS = 3000 };
    char *text = malloc(ROWS * 12);
    size_t used = (size_t)sprintf(text, "y,a,b\n");
    for (int i = 0; i < ROWS; i++)
        used += (size_t)sprintf(text + used, "%d,%d,%s\n", i % 7, i % 5, i < ROWS - 3 ? "" : "late");
    for (uint32_t threads = 1; threads < 4; threads++) {
        hawser_dataset *d;
        hawser_error error = {0};
        hawser_load load = {.threads = threads, .missing = "zero"};
        assert_int_equal(hw_load_memory("in", text, used, 0, &load, &d, &error), HAWSER_OK);
        assert_int_equal(hawser_dataset_matrix(d)->cols, 2);
        assert_string_equal(name_of(d, 1), "b=late");
        assert_true(entry_at(d, ROWS - 1, 1) == 1 && entry_at(d, 0, 1) == 0);
        hawser_dataset_free(d);
    }
    free(text);
}

static void a_schema_is_json_and_back(void **state)
{
    (void)state;
    hawser_dataset *d =
        load_text("y,sky,day,n\nno,rain,2026-01-01,1\nyes,\"cl\"\"r\",2026-01-02,2\n", (hawser_load){.dates = "day"});
    char *text, *again;
    hawser_schema *schema;
    hawser_error error = {0};
    assert_int_equal(hawser_schema_write(hawser_dataset_schema(d), &text, &error), HAWSER_OK);
    assert_string_equal(
        text, "{\"columns\":[{\"name\":\"sky\",\"levels\":[\"cl\\\"r\",\"rain\"]},{\"name\":\"day\",\"date\":\"days\"},"
              "{\"name\":\"n\"}],\"target\":[\"no\",\"yes\"]}");
    assert_int_equal(hawser_schema_read(text, &schema, &error), HAWSER_OK);
    assert_int_equal(hawser_schema_write(schema, &again, &error), HAWSER_OK);
    assert_string_equal(text, again);
    hawser_schema_free(schema);
    free(text);
    free(again);
    hawser_dataset_free(d);
    static const char *const wrong[] = {"",
                                        "[]",
                                        "{}",
                                        "{\"columns\":[{}]}",
                                        "{\"columns\":[{\"name\":\"a\",\"levels\":[\"b\",\"a\"]}]}",
                                        "{\"columns\":[{\"name\":\"a\",\"levels\":[\"b\",\"b\"]}]}",
                                        "{\"columns\":[{\"name\":\"a\",\"date\":\"year\"}]}",
                                        "{\"columns\":[{\"name\":\"a\",\"levels\":[1]}]}",
                                        "{\"columns\":[],\"target\":3}"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(hawser_schema_read(wrong[k], &schema, &error), HAWSER_BAD_INPUT);
        assert_null(schema);
    }
}

/* New data of a model: columns in another order, further ones, words that it does not have. */
static void new_data_get_the_models_columns(void **state)
{
    (void)state;
    hawser_dataset *train = load_text("y,sky,t\n1,rain,1\n2,clear,2\n", plain);
    const hawser_schema *schema = hawser_dataset_schema(train);
    hawser_load load = {.schema = schema, .columns = 3, .target = "y", .target_optional = true, .rows_layout = 1};
    hawser_dataset *d = load_text("t,extra,sky\n5,foo,clear\n0,bar,rain\n", load);
    const double expected[2][3] = {{1, 0, 5}, {0, 1, 0}};
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 3; j++)
            assert_true(entry_at(d, i, j) == expected[i][j]);
    assert_int_equal(hawser_dataset_matrix(d)->layout, HAWSER_CSR);
    assert_int_equal(hawser_dataset_figures(d)->unseen_columns, 1);
    hawser_dataset_free(d);
    d = load_text("clear,5\nrain,0\n", load); /* no names, and no target */
    assert_true(entry_at(d, 0, 0) == 1 && entry_at(d, 0, 2) == 5 && entry_at(d, 1, 1) == 1);
    hawser_dataset_free(d);
    hawser_schema *nameless;
    hawser_error error = {0};
    assert_int_equal(hawser_schema_read("{\"columns\":[{\"name\":\"\"},{\"name\":\"\"}]}", &nameless, &error), HAWSER_OK);
    d = load_text("y,,\n1,2,3\n", (hawser_load){.schema = nameless, .columns = 2, .target_optional = true});
    assert_true(entry_at(d, 0, 0) == 2 && entry_at(d, 0, 1) == 3); /* by position */
    hawser_dataset_free(d);
    hawser_schema_free(nameless);
    refuse_text("t,y\n5,1\n", load, "in: has no column 'sky', which the model needs");
    refuse_text(
        "t,sky\n5,hail\n", load,
        "in:2:3: column 1 'sky' has a word that the training data did not have; --unseen zero reads it as none of the "
        "known ones: \"hail\"");
    refuse_text("t,sky\nwarm,rain\n", load, "in:2:1: the value is not a number: \"warm\"");
    load.unseen_zero = true;
    d = load_text("t,sky,y\n5,hail,damaged\n", load);
    assert_int_equal(hawser_dataset_matrix(d)->stored, 1);
    hawser_dataset_free(d);
    load.target_optional = false;
    refuse_text("t,sky\n5,rain\n", load,
                "in: the target 'y' is neither a column (of 2, from 0) nor a file; its columns are t, sky");
    hawser_dataset_free(train);
}

/* A part that is loaded alone cannot know the words of the others. */
static void a_part_with_words_is_refused(void **state)
{
    (void)state;
    char path[] = "/tmp/hawser-table-XXXXXX";
    const char *paths[] = {path};
    static const char *const texts[] = {"y,a\n1,x\n2,z\n3,x\n4,z\n", "y,a\n1,5\n2,\n3,7\n4,8\n"};
    static const double values[] = {5, 0, 7, 8};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (int words = 0; words < 2; words++) {
        size_t rows = 0;
        assert_int_equal(pwrite(fd, texts[!words], strlen(texts[!words]), 0), strlen(texts[!words]));
        assert_int_equal(ftruncate(fd, (off_t)strlen(texts[!words])), 0);
        for (uint32_t part = 0; part < 2; part++) {
            hawser_dataset *d;
            hawser_error error = {0};
            hawser_load load = {.part = part, .parts = 2, .missing = "zero"};
            assert_int_equal(hawser_dataset_load(paths, 1, &load, &d, &error), words ? HAWSER_BAD_ARGUMENT : HAWSER_OK);
            if (words) {
                assert_null(d);
                assert_non_null(strstr(error.text, "has words or dates"));
                continue;
            }
            for (size_t i = 0; i < hawser_dataset_matrix(d)->rows; i++)
                assert_true(entry_at(d, i, 0) == values[rows + i]);
            rows += hawser_dataset_matrix(d)->rows;
            hawser_dataset_free(d);
        }
        assert_int_equal(rows, words ? 0 : 4);
    }
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_become_a_column_per_level),
        cmocka_unit_test(a_target_of_words_has_the_numbers_of_its_levels),
        cmocka_unit_test(a_table_without_a_header_is_recognised),
        cmocka_unit_test(columns_are_left_out_by_name),
        cmocka_unit_test(dates_become_days_and_categories),
        cmocka_unit_test(the_calendar_is_right),
        cmocka_unit_test(missing_words_follow_the_second_policy),
        cmocka_unit_test(a_cell_that_is_neither_number_nor_word_is_refused),
        cmocka_unit_test(numbers_are_categories_if_forced),
        cmocka_unit_test(too_many_levels_are_refused),
        cmocka_unit_test(words_after_many_numbers_are_levels),
        cmocka_unit_test(a_schema_is_json_and_back),
        cmocka_unit_test(new_data_get_the_models_columns),
        cmocka_unit_test(a_part_with_words_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
