#include "algorithms/logistic/newton.h"

#include <string.h>

enum { MOST_STEPS = 50, MOST_HALVINGS = 40 };

static const double FORCING = 0.3; /* the next model is better than what is left of this one */
/* Near the optimum steps bring the gap down although the objective, as far as its digits tell, stays where it is. */
static const double ROUNDING = 4e-15;

double hw_logistic_line(const hw_logistic_rows *rows, const double *v, const double *move, double before, double after,
                        double tolerance, hw_logistic_point *point, double *there)
{
    size_t n = rows->count;
    double start = point->loss + before, slope = after - before, intercept = point->intercept, drift = 0.0, share = 1.0;
    for (size_t i = 0; i < n; i++) {
        slope -= point->pull[i] * move[i] / rows->total;
        drift += point->curve[i] * move[i];
    }
    drift = rows->intercept && point->bend > 0.0 ? (point->sum - drift) / point->bend : 0.0; /* of the best intercept */
    slope -= point->sum * drift / rows->total;
    if (!(slope < ROUNDING * start))
        return 0.0;
    for (int halving = 0; halving < MOST_HALVINGS; halving++, share *= 0.5) {
        for (size_t i = 0; i < n; i++)
            there[i] = v[i] + share * move[i];
        point->intercept = intercept + share * drift;
        hw_logistic_settle(rows, there, tolerance, point);
        if (point->loss + (1.0 - share) * before + share * after <= start + 0.01 * share * slope + ROUNDING * start)
            return share;
    }
    point->intercept = intercept;
    hw_logistic_settle(rows, v, tolerance, point);
    return 0.0;
}

/* Of the members, in the objective's scale. */
static double penalty(const hw_logistic_quadratic *q, const double *x)
{
    double sum = 0.0;
    for (size_t k = 0; k < q->members.count; k++)
        sum += hw_linear_penalty(x[k], q->terms[k]);
    return sum;
}

/* move = X (x - start); returns whether there is any. */
static bool image_of_step(hw_logistic_quadratic *q, double *move)
{
    hw_linear_members *members = &q->members;
    size_t moved = 0;
    uint32_t *list = members->columns;
    memset(move, 0, q->columns.X.rows * sizeof *move);
    for (size_t k = 0; k < members->count; k++) {
        members->blend[k] = members->x[k] - members->start[k];
        moved += members->blend[k] != 0.0;
    }
    if (moved > 0)
        hawser_combine(&q->columns.X, list, members->blend, members->count, move);
    return moved > 0;
}

hawser_status hw_logistic_newton_run(const hw_logistic_newton *newton, hw_logistic_quadratic *q,
                                     const hw_logistic_rows *rows, double *v, hw_logistic_point *point, hw_linear_stop stop,
                                     hawser_error *error)
{
    hw_linear_members *members = &q->members;
    double gap = newton->gap;
    for (int step = 0; step < MOST_STEPS && !hw_linear_stopping(stop); step++) {
        hw_logistic_effort effort = {.gain = 1.0,
                                     .gap = gap,
                                     .tolerance = 0.3 * newton->tolerance,
                                     .forcing = FORCING,
                                     .steps = UINT64_MAX,
                                     .stop = stop};
        hw_logistic_quadratic_at(q, rows, point);
        hw_logistic_quadratic_residual(q, point, v, v, q->residual);
        HAWSER_TRY(hw_logistic_quadratic_solve(q, &effort, q->residual, error));
        if (!image_of_step(q, newton->move))
            return HAWSER_OK;
        double before = penalty(q, members->start), after = penalty(q, members->x), objective = point->loss + before;
        double share =
            hw_logistic_line(rows, v, newton->move, before, after, 0.01 * newton->tolerance, point, newton->there);
        hw_logistic_quadratic_judge(q, share);
        for (size_t k = 0; k < members->count && share < 1.0; k++)
            members->x[k] = members->start[k] + share * members->blend[k];
        if (share == 0.0)
            return HAWSER_OK;
        memcpy(v, newton->there, rows->count * sizeof *v);
        double fall = objective - point->loss - penalty(q, members->x);
        if (share == 1.0 && fall <= newton->tolerance)
            return HAWSER_OK;
        gap = fall < gap ? fall : gap;
    }
    return HAWSER_OK;
}
