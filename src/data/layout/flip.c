#include "data/layout/flip.h"

#include "base/layout.h"
#include "base/memory.h"

void hw_flip_free(hw_flipped *flipped)
{
    free(flipped->offsets);
    free(flipped->indices);
    free(flipped->values);
    *flipped = (hw_flipped){0};
}

static void place(const hawser_matrix *A, size_t lines, size_t begin, size_t end, hw_flipped *out)
{
    for (size_t j = 0; j < lines; j++)
        for (uint64_t e = A->offsets[j]; e < A->offsets[j + 1]; e++) {
            if (A->indices[e] < begin || A->indices[e] >= end)
                continue;
            uint64_t to = out->offsets[A->indices[e] - begin + 1]++; /* becomes the start of the next line */
            out->indices[to] = (uint32_t)j;
            if (A->type == HAWSER_F32)
                ((float *)out->values)[to] = ((const float *)A->values)[e];
            else
                ((double *)out->values)[to] = ((const double *)A->values)[e];
        }
}

static hawser_status flip(const hawser_matrix *A, size_t begin, size_t end, hw_flipped *out, hawser_error *error)
{
    size_t lines = A->layout == HAWSER_CSC ? A->cols : A->rows, count = end - begin;
    HAWSER_TRY(HW_NEW(&out->offsets, count + 2, "the other layout of the data", error));
    for (uint64_t e = A->offsets[0]; e < A->offsets[lines]; e++)
        if (A->indices[e] >= begin && A->indices[e] < end)
            out->offsets[A->indices[e] - begin + 2]++;
    for (size_t i = 2; i <= count + 1; i++)
        out->offsets[i] += out->offsets[i - 1];
    uint64_t stored = out->offsets[count + 1];
    size_t size = hw_type_size(A->type);
    HAWSER_TRY(HW_NEW(&out->indices, stored, "the other layout of the data", error));
    HAWSER_TRY(hw_new_array(&out->values, stored, size, "the other layout of the data", error));
    place(A, lines, begin, end, out);
    out->matrix = (hawser_matrix){.rows = A->layout == HAWSER_CSC ? count : A->rows,
                                  .cols = A->layout == HAWSER_CSC ? A->cols : count,
                                  .stored = stored,
                                  .layout = A->layout == HAWSER_CSC ? HAWSER_CSR : HAWSER_CSC,
                                  .type = A->type,
                                  .offsets = out->offsets,
                                  .indices = out->indices,
                                  .values = out->values};
    return HAWSER_OK;
}

hawser_status hw_flip(const hawser_matrix *A, size_t begin, size_t end, hw_flipped *out, hawser_error *error)
{
    *out = (hw_flipped){0};
    hawser_status status = flip(A, begin, end, out, error);
    if (status != HAWSER_OK)
        hw_flip_free(out);
    return status;
}

/* Copies entry k of line j to entry j of line k, in squares that stay in the first-level cache. */
static void turn(const hawser_matrix *A, void *out)
{
    enum { SIDE = 32 };
    size_t lines = hw_lines(A), width = hw_line_width(A);
    for (size_t first = 0; first < lines; first += SIDE)
        for (size_t begin = 0; begin < width; begin += SIDE)
            for (size_t j = first; j < lines && j < first + SIDE; j++)
                for (size_t k = begin; k < width && k < begin + SIDE; k++)
                    if (A->type == HAWSER_F32)
                        ((float *)out)[k * lines + j] = ((const float *)A->values)[(uint64_t)j * A->stride + k];
                    else
                        ((double *)out)[k * lines + j] = ((const double *)A->values)[(uint64_t)j * A->stride + k];
}

hawser_status hw_flip_dense(const hawser_matrix *A, hw_flipped *out, hawser_error *error)
{
    *out = (hw_flipped){0};
    HAWSER_TRY(hw_new_array(&out->values, A->rows * A->cols, hw_type_size(A->type), "the other layout of the data", error));
    turn(A, out->values);
    out->matrix = *A;
    out->matrix.layout = A->layout == HAWSER_DENSE ? HAWSER_DENSE_ROWS : HAWSER_DENSE;
    out->matrix.values = out->values;
    out->matrix.mapped = false;
    out->matrix.stride = hw_lines(A);
    return HAWSER_OK;
}
