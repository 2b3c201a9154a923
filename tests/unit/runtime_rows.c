/*
 * An input loaded by row over several nodes: every row is in one block of one node, with what belongs to it, cut as on one
 * node; sums over rows have the same bits for any number of nodes; what cannot be done with such data is refused by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "hawser/job_data.h"
#include "rows_input.h"
#include "runtime/input/source.h"
#include "sanitized.h"

static hawser_status check_shape(test_node *node, const input *what, const hawser_dataset *data)
{
    const hawser_matrix *X = hawser_dataset_matrix(data), *truth = hawser_dataset_matrix(what->whole);
    hawser_layout layout = truth->layout == HAWSER_DENSE ? HAWSER_DENSE_ROWS : HAWSER_CSR;
    if (X->rows != truth->rows || X->cols != truth->cols || X->stored != truth->stored || X->layout != layout ||
        X->type != truth->type || hawser_dataset_outputs(data) != hawser_dataset_outputs(what->whole))
        return hawser_fail(&node->error, HAWSER_BAD_INPUT, "the shape differs");
    for (size_t j = 0; j < X->cols; j++) {
        const char *x = hawser_dataset_column(data, j), *y = hawser_dataset_column(what->whole, j);
        if ((x == NULL) != (y == NULL) || (x != NULL && strcmp(x, y) != 0))
            return hawser_fail(&node->error, HAWSER_BAD_INPUT, "the name of column %zu differs", j);
    }
    size_t words = 0, expected = 0;
    const char *const *labels = hawser_schema_target(hawser_dataset_schema(data), &words);
    const char *const *known = hawser_schema_target(hawser_dataset_schema(what->whole), &expected);
    for (size_t k = 0; k < words && words == expected; k++)
        if (strcmp(labels[k], known[k]) != 0)
            return hawser_fail(&node->error, HAWSER_BAD_INPUT, "label %zu differs", k);
    const hawser_load_figures *figures = hawser_dataset_figures(data), *all = hawser_dataset_figures(what->whole);
    if (words != expected || figures->index_base != all->index_base || figures->rows_dropped != all->rows_dropped)
        return hawser_fail(&node->error, HAWSER_BAD_INPUT,
                           "%zu labels, index base %d and %llu dropped rows instead of %zu, %d and %llu", words,
                           figures->index_base, (unsigned long long)figures->rows_dropped, expected, all->index_base,
                           (unsigned long long)all->rows_dropped);
    const double *means = hawser_dataset_means(data), *right = hawser_dataset_means(what->whole);
    if ((means == NULL) != (right == NULL) || (means != NULL && memcmp(means, right, X->cols * sizeof *means) != 0))
        return hawser_fail(&node->error, HAWSER_BAD_INPUT, "the means differ");
    if (node->nodes > 1 && hawser_dataset_target(data) != NULL)
        return hawser_fail(&node->error, HAWSER_BAD_INPUT, "there is a target for all rows");
    return HAWSER_OK;
}

/* The cut as the headers describe it: rows of dense data in equal shares, else each cut where the cost before it, an entry
 * or an eighth of a row each, is nearest to its share; no block is empty while there are enough rows. */
static size_t cut_at(const input *what, size_t p, size_t blocks, size_t before)
{
    const hawser_matrix *A = hawser_dataset_matrix(what->whole);
    size_t n = A->rows, best = 0, most = n - (n < blocks - p ? n : blocks - p);
    if (A->layout == HAWSER_DENSE)
        return n / blocks * p + (p < n % blocks ? p : n % blocks);
    uint64_t *offsets = calloc(n + 1, sizeof *offsets), cost = 0, nearest = UINT64_MAX;
    assert_non_null(offsets);
    for (uint64_t e = 0; e < A->stored; e++)
        offsets[A->indices[e] + 1]++;
    uint64_t wanted = (A->stored + 8 * n) * p / blocks;
    for (size_t c = 0; c <= n; c++) {
        cost += c > 0 ? offsets[c] + 8 : 0;
        uint64_t distance = cost < wanted ? wanted - cost : cost - wanted;
        if (distance <= nearest)
            best = c;
        nearest = distance < nearest ? distance : nearest;
    }
    free(offsets);
    best = best > most ? most : best;
    best = best < before + 1 ? before + 1 : best;
    return best < n ? best : n;
}

static hawser_status check_cut(test_node *node, input *what, const hawser_dataset *data)
{
    uint32_t blocks = 0;
    const size_t *cut = hawser_dataset_cut(data, &blocks);
    if (cut == NULL || blocks != (uint32_t)atoi(what->workers))
        return hawser_fail(&node->error, HAWSER_BAD_INPUT, "there is no cut for %s workers", what->workers);
    if (node->nodes == 1)
        memcpy(what->cut, cut, (blocks + 1) * sizeof *cut);
    for (size_t p = 1; p < blocks; p++)
        if (cut[p] != cut_at(what, p, blocks, cut[p - 1]))
            return hawser_fail(&node->error, HAWSER_BAD_INPUT, "cut %zu of %u is at row %zu", p, blocks, cut[p]);
    return memcmp(cut, what->cut, (blocks + 1) * sizeof *cut) == 0
               ? HAWSER_OK
               : hawser_fail(&node->error, HAWSER_BAD_INPUT, "the cut differs from that of one node");
}

static hawser_status plan_with(test_node *node, const hawser_dataset *data, hawser_split split, const hawser_matrix *other,
                               const double *costs);

/* Compares the rows of a block that was read again with the truth. */
static hawser_status check_again(test_node *node, const input *what, const hw_row_block *block)
{
    const hawser_matrix *A = &block->matrix;
    const hawser_dataset *whole = what->whole;
    double *row = calloc(A->cols + 1, sizeof *row);
    bool right = row != NULL && same(block->beside[HW_BESIDE_TARGET], hawser_dataset_target(whole), A->first, A->rows) &&
                 same(block->beside[HW_BESIDE_WEIGHTS], hawser_dataset_weights(whole), A->first, A->rows) &&
                 same(block->beside[HW_BESIDE_OFFSET], hawser_dataset_offset(whole), A->first, A->rows) &&
                 same(block->beside[HW_BESIDE_GROUPS], hawser_dataset_groups(whole), A->first, A->rows);
    for (size_t k = 1; right && k < hawser_dataset_outputs(whole); k++)
        right = same(block->beside[HW_BESIDE_FURTHER + k - 1], hawser_dataset_output(whole, k), A->first, A->rows);
    for (size_t i = 0; right && i < A->rows; i++) {
        row_of(A, i, row);
        right = memcmp(row, what->table + (A->first + i) * A->cols, A->cols * sizeof *row) == 0;
    }
    free(row);
    return right ? HAWSER_OK
                 : hawser_fail(&node->error, HAWSER_BAD_INPUT, "rows from %zu on differ when they are read again", A->first);
}

/* Each node reads every block again, alone: the nodes begin with other blocks, so no two read the same. */
static hawser_status read_again(test_node *node, const input *what, const hawser_dataset *data)
{
    uint32_t blocks = 0;
    const size_t *cut = hawser_dataset_cut(data, &blocks);
    hawser_status status = HAWSER_OK;
    for (uint32_t k = 0; k < blocks && status == HAWSER_OK; k++) {
        uint32_t b = (k + node->node) % blocks;
        hw_block_again again;
        status = hw_read_block_again(node->job, data, b, &again, &node->error);
        if (status == HAWSER_OK && (again.block->matrix.first != cut[b] || again.block->matrix.rows != cut[b + 1] - cut[b]))
            status = hawser_fail(&node->error, HAWSER_BAD_INPUT, "block %u has other rows when it is read again", b);
        if (status == HAWSER_OK)
            status = check_again(node, what, again.block);
        hw_block_again_free(&again);
    }
    return status;
}

/* Loads the data in the cut of another input, and runs a program with both. */
static void load_like(test_node *node)
{
    input *what = node->user;
    hawser_dataset *first = NULL, *data = NULL;
    const hawser_load by_row = {.split = HAWSER_BY_ROW};
    node->status = hawser_job_load(node->job, &what->like, 1, &by_row, &first, &node->error);
    hawser_load load = what->load;
    load.like = first;
    if (node->status == HAWSER_OK)
        node->status = hawser_job_load(node->job, what->paths, what->count, &load, &data, &node->error);
    uint32_t blocks = 0, others = 0;
    const size_t *cut = hawser_dataset_cut(data, &blocks), *wanted = hawser_dataset_cut(first, &others);
    if (node->status == HAWSER_OK && (blocks != others || memcmp(cut, wanted, (blocks + 1) * sizeof *cut) != 0))
        node->status = hawser_fail(&node->error, HAWSER_BAD_INPUT, "the cut is another one");
    if (node->status == HAWSER_OK && node->nodes == 1) {
        memcpy(what->cut, cut, (blocks + 1) * sizeof *cut);
        for (size_t p = 1; p < blocks; p++)
            what->other_bounds += cut[p] != cut_at(what, p, blocks, cut[p - 1]);
    }
    if (node->status == HAWSER_OK)
        node->status = check_shape(node, what, data);
    if (node->status == HAWSER_OK)
        node->status = run_sums(node, what, data);
    if (node->status == HAWSER_OK)
        node->status = plan_with(node, data, HAWSER_BY_ROW, hawser_dataset_matrix(first), NULL);
    if (node->status == HAWSER_OK)
        node->status = plan_with(node, first, HAWSER_BY_ROW, hawser_dataset_matrix(data), NULL);
    if (node->status == HAWSER_OK && strcmp(what->workers, "3") == 0)
        node->status = read_again(node, what, data);
    hawser_dataset_free(data);
    hawser_dataset_free(first);
}

static void load_and_check(test_node *node)
{
    input *what = node->user;
    hawser_dataset *data = NULL;
    node->status = hawser_job_load(node->job, what->paths, what->count, &what->load, &data, &node->error);
    if (node->status == HAWSER_OK)
        node->status = check_shape(node, what, data);
    if (node->status == HAWSER_OK)
        node->status = check_cut(node, what, data);
    if (node->status == HAWSER_OK)
        node->status = run_sums(node, what, data);
    if (node->status == HAWSER_OK && strcmp(what->workers, "3") == 0)
        node->status = read_again(node, what, data);
    if (node->node == 0 && data != NULL)
        what->moved += hawser_dataset_figures(data)->rows_moved;
    hawser_dataset_free(data);
}

/* Loads the input on one to four nodes, for one to four blocks, and for more blocks than it has rows. Sanitizers get one and
 * three nodes, and in turn three blocks and more blocks than rows. */
static void on_all_counts(input what)
{
    static const char *const workers[] = {"1", "2", "3", "4", "11"};
    hawser_dataset *whole = NULL;
    hawser_error error = {0};
    if (hawser_dataset_load(what.paths, what.count, &what.load, &whole, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    what.whole = whole;
    what.load.split = HAWSER_BY_ROW;
    what.table = table_of(hawser_dataset_matrix(whole));
    what.cut = calloc(100, sizeof *what.cut);
    what.sums = calloc(hawser_dataset_matrix(whole)->cols + 1, sizeof *what.sums);
    assert_true(what.cut != NULL && what.sums != NULL);
    static size_t turn;
    turn++;
    for (size_t w = SANITIZED ? 2 + turn % 2 * 2 : 0; w < (SANITIZED ? 3 + turn % 2 * 2 : sizeof workers / sizeof *workers);
         w++)
        for (uint32_t count = 1; count <= COUNTS_MOST && count <= (uint32_t)atoi(workers[w]);
             count += SANITIZED && count == 1 ? 2 : 1) {
            test_node nodes[NODES_MOST];
            char text[100];
            what.workers = workers[w];
            run_nodes(nodes, count, (const char *const[]){"workers", workers[w], "timeout", "60", NULL},
                      what.like != NULL ? load_like : load_and_check, &what);
            snprintf(text, sizeof text, "%s with %s workers", what.paths[0], workers[w]);
            check_all(nodes, count, text);
        }
    assert_true(!what.moves || what.moved > 0);
    assert_true(what.like == NULL || what.other_bounds > 0);
    free(what.table);
    free(what.cut);
    free(what.sums);
    hawser_dataset_free(whole);
}

static void svmlight(void **state)
{
    (void)state;
    const char *one = "one.svm", *two = "two.svm";
    for (int base = 0; base < 2; base++) {
        write_svmlight(one, 0, 157, base);
        write_svmlight(two, 157, 3, base);
        on_all_counts((input){.paths = {one, two}, .count = 2, .moves = true});
        on_all_counts((input){.paths = {"*.svm"}, .count = 1, .load = {.type = HAWSER_F32, .index_base = base + 1}});
    }
    on_all_counts((input){.paths = {two}, .count = 1}); /* fewer rows than nodes and blocks */
    /* Only the first row shows that columns are counted from 0. */
    put_file("base.svm", "1 0:5 3:1\n2 1:1 2:2\n3 3:4\n4 1:7 3:9\n5 2:1\n6 1:1 2:8\n7 3:3\n8 1:4\n9 2:2 3:1\n");
    on_all_counts((input){.paths = {"base.svm"}, .count = 1});
    put_file("zeros.svm", "1\n2\n3\n4 7:0\n5\n6\n7\n");
    on_all_counts((input){.paths = {"zeros.svm"}, .count = 1, .load = {.index_base = 1}});
}

static void full_svmlight(void **state)
{
    (void)state;
    for (int base = 0; base < 2; base++) {
        write_full_svmlight("full.svm", 0, 160, base, 150);
        check_full("full.svm", (hawser_load){.index_base = base + 1});
        check_full("full.svm", (hawser_load){.type = HAWSER_F32});
        on_all_counts((input){.paths = {"full.svm"}, .count = 1, .load = {.full_dense = true}, .moves = true});
        on_all_counts((input){.paths = {"full.svm"}, .count = 1, .load = {.full_dense = true, .type = HAWSER_F32}});
    }
    /* Only one row has the last column, and only the first one shows that columns are counted from 0. */
    put_file("last.svm", "1 0:5 1:1 2:4\n2 1:1 2:2\n3 1:4 2:3\n4 1:7 2:9\n5 1:1 2:7\n6 1:1 2:8\n7 1:2 2:3\n8 1:4 2:5 3:4\n"
                         "9 1:2 2:1 3:2\n10 1:2 2:8 3:7\n11 1:2 2:8 3:7\n12 1:2 2:8 3:7\n13 0:2 1:2 2:8 3:7\n");
    check_full("last.svm", (hawser_load){.type = HAWSER_F32});
    on_all_counts((input){.paths = {"last.svm"}, .count = 1, .load = {.full_dense = true, .type = HAWSER_F32}});
    assert_int_equal(system("gzip full.svm"), 0);
    on_all_counts((input){.paths = {"full.svm.gz"}, .count = 1, .load = {.full_dense = true}});
    write_svmlight("sparse.svm", 0, 157, 1);
    on_all_counts((input){.paths = {"sparse.svm"}, .count = 1, .load = {.full_dense = true}});
}

static void csv(void **state)
{
    (void)state;
    const char *path = "a.csv", *holes = "holes.csv", *words = "words.csv";
    write_csv(path, 83, false, false);
    write_csv(holes, 83, true, false);
    write_csv(words, 83, false, true);
    on_all_counts((input){.paths = {path}, .count = 1, .moves = true});
    on_all_counts(
        (input){.paths = {path}, .count = 1, .load = {.type = HAWSER_F32, .weights = "w", .offset = "o", .groups = "g"}});
    on_all_counts((input){.paths = {path, path}, .count = 2, .load = {.target = "y,a", .outputs = true, .weights = "w"}});
    on_all_counts((input){.paths = {path}, .count = 1, .load = {.target = "none"}});
    for (hawser_type type = HAWSER_F64; type <= HAWSER_F32; type++)
        on_all_counts((input){.paths = {holes}, .count = 1, .load = {.missing = "mean", .type = type}});
    on_all_counts((input){.paths = {holes}, .count = 1, .load = {.missing = "drop", .weights = "w"}});
    on_all_counts((input){.paths = {holes}, .count = 1, .load = {.missing = "zero"}});
    on_all_counts((input){.paths = {words}, .count = 1, .load = {.weights = "w"}});
    write_csv(words, 83, true, true);
    on_all_counts((input){.paths = {words}, .count = 1, .load = {.missing = "mean,level", .groups = "g"}});
    put_file("row.csv", "1,2,3\n");
    on_all_counts((input){.paths = {"row.csv"}, .count = 1});
}

/* Each node meets other words than the others, and a block that is read again has few of them. */
static void text(void **state)
{
    (void)state;
    FILE *file = fopen("a.txt", "we"), *labels = fopen("labels.txt", "we"), *weights = fopen("w.txt", "we");
    assert_true(file != NULL && labels != NULL && weights != NULL);
    for (unsigned i = 0; i < 83; i++) {
        for (unsigned k = 0; k < i * 7 % 11; k++)
            fprintf(file, "W%u, the ", (i * i + k * k) % (i < 40 ? 17 : 29));
        fprintf(file, i % 9 == 0 ? "only%u\n" : "\n", i);
        fprintf(labels, "%u\n", i % 5);
        fprintf(weights, "%u\n", i % 4);
    }
    fclose(file);
    fclose(labels);
    fclose(weights);
    const hawser_load plain = {.format = HAWSER_DOCUMENTS};
    hawser_load chosen = {.format = HAWSER_DOCUMENTS, .type = HAWSER_F32, .min_documents = "3", .max_documents = "0.9"};
    on_all_counts((input){.paths = {"a.txt"}, .count = 1, .load = plain, .moves = true});
    on_all_counts((input){.paths = {"a.txt", "a.txt"}, .count = 2, .load = chosen});
    chosen = plain;
    chosen.max_words = 9;
    chosen.stop_words = "english";
    chosen.weights = "w.txt";
    on_all_counts((input){.paths = {"a.txt"}, .count = 1, .load = chosen});
    chosen.target = "labels.txt";
    on_all_counts((input){.paths = {"a.txt"}, .count = 1, .load = chosen});
}

/* Words of a column of a table, with a target that has words or large labels. */
static void text_columns(void **state)
{
    (void)state;
    FILE *file = fopen("a.csv", "we"), *weights = fopen("w.txt", "we");
    assert_true(file != NULL && weights != NULL);
    fprintf(file, "id,text,kind,label,z\n");
    for (unsigned i = 0; i < 83; i++) {
        fprintf(file, "x%u,\"", i);
        for (unsigned k = 0; k < i * 7 % 11; k++)
            fprintf(file, k % 5 == 4 ? "W%u,\nthe " : "W%u \"\"the\"\" ", (i * i + k * k) % (i < 40 ? 17 : 29));
        fprintf(file, "\",%s,9007199254740993%u,%g\n", i % 3 == 0 ? "good" : i < 50 ? "bad" : "late", i % 2, sin(i));
        fprintf(weights, "%u\n", i % 4);
    }
    fclose(file);
    fclose(weights);
    const hawser_load kinds = {.text = "text", .target = "kind"};
    on_all_counts((input){.paths = {"a.csv"}, .count = 1, .load = kinds});
    hawser_load chosen = {.text = "text", .target = "z", .type = HAWSER_F32, .min_documents = "3", .weights = "w.txt"};
    on_all_counts((input){.paths = {"a.csv"}, .count = 1, .load = chosen});
    chosen = kinds;
    chosen.max_words = 9;
    on_all_counts((input){.paths = {"a.csv", "a.csv"}, .count = 2, .load = chosen});
    const hawser_load labels = {.text = "text", .target = "label", .labels = 1, .weights = "w.txt"};
    on_all_counts((input){.paths = {"a.csv"}, .count = 1, .load = labels});
}

/* What belongs to rows and is in files of its own. */
static void side_files(void **state)
{
    (void)state;
    FILE *file = fopen("w.txt", "we"), *targets = fopen("t.csv", "we");
    assert_true(file != NULL && targets != NULL);
    fprintf(targets, "u,v\n");
    for (int i = 0; i < 83; i++) {
        fprintf(file, "%d\n", i * i % 13);
        fprintf(targets, "%g,%g\n", sin(i), cos(i));
    }
    fclose(file);
    fclose(targets);
    write_csv("a.csv", 83, false, false);
    write_svmlight("a.svm", 0, 83, 1);
    on_all_counts((input){.paths = {"a.csv"}, .count = 1, .load = {.weights = "w.txt", .offset = "o"}});
    on_all_counts((input){.paths = {"a.svm"}, .count = 1, .load = {.weights = "w.txt", .offset = "w.txt"}});
    on_all_counts((input){.paths = {"a.svm"}, .count = 1, .load = {.target = "t.csv", .outputs = true}});
    on_all_counts((input){.paths = {"a.csv"}, .count = 1, .load = {.target = "w.txt", .weights = "w"}});
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
    on_all_counts((input){.paths = {"a.npy", "b.npy"}, .count = 2});
    on_all_counts((input){.paths = {"b.npy"}, .count = 1, .load = {.type = HAWSER_F32}});
}

/* 61 images of 2 x 3 bytes, and their labels. */
static void idx(void **state)
{
    (void)state;
    FILE *images = fopen("images", "we"), *labels = fopen("labels", "we");
    assert_true(images != NULL && labels != NULL);
    fwrite((const unsigned char[]){0, 0, 8, 3, 0, 0, 0, 61, 0, 0, 0, 2, 0, 0, 0, 3}, 1, 16, images);
    fwrite((const unsigned char[]){0, 0, 8, 1, 0, 0, 0, 61}, 1, 8, labels);
    for (int i = 0; i < 61; i++) {
        fputc(i % 10, labels);
        for (int j = 0; j < 6; j++)
            fputc(i * 37 % 256 ^ j, images);
    }
    fclose(images);
    fclose(labels);
    on_all_counts((input){.paths = {"images"}, .count = 1, .load = {.target = "labels"}});
}

/* Coordinates in an order that no matrix has; rows of very different lengths. `extra`: a further line. */
static void write_market(const char *path, const char *kind, int size, const char *extra)
{
    FILE *file = fopen(path, "we");
    bool symmetric = strstr(kind, "symmetric") != NULL, pattern = strstr(kind, "pattern") != NULL;
    int entries = 0, total = size * size;
    assert_non_null(file);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            fprintf(file, "%%%%MatrixMarket matrix coordinate %s\n%% a comment\n%d %d %d\n", kind, size, size, entries);
        for (int i = 0; i < total; i++) {
            int place = (int)((int64_t)i * 97 % total), row = place / size, column = place % size;
            if ((row * 5 + column * column) % size > row || (symmetric && row < column))
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
            on_all_counts((input){.paths = {path}, .count = 1, .load = {.type = type}, .moves = true});
        }
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        FILE *file = fopen("array.mtx", "we");
        assert_non_null(file);
        fprintf(file, "%%%%MatrixMarket matrix array real %s\n13 13\n", symmetric ? "symmetric" : "general");
        for (int j = 0; j < 13; j++)
            for (int i = symmetric ? j : 0; i < 13; i++)
                fprintf(file, "%g\n", sin(i + 100 * j));
        fclose(file);
        on_all_counts((input){.paths = {"array.mtx"}, .count = 1});
    }
    put_file("bag.txt", "5\n4\n6\n1 1 3\n1 4 1\n2 2 2\n4 1 1\n4 2 7\n5 4 1\n");
    on_all_counts((input){.paths = {"bag.txt"}, .count = 1, .load = {.format = HAWSER_MATRIX_MARKET}});
}

/* Archives are read by one node each; a cache is mapped by every node. */
static void archives_and_caches(void **state)
{
    (void)state;
    static const char *const names[] = {"a.svm", "a.csv"};
    write_svmlight("a.svm", 0, 83, 1);
    write_svmlight("b.svm", 83, 20, 1);
    write_csv("a.csv", 83, false, false);
    assert_int_equal(system("gzip -k a.svm b.svm a.csv"), 0);
    on_all_counts((input){.paths = {"a.svm.gz"}, .count = 1});
    on_all_counts((input){.paths = {"a.svm.gz", "b.svm"}, .count = 2});
    on_all_counts((input){.paths = {"a.csv.gz"}, .count = 1, .load = {.weights = "w"}});
    for (int k = 0; k < 4; k++) { /* by columns and by rows, sparse and dense */
        const hawser_load load = {.rows_layout = k % 2, .weights = k / 2 == 1 ? "w" : NULL};
        hawser_dataset *dataset = NULL;
        assert_int_equal(hawser_dataset_load(&names[k / 2], 1, &load, &dataset, NULL), HAWSER_OK);
        assert_int_equal(hawser_dataset_save(dataset, "a.hwc", NULL), HAWSER_OK);
        hawser_dataset_free(dataset);
        on_all_counts((input){.paths = {"a.hwc"}, .count = 1});
    }
}

/* ------------------------------------------------------------------------------------------------ changed inputs ---- */

/* An input that changes after the load: this byte, or its length. */
typedef struct changing {
    const char *path, *file; /* file: the one that changes */
    hawser_load load;
    char *bytes;
    size_t count, place;
    bool text;
} changing;

/* Puts a new file in the place of the old one, whose mapping stays. */
static void replace(const changing *what, size_t place, size_t count)
{
    FILE *file = fopen("new", "we");
    assert_non_null(file);
    for (size_t i = 0; i < count; i++) {
        int byte = (unsigned char)what->bytes[i];
        if (i == place)
            byte = !what->text ? byte ^ 1 : byte == '9' ? '8' : byte + 1;
        fputc(byte, file);
    }
    fclose(file);
    assert_int_equal(rename("new", what->file), 0);
}

/* Reads every block again after node 0 has replaced the file. Counts failures, each of which must name the file. */
static hawser_status read_changed(test_node *node, const hawser_dataset *data, size_t place, size_t count, uint32_t *failed)
{
    const changing *what = node->user;
    uint32_t blocks;
    (void)hawser_dataset_cut(data, &blocks);
    *failed = 0;
    HAWSER_TRY(hw_cluster_agree(node->job->cluster, HAWSER_OK, &node->error)); /* every node has read it */
    if (node->node == 0)
        replace(what, place, count);
    HAWSER_TRY(hw_cluster_agree(node->job->cluster, HAWSER_OK, &node->error));
    for (uint32_t b = 0; b < blocks; b++) {
        hw_block_again again;
        hawser_error error = {0};
        hawser_status status = hw_read_block_again(node->job, data, b, &again, &error);
        hw_block_again_free(&again);
        if (status != HAWSER_OK && (status == HAWSER_INTERNAL || strstr(error.text, what->file) == NULL))
            return hawser_fail(&node->error, HAWSER_INTERNAL, "%d '%.300s' does not name %s", status, error.text,
                               what->file);
        *failed += status != HAWSER_OK;
    }
    return HAWSER_OK;
}

static void load_then_change(test_node *node)
{
    const changing *what = node->user;
    hawser_dataset *data = NULL;
    uint32_t same = 0, byte = 0, length = 0;
    node->status = hawser_job_load(node->job, &what->path, 1, &what->load, &data, &node->error);
    if (node->status == HAWSER_OK)
        node->status = read_changed(node, data, what->count, what->count, &same);
    if (node->status == HAWSER_OK)
        node->status = read_changed(node, data, what->place, what->count, &byte);
    if (node->status == HAWSER_OK)
        node->status = read_changed(node, data, what->count, what->place, &length);
    if (node->status == HAWSER_OK && (same != 0 || byte == 0 || length == 0))
        node->status =
            hawser_fail(&node->error, HAWSER_INTERNAL,
                        "%u, %u and %u blocks are refused after no change, a byte, and an end", same, byte, length);
    hawser_dataset_free(data);
}

/* Finds a byte behind the middle that can change: of text the digit behind a point, or the last digit. */
static size_t find_place(const changing *what)
{
    size_t at = what->count * 3 / 4;
    if (!what->text)
        return at;
    for (; at + 1 < what->count; at++)
        if (what->bytes[at] == '.' && what->bytes[at + 1] >= '0' && what->bytes[at + 1] <= '9')
            return at + 1;
    for (at = what->count; at-- > 0;)
        if (what->bytes[at] >= '0' && what->bytes[at] <= '9')
            break;
    return at;
}

static void changes_are_noticed(changing what)
{
    FILE *file = fopen(what.file, "re");
    what.bytes = calloc(1, 1 << 17);
    assert_true(file != NULL && what.bytes != NULL);
    what.count = fread(what.bytes, 1, 1 << 17, file);
    fclose(file);
    assert_true(what.count > 0 && what.count < 1 << 17);
    what.place = find_place(&what);
    what.load.split = HAWSER_BY_ROW;
    for (uint32_t count = SANITIZED ? 2 : 1; count <= (SANITIZED ? 2 : 3); count++) {
        test_node nodes[NODES_MOST];
        char text[100];
        run_nodes(nodes, count, (const char *const[]){"workers", "3", "timeout", "60", NULL}, load_then_change, &what);
        snprintf(text, sizeof text, "a change of %s", what.file);
        check_all(nodes, count, text);
        replace(&what, what.count, what.count);
    }
    free(what.bytes);
}

static void changed_file_is_named_when_a_block_is_read_again(void **state)
{
    (void)state;
    const hawser_generate dense = {.kind = "dense", .rows = 59, .cols = 8, .seed = 5};
    const hawser_load by_row = {.rows_layout = 1};
    const char *rows = "a.svm";
    hawser_dataset *dataset;
    write_svmlight("a.svm", 0, 83, 1);
    write_csv("a.csv", 83, true, true);
    write_csv("b.csv", 83, false, false);
    write_market("a.mtx", "real general", 31, "");
    put_file("array.mtx", "%%MatrixMarket matrix array real general\n6 2\n1\n2\n3\n4\n5\n6\n7\n8\n9\n1.5\n2.5\n3.5\n");
    put_file("bag.txt", "5\n4\n6\n1 1 3\n1 4 1\n2 2 2\n4 1 1\n4 2 7\n5 4 1\n");
    FILE *weights = fopen("w.txt", "we"), *images = fopen("images", "we");
    assert_true(weights != NULL && images != NULL);
    fwrite((const unsigned char[]){0, 0, 8, 2, 0, 0, 0, 61, 0, 0, 0, 6}, 1, 12, images);
    for (int i = 0; i < 6 * 61; i++)
        fputc(i * 37 % 256, images);
    for (int i = 0; i < 83; i++)
        fprintf(weights, "%.2f\n", i * i % 13 + 0.25);
    fclose(weights);
    fclose(images);
    assert_int_equal(hawser_dataset_generate(&dense, &dataset, NULL, NULL), HAWSER_OK);
    assert_int_equal(hawser_dataset_write(dataset, 0, 59, HAWSER_NPY, "a.npy", NULL), HAWSER_OK);
    hawser_dataset_free(dataset);
    assert_int_equal(hawser_dataset_load(&rows, 1, &by_row, &dataset, NULL), HAWSER_OK);
    assert_int_equal(hawser_dataset_save(dataset, "a.hwc", NULL), HAWSER_OK);
    hawser_dataset_free(dataset);
    assert_int_equal(system("gzip -k a.svm"), 0);
    const changing all[] = {
        {.path = "a.svm", .file = "a.svm", .text = true},
        {"a.csv", "a.csv", {.missing = "mean,level", .weights = "w"}, .text = true},
        {"b.csv", "w.txt", {.weights = "w.txt"}, .text = true},
        {.path = "a.npy", .file = "a.npy"},
        {.path = "images", .file = "images"},
        {.path = "a.mtx", .file = "a.mtx", .text = true},
        {.path = "array.mtx", .file = "array.mtx", .text = true},
        {"bag.txt", "bag.txt", {.format = HAWSER_MATRIX_MARKET}, .text = true},
        {.path = "a.svm.gz", .file = "a.svm.gz"},
        {.path = "a.hwc", .file = "a.hwc"},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        changes_are_noticed(all[k]);
}

/* ------------------------------------------------------------------------------------------------------ refusals ---- */

/* A load that every node refuses, and part of the message. */
typedef struct refusal {
    const char *path, *text;
    hawser_load load;
    hawser_status status;
} refusal;

static void refused(test_node *node)
{
    const refusal *how = node->user;
    hawser_dataset *dataset = NULL;
    node->status = hawser_job_load(node->job, &how->path, 1, &how->load, &dataset, &node->error);
    if (node->status == HAWSER_OK || dataset != NULL)
        node->status = HAWSER_INTERNAL;
}

/* Loads it on each number of nodes from `least` on. */
static void refuse_from(uint32_t least, refusal how)
{
    how.load.split = how.load.split == HAWSER_BY_COLUMN ? HAWSER_BY_ROW : how.load.split;
    for (uint32_t count = least; count <= 3; count++) {
        test_node nodes[NODES_MOST];
        run_nodes(nodes, count, (const char *const[]){"workers", "3", "timeout", "60", NULL}, refused, &how);
        for (uint32_t i = 0; i < count; i++)
            if (nodes[i].status != how.status || strstr(nodes[i].error.text, how.text) == NULL)
                fail_msg("node %u of %u: %d %s", i, count, nodes[i].status, nodes[i].error.text);
    }
}

static void all_refuse(refusal how)
{
    refuse_from(1, how);
}

static void wrong_inputs_are_refused_by_all(void **state)
{
    (void)state;
    FILE *file = fopen("none.csv", "we"), *weights = fopen("weights.csv", "we"), *market = fopen("b.mtx", "we");
    assert_true(file != NULL && weights != NULL && market != NULL);
    fprintf(file, "y,a,b,c\n");
    fprintf(weights, "y,a,w\n");
    for (int i = 0; i < 30; i++) {
        fprintf(file, "%d,%d,%d,\n", i, i % 7, i % 5);
        fprintf(weights, "%d,%d,%d\n", i, i % 7, i == 21 ? -3 : 2);
    }
    fprintf(market, "%%%%MatrixMarket matrix coordinate real general\n40 5 41\n");
    for (int i = 0; i < 41; i++)
        fprintf(market, "%d %d 1.5\n", i % 40 + 1, i % 5 + 1);
    fclose(file);
    fclose(weights);
    fclose(market);
    all_refuse((refusal){"none.csv", "is missing", {.missing = "mean"}, HAWSER_BAD_INPUT});
    all_refuse(
        (refusal){"weights.csv", "weights.csv: the weight of row 22 is negative: -3", {.weights = "w"}, HAWSER_BAD_INPUT});
    refuse_from(
        2, (refusal){"b.mtx",
                     "b.mtx: the entry in row 1 and column 1 occurs twice, in the shares of nodes, which do not add them; "
                     "add them up once: hawser data convert",
                     {0},
                     HAWSER_BAD_INPUT});
    write_market("a.mtx", "real general", 31, "3 3 1\n");
    all_refuse((refusal){"a.mtx", "a.mtx: the line of sizes declares", {0}, HAWSER_BAD_INPUT});
    all_refuse((refusal){"weights.csv", "split 2", {.split = HAWSER_WHOLE}, HAWSER_BAD_ARGUMENT});
    put_file("w.txt", "1\n2\n");
    all_refuse(
        (refusal){"weights.csv", "w.txt: has 2 numbers for the weights of 30 rows", {.weights = "w.txt"}, HAWSER_BAD_INPUT});
}

static void a_second_matrix_gets_the_cut_of_the_first(void **state)
{
    (void)state;
    write_svmlight("one.svm", 0, 83, 1);
    write_svmlight("two.svm", 29, 83, 1);
    write_csv("a.csv", 83, false, false);
    on_all_counts((input){.paths = {"two.svm"}, .count = 1, .load = {.index_base = 2}, .like = "one.svm"});
    on_all_counts((input){.paths = {"a.csv"}, .count = 1, .load = {.target = "y", .weights = "w"}, .like = "one.svm"});
    on_all_counts((input){.paths = {"two.svm"}, .count = 1, .load = {.index_base = 2}, .like = "a.csv"});
    hawser_dataset *cache = NULL;
    hawser_error error = {0};
    const char *path = "two.svm";
    const hawser_load rows = {.split = HAWSER_BY_ROW, .index_base = 2};
    if (hawser_dataset_load(&path, 1, &rows, &cache, &error) != HAWSER_OK ||
        hawser_dataset_save(cache, "two.hwc", &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    hawser_dataset_free(cache);
    on_all_counts((input){.paths = {"two.hwc"}, .count = 1, .like = "one.svm"});
}

typedef struct odd_pair {
    const char *first, *path;
    hawser_load how, load; /* of the first and of the other one */
    const char *text;
    hawser_status status;
} odd_pair;

static void refuse_like(test_node *node)
{
    const odd_pair *pair = node->user;
    hawser_dataset *first = NULL, *data = NULL;
    hawser_load load = pair->load;
    node->status = hawser_job_load(node->job, &pair->first, 1, &pair->how, &first, &node->error);
    load.like = first;
    if (node->status == HAWSER_OK)
        expect(node, hawser_job_load(node->job, &pair->path, 1, &load, &data, &node->error), pair->status, pair->text);
    if (node->status == HAWSER_OK && data != NULL)
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "a refused load has a dataset");
    hawser_dataset_free(first);
}

static void other_rows_are_refused_for_a_cut(void **state)
{
    (void)state;
    const hawser_load by_row = {.split = HAWSER_BY_ROW}, dropped = {.split = HAWSER_BY_ROW, .missing = "drop"};
    write_csv("a.csv", 40, false, false);
    write_csv("b.csv", 39, false, false);
    write_csv("holes.csv", 50, true, false); /* 40 of them without holes */
    const odd_pair pairs[] = {
        {"a.csv", "b.csv", by_row, by_row, "b.csv: has 39 rows, and the dataset of hawser_load.like has 40",
         HAWSER_BAD_INPUT},
        {"a.csv", "holes.csv", by_row, dropped, "10 rows with missing values were dropped here", HAWSER_BAD_INPUT},
        {"holes.csv", "a.csv", dropped, by_row, "0 rows with missing values were dropped here and 10", HAWSER_BAD_INPUT},
        {"a.csv", "a.csv", {0}, by_row, "the rows of that dataset have no cut", HAWSER_BAD_ARGUMENT},
        {"a.csv", "a.csv", by_row, {0}, "only hawser_job_load with split = HAWSER_BY_ROW", HAWSER_BAD_ARGUMENT},
    };
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
        for (uint32_t count = 1; count <= 3; count++) {
            test_node nodes[NODES_MOST];
            odd_pair pair = pairs[k];
            run_nodes(nodes, count, (const char *const[]){"workers", "3", "timeout", "60", NULL}, refuse_like, &pair);
            check_all(nodes, count, pair.text);
        }
}

/* Runs a program whose data state is split in a way that the input is not. */
static hawser_status plan_with(test_node *node, const hawser_dataset *data, hawser_split split, const hawser_matrix *other,
                               const double *costs)
{
    hawser_program *program = hawser_program_new("refused", NULL);
    hawser_state *X = HAWSER_STATE(program, "X", HAWSER_DATA, .data = data, .split = split, .costs = costs);
    hawser_state *Z = other != NULL ? HAWSER_STATE(program, "Z", HAWSER_DATA, .matrix = other, .split = HAWSER_BY_ROW) : X;
    HAWSER_UNIT(hawser_root(program), "nothing", nothing, .reads = {X, Z});
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(node->job, program, &run, &node->error);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static void misuse(test_node *node)
{
    const char *path = "a.csv";
    enum { ROWS = 83 };
    static const double costs[ROWS];
    double numbers[ROWS] = {0};
    hawser_dataset *data = NULL, *copy = NULL;
    hawser_beside beside;
    uint32_t blocks;
    const hawser_load load = {.split = HAWSER_BY_ROW};
    hawser_status status = hawser_job_load(node->job, &path, 1, &load, &data, &node->error);
    expect(node, status, HAWSER_OK, "");
    if (status != HAWSER_OK)
        return;
    const hawser_matrix *X = hawser_dataset_matrix(data);
    const size_t *cut = hawser_dataset_cut(data, &blocks);
    const hawser_split splits[] = {HAWSER_BY_COLUMN, HAWSER_WHOLE, HAWSER_FETCHED};
    for (int k = 0; k < 3; k++)
        expect(node, plan_with(node, data, splits[k], NULL, NULL), HAWSER_BAD_PROGRAM, "data state 'X'");
    expect(node, plan_with(node, data, HAWSER_BY_ROW, NULL, costs), HAWSER_BAD_PROGRAM, "has costs");
    /* A matrix of the same rows that every node has is cut as these are, and one with more entries would cut them in another
     * way. */
    const hawser_matrix beside_it = {.rows = ROWS, .cols = 1, .stored = ROWS, .stride = ROWS, .values = numbers};
    expect(node, plan_with(node, data, HAWSER_BY_ROW, &beside_it, NULL), HAWSER_OK, "");
    uint64_t offsets[ROWS + 1] = {0};
    uint32_t *indices = calloc(8 * 9999, sizeof *indices);
    double *values = calloc(8 * 9999, sizeof *values);
    for (int i = 0; i < ROWS; i++)
        offsets[i + 1] = offsets[i] + (i < 8 ? 9999 : 0);
    for (int e = 0; indices != NULL && e < 8 * 9999; e++)
        indices[e] = (uint32_t)e % 9999;
    const hawser_matrix heavy = {.rows = ROWS,
                                 .cols = 9999,
                                 .stored = 8 * 9999,
                                 .layout = HAWSER_CSR,
                                 .offsets = offsets,
                                 .indices = indices,
                                 .values = values};
    expect(node, plan_with(node, data, HAWSER_BY_ROW, &heavy, NULL), HAWSER_BAD_PROGRAM, "data state 'X' is cut at row");
    expect(node, hawser_matrix_whole(X, &node->error), HAWSER_BAD_ARGUMENT, "held by block");
    expect(node, hawser_dataset_save(data, "out.hwc", &node->error), HAWSER_BAD_ARGUMENT, "held by block");
    expect(node, hawser_dataset_write(data, 0, 1, HAWSER_CSV, "out.csv", &node->error), HAWSER_BAD_ARGUMENT,
           "held by block");
    expect(node, hawser_dataset_from(X, NULL, &copy, &node->error), HAWSER_BAD_ARGUMENT, "held by block");
    expect(node, hawser_job_fetch(node->job, X, (const uint32_t[]){0}, 1, &node->error), HAWSER_BAD_ARGUMENT,
           "held by block");
    expect(node, hawser_dataset_beside(data, 0, X->rows, &beside, &node->error), HAWSER_BAD_ARGUMENT, "several blocks");
    expect(node, hawser_dataset_beside(data, X->rows, 1, &beside, &node->error), HAWSER_BAD_ARGUMENT,
           "of a dataset of 83 rows");
    for (uint32_t b = 0; b < blocks; b++) {
        bool here = b * node->nodes / blocks == node->node;
        status = hawser_dataset_beside(data, cut[b] + 1, 2, &beside, &node->error);
        expect(node, status, here ? HAWSER_OK : HAWSER_BAD_ARGUMENT, "which is on node");
    }
    free(indices);
    free(values);
    hawser_dataset_free(data);
}

static void other_uses_are_refused_by_name(void **state)
{
    (void)state;
    write_csv("a.csv", 83, false, false);
    for (uint32_t count = 2; count <= 3; count++) {
        test_node nodes[NODES_MOST];
        run_nodes(nodes, count, (const char *const[]){"workers", "6", "timeout", "60", NULL}, misuse, NULL);
        check_all(nodes, count, "misuse");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(svmlight, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(full_svmlight, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(csv, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(text_columns, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(side_files, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(text, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(npy, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(idx, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(market, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(archives_and_caches, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(changed_file_is_named_when_a_block_is_read_again, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(wrong_inputs_are_refused_by_all, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_second_matrix_gets_the_cut_of_the_first, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(other_rows_are_refused_for_a_cut, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(other_uses_are_refused_by_name, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
