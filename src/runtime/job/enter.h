/* enter.h - how a job gets its nodes and its time limit. */
#ifndef HW_RUNTIME_ENTER_H
#define HW_RUNTIME_ENTER_H

#include "cluster/cluster.h"
#include "hawser/cluster.h"
#include "hawser/hawser.h"
#include "transport/net/net.h"

/* Zero fields: not given. */
typedef struct hw_entry {
    const hw_place *place; /* known already; copied. NULL: asks the launchers */
    hw_cluster **joined;   /* a cluster that was joined already; the job takes it and sets it to NULL */
    const char *arguments; /* by hand: the arguments that the manager sends to the others */
    size_t arguments_length;
    hw_bytes *received_arguments; /* by hand: the arguments that the manager has sent; the caller frees its data */
    /* Called on every node before the job opens a file; if it fails on one node, the job ends on all. */
    hawser_status (*check)(void *argument, uint32_t node, hawser_error *error);
    void *argument;
    hawser_cluster *on; /* the job is opened on this cluster; then place, joined and the key are not used */
    const void *key;    /* instead of --key-file */
    size_t key_length;
    uint32_t node;                           /* of a node that joins by hand; 0: the manager's choice */
    hawser_messages *messages;               /* the program's queue, which outlives the job; NULL: messages are printed */
    const hawser_cancellation *cancellation; /* outlives the job; NULL: none */
    bool own_signals;                        /* the caller handles signals during runs */
    bool short_calls;                        /* calls of units are watched only if an option says so */
} hw_entry;

/* Finds the place unless it is given (place->ops), and joins the others. A single node leaves *cluster NULL. */
hawser_status hw_enter(const hawser_options *options, hw_place *place, hw_cluster **cluster, const hw_entry *entry,
                       hawser_error *error) HAWSER_MUST_USE;
/* Reads --port-range LOW-HIGH, or one port; 0, 0: not given. */
hawser_status hw_read_ports(const hawser_options *options, uint16_t *low, uint16_t *high,
                            hawser_error *error) HAWSER_MUST_USE;
/* Reads --transport. */
hw_transport_kind hw_transport_option(const hawser_options *options);
/* rows.c: returns whether an option belongs to one node, or to node 0 only: it may differ between nodes and is not sent to
 * nodes that are started by hand. */
bool hw_option_of_one_node(const char *key);

/* hawser_open_options with an entry. */
hawser_status hw_job_enter(const hawser_options *options, const hw_entry *entry, hawser_job **job,
                           hawser_error *error) HAWSER_MUST_USE;

/* Before a plan is made: assumes this number of nodes (1: a single node), each on a machine like this one. */
hawser_status hw_job_suppose(hawser_job *job, uint32_t nodes, hawser_error *error) HAWSER_MUST_USE;

/* Reads a model on node 0 and sends it to all nodes; `path` and `if_exists` count there alone. *model is NULL if there is no
 * path, or if the file does not exist and `if_exists` allows that. Collective; a failure is the same on all nodes. The
 * caller frees *model. */
hawser_status hw_job_model(hawser_job *job, const char *path, bool if_exists, hawser_model **model,
                           hawser_error *error) HAWSER_MUST_USE;

/* Returns the seconds that a run may take: `limit` (0: none), or less if Slurm ends the job earlier. now: seconds since
 * 1970. */
double hw_time_left(double limit, char *const *environment, double now);

/* Reports to `hawser run --restarts` that a new checkpoint, of this clock, is on disk. Does nothing on nodes other than 0
 * and under other launchers. Never blocks; any thread. */
void hw_job_progress(const hawser_job *job, uint64_t clock);

/* Returns the clocks of the last run with a loop, if it failed; else 0. Node 0 only. */
uint64_t hw_job_failed_clocks(const hawser_job *job);

/* hawser_interrupt, for a signal. Async-signal-safe, any thread. */
void hw_job_interrupt_by(hawser_job *job, int signal_number);
/* Reports to the other nodes that a signal ends this node, and leaves the job; waits at most a second. The process must end
 * next. */
void hw_job_abort_by(hawser_job *job, int signal_number);

/* The checkpoints of a job stay when it is closed, although its programs have ended. */
void hw_job_keep_checkpoints(hawser_job *job);
/* Keeps the path of a log (HW_LOG_TRACE, ...) that node 0 has open. A run that goes on cuts it to the length that it had at
 * the checkpoint, so it must be open for appending (hw_log_open). path NULL: there is none. */
hawser_status hw_job_keep_log(hawser_job *job, size_t log, const char *path, hawser_error *error) HAWSER_MUST_USE;
/* The checkpoint from which a job has gone on: iterations of its loop that had ended, and seconds of the run until then. */
typedef struct hw_resumed {
    const char *loop; /* valid until the job is closed */
    uint64_t clock;
    double seconds;
} hw_resumed;
/* Returns false for a job that has begun from the start. */
bool hw_job_resumed(const hawser_job *job, hw_resumed *resumed);

#endif
