/*
 * hawser.h - the program API: write an algorithm once as states, units and loops; run it on threads, processes and
 * clusters, under the consistency that you choose.
 *
 * The model is Alt's state-centric one (thesis, chapters 3 and 4). A program has *states* (its numbers), *units* (functions
 * that change states) and *operators* that order the units. A job runs it on B logical replicas, called *blocks*: clocks,
 * random numbers and local states belong to blocks, never to threads. A unit works on a cache of each state that it
 * changes. When its stage of a clock ends, the differences are sent, and those of other blocks are merged, under BSP, SSP
 * or TAP.
 *
 * docs/calls has the whole contract of each call, docs/tutorial.md a first program. More calls are in advanced.h, app.h (a
 * program's main), cocoa.h, job_data.h (data that nodes have), kept_points.h and stored.h (states on servers).
 *
 * Functions with HAWSER_MUST_USE return HAWSER_OK or what failed, with a text in `error` or for the run's error. Pointers
 * that calls return belong to the object that gave them, except where a comment says who frees them. "Collective": every
 * node of the job makes the call, with the same arguments and in the same order. Calls are not thread-safe if nothing else
 * is said.
 */
#ifndef HAWSER_H
#define HAWSER_H

#include <stdbool.h>
#include <stdio.h>

#include "hawser/data.h"
#include "hawser/matrix.h"
#include "hawser/options.h"
#include "hawser/status.h"
#include "hawser/version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hawser_job hawser_job;           /* one run's resources: workers, memory, signals, policies */
typedef struct hawser_program hawser_program;   /* states and operators */
typedef struct hawser_state hawser_state;       /* one state of a program */
typedef struct hawser_operator hawser_operator; /* sequence, parallel, loop, branch or unit */
typedef struct hawser_context hawser_context;   /* the unit's view of the run; valid during the call */
typedef struct hawser_progress hawser_progress; /* status of the run after a clock or an operator */
typedef struct hawser_run hawser_run;           /* results and measurements of one execution */

/* ------------------------------------------------------------------------------------------------ consistency ---- */

/** Consistency of the blocks of a loop. Staleness is Petuum's: s = 0 is BSP; Alt's tau is s + 1 (docs/guarantees.md). */
typedef enum hawser_tightness {
    HAWSER_BSP = 0,    /**< a block in clock t has seen exactly the updates of the clocks before it */
    HAWSER_SSP = 1,    /**< at least those of clocks <= t - s - 1 */
    HAWSER_TAP = 2,    /**< those that have arrived */
    HAWSER_DELAY = 3,  /**< for loops on stored states alone: see hawser_delay of stored.h */
    HAWSER_CENTRIC = 4 /**< for loops on stored states alone: see hawser_centric of stored.h */
} hawser_tightness;
typedef struct hawser_sync {
    hawser_tightness tightness;
    uint32_t staleness; /**< s of SSP, the delay of DELAY, delta of CENTRIC */
} hawser_sync;

static inline hawser_sync hawser_bsp(void)
{
    hawser_sync sync = {HAWSER_BSP, 0};
    return sync;
}
static inline hawser_sync hawser_ssp(uint32_t s)
{
    hawser_sync sync = {s ? HAWSER_SSP : HAWSER_BSP, s};
    return sync;
}
static inline hawser_sync hawser_tap(void)
{
    hawser_sync sync = {HAWSER_TAP, 0};
    return sync;
}

/* ------------------------------------------------------------------------------------------- programs and states ---- */

/** Creates an empty program; never returns NULL. Mistakes while it is built, a failed allocation among them, are returned
 *  by hawser_plan_print and hawser_run_program. hawser_user returns `user` to units. The caller frees the program. */
HAWSER_API hawser_program *hawser_program_new(const char *name, void *user);
HAWSER_API void hawser_program_free(hawser_program *program);

/** A unit. It returns HAWSER_OK, the status of a call that it must pass on at once, or that of a failure. After
 *  HAWSER_VIEW_CHANGED it runs again: docs/calls/units.md says what it may then find. */
typedef hawser_status hawser_unit_function(hawser_context *context);

/** The argument of a user's merge function. A call may cover a range of the state, or one update where these apply at
 *  once. */
typedef struct hawser_merging {
    double *state;       /**< entries [first, first + count) as merged so far; the function changes them in place */
    const double *sum;   /**< the canonical sum of the deltas for these entries */
    size_t first, count; /**< indices in the whole state, for penalties and bounds that differ by entry */
    uint32_t blocks;
    uint64_t clock; /**< iteration of the loop in which the deltas were made, for rates and thresholds that fall */
    void *user;     /**< hawser_state_spec.merge_user */
} hawser_merging;

/** The form in which the deltas of a state are sent. What rounding loses is added to the entry's next delta. */
typedef enum hawser_form { HAWSER_EXACT = 0, HAWSER_AS_BF16, HAWSER_AS_F16, HAWSER_AS_INT8 } hawser_form;

/** The kinds of state. */
typedef enum hawser_state_kind {
    HAWSER_DATA = 1,    /**< a matrix that all units may read */
    HAWSER_REPLICATED,  /**< every block has a copy; blocks exchange what they add to it */
    HAWSER_PARTITIONED, /**< a block writes its own lines, and every block reads all of them */
    HAWSER_LOCAL,       /**< a block has its own numbers; they are never exchanged */
    HAWSER_STORED,      /**< the store keeps it, spread over the nodes (stored.h) */
    HAWSER_MOVING,      /**< its parts go from block to block, and a block changes those that it has (moving.h) */
    HAWSER_ENTRIES      /**< numbers for each stored entry of sparse data by row; a block has those of its rows */
} hawser_state_kind;

/** Returns the block that has a part of a moving state in clock `clock` of a loop; see moving.h. It is called often, by all
 *  blocks, and depends on its arguments alone. */
typedef uint32_t hawser_owner(uint32_t part, uint64_t clock, uint32_t blocks, void *user);

/** A state, field by field; what is not set has the default. A field that the kind does not have is refused by name. The
 *  numbers are a matrix of rows x cols, row after row: line i of a partitioned, stored or local state is row i. All numbers
 *  must be finite. docs/calls/states.md says more about each kind and field. */
typedef struct hawser_state_spec {
    const char *name; /**< units use it; every state of a program has its own */
    hawser_state_kind kind;
    hawser_type type; /**< of its numbers; not of data. Default: HAWSER_F64 */
    size_t rows;    /**< local with `along`: may be left out, it has as many as the data have columns (or rows); entries: all
                         numbers, which may be left out, too */
    size_t cols;    /**< default: 1 */
    bool by_column; /**< the numbers are stored column after column, and lines are columns; not local */
    bool each;      /**< local, partitioned: rows x cols numbers for every block, and not along data */
    /** Partitioned, stored, local: line i belongs to the block that has column (or row) i of this data state. NULL: blocks
     *  have equally many lines. Entries: the data whose entries have the numbers */
    hawser_state *along;
    bool by_value; /**< entries: as many numbers for an entry as its value, 0 to 2^31 - 1, says. false: one */
    /** The first numbers, copied when the program runs. NULL: zeros. With `each`: those of one block, with which every block
     *  begins */
    const void *initial;
    uint32_t initial_blocks; /**< with `each`: `initial` has numbers for each of so many blocks, one block after the other */

    const hawser_dataset *data;  /**< data, with targets and weights (hawser_data_beside). It must outlive the run */
    const hawser_matrix *matrix; /**< data: in place of `data`, a matrix alone */
    hawser_split split;          /**< data: how they are divided over blocks; default HAWSER_BY_COLUMN */
    const double *costs;         /**< data: of each column (or row), besides hawser_balance, by which shares are cut */

    /** Replicated: state += damping * sum of deltas; blocks compute on state + gain * own delta (CoCoA's sigma'). Default:
     *  1. What a unit on one block writes is exact: neither of them nor `merge` is about it. With one block damping is 1 */
    double damping, gain;
    void (*merge)(const hawser_merging *merging); /**< replicated: changes the state by the sum in place of this formula */
    void *merge_user;                             /**< its hawser_merging.user */
    hawser_unit_function *derive; /**< replicated: a function of other states; this adds a block's share to zeros */
    hawser_form form;             /**< replicated: how deltas are rounded before they are sent */
    const char *filter;           /**< replicated: "absolute" ..., in place of the job's --filter */
    uint64_t quota, max_held;     /**< the filter's: bytes that a block sends per exchange; clocks that it holds an entry */

    hawser_state *tie; /**< local: committed, damped and rolled back together with this replicated state */
    /** Moving: line i has numbers offsets[i] to offsets[i + 1], and part p has lines cut[p] to cut[p + 1]. Copied */
    size_t lines;
    const size_t *offsets; /**< lines + 1 */
    uint32_t parts;        /**< a multiple of the number of blocks */
    const size_t *cut;     /**< parts + 1 */
    hawser_owner *owner;   /**< which block has a part. NULL: in clock t part p is at block (p - t) mod B */
    void *owner_user;

    const char *function;     /**< stored: "add" ..., by which all blocks change it. NULL: a share has one writer */
    const double *parameters; /**< stored: all parameters of the function, if it has any */
    /** Stored, with a function: it gets the changes of a clock once, summed over the blocks in their order, when all blocks
     *  have ended the clock. A read in clock t waits for that, and has all changes of the clocks before t */
    bool summed;

    size_t expect;     /**< entries that a run will use, for the plan's estimate of memory */
    bool keep;         /**< not data: it belongs to kept points, see kept_points.h */
    const char *where; /**< file and line, for messages; HAWSER_STATE sets it. NULL: not known */
} hawser_state_spec;

/** Adds a state. Returns NULL if it could not be made; the plan and the run then say why. */
HAWSER_API hawser_state *hawser_state_add(hawser_program *program, const hawser_state_spec *spec);
/** The same with named arguments: HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = 10). C only. */
#define HAWSER_STATE(program, ...) hawser_state_add((program), &(hawser_state_spec){__VA_ARGS__, .where = HAWSER_HERE})

/** Sets the bytes of scratch per block. `release`, which may be NULL, frees memory that units stored in the scratch; it is
 *  called on the block's thread when the block ends. */
HAWSER_API void hawser_scratch_size(hawser_program *program, size_t bytes, void (*release)(void *scratch));

/** How numbers of several blocks are combined. */
typedef enum hawser_combine_by { HAWSER_SUM, HAWSER_MAX, HAWSER_MIN, HAWSER_LAST /**< block 0's */ } hawser_combine_by;
/** Declares a metric, at most 64: a number that units report and that is combined over blocks when a clock has ended
 *  everywhere. Tests read it, and so does every block from its next trigger on. */
HAWSER_API void hawser_metric_declare(hawser_program *program, const char *name, hawser_combine_by by);

/* --------------------------------------------------------------------------------------------------- operators ---- */

HAWSER_API hawser_operator *hawser_root(hawser_program *program); /**< the program's own sequence */
HAWSER_API hawser_operator *hawser_sequence(hawser_operator *parent);
/** Adds an operator whose units start together. Units that run on one block are spread over the blocks, which run them at
 *  the same time. The plan refuses a parallel in which one child updates what another child reads or updates. */
HAWSER_API hawser_operator *hawser_parallel(hawser_operator *parent);
/** Runs the first child if `test` returns true, else the second, which may be absent. The driver calls `test` at an agreed
 *  clock. hawser_branch_remembers gives it `bytes` of memory, zeroed when the run and the loop around it begin. */
HAWSER_API hawser_operator *hawser_branch(hawser_operator *parent, const char *name,
                                          bool (*test)(hawser_progress *progress, void *user), void *user);
HAWSER_API void hawser_branch_remembers(hawser_operator *branch, size_t bytes);

/** When a loop ends: at the first clock for which any given condition holds. A zero field is not a condition. `test` runs
 *  first, so it may set the metric that the other conditions read. */
typedef struct hawser_until {
    uint64_t clocks;    /**< own iterations */
    double seconds;     /**< wall time in the loop; with it, bits may differ from run to run */
    const char *metric; /**< with `below`: the metric's value <= below (a gap); with `change`: relative change <= change */
    double below;
    double change;     /**< |m(t) - m(t-1)| <= change * max(|m(t)|, tiny) */
    uint64_t patience; /**< with metric: ends when the metric has not fallen for this many clocks (validation) */
    bool (*test)(hawser_progress *progress, void *user); /**< returns true to end the loop; runs on the driver */
    void *user;
    size_t remembers; /**< bytes that `test` keeps from clock to clock: hawser_progress_memory */
} hawser_until;
/** Adds a loop; a clock is one iteration of its body. Entering and leaving it is a BSP point. A unit that reads what an
 *  earlier one of the body updates begins a new stage, and sees it. With one block every sync is bsp. docs/guarantees.md
 *  has the rules. */
HAWSER_API hawser_operator *hawser_loop(hawser_operator *parent, const char *name, hawser_until until, hawser_sync sync);
/** The same with named arguments: HAWSER_LOOP(root, "descent", hawser_job_sync(job), .clocks = 100). C only. */
#define HAWSER_LOOP(parent, name, sync, ...) hawser_loop((parent), (name), (hawser_until){__VA_ARGS__}, (sync))

#define HAWSER_UNIT_STATES 32 /**< a list of hawser_unit_spec has fewer states */
/** A unit, field by field. Updating a state includes reading it. */
typedef struct hawser_unit_spec {
    const char *name;
    hawser_unit_function *run;
    bool one; /**< it runs on one block: block 0, or the one that has most of the data that it reads. Else on all */
    hawser_state *reads[HAWSER_UNIT_STATES];   /**< the states that it uses: .reads = {data, w} */
    hawser_state *updates[HAWSER_UNIT_STATES]; /**< and those that it changes */
    const hawser_sync *sync; /**< in a loop under ssp or tap: a stricter one, for which it waits. NULL: the loop's */
    size_t reduces;          /**< it calls hawser_allreduce with at most so many numbers at a time. 0: it does not */
    const char *where;       /**< as in hawser_state_spec */
} hawser_unit_spec;
/** Adds a unit to an operator. Returns NULL if it could not be made; the plan and the run then say why. */
HAWSER_API hawser_operator *hawser_unit_add(hawser_operator *parent, const hawser_unit_spec *spec);
/** The same with named arguments: HAWSER_UNIT(loop, "step", step, .reads = {data}, .updates = {w}). C only. */
#define HAWSER_UNIT(parent, ...) hawser_unit_add((parent), &(hawser_unit_spec){__VA_ARGS__, .where = HAWSER_HERE})

/* ------------------------------------------------------------------------------------------------- inside a unit ---- */
/* A pointer stays valid until the unit returns; its numbers change only in hawser_yield. A call for a state that the unit
 * does not declare, or that has another type, fails with the state's name, and the run fails whatever the unit returns. */

/** Reads a state: stores where its numbers are in *numbers, a `const double **` or the like, or this block's part of data,
 *  a `const hawser_matrix **`. Of a replicated or partitioned state it gives all numbers, of a local state those of this
 *  block.
 *
 *      const float *w;
 *      HAWSER_TRY(hawser_read(context, "w", &w));
 *
 *  hawser_read_as and the other calls that end in _as are for languages without _Generic. */
#define hawser_read(context, state, numbers) hawser_read_as((context), (state), HAWSER_TYPE_READ(numbers), (numbers))
HAWSER_API hawser_status hawser_read_as(hawser_context *context, const char *state, hawser_type type,
                                        void *numbers) HAWSER_MUST_USE;
/** The same for a state that the unit updates, to change it in place: all numbers of a replicated state, else this block's
 *  part. `numbers` is a `double **` or the like. What a unit has written, it reads. Of split data it gives the values of a
 *  copy of this block's part, in the places that the matrix of hawser_read has from then on. */
#define hawser_write(context, state, numbers) hawser_write_as((context), (state), HAWSER_TYPE_WRITTEN(numbers), (numbers))
HAWSER_API hawser_status hawser_write_as(hawser_context *context, const char *state, hawser_type type,
                                         void *numbers) HAWSER_MUST_USE;
/** Both with the declaration of the pointer: HAWSER_READ(context, float, w); gives const float *w for the state "w". C
 *  only. */
#define HAWSER_READ(context, type, state)                                                                                   \
    const type *state;                                                                                                      \
    HAWSER_TRY(hawser_read((context), #state, &state))
#define HAWSER_WRITE(context, type, state)                                                                                  \
    type *state;                                                                                                            \
    HAWSER_TRY(hawser_write((context), #state, &state))
/** Stores where line `line` of this block's part begins, counted from 0: a `const double **` or the like to read it, a
 *  `double **` to change it. A line that this block does not have fails the unit. */
#define hawser_line(context, state, line, numbers)                                                                          \
    hawser_line_as((context), (state), (line), HAWSER_TYPE_LINE(numbers), HAWSER_IS_WRITTEN(numbers), (numbers))
HAWSER_API hawser_status hawser_line_as(hawser_context *context, const char *state, size_t line, hawser_type type,
                                        bool written, void *numbers) HAWSER_MUST_USE;
/** Return how many numbers, or lines, this block has of a local, partitioned or stored state (of a replicated one: all), and
 *  store the index of the first one in the whole state in *first, which may be NULL. */
HAWSER_API size_t hawser_part(hawser_context *context, const char *state, size_t *first);
HAWSER_API size_t hawser_part_lines(hawser_context *context, const char *state, size_t *first);
/** Stores what belongs to the rows of this block's part of a data state: targets, weights, offset, groups. Of a state that
 *  is not split by row, that of all rows. The state is made from a dataset (hawser_state_spec.data). */
HAWSER_API hawser_status hawser_data_beside(hawser_context *context, const char *state,
                                            hawser_beside *beside) HAWSER_MUST_USE;
/** Replaces the block's part of a data state that this unit updates, for all later units, by one of another width, layout or
 *  type; hawser_write suffices where these stay. The arrays of `part` must live until the run ends. */
HAWSER_API hawser_status hawser_data_replace(hawser_context *context, const char *state,
                                             const hawser_matrix *part) HAWSER_MUST_USE;

HAWSER_API uint32_t hawser_block(const hawser_context *context);  /**< this block's number */
HAWSER_API uint32_t hawser_blocks(const hawser_context *context); /**< B */
HAWSER_API uint64_t hawser_clock(const hawser_context *context);  /**< iteration of the innermost loop, from 0; else 0 */
HAWSER_API void *hawser_user(const hawser_context *context);      /**< the program's user pointer: shared, read-only */
/** Returns this block's scratch (hawser_scratch_size), a cache: it may be dropped and zeroed between two stages, so a unit
 *  that finds zeros makes it anew from states and data. What cannot be made anew belongs in a local state. */
HAWSER_API void *hawser_scratch(const hawser_context *context);
HAWSER_API double hawser_gain(hawser_context *context, const char *state);    /**< sigma' in force */
HAWSER_API double hawser_damping(hawser_context *context, const char *state); /**< gamma in force */

/** Sends the changes made so far as a part of this clock and merges the updates that have arrived. */
HAWSER_API hawser_status hawser_yield(hawser_context *context) HAWSER_MUST_USE;
/** Returns whether a signal or the time limit asks the run to end, so that a unit that computes for long can return early.
 *  In a unit that reduces it is what all blocks agreed on at the last hawser_allreduce. Takes about 30 ns. */
HAWSER_API bool hawser_stopping(const hawser_context *context);
/** Return random numbers that depend only on (seed, unit, block, clock, draw). */
HAWSER_API uint64_t hawser_random(hawser_context *context);
HAWSER_API uint64_t hawser_random_below(hawser_context *context, uint64_t bound); /**< unbiased; bound > 0 */
HAWSER_API double hawser_random_uniform(hawser_context *context);                 /**< [0, 1) */
/** Fails the run with this text, after the names of unit and block except if `status` is HAWSER_BAD_INPUT. The unit returns
 *  the value of the call. */
HAWSER_API hawser_status hawser_unit_fail(hawser_context *context, hawser_status status, const char *format, ...)
    HAWSER_PRINTF(3, 4);
/** Combines `count` numbers of every block, entry by entry, and stores the result in `values` on each block: HAWSER_SUM,
 *  _MAX or _MIN. Collective over the blocks of a unit that declares `reduces`. A sum has the same bits for any threads and
 *  nodes. */
HAWSER_API hawser_status hawser_allreduce(hawser_context *context, double *values, size_t count,
                                          hawser_combine_by by) HAWSER_MUST_USE;
/** Reports this block's share of a metric; the last report in a clock counts. NaN is HAWSER_NOT_FINITE. */
HAWSER_API hawser_status hawser_report(hawser_context *context, const char *metric, double value) HAWSER_MUST_USE;
/** Returns the combined value as of the last trigger or credit; NaN before the first. */
HAWSER_API double hawser_metric(const hawser_context *context, const char *metric);

/* ----------------------------------------------------------------------------------------- on the driver, in tests ---- */

/** Returns the combined value of a metric, or NaN. "bytes" (sent so far), "staleness" (the most so far) and the mean
 *  seconds of waits ("wait_input", "wait_credit", "wait_reduction") always exist. */
HAWSER_API double hawser_progress_metric(const hawser_progress *progress, const char *metric);
HAWSER_API void hawser_progress_set(hawser_progress *progress, const char *metric, double value); /**< publish to blocks */
HAWSER_API uint64_t hawser_progress_clock(const hawser_progress *progress);   /**< own iteration of the tested loop */
HAWSER_API uint64_t hawser_progress_clocks(const hawser_progress *progress);  /**< clocks of all shipped loops so far */
HAWSER_API double hawser_progress_seconds(const hawser_progress *progress);   /**< since the run began */
HAWSER_API const char *hawser_progress_loop(const hawser_progress *progress); /**< name of the loop or unit */
/** Returns the memory of the test that runs (hawser_until.remembers, hawser_branch_remembers), aligned for any type; NULL
 *  elsewhere. The runtime may go back to a copy of it and call the test again, so a test keeps all that it remembers
 *  there. */
HAWSER_API void *hawser_progress_memory(const hawser_progress *progress);
HAWSER_API bool hawser_progress_stopping(const hawser_progress *progress); /**< a signal or limit asked for the end */

/** Called on node 0 after each combined clock and operator, on the thread that called hawser_run_program, as tests are.
 *  Blocks compute on as far as their credit allows. `observer` NULL: none. */
typedef void hawser_observer(const hawser_progress *progress, void *user);
HAWSER_API void hawser_observe(hawser_job *job, hawser_observer *observer, void *user);

/* -------------------------------------------------------------------------------------------------------- running ---- */

/** The option rows that every job understands (workers, sync, seed, filters, limits ...); for hawser_options_new. */
HAWSER_API const hawser_option *hawser_job_rows(void);
/** Opens a job: reads the launcher's environment and HAWSER_ variables, removes the job's flags from argv, and finds
 *  workers and memory. It takes SIGINT and SIGTERM during a run if nobody has: the first ends the run at a clock, with
 *  results. */
HAWSER_API hawser_status hawser_open(int *argc, char **argv, hawser_job **job, hawser_error *error) HAWSER_MUST_USE;
/** Like hawser_open, from an option set that includes hawser_job_rows(); the set must outlive the job. */
HAWSER_API hawser_status hawser_open_options(const hawser_options *options, hawser_job **job,
                                             hawser_error *error) HAWSER_MUST_USE;
/** Ends the job and frees it. Waits for nodes that may still read results from this one. */
HAWSER_API void hawser_close(hawser_job *job);

HAWSER_API uint32_t hawser_job_workers(const hawser_job *job); /**< B */
/** How many processes share the job, and the number of this one. Each runs the same program with the same options, and gets
 *  the same results. Node 0 leads: it prints, and writes files. */
HAWSER_API uint32_t hawser_job_nodes(const hawser_job *job);
HAWSER_API uint32_t hawser_job_node(const hawser_job *job);
HAWSER_API bool hawser_job_leads(const hawser_job *job);
HAWSER_API hawser_sync hawser_job_sync(const hawser_job *job); /**< the policy of --sync */
HAWSER_API uint64_t hawser_job_seed(const hawser_job *job);
HAWSER_API double hawser_job_damping(const hawser_job *job);       /**< by --merge: 1 for add, 1 / workers for average */
HAWSER_API hawser_form hawser_job_encoding(const hawser_job *job); /**< the form of --encoding */

/** Loads an input on all nodes: each keeps the columns of its own blocks, or the rows with hawser_load.split =
 *  HAWSER_BY_ROW. Collective. If one node fails, all fail. The caller frees the dataset. docs/calls/jobs.md says what a
 *  node has of it. */
HAWSER_API hawser_status hawser_job_load(hawser_job *job, const char *const *paths, size_t count, const hawser_load *load,
                                         hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;
/** Returns one status on all nodes: that of the first node, by number, that has failed, with its text in `error`; else
 *  `own`. Collective, outside of a run: for steps that may fail on one node and must then fail on all. */
HAWSER_API hawser_status hawser_job_agree(hawser_job *job, hawser_status own, hawser_error *error) HAWSER_MUST_USE;
/** Copies `size` bytes at `data` from node 0 to all nodes. Collective, outside of a run. */
HAWSER_API hawser_status hawser_job_broadcast(hawser_job *job, void *data, size_t size, hawser_error *error) HAWSER_MUST_USE;
/** Asks a running job to end at an agreed clock. Async-signal-safe; any thread. */
HAWSER_API void hawser_interrupt(hawser_job *job);

/** How a plan is printed. The logical plan has units, states and sync; the physical one the job's blocks and their
 *  memory. */
typedef enum hawser_plan_format {
    HAWSER_PLAN_LOGICAL,      /**< text */
    HAWSER_PLAN_PHYSICAL,     /**< text */
    HAWSER_PLAN_LOGICAL_DOT,  /**< a graph for Graphviz */
    HAWSER_PLAN_PHYSICAL_DOT, /**< a graph for Graphviz */
    HAWSER_PLAN_JSON          /**< both plans as one line of JSON (`hawser help plan-json`) */
} hawser_plan_format;
/** Checks a program and prints its plan to `out`. */
HAWSER_API hawser_status hawser_plan_print(hawser_job *job, hawser_program *program, hawser_plan_format format, FILE *out,
                                           hawser_error *error) HAWSER_MUST_USE;
/** Compiles and runs. Collective. On HAWSER_OK, and on HAWSER_STOP (ended early by signal or limit), *run has results, else
 *  it is NULL, except with kept points (kept_points.h). The caller frees it. */
HAWSER_API hawser_status hawser_run_program(hawser_job *job, hawser_program *program, hawser_run **run,
                                            hawser_error *error) HAWSER_MUST_USE;
HAWSER_API void hawser_run_free(hawser_run *run);

/** Stores where the final numbers of a whole state are, in *numbers, a `const double **` or the like, and how many in
 *  *count, which may be NULL. Fetches those of a local or stored state from other nodes, and blocks meanwhile. Any
 *  thread. */
#define hawser_result(run, state, numbers, count, error)                                                                    \
    hawser_result_as((run), (state), HAWSER_TYPE_READ(numbers), (numbers), (count), (error))
HAWSER_API hawser_status hawser_result_as(const hawser_run *run, const char *state, hawser_type type, void *numbers,
                                          size_t *count, hawser_error *error) HAWSER_MUST_USE;
HAWSER_API size_t hawser_result_size(const hawser_run *run, const char *state); /**< how many; 0: there is no such state */
/** Copies numbers [first, first + count) of a result to `values`, a `double *` or the like. Numbers that other nodes have
 *  are fetched, 4 MiB at a time, so a state may be larger than this node's memory. Any thread; not collective. */
#define hawser_result_range(run, state, first, count, values, error)                                                        \
    hawser_result_range_as((run), (state), (first), (count), HAWSER_TYPE_OF(values), (values), (error))
HAWSER_API hawser_status hawser_result_range_as(const hawser_run *run, const char *state, size_t first, size_t count,
                                                hawser_type type, void *values, hawser_error *error) HAWSER_MUST_USE;
HAWSER_API double hawser_result_metric(const hawser_run *run, const char *metric); /**< its last value; NaN: there is none */

/* --------------------------------------------------------------------------------------------------- for macros ---- */

#define HAWSER_HERE          __FILE__ ":" HAWSER_DIGITS(__LINE__) /**< the file and line in which it stands */
#define HAWSER_DIGITS(line)  HAWSER_DIGITS_(line)
#define HAWSER_DIGITS_(line) #line

#define HAWSER_MATRIX ((hawser_type)4) /**< in place of a type of numbers: hawser_read_as stores a matrix */
#define HAWSER_TYPE_READ(numbers)                                                                                           \
    _Generic((numbers),                                                                                                     \
        const double **: HAWSER_F64,                                                                                        \
        const float **: HAWSER_F32,                                                                                         \
        const int64_t **: HAWSER_I64,                                                                                       \
        const int32_t **: HAWSER_I32,                                                                                       \
        const hawser_matrix **: HAWSER_MATRIX)
#define HAWSER_TYPE_WRITTEN(numbers)                                                                                        \
    _Generic((numbers), double ** : HAWSER_F64, float ** : HAWSER_F32, int64_t ** : HAWSER_I64, int32_t ** : HAWSER_I32)
#define HAWSER_IS_WRITTEN(numbers)                                                                                          \
    _Generic((numbers), double ** : true, float ** : true, int64_t ** : true, int32_t ** : true, default : false)
#define HAWSER_TYPE_LINE(numbers) HAWSER_TYPE_OF(*(numbers))
#define HAWSER_TYPE_OF(values)                                                                                              \
    _Generic((values),                                                                                                      \
        double *: HAWSER_F64,                                                                                               \
        const double *: HAWSER_F64,                                                                                         \
        float *: HAWSER_F32,                                                                                                \
        const float *: HAWSER_F32,                                                                                          \
        int64_t *: HAWSER_I64,                                                                                              \
        const int64_t *: HAWSER_I64,                                                                                        \
        int32_t *: HAWSER_I32,                                                                                              \
        const int32_t *: HAWSER_I32)

#ifdef __cplusplus
}
#endif
#endif
