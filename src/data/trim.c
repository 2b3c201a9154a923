#include "data/trim.h"

#include <string.h>

#include "base/type.h"
#include "data/formats.h"

/* Returns the number of columns up to the last one that has an entry in a row with weight; at least 1. */
static size_t columns_by_column(const hawser_matrix *A, const double *weights)
{
    for (size_t j = A->cols; j > 1; j--)
        for (uint64_t e = A->offsets[j - 1]; e < A->offsets[j]; e++)
            if (weights[A->indices[e]] > 0)
                return j;
    return 1;
}

static size_t columns_by_row(const hawser_matrix *A, const double *weights)
{
    size_t count = 1;
    for (size_t i = 0; i < A->rows; i++)
        for (uint64_t e = A->offsets[i]; weights[i] > 0 && e < A->offsets[i + 1]; e++)
            count = A->indices[e] >= count ? (size_t)A->indices[e] + 1 : count;
    return count;
}

static void trim_rows(hawser_matrix *A, size_t columns)
{
    uint64_t *offsets = (uint64_t *)(uintptr_t)A->offsets, to = offsets[0], begin = to;
    uint32_t *indices = (uint32_t *)(uintptr_t)A->indices;
    char *values = (char *)(uintptr_t)A->values;
    size_t size = hw_type_size(A->type);
    for (size_t i = 0; i < A->rows; i++) {
        for (uint64_t e = begin; e < offsets[i + 1]; e++) {
            if (indices[e] >= columns)
                continue;
            indices[to] = indices[e];
            memmove(values + to * size, values + e * size, size);
            to++;
        }
        begin = offsets[i + 1];
        offsets[i + 1] = to;
    }
    A->stored = to;
}

bool hw_trims_columns(const hawser_load *load, hawser_format format)
{
    return load->columns == 0 && load->weights != NULL && hw_format_is(format, HW_FORMAT_NUMBERED);
}

void hw_trim_to(hawser_dataset *dataset, size_t columns)
{
    hawser_matrix *A = &dataset->matrix;
    if (columns >= A->cols || A->rows == 0)
        return;
    if (A->layout == HAWSER_CSR)
        trim_rows(A, columns);
    else
        A->stored = A->offsets[columns];
    A->cols = columns;
}

void hw_trim_columns(hawser_dataset *dataset, const double *weights)
{
    const hawser_matrix *A = &dataset->matrix;
    bool sparse = A->layout == HAWSER_CSC || A->layout == HAWSER_CSR;
    if (weights != NULL && A->rows > 0 && sparse)
        hw_trim_to(dataset, A->layout == HAWSER_CSC ? columns_by_column(A, weights) : columns_by_row(A, weights));
}
