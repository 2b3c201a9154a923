/*
 * solver.h - the interface of a solver of a block's local subproblem, a struct of functions. The distributed algorithm
 * (CoCoA) takes any solver.
 *
 * The subproblem of a round (ALT eq. 2.7) is, over this block's coefficients only,
 *     min over delta of -sum_j g_j delta_j + sigma'/2 ||X delta||^2 / W + sum_j h_j(alpha_j + delta_j),
 * where sigma' allows for the changes that other blocks make at the same time.
 */
#ifndef HW_ALGORITHMS_SOLVE_SOLVER_H
#define HW_ALGORITHMS_SOLVE_SOLVER_H

#include "algorithms/solve/grades.h"
#include "algorithms/solve/part.h"
#include "algorithms/solve/stop.h"
#include "hawser/record.h"

struct hw_linear_gram;

typedef struct hw_linear_round {
    const hw_linear_columns *columns;
    double lambda;
    double gain;            /* sigma' */
    double *residual;       /* w_i r_i at the round's start, by row; a solver may use it as scratch */
    double sum;             /* sum_i w_i r_i: 0 up to rounding when centred */
    double square;          /* sum_i w_i r_i^2 / W */
    const double *gradient; /* g_j if `fresh`, else stale */
    bool fresh;             /* the residual has not changed since the gradient was computed */
    double *alpha;          /* this block's coefficients; the round adds delta */
    double *image;          /* v = X alpha; the round adds sigma' X delta. NULL: the caller computes it anew */
    double *slack;          /* receives the local duality gap before the round; may be NULL */
    double gap;             /* of the whole problem at the last certificate */
    double tolerance;       /* the local duality gap below which more work has no effect */
    uint64_t steps;         /* the most coordinate steps */
    uint64_t (*draw)(void *source, uint64_t below);
    void *source;
    hw_linear_stop stop;
    const hw_linear_part *part; /* this block's part if several solve one subproblem together; NULL: it solves its own */
} hw_linear_round;

typedef struct hw_linear_solver {
    /* Makes the solver's state for a block. free_state frees it and accepts NULL. */
    hawser_status (*new_state)(const hw_linear_columns *columns, void **state, hawser_error *error);
    void (*free_state)(void *state);
    /* Discards everything that was derived from the columns, which have changed (another fold's weights). */
    void (*reset)(void *state);
    /* Chooses the columns of the next rounds from a fresh gradient: the support, columns without an L1 part, and the `most`
     * most promising of the others. */
    hawser_status (*choose)(void *state, const hw_linear_columns *columns, double lambda,
                            const hw_linear_candidates *candidates, size_t most, hawser_error *error);
    hawser_status (*solve)(void *state, const hw_linear_round *round, hawser_error *error);
    /* Returns the columns that rounds change until the next choose; NULL for all columns. */
    const uint32_t *(*members)(const void *state, size_t *count);
    /* Returns in *gram the Gram matrix of all columns, on which all later rounds descend; NULL if the run is asked to end.
     * NULL instead of the function: the solver has no matrix. */
    hawser_status (*whole)(void *state, const hw_linear_columns *columns, hw_linear_stop stop,
                           const struct hw_linear_gram **gram, hawser_error *error);
    /* Visits the fields that the state keeps from round to round; the state is new when it is read. NULL: there are none. */
    void (*visit)(hawser_record *record, void *state, const hw_linear_columns *columns);
} hw_linear_solver;

/* Returns the default solver: coordinate descent and conjugate gradients on working sets, by their Gram matrix or the
 * residual. */
const hw_linear_solver *hw_linear_working_set(void);
/* Returns plain randomised coordinate descent with `steps` steps per round: the thesis's solver, and the tests'
 * reference. */
const hw_linear_solver *hw_linear_coordinate(void);

#endif
