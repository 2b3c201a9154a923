/*
 * quadratic.h - Newton's model of the objective at a point, over a working set: a lasso whose example weights are the rows'
 * curvatures, with sum H. In its own scale, where weights average to one, the penalty counts W / H times.
 */
#ifndef HW_ALGORITHMS_LOGISTIC_QUADRATIC_H
#define HW_ALGORITHMS_LOGISTIC_QUADRATIC_H

#include "algorithms/logistic/loss.h"
#include "algorithms/solve/descent.h"

/* What models have taught about the next ones. */
typedef struct hw_logistic_learned {
    double least;    /* how far a model is trusted: see hw_logistic_quadratic_judge */
    uint64_t random; /* state of the numbers that order passes */
    bool settled;    /* signs hardly change any more: see inexact.h */
} hw_logistic_learned;

typedef struct hw_logistic_quadratic {
    hw_linear_columns columns; /* means and norms by curvature are those of the members */
    hw_linear_members members;
    hw_linear_term *terms; /* of the members in the objective's scale; members.terms are in the model's */
    double *origin;        /* of the members: coefficients where the model was made, for who goes back along the step */
    uint32_t *at;          /* of the members: their places in the list that was taken */
    size_t terms_capacity;
    hw_logistic_learned learned;
    hw_linear_gram gram;
    bool use_gram;
    double scale;     /* W / H */
    double *residual; /* scratch by row */
    double *curve;    /* of the model, by row: the point's, but at least `least` of the pull */
    double *memory;
} hw_logistic_quadratic;

/* What a solution is looked for with. */
typedef struct hw_logistic_effort {
    double gain;      /* sigma' */
    double gap;       /* how far from its optimum the objective may be now */
    double tolerance; /* less than this is in vain */
    uint64_t steps;   /* of coordinates at most */
    double *slack;    /* where the model's gap before goes, in the objective's scale; or NULL */
    hw_linear_stop stop;
} hw_logistic_effort;

/* `seed`: of the numbers that order passes. */
hawser_status hw_logistic_quadratic_new(hw_logistic_quadratic *q, const hawser_matrix *X, uint64_t seed,
                                        hawser_error *error) HAWSER_MUST_USE;
/* Forgets what it has learned from steps, and begins with other numbers. */
void hw_logistic_quadratic_forget(hw_logistic_quadratic *q, uint64_t seed);
void hw_logistic_quadratic_free(hw_logistic_quadratic *q);
/* Takes a working set: columns of X; the caller fills q->terms and q->members.x, by member. */
hawser_status hw_logistic_quadratic_take(hw_logistic_quadratic *q, const uint32_t *list, size_t count,
                                         hawser_error *error) HAWSER_MUST_USE;
/* After passes: leaves out members that are zero and will stay it, if they are many. */
void hw_logistic_quadratic_leave(hw_logistic_quadratic *q);
/* Makes it the model at a point. `part`: each of several blocks computes the means and norms of some members. `q->members.scratch` holds
 * their sums. */
hawser_status hw_logistic_quadratic_at(hw_logistic_quadratic *q, const hw_logistic_rows *rows,
                                       const hw_logistic_point *point, const hw_linear_part *part,
                                       hawser_error *error) HAWSER_MUST_USE;
/* The members [*begin, *end) that are a block's part: about as many stored entries as each other block has. All members if `part` is NULL. */
void hw_logistic_quadratic_section(const hw_logistic_quadratic *q, const hw_linear_part *part, size_t *begin, size_t *end);
/* Will models of so many columns and entries of X be solved on their Gram matrix, as a rule? */
bool hw_logistic_quadratic_on_gram(const hawser_matrix *X, double entries, size_t count);
/* Learns from how far the line search went. A row on the wrong side bends little where it is, and more on its way to the other: a
 * model of columns with such rows leaps, and one leap too far shortens the step of all. So rows bend at least `least` as much as they
 * pull: more where steps are cut, less where they are not. */
void hw_logistic_quadratic_judge(hw_logistic_quadratic *q, double share);
/* The model's residual, by row and weighted, where the point's v has moved by (v - from). */
void hw_logistic_quadratic_residual(const hw_logistic_quadratic *q, const hw_logistic_point *point, const double *v,
                                    const double *from, double *residual);
/* Moves members.x from members.start = x towards the model's minimum, given its residual there (used as scratch). */
hawser_status hw_logistic_quadratic_solve(hw_logistic_quadratic *q, const hw_logistic_effort *effort, double *residual,
                                          hawser_error *error) HAWSER_MUST_USE;

#endif
