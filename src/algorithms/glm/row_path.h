/*
 * row_path.h - the order in which trainings by rows fit the models of a path and of the folds: all members of the path on all rows, then all of them
 * without the rows of fold 1, and so on. Each model starts from the member before.
 *
 * With --early-stopping, a path ends by the errors of its members on validation data, and the training of one model by the errors of its steps.
 *
 * What remains of the models is in two states. "path" has those of all rows: width x members numbers, those of one coefficient side by side.
 * "table" has HW_ROW_FIELDS numbers for each model, by fold and by member.
 */
#ifndef HW_ALGORITHMS_GLM_ROW_PATH_H
#define HW_ALGORITHMS_GLM_ROW_PATH_H

#include "algorithms/glm/choices.h"
#include "algorithms/model/early.h"

/* The models of a training. */
typedef struct hw_row_path {
    hw_linear_settings choice; /* what --path, --cv and the options beside them ask for */
    hw_early early;
    size_t members;        /* of the path, at least 1 */
    uint32_t *fold;        /* by row of the whole data, from 1 on; NULL: no row is held out */
    double *class_weights; /* by fold that is held out (0: none), then by class; NULL: all are 1 */
    size_t classes;
    size_t width; /* numbers of a model: a row per column and one of intercepts, each with a number per output */
    size_t outputs;
    bool one; /* hw_row_path_one */
} hw_row_path;

/* Why the training of a model has ended: the metric "ended". Of several models, the largest is reported. */
typedef enum hw_row_end {
    HW_END_GOES_ON = 0,
    HW_END_GAP,
    HW_END_ITERATIONS,
    HW_END_PRECISION, /* no smaller objective was found */
    HW_END_EARLY      /* --early-stopping */
} hw_row_end;

/* Where the training is. Numbers only, the same on all blocks. */
typedef struct hw_row_turn {
    uint64_t fold;     /* the fold that is held out, from 1 on; 0: none */
    uint64_t member;   /* of the path */
    uint64_t finished; /* 1: this model is, and the next one has not begun */
    uint64_t before;   /* iterations of the models before */
    hw_row_end worst;  /* the end that weighs most, of the finished models */
    hw_early_count early;
} hw_row_turn;

enum {
    HW_ROW_DONE,      /* 1 when the model is finished */
    HW_ROW_PARAMETER, /* the member's lambda or C */
    HW_ROW_OBJECTIVE,
    HW_ROW_GAP,
    HW_ROW_ROUNDING, /* bound of the gap's rounding error */
    HW_ROW_PENALTY,
    HW_ROW_WEIGHT, /* of the held-out rows */
    HW_ROW_ERROR,  /* their mean error */
    HW_ROW_FIELDS
};

/* Returns whether the model of each member is kept: there are several, or were asked for, or folds follow, whose models take its place. */
static inline bool hw_row_keeps_path(const hw_row_path *path)
{
    return path->members > 1 || path->choice.folds > 0 || path->one;
}
/* Returns whether errors on validation data are measured now: those of models of all rows are. */
static inline bool hw_row_validates(const hw_row_path *path, const hw_row_turn *turn)
{
    return path->early.validated && turn->fold == 0;
}
/* Returns whether the result is the model of the step with the lowest error, which may not be the last. */
static inline bool hw_row_keeps_lowest(const hw_row_path *path)
{
    return path->early.patience > 0 && path->members == 1;
}
/* Reads the choice, takes the validation data, and deals the folds. `classes`: the target has classes. Collective. The caller calls
 * hw_row_path_free, also after a failure. */
hawser_status hw_row_path_new(hw_row_path *path, hawser_job *job, const hawser_training_input *input, bool classes,
                              hawser_error *error) HAWSER_MUST_USE;
void hw_row_path_free(hw_row_path *path);
/* Leaves one member of a path, because all columns have equal values: every member would be the same. */
void hw_row_path_one(hw_row_path *path);
/* Adds the states "table" and, if members are kept, "path" to a program. *numbers is NULL without the latter. */
void hw_row_path_states(hawser_program *program, const hw_row_path *path, hawser_state **table, hawser_state **numbers);

/* Stores the weights of the classes in each fold, or in all rows if none is held out, added up over all blocks: folds x classes numbers, which are
 * reduced. Without `labels` there is one class. Called by each block that reads "X", the rows of `data`. The caller frees *weights. */
hawser_status hw_row_class_sums(hawser_context *context, const hw_row_path *path, const hawser_dataset *data,
                                const double *labels, size_t classes, double **weights) HAWSER_MUST_USE;
/* Fails if a fold has no row with a weight above 0, or leaves a class (with `labels`) or the training without one. Reduces folds x classes numbers.
 * Called by each block that reads "X", the rows of `data`. */
hawser_status hw_row_path_check(hawser_context *context, const hw_row_path *path, const hawser_dataset *data,
                                const double *labels, size_t classes) HAWSER_MUST_USE;
/* Returns whether a row of the whole data is held out. */
static inline bool hw_row_out(const hw_row_path *path, const hw_row_turn *turn, size_t row)
{
    return turn->fold > 0 && path->fold[row] == turn->fold;
}
/* Returns the weights of the classes in the training, or NULL if all are 1. */
static inline const double *hw_row_class_weights(const hw_row_path *path, const hw_row_turn *turn)
{
    return path->class_weights != NULL ? path->class_weights + turn->fold * path->classes : NULL;
}
/* Returns how many models are not finished. */
double hw_row_models_left(const hw_row_path *path, const hw_row_turn *turn);
/* Takes block 0's error of a step on validation data. *keep becomes whether the model of the step is the result so far. Collective over the blocks
 * of a unit that reduces. */
hawser_status hw_row_take_error(hawser_context *context, const hw_row_path *path, hw_row_turn *turn, double error,
                                bool *keep) HAWSER_MUST_USE;
/* Writes the fields of a step that is the result so far, which hw_row_finish then leaves. */
void hw_row_keep(hawser_context *context, const hw_row_path *path, const hw_row_turn *turn,
                 const double fields[HW_ROW_FIELDS]);
/* Returns whether the training of one model ends by the errors of its steps. */
static inline bool hw_row_ends_early(const hw_row_path *path, const hw_row_turn *turn)
{
    return hw_row_keeps_lowest(path) && hw_early_ends(&path->early, &turn->early);
}
/* Notes that a model is finished, and writes the block's shares of it. Returns HW_END_GOES_ON if another model follows, else the end that weighs most. */
hw_row_end hw_row_finish(hawser_context *context, const hw_row_path *path, hw_row_turn *turn, const double *model,
                         const double fields[HW_ROW_FIELDS], hw_row_end ended);
/* Goes on to the next model if the last one, of so many iterations, is finished. Returns whether it was. */
bool hw_row_go_on(const hw_row_path *path, hw_row_turn *turn, uint64_t iterations);

/* The `test` of hawser_until: whether the metric "ended" names an end. */
bool hw_row_has_ended(hawser_progress *progress, void *user);
/* Runs the program of a training and frees it. Fills training->run, ->interrupted and ->stop_reason; fails if not even one iteration ended. */
hawser_status hw_row_run(hawser_program *program, hawser_job *job, const hawser_training_input *input,
                         hawser_training *training, hawser_error *error) HAWSER_MUST_USE;

#endif
