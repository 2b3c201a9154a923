/* borrow.c - hawser_dataset_borrow: a dataset of the caller's arrays, without a copy of their numbers. */
#include <math.h>
#include <string.h>

#include "base/argument.h"
#include "base/layout.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "data/load.h"
#include "data/table/exact.h"
#include "linalg/sound.h"

/* Gives the dataset offsets of 64 bits that begin at 0. Only these are copied, and only if the caller's are others. */
static hawser_status take_offsets(hawser_dataset *dataset, const uint32_t *narrow, hawser_error *error)
{
    hawser_matrix *A = &dataset->matrix;
    size_t lines = hw_lines(A);
    uint64_t first = narrow != NULL ? narrow[0] : A->offsets[0], *offsets;
    if (narrow == NULL && first == 0)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&offsets, lines + 1, "offsets of the data", error));
    hw_dataset_own(dataset, offsets);
    for (size_t j = 0; j <= lines; j++)
        offsets[j] = (narrow != NULL ? narrow[j] : A->offsets[j]) - first;
    A->offsets = offsets;
    A->indices = A->indices != NULL ? A->indices + first : NULL;
    A->values = A->values != NULL ? (const unsigned char *)A->values + first * hw_type_size(A->type) : NULL;
    return HAWSER_OK;
}

/* Returns the first of some numbers that is not finite, or `count`. */
static uint64_t first_not_finite(const void *values, hawser_type type, uint64_t count)
{
    uint64_t k = 0;
    while (k < count && isfinite(hw_value_at(values, type, k)))
        k++;
    return k;
}

/* Fails for entry `k` of line `j`, by row, column and the column's name. */
static hawser_status not_finite(const hawser_arrays *arrays, const hawser_matrix *A, size_t j, size_t k, double value,
                                hawser_error *error)
{
    size_t row = hw_is_by_row(A) ? j : k, column = hw_is_by_row(A) ? k : j;
    const char *name = arrays->names != NULL && arrays->names[column] != NULL ? arrays->names[column] : NULL;
    return hawser_fail(error, HAWSER_BAD_ARGUMENT, "row %zu, column %zu%s%.100s%s is %g; numbers must be finite", row,
                       column, name != NULL ? " '" : "", name != NULL ? name : "", name != NULL ? "'" : "", value);
}

/* Returns HAWSER_OK if the numbers are finite: those of a dense line are followed by others up to the stride. */
static hawser_status check_values(const hawser_arrays *arrays, const hawser_matrix *A, hawser_error *error)
{
    size_t size = hw_type_size(A->type);
    if (!hw_is_dense(A)) {
        uint64_t k = first_not_finite(A->values, A->type, A->stored);
        size_t j = 0;
        while (k < A->stored && A->offsets[j + 1] <= k)
            j++;
        return k == A->stored ? HAWSER_OK
                              : not_finite(arrays, A, j, A->indices[k], hw_value_at(A->values, A->type, k), error);
    }
    for (size_t j = 0; j < hw_lines(A); j++) {
        const unsigned char *line = (const unsigned char *)A->values + (uint64_t)j * A->stride * size;
        uint64_t k = first_not_finite(line, A->type, hw_line_width(A));
        if (k < hw_line_width(A))
            return not_finite(arrays, A, j, k, hw_value_at(line, A->type, k), error);
    }
    return HAWSER_OK;
}

static hawser_status take_matrix(hawser_dataset *dataset, const hawser_arrays *arrays, hawser_error *error)
{
    hawser_matrix *A = &dataset->matrix;
    *A = arrays->matrix;
    A->first = 0;
    A->mapped = false;
    if (hw_is_dense(A) && arrays->offsets32 != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a dense matrix has no offsets; leave offsets32 NULL");
    if (arrays->offsets32 != NULL && A->offsets != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "the matrix has offsets of 32 and of 64 bits; leave one of them NULL");
    if (arrays->offsets32 != NULL)
        HAWSER_TRY(take_offsets(dataset, arrays->offsets32, error));
    HAWSER_TRY(hw_dataset_check_matrix(A, error));
    if (!hw_is_dense(A))
        HAWSER_TRY(take_offsets(dataset, NULL, error));
    A->stored = hw_is_dense(A) ? (uint64_t)A->rows * A->cols : A->offsets[hw_lines(A)];
    return check_values(arrays, A, error);
}

static hawser_status check_outputs(const hawser_arrays *arrays, hawser_error *error)
{
    const hawser_matrix *Y = &arrays->outputs;
    if (arrays->target != NULL || arrays->target_name != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "there are outputs and a %s, which would be one of them; leave it NULL",
                           arrays->target != NULL ? "target" : "target_name");
    if (!hw_is_dense(Y) || Y->residence != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "the outputs must be dense and on this node, HAWSER_DENSE or HAWSER_DENSE_ROWS");
    if (hw_matrix_wrong(Y) != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "the matrix of outputs %s", hw_matrix_wrong(Y));
    if (Y->rows != arrays->matrix.rows)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "the outputs have %zu rows, and the matrix has %zu", Y->rows,
                           arrays->matrix.rows);
    if (Y->cols == 0 || Y->cols > 1 + HW_FURTHER_TARGETS)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%zu targets: data have 1 to %d", Y->cols, 1 + HW_FURTHER_TARGETS);
    return HAWSER_OK;
}

/* Returns target k, by row: the caller's numbers if they are doubles side by side, else a copy in `copies`, which has room
 * for all. */
static const double *output_at(const hawser_matrix *Y, size_t k, double *copies)
{
    if (copies == NULL)
        return (const double *)Y->values + k * Y->stride;
    for (size_t i = 0; i < Y->rows; i++)
        copies[k * Y->rows + i] = hw_value_at(Y->values, Y->type, hw_dense_place(Y, i, k));
    return copies + k * Y->rows;
}

/* Takes several targets. Only those that are no columns of doubles are copied. */
static hawser_status take_outputs(hawser_dataset *dataset, const hawser_arrays *arrays, hawser_error *error)
{
    const hawser_matrix *Y = &arrays->outputs;
    double *copies = NULL;
    HAWSER_TRY(check_outputs(arrays, error));
    if (Y->layout != HAWSER_DENSE || Y->type != HAWSER_F64)
        HAWSER_TRY(hw_new_array((void **)&copies, Y->rows * Y->cols, sizeof *copies, "a copy of the targets", error));
    hw_dataset_own(dataset, copies);
    for (size_t k = 0; k < Y->cols; k++) {
        const double *output = output_at(Y, k, copies);
        hawser_error why = {0};
        if (hw_dataset_check_numbers(output, HAWSER_F64, Y->rows, "row", &why) != HAWSER_OK)
            return hawser_fail(error, why.status, "target %zu: %s", k, why.text);
        *(k == 0 ? &dataset->target : &dataset->further[k - 1]) = output;
    }
    dataset->further_count = Y->cols - 1;
    return HAWSER_OK;
}

static bool has_outputs(const hawser_arrays *arrays)
{
    return arrays->outputs.values != NULL || arrays->outputs.cols != 0;
}

/* Refuses names that model files, which keep names one per line, would take for two. */
static hawser_status check_lines_of_names(const char *const *names, size_t count, const char *what, hawser_error *error)
{
    for (size_t k = 0; names != NULL && k < count; k++)
        if (names[k] != NULL && strchr(names[k], '\n') != NULL)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "the name of %s %zu has a line end, and model files keep names one per line; rename it", what,
                               k);
    return HAWSER_OK;
}

static hawser_status copy_names(hawser_dataset *dataset, const hawser_arrays *arrays, hawser_error *error)
{
    HAWSER_TRY(check_lines_of_names(arrays->names, arrays->matrix.cols, "column", error));
    HAWSER_TRY(check_lines_of_names(arrays->output_names, arrays->outputs.cols, "target", error));
    if (has_outputs(arrays))
        return hw_dataset_copy_names(dataset, arrays->names, arrays->output_names, arrays->outputs.cols, error);
    if (arrays->output_names != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "output_names name no outputs; leave them NULL");
    return hw_dataset_copy_names(dataset, arrays->names, arrays->target_name != NULL ? &arrays->target_name : NULL, 1,
                                 error);
}

static hawser_status fill(hawser_dataset *dataset, const hawser_arrays *arrays, hawser_error *error)
{
    size_t rows = arrays->matrix.rows;
    const struct {
        const char *what;
        const double *from, **to;
    } of_rows[] = {{"target", arrays->target, &dataset->target},
                   {"weight", arrays->weights, &dataset->weights},
                   {"offset", arrays->offset, &dataset->offset},
                   {"group", arrays->groups, &dataset->groups}};
    HAWSER_TRY(take_matrix(dataset, arrays, error));
    for (size_t k = 0; k < sizeof of_rows / sizeof *of_rows; k++)
        if (of_rows[k].from != NULL) {
            HAWSER_TRY(hw_dataset_check_numbers(of_rows[k].from, HAWSER_F64, rows, of_rows[k].what, error));
            *of_rows[k].to = of_rows[k].from;
        }
    HAWSER_TRY(hw_check_weights("weights", arrays->weights, rows, 0, error));
    if (has_outputs(arrays))
        HAWSER_TRY(take_outputs(dataset, arrays, error));
    return copy_names(dataset, arrays, error);
}

/* Makes the words of the target those of a schema. */
static hawser_status take_words(hawser_dataset *dataset, const hawser_arrays *arrays, hawser_error *error)
{
    const size_t count = arrays->target_words != NULL ? arrays->target_word_count : 0;
    hw_levels words = {0};
    hawser_status status = HAWSER_OK;
    if (count == 0)
        return HAWSER_OK;
    for (size_t k = 0; k < count && status == HAWSER_OK; k++) {
        uint32_t number;
        const char *word = arrays->target_words[k];
        if (word == NULL)
            status = hawser_fail(error, HAWSER_BAD_ARGUMENT, "target_words: word %zu of %zu is NULL", k, count);
        else
            status = hw_levels_put(&words, word, strlen(word), &number, error);
        if (status == HAWSER_OK && number != k)
            status =
                hawser_fail(error, HAWSER_BAD_ARGUMENT, "target_words: '%.60s' stands for %u and for %zu", word, number, k);
    }
    const double *target = dataset->target;
    if (status == HAWSER_OK && target == NULL)
        status = hawser_fail(error, HAWSER_BAD_ARGUMENT, "target_words: they are words of `target`, which is NULL");
    for (size_t i = 0; i < dataset->matrix.rows && status == HAWSER_OK; i++)
        if (!(target[i] >= 0 && target[i] < (double)count) || target[i] != floor(target[i]))
            status = hawser_fail(error, HAWSER_BAD_ARGUMENT,
                                 "target: row %zu has %g, which is the number of none of %zu words", i, target[i], count);
    HAWSER_THEN(status, hw_exact_schema(dataset, &words, error));
    hw_levels_free(&words);
    return status;
}

hawser_status hawser_dataset_borrow(const hawser_arrays *arrays, hawser_dataset **dataset, hawser_error *error)
{
    HW_GIVEN(arrays);
    HW_GIVEN(dataset);
    *dataset = NULL;
    if (arrays->matrix.residence != NULL)
        HAWSER_TRY(hawser_matrix_whole(&arrays->matrix, error));
    hawser_dataset *made = NULL;
    HAWSER_TRY(hw_dataset_new(&made, error));
    hawser_status status = fill(made, arrays, error);
    HAWSER_THEN(status, hw_dataset_check_names(made->columns, made->matrix.cols, "names", HAWSER_BAD_ARGUMENT, error));
    HAWSER_THEN(status, take_words(made, arrays, error));
    if (status != HAWSER_OK) {
        hawser_dataset_free(made);
        return status;
    }
    made->equals.begun = true; /* the numbers are what the caller has */
    made->release = arrays->release;
    made->release_user = arrays->user;
    *dataset = made;
    return HAWSER_OK;
}
