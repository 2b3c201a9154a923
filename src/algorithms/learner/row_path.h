/*
 * row_path.h - the order in which trainings by rows fit the models of a path and of the folds: all members of the path on
 * all rows, then all of them without the rows of fold 1, and so on. Each model starts from the member before. Or `abreast`:
 * each member on all rows, then without the rows of each fold, before the next member. Then the path can end by its errors.
 *
 * With --early-stopping, a path ends by the errors of its members on validation data, and the training of one model by the
 * errors of its steps.
 *
 * What remains of the models is in two states. "path" has those of all rows: width x members numbers, those of one
 * coefficient side by side. "table" has HW_ROW_FIELDS numbers for each model, by fold and by member.
 */
#ifndef HW_ALGORITHMS_LEARNER_ROW_PATH_H
#define HW_ALGORITHMS_LEARNER_ROW_PATH_H

#include "algorithms/choice/choice.h"
#include "algorithms/choice/finished.h"
#include "algorithms/model/centre.h"
#include "algorithms/model/classed.h"
#include "algorithms/model/early.h"

/* The models of a training. */
typedef struct hw_row_path {
    const hawser_dataset *data;
    const hawser_matrix *X; /* of the data */
    uint64_t held;          /* bytes of data in memory besides X (hawser_training_input.held) */
    uint32_t blocks;
    bool intercept;
    double tolerance;
    uint64_t iterations; /* the most of a model */

    hw_choice choice; /* what --path, --cv and the options beside them ask for */
    hw_early early;
    size_t members;        /* of the path, at least 1 */
    bool abreast;          /* all folds of a member precede the next member */
    size_t beyond;         /* members after that of the least error which end the path (hw_error_has_risen); 0: none do */
    uint32_t *fold;        /* by row of the whole data, from 1 on; NULL: no row is held out */
    double *labels;        /* of the classes, ascending; NULL: a regression */
    double *class_weights; /* by fold that is held out (0: none), then by class; NULL: all are 1 */
    size_t classes;        /* 0: a regression */
    size_t width;          /* numbers of a model: a row per column and one of intercepts, each with a number per output */
    size_t outputs;
    double *given;    /* the numbers of the model to start from, or NULL */
    hw_centre centre; /* without an intercept, nothing is shifted */
    bool one;         /* all columns have equal values, so the path has one member */

    /* What the states "path" and "table" have, and the iterations until then. On node 0, with several nodes and a path; or
     * NULL. */
    hw_finished *finished;
    const struct hw_member_method *method; /* learner/method.h */
    const char *cv_name;                   /* the fact of the errors of --cv */
    /* The metric of the errors on validation data, and whether it is 1 - error. */
    const char *error_name;
    bool shows_accuracy;
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
    uint64_t fold;      /* the fold that is held out, from 1 on; 0: none */
    uint64_t member;    /* of the path */
    uint64_t finished;  /* 1: this model is, and the next one has not begun */
    uint64_t iteration; /* of this model, from 0 on: those that have ended */
    uint64_t before;    /* those of the models before */
    hw_row_end worst;   /* the end that weighs most, of the finished models */
    hw_early_count early;
    /* While folds are abreast. */
    double weight, errors; /* of the held-out rows of this member's folds so far: their weight, and weighted errors */
    double least;          /* mean error of the members so far */
    uint64_t least_at;     /* the last member that has it */
    uint64_t risen;        /* 1: the errors have ended the path */
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

/* Returns whether the model of each member is kept: there are several, or were asked for, or folds follow, whose models take
 * its place. */
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
/* Takes the data, reads and checks the options that all such trainings have, takes the validation data, and deals the
 * folds. `name` is the training's in messages; `classes`: the target has classes. Collective, as the next three. The caller
 * calls hw_row_path_free, also after a failure. */
hawser_status hw_row_path_new(hw_row_path *path, hawser_job *job, const hawser_training_input *input, const char *name,
                              bool classes, hawser_error *error) HAWSER_MUST_USE;
void hw_row_path_free(hw_row_path *path);
/* Finds the classes of the rows with a weight above 0. Fails with the advice if they are more than `most`. */
hawser_status hw_row_path_classes(hw_row_path *path, hawser_job *job, size_t most, const char *advice,
                                  hawser_error *error) HAWSER_MUST_USE;
/* Measures the columns if there is an intercept. */
hawser_status hw_row_path_centre(hw_row_path *path, hawser_job *job, hw_centre_of what, hawser_error *error) HAWSER_MUST_USE;
/* Reads the weights of the classes, and the numbers to start from. The path has its outputs; `pairs`: one for two
 * classes. */
hawser_status hw_row_path_start(hw_row_path *path, hawser_job *job, const hawser_training_input *input, bool pairs,
                                hawser_error *error) HAWSER_MUST_USE;
/* Returns the numbers of the state "table". */
size_t hw_row_path_table(const hw_row_path *path);
/* Adds the states "table" and, if members are kept, "path" to a program. *numbers is NULL without the latter. */
void hw_row_path_states(hawser_program *program, const hw_row_path *path, hawser_state **table, hawser_state **numbers);

/* Stores the weights of the classes in each fold, or in all rows if none is held out, added up over all blocks: folds x
 * classes numbers, which are reduced. Unless `by_class`, or in a regression, there is one class. Called by each block that
 * reads "X", the rows of path->data. The caller frees *weights, also after a failure. */
hawser_status hw_row_class_sums(hawser_context *context, const hw_row_path *path, bool by_class,
                                double **weights) HAWSER_MUST_USE;
/* Fails if a fold has no row with a weight above 0, or leaves a class or the training without one. Reduces folds x classes
 * numbers. Called by each block that reads "X". */
hawser_status hw_row_path_check(hawser_context *context, const hw_row_path *path) HAWSER_MUST_USE;
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
/* Returns how many members are finished from the first on, by the numbers of the state "table": with their folds, if these
 * are abreast, except while the first member's are fitted. */
size_t hw_row_members_done(const hw_row_path *path, const double *table);
/* Returns how many models are not finished. */
double hw_row_models_left(const hw_row_path *path, const hw_row_turn *turn);
/* Takes block 0's error of a step on validation data. *keep becomes whether the model of the step is the result so far.
 * Collective over the blocks of a unit that reduces. */
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
/* Notes that a model is finished, and writes the block's shares of it. Returns HW_END_GOES_ON if another model follows, else
 * the end that weighs most. */
hw_row_end hw_row_finish(hawser_context *context, const hw_row_path *path, hw_row_turn *turn, const double *model,
                         const double fields[HW_ROW_FIELDS], hw_row_end ended);
/* Goes on to the next model if the last one is finished. Returns whether it was. */
bool hw_row_go_on(const hw_row_path *path, hw_row_turn *turn);

#endif
