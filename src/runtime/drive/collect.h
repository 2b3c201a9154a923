/* collect.h - the results of a run that has ended. */
#ifndef HW_RUNTIME_COLLECT_H
#define HW_RUNTIME_COLLECT_H

#include "runtime/block/worker.h"
#include "runtime/drive/keep.h"

#define HW_NOT_KEPT UINT32_MAX

typedef struct hw_result {
    char *name;
    hawser_type type;
    uint32_t kept; /* of a local or stored state: its place in hawser_run.kept, which has the values; else HW_NOT_KEPT */
    void *values;  /* of another state */
    size_t count;
} hw_result;

/* The figures of one block. */
typedef struct hw_block_record {
    uint64_t block, most_lead;
    hawser_worker_figures figures;
    hw_flow kinds[HW_KINDS];
    uint64_t coalesced;
    uint64_t staleness[HW_STALENESS_BUCKETS];
} hw_block_record;

struct hawser_run {
    hawser_figures figures;
    char repeatable[100], stop_reason[100]; /* copies, on nodes without the driver */
    char interrupted_by[100];
    hawser_link *links;
    size_t link_count, link_capacity;
    hawser_accept_figures *accepts;
    hawser_flow *flows; /* by result, then by kind; in the end without empty ones */
    hawser_worker_figures *workers;
    uint64_t *staleness;
    hw_policy_changes changes;
    hw_result *results;
    uint32_t result_count;
    struct hw_kept_run *kept; /* NULL: no state is local or stored */
    hw_not_finite not_finite; /* on node 0: the first such number of a local state on all nodes */
    char *metric_names[HW_METRICS_MOST];
    double metrics[HW_METRICS_MOST];
    uint32_t metric_count;
    hawser_event_figures *lines; /* of the log view; their names are copies */
    size_t line_count;
    hawser_messages *messages; /* of the job, and the number of this node */
    uint32_t node;
    bool is_point;    /* its results are kept point 0 */
    char chosen[200]; /* the reason for the number of workers; empty: the user gave it */
};

/* Makes a run with empty results for a session. */
hawser_status hw_run_new(const hw_session *session, hawser_run **run, hawser_error *error) HAWSER_MUST_USE;
/* Names the node that a signal asked to end (hw_asked, or 0), if a signal has ended the run. */
void hw_run_name_asked(hawser_run *run, const hw_session *session, uint64_t asked);
void hw_run_add_block(hawser_run *run, const hw_block_record *record);
/* Adds one hw_event per operator, unaligned. */
void hw_run_add_events(hawser_run *run, const hw_session *session, const void *events);
/* Adds one hw_flow per exchanged state and one per kind of message, unaligned. */
void hw_run_add_flows(hawser_run *run, const hw_session *session, const void *flows);
/* Adds what a node has found in its local states. */
void hw_run_add_not_finite(hawser_run *run, const hw_not_finite *found);
/* Moves the exchanged states into the result: every block has all of them, and they are taken from this node's first. */
void hw_run_take_merged(hawser_run *run, const hw_session *session);
hawser_status hw_run_add_link(hawser_run *run, const hawser_link *link, hawser_error *error) HAWSER_MUST_USE;
void hw_run_add_accepts(hawser_run *run, const hawser_accept_figures *accepts);

hw_block_record hw_worker_record(const hw_worker *worker);
/* Returns the link from this node to another; false: there is none, or it has carried no message from here. */
bool hw_session_link(const hw_session *session, uint32_t node, hawser_link *link);

/* Returns the counters of the connections to this node; only with several nodes. */
hawser_accept_figures hw_session_accepts(const hw_session *session);

/* Moves the local and stored states of the session into a run, if there is one. */
void hw_run_take_kept(hawser_run *run, hw_session *session);
/* Collects results and figures from an ended session. */
hawser_status hw_run_collect(hw_session *session, double seconds, hawser_run **run, hawser_error *error) HAWSER_MUST_USE;

#endif
