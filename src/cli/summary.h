/* summary.h - the results of a training: closing lines, the JSON line, the plot's titles. */
#ifndef HW_CLI_SUMMARY_H
#define HW_CLI_SUMMARY_H

#include "cli/monitor.h"

typedef struct hw_training_outcome {
    hawser_job *job;
    hawser_dataset *data, *validation;
    hawser_model *init;
    hawser_training training;
    hw_monitor monitor;
    double seconds_load, seconds_train;
    const char *saved; /* path of the model; NULL if none was requested or none could be written */
    char *rescued;     /* that path, if the model's own file could not be written */
} hw_training_outcome;

/* Returns false if a signal ended the training before its first clock was over: then there is nothing to save. */
bool hw_outcome_reached(const hw_training_outcome *outcome);
/* Prints closing lines on standard output (unless quiet), the table of --log-view, and last the line of --json. */
hawser_status hw_outcome_print(const hw_call *call, const hw_training_outcome *outcome, hawser_error *error) HAWSER_MUST_USE;
/* Prints the line of --json for a job that ended because a node was lost: it has the reason in place of results. */
hawser_status hw_outcome_print_lost(const hw_call *call, const hw_training_outcome *outcome, const char *why,
                                    hawser_error *error) HAWSER_MUST_USE;

void hw_outcome_titles(const hw_call *call, const hw_training_outcome *outcome, char *title, size_t title_size,
                       char *subtitle, size_t subtitle_size);

/* Prints what a training has understood of its input, in four lines (understood.c). */
void hw_say_understood(const hw_call *call, const hawser_dataset *data);

#endif
