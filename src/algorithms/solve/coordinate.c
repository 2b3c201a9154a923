/* coordinate.c - randomised coordinate descent (ALT Algorithm 2) as a local solver. */
#include <stdlib.h>

#include "algorithms/model/arrays.h"
#include "algorithms/solve/solver.h"

typedef struct coordinate_state {
    double *delta;     /* changes of this round; zero between rounds */
    uint32_t *touched; /* columns with delta != 0, as a list for hawser_combine */
    double *steps;     /* their deltas */
    size_t columns;
    hw_arrays arrays;
} coordinate_state;

static void free_state(void *opaque)
{
    coordinate_state *state = opaque;
    if (state != NULL)
        hw_arrays_free(&state->arrays);
    free(state);
}

static hawser_status new_state(const hw_linear_columns *columns, void **opaque, hawser_error *error)
{
    coordinate_state *state = calloc(1, sizeof *state);
    size_t p = columns->X.cols;
    if (state != NULL) {
        state->columns = p;
        state->delta = hw_array_new(&state->arrays, p + 1, sizeof *state->delta);
        state->touched = hw_array_new(&state->arrays, p + 1, sizeof *state->touched);
        state->steps = hw_array_new(&state->arrays, p + 1, sizeof *state->steps);
    }
    if (state == NULL || state->arrays.failed) {
        free_state(state);
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for coordinate descent on %zu columns", p);
    }
    *opaque = state;
    return HAWSER_OK;
}

static void reset(void *opaque)
{
    (void)opaque;
}

static hawser_status choose(void *opaque, const hw_linear_columns *columns, double lambda,
                            const hw_linear_candidates *candidates, size_t most, hawser_error *error)
{
    (void)opaque, (void)columns, (void)lambda, (void)candidates, (void)most, (void)error;
    return HAWSER_OK; /* plain descent works on all columns */
}

static hawser_status solve(void *opaque, const hw_linear_round *round, hawser_error *error)
{
    (void)error;
    coordinate_state *state = opaque;
    const hw_linear_columns *columns = round->columns;
    double drift = 0.0; /* the residual is `residual` plus drift * w, the dense part of centred columns */
    uint64_t steps = columns->X.cols > 0 ? round->steps : 0; /* a block may have no columns */
    for (uint64_t step = 0; step < steps; step++) {
        if (step % HW_LINEAR_POLL == 0 && hw_linear_stopping(round->stop))
            break;
        size_t j = (size_t)round->draw(round->source, columns->X.cols);
        hw_linear_term term = hw_linear_term_at(columns, j, round->lambda);
        double gradient = hw_linear_dot(columns, j, round->residual, round->sum) / columns->total + drift * columns->mean[j];
        double curvature = round->gain * columns->norm[j], old = round->alpha[j];
        double moved = hw_linear_prox(curvature * old + gradient, curvature, term) - old;
        if (moved == 0.0)
            continue;
        hw_linear_axpy(columns, j, -round->gain * moved, round->residual);
        drift += round->gain * moved * columns->mean[j];
        round->alpha[j] += moved;
        state->delta[j] += moved;
    }
    if (round->slack != NULL)
        *round->slack = INFINITY; /* plain descent does not compute it */
    size_t count = 0;
    for (size_t j = 0; j < state->columns; j++)
        if (state->delta[j] != 0.0) {
            state->touched[count] = (uint32_t)j;
            state->steps[count++] = round->gain * state->delta[j];
            state->delta[j] = 0.0;
        }
    if (round->image != NULL)
        hawser_combine(&columns->X, state->touched, state->steps, count, round->image);
    return HAWSER_OK;
}

static const uint32_t *members(const void *opaque, size_t *count)
{
    *count = ((const coordinate_state *)opaque)->columns;
    return NULL;
}

const hw_linear_solver *hw_linear_coordinate(void)
{
    static const hw_linear_solver solver = {new_state, free_state, reset, choose, solve, members, NULL, NULL};
    return &solver;
}
