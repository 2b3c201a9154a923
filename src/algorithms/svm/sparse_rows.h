/* sparse_rows.h - a row's product with a model, and its sum with one, in a loop over the stored numbers where rows are
 * sparse, and its product where they are short: a row has few, so a call of a kernel, which sums in many lanes, would take
 * as long as its terms. */
#ifndef HW_ALGORITHMS_SVM_SPARSE_ROWS_H
#define HW_ALGORITHMS_SVM_SPARSE_ROWS_H

#include "hawser/row_kernels.h"

/* Defines them for numbers of a type. The product has two sums, of every other term. */
#define HW_SVM_SPARSE_ROWS(type, name)                                                                                      \
    static inline double hw_svm_dot_##name(const hawser_matrix *X, size_t i, const double *x)                               \
    {                                                                                                                       \
        const type *values = X->values;                                                                                     \
        double even = 0.0, odd = 0.0;                                                                                       \
        uint64_t e = X->offsets[i], end = X->offsets[i + 1];                                                                \
        for (; e + 1 < end; e += 2) {                                                                                       \
            even += (double)values[e] * x[X->indices[e]];                                                                   \
            odd += (double)values[e + 1] * x[X->indices[e + 1]];                                                            \
        }                                                                                                                   \
        return e < end ? even + (double)values[e] * x[X->indices[e]] + odd : even + odd;                                    \
    }                                                                                                                       \
    static inline double hw_svm_short_##name(const hawser_matrix *X, size_t i, const double *x)                             \
    {                                                                                                                       \
        const type *values = (const type *)X->values + i * X->stride;                                                       \
        double even = 0.0, odd = 0.0;                                                                                       \
        size_t j = 0;                                                                                                       \
        for (; j + 1 < X->cols; j += 2) {                                                                                   \
            even += (double)values[j] * x[j];                                                                               \
            odd += (double)values[j + 1] * x[j + 1];                                                                        \
        }                                                                                                                   \
        return j < X->cols ? even + (double)values[j] * x[j] + odd : even + odd;                                            \
    }                                                                                                                       \
    static inline void hw_svm_add_##name(const hawser_matrix *X, size_t i, double step, double *restrict x)                 \
    {                                                                                                                       \
        const type *values = X->values;                                                                                     \
        for (uint64_t e = X->offsets[i]; e < X->offsets[i + 1]; e++)                                                        \
            x[X->indices[e]] += (double)values[e] * step;                                                                   \
    }                                                                                                                       \
    static inline void hw_svm_add_side_##name(const hawser_matrix *X, size_t i, double step, double *restrict x)            \
    {                                                                                                                       \
        const type *values = X->values;                                                                                     \
        for (uint64_t e = X->offsets[i]; e < X->offsets[i + 1]; e++)                                                        \
            x[2 * (size_t)X->indices[e]] += (double)values[e] * step;                                                       \
    }
HW_SVM_SPARSE_ROWS(double, f64)
HW_SVM_SPARSE_ROWS(float, f32)

/* Returns the stored numbers of a row that these loops go over, for hawser_simulated_work; kernels count their own. */
static inline uint64_t hw_svm_row_entries(const hawser_matrix *X, size_t i)
{
    return X->layout == HAWSER_CSR ? X->offsets[i + 1] - X->offsets[i] : 0;
}

/* Returns the product of row `i` with x. */
static inline double hw_svm_row_dot(const hawser_matrix *X, size_t i, const double *x)
{
    if (X->layout != HAWSER_CSR)
        return hawser_row_dot(X, i, x);
    return X->type == HAWSER_F32 ? hw_svm_dot_f32(X, i, x) : hw_svm_dot_f64(X, i, x);
}

/* Returns the product of row `i` of dense rows, of few numbers, with x. */
static inline double hw_svm_row_short_dot(const hawser_matrix *X, size_t i, const double *x)
{
    return X->type == HAWSER_F32 ? hw_svm_short_f32(X, i, x) : hw_svm_short_f64(X, i, x);
}

/* Adds `step` times row `i` to x. */
static inline void hw_svm_row_add(const hawser_matrix *X, size_t i, double step, double *x)
{
    if (X->layout != HAWSER_CSR)
        hawser_row_axpy(X, i, step, x);
    else if (X->type == HAWSER_F32)
        hw_svm_add_f32(X, i, step, x);
    else
        hw_svm_add_f64(X, i, step, x);
}

/* Adds `step` times a sparse row to every other number of x. */
static inline void hw_svm_row_add_side(const hawser_matrix *X, size_t i, double step, double *x)
{
    X->type == HAWSER_F32 ? hw_svm_add_side_f32(X, i, step, x) : hw_svm_add_side_f64(X, i, step, x);
}

#endif
