/*
 * An input read by several nodes together is the input read by one: sizes, offsets, target, names; the entries of own
 * columns from the start, those of others once they are wanted, within a run and outside of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/residence.h"
#include "directory.h"
#include "hawser/job_data.h"
#include "nodes.h"
#include "sanitized.h"

enum { FILES_MOST = 3 };

typedef struct input {
    const char *paths[FILES_MOST];
    size_t count;
    hawser_load load;
    const hawser_dataset *whole; /* as one process reads it */
    bool parted;                 /* this format is read in parts */
    bool even;                   /* of as many rows each */
    bool dense;                  /* it is sparse text, and stored densely */
} input;

static uint64_t column_begin(const hawser_matrix *A, size_t j)
{
    return A->layout == HAWSER_DENSE ? j * A->stride : A->offsets[j];
}

static bool same_column(const hawser_matrix *a, const hawser_matrix *b, size_t j)
{
    size_t size = a->type == HAWSER_F32 ? sizeof(float) : sizeof(double);
    uint64_t count = a->layout == HAWSER_DENSE ? a->rows : a->offsets[j + 1] - a->offsets[j];
    if (a->layout != HAWSER_DENSE &&
        memcmp(a->indices + column_begin(a, j), b->indices + column_begin(b, j), count * sizeof *a->indices) != 0)
        return false;
    return memcmp((const char *)a->values + column_begin(a, j) * size, (const char *)b->values + column_begin(b, j) * size,
                  count * size) == 0;
}

static bool same_values(const double *a, const double *b, size_t n)
{
    return a == NULL || b == NULL ? a == b : memcmp(a, b, n * sizeof *a) == 0;
}

static bool same_shape(const hawser_dataset *a, const hawser_dataset *b)
{
    const hawser_matrix *A = hawser_dataset_matrix(a), *B = hawser_dataset_matrix(b);
    if (A->rows != B->rows || A->cols != B->cols || A->stored != B->stored || A->layout != B->layout || A->type != B->type)
        return false;
    if (A->layout != HAWSER_DENSE && memcmp(A->offsets, B->offsets, (A->cols + 1) * sizeof *A->offsets) != 0)
        return false;
    for (size_t j = 0; j < A->cols; j++) {
        const char *x = hawser_dataset_column(a, j), *y = hawser_dataset_column(b, j);
        if ((x == NULL) != (y == NULL) || (x != NULL && strcmp(x, y) != 0))
            return false;
    }
    return same_values(hawser_dataset_target(a), hawser_dataset_target(b), A->rows) &&
           same_values(hawser_dataset_weights(a), hawser_dataset_weights(b), A->rows) &&
           same_values(hawser_dataset_means(a), hawser_dataset_means(b), A->cols) &&
           hawser_dataset_figures(a)->index_base == hawser_dataset_figures(b)->index_base;
}

/* Every block looks at its own columns, then wants all that it has not got, a few at a time. */
static hawser_status look(hawser_context *context)
{
    const input *what = hawser_user(context);
    const hawser_matrix *own;
    HAWSER_TRY(hawser_read(context, "X", &own));
    HAWSER_READ(context, hawser_matrix, all);
    const hawser_matrix *truth = hawser_dataset_matrix(what->whole);
    for (size_t j = own->first; j < own->first + own->cols; j++)
        if (!same_column(all, truth, j))
            return hawser_unit_fail(context, HAWSER_BAD_INPUT, "own column %zu differs", j);
    for (uint32_t j = 0; j + 1 < all->cols; j += 2) {
        const uint32_t wanted[2] = {j, j + 1};
        HAWSER_TRY(hawser_data_fetch(context, "all", wanted, 2));
        if (!same_column(all, truth, j) || !same_column(all, truth, j + 1))
            return hawser_unit_fail(context, HAWSER_BAD_INPUT, "wanted column %u differs", j);
    }
    const uint32_t beyond = (uint32_t)all->cols;
    return hawser_data_fetch(context, "all", &beyond, 1) == HAWSER_OK
               ? hawser_unit_fail(context, HAWSER_BAD_INPUT, "a column that is not there was given")
               : HAWSER_BAD_ARGUMENT;
}

static hawser_status check(test_node *node, const input *what, const hawser_dataset *data)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    size_t here = 0;
    if (!same_shape(data, what->whole))
        return hawser_fail(&node->error, HAWSER_BAD_INPUT, "the shape differs");
    for (size_t j = 0; X->residence != NULL && j < X->cols; j++)
        here += hw_is_here(X->residence, (uint32_t)j);
    if (what->parted && node->nodes > 1 && (X->residence == NULL || here == X->cols))
        return hawser_fail(&node->error, HAWSER_BAD_INPUT, "%zu of %zu columns are here", here, X->cols);
    const hawser_load_figures *figures = hawser_dataset_figures(data);
    for (uint32_t i = 0; what->even && node->nodes > 1 && i < node->nodes; i++)
        if (figures->readers != node->nodes || figures->rows_read[i] > X->rows / node->nodes + 1)
            return hawser_fail(&node->error, HAWSER_BAD_INPUT, "node %u has read more than its share", i);
    const uint32_t some[] = {0, (uint32_t)X->cols - 1};
    HAWSER_TRY(hawser_job_fetch(node->job, X, some, 2, &node->error));
    if (!same_column(X, hawser_dataset_matrix(what->whole), 0) ||
        !same_column(X, hawser_dataset_matrix(what->whole), X->cols - 1))
        return hawser_fail(&node->error, HAWSER_BAD_INPUT, "a fetched column differs");
    hawser_program *program = hawser_program_new("look", node->user);
    hawser_state *part = HAWSER_STATE(program, "X", HAWSER_DATA, .matrix = X, .split = HAWSER_BY_COLUMN);
    hawser_state *all = HAWSER_STATE(program, "all", HAWSER_DATA, .matrix = X, .split = HAWSER_FETCHED);
    HAWSER_UNIT(hawser_root(program), "look", look, .reads = {part, all});
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(node->job, program, &run, &node->error);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static void load_and_check(test_node *node)
{
    const input *what = node->user;
    hawser_dataset *data = NULL;
    node->status = hawser_job_load(node->job, what->paths, what->count, &what->load, &data, &node->error);
    if (node->status == HAWSER_OK)
        node->status = check(node, what, data);
    hawser_dataset_free(data);
}

static void on_all_counts(input *what)
{
    hawser_dataset *whole = NULL;
    hawser_error error = {0};
    if (hawser_dataset_load(what->paths, what->count, &what->load, &whole, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    what->whole = whole;
    assert_true(!what->dense || hawser_dataset_matrix(whole)->layout == HAWSER_DENSE);
    for (uint32_t count = 1; count <= 5; count += SANITIZED ? 2 : 1) {
        test_node nodes[NODES_MOST];
        run_nodes(nodes, count, (const char *const[]){"workers", "6", "timeout", "60", NULL}, load_and_check, what);
        for (uint32_t i = 0; i < count; i++) /* the last wish is refused: everything before it was right */
            if (nodes[i].status != HAWSER_BAD_ARGUMENT || strstr(nodes[i].error.text, "which has") == NULL)
                fail_msg("node %u of %u: %d %s", i, count, nodes[i].status, nodes[i].error.text);
    }
    hawser_dataset_free(whole);
}

static void write_svmlight(const char *path, int from, int rows, int base)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = from; i < from + rows; i++) {
        fprintf(file, "%.17g", cos(i));
        for (int j = 0; j < 40; j++)
            if ((i * 7 + j * j) % 5 == 0)
                fprintf(file, " %d:%.17g", j + base, sin(i + 3 * j));
        fputc('\n', file);
    }
    fclose(file);
}

/* Rows with all values, except for one in seven and the last columns of the first rows. */
static void write_full(const char *path, int rows, int base)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < rows; i++) {
        fprintf(file, "%.17g", cos(i));
        for (int j = 0; j < (i < 9 ? 17 : 19); j++)
            if ((i + 3 * j) % 7 != 0 || (i == 4 && j == 0))
                fprintf(file, " %d:%.17g", j + base, sin(i + 3 * j));
        fputc('\n', file);
    }
    fclose(file);
}

static void svmlight(void **state)
{
    (void)state;
    const char *one = "one.svm", *two = "two.svm";
    for (int base = 0; base < 2; base++) {
        write_svmlight(one, 0, 57, base);
        write_svmlight(two, 57, 3, base);
        on_all_counts(&(input){.paths = {one, two}, .count = 2, .parted = true});
        on_all_counts(&(input){.paths = {two}, .count = 1, .parted = true}); /* fewer rows than nodes */
        on_all_counts(
            &(input){.paths = {one}, .count = 1, .load = {.type = HAWSER_F32, .index_base = base + 1}, .parted = true});
        write_full(two, 43, base);
        on_all_counts(&(input){.paths = {two}, .count = 1, .load = {.full_dense = true}, .parted = true, .dense = true});
        on_all_counts(&(input){
            .paths = {two}, .count = 1, .load = {.full_dense = true, .type = HAWSER_F32}, .parted = true, .dense = true});
    }
}

static void csv(void **state)
{
    (void)state;
    const char *path = "a.csv";
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "y,w,a,b,c,d,e,f,g\n");
    for (int i = 0; i < 83; i++) {
        fprintf(file, "%.17g,%d", tan(i), i % 3);
        for (int j = 0; j < 7; j++)
            fprintf(file, ",%.*f", i % 9, sin(i * j + 1.5));
        fputc('\n', file);
    }
    fclose(file);
    on_all_counts(&(input){.paths = {path}, .count = 1, .load = {.weights = "w"}, .parted = true});
    const char *holes = "holes.csv";
    file = fopen(holes, "w");
    assert_non_null(file);
    fprintf(file, "y,a,b,c,d\n");
    for (int i = 0; i < 83; i++)
        fprintf(file, "%d,%.17g,%.*f,%s,%s\n", i, sin(i), i % 3 == 0 ? 0 : 9, cos(i), i == 70 ? "4.5" : "NA",
                i % 2 ? "" : "1");
    fclose(file);
    for (hawser_type type = HAWSER_F64; type <= HAWSER_F32; type++)
        on_all_counts(&(input){.paths = {holes}, .count = 1, .load = {.missing = "mean", .type = type}, .parted = true});
}

/* Coordinates in an order that no matrix has; `extra`: a line more, which is not promised. */
static void write_market(const char *path, const char *kind, int size, const char *extra)
{
    FILE *file = fopen(path, "w");
    bool symmetric = strstr(kind, "symmetric") != NULL, pattern = strstr(kind, "pattern") != NULL;
    int entries = 0, total = size * size;
    assert_non_null(file);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            fprintf(file, "%%%%MatrixMarket matrix coordinate %s\n%% a comment\n%d %d %d\n", kind, size, size, entries);
        for (int i = 0; i < total; i++) {
            int place = (int)((int64_t)i * 97 % total), row = place / size, column = place % size;
            if ((row * 5 + column * column) % 7 < 4 || (symmetric && row < column))
                continue;
            entries += pass == 0;
            if (pass == 1 && pattern)
                fprintf(file, "%d %d\n", row + 1, column + 1);
            else if (pass == 1)
                fprintf(file, "%d %d %.17g\n", row + 1, column + 1, sin(place + 1));
        }
    }
    fputs(extra, file);
    fclose(file);
}

static void market(void **state)
{
    (void)state;
    const char *path = "a.mtx", *const kinds[] = {"real general", "real symmetric", "pattern general"};
    for (int k = 0; k < 3; k++)
        for (hawser_type type = HAWSER_F64; type <= HAWSER_F32; type++) {
            write_market(path, kinds[k], 31, "");
            on_all_counts(&(input){.paths = {path}, .count = 1, .load = {.type = type}, .parted = true});
        }
}

/* Values of many lengths, comments between them; `extra`: a line more, which is not promised. */
static void write_array(const char *path, bool symmetric, int rows, int cols, const char *extra)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%%%%MatrixMarket matrix array real %s\n%% a comment\n%d %d\n", symmetric ? "symmetric" : "general", rows,
            cols);
    for (int j = 0; j < cols; j++)
        for (int i = symmetric ? j : 0; i < rows; i++)
            fprintf(file, "%s%.*f\n", (i + j) % 9 == 0 ? "% between\n" : "", (i * j + i) % 12, sin(i + 100 * j) * 20);
    fputs(extra, file);
    fclose(file);
}

static void market_array(void **state)
{
    (void)state;
    const char *path = "a.mtx";
    for (int k = 0; k < 6; k++)
        for (hawser_type type = HAWSER_F64; type <= HAWSER_F32; type++) {
            bool symmetric = k % 2 == 1;
            int rows = k < 4 ? 31 : 2;
            write_array(path, symmetric, rows, symmetric ? rows : k < 4 ? 17 : 6, "");
            on_all_counts(&(input){.paths = {path}, .count = 1, .load = {.type = type}, .parted = k < 4});
            on_all_counts(
                &(input){.paths = {path}, .count = 1, .load = {.type = type, .columns = k < 4 ? 13 : 2}, .parted = k < 4});
        }
}

/* What each node is to read, and what it says. */
typedef struct refusal {
    const char *path, *missing, *text;
    uint64_t memory_limit;
    hawser_status status;
} refusal;

static void refused(test_node *node)
{
    const refusal *how = node->user;
    hawser_dataset *dataset = NULL;
    const hawser_load load = {.missing = how->missing, .memory_limit = how->memory_limit};
    node->status = hawser_job_load(node->job, &how->path, 1, &load, &dataset, &node->error);
    hawser_dataset_free(dataset);
}

static void all_refuse(refusal how)
{
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 3, (const char *const[]){"workers", "3", NULL}, refused, &how);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(nodes[i].status, how.status);
        if (strstr(nodes[i].error.text, how.text) == NULL)
            fail_msg("node %u: %s", i, nodes[i].error.text);
    }
}

/* What no part of the text shows: too many entries, one that is in the parts of two nodes, a column without any value. */
static void refused_by_all(void **state)
{
    (void)state;
    FILE *file = fopen("none.csv", "w");
    assert_non_null(file);
    fprintf(file, "y,a,b,c\n");
    for (int i = 0; i < 30; i++)
        fprintf(file, "%d,%d,%d,\n", i, i % 7, i % 5);
    fclose(file);
    all_refuse((refusal){"none.csv", "mean", "none.csv: every value of column 'c' is missing", 0, HAWSER_BAD_INPUT});
    write_market("a.mtx", "real general", 31, "3 3 1\n");
    all_refuse((refusal){"a.mtx", NULL, "a.mtx: the line of sizes declares 412 entries, but the file has 413", 0,
                         HAWSER_BAD_INPUT});
    file = fopen("b.mtx", "w");
    assert_non_null(file);
    fprintf(file, "%%%%MatrixMarket matrix coordinate real general\n40 5 41\n");
    for (int i = 0; i < 41; i++)
        fprintf(file, "%d %d 1.5\n", i % 40 + 1, i % 5 + 1);
    fclose(file);
    write_array("c.mtx", true, 9, 9, "3\n");
    all_refuse(
        (refusal){"c.mtx", NULL, "c.mtx: the line of sizes declares 45 entries, but the file has 46", 0, HAWSER_BAD_INPUT});
    write_array("c.mtx", false, 9, 9, "3 4\n");
    all_refuse((refusal){"c.mtx", NULL, "c.mtx:94:3: other text follows the entry: \"4\"", 0, HAWSER_BAD_INPUT});
    all_refuse(
        (refusal){"b.mtx", NULL,
                  "b.mtx: the entry in row 1 and column 1 occurs twice, in the shares of nodes, which do not add them; "
                  "add them up once: hawser data convert",
                  0, HAWSER_BAD_INPUT});
}

/* What each of two nodes reads, and what they say; NULL: nothing is wrong. */
typedef struct own_files {
    const char *paths[2][2];
    size_t counts[2];
    const char *text;
    hawser_split split;
} own_files;

static void load_own(test_node *node)
{
    const own_files *what = node->user;
    const hawser_load load = {.split = what->split};
    hawser_dataset *dataset = NULL;
    node->status =
        hawser_job_load(node->job, what->paths[node->node], what->counts[node->node], &load, &dataset, &node->error);
    hawser_dataset_free(dataset);
}

static void write_lines(const char *path, int count)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < count; i++)
        fprintf(file, "%d,%d\n", 10 + i, i % 10);
    fclose(file);
}

/* Nodes whose files have different sizes would each read a part of another whole. Copies may have other names. */
static void nodes_that_read_other_files_are_refused(void **state)
{
    (void)state;
    own_files cases[] = {
        {{{"a.csv"}, {"long.csv"}},
         {1, 1},
         "node 0 reads 'a.csv' (150 bytes), and node 1 reads 'long.csv' (300 bytes); give",
         0},
        {{{"a.csv"}, {"a.csv", "b.csv"}}, {1, 2}, "and node 1 reads 2 files, 'a.csv' first (300 bytes in all)", 0},
        {{{"long.csv"}, {"a.csv", "b.csv"}}, {1, 2}, "node 0 reads 'long.csv' (300 bytes), and node 1 reads 2 files", 0},
        {{{"a.csv"}, {"b.csv"}}, {1, 1}, NULL, 0}};
    write_lines("a.csv", 30);
    write_lines("b.csv", 30);
    write_lines("long.csv", 60);
    for (size_t c = 0; c < 2 * sizeof cases / sizeof *cases; c++) {
        own_files *what = &cases[c / 2];
        test_node nodes[NODES_MOST];
        what->split = c % 2 == 0 ? HAWSER_BY_COLUMN : HAWSER_BY_ROW;
        run_nodes(nodes, 2, (const char *const[]){"workers", "2", "timeout", "60", NULL}, load_own, what);
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(nodes[i].status, what->text != NULL ? HAWSER_BAD_INPUT : HAWSER_OK);
            if (what->text != NULL && strstr(nodes[i].error.text, what->text) == NULL)
                fail_msg("node %u: %s", i, nodes[i].error.text);
        }
    }
}

/* One index makes columns that all nodes keep offsets of, though none of them has entries there. */
static void columns_that_cannot_fit_are_refused(void **state)
{
    (void)state;
    FILE *file = fopen("far.svm", "w");
    assert_non_null(file);
    fprintf(file, "1 1:1 2:3\n2 2:1 9999999:4\n3 1:2\n");
    fclose(file);
    all_refuse((refusal){.path = "far.svm",
                         .text = "the load needs about 125.8 MiB of memory",
                         .memory_limit = 100 << 20,
                         .status = HAWSER_NO_MEMORY});
}

static void npy(void **state)
{
    (void)state;
    const hawser_generate what = {.kind = "dense", .rows = 59, .cols = 8, .seed = 5};
    hawser_dataset *dataset;
    assert_int_equal(hawser_dataset_generate(&what, &dataset, NULL, NULL), HAWSER_OK);
    assert_int_equal(hawser_dataset_write(dataset, 0, 42, HAWSER_NPY, "a.npy", NULL), HAWSER_OK);
    assert_int_equal(hawser_dataset_write(dataset, 42, 59, HAWSER_NPY, "b.npy", NULL), HAWSER_OK);
    hawser_dataset_free(dataset);
    on_all_counts(&(input){.paths = {"a.npy", "b.npy"}, .count = 2, .parted = true, .even = true});
    on_all_counts(&(input){.paths = {"b.npy"}, .count = 1, .load = {.type = HAWSER_F32}, .parted = true, .even = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(svmlight, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(csv, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(npy, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(market, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(market_array, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(refused_by_all, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(columns_that_cannot_fit_are_refused, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(nodes_that_read_other_files_are_refused, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
