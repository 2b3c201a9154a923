/*
 * narrow.h - sparse data of which most columns have no entry: a training then runs on the columns that have some, and its
 * model gets the others back.
 *
 * A column without entries has coefficient 0, or coordinate 0 of every centre, so only memory and time change: they follow
 * from the columns that occur.
 */
#ifndef HW_ALGORITHMS_NARROW_H
#define HW_ALGORITHMS_NARROW_H

#include "hawser/algorithm.h"

typedef struct hw_narrow {
    uint32_t *columns; /* that have entries, ascending; NULL: the training runs on all */
    size_t count, width;
    hawser_dataset *data, *validation;
} hw_narrow;

/* Replaces the data of an input by their columns that have entries, if leaving out the others saves memory and nothing in
 * the input is by column. Collective. The caller calls hw_narrow_free, also after a failure. */
hawser_status hw_narrow_input(const hawser_algorithm *algorithm, hawser_job *job, hawser_training_input *input,
                              hw_narrow *narrow, hawser_error *error) HAWSER_MUST_USE;
/* Gives a model of such data all columns. */
hawser_status hw_narrow_widen(const hw_narrow *narrow, hawser_model *model, hawser_error *error) HAWSER_MUST_USE;
/* Returns the bytes on a node of the arrays that data and their columns do not share: each has its own. */
uint64_t hw_narrow_bytes(hawser_job *job, const hawser_dataset *data);
void hw_narrow_free(hw_narrow *narrow);

#endif
