/* hessian.c - the matrix is a lower triangle, row after row; its last row is that of the intercept. */
#include "algorithms/svm/hessian.h"

#include <string.h>

#include "algorithms/model/numbers.h"
#include "hawser/advanced.h"

/* A row's share of the matrix costs about as much as this many products with the row for each of its numbers. */
static const double products_per_number = 0.25;

bool hw_svm_hessian_pays(const hw_svm_block *b)
{
    const hw_svm *svm = b->svm;
    return b->primal.hessian != NULL &&
           (double)b->memory[0].products * (double)svm->path.X->rows > products_per_number * (double)svm->path.X->stored;
}

/* Copies the stored numbers of a row. Returns how many there are. */
static size_t copy_row(const hawser_matrix *X, size_t i, double *out)
{
    bool sparse = X->layout == HAWSER_CSR, rows = X->layout == HAWSER_DENSE_ROWS;
    uint64_t first = sparse ? X->offsets[i] : rows ? (uint64_t)i * X->stride : i, step = sparse || rows ? 1 : X->stride;
    size_t count = sparse ? X->offsets[i + 1] - first : X->cols;
    for (size_t e = 0; e < count; e++)
        out[e] = hw_number_at(X, first + e * step);
    return count;
}

/* Adds bend x x^T, for x with these numbers in the columns `index` (NULL: all). Columns ascend, so the triangle has them. */
static void add_row(double *triangle, size_t cols, const double *x, const uint32_t *index, size_t count, double bend)
{
    double *last = triangle + cols * (cols + 1) / 2;
    hawser_simulated_work(NULL, count * (count + 1) / 2);
    for (size_t e = 0; e < count; e++) {
        size_t column = index != NULL ? index[e] : e;
        double *row = triangle + column * (column + 1) / 2, factor = bend * x[e];
        last[column] += factor;
        if (index != NULL)
            for (size_t c = 0; c <= e; c++)
                row[index[c]] += factor * x[c];
        else
            for (size_t c = 0; c <= e; c++)
                row[c] += factor * x[c];
    }
    last[cols] += bend;
}

void hw_svm_hessian_make(hw_svm_block *b)
{
    hw_svm_primal *q = &b->primal;
    memset(q->hessian, 0, hw_svm_hessian_size(b->width) * sizeof *q->hessian);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);)
        for (size_t i = 0; i < t.count; i++)
            if (q->bends[t.begin + i] != 0.0) {
                size_t count = copy_row(&t.X, i, q->packed);
                const uint32_t *index = t.X.layout == HAWSER_CSR ? t.X.indices + t.X.offsets[i] : NULL;
                add_row(q->hessian, t.X.cols, q->packed, index, count, q->bends[t.begin + i]);
            }
}

void hw_svm_hessian_product(hw_svm_block *b)
{
    const double *in = b->primal.direction, *row = b->primal.hessian;
    double *out = b->primal.reduced;
    hawser_simulated_work(NULL, (uint64_t)b->width * b->width);
    for (size_t a = 0; a < b->width; row += ++a) {
        double sum = row[a] * in[a];
        for (size_t c = 0; c < a; c++) {
            sum += row[c] * in[c];
            out[c] += row[c] * in[a];
        }
        out[a] = sum;
    }
}
