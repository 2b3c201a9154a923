#include "algorithms/newton/run.h"

#include <string.h>

#include "algorithms/newton/inexact.h"

enum { MOST_STEPS = 50, MOST_HALVINGS = 40 };

static const double SHARPER = 0.25; /* how much less of the violations a model may leave after one that took one pass */
static const double LITTLE =
    1e-3; /* of the tolerance: passes may make the objective fall by little though far from its optimum */
static const double ENOUGH = 0.1; /* of the violations: the other columns matter more now */
/* Near the optimum steps lower the gap although the objective does not change within its digits. */
static const double ROUNDING = 4e-15;

double hw_newton_line(const hw_newton_rows *rows, const double *v, const double *move, double before, double after,
                      double tolerance, hw_newton_point *point, double *there)
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
        rows->loss->settle(rows, there, tolerance, point);
        if (point->loss + (1.0 - share) * before + share * after <= start + 0.01 * share * slope + ROUNDING * start)
            return share;
    }
    point->intercept = intercept;
    rows->loss->settle(rows, v, tolerance, point);
    return 0.0;
}

/* Returns the members' penalty at x, in the objective's scale. */
static double penalty(const hw_newton_quadratic *q, const double *x)
{
    return hw_linear_penalties(q->terms, x, q->members.count);
}

/* Computes move = X (x - origin), and the step itself in members.blend. Returns false if the step is zero. If the model's
 * residual was updated with x, the image follows from it, exactly enough for pulls; rows without curvature are then left
 * out. */
static bool image_of_step(hw_newton_quadratic *q, const hw_newton_point *point, bool followed, double *move)
{
    const hw_linear_columns *columns = &q->columns;
    hw_linear_members *members = &q->members;
    size_t moved = 0;
    double mean = 0.0, drift = columns->centred ? point->sum / columns->total : 0.0;
    for (size_t k = 0; k < members->count; k++) {
        members->blend[k] = members->x[k] - q->origin[k];
        mean += members->blend[k] * columns->mean[members->columns[k]];
        moved += members->blend[k] != 0.0;
    }
    if (moved == 0)
        return false;
    memset(move, 0, columns->X.rows * sizeof *move);
    if (!followed)
        hawser_combine(&columns->X, members->columns, members->blend, members->count, move);
    for (size_t i = 0; followed && i < columns->X.rows; i++)
        if (q->curve[i] > 0.0)
            move[i] = (point->pull[i] - q->residual[i]) / q->curve[i] - drift + mean;
    return true;
}

/* How exact the models of one run are. */
typedef struct effort {
    double begun;  /* violations of the first model */
    double share;  /* of these, which the next model may leave */
    double gap;    /* how far the objective may be from its optimum */
    double little; /* of the tolerance: no fall that is worth a further model */
    double first;  /* violations of this model */
    bool passed;   /* members.gradient is of this model's last pass */
    bool single;   /* that pass was its only one */
    bool followed; /* the model's residual has moved along with its solution */
} effort;

size_t hw_newton_sums(size_t most, size_t rows)
{
    return 2 * most > rows ? 2 * most : rows;
}

/* The state of one solution. */
typedef struct newton_run {
    const hw_newton *newton;
    hw_newton_quadratic *q;
    const hw_newton_rows *rows;
    double *v;
    hw_newton_point *point;
    effort effort;
} newton_run;

/* Makes the model at the point. */
static hawser_status make_model(newton_run *r, hawser_error *error)
{
    hw_newton_quadratic *q = r->q;
    HAWSER_TRY(hw_newton_quadratic_at(q, r->rows, r->point, r->newton->part, error));
    hw_newton_quadratic_residual(q, r->point, r->v, r->v, q->residual);
    memcpy(q->origin, q->members.x, q->members.count * sizeof *q->origin);
    return HAWSER_OK;
}

/* One pass suffices while violations fall quickly from model to model; then models are solved better and better. What is
 * left unsolved is solved on the Gram matrix. */
static hawser_status solve_model(newton_run *r, hawser_error *error)
{
    const hw_newton *newton = r->newton;
    hw_newton_quadratic *q = r->q;
    effort *e = &r->effort;
    hw_newton_inexact inexact = {.target = e->begun > 0.0 ? e->share * e->begun : INFINITY,
                                 .reference = e->begun,
                                 .idle = ENOUGH * e->begun,
                                 .missing = newton->gap > 0.0 ? newton->tolerance / newton->gap : 0.0,
                                 .hasty = q->use_gram,
                                 .stop = newton->stop};
    HAWSER_TRY(hw_newton_inexact_run(&inexact, q, newton->part, q->residual, error));
    e->first = inexact.first;
    e->begun = e->begun > 0.0 ? e->begun : inexact.first;
    e->passed = inexact.passes > 0 && inexact.solved;
    e->single = inexact.passes == 1 && inexact.solved;
    e->followed = inexact.solved && !hw_newton_smooth(q);
    e->share *= e->single ? SHARPER : 1.0;
    if (inexact.solved)
        return HAWSER_OK;
    hw_newton_effort exact = {
        .gain = 1.0, .gap = e->gap, .tolerance = 0.3 * newton->tolerance, .steps = UINT64_MAX, .stop = newton->stop};
    return hw_newton_quadratic_solve(q, &exact, q->residual, error);
}

/* Searches along the step to the model's solution. Returns whether another model is worth its cost. */
static bool advance(newton_run *r)
{
    const hw_newton *newton = r->newton;
    hw_newton_quadratic *q = r->q;
    hw_linear_members *members = &q->members;
    effort *e = &r->effort;
    if (!image_of_step(q, r->point, e->followed, newton->move))
        return false;
    double before = penalty(q, q->origin), after = penalty(q, members->x), objective = r->point->loss + before;
    double share =
        hw_newton_line(r->rows, r->v, newton->move, before, after, 0.01 * newton->tolerance, r->point, newton->there);
    hw_newton_quadratic_judge(q, share);
    for (size_t k = 0; k < members->count && share < 1.0; k++)
        members->x[k] = q->origin[k] + share * members->blend[k];
    if (share == 0.0)
        return false;
    memcpy(r->v, newton->there, r->rows->count * sizeof *r->v);
    double fall = objective - r->point->loss - penalty(q, members->x);
    if (share == 1.0 && (e->first <= ENOUGH * e->begun || (fall <= e->little * newton->tolerance && !e->single)))
        return false;
    e->gap = fall < e->gap ? fall : e->gap;
    if (e->passed && share == 1.0)
        hw_newton_quadratic_leave(q);
    return true;
}

hawser_status hw_newton_run(const hw_newton *newton, hw_newton_quadratic *q, const hw_newton_rows *rows, double *v,
                            hw_newton_point *point, hawser_error *error)
{
    newton_run r = {newton, q,     rows,
                    v,      point, {.share = 1.0, .gap = newton->gap, .little = hw_newton_smooth(q) ? 1.0 : LITTLE}};
    bool more = true;
    for (int step = 0; more && step < MOST_STEPS && q->members.count > 0 && !hw_linear_stopping(newton->stop); step++) {
        HAWSER_TRY(make_model(&r, error));
        HAWSER_TRY(solve_model(&r, error));
        more = advance(&r);
    }
    return HAWSER_OK;
}
