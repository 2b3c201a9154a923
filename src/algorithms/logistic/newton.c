#include "algorithms/logistic/newton.h"

#include <stdlib.h>
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

/* move = X (x - origin), and members.blend the step itself; returns whether there is any. Where the model's residual has gone along,
 * that tells the image, in digits enough for pulls; rows that do not bend are of no interest. */
static bool image_of_step(hw_logistic_quadratic *q, const hw_logistic_point *point, bool followed, double *move)
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
    bool single;   /* which was its only one */
    bool followed; /* the model's residual has moved along with its solution */
} effort;

struct hw_logistic_newton_state {
    hw_logistic_newton newton;
    hw_logistic_quadratic *q;
    const hw_logistic_rows *rows;
    double *v;
    hw_logistic_point *point;
    effort effort;
    int step;
    bool measuring; /* moments are asked for */
    double *moments;
    hw_logistic_inexact inexact;
    hw_logistic_inexact_state *solver; /* of the model; NULL: there is none now */
};

size_t hw_logistic_newton_sums(size_t room, size_t rows)
{
    return 2 * room > rows ? 2 * room : rows;
}

/* The model at the point, and who is to solve it. One pass does while violations fall quickly from model to model; then models are
 * solved better and better. */
static hawser_status begin_model(hw_logistic_newton_state *s, hawser_error *error)
{
    hw_logistic_quadratic *q = s->q;
    const effort *e = &s->effort;
    hw_logistic_quadratic_made(q);
    hw_logistic_quadratic_residual(q, s->point, s->v, s->v, q->residual);
    memcpy(q->origin, q->members.x, q->members.count * sizeof *q->origin);
    s->inexact = (hw_logistic_inexact){.target = e->begun > 0.0 ? e->share * e->begun : INFINITY,
                                       .reference = e->begun,
                                       .idle = ENOUGH * e->begun,
                                       .missing = s->newton.gap > 0.0 ? s->newton.tolerance / s->newton.gap : 0.0,
                                       .hasty = q->use_gram,
                                       .stop = s->newton.stop};
    return hw_logistic_inexact_new(&s->inexact, q, q->residual, &s->newton.crew, &s->solver, error);
}

/* What was left off is solved on the Gram matrix. */
static hawser_status end_model(hw_logistic_newton_state *s, hawser_error *error)
{
    const hw_logistic_inexact *inexact = &s->inexact;
    effort *e = &s->effort;
    hw_logistic_inexact_free(s->solver);
    s->solver = NULL;
    e->first = inexact->first;
    e->begun = e->begun > 0.0 ? e->begun : inexact->first;
    e->passed = inexact->passes > 0 && inexact->solved;
    e->single = inexact->passes == 1 && inexact->solved;
    e->followed = inexact->solved && !hw_logistic_smooth(s->q);
    e->share *= e->single ? SHARPER : 1.0;
    if (inexact->solved)
        return HAWSER_OK;
    hw_logistic_effort exact = {
        .gain = 1.0, .gap = e->gap, .tolerance = 0.3 * s->newton.tolerance, .steps = UINT64_MAX, .stop = s->newton.stop};
    return hw_logistic_quadratic_solve(s->q, &exact, s->q->residual, error);
}

/* Along the step to the model's solution. Returns whether another model is worth it. */
static bool advance(hw_logistic_newton_state *s)
{
    const hw_logistic_newton *newton = &s->newton;
    hw_logistic_quadratic *q = s->q;
    hw_linear_members *members = &q->members;
    effort *e = &s->effort;
    if (!image_of_step(q, s->point, e->followed, newton->move))
        return false;
    double before = penalty(q, q->origin), after = penalty(q, members->x), objective = s->point->loss + before;
    double share =
        hw_logistic_line(s->rows, s->v, newton->move, before, after, 0.01 * newton->tolerance, s->point, newton->there);
    hw_logistic_quadratic_judge(q, share);
    for (size_t k = 0; k < members->count && share < 1.0; k++)
        members->x[k] = q->origin[k] + share * members->blend[k];
    if (share == 0.0)
        return false;
    memcpy(s->v, newton->there, s->rows->count * sizeof *s->v);
    double fall = objective - s->point->loss - penalty(q, members->x);
    if (share == 1.0 && (e->first <= ENOUGH * e->begun || (fall <= e->little * newton->tolerance && !e->single)))
        return false;
    e->gap = fall < e->gap ? fall : e->gap;
    if (e->passed && share == 1.0)
        hw_logistic_quadratic_leave(q);
    return true;
}

hawser_status hw_logistic_newton_go(hw_logistic_newton_state *s, bool *wanted, hawser_error *error)
{
    for (;;) {
        if (s->solver == NULL && !s->measuring) {
            size_t begin, end;
            *wanted = s->step++ < MOST_STEPS && s->q->members.count > 0 && !hw_linear_stopping(s->newton.stop);
            if (!*wanted)
                return HAWSER_OK;
            hw_logistic_quadratic_section(s->q, &s->newton.crew, &begin, &end);
            hw_logistic_quadratic_bend(s->q, s->rows, s->point);
            hw_logistic_quadratic_measure(s->q, begin, end);
            s->measuring = s->newton.crew.part != NULL;
            if (s->measuring)
                return HAWSER_OK;
        }
        s->measuring = false;
        if (s->solver == NULL)
            HAWSER_TRY(begin_model(s, error));
        HAWSER_TRY(hw_logistic_inexact_go(s->solver, wanted, error));
        if (*wanted)
            return HAWSER_OK;
        HAWSER_TRY(end_model(s, error));
        if (!advance(s))
            return HAWSER_OK;
    }
}

hw_linear_share hw_logistic_newton_share(hw_logistic_newton_state *s)
{
    const hw_linear_columns *columns = &s->q->columns;
    size_t begin, end;
    if (!s->measuring)
        return hw_logistic_inexact_share(s->solver);
    hw_logistic_quadratic_section(s->q, &s->newton.crew, &begin, &end);
    for (size_t k = begin; k < end; k++) {
        s->moments[2 * (k - begin)] = columns->mean[s->q->members.columns[k]];
        s->moments[2 * (k - begin) + 1] = columns->norm[s->q->members.columns[k]];
    }
    return (hw_linear_share){s->moments, 2 * begin, 2 * (end - begin), 2 * s->q->members.count};
}

void hw_logistic_newton_hear(hw_logistic_newton_state *s, const double *sums)
{
    if (!s->measuring) {
        hw_logistic_inexact_hear(s->solver, sums);
        return;
    }
    for (size_t k = 0; k < s->q->members.count; k++) {
        s->q->columns.mean[s->q->members.columns[k]] = sums[2 * k];
        s->q->columns.norm[s->q->members.columns[k]] = sums[2 * k + 1];
    }
}

void hw_logistic_newton_free(hw_logistic_newton_state *s)
{
    if (s == NULL)
        return;
    hw_logistic_inexact_free(s->solver);
    free(s->moments);
    free(s);
}

hawser_status hw_logistic_newton_new(const hw_logistic_newton *newton, hw_logistic_quadratic *q,
                                     const hw_logistic_rows *rows, double *v, hw_logistic_point *point,
                                     hw_logistic_newton_state **state, hawser_error *error)
{
    hw_logistic_newton_state *s = *state = calloc(1, sizeof *s);
    if (s != NULL)
        s->moments = malloc((2 * q->members.count + 1) * sizeof *s->moments);
    if (s == NULL || s->moments == NULL) {
        hw_logistic_newton_free(s);
        *state = NULL;
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for models of %zu columns", q->members.count);
    }
    s->newton = *newton;
    s->q = q;
    s->rows = rows;
    s->v = v;
    s->point = point;
    s->effort = (effort){.share = 1.0, .gap = newton->gap, .little = hw_logistic_smooth(q) ? 1.0 : LITTLE};
    return HAWSER_OK;
}

hawser_status hw_logistic_newton_run(const hw_logistic_newton *newton, hw_logistic_quadratic *q,
                                     const hw_logistic_rows *rows, double *v, hw_logistic_point *point, hawser_error *error)
{
    hw_logistic_newton_state *s = NULL;
    bool wanted = true;
    HAWSER_TRY(hw_logistic_newton_new(newton, q, rows, v, point, &s, error));
    hawser_status status;
    while ((status = hw_logistic_newton_go(s, &wanted, error)) == HAWSER_OK && wanted)
        hw_logistic_inexact_hear(s->solver, hw_logistic_inexact_share(s->solver).values);
    hw_logistic_newton_free(s);
    return status;
}
