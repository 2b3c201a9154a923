/* recorder.h - where a job's history is written: one file a node, batches of all streams as they fill (docs/history.md). */
#ifndef HW_RUNTIME_RECORDER_H
#define HW_RUNTIME_RECORDER_H

#include "hawser/hawser.h"
#include "history/record.h"

typedef struct hw_recorder hw_recorder;

/* Starts the job's history where --record-history asks for one: node 0 writes that file, node k FILE.k. All nodes call it alike; a file that
 * cannot be written is HAWSER_IO on all of them. */
hawser_status hw_recorder_open(hawser_job *job, hawser_error *error) HAWSER_MUST_USE;
/* Writes the last word, without which a history is not whole; of a job that failed also who was lost. Nothing where there is no recorder. */
void hw_recorder_close(hawser_job *job);
/* The node that the job has lost first; HW_HISTORY_NOBODY. */
uint32_t hw_recorder_lost(const hawser_job *job);

/* A number for the program or store that begins now: all nodes begin them in one order. 0 with NULL. */
uint32_t hw_recorder_run(hw_recorder *recorder);
/* A stream; *log is NULL without a recorder. Ended by hw_recorder_drop. */
hawser_status hw_recorder_log(hw_recorder *recorder, hw_stream_name name, hw_log **log, hawser_error *error) HAWSER_MUST_USE;
void hw_recorder_drop(hw_log *log);
/* HAWSER_IO with its words once the history could not be written: it is lost then, and who asked for it has to know. Any thread. */
hawser_status hw_recorder_trouble(hw_recorder *recorder, hawser_error *error) HAWSER_MUST_USE;
/* What is recorded ends badly: the last word says so. */
void hw_recorder_failed(hw_recorder *recorder, hawser_status status);

#endif
