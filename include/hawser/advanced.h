/*
 * advanced.h - what few programs need: records of what blocks and tests remember, estimates for the plan, changes of
 * policies, runs that go on, figures of a run, and jobs that are opened with more than options.
 */
#ifndef HAWSER_ADVANCED_H
#define HAWSER_ADVANCED_H

#include "hawser/cancellation.h"
#include "hawser/cluster.h"
#include "hawser/hawser.h"
#include "hawser/messages.h"
#include "hawser/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------- what a block remembers ---- */

/** Visits what a block must remember of its scratch from stage to stage, with the functions of record.h. It is called to
 *  write the scratch, and to read it back: hawser_record_reads. When it reads, the scratch is zeroed; it allocates and
 *  computes anew what follows from data, and visits the rest, which depends on the clocks before. Of the context it may call
 *  hawser_scratch, hawser_user, hawser_block, hawser_blocks, hawser_read of data, hawser_data_fetch and hawser_unit_fail.
 *  Which fields are visited may depend on fields that were visited before. */
typedef void hawser_scratch_visit(hawser_record *record, hawser_context *context);
/** Declares what a block must remember in its scratch. Between two stages a block's scratch may be written with `visit`,
 *  freed (by `release`), zeroed and read back with `visit`; the run has the same bits with and without this. Memory that
 *  `visit` leaves out is a cache: units make it anew, with the same bits, from states and data when they find zeros. If
 *  visit is NULL, or without this call, all of the scratch is a cache. */
HAWSER_API void hawser_scratch_record(hawser_program *program, hawser_scratch_visit *visit);
/** Declares what the tests of a program, of loops and branches, remember together: an object of the program's, which may
 *  have arrays and which the program still has after the run. `visit` (record.h) writes it and reads it back. The runtime
 *  may write it before a test, call the test, read it back and call the test again. When it is read, the object is as a
 *  test has left it, so `visit` first frees what it allocates. Without this call, and without memory of their own, tests
 *  are called once, except under --rehearse. It must outlive the runs. Called only on node 0. visit NULL: nothing. */
HAWSER_API void hawser_tests_record(hawser_program *program, hawser_record_function *visit, void *object);
/** Declares memory that the blocks of one process share besides states, and that is the same in all processes between two
 *  clocks: an object of the program's. A checkpoint has it once. `visit` (record.h) writes it while no unit runs, and reads
 *  it back in each process of a run that goes on, before the scratches are read; it first frees what it allocates. The
 *  object must outlive the runs. Called on every node. visit NULL: nothing. */
HAWSER_API void hawser_process_record(hawser_program *program, hawser_record_function *visit, void *object);

/* ------------------------------------------------------------------------------------------- estimates of memory ---- */

/** Sets the memory that units are expected to take besides states and data, for the plan's estimate: `block` bytes in each
 *  block (stored in its scratch) and `node` bytes once in each process. A run may take more. */
HAWSER_API void hawser_scratch_expect(hawser_program *program, uint64_t block, uint64_t node);
/** Sets how many bytes a record is expected to have, for the plan's estimate of checkpoints: `block` those that the visit of
 *  hawser_scratch_record writes of the block that has the most, besides the scratch itself; `blocks` those of all blocks
 *  together; `once` what hawser_tests_record and hawser_process_record write. Without this call all of the bytes of
 *  hawser_scratch_expect count. A record may have more. */
HAWSER_API void hawser_record_expect(hawser_program *program, uint64_t block, uint64_t blocks, uint64_t once);
/** Sets how many numbers such a unit is expected to reduce at a time, and in a clock, for the plan's estimate. The default
 *  is `most`, and 1024 times `most`. */
HAWSER_API void hawser_reduces_expect(hawser_operator *unit, size_t numbers, size_t clock);
/** Says that nodes will fetch the whole result of a local or stored state (hawser_result), so that the plan's estimate
 *  counts it on every node, besides the share that stays there. Results of other states are whole on every node, and are
 *  always counted. */
HAWSER_API void hawser_result_expect(hawser_state *state);

/* ------------------------------------------------------------------------------------------------- inside a unit ---- */

/** Counts stored entries, or as many numbers, that a unit's own loop goes over, so that hawser-sim charges virtual time for
 *  them (docs/simulation.md). Entries in the kernels of matrix.h and row_kernels.h are counted by themselves. Outside of a
 *  simulated cluster it does nothing. `context`: of the unit; NULL in a function that has none. Called on the thread of the
 *  unit. */
HAWSER_API void hawser_simulated_work(hawser_context *context, uint64_t entries);

/** Declares which entries of a dense cache, or of this block's part of a partitioned state (indices in the whole), changed,
 *  so that a yield compares only these. If a unit calls it in a clock, its calls must cover every change of that clock. */
HAWSER_API hawser_status hawser_touch(hawser_context *context, const char *state, size_t first,
                                      size_t count) HAWSER_MUST_USE;
/** Sends one state's changes without merging updates. */
HAWSER_API hawser_status hawser_publish(hawser_context *context, const char *state) HAWSER_MUST_USE;

/* ---------------------------------------------------------------------------------------- in tests and observers ---- */

/** Returns the name of metric `index`: the declared ones in their order, then the others: "bytes", "staleness" and
 *  the seconds that workers have waited so far, as their mean ("wait_input", "wait_credit", "wait_reduction"); NULL: there
 *  are no more. */
HAWSER_API const char *hawser_progress_metric_name(const hawser_progress *progress, size_t index);
/** Stores the clock, the clocks so far, the seconds and the values of `count` metrics in `out`, which has 3 + count
 *  elements: by one call what a binding would read by many. NaN: there is no such metric, or it has no value. */
HAWSER_API void hawser_progress_numbers(const hawser_progress *progress, const char *const *metrics, size_t count,
                                        double *out);
/** Says that a declared metric numbers the fits of a run, as a fold or a lambda does. Each change of a policy then has its
 *  value (hawser_policy_change), and --trace, --log-view and --log-json show it. At most HAWSER_FIT_METRICS metrics. */
HAWSER_API void hawser_metric_numbers_fits(hawser_program *program, const char *metric);
/** Change a policy. A gain holds from the first clock that is announced next, a sync from the first clock that no block has
 *  begun; both hold on all blocks from the same clock. hawser_figures.changes has these clocks, and --trace, --log-view and
 *  --log-json show them. */
HAWSER_API void hawser_progress_gain(hawser_progress *progress, const char *state, double gain);
HAWSER_API void hawser_progress_sync(hawser_progress *progress, const char *loop, hawser_sync sync);
/** Changes the form of a state's updates, if a HAWSER_ADAPT names the state and the run has --auto. The form holds on all
 *  blocks from the first clock that is announced next, like a gain. */
HAWSER_API void hawser_progress_encoding(hawser_progress *progress, const char *state, hawser_form form);
/** Returns the gain of the state of a HAWSER_ADAPT for another work or staleness of its loop. `user` is the program's. */
typedef double hawser_gain_of(double work, uint32_t staleness, void *user);
/** What may change of a loop while it runs. Tests change it by the calls below. Under --auto the driver does so by itself:
 *  it measures what blocks wait for, and keeps what makes the metric fall faster (docs/adaptation.md). If the metric
 *  rises or is not finite, the states that the loop updates return to values that were kept before, unless the program marks
 *  states itself (hawser_state_keep). The plan counts these copies. A loop of hawser_cocoa declares its product v and the
 *  gain by itself; a declaration adds to that. */
typedef struct hawser_adapt_spec {
    hawser_operator *loop;
    double work_least, work_most; /**< of a clock; 1 is what it does as written, and lies between. 0 stands for 1 */
    bool shares;                  /**< a block may do a part of that alone, down to 1/8: a slow one, for which others wait */
    uint32_t staleness_most;      /**< a loop under bsp may run under ssp up to this; 0: it stays bsp (of hawser_cocoa: 3) */
    const char *metric;           /**< a declared metric, which falls: what the driver judges changes by; NULL: nothing */
    bool metric_is_gap;           /**< it falls to 0, so progress is the fall of its logarithm */
    hawser_state *state;          /**< a replicated state of floats: its encoding and gain may change; NULL: none */
    hawser_gain_of
        *gain_of; /**< its gain by work and staleness; NULL: the gain that it has (of hawser_cocoa: s + 1 times) */
} hawser_adapt_spec;
/** Declares what may change of a loop: HAWSER_ADAPT(program, .loop = rounds, .work_least = 0.25, .work_most = 4). Units of
 *  the loop then do as much as hawser_work says. */
HAWSER_API void hawser_adapt(hawser_program *program, const hawser_adapt_spec *spec);
#define HAWSER_ADAPT(program, ...) hawser_adapt((program), &(hawser_adapt_spec){__VA_ARGS__})
/** Returns the work of this block in this clock: that of the loop times the block's share. It is 1 unless a test has changed
 *  one of them, and NaN if `context` is NULL. */
HAWSER_API double hawser_work(const hawser_context *context);
/** Change the work of a loop, or the share of a block in it (1/8 to 1), within what HAWSER_ADAPT declares. Both hold on all
 *  blocks from the first clock that is announced next, like a gain. */
HAWSER_API void hawser_progress_work(hawser_progress *progress, const char *loop, double work);
HAWSER_API void hawser_progress_share(hawser_progress *progress, const char *loop, uint32_t block, double share);
/** Changes how many bytes of updates of a state its filter lets a block send per exchange; above 0. The state has a filter
 *  with a quota. It holds on all blocks from the first clock that is announced next, like a gain. */
HAWSER_API void hawser_progress_quota(hawser_progress *progress, const char *state, uint64_t quota);
/** Returns change `index` of the changes in this run so far, in the order in which they were announced; NULL: there are no
 *  more. The driver owns it, until the observer or test returns. */
HAWSER_API const struct hawser_policy_change *hawser_progress_change(const hawser_progress *progress, size_t index);

/* ---------------------------------------------------------------------------------------------------------- jobs ---- */

/** What a job is opened with besides its options. Zero fields are defaults, and later versions have more fields. */
typedef struct hawser_opening {
    hawser_messages *messages;         /**< where the job and everything made with it report; NULL: standard error */
    hawser_cancellation *cancellation; /**< ends what the job waits for, and its runs; NULL: none */
    /** The job runs on these nodes (cluster.h). NULL: it joins its nodes, and leaves them when it is closed */
    hawser_cluster *cluster;
    const void *key;   /**< the key that nodes prove, instead of --key-file; copied; not for a job on a cluster */
    size_t key_length; /**< its bytes, from 16 to 64 */
    uint32_t node;     /**< number of a node with the option join, from 1; 0: as it arrives; not for a job on a cluster */
    /** true: the caller handles signals (hawser_interrupt). false: during a run the job takes SIGINT and SIGTERM, but
     *  leaves out one that the program handles, blocks or ignores. The first one ends the run at an agreed clock, with
     *  results. A second one ends the process */
    bool own_signals;
    /** Units and tests of the job are known to return soon: a thread watches their calls only if --unit-warning or
     *  --unit-timeout is given */
    bool short_calls;
} hawser_opening;
/** Like hawser_open_options, with more than options. `opening` may be NULL. What it points to must outlive the job, its
 *  runs and its datasets. */
HAWSER_API hawser_status hawser_open_with(const hawser_options *options, const hawser_opening *opening, hawser_job **job,
                                          hawser_error *error) HAWSER_MUST_USE;
/** Says that the job runs `count` programs with loops; call it before the first of them. An option may then name a state of
 *  any of them (--filter w=absolute, --init w=w.npy), and the last one refuses names that none has had. Without this call
 *  the first program with a loop refuses them. hawser_close reports each name that was not checked, because fewer programs
 *  were run or none has a loop. */
HAWSER_API void hawser_job_programs(hawser_job *job, uint32_t count);
/** Says that option `key` can do nothing in this program, because of `why`. Returns HAWSER_BAD_OPTION, "--KEY does nothing
 *  here: WHY", if the command line or a call sets it to another value than its default; a call is named as it was given,
 *  "tol=". If a file or the environment does, node 0 reports such a line (messages.h), once and not with --quiet.
 *  Otherwise, and for a key that the job lacks, nothing happens. */
HAWSER_API hawser_status hawser_job_idle(hawser_job *job, const char *key, const char *why,
                                         hawser_error *error) HAWSER_MUST_USE;
/** Limits the number of workers, if --workers is not given, to one for every `each` of the work's `entries`, since each
 *  worker costs some waking and waiting; at least one remains. The plan and --log-view report it. Call it before the job's
 *  first plan or run. Ignored with several nodes: the number of their blocks was fixed when they joined. */
HAWSER_API void hawser_job_fit(hawser_job *job, uint64_t entries, uint64_t each);
/** For programs that start elsewhere than at the first values of their states, as the ready algorithms do: returns whether
 *  --init NAME=FILE is given. */
HAWSER_API bool hawser_job_init_given(const hawser_job *job, const char *name);
/** Stores the numbers of that file: rows x cols, row after row, from .npy or from a text with a number per line. A state of
 *  this name no longer begins with them. Every node reads the file, and the next run fails if nodes have read different
 *  numbers. Returns HAWSER_BAD_OPTION if the option does not name NAME, HAWSER_BAD_INPUT if the file has another shape, and
 *  HAWSER_NOT_FINITE for infinities and NaNs. */
HAWSER_API hawser_status hawser_job_init_numbers(hawser_job *job, const char *name, size_t rows, size_t cols, double *values,
                                                 hawser_error *error) HAWSER_MUST_USE;
/** Returns the seconds left of --grace if a signal or --time-limit has asked the job's last run to end, else INFINITY. Node
 *  0 has all requests, another node only its own signals. */
HAWSER_API double hawser_job_grace_left(const hawser_job *job);

/* --------------------------------------------------------------------------------------------------------- plans ---- */

/** Sets a line that the user of a program must know, for instance which guarantees its sync gives up: plans as text print
 *  it at the end of the physical plan, JSON among the warnings. NULL or "": none. The program copies it. */
HAWSER_API void hawser_plan_note(hawser_program *program, const char *note);
/** Like hawser_plan_print, but stores the plan in *text, which the caller frees with free. */
HAWSER_API hawser_status hawser_plan_text(hawser_job *job, hawser_program *program, hawser_plan_format format, char **text,
                                          hawser_error *error) HAWSER_MUST_USE;

/* ---------------------------------------------------------------------------------------------- figures of a run ---- */

/** Counters of one worker. */
typedef struct hawser_worker_figures {
    double cpu_seconds;
    double wait_seconds;
    double wait_input_seconds;     /**< the part of them for updates and other data of other workers */
    double wait_credit_seconds;    /**< the part for the driver: stop tests, starts of operators, checkpoints */
    double wait_reduction_seconds; /**< the part for the results of hawser_allreduce */
    double last_clock_seconds; /**< from the run's start to the end of its last clock: under SSP and TAP workers differ */
    uint64_t clocks;
    uint64_t bytes_sent; /**< of a worker's requests to the store, those to servers in other processes */
    uint64_t bytes_received;
    uint64_t messages_sent;
    uint64_t peak_rss; /**< bytes, of its process */
    uint64_t node;     /**< the node that it ran on */
} hawser_worker_figures;
/** The link from one node to another, and what it carried since the job started. */
typedef struct hawser_link {
    uint32_t from, to;
    char transport[24]; /**< "unix", "tcp", "tcp+tls", "shm", "ucx" */
    uint64_t messages_sent;
    uint64_t bytes_sent; /**< on the socket, before encryption */
    /** Seconds in which bytes waited for --rate, or over TCP for the network: they were not sent or not yet confirmed. 0 for
     *  other transports without --rate. */
    double busy_seconds;
} hawser_link;
/** What a node has accepted and rejected since it joined: connections, and messages by their stamps. */
typedef struct hawser_accept_figures {
    uint32_t node;
    uint64_t admitted;
    uint64_t wrong_key;        /**< rejected: another key */
    uint64_t malformed;        /**< rejected: a malformed handshake; another version, build or job; a node that has joined */
    uint64_t timed_out;        /**< rejected: the handshake was not complete in time */
    uint64_t evicted;          /**< evicted because too many connections were open */
    uint64_t late_messages;    /**< dropped: of a job or run before; normal after a failure */
    uint64_t foreign_messages; /**< dropped: of another process with the sender's number, or of another view */
    char last[384];            /**< address and reason of the last rejected connection; "": there was none */
} hawser_accept_figures;
/** Traffic of one state's updates, or of one kind of message. A message to several workers or nodes counts for each. */
typedef struct hawser_flow {
    const char *name; /**< the state's name, or "update", "report", "credit" ... */
    bool state;
    uint64_t messages;
    uint64_t bytes_plain; /**< payloads before compression for other nodes; "columns" are counted where they are received */
    uint64_t bytes_sent;  /**< as sent, with envelopes */
} hawser_flow;
/** A line of --log-view: what the blocks did in one operator that has a name. */
typedef struct hawser_event_figures {
    const char *name;
    bool loop;      /**< a loop; else a unit or another operator */
    uint64_t count; /**< calls, summed over blocks like the following three */
    double seconds;
    double wait_seconds;                /**< the part of them in which blocks waited */
    uint64_t bytes;                     /**< sent in them */
    double least_seconds, most_seconds; /**< of one block */
} hawser_event_figures;
/** The most metrics of a program that number its fits. */
#define HAWSER_FIT_METRICS 4
/** What a metric said about the fit in progress (hawser_metric_numbers_fits). */
typedef struct hawser_fit_number {
    char metric[32]; /**< its name; "" past the last one */
    double value;
} hawser_fit_number;
/** The most changes that hawser_figures.changes lists: 10 MB. */
#define HAWSER_CHANGES_MOST 15000
/** A change of a policy during a run (hawser_progress_sync, _gain, _work, _share, _quota, _encoding). Long names are cut. */
typedef struct hawser_policy_change {
    uint64_t run;   /**< the run of the job in which it occurred; the first one is 1 */
    uint64_t clock; /**< own iteration of the loop, from which on all blocks obey the new policy */
    char loop[64];
    char state[64];      /**< the state that has another gain or quota; "": a loop has another sync or work */
    hawser_sync sync[2]; /**< old and new */
    double gain[2];      /**< old and new */
    double work[2];      /**< old and new work of the loop; 0: the change is another one */
    double share[2];     /**< old and new share of a block in it; 0: the change is another one */
    uint32_t block;      /**< that block */
    uint64_t quota[2];   /**< old and new quota of the state; 0: the change is another one */
    hawser_form form[2]; /**< old and new form of the state's updates; equal: the change is another one */
    char by[100];        /**< what asked for it: "stop test of loop 'rounds'", "adaptation of loop 'rounds'" */
    char reason[160];    /**< of an adaptation: why; else "" */
    hawser_fit_number fit[HAWSER_FIT_METRICS]; /**< the fit that began with the new policy or was in progress */
} hawser_policy_change;
/** What workers wait for in a window of clocks. */
typedef enum hawser_cause {
    HAWSER_CAUSE_NONE,   /**< they wait for less than a fifth of the time */
    HAWSER_CAUSE_LINK,   /**< a link had something to send for most of the time, and workers wait for data */
    HAWSER_CAUSE_WORKER, /**< one worker takes longer than the others */
    HAWSER_CAUSE_TURNS,  /**< in each clock another worker takes longer */
    HAWSER_CAUSE_OTHER   /**< none of these */
} hawser_cause;
#define HAWSER_CAUSES 5 /**< there are so many */
/** Windows (5 clocks and 0.1 s, or more) in which workers waited for one cause. */
typedef struct hawser_cause_figures {
    uint64_t clocks;
    double seconds;
    double waited; /**< the share of them that the median worker waited */
    /** For a link, the share of the time in which it had something to send. For one worker or several in turn, how many
     *  times as long as the median worker's the units of the slowest one took. Else 0. A mean over the windows. */
    double measure;
    uint32_t number; /**< the node of the link, or the worker, in the last of the windows */
} hawser_cause_figures;
/** Counters of a run, for --json, --log-view and tests. The run owns the arrays. */
typedef struct hawser_figures {
    uint64_t clocks; /**< clocks of shipped loops, on the furthest block */
    double seconds;
    uint64_t bytes_exchanged;
    uint32_t workers;
    const hawser_worker_figures *worker;
    uint32_t nodes;
    const hawser_link *links; /**< the directions that carried a message; empty with one node, and on other nodes than 0 */
    size_t link_count;
    const hawser_accept_figures *accepts; /**< one per node; empty with one node, and on other nodes than 0 */
    size_t accept_count;
    uint32_t most_lead; /**< largest clock difference seen between two blocks */
    /** Histogram: clocks run with the oldest input s behind, s < staleness_count; number 1023 has those beyond, too */
    const uint64_t *staleness;
    size_t staleness_count;
    const char *repeatable; /**< NULL: bit-repeatable; else the reason why it is not */
    /** Why the outermost loop ended: "clocks", "seconds", "test", "signal" ...; "end": there was no loop */
    const char *stop_reason;
    const hawser_flow *flows; /**< states first, then kinds; empty on other nodes than 0 */
    size_t flow_count;
    uint64_t coalesced; /**< clocks whose updates were merged into a later message, summed over workers and states */
    /** If stop_reason is "signal": the node that was asked to end first, "node 2 (ash)", or NULL with one node; and the
     *  number of the signal, or 0 if there was none. Set on all nodes. */
    const char *interrupted_by;
    int interrupted_signal;
    /** In their order; empty on other nodes than 0. The runs just before this one that did not end with HAWSER_OK come
     *  first: a program that goes on after a failed run has all its changes. */
    const hawser_policy_change *changes;
    size_t change_count;
    uint64_t changes_left_out;          /**< later changes, beyond HAWSER_CHANGES_MOST; they were made, too */
    const hawser_event_figures *events; /**< in the order of the plan; empty on other nodes than 0 */
    size_t event_count;
    /** By hawser_cause: what workers waited for. Zeros with one worker, in short runs and on other nodes than 0. */
    hawser_cause_figures causes[HAWSER_CAUSES];
    const char *chosen;   /**< why the run had this number of workers; NULL: the user gave it, or nothing chose fewer */
    uint64_t checkpoints; /**< of --checkpoint, that this run has taken; 0 on other nodes than 0 */
    double checkpoint_wait_seconds; /**< in which blocks could not go on because of them */
} hawser_figures;
HAWSER_API const hawser_figures *hawser_run_figures(const hawser_run *run);
/** Prints the --log-view table: per event count, time, max/min over workers, bytes; wait per clock; staleness histogram. */
HAWSER_API void hawser_run_log_view(const hawser_run *run, FILE *out);
/** Stores this table in *text, which the caller frees with free. hawser_run_figures has the same numbers. */
HAWSER_API hawser_status hawser_run_log_view_text(const hawser_run *run, char **text, hawser_error *error) HAWSER_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
