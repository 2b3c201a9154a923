/* session.h - one run of a program: the state that driver and blocks share, and the payloads of control messages. */
#ifndef HW_RUNTIME_SESSION_SESSION_H
#define HW_RUNTIME_SESSION_SESSION_H

#include "base/view.h"
#include "cluster/cluster.h"
#include "runtime/exec/executor.h"
#include "runtime/job/job.h"
#include "runtime/job/watch.h"
#include "transport/transport.h"

/* What follows from a loss for a run. */
typedef enum hw_decision { HW_RUN_ENDS, HW_RUN_GOES_ON } hw_decision;

/* Runners 0 .. local - 1 execute this node's blocks, own[0] < own[1] < ...; the last runner executes the driver on node 0,
 * the node's agent elsewhere. */
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
    struct hw_worker *workers;                  /* `local` entries */
    struct hw_mailbox **mailboxes;              /* of the workers */
    struct hw_driver *driver;                   /* node 0's */
    const struct hawser_progress *progress;     /* node 0's: the driver's progress */
    struct hw_agent *agent;                     /* of the other nodes */
    struct hw_status_table *status_table;       /* NULL where there is one node */
    struct hawser_store *store;                 /* NULL: the program has no stored states */
    uint32_t *tables;                           /* of the store, by state number */
    const struct hw_checkpointer *checkpointer; /* NULL: the run takes no checkpoints */
    const char *data;                           /* lines with digests of its data; NULL: no checkpoint needs them */
    uint64_t number;                            /* of the run among those of the job, from 1 */
    struct hw_kept_run *kept;      /* shares of local and stored states that the run leaves; NULL: none, or not yet */
    atomic_uint ended;             /* local blocks that have ended */
    atomic_bool ending;            /* the driver was asked to end the run */
    atomic_bool late;              /* blocks have agreed that the time limit is over */
    atomic_uint_fast64_t received; /* messages that this node's mailboxes have received */
    double began;
    /* The policy: decides for each loss that a mailbox of this node receives. Nothing else ends a run by a loss. Any runner
     * calls it, and one loss may be received several times. */
    hw_decision (*after_loss)(const struct hw_session *session, const hw_loss *loss);
    bool led;     /* the driver has ended */
    bool agreed;  /* all nodes have the run's result, or it has been sent to them */
    uint32_t run; /* number of this run in the job's history */
} hw_session;

/* Returns the runner of a block of this node. */
static inline uint32_t hw_session_runner(const hw_session *session, uint32_t block)
{
    uint32_t runner = 0;
    while (session->own[runner] != block)
        runner++;
    return runner;
}

/* Returns the endpoint of a node's agent. */
static inline uint32_t hw_agent_endpoint(const hw_session *session, uint32_t node)
{
    return session->blocks + 1 + node;
}

/* Envelopes of PAUSE and ABORT: `part` is the number of the pause, which the reply repeats; `last` is 1 if the run is
 * abandoned and blocks wait for no update any more. The reply has the clocks begun in `clock`, and in `count` the clocks
 * done, whose changes were sent. An ABORT has in `count` the clocks of the phase that all blocks have done; UINT64_MAX:
 * unknown. Its `part` is 1 + the number of the kept point that is the result; 0: none is.
 *
 * A RECORD has in `span` what it asks for (hw_record_order_kind), and in `part` a number, which the reply repeats. `clock`
 * is the clock of the phase before which a record is written, with `last` 1: at once, between two phases.
 *
 * A POINT has in `clock` its number in the run, which the reply repeats; `last` is 1 if it takes effect when the phase has
 * ended, and not before the next clock. The payload is `count` orders. */

/* WRITE: a record is written. READ_NODE and READ_BLOCK: before the first phase, blocks read what all of them have together,
 * and then their own records. HOLD: a block that has paused runs on to `clock`, waits until all updates before it are in,
 * replies, and stays there until GO_ON, which has no reply. */
typedef enum hw_record_order_kind {
    HW_RECORD_WRITE,
    HW_RECORD_READ_NODE,
    HW_RECORD_READ_BLOCK,
    HW_RECORD_HOLD,
    HW_RECORD_GO_ON
} hw_record_order_kind;

/* What a test asked for: keep a point, or return to it. */
typedef struct hw_point_order {
    uint32_t point, returns;
} hw_point_order;

/* Traffic of one kind: messages, payload bytes before encoding, and bytes sent, envelopes included. */
typedef struct hw_flow {
    uint64_t messages, plain, bytes;
} hw_flow;
enum { HW_KINDS = HW_MESSAGE_KINDS };

/* The driver's position in the program. */
struct hawser_progress {
    struct hw_driver *driver;
    const char *name;
    uint64_t clock;
    void *memory; /* of the stop test that runs */
};

/* What a block waits for: updates, parts and numbers of others; the driver; the results of reductions. */
typedef enum hw_wait_cause { HW_WAIT_INPUT, HW_WAIT_CREDIT, HW_WAIT_REDUCTION, HW_WAIT_CAUSES } hw_wait_cause;

/* An endpoint's inbox. Everything that waits in the runtime waits in hw_wait, on a mailbox. */
typedef struct hw_mailbox {
    hw_session *session;
    uint32_t endpoint, runner;
    void *owner;
    hawser_status (*handle)(void *owner, hw_message *message); /* takes the message */
    hawser_status (*drained)(void *owner); /* is called when all messages in the inbox have been handled; NULL: nothing */
    double poll;                           /* seconds after which `ready` is called again without a message; 0: never */
    hawser_status (*lost)(void *owner,
                          const hw_loss *loss); /* writes why the run ends by this loss, and returns that status */
    hawser_error *error;
    hawser_status ended; /* by hw_mailbox_end; later calls return it again */
    uint64_t losses;     /* received */
    double waited;
    hw_wait_cause cause;          /* of the present wait: `ready` sets it where it returns false; else input */
    double waits[HW_WAIT_CAUSES]; /* `waited`, by cause */
    hw_call_place work;           /* the user's function that this block or driver runs */
    uint64_t messages_sent, bytes_sent, bytes_received;
    hw_flow kinds[HW_KINDS]; /* by kind of message */
} hw_mailbox;

/* Records the start of a user's function for the watchdog; hw_watch_end records its end. */
static inline hw_watched_before hw_call_begin(hw_mailbox *mailbox, const char *kind, const char *name)
{
    hw_executor *executor = mailbox->session->executor;
    return hw_watch_begin(&mailbox->work, kind, name, executor->ops->now(executor));
}

/* Ends the mailbox, unless the status is HAWSER_OK: the run is over for its owner, by the policy of losses or by order of
 * the driver. The first status stays. */
void hw_mailbox_end(hw_mailbox *mailbox, hawser_status status);
/* Handles all messages in the inbox, then calls `drained`; stops at the first status that is not HAWSER_OK and returns it. A
 * loss goes to the policy, and `handle` receives none. */
hawser_status hw_drain(hw_mailbox *mailbox) HAWSER_MUST_USE;
/* Waits until ready(argument) is true, handling messages meanwhile. Returns HAWSER_OK, the status of `handle`, or
 * HAWSER_TIMEOUT if every runner of the job has waited for the job's timeout (a unit that computes for long does not count
 * as waiting). With several nodes only the driver times out, by the status table. */
hawser_status hw_wait(hw_mailbox *mailbox, bool (*ready)(void *argument), void *argument) HAWSER_MUST_USE;
hawser_status hw_send(hw_mailbox *mailbox, uint32_t destination, hw_message *message) HAWSER_MUST_USE;
/* Sends a message to every block of the other nodes, packed where that is smaller; `entries` is the size of the state. Adds
 * the traffic to *flow. */
hawser_status hw_spread(hw_mailbox *mailbox, hw_message *message, size_t entries, hw_flow *flow) HAWSER_MUST_USE;
/* Sends an update to one block, packed if it is on another node and that is smaller. */
hawser_status hw_send_update(hw_mailbox *mailbox, uint32_t block, hw_message *message, size_t entries,
                             hw_flow *flow) HAWSER_MUST_USE;
/* Sends a message that is packed already to every block of one other node. `plain`: its payload bytes before encoding. */
hawser_status hw_send_to_node(hw_mailbox *mailbox, uint32_t node, hw_message *message, uint64_t plain,
                              hw_flow *flow) HAWSER_MUST_USE;
/* If `status` says that a peer is gone, waits shortly for the loss and returns the status by which the policy has ended the
 * run; returns other statuses unchanged, and this one if the run goes on. Sends call it themselves: if the run goes on, a
 * message to a lost node is dropped. */
hawser_status hw_loss_reason(hw_mailbox *mailbox, hawser_status status) HAWSER_MUST_USE;
/* Fails with the lost node and the phase of the job: `at` on this mailbox, or NULL: the driver's last reported phase. */
hawser_status hw_fail_loss(hw_mailbox *mailbox, const hw_loss *loss, const char *at, uint64_t clock) HAWSER_MUST_USE;

/* Head of TRIGGER and CREDIT payloads; the metrics, per state the gain, per state the quota (0: it has none), if the form of
 * a state may change per state the form, and the choices of branches follow. */
typedef struct hw_control {
    uint64_t limit;       /* clocks of this phase that may run */
    uint64_t first_clock; /* the loop's own iteration that is clock 0 of this phase */
    uint64_t entry;       /* number of the trigger */
    uint32_t final;       /* no more credit follows: the phase ends at `limit` */
    uint32_t tightness, staleness;
    uint32_t empty;   /* with final: a block does its remaining clocks without work (the end of a tap loop) */
    uint64_t begins;  /* of a trigger: the phase goes on from a record before this clock; 0: it begins */
    double work;      /* of the loop; the envelope's count has the bits of the block's share in it */
    uint64_t choices; /* number of the last clocks below `limit` for which a u64 says how the loop's branches were chosen */
} hw_control;

/* Payload of REPORT. */
typedef struct hw_report {
    uint64_t mask;  /* metrics that were reported */
    uint64_t empty; /* no unit ran */
    uint64_t bytes; /* sent by this block so far */
    uint64_t lead;  /* largest number of clocks that it was ahead of its oldest input */
    /* Since the report before. Seconds are durations, because CPU time does not show that a process was held back: */
    double seconds;               /* 0: there was none before */
    double units;                 /* seconds in units, without their waits */
    double waits[HW_WAIT_CAUSES]; /* seconds by cause */
    double exchanging;            /* CPU seconds that merged and cut updates in this clock; below 0: not measured */
    uint64_t awaited;             /* the block that was last behind when it waited for updates; UINT64_MAX: none */
    double values[HW_METRICS_MOST];
} hw_report;

/* Returns whether a run that fails so has the kept point as its result. */
static inline bool hw_failure_keeps(hawser_status status)
{
    return status == HAWSER_NOT_FINITE || status == HAWSER_DIVERGED;
}

/* Payload of a DONE of a failed block. */
typedef struct hw_failure_report {
    int32_t status;
    char text[1000];
} hw_failure_report;

#endif
