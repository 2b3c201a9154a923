/* checkpoints.h - the checkpoints of a job in a folder (--checkpoint): a checkpointer that writes in a thread of its own. */
#ifndef HW_RUNTIME_JOB_CHECKPOINTS_H
#define HW_RUNTIME_JOB_CHECKPOINTS_H

#include "runtime/job/checkpointer.h"
#include "runtime/job/job.h"

/* Opens the folder of --checkpoint, if it was given, and finds the checkpoint from which the job goes on. Called before the
 * first run of a program with a loop: other commands leave a folder alone, which may be in use. */
hawser_status hw_checkpoints_open(hawser_job *job, hawser_error *error) HAWSER_MUST_USE;
/* Writes what waits, and closes the folder. `finished`: the programs have ended by themselves, so that the checkpoints are
 * removed. */
void hw_checkpoints_close(hawser_job *job, bool finished);
/* Adds the contents of a dataset to what a run that goes on must have as well. */
void hw_checkpoints_loaded(hawser_job *job, const hawser_dataset *dataset);
#endif
