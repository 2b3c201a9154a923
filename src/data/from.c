/* Implements hawser_dataset_from: a copy of the caller's arrays, with the checks that a file gets. */
#include <math.h>
#include <string.h>

#include "base/argument.h"
#include "base/layout.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "linalg/sound.h"

static hawser_status check_lines(const hawser_matrix *A, hawser_error *error)
{
    size_t lines = hw_lines(A), width = hw_line_width(A);
    const char *line = A->layout == HAWSER_CSR ? "row" : "column";
    for (size_t j = 0; j < lines; j++) {
        if (A->offsets[j + 1] < A->offsets[j] || A->offsets[j + 1] - A->offsets[j] > width)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "offsets of %s %zu run from %llu to %llu", line, j,
                               (unsigned long long)A->offsets[j], (unsigned long long)A->offsets[j + 1]);
        for (uint64_t e = A->offsets[j]; e < A->offsets[j + 1]; e++) {
            if (A->indices[e] >= width)
                return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s %zu holds index %u, beyond %zu", line, j, A->indices[e],
                                   width - 1);
            if (e > A->offsets[j] && A->indices[e] <= A->indices[e - 1])
                return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s %zu: index %u follows %u; indices must ascend", line, j,
                                   A->indices[e], A->indices[e - 1]);
        }
    }
    return HAWSER_OK;
}

hawser_status hw_dataset_check_matrix(const hawser_matrix *A, hawser_error *error)
{
    if (A->rows == 0 || A->cols == 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a dataset needs rows and columns, not %zu x %zu", A->rows, A->cols);
    if (A->rows > UINT32_MAX || A->cols > UINT32_MAX)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%zu x %zu: at most 4294967295 rows and columns", A->rows, A->cols);
    if (hw_matrix_wrong(A) != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "the matrix %s", hw_matrix_wrong(A));
    if (hw_is_dense(A))
        return A->cols > SIZE_MAX / A->rows
                   ? hawser_fail(error, HAWSER_BAD_ARGUMENT, "%zu x %zu is more than memory can hold", A->rows, A->cols)
                   : HAWSER_OK;
    return check_lines(A, error);
}

hawser_status hw_dataset_check_numbers(const void *values, hawser_type type, size_t count, const char *what,
                                       hawser_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(hw_value_at(values, type, i)))
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s %zu is %g; numbers must be finite", what, i,
                               hw_value_at(values, type, i));
    return HAWSER_OK;
}

static hawser_status copy_bytes(hawser_dataset *dataset, const void **out, const void *from, size_t count, size_t size,
                                hawser_error *error)
{
    void *memory;
    HAWSER_TRY(hw_new_array(&memory, count, size, "a copy of the data", error));
    if (count > 0)
        memcpy(memory, from, count * size);
    hw_dataset_own(dataset, memory);
    *out = memory;
    return HAWSER_OK;
}

static hawser_status copy_dense(hawser_dataset *dataset, const hawser_matrix *A, size_t size, hawser_error *error)
{
    unsigned char *values = NULL;
    HAWSER_TRY(hw_new_array((void **)&values, A->rows * A->cols, size, "a copy of the data", error));
    size_t width = hw_line_width(A);
    for (size_t j = 0; j < hw_lines(A); j++)
        memcpy(values + j * width * size, (const unsigned char *)A->values + j * A->stride * size, width * size);
    hw_dataset_own(dataset, values);
    dataset->matrix.values = values;
    dataset->matrix.stride = width;
    dataset->matrix.stored = (uint64_t)A->rows * A->cols;
    return HAWSER_OK;
}

static hawser_status copy_sparse(hawser_dataset *dataset, const hawser_matrix *A, size_t size, hawser_error *error)
{
    size_t lines = hw_lines(A);
    uint64_t first = A->offsets[0], stored = A->offsets[lines] - first;
    uint64_t *offsets = NULL;
    HAWSER_TRY(HW_NEW(&offsets, lines + 1, "a copy of the data", error));
    hw_dataset_own(dataset, offsets);
    for (size_t j = 0; j <= lines; j++)
        offsets[j] = A->offsets[j] - first;
    dataset->matrix.offsets = offsets;
    dataset->matrix.stored = stored;
    const void *indices;
    HAWSER_TRY(copy_bytes(dataset, &indices, A->indices + first, stored, sizeof *A->indices, error));
    dataset->matrix.indices = indices;
    return copy_bytes(dataset, &dataset->matrix.values, (const unsigned char *)A->values + first * size, stored, size,
                      error);
}

static hawser_status fill(hawser_dataset *dataset, const hawser_matrix *A, const double *target, hawser_error *error)
{
    size_t size = hw_type_size(A->type);
    dataset->matrix = (hawser_matrix){.rows = A->rows, .cols = A->cols, .layout = A->layout, .type = A->type};
    if (hw_is_dense(A))
        HAWSER_TRY(copy_dense(dataset, A, size, error));
    else
        HAWSER_TRY(copy_sparse(dataset, A, size, error));
    HAWSER_TRY(hw_dataset_check_numbers(dataset->matrix.values, A->type, dataset->matrix.stored, "value", error));
    if (target != NULL) {
        HAWSER_TRY(hw_dataset_check_numbers(target, HAWSER_F64, A->rows, "target", error));
        const void *copy;
        HAWSER_TRY(copy_bytes(dataset, &copy, target, A->rows, sizeof *target, error));
        dataset->target = copy;
    }
    return HAWSER_OK;
}

hawser_status hawser_dataset_from(const hawser_matrix *matrix, const double *target, hawser_dataset **dataset,
                                  hawser_error *error)
{
    HW_GIVEN(matrix);
    HW_GIVEN(dataset);
    *dataset = NULL;
    HAWSER_TRY(hawser_matrix_whole(matrix, error));
    HAWSER_TRY(hw_dataset_check_matrix(matrix, error));
    hawser_dataset *made = NULL;
    HAWSER_TRY(hw_dataset_new(&made, error));
    hawser_status status = fill(made, matrix, target, error);
    if (status != HAWSER_OK) {
        hawser_dataset_free(made);
        return status;
    }
    made->equals.begun = true;
    *dataset = made;
    return HAWSER_OK;
}
