/* Every load again and again, with the n-th allocation failing: it ends with a status, leaks nothing, and the next one works. */
#include "data_common.h"

#include <unistd.h>

#include "failing.h"

static void put_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

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

static void any_failed_allocation_is_told_and_leaks_nothing(void **state)
{
    (void)state;
    char directory[] = "/tmp/hawser-fail-XXXXXX";
    assert_non_null(mkdtemp(directory));
    assert_int_equal(chdir(directory), 0);
    put_text("s.svm", "1 1:1 9:2\n2 2:1\n");
    put_text("c.csv", "y,a,b\n1,2,3\n2,,3\n");
    put_text("m.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n3 1 1\n2 1 2\n3 3 1\n");
    put_text("a.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n");
    put_text("y", "1\n2\n3\n");
    put_text("names", "a\nb\nc\n");
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
    fail_each("a.mtx", (hawser_load){.type = HAWSER_F32});
    char clean[100];
    snprintf(clean, sizeof clean, "rm -rf %s", directory);
    assert_int_equal(chdir("/tmp"), 0);
    assert_int_equal(system(clean), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_failed_allocation_is_told_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
