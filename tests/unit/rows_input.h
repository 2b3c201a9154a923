/* rows_input.h - inputs that are loaded by row, and a program that compares the rows of every block with the truth. */
#ifndef HW_TESTS_UNIT_ROWS_INPUT_H
#define HW_TESTS_UNIT_ROWS_INPUT_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "directory.h"
#include "nodes.h"

enum { FILES_MOST = 3, COUNTS_MOST = 4 };

/* An input, and the truth about it: all of its numbers, from a load by column of one process. */
typedef struct input {
    const char *paths[FILES_MOST];
    size_t count;
    hawser_load load;
    const char *workers;
    const hawser_dataset *whole;
    double *table;       /* rows x cols, row by row */
    size_t *cut;         /* as a job of one node has it */
    double *sums;        /* as a job of one node has them */
    const char *like;    /* an input with the same rows, whose cut this one gets; or NULL */
    size_t other_bounds; /* of them that this input alone would have elsewhere, over all loads */
    uint64_t moved;      /* rows that travelled, over all numbers of nodes */
    bool moves;          /* some node reads rows of another one */
} input;

/* What a program's units see. */
typedef struct sight {
    const input *what;
    const hawser_dataset *data;
} sight;

static inline double *table_of(const hawser_matrix *A)
{
    double *table = calloc(A->rows * A->cols + 1, sizeof *table);
    assert_non_null(table);
    for (size_t j = 0; j < A->cols; j++)
        if (A->layout == HAWSER_DENSE)
            for (size_t i = 0; i < A->rows; i++)
                table[i * A->cols + j] = hw_value_at(A->values, A->type, j * A->stride + i);
        else
            for (uint64_t e = A->offsets[j]; e < A->offsets[j + 1]; e++)
                table[A->indices[e] * A->cols + j] = hw_value_at(A->values, A->type, e);
    return table;
}

/* Writes row i of a view by row as `cols` numbers. */
static void row_of(const hawser_matrix *A, size_t i, double *row)
{
    memset(row, 0, A->cols * sizeof *row);
    if (hw_is_dense(A))
        for (size_t j = 0; j < A->cols; j++)
            row[j] = hw_value_at(A->values, A->type, hw_dense_place(A, i, j));
    else
        for (uint64_t e = A->offsets[i]; e < A->offsets[i + 1]; e++)
            row[A->indices[e]] = hw_value_at(A->values, A->type, e);
}

static bool same(const double *own, const double *all, size_t first, size_t count)
{
    if (own == NULL || all == NULL)
        return count == 0 || own == all;
    return memcmp(own, all + first, count * sizeof *own) == 0;
}

static hawser_status check_beside(hawser_context *context, const hawser_matrix *X, hawser_beside *beside)
{
    const sight *s = hawser_user(context);
    const hawser_dataset *whole = s->what->whole;
    hawser_error error = {0};
    if (hawser_dataset_beside(s->data, X->first, X->rows, beside, &error) != HAWSER_OK)
        return hawser_unit_fail(context, HAWSER_BAD_INPUT, "%s", error.text);
    bool right = same(beside->target, hawser_dataset_target(whole), X->first, X->rows) &&
                 same(beside->weights, hawser_dataset_weights(whole), X->first, X->rows) &&
                 same(beside->offset, hawser_dataset_offset(whole), X->first, X->rows) &&
                 same(beside->groups, hawser_dataset_groups(whole), X->first, X->rows);
    for (size_t k = 0; k < hawser_dataset_outputs(whole); k++)
        right = right && same(beside->outputs[k], hawser_dataset_output(whole, k), X->first, X->rows);
    return right ? HAWSER_OK
                 : hawser_unit_fail(context, HAWSER_BAD_INPUT, "what belongs to rows %zu to %zu differs", X->first,
                                    X->first + X->rows);
}

/* Every block compares its rows with the truth, counts them, and adds them up. */
static hawser_status look(hawser_context *context)
{
    const sight *s = hawser_user(context);
    HAWSER_READ(context, hawser_matrix, X);
    HAWSER_WRITE(context, double, seen);
    HAWSER_WRITE(context, double, sums);
    double *row = calloc(X->cols + 1, sizeof *row);
    hawser_beside beside;
    hawser_status status = row == NULL ? HAWSER_NO_MEMORY : check_beside(context, X, &beside);
    if (status == HAWSER_OK && X->first != s->what->cut[hawser_block(context)])
        status = hawser_unit_fail(context, HAWSER_BAD_INPUT, "block %u begins at row %zu instead of %zu",
                                  hawser_block(context), X->first, s->what->cut[hawser_block(context)]);
    for (size_t i = 0; i < X->rows && status == HAWSER_OK; i++) {
        row_of(X, i, row);
        if (memcmp(row, s->what->table + (X->first + i) * X->cols, X->cols * sizeof *row) != 0)
            status = hawser_unit_fail(context, HAWSER_BAD_INPUT, "row %zu differs", X->first + i);
        seen[X->first + i] += 1;
        for (size_t j = 0; j < X->cols; j++)
            sums[j] +=
                row[j] * (beside.target != NULL ? beside.target[i] : 1) * (beside.weights != NULL ? beside.weights[i] : 0.1);
    }
    free(row);
    return status;
}

/* Rows that stay where they are give bits that depend on the nodes, which the figures say. */
static hawser_status check_repeatable(test_node *node, const char *reason)
{
    bool right = node->nodes == 1 ? reason == NULL : reason != NULL && strstr(reason, "bits depend on the nodes") != NULL;
    return right ? HAWSER_OK
                 : hawser_fail(&node->error, HAWSER_BAD_INPUT, "repeatable is '%s'", reason != NULL ? reason : "NULL");
}

static inline hawser_status run_sums(test_node *node, input *what, const hawser_dataset *data)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    sight s = {what, data};
    hawser_program *program = hawser_program_new("rows", &s);
    hawser_state *rows = HAWSER_STATE(program, "X", HAWSER_DATA, .matrix = X, .split = HAWSER_BY_ROW);
    hawser_state *seen = HAWSER_STATE(program, "seen", HAWSER_REPLICATED, .rows = X->rows);
    hawser_state *sums = HAWSER_STATE(program, "sums", HAWSER_REPLICATED, .rows = X->cols);
    HAWSER_UNIT(hawser_root(program), "look", look, .reads = {rows}, .updates = {seen, sums});
    hawser_run *run = NULL;
    size_t count;
    hawser_status status = hawser_run_program(node->job, program, &run, &node->error);
    const double *times = status == HAWSER_OK ? RESULT(double, run, "seen", &count) : NULL;
    for (size_t i = 0; times != NULL && i < X->rows && status == HAWSER_OK; i++)
        if (times[i] != 1)
            status = hawser_fail(&node->error, HAWSER_BAD_INPUT, "row %zu is in %g blocks", i, times[i]);
    const double *found = status == HAWSER_OK ? RESULT(double, run, "sums", &count) : NULL;
    if (status == HAWSER_OK && what->sums == NULL)
        status = check_repeatable(node, hawser_run_figures(run)->repeatable);
    else if (found != NULL && node->nodes == 1)
        memcpy(what->sums, found, X->cols * sizeof *found);
    else if (found != NULL && memcmp(found, what->sums, X->cols * sizeof *found) != 0)
        status = hawser_fail(&node->error, HAWSER_BAD_INPUT, "the sums differ from those of one node");
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

/* Rows of very different lengths, so that the cuts are far from even. */
static inline void write_svmlight(const char *path, int from, int rows, int base)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    for (int i = from; i < from + rows; i++) {
        fprintf(file, "%.17g", cos(i));
        for (int j = 0; j < 40; j++)
            if ((i * 7 + j * j) % 50 < 1 + i % 40)
                fprintf(file, " %d:%.17g", j + base, sin(i + 3 * j));
        fputc('\n', file);
    }
    fclose(file);
}

/* Rows that lack one value in eleven, and those from `full` on none. */
static inline void write_full_svmlight(const char *path, int from, int rows, int base, int full)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    for (int i = from; i < from + rows; i++) {
        fprintf(file, "%.17g", cos(i));
        for (int j = 0; j < 23; j++)
            if (i >= full || (i * 5 + j * 3) % 11 != 0)
                fprintf(file, " %d:%.17g", j + base, sin(i + 3 * j));
        fputc('\n', file);
    }
    fclose(file);
}

/* Fails unless the load stores the data densely, with the numbers that they have as sparse data. */
static inline void check_full(const char *path, hawser_load load)
{
    hawser_dataset *dense = NULL, *sparse = NULL;
    hawser_error error = {0};
    load.full_dense = true;
    assert_int_equal(hawser_dataset_load(&path, 1, &load, &dense, &error), HAWSER_OK);
    load.full_dense = false;
    assert_int_equal(hawser_dataset_load(&path, 1, &load, &sparse, &error), HAWSER_OK);
    const hawser_matrix *A = hawser_dataset_matrix(dense), *B = hawser_dataset_matrix(sparse);
    assert_int_equal(A->layout, HAWSER_DENSE);
    assert_int_equal(B->layout, HAWSER_CSC);
    assert_true(A->rows == B->rows && A->cols == B->cols && A->type == B->type && A->stored == A->rows * A->cols);
    double *a = table_of(A), *b = table_of(B);
    assert_memory_equal(a, b, A->stored * sizeof *a);
    free(a);
    free(b);
    hawser_dataset_free(dense);
    hawser_dataset_free(sparse);
}

/* `holes`: some values are missing; `words`: a column and the target have words. */
static inline void write_csv(const char *path, int rows, bool holes, bool words)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "y,w,o,a,b,c,d,g,z\n");
    for (int i = 0; i < rows; i++) {
        fprintf(file, words ? "w%.0f,%d,%.3f" : "%.17g,%d,%.3f", words ? i % 3 : tan(i), i % 3, sin(i));
        for (int j = 0; j < 3; j++)
            fprintf(file, ",%.*f", i % 9 + j, sin(i * j + 1.5) * (i % 11 + 1) * 1e3);
        if (holes && i % 5 == 2)
            fprintf(file, ",");
        else
            fprintf(file, words ? ",word%.0f" : ",%.17g", words ? i * i % 7 : cos(i));
        fprintf(file, ",%d,%g\n", i / 4, i % 2 ? 0.5 : -i);
    }
    fclose(file);
}

static void expect(test_node *node, hawser_status got, hawser_status wanted, const char *text)
{
    if (node->status != HAWSER_OK)
        return;
    if (got != wanted || (wanted != HAWSER_OK && strstr(node->error.text, text) == NULL)) {
        const hawser_error found = node->error;
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "%d '%.300s' instead of '%s'", got, found.text, text);
    }
}

static inline hawser_status nothing(hawser_context *context)
{
    (void)context;
    return HAWSER_OK;
}

#endif
