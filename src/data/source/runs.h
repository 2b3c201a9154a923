/* runs.h - input in memory, read in long runs: reader k gets the k-th run of consecutive lines, by bytes, each time. So text
 * can be counted first and then parsed directly into its arrays. */
#ifndef HW_DATA_RUNS_H
#define HW_DATA_RUNS_H

#include "data/source/parse.h"

/* Sets the reading's readers and chunk size, and makes its rows_read. *can is false if the input must be read as a
 * stream. */
hawser_status hw_runs_begin(hw_reading *reading, bool *can, hawser_error *error) HAWSER_MUST_USE;

/* Reads the whole input; of several failures the first in input order is reported. */
hawser_status hw_runs(hw_reading *reading, hw_chunk_work work, void *context, hawser_error *error) HAWSER_MUST_USE;

/* Fails because the counts of this file (NULL: of one of the files) differ from what was read. */
hawser_status hw_runs_changed(const hw_reading *reading, const hw_input_file *file, hawser_error *error);

#endif
