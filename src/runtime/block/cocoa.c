/* cocoa.c - units that call a local solver of the user's on their block's subproblem (ALT Algorithm 3). */
#include <math.h>

#include "consistency/consistency.h"
#include "hawser/row_kernels.h"
#include "program/kind.h"
#include "program/program.h"
#include "runtime/block/worker.h"

/* Clocks that tap is assumed to lag. */
static const double TAP_LAG = 8.0;

/* A subproblem, and what its solver may change by steps alone. */
typedef struct solving {
    hawser_subproblem shown;
    hawser_context *context;
    bool by_row;
    double *alpha, *v;
} solving;

static bool is_by_row(const hawser_state *alpha)
{
    return alpha->along->split == HAWSER_BY_ROW;
}

static void add_to(const hawser_matrix *A, bool by_row, size_t j, double step, double *v)
{
    if (by_row)
        hawser_row_axpy(A, j, step, v);
    else
        hawser_column_axpy(A, j, step, v);
}

void hawser_subproblem_step(hawser_subproblem *subproblem, size_t j, double step)
{
    if (subproblem == NULL)
        return;
    solving *s = (solving *)subproblem;
    if (j < s->shown.coordinates) {
        s->alpha[j] += step;
        add_to(s->shown.A, s->by_row, j, s->shown.sigma * step, s->v);
        return;
    }
    hawser_status failed = hawser_unit_fail(
        s->context, HAWSER_BAD_PROGRAM, "hawser_subproblem_step: there is no own coordinate %zu; the block has %zu, from 0",
        j, s->shown.coordinates);
    (void)failed; /* the unit fails when the solver returns */
}

static hawser_status solve(hawser_context *context)
{
    const hawser_operator *unit = context->unit;
    const hawser_state *alpha = unit->coordinates, *v = alpha->tied_to;
    solving s = {.shown = {.size = hw_state_count(v)}, .context = context, .by_row = is_by_row(alpha)};
    hawser_subproblem *shown = &s.shown;
    HAWSER_TRY(hawser_read(context, alpha->along->name, &shown->A));
    HAWSER_TRY(hawser_write(context, alpha->name, &s.alpha));
    HAWSER_TRY(hawser_write(context, v->name, &s.v));
    shown->coordinates = hawser_part(context, alpha->name, &shown->first);
    shown->alpha = s.alpha;
    shown->v = s.v;
    shown->sigma = hawser_gain(context, v->name);
    return unit->solver(context, shown);
}

/* Adds A alpha of this block, for all coordinates of which v is derived. */
static hawser_status rebuild(hawser_context *context)
{
    const hawser_state *v = context->rebuilds;
    double *sum;
    HAWSER_TRY(hawser_write(context, v->name, &sum));
    for (const hawser_state *alpha = v->program->states; alpha != NULL; alpha = alpha->next) {
        if (!alpha->coordinates || alpha->tied_to != v)
            continue;
        const hawser_matrix *A;
        const double *own;
        HAWSER_TRY(hawser_read(context, alpha->along->name, &A));
        HAWSER_TRY(hawser_read(context, alpha->name, &own));
        for (size_t j = 0, count = hawser_part(context, alpha->name, NULL); j < count; j++)
            if (own[j] != 0.0)
                add_to(A, is_by_row(alpha), j, own[j], sum);
    }
    return HAWSER_OK;
}

/* ---- building ---- */

static void check_coordinates(const hawser_program *program, const char *name, const hawser_state *alpha)
{
    hawser_program *of = alpha->program;
    if (of != program || alpha->kind != HW_LOCAL || alpha->type != HAWSER_F64 || alpha->rows != 1 || alpha->along == NULL)
        hw_program_mistake(
            of, HAWSER_BAD_PROGRAM,
            "unit '%s': the coordinates '%s' of hawser_cocoa are a local state of this program, with one f64 per "
            "column or row of a data state",
            name, alpha->name);
}

static void check_product(const char *name, const hawser_state *alpha, const hawser_state *v)
{
    const hawser_matrix *A = alpha->along->matrix;
    size_t size = A == NULL ? 0 : is_by_row(alpha) ? A->cols : A->rows;
    if (v->program != alpha->program || v->kind != HW_REPLICATED || v->type != HAWSER_F64)
        hw_program_mistake(alpha->program, HAWSER_BAD_PROGRAM,
                           "unit '%s': '%s' of hawser_cocoa is no replicated state of f64 of this program", name, v->name);
    else if (hw_state_count(v) != size)
        hw_program_mistake(alpha->program, HAWSER_BAD_PROGRAM,
                           "unit '%s': '%s' has %zu numbers, but the product of '%s' and '%s' has %zu", name, v->name,
                           hw_state_count(v), alpha->along->name, alpha->name, size);
    else if (v->rebuild != NULL && v->rebuild != rebuild)
        hw_program_mistake(alpha->program, HAWSER_BAD_PROGRAM,
                           "unit '%s': '%s' is derived already; hawser_cocoa derives it itself", name, v->name);
    else if (alpha->tied_to != NULL && alpha->tied_to != v)
        hw_program_mistake(alpha->program, HAWSER_BAD_PROGRAM, "unit '%s': '%s' is tied to '%s' already, not to '%s'", name,
                           alpha->name, alpha->tied_to->name, v->name);
}

hawser_operator *hawser_cocoa(hawser_operator *loop, const char *name, hawser_local_solver *solver, hawser_state *alpha,
                              hawser_state *v, hawser_state *const *reads)
{
    enum { MOST = 64 };
    hawser_state *all[MOST + 2] = {NULL};
    size_t count = 0;
    if (loop == NULL)
        return NULL; /* the call that made NULL has told why */
    hawser_program *program = loop->program;
    if (alpha == NULL || v == NULL) {
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "unit '%s': the state %s of hawser_cocoa is NULL",
                           name != NULL ? name : "", alpha == NULL ? "alpha" : "v");
        return NULL;
    }
    check_coordinates(program, name != NULL ? name : "", alpha);
    if (program->mistake.status != HAWSER_OK || alpha->program->mistake.status != HAWSER_OK)
        return NULL;
    check_product(name != NULL ? name : "", alpha, v);
    all[count++] = alpha->along;
    for (; reads != NULL && *reads != NULL && count <= MOST; reads++)
        if (*reads != alpha->along)
            all[count++] = *reads;
    if (solver == NULL)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "unit '%s': the solver of hawser_cocoa is NULL",
                           name != NULL ? name : "");
    else if (count > MOST)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "unit '%s': hawser_cocoa takes at most %d further states",
                           name != NULL ? name : "", MOST - 1);
    hawser_state *changed[] = {v, alpha, NULL};
    hawser_operator *unit = hw_unit_new(loop, name, solve, all, changed);
    if (unit == NULL || program->mistake.status != HAWSER_OK)
        return unit;
    hw_state_tie(alpha, v);
    v->rebuild = rebuild;
    alpha->coordinates = true;
    unit->solver = solver;
    unit->coordinates = alpha;
    hw_adapt_cocoa(loop, v);
    return unit;
}

hawser_rule hawser_cocoa_rule(const hawser_job *job, double gamma, hawser_sync sync)
{
    sync = hw_sync_of_blocks(sync, hawser_job_workers(job));
    double lag = sync.tightness == HAWSER_BSP ? 0.0 : sync.tightness == HAWSER_TAP ? TAP_LAG : (double)sync.staleness;
    if (job == NULL || hw_policy_row_of((unsigned)sync.tightness) == NULL)
        return (hawser_rule){.damping = (double)NAN, .gain = (double)NAN};
    gamma = gamma != 0.0 ? gamma : hawser_job_damping(job);
    return (hawser_rule){.damping = gamma, .gain = gamma * hawser_job_workers(job) * (lag + 1.0)};
}
