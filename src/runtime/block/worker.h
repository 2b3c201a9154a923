/* worker.h - a block: its parts of the states, and its present phase. */
#ifndef HW_RUNTIME_WORKER_H
#define HW_RUNTIME_WORKER_H

#include "base/random.h"
#include "data/residence.h"
#include "exchange/exchange.h"
#include "exchange/reduction.h"
#include "hawser/batches.h"
#include "runtime/session/session.h"

enum { HW_STALENESS_BUCKETS = 1024 };

/* A state with a user's merge function, and the mailbox at which its calls are watched. */
typedef struct hw_part_merge {
    hw_mailbox *mailbox;
    const hawser_state *state;
    const uint64_t *first_clock; /* of the phase */
} hw_part_merge;

/* A block's part of one state. */
typedef struct hw_state_part {
    const struct hw_part_kind *kind; /* what a block does with a part of this kind (part.h) */
    const hawser_state *state;
    hw_replica *replica; /* replicated, partitioned */
    hw_adding *adding;   /* adds up its updates on the way; NULL: no */
    hawser_matrix data;
    struct hawser_residence residence; /* data over nodes: records the columns that this block's kernels touch */
    hawser_matrix own;                 /* data that a unit writes: the part with values of its own */
    void *own_memory;                  /* its values, and offsets if it is sparse; NULL: none is written */
    void *batch;                       /* data: memory for mini-batches of batch_size rows; NULL: none were taken */
    uint64_t batch_size;
    size_t batch_bytes;       /* of the rows in it */
    bool viewed, fetched;     /* data over nodes: the running unit views it; an earlier unit has fetched columns */
    unsigned char *columns;   /* data, if checkpoints are taken: a bit of each column that a unit has fetched; or NULL */
    struct hw_stored *stored; /* stored; NULL otherwise */
    struct hw_moving *moving; /* moving; NULL otherwise */
    void *work;               /* local states, and stored shares with one writer: numbers of the state's type */
    double *copy;             /* tied, so of f64: the committed values */
    double damping;           /* tied: of a commit */
    size_t begin, count;      /* this block's numbers of a local, partitioned, stored or entries state */
    size_t *lines;            /* entries: where the numbers of each row begin; NULL: lines have equally many */
    size_t first_line, line_count; /* of these rows: the first one in the whole, and their number */
    uint64_t beside[2]; /* partitioned: the numbers in front of this block's and behind them when the running unit began */
    double *before;     /* tied: the committed values when the clock began, if a clock has several stages; else NULL */
    bool live;          /* exchanged in this phase, in the stages of `use` */
    hw_stages use;
    bool pending;  /* tied: `work` belongs to a clock that was sent and is not committed yet */
    bool fresh;    /* derived: rebuilt since the last change of its sources */
    bool unfilled; /* its first values are not stored yet */
    bool retired;  /* no later phase uses it: only the values of the result are left */
    void *page;    /* debug builds: the copy for units that only read, mapped read-only */
    size_t page_bytes;
    bool page_filled;
    hw_flow flow; /* of its updates */
    hw_part_merge merging;
} hw_state_part;

/* A block's copy of the states that are the program's model. */
typedef struct hw_point {
    void **values; /* by state number; NULL: the state is not marked */
    bool *fresh;   /* by state number: the derived state was that of the others */
    bool kept;
} hw_point;

/* The cost of one operator on one block. */
typedef struct hw_event {
    uint64_t count, bytes;
    double seconds, waited;
} hw_event;

/* What the next report says of this block's time (hw_report). */
typedef struct hw_spent {
    double units, exchanging;
    double reported[HW_WAIT_CAUSES]; /* waits of the mailbox, as of the last report */
    uint64_t awaited;
    double reported_at; /* time of the last report; 0: there was none */
    bool measures; /* the CPU time of this clock's exchange; not in each clock, because reading it takes a system call */
    double measured_at; /* time of the last clock that was measured */
} hw_spent;

/* The sums that a relay has sent to one node the last time that it sent some. */
typedef struct hw_round {
    uint64_t number, bytes;
} hw_round;

typedef struct hw_worker {
    hw_session *session;
    hw_mailbox mailbox;
    uint32_t block;
    hw_state_part *parts; /* by state number */
    void *scratch;
    struct hw_trap *trap;       /* under --check; NULL: none */
    struct hw_redo *redo;       /* NULL: no call returns HAWSER_VIEW_CHANGED */
    hw_reduction *reduction;    /* NULL: no unit of the program reduces */
    hw_log *log;                /* for the job's history; NULL: none */
    uint64_t *settings;         /* for the history: those that hold, and those of the message that is obeyed */
    bool obeyed_any;            /* they are known */
    hw_message *failure_report; /* preallocated, so that lack of memory can be reported */
    hw_message *trigger;        /* received and not begun */
    hw_message *credits, *credits_last;
    hw_message *obeyed; /* the last trigger or credit that has choices of branches; NULL: none */
    uint64_t choices;   /* of the clock */
    bool branches;      /* the loop has some */
    bool paused;        /* the driver is about to send where the phase ends */
    bool leaving;       /* it has answered where it is, because the run is about to be abandoned: it commits nothing more */
    bool abandoned;
    bool apart;                       /* the run was abandoned or has failed, so blocks may have ended other clocks */
    uint64_t agreed;                  /* clocks of the phase that all blocks have ended, if it is abandoned */
    hw_point *points;                 /* NULL: the program marks no state */
    hw_message *orders, *orders_last; /* to keep points or to return, not carried out yet */
    hw_message *record;               /* an order to write a record or to hold, not carried out yet */
    uint64_t begins;                  /* the phase goes on from a record before this clock; 0: it begins */
    bool at_end;                      /* they take effect when the phase has ended */
    bool carrying;                    /* it carries out orders */
    uint32_t takes_point;             /* 1 + the number of the kept point that is the result; 0: none is */
    bool failed;                      /* it only waits for the end of the job */
    /* The phase: */
    bool in_phase;
    bool read_back; /* the last stage of the clock was rehearsed, so that its scratch was read back */
    bool moves;     /* it uses a moving state */
    bool own_syncs; /* one of its units has a sync of its own */
    bool reduces;   /* one of its units reduces: then a clock begins when all blocks have ended the one before */
    const hawser_operator *current;
    hw_policy policy;
    uint64_t epoch;
    uint64_t entry, first_clock;
    uint64_t clock;     /* the clock that runs, or the next one */
    uint32_t stage;     /* of that clock */
    bool flushed;       /* held entries were sent after the last clock */
    uint64_t started;   /* clocks begun */
    uint64_t sent;      /* clocks that ended and whose changes were sent */
    double work, share; /* of this loop, and this block's in it */
    uint64_t limit, final_limit;
    struct hw_chunk_task *pushes; /* in progress at the store */
    uint32_t push_count;
    hw_round *rounds;    /* by node; NULL: this block is no relay */
    uint64_t round;      /* how often it has sent */
    double deferring;    /* since when changes wait that were not cut at their clock; 0: none */
    uint64_t empty_from; /* clocks from here on pass without work */
    double metrics[HW_METRICS_MOST];
    hw_report report;
    hw_spent spent;
    hawser_error error;
    /* Figures: */
    hw_event *events; /* by operator number */
    uint64_t clocks, most_lead;
    uint64_t staleness[HW_STALENESS_BUCKETS];
    double cpu_began, cpu_seconds;
    double last_clock; /* time of its end; 0: there was none */
} hw_worker;

struct hawser_context {
    hw_worker *worker;
    const hawser_operator *unit;  /* NULL in a rebuild and in a visit of the scratch */
    const hawser_state *rebuilds; /* NULL in a unit and in a visit */
    uint64_t clock;
    hw_random random;
    bool stopping;        /* a unit that reduces: what all blocks agreed at its last reduction */
    hawser_status failed; /* the status of a refused access, or HAWSER_VIEW_CHANGED; it replaces the unit's status */
};

hawser_status hw_worker_open(hw_worker *worker, hw_session *session, uint32_t block, hawser_error *error) HAWSER_MUST_USE;
void hw_worker_close(hw_worker *worker);
/* Runs phases until the driver ends the job. */
void hw_worker_main(hw_worker *worker);
/* messages.c: handles a message of the mailbox, and takes it. */
hawser_status hw_worker_handle(void *owner, hw_message *message) HAWSER_MUST_USE;
/* Records that the run ends by a loss; see hw_mailbox. */
hawser_status hw_worker_lost(void *owner, const hw_loss *loss) HAWSER_MUST_USE;
/* Returns whether the run is over for this block, by the policy or by order of the driver. */
static inline bool hw_worker_is_over(const hw_worker *worker)
{
    return worker->mailbox.ended != HAWSER_OK;
}
/* messages.c: from now on this block sends on what waits here for other nodes, once its inbox is empty. */
hawser_status hw_worker_be_relay(hw_worker *worker, hawser_error *error) HAWSER_MUST_USE;
void hw_worker_drop_credits(hw_worker *worker);

/* Returns the number of the state's exchange (exchange.h) in this stage. */
static inline uint64_t hw_worker_exchange(const hw_worker *worker, const hw_state_part *part)
{
    return hw_exchange_of(part->use.updates, worker->clock, worker->stage) + worker->flushed;
}
/* Returns true if a unit of this stage updates the live state, or reads or updates it. */
static inline bool hw_worker_updates(const hw_worker *worker, const hw_state_part *part)
{
    return (part->use.updates >> worker->stage & 1) != 0;
}
static inline bool hw_worker_uses(const hw_worker *worker, const hw_state_part *part)
{
    return ((part->use.updates | part->use.reads) >> worker->stage & 1) != 0;
}

/* part_data.c: returns the copy that a unit has written, if it is what units read; else NULL. */
const hawser_matrix *hw_part_written(const hw_state_part *part);
/* Takes batch `number` of a block's rows of a data state into the part's own memory, where it stays until the next one. */
hawser_status hw_part_take_batch(hw_state_part *part, hawser_batches *from, uint64_t number, hawser_mini_batch *batch,
                                 hawser_error *error) HAWSER_MUST_USE;

/* Sends a part (or the end) of this clock's changes of one state and commits the states that are tied to it. */
hawser_status hw_worker_cut(hw_worker *worker, hw_state_part *part, bool last, bool flush) HAWSER_MUST_USE;
/* Returns the policy by which this stage waits for a replica; its staleness counts exchanges. */
hw_policy hw_worker_waits_by(const hw_worker *worker, const hw_state_part *part);
/* Commits states that are tied to states whose changes were sent: under BSP when all blocks have ended that clock. */
void hw_worker_commit(hw_worker *worker);
/* Sends what a replica must forward after it has accepted an update. */
hawser_status hw_worker_send_next(hw_worker *worker, hw_state_part *part) HAWSER_MUST_USE;
/* Sends the updates that wait here for other nodes (hw_replica_waits). Those for a link that is busy go on waiting, unless
 * `now`. */
hawser_status hw_worker_relay(hw_worker *worker, bool now) HAWSER_MUST_USE;
/* Sends a message to the places that its destination names, with one payload for all, once to each other node. `entries`:
 * size of the state of an update, which is packed for other nodes; 0: no update. flow: where it is counted, too; NULL:
 * nowhere. */
hawser_status hw_worker_send(hw_worker *worker, hw_message *message, size_t entries, hw_flow *flow) HAWSER_MUST_USE;
/* Returns whether this node has received that the run is to end. */
bool hw_worker_asked(const hw_worker *worker);
/* reduce.c: opens a block's reductions if a unit of the program reduces; ends the reductions of a clock; takes a share of
 * another block. */
hawser_status hw_worker_open_reductions(hw_worker *worker, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_worker_end_reductions(hw_worker *worker) HAWSER_MUST_USE;
hawser_status hw_worker_take_share(hw_worker *worker, hw_message *message) HAWSER_MUST_USE;
/* scratch.c: makes a block's scratch, zeroed; frees it; writes it into memory that the caller frees (NULL: the program has
 * no visit); makes it anew from there; in tests does both after drawn clocks, and to the block's parts of states, too. */
hawser_status hw_worker_new_scratch(hw_worker *worker, hawser_error *error) HAWSER_MUST_USE;
void hw_worker_free_scratch(hw_worker *worker);
hawser_status hw_worker_save_scratch(hw_worker *worker, void **bytes, size_t *size) HAWSER_MUST_USE;
hawser_status hw_worker_renew_scratch(hw_worker *worker, const void *bytes, size_t size) HAWSER_MUST_USE;
hawser_status hw_worker_drop(hw_worker *worker) HAWSER_MUST_USE;
/* Runs a visit of the scratch, which may view data states. */
hawser_status hw_context_visit(hw_worker *worker, hawser_scratch_visit *visit, hawser_record *record) HAWSER_MUST_USE;
/* life.c: hw_life_open is called for a part with first values, which hw_life_fill stores unless they are; hw_life_begin
 * frees the states that neither this phase nor a later one uses, and stores the first values of those that it uses;
 * hw_life_over leaves only the values of the result, at the end. */
void hw_life_open(hw_worker *worker, hw_state_part *part);
void hw_life_fill(const hw_worker *worker, hw_state_part *part);
void hw_life_begin(hw_worker *worker);
void hw_life_over(hw_worker *worker);
/* points.c: opens and closes a block's kept points. hw_points_take takes an order of the driver, which is carried out at
 * once between two phases. Within one hw_points_begin_clock does so once the first stage has merged what it reads, or
 * hw_points_end_phase. */
hawser_status hw_points_open(hw_worker *worker, hawser_error *error) HAWSER_MUST_USE;
void hw_points_close(hw_worker *worker);
hawser_status hw_points_take(hw_worker *worker, hw_message *message) HAWSER_MUST_USE;
hawser_status hw_points_begin_clock(hw_worker *worker) HAWSER_MUST_USE;
hawser_status hw_points_end_phase(hw_worker *worker) HAWSER_MUST_USE;
/* Puts a kept point in place of what the block has, as the result of the run. */
hawser_status hw_points_result(hw_worker *worker, uint32_t number) HAWSER_MUST_USE;
/* rehearse.c: returns whether --rehearse has drawn this clock; `salt` tells what it is drawn for. hw_rehearsal_keep keeps
 * what a stage has made, before it is taken back; hw_rehearsal_compare fails if it makes other numbers when it runs
 * again. */
typedef struct hw_rehearsal {
    void **values; /* by state number; NULL: nothing is kept */
    hw_report report;
} hw_rehearsal;
enum { HW_REHEARSES_DROP = 0x9e37, HW_REHEARSES_STAGE = 0x79b9 };
bool hw_rehearses_clock(const hw_worker *worker, uint32_t salt);
hawser_status hw_rehearsal_keep(hw_worker *worker, hw_rehearsal *rehearsal) HAWSER_MUST_USE;
hawser_status hw_rehearsal_compare(hw_worker *worker, const hw_rehearsal *rehearsal) HAWSER_MUST_USE;
void hw_rehearsal_free(const hw_worker *worker, hw_rehearsal *rehearsal);
/* record.c: a block's record for a checkpoint. hw_remember_take takes an order of the driver, and carries it out at once
 * between two phases. Within one hw_remember does so before the clock that it names, once all updates before that are in and
 * merged. An order may also be to read the record of a checkpoint, before the first phase. hw_remember_hold obeys one to
 * stay before that clock. */
hawser_status hw_remember_take(hw_worker *worker, hw_message *message) HAWSER_MUST_USE;
hawser_status hw_remember(hw_worker *worker) HAWSER_MUST_USE;
hawser_status hw_remember_hold(hw_worker *worker) HAWSER_MUST_USE;
static inline bool hw_remembers_now(const hw_worker *worker)
{
    return worker->record != NULL && worker->record->envelope.clock == worker->clock;
}
/* Visits copies of kept points: those of a block alone, or those of states that are alike on all blocks. */
void hw_points_remember(hw_worker *worker, hawser_record *record, bool alike);
/* Visits and overwrites the kept points, for a record of the block. */
void hw_points_visit(hw_worker *worker, hawser_record *record);
void hw_points_drop(hw_worker *worker);
/* redo.c: takes back what the stage that failed did, in replicas and tied states. */
void hw_worker_roll_back(hw_worker *worker);
/* In tests in which the view changes: hw_redo_keep keeps, when a stage begins, what hw_redo_go_back needs to take back the
 * rest, so that the stage is done over from its last commit. hw_redo_changes draws for a waiting call; if true, the call
 * returns HAWSER_VIEW_CHANGED. hw_redo_forbid is called when the stage has sent a part of its changes: then it is not done
 * over. */
hawser_status hw_redo_open(hw_worker *worker, hawser_error *error) HAWSER_MUST_USE;
void hw_redo_close(hw_worker *worker);
hawser_status hw_redo_keep(hw_worker *worker) HAWSER_MUST_USE;
hawser_status hw_redo_go_back(hw_worker *worker) HAWSER_MUST_USE;
bool hw_redo_changes(hawser_context *context);
void hw_redo_forbid(hw_worker *worker);
/* Returns whether the stage that has just run can be taken back. */
bool hw_redo_repeats(const hw_worker *worker);
/* Runs the unit of a step, or a rebuild if step is NULL. Returns HAWSER_VIEW_CHANGED if the stage is to be done over. */
hawser_status hw_context_run(hw_worker *worker, const hw_step *step, const hawser_state *rebuilds) HAWSER_MUST_USE;

/* Makes the memory for units that only read an exchanged state: the cache; in debug builds a copy in pages that are mapped
 * read-only, so that a write through it fails where it happens. */
hawser_status hw_part_map_page(hw_state_part *part, hawser_error *error) HAWSER_MUST_USE;
const void *hw_part_page(hw_state_part *part);
void hw_part_refresh_page(hw_state_part *part); /* after a merge */
void hw_part_unmap_page(hw_state_part *part);

#endif
