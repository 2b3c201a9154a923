/* finished.h - the finished members of a path on node 0, so that they outlive the loss of another node. A run reads nothing
 * of them. */
#ifndef HW_ALGORITHMS_CHOICE_FINISHED_H
#define HW_ALGORITHMS_CHOICE_FINISHED_H

#include "hawser/algorithm.h"

typedef struct hw_finished {
    size_t members;
    double *numbers; /* of the models: number e of member k is numbers[e * members + k] */
    double *table;   /* what else is known of them */
    double iterations;
} hw_finished;

/* Makes zeros for models of `width` numbers, and `table` more. The caller frees *finished. */
hawser_status hw_finished_new(hw_finished **finished, size_t members, size_t width, size_t table,
                              hawser_error *error) HAWSER_MUST_USE;

/* Adds to a failure how many members of the path were finished, and whether they have a model. Returns its status. `made` is
 * the error of making that model, which is freed if there was one. */
hawser_status hw_finished_describe(hawser_training *training, size_t done, size_t planned, const hawser_error *made,
                                   hawser_error *failure);

#endif
