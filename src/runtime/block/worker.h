/* worker.h - a block: its parts of the states, and the phase that it is in. */
#ifndef HW_RUNTIME_WORKER_H
#define HW_RUNTIME_WORKER_H

#include "base/random.h"
#include "data/residence.h"
#include "exchange/exchange.h"
#include "exchange/reduction.h"
#include "runtime/session/session.h"

enum { HW_STALENESS_BUCKETS = 1024 };

/* A state with a merge function of the user's, and where its calls are watched. */
typedef struct hw_part_merge {
    hw_mailbox *mailbox;
    const hawser_state *state;
} hw_part_merge;

/* A block's part of one state. */
typedef struct hw_state_part {
    const hawser_state *state;
    hw_replica *replica; /* replicated, partitioned */
    hw_adding *adding;   /* who adds up its updates on their way; NULL: nobody */
    hawser_matrix data;
    struct hawser_residence residence; /* data over nodes: records what this block's kernels touch */
    bool viewed, wanted;               /* data over nodes: by the unit that runs; by any unit before */
    struct hw_stored *stored;          /* stored; NULL otherwise */
    double *work, *copy;               /* local, and a stored share with one writer; copy: what is committed of a tied one */
    size_t begin, count;               /* numbers of a local, partitioned or stored state that are this block's */
    bool live;                         /* exchanged in this phase */
    bool pending;                      /* tied: `work` is that of a clock which was sent, and not committed yet */
    bool fresh;                        /* derived: rebuilt since what it follows from was last changed */
    double *page;                      /* debug builds: what a unit that only reads sees, mapped read-only */
    size_t page_bytes;
    bool page_filled;
    hw_flow flow; /* its updates */
    hw_part_merge merging;
} hw_state_part;

/* What one operator cost on one block. */
typedef struct hw_event {
    uint64_t count, bytes;
    double seconds, waited;
} hw_event;

typedef struct hw_worker {
    hw_session *session;
    hw_mailbox mailbox;
    uint32_t block;
    hw_state_part *parts; /* by state number */
    void *scratch;
    hw_reduction *reduction;    /* NULL: no unit of the program reduces */
    hw_log *log;                /* of the job's history; NULL: none */
    hw_message *failure_report; /* kept ready, so that want of memory can be reported */
    hw_message *trigger;        /* heard, not begun */
    hw_message *credits, *credits_last;
    bool over;   /* the job has ended */
    bool paused; /* the driver is about to say where the phase ends */
    bool abandoned;
    uint64_t agreed; /* clocks of the phase that all blocks have done, where it is abandoned */
    /* The phase: */
    bool in_phase;
    bool reduces; /* a unit of it does: then clocks wait for all blocks to end the one before */
    const hawser_operator *operator;
    hw_policy policy;
    uint64_t epoch;
    uint64_t entry, first_clock;
    uint64_t clock;   /* being run, or next */
    uint64_t started; /* clocks begun */
    uint64_t sent;    /* clocks done, whose changes were sent */
    uint64_t limit, final_limit;
    struct hw_chunk_task *pushes; /* on their way to the store */
    uint32_t push_count;
    double deferring;     /* since when changes wait that were not cut at their clock; 0: none do */
    uint64_t hollow_from; /* clocks from here on pass without work */
    double metrics[HW_METRICS_MOST];
    hw_report report;
    hawser_error error;
    /* Figures: */
    hw_event *events; /* by operator number */
    uint64_t clocks, most_lead;
    uint64_t staleness[HW_STALENESS_BUCKETS];
    double cpu_began, cpu_seconds;
    double last_clock; /* when it was done; 0: there was none */
} hw_worker;

struct hawser_context {
    hw_worker *worker;
    const hawser_operator *unit;  /* NULL in a rebuild */
    const hawser_state *rebuilds; /* NULL in a unit */
    uint64_t clock;
    hw_random random;
    bool stopping;        /* a unit that reduces: what all agreed on at its last reduction */
    hawser_status failed; /* an access that was refused: overrules what the unit returns */
};

hawser_status hw_worker_open(hw_worker *worker, hw_session *session, uint32_t block, hawser_error *error) HAWSER_MUST_USE;
void hw_worker_close(hw_worker *worker);
/* Runs phases until the driver ends the job. */
void hw_worker_main(hw_worker *worker);

/* Sends a part (or the end) of this clock's changes of one state and commits what is tied to it. */
hawser_status hw_worker_cut(hw_worker *worker, hw_state_part *part, bool last, bool flush) HAWSER_MUST_USE;
/* Commits what is tied to states whose changes were sent: under BSP when all blocks have done that clock. */
void hw_worker_commit(hw_worker *worker);
/* Sends what a replica has to send on for others, after it has accepted something. */
hawser_status hw_worker_send_next(hw_worker *worker, hw_state_part *part) HAWSER_MUST_USE;
/* Sends a message to whom its destination names, one payload for all: to each other node once. `entries`: of the state that it is an update of,
 * to be packed for other nodes; 0: it is none. flow: where it is counted; NULL: nowhere else. */
hawser_status hw_worker_send(hw_worker *worker, hw_message *message, size_t entries, hw_flow *flow) HAWSER_MUST_USE;
/* Whether this node has heard that the run is to end. */
bool hw_worker_asked(const hw_worker *worker);
/* reduce.c: makes what a block needs where a unit of the program reduces; ends the reductions of a clock; takes a share of another block. */
hawser_status hw_worker_open_reductions(hw_worker *worker, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_worker_end_reductions(hw_worker *worker) HAWSER_MUST_USE;
hawser_status hw_worker_take_share(hw_worker *worker, hw_message *message) HAWSER_MUST_USE;
/* Runs one unit, or a rebuild when unit is NULL, with everything a unit may ask for. */
hawser_status hw_context_run(hw_worker *worker, const hawser_operator *unit, const hawser_state *rebuilds) HAWSER_MUST_USE;

/* What a unit that only reads a travelling state sees: the cache; in debug builds a copy in pages mapped read-only, so that a write
 * through it is caught where it happens. */
hawser_status hw_part_map_page(hw_state_part *part, hawser_error *error) HAWSER_MUST_USE;
const double *hw_part_page(hw_state_part *part);
void hw_part_refresh_page(hw_state_part *part); /* after a merge */
void hw_part_unmap_page(hw_state_part *part);

#endif
