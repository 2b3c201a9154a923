/*
 * quadratic.h - Newton's model of the objective at a point, over a working set: a lasso whose example weights are the rows'
 * curvatures, with sum H. In the model's scale the weights average to one, so the penalty is multiplied by W / H.
 */
#ifndef HW_ALGORITHMS_NEWTON_QUADRATIC_H
#define HW_ALGORITHMS_NEWTON_QUADRATIC_H

#include "algorithms/newton/loss.h"
#include "algorithms/solve/descent.h"

/* What is kept from one model for the next. */
typedef struct hw_newton_learned {
    double least;    /* how far a model is trusted: see hw_newton_quadratic_judge */
    uint64_t random; /* state of the numbers that order passes */
    bool settled;    /* signs hardly change: see inexact.h */
} hw_newton_learned;

typedef struct hw_newton_quadratic {
    hw_linear_columns columns; /* `mean` and `norm` are by curvature, and of the members only */
    hw_linear_members members;
    hw_linear_term *terms; /* by member, in the objective's scale; members.terms are in the model's */
    double *origin;        /* by member: coefficients at which the model was made, for the line search */
    uint32_t *at;          /* by member: its place in the list that was taken */
    size_t terms_capacity;
    hw_newton_learned learned;
    hw_linear_gram gram;
    bool use_gram;
    bool uneven;      /* members differ in scale, so that pulls are compared in units of their columns */
    double scale;     /* W / H */
    double *residual; /* scratch by row */
    double *curve;    /* by row: the point's curvature, but at least `least` times the pull */
    double *memory;
} hw_newton_quadratic;

/* How exactly a model is solved, and with which damping. */
typedef struct hw_newton_effort {
    double gain;      /* sigma' */
    double gap;       /* upper bound of the objective's distance to its optimum now */
    double tolerance; /* a smaller gap is not worth more work */
    uint64_t steps;   /* coordinate steps at most */
    double *slack;    /* receives the model's gap before the solution, in the objective's scale; may be NULL */
    hw_linear_stop stop;
} hw_newton_effort;

/* Allocates a model over X. `seed` starts the random numbers that order passes. */
hawser_status hw_newton_quadratic_new(hw_newton_quadratic *q, const hawser_matrix *X, uint64_t seed,
                                      hawser_error *error) HAWSER_MUST_USE;
void hw_newton_quadratic_free(hw_newton_quadratic *q);
/* Sets the working set, a list of columns of X. The caller then fills q->terms and q->members.x, by member. */
hawser_status hw_newton_quadratic_take(hw_newton_quadratic *q, const uint32_t *list, size_t count,
                                       hawser_error *error) HAWSER_MUST_USE;
/* Drops members that are zero and will stay zero, if they are many. Needs members.gradient of the last pass. */
void hw_newton_quadratic_leave(hw_newton_quadratic *q);
/* Makes the model at a point. If `part` is not NULL each block computes the means and norms of some members. Overwrites
 * q->members.scratch. */
hawser_status hw_newton_quadratic_at(hw_newton_quadratic *q, const hw_newton_rows *rows, const hw_newton_point *point,
                                     const hw_linear_part *part, hawser_error *error) HAWSER_MUST_USE;
/* Finds the members [*begin, *end) of a block's part: each block has about the same number of stored entries. All members if
 * `part` is NULL. */
void hw_newton_quadratic_section(const hw_newton_quadratic *q, const hw_linear_part *part, size_t *begin, size_t *end);
/* Returns whether models with this many columns and stored entries of X are expected to be solved on their Gram matrix. */
bool hw_newton_quadratic_on_gram(const hawser_matrix *X, double entries, size_t count);
/* Adapts learned.least to the share of the step that the line search accepted. A row on the wrong side has little curvature
 * at its margin, and more on the way to the other side. A model with such rows takes steps that are too long, and one of
 * them shortens the step of all columns. So a row's curvature is at least `least` times its pull; `least` grows when steps
 * are cut and falls when they are not. */
void hw_newton_quadratic_judge(hw_newton_quadratic *q, double share);
/* Computes the model's weighted residual by row, after the point's v has moved by (v - from). */
void hw_newton_quadratic_residual(const hw_newton_quadratic *q, const hw_newton_point *point, const double *v,
                                  const double *from, double *residual);
/* Moves members.x towards the model's minimum, given the model's residual at x, which is overwritten. */
hawser_status hw_newton_quadratic_solve(hw_newton_quadratic *q, const hw_newton_effort *effort, double *residual,
                                        hawser_error *error) HAWSER_MUST_USE;

#endif
