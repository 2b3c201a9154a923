/* Every load again and again, with the n-th allocation failing: it ends with a status, leaks nothing, and the next one
 * works. */
#include "data_common.h"

#include "directory.h"
#include "failing.h"

static void fail_each(const char *path, hawser_load load)
{
    long before = atomic_load(&live);
    load.threads = 2;
    for (long n = 1;; n++) {
        hawser_dataset *dataset;
        hawser_error error = {0};
        atomic_store(&countdown, n);
        hawser_status status = hawser_dataset_load(&path, 1, &load, &dataset, &error);
        bool happened = atomic_load(&countdown) <= 0;
        atomic_store(&countdown, 0);
        if (status == HAWSER_OK)
            hawser_dataset_free(dataset);
        else
            assert_null(dataset);
        if (atomic_load(&live) != before)
            fail_msg("%s: allocation %ld fails: %ld pieces leak", path, n, atomic_load(&live) - before);
        if (!happened) {
            assert_int_equal(status, HAWSER_OK);
            assert_true(n > 5);
            return;
        }
        if (status != HAWSER_NO_MEMORY || strlen(error.text) == 0)
            fail_msg("%s: allocation %ld fails: status %d, %s", path, n, (int)status, error.text);
    }
}

static void any_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    put_file("s.svm", "1 1:1 9:2\n2 2:1\n");
    put_file("t.txt", "aa bb\nbb cc dd\n\naa\n");
    put_file("stop", "cc\n");
    put_file("c.csv", "y,a,b\n1,2,3\n2,,3\n");
    put_file("m.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n3 1 1\n2 1 2\n3 3 1\n");
    put_file("a.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n");
    put_file("y", "1\n2\n3\n");
    put_file("names", "a\nb\nc\n");
    char command[] = "gzip -k s.svm && cat s.svm | xz > s.xz && zstd -q s.svm -o s.zst";
    assert_int_equal(system(command), 0);
    fail_each("s.svm", (hawser_load){.columns = 2});
    fail_each("s.svm", (hawser_load){.rows_layout = 1});
    fail_each("s.svm.gz", (hawser_load){0});
    fail_each("s.xz", (hawser_load){0});
    fail_each("s.zst", (hawser_load){0});
    fail_each("c.csv", (hawser_load){.missing = "mean", .weights = "b"});
    fail_each("m.mtx", (hawser_load){.target = "y", .names = "names"});
    fail_each("m.mtx", (hawser_load){.rows_layout = 1});
    fail_each("t.txt", (hawser_load){.format = HAWSER_DOCUMENTS});
    fail_each("t.txt", (hawser_load){.format = HAWSER_DOCUMENTS, .max_words = 2, .stop_words = "stop"});
    fail_each("s.svm", (hawser_load){.max_documents = "1"});
    fail_each("a.mtx", (hawser_load){.type = HAWSER_F32});
}

/* Names of columns in another order than a model's. */
static void failed_allocations_while_names_are_matched(void **state)
{
    (void)state;
    const char *path = "s.svm";
    put_file(path, "1 1:1 2:2\n2 2:1 3:1\n");
    put_file("names", "a\nb\nc\n");
    put_file("others", "c\nz\na\n");
    for (int by_row = 0; by_row < 2; by_row++) {
        hawser_load load = {.names = "names", .rows_layout = by_row, .index_base = 2};
        hawser_schema *named = NULL;
        hawser_dataset *dataset;
        assert_int_equal(hawser_dataset_load(&path, 1, &load, &dataset, NULL), HAWSER_OK);
        assert_int_equal(hawser_load_follow(&load, dataset, &named, NULL), HAWSER_OK);
        load.names = "others";
        fail_each(path, load);
        hawser_dataset_free(dataset);
        hawser_schema_free(named);
    }
}

/* Text that is overwritten in place after its lines were counted, which is when room is made for what they come to. */
static char *text_between;
static const char *text_after;
static size_t text_bytes;
static int mmaps_before;

static void overwrite(void)
{
    if (mmaps_before-- == 0)
        for (size_t i = 0; i < text_bytes; i++)
            text_between[i] = text_after[i % strlen(text_after)];
}

static void expect_changed(const char *head, const char *before, const char *after, hawser_load load)
{
    enum { CHUNK = 1 << 16, BYTES = 4 * CHUNK };
    size_t used = strlen(head), changed = 0;
    char *text = malloc(BYTES);
    load.threads = 1;
    for (int at = 0; at < 8; at++) { /* which of the allocations it is differs from format to format */
        hawser_dataset *dataset;
        hawser_error error = {0};
        memcpy(text, head, used);
        memset(text + used, before[0], BYTES - used);
        for (size_t i = CHUNK; i <= BYTES; i += CHUNK)
            text[i - 1] = '\n';
        memcpy(text + CHUNK, before, strlen(before));
        text_between = text + used;
        text_bytes = 2 * CHUNK - used - 1;
        text_after = after;
        mmaps_before = at;
        before_mmap = overwrite;
        hawser_status status = hw_load_memory("in", text, BYTES, CHUNK, &load, &dataset, &error);
        before_mmap = NULL;
        if (status == HAWSER_OK)
            hawser_dataset_free(dataset);
        changed += status == HAWSER_IO;
        if (status == HAWSER_IO)
            assert_string_equal(error.text, "in: the input changed while it was read; load it again when it is complete");
    }
    free(text);
    assert_true(changed > 0);
}

static void text_that_changes_between_two_reads_is_refused(void **state)
{
    (void)state;
    expect_changed("1\n", "1", "1\n", (hawser_load){.format = HAWSER_CSV, .target = "none", .header = -1});
    expect_changed("1 1:1\n", "1", "1 1:1 2:1 3:1 4:1 5:1 6:1\n", (hawser_load){.columns = 9, .rows_layout = 1});
    expect_changed("%%MatrixMarket matrix array real general\n900000 1\n", "1", "1\n", (hawser_load){0});
    expect_changed("%%MatrixMarket matrix coordinate real general\n9 9 900000\n", "1", "1 1 1\n", (hawser_load){0});
    expect_changed("%%MatrixMarket matrix array real general\n900000 1\n", "%", "%", (hawser_load){0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_failed_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(failed_allocations_while_names_are_matched),
        cmocka_unit_test(text_that_changes_between_two_reads_is_refused),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
