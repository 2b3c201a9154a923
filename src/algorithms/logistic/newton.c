#include "algorithms/logistic/newton.h"

#include <string.h>

#include "algorithms/logistic/inexact.h"

enum { MOST_STEPS = 50, MOST_HALVINGS = 40 };

static const double SHARPER = 0.25; /* how much less of the violations a model may leave after one that took one pass */
static const double LITTLE =
    1e-3; /* of the tolerance: passes may make the objective fall by little though far from its optimum */
static const double ENOUGH = 0.1; /* of the violations: the other columns matter more now */
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
    return hw_linear_penalties(q->terms, x, q->members.count);
}

/* move = X (x - origin), and members.blend the step itself; returns whether there is any. */
static bool image_of_step(hw_logistic_quadratic *q, double *move)
{
    hw_linear_members *members = &q->members;
    size_t moved = 0;
    memset(move, 0, q->columns.X.rows * sizeof *move);
    for (size_t k = 0; k < members->count; k++) {
        members->blend[k] = members->x[k] - q->origin[k];
        moved += members->blend[k] != 0.0;
    }
    if (moved > 0)
        hawser_combine(&q->columns.X, members->columns, members->blend, members->count, move);
    return moved > 0;
}

/* How exact the models of one run are. */
typedef struct effort {
    double begun;  /* violations of the first model */
    double share;  /* of these, which the next model may leave */
    double gap;    /* how far the objective may be from its optimum */
    double little; /* of the tolerance: no fall that is worth a further model */
    double first;  /* violations of this model */
    bool passed;   /* members.gradient is of this model's last pass */
    bool single;   /* which was its only one */
} effort;

/* One pass does while violations fall quickly from model to model; then models are solved better and better. */
static hawser_status solve(const hw_logistic_newton *newton, hw_logistic_quadratic *q, effort *e, hw_linear_stop stop,
                           hawser_error *error)
{
    hw_logistic_inexact inexact = {.target = e->begun > 0.0 ? e->share * e->begun : INFINITY,
                                   .reference = e->begun,
                                   .hasty = q->use_gram,
                                   .stop = stop};
    HAWSER_TRY(hw_logistic_inexact_run(&inexact, q, q->residual, error));
    e->first = inexact.first;
    e->begun = e->begun > 0.0 ? e->begun : inexact.first;
    e->passed = inexact.passes > 0 && inexact.solved;
    e->single = inexact.passes == 1 && inexact.solved;
    e->share *= e->single ? SHARPER : 1.0;
    if (inexact.solved)
        return HAWSER_OK;
    hw_logistic_effort exact = {
        .gain = 1.0, .gap = e->gap, .tolerance = 0.3 * newton->tolerance, .steps = UINT64_MAX, .stop = stop};
    return hw_logistic_quadratic_solve(q, &exact, q->residual, error);
}

hawser_status hw_logistic_newton_run(const hw_logistic_newton *newton, hw_logistic_quadratic *q,
                                     const hw_logistic_rows *rows, double *v, hw_logistic_point *point, hw_linear_stop stop,
                                     hawser_error *error)
{
    hw_linear_members *members = &q->members;
    effort e = {.share = 1.0, .gap = newton->gap, .little = hw_logistic_smooth(q) ? 1.0 : LITTLE};
    for (int step = 0; step < MOST_STEPS && members->count > 0 && !hw_linear_stopping(stop); step++) {
        hw_logistic_quadratic_at(q, rows, point);
        hw_logistic_quadratic_residual(q, point, v, v, q->residual);
        memcpy(q->origin, members->x, members->count * sizeof *q->origin);
        HAWSER_TRY(solve(newton, q, &e, stop, error));
        if (!image_of_step(q, newton->move))
            return HAWSER_OK;
        double before = penalty(q, q->origin), after = penalty(q, members->x), objective = point->loss + before;
        double share =
            hw_logistic_line(rows, v, newton->move, before, after, 0.01 * newton->tolerance, point, newton->there);
        hw_logistic_quadratic_judge(q, share);
        for (size_t k = 0; k < members->count && share < 1.0; k++)
            members->x[k] = q->origin[k] + share * members->blend[k];
        if (share == 0.0)
            return HAWSER_OK;
        memcpy(v, newton->there, rows->count * sizeof *v);
        double fall = objective - point->loss - penalty(q, members->x);
        if (share == 1.0 && (e.first <= ENOUGH * e.begun || (fall <= e.little * newton->tolerance && !e.single)))
            return HAWSER_OK;
        e.gap = fall < e.gap ? fall : e.gap;
        if (e.passed && share == 1.0)
            hw_logistic_quadratic_leave(q);
    }
    return HAWSER_OK;
}
