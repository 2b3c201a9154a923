#include "algorithms/logistic/rounds.h"

#include <string.h>

hawser_status hw_logistic_rounds_begin(hw_logistic_block *block, const double *v, const double *alpha, double lambda,
                                       double tolerance, hawser_error *error)
{
    hw_logistic_quadratic *own = &block->own;
    size_t n = block->columns.X.rows, count = 0;
    HAWSER_TRY(hw_logistic_block_for_rounds(block, error));
    const uint32_t *list = block->linear->settings.solver->members(block->solver, &count);
    HAWSER_TRY(hw_logistic_quadratic_take(own, list, count, error));
    for (size_t k = 0; k < count; k++)
        own->terms[k] = hw_linear_term_at(&block->columns, list[k], lambda);
    hw_logistic_settle(&block->rows, v, tolerance, &block->point);
    HAWSER_TRY(hw_logistic_quadratic_at(own, &block->rows, &block->point, NULL, error));
    memcpy(block->start, v, n * sizeof *v);
    memcpy(block->start_alpha, alpha, block->columns.X.cols * sizeof *alpha);
    return HAWSER_OK;
}

hawser_status hw_logistic_rounds_sweep(hw_logistic_block *block, const hw_logistic_effort *effort, double *alpha, double *v,
                                       hawser_error *error)
{
    hw_logistic_quadratic *own = &block->own;
    hw_linear_members *members = &own->members;
    for (size_t k = 0; k < members->count; k++)
        members->x[k] = alpha[members->columns[k]];
    hw_logistic_quadratic_residual(own, &block->point, v, block->start, block->residual);
    HAWSER_TRY(hw_logistic_quadratic_solve(own, effort, block->residual, error));
    for (size_t k = 0; k < members->count; k++) {
        members->blend[k] = effort->gain * (members->x[k] - alpha[members->columns[k]]);
        alpha[members->columns[k]] = members->x[k];
    }
    if (members->count > 0)
        hawser_combine(&block->columns.X, members->columns, members->blend, members->count, v);
    return HAWSER_OK;
}

void hw_logistic_rounds_penalties(const hw_logistic_block *block, const double *alpha, double lambda, double *before,
                                  double *after)
{
    *before = *after = 0.0;
    for (size_t j = 0; j < block->columns.X.cols; j++) {
        hw_linear_term term = hw_linear_term_at(&block->columns, j, lambda);
        *before += hw_linear_penalty(block->start_alpha[j], term);
        *after += hw_linear_penalty(alpha[j], term);
    }
}

double hw_logistic_rounds_share(hw_logistic_block *block, const double *v, double before, double after, double tolerance,
                                double *fall)
{
    size_t n = block->columns.X.rows;
    double start = block->point.loss + before;
    for (size_t i = 0; i < n; i++)
        block->move[i] = v[i] - block->start[i];
    double share =
        hw_logistic_line(&block->rows, block->start, block->move, before, after, tolerance, &block->point, block->there);
    hw_logistic_quadratic_judge(&block->own, share);
    *fall = share > 0.0 ? start - block->point.loss - (1.0 - share) * before - share * after : 0.0;
    return share;
}

void hw_logistic_rounds_back(hw_logistic_block *block, double share, double gain, double damping, double *alpha, double *v)
{
    for (size_t j = 0; j < block->columns.X.cols; j++) {
        double back = (1.0 - share) * (block->start_alpha[j] - alpha[j]) / damping;
        if (back == 0.0)
            continue;
        alpha[j] += back;
        hawser_column_axpy(&block->columns.X, j, gain * back, v);
    }
}
