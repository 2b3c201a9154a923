/* idx.h - idx files, as MNIST's images and labels are: any dimensions, six types of numbers, big-endian. */
#ifndef HW_DATA_IDX_H
#define HW_DATA_IDX_H

#include "data/format/parse.h"

/* Whether a file begins as idx files do. Text cannot: it has no zero bytes. */
bool hw_is_idx(const char *text, size_t bytes);

/* Loads the files of the job, one below the other. The first dimension is the rows; the product of the others is the columns. */
hawser_status hw_idx_load(hw_job *job, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;

#endif
