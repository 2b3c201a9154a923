/* fold.h - the rows and columns of one fold. Held-out rows have weight zero, and the other rows measure the columns. */
#ifndef HW_ALGORITHMS_GLM_FOLD_H
#define HW_ALGORITHMS_GLM_FOLD_H

#include "algorithms/glm/linear.h"

/* Begins a fold on a block with columns X: fills its weights by row (NULL: all rows weigh alike), and what `columns` has of
 * the rows. Fails if all weights are zero. */
hawser_status hw_linear_begin_fold(const hw_linear *linear, const hawser_matrix *X, uint32_t fold, double *weights,
                                   hw_linear_columns *columns, hawser_error *error) HAWSER_MUST_USE;
/* Returns the rows that a fold trains on, as the end of a message. */
const char *hw_linear_fold_text(const hw_linear *linear, uint32_t fold);
/* Computes means, norms and penalties of a block's columns, whose weights and total are set. */
hawser_status hw_linear_measure(const hw_linear *linear, hw_linear_columns *columns, hawser_error *error) HAWSER_MUST_USE;
/* Computes the sums of weights and of weighted errors (problem->error) of the rows that a fold holds out, given X w and the
 * intercepts. The error of a row is the mean over the outputs. */
hawser_status hw_linear_held_out(const hw_linear_problem *problem, const double *image, const double *intercepts,
                                 uint32_t fold, double *weight, double *errors, hawser_error *error) HAWSER_MUST_USE;

#endif
