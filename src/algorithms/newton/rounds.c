#include "algorithms/newton/rounds.h"

#include <string.h>

enum {
    MOST_SMOOTH_MODELS = 30, /* certificates teach nothing without an L1 part */
    SMOOTH_STEPS = 200       /* of conjugate gradients on one of them */
};

hawser_status hw_newton_rounds_begin(hw_newton_block *block, const double *v, const double *alpha, double lambda,
                                     double tolerance, hawser_error *error)
{
    hw_newton_quadratic *own = &block->own;
    size_t n = block->columns.X.rows, count = 0;
    HAWSER_TRY(hw_newton_block_for_rounds(block, error));
    const uint32_t *list = block->linear->choices.settings.solver->members(block->solver, &count);
    HAWSER_TRY(hw_newton_quadratic_take(own, list, count, error));
    for (size_t k = 0; k < count; k++)
        own->terms[k] = hw_linear_term_at(&block->columns, list[k], lambda);
    block->rows.loss->settle(&block->rows, v, tolerance, &block->point);
    HAWSER_TRY(hw_newton_quadratic_at(own, &block->rows, &block->point, NULL, error));
    if (v != block->start)
        memcpy(block->start, v, n * sizeof *v);
    memcpy(block->start_alpha, alpha, block->columns.X.cols * sizeof *alpha);
    return HAWSER_OK;
}

hawser_status hw_newton_rounds_sweep(hw_newton_block *block, const hw_newton_effort *effort, double *alpha, double *v,
                                     hawser_error *error)
{
    hw_newton_quadratic *own = &block->own;
    hw_linear_members *members = &own->members;
    for (size_t k = 0; k < members->count; k++)
        members->x[k] = alpha[members->columns[k]];
    hw_newton_quadratic_residual(own, &block->point, v, block->start, block->residual);
    HAWSER_TRY(hw_newton_quadratic_solve(own, effort, block->residual, error));
    for (size_t k = 0; k < members->count; k++) {
        members->blend[k] = effort->gain * (members->x[k] - alpha[members->columns[k]]);
        alpha[members->columns[k]] = members->x[k];
    }
    if (members->count > 0)
        hawser_combine(&block->columns.X, members->columns, members->blend, members->count, v);
    return HAWSER_OK;
}

hawser_status hw_newton_rounds_line(hw_newton_block *block, const hw_linear_part *part, const double *alpha, double lambda,
                                    double tolerance, double *share, double *fall, hawser_error *error)
{
    double start = block->point.loss, penalties[2] = {0.0, 0.0}; /* at the model's point, and after the whole step */
    for (size_t j = 0; j < block->columns.X.cols; j++) {
        hw_linear_term term = hw_linear_term_at(&block->columns, j, lambda);
        penalties[0] += hw_linear_penalty(block->start_alpha[j], term);
        penalties[1] += hw_linear_penalty(alpha[j], term);
    }
    HAWSER_TRY(hw_linear_sum(part, penalties, 2, error));
    *share = hw_newton_line(&block->rows, block->start, block->move, penalties[0], penalties[1], tolerance, &block->point,
                            block->there);
    hw_newton_quadratic_judge(&block->own, *share);
    *fall = *share > 0.0 ? start - block->point.loss + *share * (penalties[0] - penalties[1]) : 0.0;
    return HAWSER_OK;
}

void hw_newton_rounds_back(hw_newton_block *block, double share, double gain, double damping, double *alpha, double *v)
{
    for (size_t j = 0; j < block->columns.X.cols; j++) {
        double back = (1.0 - share) * (block->start_alpha[j] - alpha[j]) / damping;
        if (back == 0.0)
            continue;
        alpha[j] += back;
        hawser_column_axpy(&block->columns.X, j, gain * back, v);
    }
}

hawser_status hw_newton_rounds_search(hw_newton_block *block, const hw_linear_part *part, const double *v, double *alpha,
                                      double lambda, size_t iterations, hw_linear_stop stop, hawser_error *error)
{
    hw_newton_quadratic *own = &block->own;
    double sum = 0.0;
    hw_newton_quadratic_residual(own, &block->point, v, block->start, block->residual);
    for (size_t i = 0; i < block->rows.count; i++)
        sum += block->residual[i];
    hw_linear_round round = {.columns = &own->columns,
                             .lambda = own->scale * lambda,
                             .residual = block->residual,
                             .sum = sum,
                             .alpha = alpha,
                             .stop = stop,
                             .part = part};
    return hw_linear_search_run(&block->search, &round, own->members.columns, own->members.count, iterations, error);
}

hawser_status hw_newton_rounds_smooth(hw_newton_block *block, const hw_linear_part *part, const double *v, double *alpha,
                                      double lambda, const hw_newton_effort *effort, hawser_error *error)
{
    const hw_linear_search *search = &block->search;
    double exact = 0.01 * effort->tolerance, fall = INFINITY, share = 0.0;
    size_t n = block->rows.count;
    block->search.smooth = true;
    for (int k = 0; k < MOST_SMOOTH_MODELS && fall > effort->tolerance && !hw_linear_stopping(effort->stop); k++) {
        HAWSER_TRY(hw_newton_rounds_begin(block, k == 0 ? v : block->start, alpha, lambda, exact, error));
        HAWSER_TRY(hw_newton_rounds_search(block, part, block->start, alpha, lambda, SMOOTH_STEPS, effort->stop, error));
        for (size_t i = 0; i < n; i++)
            block->move[i] = search->reach * search->sum[i];
        HAWSER_TRY(hw_newton_rounds_line(block, part, alpha, lambda, exact, &share, &fall, error));
        for (size_t j = 0; j < block->columns.X.cols && share < 1.0; j++)
            alpha[j] = block->start_alpha[j] + share * (alpha[j] - block->start_alpha[j]);
        memcpy(block->start, block->there, n * sizeof *block->start);
    }
    return HAWSER_OK;
}
