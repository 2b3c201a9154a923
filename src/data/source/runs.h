/* runs.h - input that lies in memory and can be read again: counted first, it is then parsed straight to where it belongs. Reader k
 * has the k-th run of consecutive lines each time, by bytes, so what it counted is what it meets. */
#ifndef HW_DATA_RUNS_H
#define HW_DATA_RUNS_H

#include "data/format/parse.h"

/* Called with the chunks of a reader's run in their order, by several readers at a time. */
typedef hawser_status (*hw_chunk_work)(void *context, uint32_t reader, const hw_chunk *chunk, hawser_error *error);

/* Sets the job's readers and its chunks' size, and makes its rows_read; false when the input must be taken as it comes. */
hawser_status hw_runs_begin(hw_job *job, bool *can, hawser_error *error) HAWSER_MUST_USE;

/* Over the whole input; of several failures the first in input order is told. */
hawser_status hw_runs(hw_job *job, hw_chunk_work work, void *context, hawser_error *error) HAWSER_MUST_USE;

/* As if nothing had been read: hw_parse is to read it. */
void hw_runs_undo(hw_job *job);

/* What was counted is not what was met. */
hawser_status hw_runs_changed(const hw_job *job, hawser_error *error);

#endif
