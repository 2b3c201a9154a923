/*
 * solver.h - what solves a block's local subproblem. The distributed algorithm (CoCoA) takes any: one struct of functions.
 *
 * The subproblem of a round (ALT eq. 2.7) is, over this block's coefficients only,
 *     min over delta of -sum_j g_j delta_j + sigma'/2 ||X delta||^2 / W + sum_j h_j(alpha_j + delta_j),
 * sigma' being careful about what the other blocks do at the same time.
 */
#ifndef HW_ALGORITHMS_SOLVE_SOLVER_H
#define HW_ALGORITHMS_SOLVE_SOLVER_H

#include "algorithms/solve/columns.h"
#include "algorithms/solve/part.h"
#include "algorithms/solve/stop.h"
#include "hawser/record.h"

typedef struct hw_linear_round {
    const hw_linear_columns *columns;
    double lambda;
    double gain;            /* sigma' */
    double *residual;       /* w_i r_i at the round's start, one a row; a solver may use it as scratch */
    double sum;             /* sum_i w_i r_i: 0 up to rounding when centred */
    double square;          /* sum_i w_i r_i^2 / W */
    const double *gradient; /* g_j where `fresh`, else stale */
    bool fresh;             /* the residual has not moved since the gradient was taken */
    double *alpha;          /* this block's coefficients, moved by delta */
    double *image;          /* v = X alpha: moved by sigma' X delta; NULL where it is made anew anyway */
    double *slack;          /* where to put the local duality gap before the round; NULL when it is not wanted */
    double gap;             /* of the whole problem at the last certificate */
    double tolerance;       /* the local duality gap below which more work is in vain */
    uint64_t steps;         /* coordinate steps at most */
    uint64_t (*draw)(void *source, uint64_t below);
    void *source;
    hw_linear_stop stop;
    const hw_linear_part
        *part; /* of this block, where several solve the same subproblem together; NULL: it solves its own */
} hw_linear_round;

typedef struct hw_linear_solver {
    /* Makes the solver's own memory for a block; released by free_state, which takes NULL. */
    hawser_status (*new_state)(const hw_linear_columns *columns, void **state, hawser_error *error);
    void (*free_state)(void *state);
    /* The columns have changed (another fold's weights): forget what was derived from them. */
    void (*reset)(void *state);
    /* Chooses what the next rounds work on, from a fresh gradient: the support, columns without an L1 part, and of the others the most
     * promising `room`. `screened` columns are known to be zero. */
    hawser_status (*choose)(void *state, const hw_linear_columns *columns, double lambda, const double *alpha,
                            const double *gradient, const bool *screened, size_t room, hawser_error *error);
    hawser_status (*solve)(void *state, const hw_linear_round *round, hawser_error *error);
    /* The columns that rounds change until the next choose; NULL stands for all of them. */
    const uint32_t *(*members)(const void *state, size_t *count);
    /* Visits what the state remembers from round to round; the state is new when it is read. NULL: nothing. */
    void (*visit)(hawser_record *record, void *state, const hw_linear_columns *columns);
} hw_linear_solver;

/* Working sets, coordinate descent on their Gram matrix or on the residual, with extrapolation: the default. */
const hw_linear_solver *hw_linear_working_set(void);
/* Plain randomised coordinate descent, `steps` steps a round: the thesis's solver, and the tests' reference. */
const hw_linear_solver *hw_linear_coordinate(void);

#endif
