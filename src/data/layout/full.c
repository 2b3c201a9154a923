#include "data/layout/full.h"

#include <string.h>

#include "base/layout.h"
#include "data/source/budget.h"

/* Lines that are copied before their pages are released. */
enum { RUN = 64 };

bool hw_is_full(const hawser_load *load, hawser_format format, const hawser_matrix *sizes)
{
    const double cells = (double)sizes->rows * (double)sizes->cols, size = (double)hw_type_size(sizes->type);
    return load->full_dense && format == HAWSER_SVMLIGHT && (sizes->layout == HAWSER_CSC || sizes->layout == HAWSER_CSR) &&
           cells > 0.0 && cells * size <= (double)sizes->stored * (size + sizeof(uint32_t));
}

/* Writes a line with its zeros. */
static void put_line(const hawser_matrix *A, size_t line, size_t width, uint32_t shift, void *values)
{
    if (A->type == HAWSER_F32) {
        float *to = (float *)values + line * width;
        memset(to, 0, width * sizeof *to);
        for (uint64_t e = A->offsets[line]; e < A->offsets[line + 1]; e++)
            to[A->indices[e] + shift] = ((const float *)A->values)[e];
    } else {
        double *to = (double *)values + line * width;
        memset(to, 0, width * sizeof *to);
        for (uint64_t e = A->offsets[line]; e < A->offsets[line + 1]; e++)
            to[A->indices[e] + shift] = ((const double *)A->values)[e];
    }
}

static void put_lines(hawser_dataset *dataset, size_t lines, size_t width, uint32_t shift, void *values)
{
    const hawser_matrix *A = &dataset->matrix;
    const size_t size = hw_type_size(A->type);
    for (size_t begin = 0; begin < lines; begin += RUN) {
        const size_t end = lines - begin < RUN ? lines : begin + RUN;
        for (size_t line = begin; line < end; line++)
            put_line(A, line, width, shift, values);
        hw_dataset_release(dataset, A->values, A->offsets[begin] * size, A->offsets[end] * size);
        hw_dataset_release(dataset, A->indices, A->offsets[begin] * sizeof *A->indices,
                           A->offsets[end] * sizeof *A->indices);
    }
}

hawser_status hw_store_densely(hawser_dataset *dataset, size_t cols, uint32_t shift, hawser_error *error)
{
    hawser_matrix *A = &dataset->matrix;
    const bool by_row = A->layout != HAWSER_CSC;
    const size_t lines = by_row ? A->rows : cols, width = by_row ? cols : A->rows;
    void *values = NULL;
    HAWSER_TRY(hw_huge_array(&values, lines * width, hw_type_size(A->type), "a dense matrix", error));
    if (lines > 0 && width > 0)
        put_lines(dataset, lines, width, shift, values);
    hw_dataset_drop_entries(dataset);
    hw_dataset_own(dataset, values);
    A->cols = cols;
    A->stored = (uint64_t)lines * width;
    A->layout = by_row ? HAWSER_DENSE_ROWS : HAWSER_DENSE;
    A->values = values;
    A->stride = width;
    return HAWSER_OK;
}
