#include "data_common.h"

#include <lzma.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/machine.h"
#include "directory.h"
#include "sanitized.h"

static void put(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "ae");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void put_text(const char *path, const char *text)
{
    put(path, text, strlen(text));
}

enum { GZIP, XZ, ZSTD, PACKINGS };

/* One archive member of the text, appended; `keep` bytes of it at most. */
static void put_packed(const char *path, int packing, const char *text, size_t keep)
{
    size_t bytes = strlen(text), space = bytes + 1000, used = 0;
    unsigned char *out = malloc(space);
    if (packing == GZIP) {
        z_stream z = {
            .next_in = (unsigned char *)(uintptr_t)text, .avail_in = (uInt)bytes, .next_out = out, .avail_out = (uInt)space};
        assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        used = z.total_out;
        deflateEnd(&z);
    } else if (packing == XZ) {
        assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text, bytes, out, &used, space),
                         LZMA_OK);
    } else {
        used = ZSTD_compress(out, space, text, bytes, 3);
        assert_false(ZSTD_isError(used));
    }
    put(path, out, used < keep ? used : keep);
    free(out);
}

static hawser_status load_paths(const char *const *paths, size_t count, hawser_load load, hawser_dataset **dataset,
                                hawser_error *error)
{
    load.threads = load.threads != 0 ? load.threads : 2;
    *error = (hawser_error){0};
    return hawser_dataset_load(paths, count, &load, dataset, error);
}

static hawser_dataset *load_path(const char *path, hawser_load load)
{
    hawser_dataset *dataset;
    hawser_error error;
    if (load_paths(&path, 1, load, &dataset, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    return dataset;
}

static void refuse_path(const char *path, hawser_status expected, const char *message)
{
    hawser_dataset *dataset;
    hawser_error error;
    assert_int_equal(load_paths(&path, 1, (hawser_load){0}, &dataset, &error), expected);
    assert_null(dataset);
    assert_string_equal(error.text, message);
}

static void archives_are_known_by_content(void **state)
{
    (void)state;
    const double values[] = {1, 0, 0, 2, 3, 0};
    for (int packing = 0; packing < PACKINGS; packing++) {
        char path[] = "members0.csv";
        path[7] = (char)('0' + packing);
        put_packed(path, packing, "1 1:1\n2 2:", 1000); /* members end in the middle of a line */
        put_packed(path, packing, "2\n", 1000);
        put_packed(path, packing, "3 1:3", 1000);
        hawser_dataset *dataset = load_path(path, (hawser_load){0});
        expect_matrix(dataset, 3, 2, values);
        struct stat facts;
        assert_int_equal(stat(path, &facts), 0);
        assert_int_equal(hawser_dataset_figures(dataset)->bytes_read, facts.st_size);
        hawser_dataset_free(dataset);
    }
}

/* Zeros behind an archive are the end of a block of its tape: any number for gzip, words of four bytes for xz, which another
 * archive may follow. */
static void zeros_may_follow_an_archive(void **state)
{
    (void)state;
    static const struct {
        int packing;
        size_t zeros;
        const char *after, *wrong;
    } cases[] = {{GZIP, 1, "", NULL},
                 {GZIP, 512, "", NULL},
                 {GZIP, 300001, "", NULL}, /* more than is read at a time */
                 {GZIP, 512, "x", "z: the gzip archive is damaged: other data follow its end"},
                 {GZIP, 300001, "x", "z: the gzip archive is damaged: other data follow its end"},
                 {GZIP, 0, "xyz", "z: the gzip archive is damaged: other data follow its end"},
                 {XZ, 4, "", NULL},
                 {XZ, 300000, "", NULL},
                 {XZ, 6, "", "z: the xz archive is damaged: wrong data"},
                 {XZ, 4, "xxxxxxxxxxxxxxxx", "z: the xz archive is damaged: wrong data"}};
    const double values[] = {1, 0, 0, 2};
    char *zeros = calloc(1, 300001);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_packed("z", cases[i].packing, "1 1:1\n2 2:2", 1000);
        put("z", zeros, cases[i].zeros);
        put_text("z", cases[i].after);
        if (cases[i].wrong != NULL) {
            refuse_path("z", HAWSER_BAD_INPUT, cases[i].wrong);
        } else {
            hawser_dataset *dataset = load_path("z", (hawser_load){0});
            expect_matrix(dataset, 2, 2, values);
            struct stat facts;
            assert_int_equal(stat("z", &facts), 0);
            assert_int_equal(hawser_dataset_figures(dataset)->bytes_read, facts.st_size);
            hawser_dataset_free(dataset);
        }
        unlink("z");
    }
    put_packed("z", XZ, "1 1:1\n", 1000);
    put("z", zeros, 8);
    put_packed("z", XZ, "2 2:2", 1000);
    hawser_dataset *dataset = load_path("z", (hawser_load){0});
    expect_matrix(dataset, 2, 2, values);
    hawser_dataset_free(dataset);
    unlink("z");
    free(zeros);
}

static void every_cut_of_an_archive_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"gzip", "xz", "zstd"};
    const char *text = "1 1:1 2:0.125\n2 2:2\n3 1:3 7:0.3\n4 5:1.25\n";
    for (int packing = 0; packing < PACKINGS; packing++) {
        put_packed("whole", packing, text, 1000);
        struct stat facts;
        assert_int_equal(stat("whole", &facts), 0);
        for (off_t keep = 8; keep < facts.st_size; keep++) {
            put_packed("cut", packing, text, (size_t)keep);
            const char *path = "cut";
            hawser_dataset *dataset;
            hawser_error error;
            assert_int_equal(load_paths(&path, 1, (hawser_load){0}, &dataset, &error), HAWSER_BAD_INPUT);
            char message[100];
            snprintf(message, sizeof message, "cut: the %s archive is cut off after %d bytes; fetch it again",
                     names[packing], (int)keep);
            assert_string_equal(error.text, message);
            unlink("cut");
        }
        put("whole", "rubbish and more of it", 22);
        const char *path = "whole";
        hawser_dataset *dataset;
        hawser_error error;
        assert_int_equal(load_paths(&path, 1, (hawser_load){0}, &dataset, &error), HAWSER_BAD_INPUT);
        if (strstr(error.text, "archive is damaged") == NULL)
            fail_msg("%s", error.text);
        unlink("whole");
    }
}

static void errors_in_archives_name_the_line(void **state)
{
    (void)state;
    char *text = malloc(3 << 20);
    size_t used = 0;
    for (int i = 0; i < 100000; i++)
        used += (size_t)sprintf(text + used, i == 90000 ? "1 1:1 2:oops\n" : "1 1:1 2:0.25\n");
    for (int packing = 0; packing < PACKINGS; packing++) {
        put_packed("x", packing, text, 1 << 30);
        refuse_path("x", HAWSER_BAD_INPUT, "x:90001:9: the value is not a number: \"oops\"");
        unlink("x");
    }
    free(text);
}

static void several_files_are_one_input(void **state)
{
    (void)state;
    put_text("part-2.svm", "3 3:3\n");
    put_text("part-1.svm", "1 0:1\n2 2:2");
    put_packed("part-3.svm", GZIP, "4 1:4", 1000);
    hawser_dataset *dataset = load_path("part-*.svm", (hawser_load){0});
    const double values[] = {1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 4, 0, 0};
    expect_matrix(dataset, 4, 4, values);
    assert_int_equal(hawser_dataset_figures(dataset)->index_base, 0); /* for all files, though one alone says so */
    hawser_dataset_free(dataset);
    put_text("part-2.svm", "3 x:3\n");
    refuse_path("part-*.svm", HAWSER_BAD_INPUT, "part-2.svm:2:3: expected INDEX:VALUE: \"x:3\"");
    put_text("a.csv", "y,x\n1,2\n");
    put_text("b.csv", "y,x\n3,4\n");
    put_text("c.csv", "5,6\n");
    put_text("d.csv", "y,z\n5,6\n");
    dataset = load_path("[abc].csv", (hawser_load){0});
    const double x[] = {2, 4, 6};
    expect_matrix(dataset, 3, 1, x);
    hawser_dataset_free(dataset);
    refuse_path("[ad].csv", HAWSER_BAD_INPUT, "d.csv:1:1: this file's header differs from the first file's: \"y\"");
}

static void an_invalid_input_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir("folder", 0700), 0);
    refuse_path("folder", HAWSER_BAD_INPUT, "folder: is a directory; name the files in it, for example 'folder/*'");
    refuse_path("absent", HAWSER_IO, "absent: cannot open: No such file or directory");
    refuse_path("absent*", HAWSER_IO, "absent*: no file matches");
    put_text("empty", "");
    refuse_path("empty", HAWSER_BAD_INPUT, "empty: is empty");
    put_packed("empty.gz", GZIP, "", 1000);
    refuse_path("empty.gz", HAWSER_BAD_INPUT, "empty.gz: is empty");
    put_text("plain", "1 1:1\n");
    const char *path = "plain";
    hawser_dataset *dataset;
    hawser_error error;
    assert_int_equal(load_paths(&path, 1, (hawser_load){.format = HAWSER_NPY}, &dataset, &error), HAWSER_BAD_INPUT);
    assert_string_equal(error.text, "plain: is not a .npy file, by its first bytes");
    assert_int_equal(load_paths(&path, 0, (hawser_load){0}, &dataset, &error), HAWSER_BAD_ARGUMENT);
}

static void standard_input_is_read(void **state)
{
    (void)state;
    const char *text = "1 1:1\n2 2:2\n";
    int ends[2], kept = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
    close(ends[1]);
    assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
    close(ends[0]);
    hawser_dataset *dataset = load_path("-", (hawser_load){0});
    const double values[] = {1, 0, 0, 2};
    expect_matrix(dataset, 2, 2, values);
    hawser_dataset_free(dataset);
    assert_true(dup2(kept, STDIN_FILENO) >= 0);
    close(kept);
}

static void side_files_belong_to_the_rows(void **state)
{
    (void)state;
    put_text("m.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n");
    put_text("y", "0.5\n-1\n");
    put_text("w", "2\n3\n");
    put_text("three", "2\n3\n4\n");
    put_text("names", "left\r\nright\n");
    put_text("name", "left\n");
    hawser_load load = {.target = "y", .weights = "w", .offset = "w", .names = "names"};
    hawser_dataset *dataset = load_path("m.mtx", load);
    const double y[] = {0.5, -1}, w[] = {2, 3};
    assert_memory_equal(hawser_dataset_target(dataset), y, sizeof y);
    assert_memory_equal(hawser_dataset_weights(dataset), w, sizeof w);
    assert_memory_equal(hawser_dataset_offset(dataset), w, sizeof w);
    assert_string_equal(hawser_dataset_column(dataset, 0), "left");
    assert_string_equal(hawser_dataset_column(dataset, 1), "right");
    hawser_dataset_free(dataset);
    const char *path = "m.mtx";
    hawser_error error;
    load.weights = "three";
    assert_int_equal(load_paths(&path, 1, load, &dataset, &error), HAWSER_BAD_INPUT);
    assert_string_equal(error.text, "three: has 3 numbers for the weights of 2 rows");
    load.weights = "absent";
    assert_int_equal(load_paths(&path, 1, load, &dataset, &error), HAWSER_BAD_INPUT);
    assert_string_equal(error.text,
                        "the weights 'absent' is not a file, and this format has no columns by name; name a file with "
                        "one number per row");
    put_text("below", "2\n-3\n");
    load.weights = "below";
    assert_int_equal(load_paths(&path, 1, load, &dataset, &error), HAWSER_BAD_INPUT);
    assert_string_equal(error.text,
                        "below: the weight of row 2 is negative: -3; weights are 0 or more, so remove the row or "
                        "correct it");
    load.weights = NULL;
    load.names = "name";
    assert_int_equal(load_paths(&path, 1, load, &dataset, &error), HAWSER_BAD_INPUT);
    assert_string_equal(error.text, "name: has 1 names for 2 columns");
    put_text("s.svm", "1 1:1\n2 2:1\n");
    dataset = load_path("s.svm", (hawser_load){.target = "y"});
    assert_memory_equal(hawser_dataset_target(dataset), y, sizeof y);
    hawser_dataset_free(dataset);
}

/* One name too many means that all behind it are another column's. */
static void names_are_as_many_as_columns(void **state)
{
    (void)state;
    static const char *const wide[] = {"m.mtx", "a.mtx", "d.csv"};
    put_text("m.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n");
    put_text("a.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n");
    put_text("d.csv", "1,2,3\n4,5,6\n");
    put_text("s.svm", "1 1:1\n2 2:1\n");
    put_text("three", "a\nb\nc\n");
    put_text("latin", "a\nb\xe9\n");
    hawser_dataset *dataset;
    hawser_error error;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(load_paths(&wide[i], 1, (hawser_load){.names = "three"}, &dataset, &error), HAWSER_BAD_INPUT);
        assert_string_equal(error.text, "three: has 3 names for 2 columns");
        assert_int_equal(load_paths(&wide[i], 1, (hawser_load){.names = "latin"}, &dataset, &error), HAWSER_BAD_INPUT);
        assert_non_null(strstr(error.text, "latin: the name of column 1 (from 0) is not UTF-8"));
    }
    dataset = load_path("s.svm", (hawser_load){.names = "three"}); /* columns that do not occur have names too */
    assert_string_equal(hawser_dataset_column(dataset, 1), "b");
    hawser_dataset_free(dataset);
    put_text("two", "a\nb\n");
    for (int i = 0; i < 2; i++) { /* of a model with one column the names are those of the whole file */
        dataset = load_path(wide[i], (hawser_load){.names = "two", .columns = 1});
        assert_string_equal(hawser_dataset_column(dataset, 0), "a");
        hawser_dataset_free(dataset);
    }
}

/* The first line is longer than what is looked at first; names that follow it belong to the file too. */
static void a_long_first_line_is_not_all(void **state)
{
    (void)state;
    enum { LONG = 3 << 20, MORE = 3 << 20 };
    char *text = malloc(LONG + MORE + 2);
    memset(text, 'a', LONG + MORE);
    text[LONG] = '\n';
    strcpy(text + LONG + MORE, "\n");
    put_packed("names.gz", GZIP, text, SIZE_MAX);
    put_text("m.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n");
    hawser_dataset *dataset = load_path("m.mtx", (hawser_load){.names = "names.gz"});
    assert_int_equal(strlen(hawser_dataset_column(dataset, 0)), LONG);
    assert_int_equal(strlen(hawser_dataset_column(dataset, 1)), MORE - 1);
    hawser_dataset_free(dataset);
    free(text);
}

/* What an archive asks for by its header is taken from the budget, not from whatever there is. */
static void an_archive_cannot_take_more_than_is_allowed(void **state)
{
    (void)state;
    const char *text = "1 1:1\n2 2:1\n", *path = "x.xz";
    unsigned char out[1000];
    size_t used = 0;
    assert_int_equal(
        lzma_easy_buffer_encode(9, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text, strlen(text), out, &used, sizeof out),
        LZMA_OK);
    put(path, out, used);
    hawser_dataset *dataset;
    hawser_error error;
    assert_int_equal(load_paths(&path, 1, (hawser_load){.memory_limit = 48 << 20}, &dataset, &error), HAWSER_NO_MEMORY);
    assert_non_null(strstr(error.text, "the load needs at least 6"));
    assert_non_null(strstr(error.text, "and 48.0 MiB may be taken; raise memory-limit"));
    dataset = load_path(path, (hawser_load){.memory_limit = 256 << 20});
    assert_true(hawser_dataset_figures(dataset)->memory_estimate > 64 << 20);
    hawser_dataset_free(dataset);
}

static void put_large(const char *path, int rows, int columns)
{
    FILE *file = fopen(path, "we");
    for (int i = 0; i < rows; i++) {
        fprintf(file, "%d", i % 2);
        for (int j = 1; j <= columns; j++)
            fprintf(file, " %d:%.3f", j * 3, (double)(i * j % 1000) / 1000);
        fputc('\n', file);
    }
    assert_int_equal(fclose(file), 0);
}

static void input_that_cannot_fit_is_refused_before_it_is_read(void **state)
{
    (void)state;
    put_large("large", 20000, 30);
    const char *path = "large";
    hawser_dataset *dataset;
    hawser_error error;
    hawser_load load = {.memory_limit = 8 << 20};
    assert_int_equal(load_paths(&path, 1, load, &dataset, &error), HAWSER_NO_MEMORY);
    assert_memory_equal(error.text, "the load needs about ", 21);
    load.memory_limit = 0;
    uint64_t before = hw_machine_peak_rss();
    dataset = load_path("large", load);
    uint64_t estimate = hawser_dataset_figures(dataset)->memory_estimate;
    if (!SANITIZED) /* whose shadow memory is not ours */
        assert_true(hw_machine_peak_rss() - before <= estimate + (4 << 20));
    assert_true(estimate < (uint64_t)20000 * 30 * 12 * 4);
    hawser_dataset_free(dataset);
    load.memory_limit = estimate;
    hawser_dataset_free(load_path("large", load));
    put_text("claim", "%%MatrixMarket matrix coordinate real general\n4000000000 4000000000 2\n1 1 1\n2 2 2\n");
    path = "claim";
    load.memory_limit = 1 << 30;
    assert_int_equal(load_paths(&path, 1, load, &dataset, &error), HAWSER_NO_MEMORY);
    put_text("wide", "1 4294967294:1\n");
    path = "wide";
    assert_int_equal(load_paths(&path, 1, load, &dataset, &error), HAWSER_NO_MEMORY);
}

static void readers_share_the_rows(void **state)
{
    (void)state;
    put_large("large", 20000, 30);
    hawser_dataset *dataset = load_path("large", (hawser_load){.threads = 4});
    const hawser_load_figures *figures = hawser_dataset_figures(dataset);
    assert_int_equal(figures->readers, 4);
    uint64_t sum = 0, most = 0;
    for (uint32_t t = 0; t < figures->readers; t++) {
        sum += figures->rows_read[t];
        most = figures->rows_read[t] > most ? figures->rows_read[t] : most;
    }
    assert_int_equal(sum, 20000);
    assert_true((double)most * 4 / (double)sum < 1.3);
    struct stat facts;
    assert_int_equal(stat("large", &facts), 0);
    assert_int_equal(figures->bytes_text, facts.st_size);
    assert_int_equal(figures->bytes_read, facts.st_size);
    hawser_dataset_free(dataset);
}

/* Rows of 1 to 60 entries. */
static void readers_share_rows_of_uneven_length(void **state)
{
    (void)state;
    enum { ROWS = 60000, READERS = 4 };
    FILE *file = fopen("uneven", "we");
    for (int i = 0; i < ROWS; i++) {
        fprintf(file, "%d", i % 2);
        for (int j = 1; j <= 1 + i * 37 % 60; j++)
            fprintf(file, " %d:%.3f", j, (double)(i * j % 1000) / 1000);
        fputc('\n', file);
    }
    assert_int_equal(fclose(file), 0);
    hawser_dataset *dataset = load_path("uneven", (hawser_load){.threads = READERS});
    const hawser_load_figures *figures = hawser_dataset_figures(dataset);
    assert_int_equal(figures->readers, READERS);
    uint64_t sum = 0, most = 0;
    for (uint32_t t = 0; t < READERS; t++) {
        sum += figures->rows_read[t];
        most = figures->rows_read[t] > most ? figures->rows_read[t] : most;
    }
    assert_int_equal(sum, ROWS);
    if ((double)most * READERS / (double)sum >= 1.3)
        fail_msg("one of %d readers has read %.0f of %.0f rows", READERS, (double)most, (double)sum);
    hawser_dataset_free(dataset);
}

/* An archive is open only in its turn: a descriptor each would end at the limit of the process. */
static void more_archives_than_descriptors_are_read(void **state)
{
    (void)state;
    enum { FILES = 60, DESCRIPTORS = 24 };
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (int i = 0; i < FILES; i++) {
        char path[32], text[64];
        snprintf(path, sizeof path, "a%02d.svm.gz", i);
        snprintf(text, sizeof text, "%d 1:%d 3:1\n", i, i);
        put_packed(path, i % PACKINGS, text, SIZE_MAX);
    }
    few = before;
    few.rlim_cur = DESCRIPTORS;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    const char *pattern = "a*.gz";
    hawser_load load = {.threads = 3};
    hawser_dataset *dataset;
    hawser_error error = {0};
    hawser_status status = hawser_dataset_load(&pattern, 1, &load, &dataset, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (status != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_int_equal(hawser_dataset_matrix(dataset)->rows, FILES);
    uint64_t bytes = 0;
    for (int i = 0; i < FILES; i++) {
        char path[32];
        struct stat facts;
        snprintf(path, sizeof path, "a%02d.svm.gz", i);
        assert_int_equal(stat(path, &facts), 0);
        bytes += (uint64_t)facts.st_size;
        assert_true(entry_at(dataset, (size_t)i, 0) == i);
    }
    assert_int_equal(hawser_dataset_figures(dataset)->bytes_read, bytes);
    hawser_dataset_free(dataset);
}

/* Readers take turns: were the missing ones' turns awaited, the load would never end. */
static void threads_that_cannot_start_are_reported(void **state)
{
    (void)state;
    if (SANITIZED)
        skip(); /* a sanitizer's shadow is larger than any limit */
    enum { LIMIT = 300 << 20, THREADS = 200 };
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        struct rlimit little = {LIMIT, LIMIT};
        char text[4000];
        hawser_dataset *dataset;
        hawser_error error = {0};
        hawser_load load = {.threads = THREADS, .memory_limit = (uint64_t)4 << 30};
        for (size_t i = 0; i + 8 < sizeof text; i += 6)
            memcpy(text + i, "1 1:2\n", 7);
        if (setrlimit(RLIMIT_AS, &little) != 0)
            _exit(2);
        hawser_status status = hw_load_memory("in", text, strlen(text), 6, &load, &dataset, &error);
        bool said = strstr(error.text, "cannot start thread") != NULL && strstr(error.text, "--threads") != NULL;
        _exit(status == HAWSER_NO_MEMORY && said ? 0 : 1);
    }
    int outcome;
    assert_int_equal(waitpid(child, &outcome, 0), child);
    assert_true(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0);
}

static void known_files_of_other_kinds_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *begin;
        size_t bytes;
        const char *what;
    } kinds[] = {
        {"BZh91AY&SY\x01\x02", 12, "a bzip2 archive, which is not read here; unpack it"},
        {"PK\3\4\x14\0", 6, "a zip archive without .npy files, as .xlsx is, which is not read here; unpack it"},
        {"\x04\x22\x4d\x18", 4, "an lz4 archive, which is not read here; unpack it"},
        {"7z\xbc\xaf\x27\x1c", 6, "a 7-Zip archive, which is not read here; unpack it"},
        {"\x1f\x9d\x90", 3, "a compress (.Z) archive, which is not read here; unpack it"},
        {"\xff\xfe\x31\0", 4, "text in UTF-16, which is not read here; convert it: iconv -f UTF-16 -t UTF-8"},
        {"\xfe\xff\0\x31", 4, "text in UTF-16, which is not read here; convert it: iconv -f UTF-16 -t UTF-8"},
        {"\x89HDF\r\n\x1a\n", 8, "an HDF5 file, which is not read here; export it as CSV or .npy"},
        {"PAR1\x15\x04", 6, "a Parquet file, which is not read here; export it as CSV or .npy"},
        {"ARROW1\0\0", 8, "an Arrow file, which is not read here; export it as CSV or .npy"},
        {"SQLite format 3", 16, "a SQLite database, which is not read here; export it as CSV or .npy"},
    };
    static const char tar[300] = "member", header[] = "ustar";
    char message[200], archive[sizeof tar];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(message, sizeof message, "in: is %s", kinds[i].what);
        refuse_bytes(kinds[i].begin, kinds[i].bytes, (hawser_load){0}, message);
        refuse_bytes(kinds[i].begin, kinds[i].bytes, (hawser_load){.format = HAWSER_CSV}, message);
    }
    memcpy(archive, tar, sizeof tar);
    memcpy(archive + 257, header, sizeof header);
    refuse_bytes(archive, sizeof archive, (hawser_load){0}, "in: is a tar archive, which is not read here; unpack it");
    put_text("rows.svm", "1 1:2\n");
    put("more.npz", kinds[1].begin, kinds[1].bytes);
    const char *paths[] = {"rows.svm", "more.npz"};
    hawser_load load = {0};
    hawser_dataset *dataset;
    hawser_error error = {0};
    assert_int_equal(hawser_dataset_load(paths, 2, &load, &dataset, &error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, "more.npz: damaged zip archive: its end is missing"));
    refuse_text("BZh,PK\n1,2\n1,x\n", (hawser_load){0},
                "in:3: column 1 'PK' has numbers (1) and words (1, as here 'x'); correct the words, or read all as words: "
                "--categories PK");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(archives_are_known_by_content, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(zeros_may_follow_an_archive, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(every_cut_of_an_archive_is_refused, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(errors_in_archives_name_the_line, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(several_files_are_one_input, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(an_invalid_input_is_refused, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(known_files_of_other_kinds_are_named, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(standard_input_is_read, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(side_files_belong_to_the_rows, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_long_first_line_is_not_all, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(an_archive_cannot_take_more_than_is_allowed, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(names_are_as_many_as_columns, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(input_that_cannot_fit_is_refused_before_it_is_read, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(readers_share_the_rows, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(readers_share_rows_of_uneven_length, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(more_archives_than_descriptors_are_read, make_directory, remove_directory),
        cmocka_unit_test(threads_that_cannot_start_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
