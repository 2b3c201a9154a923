#include "algorithms/newton/row_squares.h"

#include "hawser/advanced.h"

/* Adds weight * x^2 for `count` numbers from `first` on, one per column, or for the columns `index`. */
static void add_squares(const hawser_matrix *X, uint64_t first, uint64_t step, size_t count, const uint32_t *index,
                        double weight, double *out)
{
    hawser_simulated_work(NULL, count);
    if (X->type == HAWSER_F64 && step == 1 && index == NULL) {
        const double *restrict x = (const double *)X->values + first;
        for (size_t e = 0; e < count; e++)
            out[e] += weight * x[e] * x[e];
        return;
    }
    for (size_t e = 0; e < count; e++) {
        uint64_t at = first + e * step;
        double x = X->type == HAWSER_F32 ? (double)((const float *)X->values)[at] : ((const double *)X->values)[at];
        out[index != NULL ? index[e] : e] += weight * x * x;
    }
}

void hw_add_row_squares(const hawser_matrix *X, size_t i, double weight, double *out)
{
    if (X->layout == HAWSER_CSR)
        add_squares(X, X->offsets[i], 1, X->offsets[i + 1] - X->offsets[i], X->indices + X->offsets[i], weight, out);
    else if (X->layout == HAWSER_DENSE_ROWS)
        add_squares(X, (uint64_t)i * X->stride, 1, X->cols, NULL, weight, out);
    else
        add_squares(X, i, X->stride, X->cols, NULL, weight, out);
}
