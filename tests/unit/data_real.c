/* Real data sets against the counts that are published for them. Looked for in HAWSER_TEST_DATA, else beside the sources. */
#include "data_common.h"

#include <math.h>
#include <stdlib.h>

#include "sanitized.h"

static void find_data(char *out, size_t size)
{
    const char *given = getenv("HAWSER_TEST_DATA"), *file = __FILE__, *root = strstr(file, "/tests/unit/");
    if (given != NULL)
        snprintf(out, size, "%s", given);
    else
        snprintf(out, size, "%.*s/../shared/data", root != NULL ? (int)(root - file) : 0, file);
}

static const struct {
    const char *path;
    size_t rows, cols;
    uint64_t stored; /* 0: dense */
} sets[] = {
    {"a9a/a9a.zst", 32561, 123, 451592},
    {"a9a/a9a.t.zst", 16281, 122, 225731},
    {"mushrooms/mushrooms.zst", 8124, 112, 170604},
    {"agaricus/agaricus.txt.train.zst", 6513, 126, 143286},
    {"imdb/imdb.train.svm.zst", 25000, 74849, 3431196},
    {"reuters_r52/r52.train.svm.zst", 6532, 23757, 447986},
    {"rcv1_small/rcv1_small.train.svm.zst", 1000, 47117, 77739},
    {"kdd99/kdd99_10pct.svm.zst", 494021, 118, 6179964},
    {"abalone/abalone.zst", 4177, 8, 32080},
    {"riboflavin/riboflavin.csv.zst", 71, 4088, 0},
    {"gene/golub.csv.zst", 72, 7129, 0},
    {"gene/alon.csv.zst", 62, 2000, 0},
    {"prostate/prostate.csv.zst", 97, 8, 0},
    {"uci_regression/protein.csv.zst", 45730, 9, 0},
    {"uci_regression/kin40k.csv.zst", 40000, 8, 0},
    {"spambase/spambase.csv.zst", 4601, 57, 0},
    {"letter/letter.csv.zst", 20000, 16, 0},
    {"magic/magic04.csv.zst", 19020, 10, 0},
    {"usps/zip.train.csv.zst", 7291, 256, 0},
    {"ap/docword.ap.txt.zst", 2246, 10473, 302031},
    {"kos/docword.kos.txt.zst", 3430, 6906, 353160},
    {"movietweetings/mt100k.txt.zst", 100000, 3, 0},
    {"gowalla/gowalla.train.triples.zst", 719081, 2, 0},
};

static void published_counts_are_found(void **state)
{
    (void)state;
    char root[2000], path[2200];
    find_data(root, sizeof root);
    int found = 0;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        snprintf(path, sizeof path, "%s/%s", root, sets[i].path);
        if (SANITIZED && sets[i].rows > 10000)
            continue; /* smaller sets have each format, too */
        if (!hw_is_file(path)) {
            print_message("%s is not here\n", path);
            continue;
        }
        found++;
        const char *paths[] = {path};
        hawser_dataset *dataset;
        hawser_error error = {0};
        hawser_load load = {.threads = 2};
        if (hawser_dataset_load(paths, 1, &load, &dataset, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        const hawser_matrix *A = hawser_dataset_matrix(dataset);
        uint64_t stored = sets[i].stored != 0 ? sets[i].stored : sets[i].rows * sets[i].cols;
        if (A->rows != sets[i].rows || A->cols != sets[i].cols || A->stored != stored)
            fail_msg("%s: %zu x %zu with %llu entries", path, A->rows, A->cols, (unsigned long long)A->stored);
        assert_int_equal(A->layout, sets[i].stored != 0 ? HAWSER_CSC : HAWSER_DENSE);
        const double *target = hawser_dataset_target(dataset);
        assert_true((target == NULL) == (strstr(path, "docword") != NULL));
        for (size_t r = 0; target != NULL && r < A->rows; r++)
            assert_true(isfinite(target[r]));
        hawser_dataset_free(dataset);
    }
    if (found == 0) {
        print_message("no data sets in %s: set HAWSER_TEST_DATA\n", root);
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_counts_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
