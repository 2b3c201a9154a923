/*
 * early.h - the error on validation data while a model trains by rows, and the end of the training by it.
 *
 * Node 0 has the data, so block 0 measures the error. All blocks learn it in the same clock and count alike.
 */
#ifndef HW_ALGORITHMS_MODEL_EARLY_H
#define HW_ALGORITHMS_MODEL_EARLY_H

#include "hawser/algorithm.h"

/* clang-format off */
/* The option rows. `evaluations` and `model` are parts of sentences. */
#define HW_EARLY_STOPPING_ROWS(evaluations, model) \
    {"early-stopping", HAWSER_INTEGER, NULL, "[1,inf)", "N", \
     "End the training when the error on validation data has not fallen for N evaluations, " evaluations "; " model, "Validation", 0}, \
    {"early-stopping-min-delta", HAWSER_NUMBER, "0", "[0,inf)", "D", \
     "With --early-stopping, count an error as lower only if it is lower by more than D", "Validation", 0}
/* clang-format on */

typedef struct hw_early {
    const hawser_dataset *data; /* the validation data, on node 0 */
    bool validated;             /* node 0 has such data */
    uint64_t patience;          /* evaluations without a lower error that end the training; 0: any number */
    double min_delta;           /* an error is lower if it is so by more than this */
} hw_early;

/* What the blocks count. Numbers only, the same on all blocks. */
typedef struct hw_early_count {
    uint64_t evaluations;
    uint64_t stalled; /* compared errors since the lowest one */
    double error;     /* the last one */
    double lowest;    /* of the compared ones */
} hw_early_count;

/* Takes the validation data and the options. Fails if the data have more than `columns` columns, or if an option can do
 * nothing without data; `kept`: rows that --validation-fraction keeps are such data, too. Collective. */
hawser_status hw_early_new(hw_early *early, hawser_job *job, const hawser_training_input *input, size_t columns, bool kept,
                           hawser_error *error) HAWSER_MUST_USE;
/* Returns the count before the first evaluation. */
hw_early_count hw_early_begin(void);
/* Stores block 0's error in count->error, on every block. Collective over the blocks of a unit that reduces. */
hawser_status hw_early_measure(hawser_context *context, hw_early_count *count, double error) HAWSER_MUST_USE;
/* Compares count->error with the errors before. Returns whether it is the lowest. */
bool hw_early_compare(const hw_early *early, hw_early_count *count);
/* Returns whether the training ends. */
static inline bool hw_early_ends(const hw_early *early, const hw_early_count *count)
{
    return early->patience > 0 && count->stalled >= early->patience;
}

#endif
