/* driver.h - interprets a physical plan: triggers, credit, stop tests, combined metrics. */
#ifndef HW_RUNTIME_DRIVER_H
#define HW_RUNTIME_DRIVER_H

#include "adapt/cause.h"
#include "exchange/exchange.h"
#include "runtime/session/session.h"

/* Reports of one block whose clock the others have not reached. */
typedef struct hw_reports {
    hw_message *first, *last;
} hw_reports;

/* A function of the program that the driver calls. */
typedef struct hw_asker {
    const char *kind, *name; /* "stop test of loop", and the loop's name */
    uint64_t clocks;         /* judged before */
    char reason[160];        /* of an adaptation */
} hw_asker;

/* Policies of which blocks have been told, and the requests to change them. */
typedef struct hw_policies {
    double *gains;                     /* by state number: as sent last */
    hawser_sync *syncs;                /* by operator number: as sent last */
    hw_asker *gain_asker, *sync_asker; /* by the same numbers */
    hw_asker asking;                   /* the function that runs now */
    const hawser_operator *loop;       /* of the last trigger */
    uint64_t first, limit;             /* its first own iteration; clocks of its phase that have been announced */
    hw_policy_changes changes;
    size_t earlier; /* changes of runs before, which failed or ended early; they are first */
} hw_policies;

/* Memory of the tests of branches (hawser_branch_remembers). */
typedef struct hw_memories {
    char *bytes;
    size_t *at; /* by operator number: the place of its memory */
    size_t size;
} hw_memories;

/* The last two messages that kept a point: their numbers, 0: none, and the metrics then. */
typedef struct hw_points_kept {
    uint64_t at[2];
    double metrics[2][HW_METRICS_MOST];
} hw_points_kept;

/* Kept points of the program's model (points.c). */
typedef struct hw_points {
    hw_point_order *orders; /* of the test that runs, or ran last: */
    size_t count, capacity;
    bool testing;                /* a test runs: only it may keep a point or return */
    const hawser_operator *loop; /* that blocks run now; NULL: none */
    hawser_sync sync;            /* of that loop */
    bool branch;                 /* the test is that of a branch */
    bool guarding;               /* orders are of the guard (adapt.c), and take effect once the phase has ended */
    bool ends_phase;             /* the orders take effect once the phase of that loop has ended */
    uint64_t sent, returned;     /* number of the last message with orders, and of the last one that returns */
    uint64_t *done;              /* by block: number of the last one that it has carried out */
    bool settling;               /* the run has failed, and the driver waits for these: */
    bool *failed;                /* by block */
    bool result;                 /* the results of the run are a point, */
    uint32_t number;             /* this one */
    struct hw_points_kept *last; /* by number: when it was kept */
} hw_points;

/* An operator that runs, as in hw_path_frame. */
typedef struct hw_level {
    uint32_t op, child;
    uint64_t clock;
    struct hw_until *until; /* of a loop */
} hw_level;

/* Checkpoints of the run (record.c). */
typedef struct hw_recording {
    const struct hw_checkpointer *by; /* NULL: none are taken */
    uint64_t number;                  /* of the last one that blocks were asked for */
    bool open;                        /* it is not complete: */
    uint64_t at;                      /* the clock of the phase before which it is */
    uint32_t replies;                 /* blocks that have written their record */
    uint64_t taken;                   /* checkpoints that are complete, */
    double waited;                    /* and seconds in which blocks could not go on because of them */
    void *bytes;                      /* the position, once the driver is there; else NULL */
    size_t size;
    const char *loop; /* what a checkpoint is of: */
    uint64_t clock, clocks;
    double metrics[HW_METRICS_MOST], seconds;
    bool urgent;          /* the run was asked to end, and takes a checkpoint first, */
    uint64_t urgent_from; /* above this number */
    hw_level *levels;     /* operators that run, from the root down */
    size_t depth, capacity;
    struct hw_position *from; /* from which the run goes on; NULL: from the start */
    double before;            /* seconds of the run in the processes before this one */
    bool entering;            /* it has not reached the operator where that stands */
    uint64_t step;            /* of the next trigger: hw_control.begins */
} hw_recording;

/* The least seconds for the rest of a run that is about to be abandoned. */
#define HW_LEAST_RUN 0.5

/* The work of a loop, and the shares of blocks in it (knobs.c). */
typedef struct hw_knobs {
    double work, sent_work;       /* now, and as blocks were told last */
    double *shares, *sent_shares; /* by block; NULL: the loop declares none */
    hw_asker asker;
} hw_knobs;

/* The quota of a state's filter; 0: it has none. */
typedef struct hw_quota {
    uint64_t now, sent;
    hw_asker asker;
} hw_quota;

/* The form of a state's updates. */
typedef struct hw_sent_form {
    hawser_form now, sent;
    hw_asker asker;
} hw_sent_form;

typedef struct hw_driver {
    hw_session *session;
    hw_mailbox mailbox;
    hawser_error error;
    hawser_progress progress;
    double metrics[HW_METRICS_MOST],
        shown[HW_METRICS_MOST];   /* now, and as the blocks of a shipped loop got them at its begin */
    double bytes, staleness;      /* of all blocks so far, as of the last combined clock, */
    double waits[HW_WAIT_CAUSES]; /* and seconds that blocks have waited, by cause, as their mean */
    double *gains;                /* by state number */
    hawser_sync *syncs;           /* by operator number */
    hw_quota *quotas;             /* by state number */
    hw_sent_form *forms;          /* by state number */
    bool remeasures;              /* a setting has changed: the window of clocks begins again */
    struct hw_adapter **adapters; /* by operator number: what decides on changes of a loop; NULL: nothing changes it */
    struct hw_causes *causes;     /* NULL: there is one block */
    hw_knobs *knobs;              /* by operator number */
    hw_policies policies;
    hw_memories memories;
    hw_points points;
    hw_recording recording;
    hw_message **aborts;       /* one per block, preallocated */
    hw_message **node_reports; /* by node: its program before the run, its results after; NULL: not received yet */
    uint32_t node_report_count;
    uint64_t digest; /* of this node's exchanged states at the end */
    bool *equal;     /* by node: it has the same */
    /* The phase: */
    hw_reports *reports; /* by block */
    uint32_t done;       /* blocks that have ended the phase */
    uint32_t pauses;     /* number of pauses so far: */
    uint32_t paused;     /* blocks that have answered the latest one */
    uint64_t furthest;   /* the last clock that one of them has begun */
    uint64_t agreed;     /* the least number of clocks that one of them has ended */
    uint64_t around;     /* iteration of the innermost loop that the driver steps; 0: there is none */
    uint64_t entries;    /* triggers so far */
    uint64_t clocks;     /* combined clocks of shipped loops so far, */
    uint64_t announced;  /* and how many there are once blocks have no credit left */
    bool paced;          /* blocks have credit up to the end of a window: settings change there, and not before */
    uint64_t reported;   /* metrics that the last combined clock has: one bit each */
    double *parts;       /* memory to combine one metric */
    uint64_t *choices;   /* of the clocks that the next trigger or credit announces, if the loop has branches */
    size_t choice_count, choice_capacity;
    double give_up; /* seconds of --grace left at which the run is abandoned */
    bool abandoned;
    const char *stopping; /* the reason, once the whole run was asked to end */
    const char *stop_reason;
    const char *repeatable;
    double ended_after;   /* seconds of the run when its last operator had ended, */
    bool ended_by_itself; /* by a test or a metric, and not by a limit */
} hw_driver;

hawser_status hw_driver_open(hw_driver *driver, hw_session *session, hawser_error *error) HAWSER_MUST_USE;
void hw_driver_close(hw_driver *driver);
/* Waits for blocks as hw_wait does, but only for a part of --grace once the run was asked to end. Then it abandons the run,
 * which leaves the blocks at the last clock that all have ended, and returns HAWSER_STOP. */
hawser_status hw_driver_wait(hw_driver *driver, bool (*ready)(void *argument), void *argument) HAWSER_MUST_USE;
/* Runs the program from its root and reports its end to all blocks. The result is in error.status, HAWSER_STOP included. */
void hw_driver_main(hw_driver *driver);

/* Combines the oldest reported clock once all blocks have reported it; false: there is none. */
bool hw_driver_combine(hw_driver *driver);
/* Sends a message to all blocks, and takes it. */
hawser_status hw_driver_send_all(hw_driver *driver, hw_message *message) HAWSER_MUST_USE;
/* Returns the epoch of the operator that was entered last. Each entry has numbers for the loop itself and for the rebuild of
 * each state before and after it. */
static inline uint64_t hw_driver_epoch(const hw_driver *driver)
{
    return driver->entries * (2 * (uint64_t)driver->session->program->state_count + 2);
}
/* Sends a TRIGGER of `op` to all blocks. */
hawser_status hw_driver_trigger(hw_driver *driver, const hawser_operator *op, hawser_sync sync, uint64_t first_clock,
                                uint64_t limit, bool final) HAWSER_MUST_USE;
hawser_status hw_driver_credit(hw_driver *driver, hawser_sync sync, uint64_t limit, bool final) HAWSER_MUST_USE;
/* Waits until ready(argument), or until `left` seconds of --grace are left. *in: it became ready in time. */
hawser_status hw_driver_wait_until(hw_driver *driver, bool (*ready)(void *argument), void *argument, double left,
                                   bool *in) HAWSER_MUST_USE;
/* Sends a PAUSE to all blocks; hw_driver_paused returns true once all have answered. */
hawser_status hw_driver_ask_pause(hw_driver *driver, bool abandon) HAWSER_MUST_USE;
bool hw_driver_paused(void *driver);
/* Asks all blocks for their clocks. *limit becomes the first clock that none has begun, and is announced as the end.
 * `passes`: under TAP a block that lags passes the clocks up to it without work, because no block waits for them. */
hawser_status hw_driver_pause(hw_driver *driver, hawser_sync sync, bool passes, uint64_t *limit) HAWSER_MUST_USE;
bool hw_driver_all_done(void *driver);
/* Returns the seconds until --time-limit or the end of a Slurm job ends the run; INFINITY: nothing does. */
double hw_driver_left(const hw_driver *driver);
/* Checks signals and limits of the whole run. */
void hw_driver_check(hw_driver *driver);
void hw_driver_observe(hw_driver *driver, const char *name, uint64_t clock);
/* Calls a test of the program; `kind` is its name for the watchdog. */
bool hw_driver_test(hw_driver *driver, const char *kind, bool (*test)(hawser_progress *progress, void *user), void *user);
/* changes.c: records the changes of policies. hw_policies_open takes those of the program. hw_policies_trigger is called
 * when a phase begins, and hw_policies_credit when clocks up to `limit` of the phase are announced. */
hawser_status hw_policies_open(hw_driver *driver, hawser_error *error) HAWSER_MUST_USE;
/* Keeps the changes of a run that did not end with HAWSER_OK for the next one of its job. If memory is short, they are only
 * counted. */
void hw_policies_keep(hawser_job *job, const hw_policy_changes *changes);
void hw_policies_close(hw_policies *policies);
hawser_status hw_policies_trigger(hw_driver *driver, const hawser_operator *op, hawser_sync sync, uint64_t first,
                                  uint64_t limit) HAWSER_MUST_USE;
hawser_status hw_policies_credit(hw_driver *driver, uint64_t limit) HAWSER_MUST_USE;
/* Warns of changes that no clock has had when the run ends, although clocks were judged after they were asked for. */
void hw_policies_report(const hw_driver *driver);
/* causes.c: adds the oldest clock that all blocks have reported to what they wait for. */
hawser_status hw_causes_open(hw_driver *driver, hawser_error *error) HAWSER_MUST_USE;
void hw_causes_close(hw_driver *driver);
void hw_causes_add(hw_driver *driver);
/* Returns the clocks in the present window. */
uint64_t hw_causes_clocks(const hw_driver *driver);
void hw_causes_figures(const hw_driver *driver, hawser_cause_figures figures[HAWSER_CAUSES]);
/* knobs.c: hw_knobs_share returns the bits of a block's share in the work of an operator. hw_knobs_save puts all work and
 * shares into a position, from which hw_knobs_restore takes them; `told`: blocks have been told of them. hw_knobs_spoil
 * overwrites them, but not what blocks were told last. */
hawser_status hw_knobs_open(hw_driver *driver, hawser_error *error) HAWSER_MUST_USE;
void hw_knobs_close(hw_driver *driver);
uint64_t hw_knobs_share(const hw_driver *driver, const hawser_operator *op, uint32_t block);
hawser_status hw_knobs_save(const hw_driver *driver, struct hw_position *position, hawser_error *error) HAWSER_MUST_USE;
void hw_knobs_restore(hw_driver *driver, const struct hw_position *from, bool told);
void hw_knobs_spoil(hw_driver *driver);
/* adapt.c: decides on changes of loops by what blocks wait for, if options ask for it. hw_adapt_window takes a window that
 * is about to be emptied, with the finding of its cause. hw_adapt_clock makes changes of a replay between two clocks, in
 * place of windows. hw_adapt_point looks at the metric of a loop at a point at which
 * all blocks have the same values. hw_loop_adapts returns whether something decides on a loop. */
hawser_status hw_adapt_open(hw_driver *driver, hawser_error *error) HAWSER_MUST_USE;
void hw_adapt_close(hw_driver *driver);
bool hw_loop_adapts(const hw_driver *driver, const hawser_operator *loop);
void hw_adapt_window(hw_driver *driver, const hw_window_shares *shares, const hw_finding *found);
void hw_adapt_clock(hw_driver *driver);
void hw_adapt_point(hw_driver *driver, const hawser_operator *loop);
/* Fails if the metric of a loop is NaN in this clock and no setting was changed that may be the cause. */
void hw_adapt_watch(hw_driver *driver, const hawser_operator *loop);
/* Returns whether the phase of a loop must end for a point: its next clock, which blocks begin in step, is one under ssp.
 * Where blocks have credit up to the end of a window, as the metric has risen, it is the end of the phase. */
bool hw_adapt_wants_point(const hw_driver *driver, const hawser_operator *loop);
/* Returns whether blocks get credit for a loop up to the end of a window: clocks alone end it, and something decides on
 * it. hw_adapt_ahead returns how many clocks these are. */
bool hw_adapt_paces(const hw_driver *driver, const hawser_operator *loop);
uint64_t hw_adapt_ahead(const hw_driver *driver, const hawser_operator *loop);
/* For later runs (--learn): hw_adapt_last looks at the last metrics of a run, which may decide a trial. hw_adapt_end leaves
 * what was decided, once the run has ended well. */
void hw_adapt_last(hw_driver *driver);
void hw_adapt_end(const hw_driver *driver);
/* Runs a shipped loop, from its entry to quiescence. */
hawser_status hw_driver_ship(hw_driver *driver, const hawser_operator *loop) HAWSER_MUST_USE;

/* remember.c: hw_memories_clear zeroes the memory of the branches inside of an operator. */
hawser_status hw_memories_open(hw_driver *driver, hawser_error *error) HAWSER_MUST_USE;
void hw_memories_close(hw_memories *memories);
void hw_memories_clear(hw_driver *driver, const hawser_operator *around);
/* Calls the test of a branch. */
hawser_status hw_branch_test(hw_driver *driver, const hawser_operator *branch, bool *yes) HAWSER_MUST_USE;

/* points.c: sends what the last test asked for. hw_points_guard has the guarded states kept, or taken back, once the phase
 * has ended. hw_points_patience returns to point 0 when a loop has ended by patience.
 * hw_points_settle is called when the run has ended with `status`, and finds whether point 0 is the result: after a failure
 * it waits until all blocks have kept it. */
hawser_status hw_points_new(hw_driver *driver, hawser_error *error) HAWSER_MUST_USE;
void hw_points_free(hw_points *points);
hawser_status hw_points_send(hw_driver *driver) HAWSER_MUST_USE;
void hw_points_guard(hw_driver *driver, bool returns);
void hw_points_patience(hw_driver *driver);
void hw_points_settle(hw_driver *driver, hawser_status status);
/* Takes a block's reply, which it does not free. */
void hw_points_done(hw_driver *driver, const hw_envelope *reply);

/* --rehearse: returns whether this place and clock were drawn; overwrites what the driver remembers from clock to clock, and
 * takes it back from the bytes of its position. What blocks were told last stays. Errors are in driver->error. */
bool hw_driver_rehearses(const hw_driver *driver, uint32_t place, uint64_t clock);
hawser_status hw_driver_rehearse(hw_driver *driver, const struct hw_position *position) HAWSER_MUST_USE;

/* What a test that is done over goes back to. */
typedef struct hw_remembered {
    void *memory, *copy; /* of its own; */
    size_t size;
    void *record; /* and what all tests of the program remember (hawser_tests_record); NULL: nothing */
    size_t record_size;
    double metrics[HW_METRICS_MOST];
} hw_remembered;
/* Tests: returns whether the next call of a test is done over. `place` is 0 for stop tests, and differs from branch to
 * branch. */
bool hw_test_again(hw_driver *driver, size_t remembers, uint32_t place, uint64_t clock);
/* hw_remembered_return goes back to what hw_remembered_keep has kept, and frees it; also after a failure of
 * hw_remembered_keep. Errors are in driver->error. */
hawser_status hw_remembered_keep(hw_remembered *kept, hw_driver *driver, void *memory, size_t size) HAWSER_MUST_USE;
void hw_remembered_return(hw_remembered *kept, hw_driver *driver);
/* Under --rehearse: fails if the second call of a test has left other metrics than the first, or decided otherwise
 * (`same`). */
hawser_status hw_remembered_compare(hw_driver *driver, const double *metrics, bool same, const char *kind) HAWSER_MUST_USE;

/* The state of an end condition that is evaluated clock by clock. */
typedef struct hw_until {
    const hawser_until *until;
    double began, previous, best;
    uint64_t since_best;
    bool seen;
    uint64_t first;      /* the own iteration with which the loop begins */
    const double *shown; /* the metrics that blocks had before, if the loop goes on */
    void *memory;        /* of the test */
} hw_until;
/* Begins a loop's end condition, and clears the memory of the branches in the loop; the caller ends it, also after a
 * failure, whose text is in driver->error. */
hawser_status hw_until_begin(hw_until *state, hw_driver *driver, const hawser_operator *loop) HAWSER_MUST_USE;
void hw_until_end(hw_until *state);
/* Returns the reason why the loop ends after its own iteration `clock`, or NULL. */
const char *hw_until_ends(hw_until *state, hw_driver *driver, uint64_t clock);

/* record.c: takes checkpoints, and goes on from one. hw_record_open reads the position, and hw_record_enter takes it over,
 * before the first operator runs. */
hawser_status hw_record_open(hw_driver *driver, hawser_error *error) HAWSER_MUST_USE;
void hw_record_close(hw_driver *driver);
hawser_status hw_record_enter(hw_driver *driver) HAWSER_MUST_USE;
/* The path of operators that run. hw_level_child returns the child of the innermost one with which it begins, and
 * hw_level_at notes which child runs. hw_level_entered returns its frame in the position from which the run goes on; NULL:
 * there is none. */
hawser_status hw_level_push(hw_driver *driver, const hawser_operator *op) HAWSER_MUST_USE;
void hw_level_pop(hw_driver *driver);
const struct hw_path_frame *hw_level_entered(const hw_driver *driver);
const hawser_operator *hw_level_child(const hw_driver *driver, const hawser_operator *op);
void hw_level_at(hw_driver *driver, const hawser_operator *child, uint64_t clock);
/* Fills the end condition of the innermost loop if the run goes on within it. Returns whether it does. */
bool hw_record_until(hw_driver *driver, hw_until *until);
/* Returns the clocks of the phase that had ended where the run goes on, if this is the operator; else 0. */
uint64_t hw_record_step(hw_driver *driver);
/* Returns whether a run that was asked to end first takes a checkpoint: units may stop early from then on, so that a later
 * one would have other bits. The end waits for half of --grace at most. */
bool hw_record_first(hw_driver *driver, bool asked);
/* Returns whether a checkpoint is to be taken now. */
bool hw_record_due(hw_driver *driver);
/* Asks all blocks for their records before a clock of the phase; `now`: at once, between two phases. */
hawser_status hw_record_order(hw_driver *driver, uint64_t at, bool now) HAWSER_MUST_USE;
/* Keeps the position of the checkpoint that was asked for, once `ended` clocks of the phase have been judged. */
hawser_status hw_record_place(hw_driver *driver, uint64_t ended) HAWSER_MUST_USE;
/* Waits until all blocks have written their records, if the next clock of one changes what is in the record of another: what
 * the blocks of a process share, and stored states that blocks change. */
hawser_status hw_record_settle(hw_driver *driver) HAWSER_MUST_USE;
/* hw_record_pause has all blocks pause, and waits until they do. hw_record_hold has them go on to a clock and hold there,
 * with all updates before it merged, and waits until they do. hw_record_written waits until they have written their records
 * there, and hw_record_go_on lets blocks that hold or have paused go on. */
hawser_status hw_record_pause(hw_driver *driver) HAWSER_MUST_USE;
hawser_status hw_record_hold(hw_driver *driver, uint64_t at) HAWSER_MUST_USE;
hawser_status hw_record_written(hw_driver *driver) HAWSER_MUST_USE;
hawser_status hw_record_go_on(hw_driver *driver) HAWSER_MUST_USE;
/* Returns whether blocks were asked for records of a clock before which the driver has not judged all. */
bool hw_record_waits(const hw_driver *driver);
/* Gives up such a checkpoint, because the phase ended before that clock. */
void hw_record_give_up(hw_driver *driver);
/* Takes a checkpoint between two phases, if one is due. */
hawser_status hw_record_between(hw_driver *driver) HAWSER_MUST_USE;
/* Takes a checkpoint of the end of the run, if it is to be kept. hw_record_at_end returns whether the run goes on from its
 * end, so that no operator is run. */
hawser_status hw_record_keep_end(hw_driver *driver) HAWSER_MUST_USE;
bool hw_record_at_end(hw_driver *driver);
hawser_status hw_record_reply(hw_driver *driver, const hw_envelope *reply) HAWSER_MUST_USE;

/* position.c: what a position has of the driver. hw_position_array copies an array into *out.
 * hw_position_copy fills the gains, the syncs, and what branches and tests remember. hw_position_take takes them over, with
 * metrics and counts, but for the tests; `told`: blocks have been told of them. hw_position_take_run takes what a run has
 * counted, and its kept points, and hw_until_take what a loop's end condition remembers; it goes on at the time `now`. */
hawser_status hw_position_array(void *out, const void *from, size_t count, size_t size, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_position_copy(hw_driver *driver, const char *branches, struct hw_position *position) HAWSER_MUST_USE;
void hw_position_take(hw_driver *driver, const struct hw_position *from, bool told);
void hw_position_take_run(hw_driver *driver, const struct hw_position *from);
void hw_until_take(hw_until *until, const struct hw_path_frame *frame, const char *memory, double now);
hawser_status hw_position_take_tests(hw_driver *driver, const struct hw_position *from) HAWSER_MUST_USE;

#endif
