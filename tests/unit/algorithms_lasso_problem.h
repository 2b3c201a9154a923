/* algorithms_lasso_problem.h - small problems for tests of the lasso's parts, and a slow coordinate descent that solves
 * them. For test files that begin with cmocka's includes. */
#ifndef HW_TESTS_UNIT_ALGORITHMS_LASSO_PROBLEM_H
#define HW_TESTS_UNIT_ALGORITHMS_LASSO_PROBLEM_H

#include <stdlib.h>
#include <string.h>

#include "algorithms/lasso/block.h"
#include "algorithms/lasso/joint.h"

enum { MOST_BLOCKS = 8 };

typedef struct problem {
    size_t n, p;
    double *dense; /* column-major */
    uint64_t *offsets;
    uint32_t *indices;
    double *values;
    hawser_matrix matrix;
    hw_linear lasso;
    double lambda;
} problem;

static inline uint64_t next(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline double uniform(uint64_t *state)
{
    return (double)(next(state) >> 11) * 0x1p-53 * 2.0 - 1.0;
}

static inline uint64_t draw(void *source, uint64_t below)
{
    return next(source) % below;
}

/* correlation in [0, 1): how much of a column is a factor that all share; density 1: dense. */
static inline void make(problem *q, size_t n, size_t p, double correlation, double density, uint64_t seed)
{
    memset(q, 0, sizeof *q);
    q->n = n, q->p = p;
    q->dense = calloc(n * p, sizeof(double));
    q->offsets = calloc(p + 1, sizeof *q->offsets);
    q->indices = calloc(n * p, sizeof *q->indices);
    q->values = calloc(n * p, sizeof *q->values);
    q->lasso.problem.target = calloc(n, sizeof(double));
    q->lasso.problem.alpha = calloc(p, sizeof(double));
    for (size_t i = 0; i < n; i++) {
        double common = uniform(&seed), y = 0.3 * uniform(&seed) + 1.0;
        for (size_t j = 0; j < p; j++) {
            bool stored = 0.5 * (uniform(&seed) + 1.0) < density;
            double x = correlation * common + (1.0 - correlation) * uniform(&seed) + 0.2 * (double)(j % 3);
            q->dense[j * n + i] = stored ? x * (1.0 + (double)(j % 5)) : 0.0;
            y += j % 7 == 0 ? q->dense[j * n + i] * (j % 2 ? -1.0 : 1.0) : 0.0;
        }
        q->lasso.problem.target[i] = y;
    }
    uint64_t at = 0;
    for (size_t j = 0; j < p; j++) {
        for (size_t i = 0; i < n; i++)
            if (q->dense[j * n + i] != 0.0) {
                q->indices[at] = (uint32_t)i;
                q->values[at++] = q->dense[j * n + i];
            }
        q->offsets[j + 1] = at;
    }
    q->matrix =
        (hawser_matrix){.rows = n, .cols = p, .layout = HAWSER_DENSE, .values = q->dense, .stride = n, .stored = n * p};
    if (density < 1.0)
        q->matrix = (hawser_matrix){.rows = n,
                                    .cols = p,
                                    .layout = HAWSER_CSC,
                                    .offsets = q->offsets,
                                    .indices = q->indices,
                                    .values = q->values,
                                    .stored = at};
    q->lasso.problem.X = &q->matrix;
    q->lasso.choices.settings =
        (hw_linear_settings){.l1_ratio = 1.0, .tolerance = 1e-9, .intercept = true, .solver = hw_linear_working_set()};
}

static inline void drop(problem *q)
{
    void *all[] = {q->dense,
                   q->offsets,
                   q->indices,
                   q->values,
                   q->lasso.problem.target,
                   q->lasso.problem.alpha,
                   q->lasso.problem.factor,
                   q->lasso.problem.lower,
                   q->lasso.problem.upper,
                   (void *)(uintptr_t)q->lasso.problem.weights,
                   q->lasso.problem.free_columns,
                   q->lasso.problem.free_side,
                   q->lasso.problem.free_list};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
}

/* ---- the reference ---- */

static inline double row_weight(const problem *q, size_t i)
{
    return q->lasso.problem.weights != NULL ? q->lasso.problem.weights[i] : 1.0;
}

/* Weighted, centred column (or target) into out; returns the deviation about the mean. */
static inline double centred(const problem *q, const double *column, double *out)
{
    double total = 0.0, mean = 0.0, variance = 0.0;
    for (size_t i = 0; i < q->n; i++) {
        total += row_weight(q, i);
        mean += row_weight(q, i) * column[i];
    }
    mean /= total;
    for (size_t i = 0; i < q->n; i++) {
        variance += row_weight(q, i) * (column[i] - mean) * (column[i] - mean) / total;
        out[i] = column[i] - (q->lasso.choices.settings.intercept ? mean : 0.0);
    }
    return sqrt(variance);
}

static inline double reference_objective(const problem *q, const double *alpha)
{
    const hw_linear_settings *s = &q->lasso.choices.settings;
    double *residual = malloc(q->n * sizeof(double)), *column = malloc(q->n * sizeof(double)), total = 0.0, loss = 0.0,
           penalty = 0.0;
    centred(q, q->lasso.problem.target, residual);
    for (size_t j = 0; j < q->p; j++) {
        double deviation = centred(q, q->dense + j * q->n, column), scale = s->standardize ? deviation : 1.0;
        double factor = q->lasso.problem.factor != NULL ? q->lasso.problem.factor[j] : 1.0, t = alpha[j] * scale;
        for (size_t i = 0; i < q->n; i++)
            residual[i] -= column[i] * alpha[j];
        penalty += q->lambda * factor * (s->l1_ratio * fabs(t) + 0.5 * (1.0 - s->l1_ratio) * t * t);
    }
    for (size_t i = 0; i < q->n; i++) {
        total += row_weight(q, i);
        loss += row_weight(q, i) * residual[i] * residual[i];
    }
    free(residual);
    free(column);
    return 0.5 * loss / total + penalty;
}

/* Cyclic descent on the centred copy until no coordinate moves by more than 1e-15 of what moves at all. */
static inline double reference(const problem *q, double *alpha)
{
    const hw_linear_settings *s = &q->lasso.choices.settings;
    double *X = malloc(q->n * q->p * sizeof(double)), *r = malloc(q->n * sizeof(double)),
           *deviation = malloc(q->p * sizeof(double));
    double total = 0.0, most = 1.0, biggest = 0.0;
    for (size_t i = 0; i < q->n; i++)
        total += row_weight(q, i);
    for (size_t j = 0; j < q->p; j++)
        deviation[j] = centred(q, q->dense + j * q->n, X + j * q->n);
    centred(q, q->lasso.problem.target, r);
    memset(alpha, 0, q->p * sizeof(double));
    for (int epoch = 0; epoch < 200000 && most > 1e-14 * biggest; epoch++) {
        most = 0.0;
        for (size_t j = 0; j < q->p; j++) {
            const double *x = X + j * q->n;
            double dot = 0.0, norm = 0.0, scale = s->standardize ? deviation[j] : 1.0;
            double factor = q->lambda * (q->lasso.problem.factor != NULL ? q->lasso.problem.factor[j] : 1.0);
            for (size_t i = 0; i < q->n; i++) {
                dot += row_weight(q, i) * x[i] * r[i] / total;
                norm += row_weight(q, i) * x[i] * x[i] / total;
            }
            double z = dot + norm * alpha[j], edge = factor * s->l1_ratio * scale;
            double t = z > edge ? z - edge : z < -edge ? z + edge : 0.0;
            t /= norm + factor * (1.0 - s->l1_ratio) * scale * scale;
            if (q->lasso.problem.lower != NULL && t < q->lasso.problem.lower[j])
                t = q->lasso.problem.lower[j];
            if (q->lasso.problem.upper != NULL && t > q->lasso.problem.upper[j])
                t = q->lasso.problem.upper[j];
            double step = t - alpha[j];
            for (size_t i = 0; step != 0.0 && i < q->n; i++)
                r[i] -= step * x[i];
            alpha[j] = t;
            most = fmax(most, fabs(step));
            biggest = fmax(biggest, fabs(t));
        }
    }
    free(X);
    free(r);
    free(deviation);
    return reference_objective(q, alpha);
}

/* A fraction of the lambda at which everything is zero. */
static inline void at_fraction(problem *q, double fraction)
{
    hw_lasso_block block = {0};
    assert_int_equal(hw_lasso_block_prepare(&block, &q->lasso, &q->matrix, 0, NULL), HAWSER_OK);
    double most = 0.0;
    assert_int_equal(hw_lasso_block_lambda_max(&block, &most, NULL), HAWSER_OK);
    q->lambda = fraction * most;
    hw_lasso_block_release(&block);
}

/* A stop at the look whose number is there; 0: at each. */
static inline bool asked_at_last(void *source)
{
    size_t *looks = source;
    return *looks == 0 || --*looks == 0;
}

#endif
