/* borrow.c - hawser_dataset_borrow: a dataset of the caller's arrays, without a copy of their numbers. */
#include "base/argument.h"
#include "base/layout.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "data/load.h"

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

/* Returns HAWSER_OK if the numbers are finite: those of a dense line are followed by others up to the stride. */
static hawser_status check_values(const hawser_matrix *A, hawser_error *error)
{
    if (!hw_is_dense(A))
        return hw_dataset_check_numbers(A->values, A->type, A->stored, "value", error);
    for (size_t j = 0; j < hw_lines(A); j++) {
        const unsigned char *line = (const unsigned char *)A->values + (uint64_t)j * A->stride * hw_type_size(A->type);
        hawser_error why = {0};
        if (hw_dataset_check_numbers(line, A->type, hw_line_width(A), "value", &why) != HAWSER_OK)
            return hawser_fail(error, why.status, "%s %zu: %s", hw_is_by_row(A) ? "row" : "column", j, why.text);
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
    return check_values(A, error);
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
    return hw_dataset_copy_names(dataset, arrays->names, arrays->target_name, error);
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
    if (status != HAWSER_OK) {
        hawser_dataset_free(made);
        return status;
    }
    made->release = arrays->release;
    made->release_user = arrays->user;
    *dataset = made;
    return HAWSER_OK;
}
