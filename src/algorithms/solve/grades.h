/*
 * grades.h - chooses how many columns of each block enter the working sets. Each block counts its candidates by grade of
 * promise, the counts of all blocks are added up, and the best candidates enter on whichever block they are. So the working
 * sets grow as a single block's would, however the columns are split. Pure.
 */
#ifndef HW_ALGORITHMS_SOLVE_GRADES_H
#define HW_ALGORITHMS_SOLVE_GRADES_H

#include "algorithms/solve/columns.h"

enum { HW_LINEAR_GRADES = 16 };

/* Returns twice the least gain of a step of a column outside the support: violation^2 / curvature. It is infinite without an
 * L1 part, because such a column is hardly ever zero at the optimum. */
static inline double hw_linear_promise(const hw_linear_columns *columns, size_t j, double gradient, double lambda)
{
    hw_linear_term term = hw_linear_term_at(columns, j, lambda);
    double violation = hw_linear_violation(gradient, 0.0, term);
    return term.l1 == 0.0 ? INFINITY : violation * violation / (columns->norm[j] + term.l2);
}

/* Columns of a block that may enter its working set. */
typedef struct hw_linear_candidates {
    const uint32_t *list; /* ascending; it has the support */
    size_t count;
    const double *alpha, *gradient; /* by column */
    const bool *screened;           /* by column: it is known to be zero */
} hw_linear_candidates;

/* Counts the candidates with an L1 part outside the support by grade: powers of four of promise / scale, best first. */
void hw_linear_grade(const hw_linear_columns *columns, const hw_linear_candidates *candidates, double lambda, double scale,
                     double counts[HW_LINEAR_GRADES]);
/* Returns about how many of a block's candidates are among the best `most` of all, given its counts and the sums of all
 * blocks' counts. */
size_t hw_linear_entering(const double own[HW_LINEAR_GRADES], const double all[HW_LINEAR_GRADES], double most);
/* Returns how many of these enter a block's working set, which has `support` columns already, if its share of the gathered
 * sets has `share`: no more than fit, unless the set could then hardly grow. */
size_t hw_linear_within_share(size_t entering, size_t support, size_t share);

#endif
