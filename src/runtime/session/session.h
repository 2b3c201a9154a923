/* session.h - one execution of one program: what driver and blocks share, and the payloads of control messages. */
#ifndef HW_RUNTIME_SESSION_SESSION_H
#define HW_RUNTIME_SESSION_SESSION_H

#include "base/view.h"
#include "cluster/cluster.h"
#include "runtime/exec/executor.h"
#include "runtime/job/job.h"
#include "runtime/job/watch.h"
#include "transport/transport.h"

/* Runners 0 .. local - 1 carry this node's blocks, own[0] < own[1] < ..., the one behind them the driver on node 0 and the node's agent
 * elsewhere. */
typedef struct hw_session {
    hawser_job *job;
    const hawser_program *program;
    const hw_plan *plan;
    hw_cluster *cluster; /* NULL: one node */
    hw_transport *transport;
    hw_executor *executor;
    uint32_t blocks, local;
    hw_view view;
    uint32_t *own; /* this node's blocks */
    uint32_t node, nodes;
    struct hw_worker *workers;              /* `local` of them */
    struct hw_mailbox **mailboxes;          /* theirs */
    struct hw_driver *driver;               /* node 0's */
    const struct hawser_progress *progress; /* node 0's: what the driver is at */
    struct hw_agent *agent;                 /* the others' */
    struct hw_status_table *board;          /* NULL where there is one node */
    struct hawser_store *store;             /* NULL: the program has no stored states */
    uint32_t *tables;                       /* of the store, by state number */
    atomic_uint ended;                      /* local blocks that have ended */
    atomic_bool ending;                     /* the driver was asked to end the run */
    atomic_bool late;                       /* blocks have agreed that the time limit is over */
    atomic_uint_fast64_t heard;             /* messages that the mailboxes here have taken in */
    double began;
    bool led;     /* the driver has come to its end */
    bool agreed;  /* how the run ended is known to all nodes, or on its way to them */
    uint32_t run; /* which of the job's, in its history */
} hw_session;

/* The runner of a block of this node. */
static inline uint32_t hw_session_runner(const hw_session *session, uint32_t block)
{
    uint32_t runner = 0;
    while (session->own[runner] != block)
        runner++;
    return runner;
}

/* Endpoint of a node's agent. */
static inline uint32_t hw_agent_endpoint(const hw_session *session, uint32_t node)
{
    return session->blocks + 1 + node;
}

/* What PAUSE and ABORT say besides, in their envelopes: `part` numbers the driver's pauses, and is repeated in the answer; `last` is 1 where the
 * run is abandoned: blocks wait for no update any more. The answer has the clocks begun in `clock` and those done, whose changes were sent, in
 * `count`. An ABORT has in `count` the clocks of the phase that all blocks have done; UINT64_MAX: not known. */

/* What was sent of one sort: messages, payload bytes before encoding for the wire, and bytes as sent, envelopes included. */
typedef struct hw_flow {
    uint64_t messages, plain, bytes;
} hw_flow;
enum { HW_KINDS = HW_MESSAGE_KINDS };

/* What the driver is at. */
struct hawser_progress {
    struct hw_driver *driver;
    const char *name;
    uint64_t clock;
};

/* An endpoint's inbox, and the one place where anything waits. */
typedef struct hw_mailbox {
    hw_session *session;
    uint32_t endpoint, runner;
    void *owner;
    hawser_status (*handle)(void *owner, hw_message *message); /* takes the message */
    double poll; /* seconds after which `ready` is asked again without news; 0: never */
    hawser_error *error;
    hawser_status failed; /* what ended this mailbox; said again to whoever asks again */
    double waited;
    hw_call_place work; /* the user's function that this block or driver runs */
    uint64_t messages_sent, bytes_sent, bytes_received;
    hw_flow kinds[HW_KINDS]; /* by kind of message */
} hw_mailbox;

/* Notes that a function of the user's begins here, for the watchdog; hw_watch_end notes its end. */
static inline hw_watched_before hw_call_begin(hw_mailbox *mailbox, const char *kind, const char *name)
{
    hw_executor *executor = mailbox->session->executor;
    return hw_watch_begin(&mailbox->work, kind, name, executor->ops->now(executor));
}

/* Hears every message that is here. Whatever `handle` says that is not HAWSER_OK ends it. */
hawser_status hw_drain(hw_mailbox *mailbox) HAWSER_MUST_USE;
/* Waits until ready(argument), hearing messages meanwhile. HAWSER_OK, what `handle` said, or HAWSER_TIMEOUT when every runner of
 * the job has been waiting for the job's timeout: a unit that computes for long is no silence. With several nodes only the driver says
 * so, by what they put on its board. */
hawser_status hw_wait(hw_mailbox *mailbox, bool (*ready)(void *argument), void *argument) HAWSER_MUST_USE;
hawser_status hw_send(hw_mailbox *mailbox, uint32_t destination, hw_message *message) HAWSER_MUST_USE;
/* To every block of the other nodes; packed where that is smaller, `entries` being the state's. What it came to is added to *flow. */
hawser_status hw_spread(hw_mailbox *mailbox, hw_message *message, size_t entries, hw_flow *flow) HAWSER_MUST_USE;
/* An update to one block, packed where it is on another node and that is smaller. */
hawser_status hw_send_update(hw_mailbox *mailbox, uint32_t block, hw_message *message, size_t entries,
                             hw_flow *flow) HAWSER_MUST_USE;
/* What to say when another end is gone: the loss that this mailbox hears of in a moment. Other statuses stay. */
hawser_status hw_hear_why(hw_mailbox *mailbox, hawser_status status) HAWSER_MUST_USE;
/* Says that a node was lost, and what the job was at: where this mailbox was (at NULL: where the driver last said it was). */
hawser_status hw_fail_loss(hw_mailbox *mailbox, const hw_message *message, const char *at, uint64_t clock) HAWSER_MUST_USE;

/* Head of TRIGGER and CREDIT payloads; then come the metrics and, per state, the gain. */
typedef struct hw_control {
    uint64_t limit;       /* clocks of this phase that may run */
    uint64_t first_clock; /* the loop's own iteration that is clock 0 of this phase */
    uint64_t entry;       /* how many triggers there were */
    uint32_t final;       /* no more credit will come: the phase ends at `limit` */
    uint32_t tightness, staleness;
    uint32_t hollow; /* with final: clocks that a block has not begun pass there without work (the end of a tap loop) */
} hw_control;

/* Payload of REPORT. */
typedef struct hw_report {
    uint64_t mask;   /* metrics that were reported */
    uint64_t hollow; /* no unit ran */
    uint64_t bytes;  /* sent by this block so far */
    uint64_t lead;   /* most clocks that it has run ahead of its oldest input */
    double values[HW_METRICS_MOST];
} hw_report;

/* Payload of a DONE that says why a block has failed. */
typedef struct hw_failure_report {
    int32_t status;
    char text[1000];
} hw_failure_report;

/* The units that run in each clock of a phase: a unit itself, or the units right below a loop or parallel. NULL after the last. */
const hawser_operator *hw_phase_first(const hawser_operator *operator);
const hawser_operator *hw_phase_next(const hawser_operator *operator, const hawser_operator * unit);
bool hw_phase_updates(const hawser_operator *operator, const hawser_state * state);

#endif
