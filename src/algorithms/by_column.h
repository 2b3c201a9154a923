/* by_column.h - arrays with a number per column, or per row, that a training is given in place of files. */
#ifndef HW_ALGORITHMS_BY_COLUMN_H
#define HW_ALGORITHMS_BY_COLUMN_H

#include "hawser/algorithm.h"

/* Fails if the algorithm has no option that an array stands for, if the option is given too, or if nodes have other arrays.
 * Collective. */
hawser_status hw_by_column_check(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                                 hawser_error *error) HAWSER_MUST_USE;

#endif
