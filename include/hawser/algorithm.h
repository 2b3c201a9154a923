/*
 * algorithm.h - a ready algorithm: what `hawser train NAME` runs. Each algorithm is written on the public headers alone, and
 * the command prints its options, metrics, models and help from the rows below.
 */
#ifndef HAWSER_ALGORITHM_H
#define HAWSER_ALGORITHM_H

#include "hawser/hawser.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The input of a training. Pointers are borrowed for the call. */
typedef struct hawser_training_input {
    const hawser_options *options; /**< over hawser_job_rows(), hawser_data_rows() and the algorithm's rows */
    const hawser_dataset *data;
    /** All of them on node 0, which measures the error, with the columns and the number of targets of `data`; NULL: none, or
     *  another node. */
    const hawser_dataset *validation;
    const hawser_model *init;  /**< the model to start from, or NULL */
    hawser_observer *observer; /**< receives the progress, with the metrics that the algorithm reports; or NULL */
    void *observer_user;
    /** Only node 0 needs the result, as in a program that saves and prints it there: the other nodes then get no model and
     *  no facts, and a model is not sent to them. The same on all nodes. */
    bool result_on_lead;
    /** What the options lower, upper and penalty-factors say, as arrays instead of files: a number for each column of the
     *  matrix. Bounds may be infinite. NULL: none. The same on all nodes. hawser_train refuses an array that its algorithm
     *  has no option for, and one beside its option; the number of a bound that excludes 0, of a factor below 0 and of a NaN
     *  is named. */
    const double *lower, *upper, *penalty_factors;
    /** What a file of the option folds says, as an array: the fold of each row of the whole data, from 0 or 1 on, for the
     *  option cv. NULL: none. The same on all nodes, and refused as the arrays above. */
    const double *folds;
    /** What hawser_train has subtracted from each column of `data` and of `validation`, as the algorithm asks by `centres`:
     *  the model is that of the columns without it, until the algorithm adds it to the intercepts. NULL: nothing. Callers of
     *  hawser_train leave it NULL. */
    const double *origin;
    /** Bytes on this node of data that are in memory besides `data`: those from which hawser_train has turned or centred
     *  them, and validation data. The algorithm adds them to what its program expects (hawser_scratch_expect). Callers of
     *  hawser_train leave it 0. */
    uint64_t held;
} hawser_training_input;

/** One number about a result, for the JSON line and the closing lines. `name` is static and is that of a metric row. */
typedef struct hawser_fact {
    const char *name;
    double value;
} hawser_fact;

/** The most metrics of an algorithm that are traced or plotted, or shown while it trains. */
#define HAWSER_TRACED 10

/** Describes a number that an algorithm reports while it trains (hawser_report) or at the end (hawser_training.facts). */
typedef struct hawser_metric_row {
    const char *name; /**< in --json, --trace, --log-json and the closing lines; NULL ends the rows */
    const char *help; /**< one line for `hawser help`; NULL: only forecasts use the metric */
    bool always;      /**< --json has it, as null if unknown, even if the training returns no such fact */
    bool traced;      /**< a column of --trace, a field of --log-json, and a part of the plot's subtitle */
    bool progress;    /**< part of the progress line; a change of it makes a new line of --trace and a point of --plot */
    bool exponent;    /**< printed as 1.23e-05 in the progress line and the subtitle, instead of 6 significant digits */
    const char *axis; /**< label of its panel in --plot; NULL: not plotted */
    bool log_axis;    /**< its axis is always logarithmic, instead of only if its values have very different sizes */
    /** Returns the value at which the metric ends the run, so that the command can forecast the end; NaN if unknown, or if
     *  something else ends the run. NULL: the metric ends no run. If several rows have a target, the first one that is not
     *  NaN is used. */
    double (*target)(const hawser_options *options, const hawser_progress *progress);
    bool counts; /**< with a target: the metric counts down, about evenly, instead of falling by factors */
    /** With a target: returns whether the metric may still rise, so that a forecast is a lower bound. NULL: it may not. */
    bool (*may_rise)(const hawser_options *options, const hawser_progress *progress);
} hawser_metric_row;

/** The most measures of an evaluation. */
enum { HAWSER_MEASURES = 24 };

/** What an evaluation compares. Pointers are borrowed for the call. */
typedef struct hawser_evaluation_input {
    const hawser_model *model;
    size_t rows;
    size_t outputs; /**< the width of the head that `scored` is from */
    /** Two numbers per output of each row: that of the head "scores", "link" or "prediction", whichever the algorithm has
     *  first, then the target; of scores and links the row's first target, or NaN if the data have none. The evaluation
     *  overwrites them, so that it needs no further memory per row. */
    double *scored;
    const double *weights;    /**< one per row; NULL: all rows count alike */
    const char *const *words; /**< the labels if the target has words: label K is words[K] (hawser_schema_target); or NULL */
    double threshold;         /**< two classes: the higher label is predicted if its probability is above this */
} hawser_evaluation_input;

/** One measure of predictions: a number, a table or a matrix. Its name and those of columns are static. */
typedef struct hawser_measure {
    const char *name; /**< that of a measure row; NULL past the last measure */
    double value;     /**< the number; NaN: unknown */
    char why[120];    /**< why the number is unknown; "" if it is known */
    double
        *values; /**< a table or matrix: lines x width numbers, by line, NaN: unknown. The caller frees it. NULL: a number */
    size_t lines, width;        /**< of values */
    const char *const *columns; /**< a table: the names of its `width` columns; NULL: a matrix */
    const double *heads; /**< a matrix: `width` labels of its lines and of its columns, inside the memory of `values` */
} hawser_measure;

/** Describes a measure for `hawser help measures`. In --json a number is a number or null, a table a list of objects with
 *  the names of its columns as keys, a matrix a list of lists. */
typedef struct hawser_measure_row {
    const char
        *name; /**< a key of --json; NULL ends the rows. A column of the table before it begins with a dot: ".recall" */
    const char *help; /**< its definition, as a phrase */
} hawser_measure_row;

/** The solutions that a model has for several values of a parameter, from the model that the penalty holds most: its path.
 *  So lambdas fall, and C rises. The arrays are borrowed from the model; those of numbers have `count` elements. */
typedef struct hawser_path {
    size_t count;
    size_t planned;    /**< members that it would have, if the training was ended before all were finished; else `count` */
    const char *ended; /**< why, as hawser_training.stop_reason; NULL: it was not. Of the model */
    const char *name;  /**< of the parameter, as a metric row and the option of member_rows have it; static */
    const double *parameter; /**< its values */
    const double *objective;
    const double *error, *standard_error; /**< on rows that the training did not see; NULL: not measured */
    /** If folds measured the error: how many, the error of each member on the rows that each fold holds out (`folds` numbers
     *  per member), and the weight of these rows in `error`, by fold. Models of older releases have none: 0 and NULL. */
    size_t folds;
    const double *fold_errors, *fold_weights;
    /** Why the training was ended before all folds had measured the members, so that these have no `error`, as
     *  hawser_training.stop_reason; NULL: it was not. Of the model */
    const char *folds_ended;
    const char *error_name;  /**< "mean squared error", static */
    size_t columns;          /**< of the training data */
    size_t outputs;          /**< numbers that the model predicts for a row */
    const double *intercept; /**< count x outputs */
    const int64_t *offsets;  /**< count + 1: the coefficients of member k are those from offsets[k] to offsets[k + 1] */
    const int64_t *index;    /**< their columns, from 0, ascending */
    const double *value;     /**< outputs x offsets[count] */
    size_t chosen;           /**< the member that the model's own coefficients are from; `count`: none */
    size_t least;            /**< the member with the least error; `count`: unknown */
    size_t one_se;           /**< the first member within one standard error of the least error; `count`: unknown */
} hawser_path;

/** The words of a model's topics, the likeliest ones first. The caller frees the arrays with free. */
typedef struct hawser_topic_words {
    size_t topics;
    double *share;       /**< of each topic: its part of the words of the training's documents */
    size_t *offsets;     /**< topics + 1: the words of topic k are those from offsets[k] to offsets[k + 1] */
    size_t *columns;     /**< of the training's data, from 0 */
    double *probability; /**< of each of these words in the topic */
} hawser_topic_words;

/** A thing that models compute for each row of data. Names are static. */
typedef struct hawser_head {
    /** "prediction": the first head of each table. "link": the linear predictor, offset included; without it predictions are
     *  the linear predictor, or models have none if there are "distances". "label": the label of the most probable class.
     *  "probabilities": of each class, where predictions are labels. "distances": to each centre. "scores": what `evaluate`
     *  gets, if that is not the "link" or, without it, the prediction. "probabilities" without "label": of each topic.
     *  NULL ends the table. */
    const char *name;
    /** Returns how many numbers a row has; NULL: one. If the prediction has it, trainings take several targets
     *  (hawser_load.outputs). */
    size_t (*width)(const hawser_model *model);
    double (*label)(const hawser_model *model,
                    size_t place); /**< the label of number `place`; labels ascend. NULL: numbers have none */
    /** Stores `width` numbers per row in `values`, row after row. data has no more columns than the model (see
     *  hawser_load.columns). */
    hawser_status (*compute)(const hawser_model *model, const hawser_dataset *data, double *values, hawser_error *error);
    bool labels; /**< its numbers are labels, as those of "label" are; commands print words if labels are words */
} hawser_head;

/** A page of the help: `hawser help NAME`. */
typedef struct hawser_topic {
    const char *name; /**< NULL ends the pages */
    const char *title;
    const char *text; /**< lines of at most 90 columns, each ended by a newline */
} hawser_topic;

/** The most notes of a training. */
#define HAWSER_NOTES 8

/** The most closing lines of a training. */
#define HAWSER_CLOSING 4

/** The result of a training. The caller frees `model` and `run`, also after a failure. If HAWSER_PEER_LOST or HAWSER_TIMEOUT
 *  ends a training of a path, node 0 has a `model` of the members that were finished, without a `run`; if none was, or there
 *  is no path, it has none. hawser_train fills it on every node with what node 0 has; `run` is the node's own, and says in
 *  hawser_run_figures which of its figures only node 0 has. */
typedef struct hawser_training {
    hawser_model *model; /**< its bytes are the same on all nodes (hawser_model_to_bytes) */
    hawser_run *run;
    hawser_fact facts[32]; /**< the metrics of the model, ended by a NULL name */
    char stop_reason
        [64];         /**< "gap", "epochs", "clocks", "signal", "progress" (it stalled), "early-stopping", "node-lost" ... */
    bool interrupted; /**< a signal ended the training; the model is the one that was reached */
    /** If the training diverged or stalled: the failure that the caller reports after saving the model, which is then the
     *  best certified one. Else its status is HAWSER_OK. Set on all nodes. */
    hawser_error failure;
    /** The guarantees of bsp that the job's policy lacks, set before the work begins; "" if it lacks none. */
    char policy[400];
    /** What the training assumed because the user has not set it, and the options that do; "" if nothing. */
    char assumed[300];
    /** Lines that a user must see (a safeguard acted, the policy changed), set when they occur; "" past the last. */
    char notes[HAWSER_NOTES][300];
    /** A short table of the result, which the command prints after the facts; "" past the last line. */
    char closing[HAWSER_CLOSING][120];
} hawser_training;

typedef struct hawser_algorithm {
    const char *name;      /**< "lasso" */
    const char *summary;   /**< one line */
    const char *citations; /**< papers of the methods, one per line */
    const void *user;      /**< for the functions below that receive the algorithm; NULL: they need nothing */
    const hawser_option *rows;
    const hawser_metric_row *metrics; /**< the numbers that it reports; NULL: none */
    const hawser_topic *topics;       /**< its own pages of the help; NULL: none */
    /** of the training data (hawser_load.split): what a block has of them; never HAWSER_WHOLE or HAWSER_FETCHED */
    hawser_split split;
    /** Columns without entries matter to models: trainings get them, too, where those of other algorithms may be given data
     *  without them. */
    bool all_columns;
    /** Trainings use no target. Data have one only if --target names it: a label, which is no feature, and which `evaluate`
     *  may compare with. */
    bool no_target;
    /** Models have no offset of rows: hawser_train refuses data with one, and so does prediction. */
    bool no_offset;
    bool counts;     /**< data are counts (hawser_load.counts) */
    bool no_weights; /**< rows have no weights: the algorithm refuses data with weights */
    /** Trains. Returns HAWSER_OK also if a limit or signal ended the training early (see stop_reason), and if it diverged
     *  but a certified model is left (see failure). Collective; one call per job at a time. Only node 0 needs to fill
     *  `training`, except `run` and `failure`; the status of what it does alone is agreed on (hawser_job_agree). */
    hawser_status (*train)(const struct hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                           hawser_training *training, hawser_error *error);
    /** Returns the use that the training makes of a start model, if it does not simply start from it: the end of a sentence
     *  that begins with the model's path. The result is static; NULL: the training starts from the model. The member may be
     *  NULL. */
    const char *(*init_use)(const hawser_options *options);
    /** The names NAME that it reads by hawser_job_init_numbers (--init NAME=FILE), separated by blanks; NULL: none. */
    const char *starts;
    /** Returns whether trainings with these options have a free intercept, so that they may subtract a number from a column.
     *  hawser_train then passes columns that are far from zero without their origin (hawser_job_origins,
     *  hawser_training_input.origin). NULL: never. */
    bool (*centres)(const hawser_options *options);
    /** Prints the plan that train would run. */
    hawser_status (*plan)(const struct hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                          hawser_plan_format format, FILE *out, hawser_error *error);
    const hawser_head *heads; /**< what the models compute for rows, ended by a NULL name; NULL: nothing */
    bool log_link;            /**< predictions are exp(margin): the offset may be the logarithm of an exposure */
    /** Compares predictions with targets. `measures` has HAWSER_MEASURES zeroed elements. The caller frees
     *  their values, also after a failure. NULL: there is nothing to compare. */
    hawser_status (*evaluate)(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error);
    const hawser_measure_row *measures; /**< what evaluate measures; NULL if evaluate is NULL */
    /** Prints the parameters of a model to `out`, one per line, the `most` most important ones first. NULL: there is no such
     *  list. */
    hawser_status (*coefficients)(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error);
    /** Stores the `most` likeliest of the words that each topic has. NULL: models have no topics. */
    hawser_status (*topic_words)(const hawser_model *model, uint64_t most, hawser_topic_words *words, hawser_error *error);
    /** Describes the path of a model. HAWSER_BAD_OPTION: the model has none. NULL: models have no paths. */
    hawser_status (*path)(const struct hawser_algorithm *algorithm, const hawser_model *model, hawser_path *path,
                          hawser_error *error);
    /** Gives a model the coefficients and facts of the member of its path that a value of the option of member_rows names.
     *  HAWSER_BAD_OPTION: there is no such member. NULL exactly if `path` is. */
    hawser_status (*choose)(hawser_model *model, const char *member, hawser_error *error);
    /** The options that name a member of a path, for commands that use models: one row for each hawser_path.name. Algorithms
     *  with paths share one table. NULL exactly if `path` is. */
    const hawser_option *member_rows;
} hawser_algorithm;

/** Trains like algorithm->train, with data in any layout, and with the result on every node. Adds what a later load for the
 *  model needs: the means that replace missing values (hawser_dataset_means). An algorithm that is split by row reads CSR
 *  and HAWSER_DENSE_ROWS, and the others read CSC and HAWSER_DENSE. Data in such a layout, also borrowed ones
 *  (hawser_dataset_borrow), are read where they are. Others, validation data too, are turned first (hawser_dataset_turn),
 *  which takes one copy of their entries until the call returns. The result has the bits of data that were in that layout.
 *  Collective; one call per job at a time. */
HAWSER_API hawser_status hawser_train(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                                      hawser_training *training, hawser_error *error) HAWSER_MUST_USE;

/** Stores the plan that hawser_train would run in *text, which the caller frees with free. The data are turned as there.
 *  Collective. */
HAWSER_API hawser_status hawser_train_plan(const hawser_algorithm *algorithm, hawser_job *job,
                                           const hawser_training_input *input, hawser_plan_format format, char **text,
                                           hawser_error *error) HAWSER_MUST_USE;

/** Returns the index-th ready algorithm, or NULL past the last. The list is src/algorithms/list.c. */
HAWSER_API const hawser_algorithm *hawser_algorithm_at(size_t index);
/** Rewrites a text of the library in place, for callers that have keyword arguments. Failures, messages and notes name
 *  options as the command does. This call turns --l1-ratio into l1_ratio, and --no-intercept into intercept=no. Other flags,
 *  such as srun's, stay. A binding that sets options as HAWSER_FROM_CALL passes each text through it. `text` may be NULL. */
HAWSER_API void hawser_name_keywords(char *text);
/** Returns the head of that name ("link"), or NULL if there is none, or if an argument is NULL. */
HAWSER_API const hawser_head *hawser_algorithm_head(const hawser_algorithm *algorithm, const char *name);
/** Returns the algorithm of that name, or NULL if there is none. */
HAWSER_API const hawser_algorithm *hawser_algorithm_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
