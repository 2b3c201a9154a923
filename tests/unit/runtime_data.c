/*
 * runtime_data.c - rows that the nodes of a job have in memory are dealt out like those of one file: the same blocks,
 * columns, names and bits, whichever node gives which rows and in which layout; data that do not fit together are refused
 * with the nodes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/machine.h"
#include "data/dataset.h"
#include "data/residence.h"
#include "data/share/blocks.h"
#include "factor_data.h"
#include "hawser/algorithm.h"
#include "hawser/job_data.h"
#include "rows_input.h"
#include "runtime/input/loading.h"
#include "sanitized.h"

enum { ROWS_MOST = 70, COLUMNS_MOST = 13, BESIDE = 4, TARGETS_MOST = 3 };

/* All rows of a test, and how the nodes have them. */
typedef struct shared_rows {
    size_t rows, cols;
    double table[ROWS_MOST * COLUMNS_MOST], beside[BESIDE][ROWS_MOST]; /* target, weights, offset, groups */
    double further[TARGETS_MOST - 1][ROWS_MOST];                       /* targets after the first */
    size_t targets;                                                    /* 0 counts as 1 */
    bool has[BESIDE], sparse, same;
    hawser_type type;
    hawser_split split;
    size_t begin[NODES_MOST + 1]; /* of node k */
    uint64_t seed;
    const char *algorithm, *const *pairs;
    uint64_t digest; /* of the model of one node */
} shared_rows;

static size_t draw_below(uint64_t *seed, size_t limit)
{
    return (size_t)((factor_draw(seed) + 1.0) / 2.0 * (double)limit);
}

/* Numbers that f32 holds, too, so that both types have one truth. */
static void draw_rows(shared_rows *s, size_t rows, size_t cols, uint64_t seed, factor_target target)
{
    s->rows = rows;
    s->cols = cols;
    s->seed = seed;
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++) {
            bool empty = s->sparse && draw_below(&seed, rows) < i; /* later rows have fewer entries */
            s->table[i * cols + j] = empty ? 0 : (double)(float)factor_draw(&seed);
            sum += j % 3 == 0 ? s->table[i * cols + j] : 0;
        }
        sum += 0.3 * factor_draw(&seed);
        s->beside[0][i] = target == FACTOR_LABELS ? sum > 0 : sum;
        s->beside[1][i] = 0.5 + factor_draw(&seed) / 4;
        s->beside[2][i] = factor_draw(&seed) / 8;
        s->beside[3][i] = (double)(i / 5);
        for (int k = 0; k < TARGETS_MOST - 1; k++)
            s->further[k][i] = (k + 2) * s->table[i * cols] + factor_draw(&seed);
    }
}

/* The last column has an entry in each row, so that a file shows how many columns there are. */
static bool stored(const shared_rows *s, size_t i, size_t j)
{
    return !s->sparse || s->table[i * s->cols + j] != 0 || j == s->cols - 1;
}

static const char *const files[BESIDE] = {"y.txt", "w.txt", "o.txt", "g.txt"};
static const char names[BESIDE] = "ywog";
static const char *const target_names[TARGETS_MOST] = {"y", "t1", "t2"};

/* Writes the targets after the first, if there are any. */
static void write_further(const shared_rows *s, FILE *file, size_t row, const char *before, const char *after)
{
    for (size_t k = 1; k < s->targets; k++)
        fprintf(file, "%s%.17g%s", before, s->further[k - 1][row], after);
}

static void write_beside(const shared_rows *s)
{
    for (int k = 0; k < BESIDE; k++) {
        FILE *file = fopen(files[k], "we");
        assert_non_null(file);
        for (size_t i = 0; i < s->rows; i++) {
            fprintf(file, "%.17g", s->beside[k][i]);
            if (k == 0)
                write_further(s, file, i, " ", "");
            fputc('\n', file);
        }
        fclose(file);
    }
}

/* Writes all rows into one file: svmlight with a target, or CSV with what there is. */
static const char *write_rows(const shared_rows *s)
{
    const char *path = s->sparse ? "rows.svm" : "rows.csv";
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    for (int k = 0; !s->sparse && k < BESIDE; k++)
        if (s->has[k])
            fprintf(file, "%c,", names[k]);
    for (size_t k = 1; !s->sparse && k < s->targets; k++)
        fprintf(file, "%s,", target_names[k]);
    for (size_t j = 0; !s->sparse && j < s->cols; j++)
        fprintf(file, "a%zu%c", j, j + 1 < s->cols ? ',' : '\n');
    for (size_t i = 0; i < s->rows; i++) {
        for (int k = 0; k < (s->sparse ? 1 : BESIDE); k++)
            if (s->has[k])
                fprintf(file, s->sparse ? "%.17g" : "%.17g,", s->beside[k][i]);
        if (!s->sparse)
            write_further(s, file, i, "", ",");
        for (size_t j = 0; j < s->cols; j++)
            if (!s->sparse)
                fprintf(file, "%.17g%s", s->table[i * s->cols + j], j + 1 < s->cols ? "," : "");
            else if (stored(s, i, j))
                fprintf(file, " %zu:%.17g", j + 1, s->table[i * s->cols + j]);
        fputc('\n', file);
    }
    fclose(file);
    write_beside(s);
    return path;
}

/* The load of that file. */
static hawser_load load_of(const shared_rows *s)
{
    hawser_load load = {.split = s->split, .type = s->type, .index_base = s->sparse ? 2 : 0};
    static const char *const of_targets[] = {"y", "y", "y,t1", "y,t1,t2"};
    load.outputs = s->targets > 1;
    load.target = s->sparse ? (load.outputs ? files[0] : NULL) : s->has[0] ? of_targets[s->targets] : "none";
    load.weights = !s->has[1] ? NULL : s->sparse ? files[1] : "w";
    load.offset = !s->has[2] ? NULL : s->sparse ? files[2] : "o";
    load.groups = s->has[3] ? "g" : NULL;
    return load;
}

/* ------------------------------------------------------------------------------------------------ a node's rows ---- */

/* Arrays of rows [begin, end), and how they are freed. */
typedef struct own_arrays {
    uint64_t *offsets;
    uint32_t *narrow, *indices;
    double *values;
    float *singles;
    double outputs[TARGETS_MOST * ROWS_MOST];
    const char *names[COLUMNS_MOST];
    char text[COLUMNS_MOST][24];
} own_arrays;

static void free_arrays(void *user)
{
    own_arrays *a = user;
    free(a->offsets);
    free(a->narrow);
    free(a->indices);
    free(a->values);
    free(a->singles);
    free(a);
}

static void put_value(own_arrays *a, size_t at, double value)
{
    a->values[at] = value;
    a->singles[at] = (float)value;
}

/* Lines of a dense matrix with one number between two of them. */
static void fill_dense(const shared_rows *s, size_t begin, hawser_matrix *A, own_arrays *a)
{
    A->stride = hw_line_width(A) + 1;
    for (size_t i = 0; i < A->rows; i++)
        for (size_t j = 0; j < A->cols; j++)
            put_value(a, hw_dense_place(A, i, j), s->table[(begin + i) * s->cols + j]);
}

static void fill_sparse(const shared_rows *s, size_t begin, hawser_matrix *A, own_arrays *a)
{
    bool by_row = A->layout == HAWSER_CSR;
    size_t at = 0;
    for (size_t line = 0; line < hw_lines(A); line++) {
        for (size_t k = 0; k < hw_line_width(A); k++) {
            size_t i = begin + (by_row ? line : k), j = by_row ? k : line;
            if (!stored(s, i, j))
                continue;
            a->indices[at] = (uint32_t)k;
            put_value(a, at++, s->table[i * s->cols + j]);
        }
        a->offsets[line + 1] = at;
        a->narrow[line + 1] = (uint32_t)at;
    }
}

/* Gives the targets of the rows from `begin` on as a matrix, by target or by row. */
static void fill_outputs(const shared_rows *s, size_t begin, bool by_row, hawser_arrays *arrays, own_arrays *a)
{
    hawser_matrix *Y = &arrays->outputs;
    *Y = (hawser_matrix){.rows = arrays->matrix.rows, .cols = s->targets, .values = a->outputs};
    Y->layout = by_row ? HAWSER_DENSE_ROWS : HAWSER_DENSE;
    Y->stride = by_row ? TARGETS_MOST : ROWS_MOST;
    for (size_t i = 0; i < Y->rows; i++)
        for (size_t k = 0; k < Y->cols; k++)
            a->outputs[hw_dense_place(Y, i, k)] = k == 0 ? s->beside[0][begin + i] : s->further[k - 1][begin + i];
    arrays->target = NULL;
    arrays->target_name = NULL;
    arrays->output_names = s->sparse ? NULL : target_names;
}

/* Borrows arrays of the rows [begin, end) in a layout. */
static hawser_dataset *own_rows(const shared_rows *s, size_t begin, size_t end, bool by_row, bool narrow)
{
    own_arrays *a = calloc(1, sizeof *a);
    size_t most = (ROWS_MOST + 1) * (COLUMNS_MOST + 1);
    assert_non_null(a);
    a->offsets = calloc(most, sizeof *a->offsets);
    a->narrow = calloc(most, sizeof *a->narrow);
    a->indices = calloc(most, sizeof *a->indices);
    a->values = calloc(most, sizeof *a->values);
    a->singles = calloc(most, sizeof *a->singles);
    hawser_arrays arrays = {.release = free_arrays, .user = a};
    hawser_matrix *A = &arrays.matrix;
    *A = (hawser_matrix){.rows = end - begin, .cols = s->cols, .type = s->type};
    A->layout = s->sparse ? (by_row ? HAWSER_CSR : HAWSER_CSC) : (by_row ? HAWSER_DENSE_ROWS : HAWSER_DENSE);
    A->values = s->type == HAWSER_F32 ? (const void *)a->singles : a->values;
    if (s->sparse)
        fill_sparse(s, begin, A, a);
    else
        fill_dense(s, begin, A, a);
    if (s->sparse) {
        A->indices = a->indices;
        A->offsets = narrow ? NULL : a->offsets;
        arrays.offsets32 = narrow ? a->narrow : NULL;
    }
    for (size_t j = 0; j < s->cols; j++) {
        snprintf(a->text[j], sizeof a->text[j], "a%zu", j);
        a->names[j] = a->text[j];
    }
    arrays.names = s->sparse ? NULL : a->names;
    arrays.target_name = s->has[0] && !s->sparse ? "y" : NULL;
    const double **const of_rows[BESIDE] = {&arrays.target, &arrays.weights, &arrays.offset, &arrays.groups};
    for (int k = 0; k < BESIDE; k++)
        *of_rows[k] = s->has[k] ? s->beside[k] + begin : NULL;
    if (s->targets > 1)
        fill_outputs(s, begin, by_row, &arrays, a);
    hawser_dataset *own = NULL;
    hawser_error error;
    if (hawser_dataset_borrow(&arrays, &own, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    return own;
}

/* Makes the dataset of a node from its rows; node k's layout is drawn. *own has the rows and must be freed after *data. */
static hawser_status make_data(test_node *node, const shared_rows *s, hawser_dataset **own, hawser_dataset **data)
{
    uint64_t seed = s->seed + 77 * (s->same ? 0 : node->node);
    size_t begin = s->same ? 0 : s->begin[node->node], end = s->same ? s->rows : s->begin[node->node + 1];
    bool by_row = draw_below(&seed, 2) != 0, narrow = draw_below(&seed, 2) != 0;
    *own = begin < end ? own_rows(s, begin, end, by_row, narrow) : NULL;
    return s->same ? hawser_job_same(node->job, *own, s->split, data, &node->error)
                   : hawser_job_data(node->job, *own, s->split, data, &node->error);
}

/* -------------------------------------------------------------------------------------------- compared with a file ---- */

static bool same_numbers(const double *a, const double *b, size_t count)
{
    return a == NULL || b == NULL ? a == b : memcmp(a, b, count * sizeof *a) == 0;
}

static bool same_line(const hawser_matrix *A, size_t i, const hawser_matrix *B, size_t k)
{
    double a[COLUMNS_MOST], b[COLUMNS_MOST];
    row_of(A, i, a);
    row_of(B, k, b);
    bool sparse = A->layout == HAWSER_CSR;
    return memcmp(a, b, A->cols * sizeof *a) == 0 &&
           (!sparse || A->offsets[i + 1] - A->offsets[i] == B->offsets[k + 1] - B->offsets[k]);
}

/* Compares the rows of own blocks; with one node there are no blocks, but one matrix. */
static const char *rows_differ(const hawser_dataset *made, const hawser_dataset *loaded)
{
    uint32_t blocks, others;
    const size_t *cut = hawser_dataset_cut(made, &blocks), *other = hawser_dataset_cut(loaded, &others);
    if (blocks != others || blocks == 0 || memcmp(cut, other, (blocks + 1) * sizeof *cut) != 0)
        return "the cut";
    for (uint32_t b = 0; b < blocks; b++) {
        const struct hw_row_blocks *x = made->residence != NULL ? made->residence->rows : NULL,
                                   *y = loaded->residence != NULL ? loaded->residence->rows : NULL;
        hawser_beside p = {0}, q = {0};
        hawser_error error;
        if ((x == NULL) != (y == NULL) || (x != NULL && hw_row_block_here(x, b) != hw_row_block_here(y, b)))
            return "the place of a block";
        if (x != NULL && (x->block[b].matrix.stored != y->block[b].matrix.stored || x->block[b].matrix.first != cut[b]))
            return "the shape of a block";
        if (x != NULL && !hw_row_block_here(x, b))
            continue;
        const hawser_matrix *A = x != NULL ? &x->block[b].matrix : &made->matrix,
                            *B = x != NULL ? &y->block[b].matrix : &loaded->matrix;
        size_t first = x != NULL ? 0 : cut[b], count = cut[b + 1] - cut[b];
        for (size_t i = first; i < first + count; i++)
            if (!same_line(A, i, B, i))
                return "a row";
        if (count > 0 && (hawser_dataset_beside(made, cut[b], count, &p, &error) != HAWSER_OK ||
                          hawser_dataset_beside(loaded, cut[b], count, &q, &error) != HAWSER_OK))
            return "what may be read beside rows";
        for (size_t k = 0; count > 0 && k < hawser_dataset_outputs(made); k++)
            if (p.outputs[k] == NULL || !same_numbers(p.outputs[k], q.outputs[k], count))
                return "a target";
        if (!same_numbers(p.target, q.target, count) || !same_numbers(p.weights, q.weights, count) ||
            !same_numbers(p.offset, q.offset, count) || !same_numbers(p.groups, q.groups, count))
            return "what is beside rows";
    }
    return NULL;
}

static const char *columns_differ(const hawser_dataset *made, const hawser_dataset *loaded, bool same)
{
    const hawser_matrix *A = &made->matrix, *B = &loaded->matrix;
    size_t n = A->rows;
    if (!same && (made->residence == NULL) != (loaded->residence == NULL))
        return "the residence";
    for (uint32_t j = 0; j < A->cols; j++) {
        if (made->residence != NULL && loaded->residence != NULL &&
            hw_owner(&made->residence->owners, j) != hw_owner(&loaded->residence->owners, j))
            return "the owner of a column";
        if (!hw_is_dense(A) && A->offsets[j + 1] != B->offsets[j + 1])
            return "the offsets";
        if (loaded->residence != NULL && !hw_is_here(loaded->residence, j))
            continue;
        uint64_t a = hw_is_dense(A) ? j * A->stride : A->offsets[j], b = hw_is_dense(B) ? j * B->stride : B->offsets[j];
        uint64_t count = hw_is_dense(A) ? n : A->offsets[j + 1] - a;
        for (uint64_t e = 0; e < count; e++)
            if (hw_value_at(A->values, A->type, a + e) != hw_value_at(B->values, B->type, b + e) ||
                (!hw_is_dense(A) && A->indices[a + e] != B->indices[b + e]))
                return "a column";
    }
    for (size_t k = 0; k < hawser_dataset_outputs(made); k++)
        if (!same_numbers(hawser_dataset_output(made, k), hawser_dataset_output(loaded, k), n))
            return "a target";
    return same_numbers(made->target, loaded->target, n) && same_numbers(made->weights, loaded->weights, n) &&
                   same_numbers(made->offset, loaded->offset, n) && same_numbers(made->groups, loaded->groups, n)
               ? NULL
               : "what belongs to rows";
}

static const char *differ(const shared_rows *s, const hawser_dataset *made, const hawser_dataset *loaded)
{
    const hawser_matrix *A = &made->matrix, *B = &loaded->matrix;
    if (A->rows != B->rows || A->cols != B->cols || A->stored != B->stored || A->layout != B->layout || A->type != B->type)
        return "the shape";
    for (size_t j = 0; j < A->cols; j++) {
        const char *name = hawser_dataset_column(made, j), *other = hawser_dataset_column(loaded, j);
        if ((name == NULL) != (other == NULL) || (name != NULL && strcmp(name, other) != 0))
            return "the name of a column";
    }
    if (hawser_dataset_outputs(made) != hawser_dataset_outputs(loaded))
        return "the number of targets";
    for (size_t k = 0; k < hawser_dataset_outputs(made); k++) {
        const char *name = hawser_dataset_output_name(made, k), *other = hawser_dataset_output_name(loaded, k);
        if ((name == NULL) != (other == NULL) || (name != NULL && strcmp(name, other) != 0))
            return "the name of a target";
    }
    return s->split == HAWSER_BY_ROW ? rows_differ(made, loaded) : columns_differ(made, loaded, s->same);
}

/* Returns whether the plan of a program over the rows says that they have no second source. */
static bool plan_has_no_source(test_node *node, const hawser_dataset *data)
{
    char *text = NULL;
    hawser_program *program = hawser_program_new("plan", NULL);
    hawser_state *X = HAWSER_STATE(program, "X", HAWSER_DATA, .data = data, .split = HAWSER_BY_ROW);
    HAWSER_UNIT(hawser_root(program), "nothing", nothing, .reads = {X});
    node->status = hawser_plan_text(node->job, program, HAWSER_PLAN_PHYSICAL, &text, &node->error);
    bool found = node->status == HAWSER_OK && strstr(text, "no second source") != NULL;
    hawser_program_free(program);
    free(text);
    return found;
}

static void compare_with_file(test_node *node)
{
    const shared_rows *s = node->user;
    const char *path = s->sparse ? "rows.svm" : "rows.csv";
    const hawser_load load = load_of(s);
    hawser_dataset *own = NULL, *made = NULL, *loaded = NULL;
    node->status = make_data(node, s, &own, &made);
    if (node->status == HAWSER_OK)
        node->status = hawser_job_load(node->job, &path, 1, &load, &loaded, &node->error);
    const char *what = node->status == HAWSER_OK ? differ(s, made, loaded) : NULL;
    if (what == NULL && node->status == HAWSER_OK && s->split == HAWSER_BY_ROW && node->nodes > 1 &&
        (!plan_has_no_source(node, made) || plan_has_no_source(node, loaded)))
        what = "what the plan says of a second source";
    if (what != NULL)
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "%s differs", what);
    hawser_dataset_free(loaded);
    hawser_dataset_free(made);
    hawser_dataset_free(own);
}

/* Draws where the rows of the nodes begin; some nodes have none. */
static void draw_begins(shared_rows *s, uint32_t nodes, uint64_t *seed)
{
    s->begin[0] = 0;
    for (uint32_t k = 1; k < nodes; k++)
        s->begin[k] =
            draw_below(seed, 4) == 0 ? s->begin[k - 1] : s->begin[k - 1] + draw_below(seed, s->rows - s->begin[k - 1] + 1);
    s->begin[nodes] = s->rows;
    if (draw_below(seed, 5) == 0) /* node 0 has none */
        s->begin[1] = 0;
    if (nodes == 1)
        s->begin[1] = s->rows;
}

static void drawn_rows_are_dealt_out_like_a_file(void **state)
{
    (void)state;
    static const char *const workers[] = {"4", "5", "9"};
    uint64_t seed = 11;
    for (uint32_t round = 0; round < tried_of(96); round++) {
        shared_rows s = {.sparse = round % 2, .split = round / 2 % 2 ? HAWSER_BY_ROW : HAWSER_BY_COLUMN};
        uint32_t nodes = 1 + round / 4 % 4;
        s.type = draw_below(&seed, 2) ? HAWSER_F32 : HAWSER_F64;
        s.same = draw_below(&seed, 3) == 0;
        for (int k = 0; k < BESIDE; k++)
            s.has[k] = (s.sparse && k == 0) || (!(s.sparse && k == 3) && draw_below(&seed, 2) == 0);
        s.targets = s.has[0] ? 1 + draw_below(&seed, TARGETS_MOST) : 0;
        draw_rows(&s, 1 + draw_below(&seed, ROWS_MOST), 1 + draw_below(&seed, COLUMNS_MOST), seed, FACTOR_NUMBERS);
        draw_begins(&s, nodes, &seed);
        (void)write_rows(&s);
        test_node all[NODES_MOST];
        char what[60];
        snprintf(what, sizeof what, "round %u", round);
        run_nodes(all, nodes, (const char *const[]){"workers", workers[round % 3], "timeout", "60", NULL}, compare_with_file,
                  &s);
        check_all(all, nodes, what);
    }
}

/* ------------------------------------------------------------------------------------------------------ training ---- */

/* Stores a digest of the model and its facts. Only node 0 has them. */
static hawser_status digest_training(test_node *node, const shared_rows *s, const hawser_dataset *data, uint64_t *digest)
{
    static const char *const tensors[] = {"coefficients.index", "coefficients.value", "coefficients",
                                          "intercepts",         "intercept",          "centres"};
    const hawser_algorithm *algorithm = hawser_algorithm_find(s->algorithm);
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), algorithm->rows, NULL};
    hawser_options *options = NULL;
    hawser_training training = {0};
    hawser_status status = hawser_options_new(tables, &options, &node->error);
    for (const char *const *pair = s->pairs; status == HAWSER_OK && *pair != NULL; pair += 2)
        status = hawser_options_set(options, pair[0], pair[1], HAWSER_FROM_PROGRAM, "test", &node->error);
    hawser_training_input given = {.options = options, .data = data};
    if (status == HAWSER_OK)
        status = hawser_train(algorithm, node->job, &given, &training, &node->error);
    *digest = 0;
    for (size_t k = 0; training.model != NULL && k < sizeof tensors / sizeof *tensors; k++) {
        size_t dims[2] = {0};
        const uint64_t *values = hawser_model_get(training.model, tensors[k], NULL, dims);
        *digest = hw_hash(values, values != NULL ? dims[0] * (dims[1] > 0 ? dims[1] : 1) * sizeof *values : 0, *digest);
    }
    for (const hawser_fact *fact = training.facts; training.model != NULL && fact->name != NULL; fact++)
        *digest = hw_hash(&fact->value, sizeof fact->value, *digest);
    hawser_model_free(training.model);
    hawser_run_free(training.run);
    hawser_options_free(options);
    return status;
}

/* Of one node: trains on the file. Of several: trains on rows that were dealt out, and compares. */
static void train_node(test_node *node)
{
    shared_rows *s = node->user;
    const char *path = s->sparse ? "rows.svm" : "rows.csv";
    const hawser_load load = load_of(s);
    hawser_dataset *own = NULL, *data = NULL;
    uint64_t digest = 0;
    node->status = node->nodes == 1 ? hawser_job_load(node->job, &path, 1, &load, &data, &node->error)
                                    : make_data(node, s, &own, &data);
    if (node->status == HAWSER_OK)
        node->status = digest_training(node, s, data, &digest);
    if (node->nodes == 1)
        s->digest = digest;
    if (node->status == HAWSER_OK && (digest == 0 || digest != s->digest))
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "the model of several nodes differs from that of one");
    hawser_dataset_free(data);
    hawser_dataset_free(own);
}

static void trainings_have_the_bits_of_one_node_and_one_file(void **state)
{
    (void)state;
    static const char *const lambda[] = {"lambda", "0.02", NULL}, *const centres[] = {"clusters", "3", NULL},
                             *const plain[] = {NULL};
    static const char *const algorithms[] = {"lasso", "multitask", "logistic", "softmax", "svm", "kmeans"};
    static const char *const *const pairs[] = {lambda, lambda, lambda, lambda, plain, centres};
    for (size_t k = 0; k < sizeof algorithms / sizeof *algorithms; k++)
        for (int sparse = 0; sparse < 2; sparse++) {
            test_node all[NODES_MOST];
            shared_rows s = {.sparse = sparse, .algorithm = algorithms[k], .pairs = pairs[k], .has = {true, true}};
            s.split = hawser_algorithm_find(s.algorithm)->split;
            s.targets =
                hawser_algorithm_head(hawser_algorithm_find(s.algorithm), "prediction")->width != NULL ? TARGETS_MOST : 1;
            draw_rows(&s, ROWS_MOST, COLUMNS_MOST, 3 + k, factor_target_of(s.algorithm));
            (void)write_rows(&s);
            for (uint32_t nodes = 1; nodes <= 4; nodes += SANITIZED ? 3 : 1) {
                uint64_t seed = s.seed + nodes;
                s.same = nodes == 4;
                draw_begins(&s, nodes, &seed);
                run_nodes(all, nodes, (const char *const[]){"workers", "4", "timeout", "60", NULL}, train_node, &s);
                check_all(all, nodes, s.algorithm);
            }
        }
}

/* ------------------------------------------------------------------------------------------------------- refusals ---- */

/* What node 1 of 3 passes that does not fit. */
typedef struct odd_rows {
    const char *text;
    enum {
        ODD_COLUMNS,
        ODD_KIND,
        ODD_TYPE,
        ODD_WEIGHTS,
        ODD_NO_TARGET,
        ODD_TARGETS,
        ODD_NAMES,
        ODD_SPLIT,
        NO_ROWS,
        ODD_MEANS,
        BAD_SPLIT
    } odd;
} odd_rows;

static void refuse_rows(test_node *node)
{
    const odd_rows *how = node->user;
    shared_rows s = {.rows = 6, .cols = 3, .has = {true}};
    bool odd = node->node == 1;
    hawser_dataset *own = NULL, *data = NULL;
    hawser_split split = HAWSER_BY_ROW;
    if (odd) {
        s.cols -= how->odd == ODD_COLUMNS;
        s.sparse = how->odd == ODD_KIND;
        s.type = how->odd == ODD_TYPE ? HAWSER_F32 : HAWSER_F64;
        s.has[0] = how->odd != ODD_NO_TARGET;
        s.has[1] = how->odd == ODD_WEIGHTS;
        s.targets = how->odd == ODD_TARGETS ? 3 : 1;
        split = how->odd == ODD_SPLIT ? HAWSER_BY_COLUMN : how->odd == BAD_SPLIT ? HAWSER_WHOLE : split;
    }
    if (how->odd != NO_ROWS && node->node != 2)
        own = own_rows(&s, 0, 6, true, false);
    if (odd && how->odd == ODD_NAMES)
        own->columns = NULL;
    static const double means[3] = {1, 2, 3};
    if (odd && how->odd == ODD_MEANS)
        own->means = means;
    expect(node, hawser_job_data(node->job, own, split, &data, &node->error), HAWSER_BAD_ARGUMENT, how->text);
    if (node->status == HAWSER_OK && data != NULL)
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "there is a dataset");
    hawser_dataset_free(own);
}

static void rows_that_do_not_fit_are_refused_with_the_nodes(void **state)
{
    (void)state;
    const odd_rows all[] = {
        {"hawser_job_data: node 0 has rows of 3 columns, and node 1 of 2", ODD_COLUMNS},
        {"hawser_job_data: nodes 0 and 1 have matrices of different layouts or types", ODD_KIND},
        {"nodes 0 and 1 have matrices of different layouts or types", ODD_TYPE},
        {"node 1 has weights, and node 0 has not", ODD_WEIGHTS},
        {"node 0 has a target, and node 1 has not", ODD_NO_TARGET},
        {"node 0 has 1 targets, and node 1 has 3", ODD_TARGETS},
        {"nodes 0 and 1 have other names of columns", ODD_NAMES},
        {"node 0 passes HAWSER_BY_ROW, and node 1 HAWSER_BY_COLUMN", ODD_SPLIT},
        {"no node has rows", NO_ROWS},
        {"nodes 0 and 1 have replaced missing values by different means", ODD_MEANS},
        {"hawser_job_data: split is 2", BAD_SPLIT},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        test_node nodes[NODES_MOST];
        odd_rows how = all[k];
        run_nodes(nodes, 3, (const char *const[]){"workers", "3", "timeout", "60", NULL}, refuse_rows, &how);
        check_all(nodes, 3, how.text);
    }
}

/* Node 1 has one other number, or one row less. */
static void refuse_others(test_node *node)
{
    static const char *const texts[] = {"nodes 0 and 1 have other numbers", "node 0 has 6 rows, and node 1 has 5",
                                        "nodes 0 and 1 have other numbers", "nodes 0 and 1 have other numbers"};
    const int *how = node->user;
    shared_rows s = {.rows = 6, .cols = 3, .has = {true}, .targets = 3};
    bool odd = node->node == 1;
    if (odd && *how == 0)
        s.table[4] = 1;
    if (odd && *how == 2)
        s.beside[0][3] = 1;
    if (odd && *how == 3)
        s.further[1][5] = 1;
    hawser_dataset *own = own_rows(&s, 0, odd && *how == 1 ? 5 : 6, true, false), *data = NULL;
    expect(node, hawser_job_same(node->job, own, HAWSER_BY_COLUMN, &data, &node->error), HAWSER_BAD_ARGUMENT, texts[*how]);
    hawser_dataset_free(own);
}

static void data_that_are_not_the_same_are_refused_with_the_nodes(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        test_node nodes[NODES_MOST];
        run_nodes(nodes, 2, (const char *const[]){"workers", "2", "timeout", "60", NULL}, refuse_others, &how);
        check_all(nodes, 2, "other data");
    }
}

/* Node 1 leaves instead of giving its rows. */
static void leave_or_wait(test_node *node)
{
    shared_rows s = {.rows = 6, .cols = 3};
    hawser_dataset *own = own_rows(&s, 0, 6, true, false), *data = NULL;
    if (node->node != 1) {
        hawser_status status = hawser_job_data(node->job, own, HAWSER_BY_COLUMN, &data, &node->error);
        if (status == HAWSER_OK || data != NULL || strstr(node->error.text, "node 1") == NULL)
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "a node is missing, and the status is %d", status);
    }
    hawser_dataset_free(own);
}

static void a_lost_node_is_named(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 3, (const char *const[]){"workers", "3", "timeout", "60", NULL}, leave_or_wait, NULL);
    check_all(nodes, 3, "a lost node");
}

/* Node 1 makes the first collective call of a sum and not the second, until node 0 has timed out. A failure that node 0 then
 * had the nodes agree on would be the next thing that node 1 receives. */
static void time_out_once(test_node *node)
{
    atomic_int *ended = node->user; /* 1: node 0 has timed out; 2: node 1 has seen what follows */
    hw_cluster *cluster = node->job->cluster;
    hw_loading loading = {.cluster = cluster, .job = node->job, .nodes = node->nodes, .self = node->node};
    uint64_t numbers[2] = {3, 4};
    if (node->node == 0) {
        hawser_status status = hw_loading_add(&loading, numbers, 2, &node->error);
        atomic_store(ended, 1);
        if (status != HAWSER_TIMEOUT || strstr(node->error.text, "node 1 (host-1)") == NULL ||
            hw_loading_agree(&loading, status, &node->error) != HAWSER_TIMEOUT)
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "the sum ended with %d", status);
        while (atomic_load(ended) < 2)
            usleep(1000);
        return;
    }
    hw_bytes *in = calloc(2, sizeof *in);
    hawser_error own = {0};
    node->status = hw_cluster_agree(cluster, HAWSER_OK, &node->error);
    while (atomic_load(ended) == 0)
        usleep(1000);
    if (node->status == HAWSER_OK)
        node->status = hw_cluster_allgather(cluster, (hw_bytes){numbers, sizeof numbers}, in, &node->error);
    hw_bytes_free(in, 2);
    hawser_status next = hw_cluster_agree(cluster, HAWSER_OK, &own);
    atomic_store(ended, 2);
    if (node->status == HAWSER_OK && (next == HAWSER_OK || strncmp(own.text, "node 0 (host-0): ", 17) == 0))
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "node 0 has agreed: %s", own.text);
}

static void a_load_that_times_out_waits_once(void **state)
{
    (void)state;
    atomic_int ended = 0;
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 2, (const char *const[]){"workers", "2", "timeout", "1", NULL}, time_out_once, &ended);
    check_all(nodes, 2, "a load that times out");
}

/* --------------------------------------------------------------------------------------------------------- memory ---- */

enum { BIG_ROWS = 48000, BIG_COLUMNS = 60 };

/* Arrays of all rows, of which each node has a part. */
typedef struct big_rows {
    const double *values;
    hawser_split split;
    bool turned, first; /* first: node 0 has all rows */
} big_rows;

static void deal_out_big(test_node *node)
{
    const big_rows *big = node->user;
    size_t begin = (size_t)BIG_ROWS * node->node / node->nodes, end = (size_t)BIG_ROWS * (node->node + 1) / node->nodes;
    if (big->first)
        begin = node->node == 0 ? 0 : (end = BIG_ROWS);
    bool by_row = (big->split == HAWSER_BY_ROW) != big->turned;
    hawser_arrays arrays = {.matrix = {.rows = end - begin,
                                       .cols = BIG_COLUMNS,
                                       .layout = by_row ? HAWSER_DENSE_ROWS : HAWSER_DENSE,
                                       .values = big->values + begin * BIG_COLUMNS,
                                       .stride = by_row ? BIG_COLUMNS : end - begin}};
    hawser_dataset *own = NULL, *data = NULL;
    node->status = begin < end ? hawser_dataset_borrow(&arrays, &own, &node->error) : HAWSER_OK;
    if (node->status == HAWSER_OK)
        node->status = hawser_job_data(node->job, own, big->split, &data, &node->error);
    hawser_dataset_free(data);
    hawser_dataset_free(own);
}

/* Forgets the peak of resident memory so far. Returns false where the kernel does not allow it. */
static bool forget_peak(void)
{
    int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    bool done = file >= 0 && write(file, "5", 1) == 1;
    if (file >= 0)
        close(file);
    return done;
}

/* The nodes are threads of one process, so the peak is that of all nodes together: it does not grow with the nodes, as it
 * would if each had the whole. */
static void no_node_has_the_whole(void **state)
{
    (void)state;
    /* Of the data, above the input, by split and turned. Columns: what is sent, and the share of the receiver. */
    static const double most[2][3] = {{2.5, 2.5, 2.5}, {0.4, 1.6, 2.0}};
    if (SANITIZED || !forget_peak())
        skip();
    const double bytes = (double)BIG_ROWS * BIG_COLUMNS * sizeof(double);
    double *values = calloc((size_t)BIG_ROWS * BIG_COLUMNS, sizeof *values);
    assert_non_null(values);
    for (size_t k = 0; k < (size_t)BIG_ROWS * BIG_COLUMNS; k++)
        values[k] = (double)(k % 1009);
    for (int split = 0; split < 2; split++)
        for (int how = 0; how < 3; how++)
            for (uint32_t nodes = 1; nodes <= 4; nodes *= 2) {
                test_node all[NODES_MOST];
                bool turned = how == 1;
                big_rows big = {values, split ? HAWSER_BY_ROW : HAWSER_BY_COLUMN, turned, how == 2};
                assert_true(forget_peak());
                double before = (double)hw_machine_peak_rss();
                run_nodes(all, nodes, (const char *const[]){"workers", "4", "timeout", "60", NULL}, deal_out_big, &big);
                check_all(all, nodes, "big data");
                double more = ((double)hw_machine_peak_rss() - before) / bytes;
                print_message("%s, %s, %u nodes: %.2f of the data\n", split ? "rows" : "columns",
                              how == 2 ? "on one node"
                              : turned ? "turned"
                                       : "as they are",
                              nodes, more);
                assert_true(more < (nodes == 1 && !turned ? 0.3 : most[split][how]));
            }
    free(values);
}

/* --------------------------------------------------------------------------------------------------------- rounds ---- */

/* Data large enough to be sent in several rounds: row by row, dense, or sparse with an entry for most columns. */
typedef struct many_rounds {
    hawser_split split;
    bool sparse;
    uint64_t *offsets;
    uint32_t *indices;
    double *values;
} many_rounds;

static double number_at(size_t i, size_t j)
{
    return (double)((i * 67 + j * 31) % 1009);
}

static bool is_stored(const many_rounds *m, size_t i, size_t j)
{
    return !m->sparse || (i + j) % 7 != 0;
}

static void make_many(many_rounds *m)
{
    uint64_t at = 0;
    m->offsets = calloc(BIG_ROWS + 1, sizeof *m->offsets);
    m->indices = calloc((size_t)BIG_ROWS * BIG_COLUMNS, sizeof *m->indices);
    m->values = calloc((size_t)BIG_ROWS * BIG_COLUMNS, sizeof *m->values);
    assert_true(m->offsets != NULL && m->indices != NULL && m->values != NULL);
    for (size_t i = 0; i < BIG_ROWS; i++) {
        for (size_t j = 0; j < BIG_COLUMNS; j++)
            if (is_stored(m, i, j)) {
                m->indices[at] = (uint32_t)j;
                m->values[at++] = number_at(i, j);
            }
        m->offsets[i + 1] = at;
    }
}

static bool right_rows(const many_rounds *m, const hawser_matrix *A)
{
    for (size_t i = 0; i < A->rows; i++) {
        uint64_t e = m->sparse ? A->offsets[i] : (uint64_t)i * A->stride;
        for (size_t j = 0; j < A->cols; j++)
            if (is_stored(m, A->first + i, j)) {
                if (((const double *)A->values)[e] != number_at(A->first + i, j) || (m->sparse && A->indices[e] != j))
                    return false;
                e++;
            }
        if (m->sparse && e != A->offsets[i + 1])
            return false;
    }
    return true;
}

static bool right_column(const many_rounds *m, const hawser_matrix *A, size_t j)
{
    uint64_t e = m->sparse ? A->offsets[j] : (uint64_t)j * A->stride;
    for (size_t i = 0; i < A->rows; i++)
        if (is_stored(m, i, j)) {
            if (((const double *)A->values)[e] != number_at(i, j) || (m->sparse && A->indices[e] != i))
                return false;
            e++;
        }
    return !m->sparse || e == A->offsets[j + 1];
}

/* Node 0 has two thirds of the rows, node 1 none, node 2 the rest. */
static void deal_out_many(test_node *node)
{
    const many_rounds *m = node->user;
    const size_t bounds[] = {0, BIG_ROWS / 3 * 2, BIG_ROWS / 3 * 2, BIG_ROWS};
    size_t begin = bounds[node->node], end = bounds[node->node + 1];
    hawser_arrays arrays = {.matrix = {.rows = end - begin, .cols = BIG_COLUMNS, .layout = HAWSER_DENSE_ROWS}};
    hawser_matrix *A = &arrays.matrix;
    A->values = m->sparse ? m->values : m->values + begin * BIG_COLUMNS;
    A->stride = m->sparse ? 0 : BIG_COLUMNS;
    A->layout = m->sparse ? HAWSER_CSR : HAWSER_DENSE_ROWS;
    A->offsets = m->sparse ? m->offsets + begin : NULL;
    A->indices = m->sparse ? m->indices : NULL;
    hawser_dataset *own = NULL, *data = NULL;
    node->status = begin < end ? hawser_dataset_borrow(&arrays, &own, &node->error) : HAWSER_OK;
    if (node->status == HAWSER_OK)
        node->status = hawser_job_data(node->job, own, m->split, &data, &node->error);
    bool right = node->status != HAWSER_OK || data->residence != NULL;
    for (uint32_t b = 0; node->status == HAWSER_OK && m->split == HAWSER_BY_ROW && b < 4; b++)
        if (hw_row_block_here(data->residence->rows, b))
            right = right && right_rows(m, &data->residence->rows->block[b].matrix);
    for (uint32_t j = 0; node->status == HAWSER_OK && m->split == HAWSER_BY_COLUMN && j < BIG_COLUMNS; j++)
        if (hw_is_here(data->residence, j))
            right = right && right_column(m, &data->matrix, j);
    if (right && own != NULL) { /* the caller's numbers stay */
        hawser_matrix kept = own->matrix;
        kept.first = begin;
        right = right_rows(m, &kept);
    }
    if (!right)
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "an entry differs");
    hawser_dataset_free(data);
    hawser_dataset_free(own);
}

static void data_that_are_sent_in_rounds_are_complete(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        test_node all[NODES_MOST];
        many_rounds m = {.split = k / 2 ? HAWSER_BY_ROW : HAWSER_BY_COLUMN, .sparse = k % 2};
        make_many(&m);
        run_nodes(all, 3, (const char *const[]){"workers", "4", "timeout", "60", NULL}, deal_out_many, &m);
        check_all(all, 3, m.split == HAWSER_BY_ROW ? "rows" : "columns");
        free(m.offsets);
        free(m.indices);
        free(m.values);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawn_rows_are_dealt_out_like_a_file),
        cmocka_unit_test(trainings_have_the_bits_of_one_node_and_one_file),
        cmocka_unit_test(rows_that_do_not_fit_are_refused_with_the_nodes),
        cmocka_unit_test(data_that_are_not_the_same_are_refused_with_the_nodes),
        cmocka_unit_test(a_lost_node_is_named),
        cmocka_unit_test(a_load_that_times_out_waits_once),
        cmocka_unit_test(no_node_has_the_whole),
        cmocka_unit_test(data_that_are_sent_in_rounds_are_complete),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
