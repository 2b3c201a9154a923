/* recorder.h - writes a job's history: one file per node, batches of all streams as they fill (docs/history.md). */
#ifndef HW_RUNTIME_RECORDER_H
#define HW_RUNTIME_RECORDER_H

#include "cluster/cluster.h"
#include "hawser/hawser.h"
#include "history/record.h"

typedef struct hw_recorder hw_recorder;

/* The files that jobs of a cluster have written their histories to. Zeroed: none. */
typedef struct hw_histories {
    struct hw_history_file *files;
    size_t count, capacity;
} hw_histories;
void hw_histories_free(hw_histories *histories);

/* Starts a history of the nodes of the cluster (NULL: of one node). Node 0 writes the file `path`, node k PATH.k; with NULL
 * or "" nothing is recorded and *recorder is NULL. Collective: nodes that differ in whether they record fail on all nodes,
 * and so does a file that cannot be written (HAWSER_IO), or one that a job before has written (HAWSER_BAD_OPTION); `earlier`
 * has those, and gets this one, too. NULL: the job has no cluster. The caller closes *recorder, after a failure too. */
hawser_status hw_recorder_open(const char *path, hw_cluster *cluster, hw_histories *earlier, hw_recorder **recorder,
                               hawser_error *error) HAWSER_MUST_USE;
/* The job has begun, so its history replaces what the file has. A job that is refused before leaves that as it is: it may be
 * the history of a job that runs. Any thread. A failure is reported by hw_recorder_trouble. */
void hw_recorder_keep(hw_recorder *recorder);
/* Writes the end record, without which a history is incomplete; if the job failed, it has the lost nodes. Frees the
 * recorder, which may be NULL. */
void hw_recorder_close(hw_recorder *recorder, hw_cluster *cluster);
/* Returns the node that the cluster lost first, or HW_HISTORY_NONE. The cluster may be NULL. */
uint32_t hw_recorder_lost(hw_cluster *cluster);

/* Returns a number for the program or store that begins now; all nodes begin them in the same order. Returns 0 for NULL. */
uint32_t hw_recorder_run(hw_recorder *recorder);
/* Opens a stream; *log is NULL without a recorder. hw_recorder_drop closes it. */
hawser_status hw_recorder_log(hw_recorder *recorder, hw_stream_name name, hw_log **log, hawser_error *error) HAWSER_MUST_USE;
void hw_recorder_drop(hw_log *log);
/* Returns HAWSER_IO with the text once the history could not be written: it is lost then, and its user must learn it. Any
 * thread. */
hawser_status hw_recorder_trouble(hw_recorder *recorder, hawser_error *error) HAWSER_MUST_USE;
/* Records in the end record that the job failed. */
void hw_recorder_failed(hw_recorder *recorder, hawser_status status);

#endif
