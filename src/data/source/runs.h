/* runs.h - input that lies in memory, read in long runs: reader k has the k-th run of consecutive lines, by bytes, each time it is
 * read. So text can be counted first and then parsed straight to where it belongs. */
#ifndef HW_DATA_RUNS_H
#define HW_DATA_RUNS_H

#include "data/source/parse.h"

/* Sets the job's readers and its chunks' size, and makes its rows_read; false when the input must be taken as it comes. */
hawser_status hw_runs_begin(hw_job *job, bool *can, hawser_error *error) HAWSER_MUST_USE;

/* Over the whole input; of several failures the first in input order is told. */
hawser_status hw_runs(hw_job *job, hw_chunk_work work, void *context, hawser_error *error) HAWSER_MUST_USE;

/* What was counted is not what was met, in this file; NULL: in one of them. */
hawser_status hw_runs_changed(const hw_job *job, const hw_input_file *file, hawser_error *error);

#endif
