/* add.h - numbers that all blocks add up, with errors that say what they are. */
#ifndef HW_ALGORITHMS_MODEL_ADD_H
#define HW_ALGORITHMS_MODEL_ADD_H

#include "hawser/algorithm.h"

/* What is added up. Number e < columns * per * models belongs to column e / per % columns of the data. All names are
 * plurals. */
typedef struct hw_addends {
    const char *values; /* what the numbers of columns are: "the squares" */
    const hawser_dataset *data;
    size_t columns, per, models; /* 0: the numbers belong to no columns */
    const char *rest,
        *of; /* what the other numbers are, and what to scale if they are too large: "the distances", "the columns" */
} hw_addends;

/* Adds numbers up over all blocks, as hawser_allreduce does. Fails with HAWSER_NOT_FINITE if the sum could leave the range
 * of numbers. The error names what was added up, and the column. */
hawser_status hw_add_up(hawser_context *context, double *values, size_t count, const hw_addends *sums) HAWSER_MUST_USE;

#endif
