/* learned.h - the file of settings that runs have ended with, from which later ones begin (--learn). Node 0 has it. */
#ifndef HW_RUNTIME_LEARNED_H
#define HW_RUNTIME_LEARNED_H

#include "adapt/learned.h"
#include "hawser/hawser.h"

typedef struct hw_learning {
    char *path;
    bool noted; /* that lines of the file are damaged */
} hw_learning;

/* Returns what a run of the job can be compared by, except its bytes. `program` and `loop` must outlive it. */
hw_learned_run hw_learning_run(const hawser_job *job, const char *program, const char *loop);
/* Finds what the run nearest to `run` has decided. *file and *text hold it, and are freed by the caller, also after a
 * failure. *found is NULL if there is no such run. */
hawser_status hw_learning_find(hawser_job *job, const hw_learned_run *run, char **text, hw_learned_file *file,
                               const hw_learned_line **found, hawser_error *error) HAWSER_MUST_USE;
/* Adds a line to the file, which appears whole or not at all. A file of something else is left alone. Other processes may do
 * so at the same time. */
hawser_status hw_learning_add(hawser_job *job, const hw_learned_run *run, const hw_decided *decided,
                              hawser_error *error) HAWSER_MUST_USE;

#endif
