/*
 * algorithm.h - a ready algorithm: what `hawser train NAME` calls. One file an algorithm, written on the public headers alone.
 */
#ifndef HAWSER_ALGORITHM_H
#define HAWSER_ALGORITHM_H

#include "hawser/hawser.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a training is given. Pointers are borrowed for the call. */
typedef struct hawser_training_input {
    const hawser_options *options; /**< over hawser_job_rows(), hawser_data_rows() and the algorithm's rows */
    const hawser_dataset *data;
    const hawser_dataset *validation; /**< or NULL */
    const hawser_model *init;         /**< or NULL */
    hawser_observer *observer; /**< progress: sees metrics "objective", "gap", "nonzeros", "bytes", "staleness"; or NULL */
    void *observer_user;
} hawser_training_input;

/** One number about a result, for the JSON line and the closing lines; `name` is static. */
typedef struct hawser_fact {
    const char *name;
    double value;
} hawser_fact;

/** Lines of notes at most. */
#define HAWSER_NOTES 8

/** What a training gives back. `model` is the caller's to free, `run` too. */
typedef struct hawser_training {
    hawser_model *model;
    hawser_run *run;
    hawser_fact facts[32]; /**< objective, gap, lambda, nonzeros, ... ended by a NULL name */
    char stop_reason
        [64]; /**< "gap", "epochs", "clocks", "seconds", "signal", "progress" (no more of it is possible), "diverged", ... */
    bool interrupted; /**< a signal ended it: the model is what was reached */
    /** Of a training that diverged or stalled: its model is the best certified one, and the caller reports this after saving it.
     *  Else its status is HAWSER_OK. Set on all nodes. */
    hawser_error failure;
    /** What the job's policy gives up beside bsp, set before the work begins; "" if nothing. */
    char policy[400];
    /** Lines that a user must see (safeguard acted, sync changed), as they are made; "" past the last. */
    char notes[HAWSER_NOTES][300];
} hawser_training;

typedef struct hawser_algorithm {
    const char *name;      /**< "lasso" */
    const char *summary;   /**< one line */
    const char *citations; /**< papers of the methods used, one a line */
    const hawser_option *rows;
    /** Trains. HAWSER_OK also when a limit or signal ended it early (see stop_reason), and when it diverged but a certified
     *  model is left (see failure). Takes no lock, one call a job at a time. */
    hawser_status (*train)(hawser_job *job, const hawser_training_input *input, hawser_training *training,
                           hawser_error *error);
    /** Prints the plan that train would run. */
    hawser_status (*plan)(hawser_job *job, const hawser_training_input *input, bool physical, bool dot, FILE *out,
                          hawser_error *error);
    /** predictions[rows of data] from a model. data may hold fewer columns than the model, never more (see hawser_load.columns). */
    hawser_status (*predict)(const hawser_model *model, const hawser_dataset *data, double *predictions,
                             hawser_error *error);
    /** Turns `count` predictions of a model into labels, in place; NULL where there are none. */
    hawser_status (*label)(const hawser_model *model, size_t count, double *predictions, hawser_error *error);
    /** Metrics of predictions against data's target (weights respected), ended by a NULL name: "r2", "rmse", "mae" ... */
    hawser_status (*evaluate)(const hawser_model *model, const hawser_dataset *data, const double *predictions,
                              hawser_fact facts[16], hawser_error *error);
} hawser_algorithm;

/** The index-th ready algorithm, NULL past the last; the list is src/algorithms/list.c. */
HAWSER_API const hawser_algorithm *hawser_algorithm_at(size_t index);
HAWSER_API const hawser_algorithm *hawser_algorithm_find(const char *name); /**< NULL when there is none of that name */

#ifdef __cplusplus
}
#endif
#endif
