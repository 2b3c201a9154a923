/* parts.h - what lasso.c puts together: the parts of the lasso that each have a file. */
#ifndef HW_ALGORITHMS_LASSO_PARTS_H
#define HW_ALGORITHMS_LASSO_PARTS_H

#include "algorithms/glm/linear.h"
#include "hawser/record.h"

/* kind.c */
extern const hw_linear_kind hw_lasso_kind;

/* spread.c: estimates the cost of each column besides its scans, from the target. Under SSP and TAP each block solves
 * subproblems of its own columns only, so the columns that will enter them must be spread, not only entries. The caller
 * frees *costs. */
hawser_status hw_lasso_spread(const hw_linear *lasso, double **costs, hawser_error *error) HAWSER_MUST_USE;

/* options.c */
extern const hawser_option hw_lasso_rows[];
extern const hawser_topic hw_lasso_topics[];
extern const hawser_metric_row hw_lasso_metrics[];

/* evaluate.c */
hawser_status hw_lasso_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error);

/* memory.c */
void hw_lasso_visit(hawser_record *record, hawser_context *context);

#endif
