/* labels.h - the classes of a target that is split by row. */
#ifndef HW_ALGORITHMS_MODEL_LABELS_H
#define HW_ALGORITHMS_MODEL_LABELS_H

#include "hawser/algorithm.h"

/* Finds the different targets of all rows with a weight above 0, ascending, by a short program over the rows. If there are
 * more than `most`, *count is most + 1. HAWSER_BAD_INPUT if there are fewer than two. Collective. The caller frees *labels,
 * after a failure, too. */
hawser_status hw_labels_find(hawser_job *job, const hawser_dataset *data, size_t most, double **labels, size_t *count,
                             hawser_error *error) HAWSER_MUST_USE;

/* Counts the different targets of this node's rows with a weight above 0, for an estimate of the work: at most `most`, and
 * 0 if there is no target or no memory. */
size_t hw_labels_count(const hawser_dataset *data, size_t most);

/* Returns the place of a label, or `count` if it is none of them. */
size_t hw_labels_place(const double *labels, size_t count, double label);

/* Refuses a label that is a number from 2^53 on, as which several may have been rounded. Labels that are words have small
 * numbers. */
hawser_status hw_labels_check(const double *labels, size_t count, hawser_error *error) HAWSER_MUST_USE;

#endif
