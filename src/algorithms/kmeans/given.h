/* given.h - centres that a training starts from: a model's (--init), a file's (--centres), or numbers (--init
 * centres=FILE). */
#ifndef HW_ALGORITHMS_KMEANS_GIVEN_H
#define HW_ALGORITHMS_KMEANS_GIVEN_H

#include "hawser/algorithm.h"

/* The name of --init NAME=FILE: clusters x columns numbers. */
#define HW_KMEANS_START "centres"

/* Stores the centres (count x columns of the data) in *centres, which the caller frees; NULL: there are none. */
hawser_status hw_kmeans_given(hawser_job *job, const hawser_training_input *input, double **centres, size_t *count,
                              hawser_error *error) HAWSER_MUST_USE;

#endif
