/*
 * method.h - what a method gives that fits models by rows: the members of a path, and the folds. The frame (members.h,
 * outcome.h) owns their order (learner/row_path.h), early ends, the errors on held-out rows and on validation data, metrics,
 * kept points and the result.
 *
 * A training's struct begins with its hw_row_path, and a block's scratch with a hw_member_block.
 */
#ifndef HW_ALGORITHMS_LEARNER_METHOD_H
#define HW_ALGORITHMS_LEARNER_METHOD_H

#include "algorithms/learner/row_path.h"
#include "algorithms/model/classed.h"
#include "hawser/record.h"

typedef struct hw_member_block {
    const hw_row_path *path; /* NULL: nothing is made yet */
    hw_row_turn turn;        /* remembered by the frame */
    double *model;           /* the frame's memory: path->width numbers */
} hw_member_block;

/* What a step has done. The same on all blocks. */
typedef struct hw_member_step {
    bool changed; /* the model may be another one than before */
    bool done;    /* its gap is small enough */
    bool stuck;   /* no better one can be found */
} hw_member_step;

/* The memory of a method. */
typedef struct hw_member_needs {
    size_t reduces;        /* the most numbers that its functions reduce at a time, */
    size_t numbers, clock; /* and those that are expected at a time, and in a clock */
    uint64_t block, node;  /* bytes of a block's scratch, and of each node, */
    uint64_t record;       /* and those of the scratch that `visit` writes, */
    uint64_t records;      /* in all blocks together; 0: blocks times `record` */
} hw_member_needs;

/* Functions that get a context are called by all blocks alike, and may reduce. `block` is this block's scratch. */
struct hw_member_method {
    const char *name;           /* of the program and in model files */
    const char *parameter;      /* what the members differ by, as a metric and a fact: "lambda" or "C" */
    const char *const *metrics; /* those that `report` reports, ended by NULL */
    bool penalised;             /* by lambda: `look` fills HW_ROW_PENALTY, and "lambda_max" is a metric */
    const char *accuracy;       /* the fact of the second number of `measure`, or NULL */
    size_t block;               /* bytes of a block's scratch */

    hw_member_needs (*needs)(const void *own, uint32_t nodes);
    /* Makes the scratch of block `number` with these rows of X; it is zeroed but for hw_member_block. `drop` frees it, also
     * after a failure. */
    hawser_status (*make)(void *block, const void *own, const hawser_matrix *X, uint32_t number, hawser_error *error);
    void (*drop)(void *block);
    /* Visits what the block remembers (hawser_scratch_record); when it reads, the block has been made. */
    void (*visit)(hawser_record *record, hawser_context *context, void *block);

    /* Begins the first model. Sets *changed to whether there already is one to look at. */
    hawser_status (*prepare)(hawser_context *context, void *block, bool *changed);
    /* Begins the model of turn.member and turn.fold. It may start from the one before. */
    hawser_status (*begin)(hawser_context *context, void *block);
    /* Goes one step, and counts it in turn.iteration. */
    hawser_status (*step)(hawser_context *context, void *block, hw_member_step *step);
    /* Fills the fields from HW_ROW_PARAMETER to HW_ROW_PENALTY of the best model so far. */
    void (*look)(const void *block, double fields[HW_ROW_FIELDS]);
    /* Stores its numbers, for rows as they are: a row per column and one of intercepts, each with a number per output. */
    void (*model)(void *block, double *numbers);
    /* Stores the weight of the block's rows that are held out, and the sum of their weighted errors (--cv-metric). */
    hawser_status (*held_out)(hawser_context *context, void *block, double sums[2]);
    hawser_status (*report)(hawser_context *context, const void *block);

    /* Stores the error of a model on data, and the number of the fact `accuracy`. */
    hawser_status (*measure)(const hw_classed *model, const hawser_dataset *data, double values[2], hawser_error *error);
    /* Adds notes to a finished training; may be NULL. */
    void (*note)(const void *own, hawser_training *training);
};

#endif
