/* Text as counts of words: characters, letters, separators, bad bytes, columns, and which words stay. */
#include "data_common.h"

#include <stdlib.h>

#include "data/format/text_word.h"
#include "data/stop_words.h"
#include "directory.h"

static const hawser_load lines = {.format = HAWSER_DOCUMENTS, .rows_layout = 1};

/* Compares the names of the columns, separated by blanks. */
static void expect_words(const hawser_dataset *dataset, const char *words)
{
    char text[400] = "";
    for (size_t j = 0; j < hawser_dataset_matrix(dataset)->cols; j++) {
        strcat(text, j > 0 ? " " : "");
        strcat(text, hawser_dataset_column(dataset, j));
    }
    assert_string_equal(text, words);
}

/* Loads lines, and compares words and counts. */
static void expect_text(const char *text, hawser_load load, const char *words, size_t rows, const double *counts)
{
    for (int by_row = 0; by_row < 2; by_row++)
        for (int single = 0; single < 2; single++) {
            load.rows_layout = by_row;
            load.type = single ? HAWSER_F32 : HAWSER_F64;
            hawser_dataset *dataset = load_text(text, load);
            expect_words(dataset, words);
            expect_matrix(dataset, rows, hawser_dataset_matrix(dataset)->cols, counts);
            assert_int_equal(hawser_dataset_matrix(dataset)->layout, by_row ? HAWSER_CSR : HAWSER_CSC);
            assert_null(hawser_dataset_target(dataset));
            assert_int_equal(hawser_dataset_rounded(dataset, 0), 0);
            hawser_dataset_free(dataset);
        }
}

static void documents_become_counts_of_their_words(void **state)
{
    (void)state;
    expect_text("Cat, cat! a dog\r\n\nx_27 27-cow; I", (hawser_load){.format = HAWSER_DOCUMENTS}, "27 cat cow dog", 3,
                (const double[]){0, 2, 0, 1, 0, 0, 0, 0, 2, 0, 1, 0});
    expect_text("\xef\xbb\xbf"
                "a bb\na",
                (hawser_load){.format = HAWSER_DOCUMENTS, .min_length = 1}, "a bb", 2, (const double[]){1, 1, 1, 0});
    expect_text("dog bb cat\n\nx bb cat cat cat dog", (hawser_load){.format = HAWSER_DOCUMENTS, .min_length = 3}, "cat dog",
                3, (const double[]){1, 1, 0, 0, 3, 1});
}

/* A document of more words than are sorted by insertion, with columns beyond one byte. */
static void long_documents_are_sorted(void **state)
{
    (void)state;
    enum { WORDS = 3000, DOCUMENTS = 3 };
    char *text = malloc(DOCUMENTS * WORDS * 8 + 1), *at = text;
    for (unsigned d = 0; d < DOCUMENTS; d++, at[-1] = '\n')
        for (unsigned k = 0; k < WORDS; k++)
            at += sprintf(at, "w%05u ", (k * 7919 + d * 13) % WORDS / (d + 1));
    *at = '\0';
    hawser_dataset *dataset = load_text(text, lines);
    const hawser_matrix *A = hawser_dataset_matrix(dataset);
    assert_int_equal(A->rows, DOCUMENTS);
    assert_int_equal(A->cols, WORDS);
    for (size_t i = 0; i < A->rows; i++)
        for (uint64_t e = A->offsets[i]; e < A->offsets[i + 1]; e++) {
            assert_int_equal(A->indices[e], e - A->offsets[i]); /* words of a document are the first ones */
            assert_true(((const double *)A->values)[e] == (double)(i + 1));
        }
    hawser_dataset_free(dataset);
    free(text);
}

static void letters_become_small(void **state)
{
    (void)state;
    static const uint32_t pairs[][2] = {
        {'A', 'a'},       {'Z', 'z'},        {'0', '0'},     {0xc0, 0xe0},   {0xde, 0xfe},   {0xd7, 0xd7},   {0xdf, 0xdf},
        {0x100, 0x101},   {0x101, 0x101},    {0x12e, 0x12f}, {0x130, 'i'},   {0x131, 0x131}, {0x132, 0x133}, {0x138, 0x138},
        {0x139, 0x13a},   {0x147, 0x148},    {0x149, 0x149}, {0x14a, 0x14b}, {0x178, 0xff},  {0x179, 0x17a}, {0x17d, 0x17e},
        {0x17f, 0x17f},   {0x386, 0x3ac},    {0x388, 0x3ad}, {0x38a, 0x3af}, {0x38c, 0x3cc}, {0x38e, 0x3cd}, {0x38f, 0x3ce},
        {0x390, 0x390},   {0x391, 0x3b1},    {0x3a1, 0x3c1}, {0x3a2, 0x3a2}, {0x3a3, 0x3c3}, {0x3a9, 0x3c9}, {0x3ab, 0x3cb},
        {0x3c2, 0x3c2},   {0x400, 0x450},    {0x40f, 0x45f}, {0x410, 0x430}, {0x42f, 0x44f}, {0x430, 0x430}, {0x460, 0x460},
        {0x1e9e, 0x1e9e}, {0x10400, 0x10400}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
        if (hw_lower(pairs[k][0]) != pairs[k][1])
            fail_msg("U+%04X becomes U+%04X", (unsigned)pairs[k][0], (unsigned)hw_lower(pairs[k][0]));
}

/* The first and the last separators of each range, and the letters beside them. */
static void separators_beyond_ascii_cut_words(void **state)
{
    (void)state;
    expect_text("aa\xc2\x80"
                "bb\xc2\xbf"
                "cc\xc3\x97"
                "dd",
                lines,
                "aa bb cc\xc3\x97"
                "dd",
                1, (const double[]){1, 1, 1});
    expect_text("aa\xe2\x80\x80"
                "bb\xe2\xaf\xbf"
                "cc\xe2\xb0\xb0"
                "dd\xe1\xbf\xbf",
                lines,
                "aa bb cc\xe2\xb0\xb0"
                "dd\xe1\xbf\xbf",
                1, (const double[]){1, 1, 1});
    expect_text("aa\xe3\x80\x80"
                "bb\xe3\x80\xbf"
                "cc\xe3\x81\x80\xe2\xbf\xbf",
                lines, "aa bb cc\xe3\x81\x80\xe2\xbf\xbf", 1, (const double[]){1, 1, 1});
    expect_text("\xf0\x9f\x98\x80\xf0\x9f\x98\x80 \xf0\x9f\x98\x80", lines, "\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 1,
                (const double[]){1}); /* characters are counted, not bytes */
}

static void bytes_that_are_no_utf8_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc3",
                                      "\xc3(",
                                      "\xe0\x9f\xbf",
                                      "\xe2\x82",
                                      "\xe2\x82 ",
                                      "\xed\xa0\x80",
                                      "\xed\xbf\xbf",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf0\x9f\x98",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        char text[40];
        hawser_dataset *dataset;
        hawser_error error = {0};
        snprintf(text, sizeof text, "good line\nab %s\nlast", bad[k]);
        assert_int_equal(hw_load_memory("in", text, strlen(text), 0, &lines, &dataset, &error), HAWSER_BAD_INPUT);
        if (strncmp(error.text, "in:2:4: the text is not UTF-8; convert the file", 47) != 0)
            fail_msg("%zu: %s", k, error.text);
        hawser_load three = lines;
        three.threads = 3;
        assert_int_equal(hw_load_memory("in", text, strlen(text), 8, &three, &dataset, &error), HAWSER_BAD_INPUT);
        assert_true(strncmp(error.text, "in:2:4: ", 8) == 0);
    }
    static const char *const good[] = {"\xc2\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        char text[20];
        snprintf(text, sizeof text, "aa %s", good[k]);
        hawser_dataset_free(load_text(text, lines));
    }
}

static hawser_load with(const char *least, const char *most, size_t words, const char *stop)
{
    return (hawser_load){
        .format = HAWSER_DOCUMENTS, .min_documents = least, .max_documents = most, .max_words = words, .stop_words = stop};
}

/* aa is in 3 of 4 documents, bb in 2, cc and dd in 1; bb occurs 4 times, aa and dd 3 times. */
static const char four[] = "aa bb\naa dd dd dd\n\naa bb bb bb cc";

static void words_stay_by_documents_and_by_counts(void **state)
{
    (void)state;
    expect_text(four, with("2", NULL, 0, NULL), "aa bb", 4, (const double[]){1, 1, 1, 0, 0, 0, 1, 3});
    expect_text(four, with("0.5", NULL, 0, NULL), "aa bb", 4, (const double[]){1, 1, 1, 0, 0, 0, 1, 3});
    expect_text(four, with("0.51", NULL, 0, NULL), "aa", 4, (const double[]){1, 1, 0, 1});
    expect_text(four, with(NULL, "1", 0, NULL), "cc dd", 4, (const double[]){0, 0, 0, 3, 0, 0, 1, 0});
    expect_text(four, with(NULL, "0.25", 0, NULL), "cc dd", 4, (const double[]){0, 0, 0, 3, 0, 0, 1, 0});
    expect_text(four, with(NULL, "1.0", 2, NULL), "aa bb", 4, (const double[]){1, 1, 1, 0, 0, 0, 1, 3}); /* aa before dd */
    expect_text(four, with("1", NULL, 100, NULL), "aa bb cc dd", 4,
                (const double[]){1, 1, 0, 0, 1, 0, 0, 3, 0, 0, 0, 0, 1, 3, 1, 0});
    refuse_text("a b\n\n", lines, "in: no word is left: the text has no words of 2 characters or more");
    refuse_text(four, with("4", NULL, 0, NULL),
                "in: no word is left: of 4 words in 4 documents, --min-documents, --max-documents, --max-words and "
                "--stop-words leave none; relax them");
}

static void stop_words_are_left_out(void **state)
{
    (void)state;
    put_file("stop", "\xef\xbb\xbf"
                     "AA\r\ndon't\n  cc  ");
    expect_text("aa don dd t.t. cc", with(NULL, NULL, 0, "stop"), "dd", 1, (const double[]){1});
    expect_text("The cat is on a mat", with(NULL, NULL, 0, "english"), "cat mat", 1, (const double[]){1, 1});
    put_file("empty", "\n \n");
    refuse_text("aa", with(NULL, NULL, 0, "empty"), "empty: has no words");
    put_file("bad", "aa\n\xc3\n");
    refuse_text("aa", with(NULL, NULL, 0, "bad"), "bad: the word '\\xc3' is not UTF-8");
}

/* The list is in order, so that a word that occurs twice in it is seen, and each is what the text is cut into. */
static void english_has_words_as_text_has(void **state)
{
    (void)state;
    hw_levels words = {0};
    assert_int_equal(hw_stop_words("english", true, &words, NULL), HAWSER_OK);
    assert_true(words.count > 100);
    for (size_t k = 0; k < words.count; k++) {
        hw_cutter cutter = {.at = words.texts[k], .end = words.texts[k] + strlen(words.texts[k]), .least = 1};
        bool found;
        assert_int_equal(hw_cut_word(&cutter, &found, NULL), HAWSER_OK);
        assert_true(found);
        assert_string_equal(cutter.word, words.texts[k]);
        assert_true(k == 0 || strcmp(words.texts[k - 1], words.texts[k]) < 0);
        free(cutter.word);
    }
    hw_levels_free(&words);
}

/* Columns of other sparse data: with names they are taken out, without they lose their entries. */
static void columns_of_other_sparse_data_stay_likewise(void **state)
{
    (void)state;
    const char *text = "1 1:1 2:4 3:0\n0 2:1 3:2\n1 2:1";
    put_file("names", "aa\nThe\ncc\n");
    for (int by_row = 0; by_row < 2; by_row++) {
        hawser_load load = {.format = HAWSER_SVMLIGHT, .rows_layout = by_row, .max_documents = "2"};
        hawser_dataset *dataset = load_text(text, load);
        expect_matrix(dataset, 3, 3, (const double[]){1, 0, 0, 0, 0, 2, 0, 0, 0});
        assert_int_equal(hawser_dataset_matrix(dataset)->stored, 3); /* with the 0 of column 3, which is in one document */
        hawser_dataset_free(dataset);
        load.names = "names";
        dataset = load_text(text, load);
        expect_words(dataset, "aa cc");
        expect_matrix(dataset, 3, 2, (const double[]){1, 0, 0, 2, 0, 0});
        hawser_dataset_free(dataset);
        load = (hawser_load){.format = HAWSER_SVMLIGHT, .rows_layout = by_row, .names = "names", .stop_words = "english"};
        dataset = load_text(text, load);
        expect_words(dataset, "aa cc");
        hawser_dataset_free(dataset);
        load = (hawser_load){.format = HAWSER_SVMLIGHT, .rows_layout = by_row, .max_words = 1};
        dataset = load_text(text, load);
        expect_matrix(dataset, 3, 3, (const double[]){0, 4, 0, 0, 1, 0, 0, 1, 0});
        hawser_dataset_free(dataset);
    }
}

static void refuse(const char *text, hawser_load load, hawser_status expected, const char *message)
{
    hawser_dataset *dataset;
    hawser_error error = {0};
    assert_int_equal(hw_load_memory("in", text, strlen(text), 0, &load, &dataset, &error), expected);
    assert_string_equal(error.text, message);
}

static void options_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const char *rows = "1 1:0.5\n0 2:1\n";
    refuse(rows, (hawser_load){.format = HAWSER_SVMLIGHT, .max_words = 1}, HAWSER_BAD_INPUT,
           "--max-words counts words, and the value 0.5 in column 0 (from 0) is no count, which is a whole number from 0; "
           "leave the option out");
    refuse(rows, (hawser_load){.format = HAWSER_SVMLIGHT, .stop_words = "english"}, HAWSER_BAD_OPTION,
           "--stop-words english: the columns of in have no names, which words are; give them with --names");
    refuse(
        "y,a\n1,2\n", (hawser_load){.min_documents = "1"}, HAWSER_BAD_OPTION,
        "--min-documents: in is dense, and words are counted in sparse data, as text, svmlight and docword; leave it out");
    refuse("aa", with(NULL, NULL, 0, "no/such"), HAWSER_BAD_OPTION,
           "--stop-words no/such: is no file; write english, or the name of a file with one word per line");
    refuse("aa", with("1.5", NULL, 0, NULL), HAWSER_BAD_OPTION,
           "--min-documents 1.5: expected a number of documents, as 5, or a share of them up to 1.0, as 0.5");
    refuse("aa", (hawser_load){.format = HAWSER_DOCUMENTS, .names = "x"}, HAWSER_BAD_OPTION,
           "--names x: the columns of in are the words of its text, which name them; leave it out");
    refuse("aa", (hawser_load){.format = HAWSER_DOCUMENTS, .columns = 3}, HAWSER_BAD_INPUT,
           "in: is text, whose words are matched with the names of the model's columns, and they have none");
}

/* Words of a model by their names; others are counted. */
static void words_are_matched_with_a_model(void **state)
{
    (void)state;
    hawser_schema *named = NULL;
    hawser_load load = with("2", NULL, 0, NULL);
    hawser_dataset *dataset = load_text(four, load), *other;
    assert_int_equal(hawser_load_follow(&load, dataset, &named, NULL), HAWSER_OK);
    other = load_text("zz bb\n\ncc cc\nbb aa bb yy", load);
    expect_words(other, "aa bb");
    expect_matrix(other, 4, 2, (const double[]){0, 1, 0, 0, 0, 0, 1, 2});
    assert_int_equal(hawser_dataset_figures(other)->unknown_words, 4);
    hawser_dataset_free(other);
    other = load_text("\n", load); /* no known word at all */
    expect_matrix(other, 1, 2, (const double[]){0, 0});
    hawser_dataset_free(other);
    hawser_dataset_free(dataset);
    hawser_schema_free(named);
}

/* Columns with names of a file, in another order than the model's, with one that it lacks, and without one that it has. */
static void named_columns_are_matched_with_a_model(void **state)
{
    (void)state;
    const char *model = "1 1:1 2:4 3:7\n", *data = "1 1:2 2:3 3:5\n0 3:6\n";
    put_file("names", "aa\nbb\ncc\n");
    put_file("others", "cc\nzz\naa\n");
    for (int by_row = 0; by_row < 2; by_row++)
        for (int single = 0; single < 2; single++) {
            hawser_schema *named = NULL;
            hawser_load load = {.format = HAWSER_SVMLIGHT,
                                .rows_layout = by_row,
                                .type = single ? HAWSER_F32 : HAWSER_F64,
                                .index_base = 2,
                                .names = "names"};
            hawser_dataset *dataset = load_text(model, load), *other;
            assert_int_equal(hawser_load_follow(&load, dataset, &named, NULL), HAWSER_OK);
            load.names = "others";
            other = load_text(data, load);
            expect_words(other, "aa bb cc");
            expect_matrix(other, 2, 3, (const double[]){5, 0, 2, 6, 0, 0});
            assert_int_equal(hawser_dataset_figures(other)->unknown_words, 3);
            hawser_dataset_free(other);
            hawser_dataset_free(dataset);
            hawser_schema_free(named);
        }
}

/* The same bits for any threads and chunks. */
static void threads_and_chunks_change_no_text(void **state)
{
    (void)state;
    char text[4000] = "";
    unsigned seed = 5;
    for (size_t at = 0; at + 1 < sizeof text; at++) {
        seed = seed * 1103515245U + 12345U;
        text[at] = "abcde ,\nAB"[seed / 65536 % 10];
    }
    hawser_load load = lines;
    load.threads = 1;
    hawser_dataset *one, *other;
    assert_int_equal(hw_load_memory("in", text, strlen(text), 0, &load, &one, NULL), HAWSER_OK);
    const hawser_matrix *A = hawser_dataset_matrix(one);
    for (uint32_t threads = 1; threads <= 4; threads++)
        for (size_t chunk = 1; chunk <= 1000; chunk *= 10) {
            load.threads = threads;
            assert_int_equal(hw_load_memory("in", text, strlen(text), chunk, &load, &other, NULL), HAWSER_OK);
            const hawser_matrix *B = hawser_dataset_matrix(other);
            assert_int_equal(A->cols, B->cols);
            assert_int_equal(A->stored, B->stored);
            assert_memory_equal(A->offsets, B->offsets, (A->rows + 1) * sizeof *A->offsets);
            assert_memory_equal(A->indices, B->indices, A->stored * sizeof *A->indices);
            assert_memory_equal(A->values, B->values, A->stored * sizeof(double));
            for (size_t j = 0; j < A->cols; j++)
                assert_string_equal(hawser_dataset_column(one, j), hawser_dataset_column(other, j));
            hawser_dataset_free(other);
        }
    hawser_dataset_free(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_become_counts_of_their_words),
        cmocka_unit_test(long_documents_are_sorted),
        cmocka_unit_test(letters_become_small),
        cmocka_unit_test(separators_beyond_ascii_cut_words),
        cmocka_unit_test(bytes_that_are_no_utf8_are_refused),
        cmocka_unit_test(words_stay_by_documents_and_by_counts),
        cmocka_unit_test(stop_words_are_left_out),
        cmocka_unit_test(english_has_words_as_text_has),
        cmocka_unit_test(columns_of_other_sparse_data_stay_likewise),
        cmocka_unit_test(options_that_do_not_fit_are_refused),
        cmocka_unit_test(words_are_matched_with_a_model),
        cmocka_unit_test(named_columns_are_matched_with_a_model),
        cmocka_unit_test(threads_and_chunks_change_no_text),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
