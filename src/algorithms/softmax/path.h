/*
 * path.h - the order in which the models of a path and of the folds are fitted: all lambdas on all rows, from high to low, then all of them without
 * the rows of fold 1, and so on. Each model starts from that of the lambda before.
 *
 * What remains of them is in two states. "path" has the models of all rows: width x members numbers, those of one coefficient side by side.
 * "table" has HW_SOFTMAX_FIELDS numbers for each model, by fold and by member.
 */
#ifndef HW_ALGORITHMS_SOFTMAX_PATH_H
#define HW_ALGORITHMS_SOFTMAX_PATH_H

#include "algorithms/softmax/block.h"

/* Why the training has ended: the metric "ended", 0 while it goes on, and what is reported of several models is the largest. */
typedef enum hw_softmax_end {
    HW_SOFTMAX_GOES_ON = 0,
    HW_SOFTMAX_GAP,
    HW_SOFTMAX_ITERATIONS,
    HW_SOFTMAX_PRECISION /* no smaller objective was found */
} hw_softmax_end;

enum {
    HW_SOFTMAX_DONE, /* 1 when the model is finished */
    HW_SOFTMAX_LAMBDA,
    HW_SOFTMAX_OBJECTIVE,
    HW_SOFTMAX_GAP_LEFT,
    HW_SOFTMAX_PENALTY,
    HW_SOFTMAX_WEIGHT, /* of the held-out rows */
    HW_SOFTMAX_ERROR,  /* their mean error */
    HW_SOFTMAX_FIELDS
};

/* Returns the numbers of the state "table". */
size_t hw_softmax_table_size(const hw_softmax *softmax);
/* Stores the lambda of memory.member. */
void hw_softmax_set_lambda(hw_softmax_block *block);
/* Begins a fold with its first lambda: measures its rows, makes the first model and looks at it. */
hawser_status hw_softmax_begin_fold(hawser_context *context, hw_softmax_block *block) HAWSER_MUST_USE;
/* Goes on to the next model if the last one is finished. */
hawser_status hw_softmax_next_member(hawser_context *context, hw_softmax_block *block) HAWSER_MUST_USE;
/* Finishes a model: writes the block's shares of it. *ended becomes GOES_ON if another model follows, else the end that weighs most. */
hawser_status hw_softmax_end_member(hawser_context *context, hw_softmax_block *block, hw_softmax_end *ended) HAWSER_MUST_USE;
/* Returns the part of W that the penalty and the data leave open: the mean of the intercepts. */
double hw_softmax_level(const hw_softmax_block *block);
/* Returns the gap relative to the objective without coefficients. */
double hw_softmax_gap(const hw_softmax_block *block);
/* Returns how many models are not finished. */
double hw_softmax_models_left(const hw_softmax_block *block);

#endif
