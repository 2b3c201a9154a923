/*
 * hawser.h - the program door: write an algorithm once as states, units and loops; run it on threads, on
 * processes and on clusters, under the consistency that you choose.
 *
 * The model is Alt's state-centric one (thesis, chapters 3 and 4). A program has *states* (what is kept), *units* (what is
 * done to them) and *operators* that order the units. Compiling gives a logical plan, parallelising splits it over B logical
 * replicas, called *blocks*: clocks, random numbers, merge order and local state belong to blocks, never to threads.
 *
 * Inside a unit nothing is shared: it works on a cache of each state that it changes. When a clock ends (the unit returns)
 * or when it yields, delta = cache - state goes out and other blocks' deltas are merged in, under BSP, SSP or TAP.
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
typedef struct hawser_context hawser_context;   /* what a running unit sees; valid during the call */
typedef struct hawser_progress hawser_progress; /* what the driver knows after a clock or an operator */
typedef struct hawser_run hawser_run;           /* results and measurements of one execution */

/* ------------------------------------------------------------------------------------------------ consistency ---- */

/** How tightly the blocks of a loop are tied. Staleness is Petuum's: s = 0 is BSP; Alt's tau is s + 1. The last two are for loops that
 *  update no other travelling states than stored ones. */
typedef enum hawser_tightness {
    HAWSER_BSP = 0,
    HAWSER_SSP = 1,
    HAWSER_TAP = 2,
    /** Bounded delay (Li et al. 2014): as SSP, but a clock's chunks are asked for while the one before is computed */
    HAWSER_DELAY = 3,
    HAWSER_CENTRIC = 4 /**< data-centric (Goel et al. 2015): chunks wait for each other one by one, there is no barrier */
} hawser_tightness;
typedef struct hawser_sync {
    hawser_tightness tightness;
    /** SSP, DELAY: a block at clock t has seen all updates of clocks <= t - s - 1; CENTRIC: the paper's delta */
    uint32_t staleness;
} hawser_sync;

static inline hawser_sync hawser_bsp(void)
{
    return (hawser_sync){HAWSER_BSP, 0};
}
static inline hawser_sync hawser_ssp(uint32_t s)
{
    return (hawser_sync){s ? HAWSER_SSP : HAWSER_BSP, s};
}
static inline hawser_sync hawser_tap(void)
{
    return (hawser_sync){HAWSER_TAP, 0};
}
static inline hawser_sync hawser_delay(uint32_t tau)
{
    return (hawser_sync){tau ? HAWSER_DELAY : HAWSER_BSP, tau};
}
static inline hawser_sync hawser_centric(uint32_t delta)
{
    return (hawser_sync){HAWSER_CENTRIC, delta};
}

/* ------------------------------------------------------------------------------------------------------ states ---- */

/** How a data state is split over the blocks: into ranges of columns (CSC, dense) or rows (CSR, dense), cut by hawser_balance. An input that
 *  hawser_job_load has shared out to nodes by columns is refused with HAWSER_BY_ROW; a cache file, which every node maps, may be split so. */
typedef enum hawser_split { HAWSER_BY_COLUMN, HAWSER_BY_ROW, HAWSER_WHOLE } hawser_split;

/** What a user's merge is given. It may be called for a range of the state, and per update where updates apply at once. */
typedef struct hawser_merging {
    double *state;       /**< entries [first, first + count) as merged so far, to be changed in place */
    const double *sum;   /**< the canonical sum of the deltas for them */
    size_t first, count; /**< numbers in the whole state, for penalties and bounds that differ by entry */
    uint32_t blocks;
    uint64_t clock; /**< own iteration of the loop whose deltas these are, for rates and thresholds that fall */
    void *user;
} hawser_merging;

/** How a replicated state takes part in a merge (ALT eq. 4.3): state += damping * sum over blocks of delta. A block's cache
 *  is state + gain * its own unsent delta (CoCoA's sigma'), so that what it computes on is already careful about the others;
 *  what is sent is the delta itself. Zero fields mean 1. A `merge` of the user's replaces the formula. */
typedef struct hawser_rule {
    double damping; /**< gamma: 1 adds, 1/B averages */
    double gain;    /**< sigma' */
    /** Changes the state by the sum of deltas; deterministic, no side effects. NULL: the formula. */
    void (*merge)(const hawser_merging *merging);
    void *user;
} hawser_rule;

/** Starts an empty program; never NULL. A failed allocation, like every mistake made while a program is built, is remembered and returned by
 *  hawser_plan_print and hawser_run_program. `user` is what hawser_user gives to units. */
HAWSER_API hawser_program *hawser_program_new(const char *name, void *user);
HAWSER_API void hawser_program_free(hawser_program *program);

/** A data state: read by all, written by none except one unit that transforms it before any reader runs (ALT Algorithm 5:
 *  D <- f_p(D); declare it in that unit's updates and call hawser_data_replace). The matrix must outlive the run. */
HAWSER_API hawser_state *hawser_data_state(hawser_program *program, const char *name, const hawser_matrix *matrix,
                                           hawser_split split);

/** What each column (or row) of a split data state will cost its block besides what hawser_balance counts, in the same unit: shares are
 *  cut so that the sums of both are balanced. `costs` (one a line, none below zero; NULL: nothing) must outlive the run. Without effect
 *  over several nodes: their columns were dealt out when they were read. */
HAWSER_API void hawser_data_costs(hawser_state *data, const double *costs);

/* States hold finite numbers. If an update, a sum of updates or a merge function makes a state NaN or infinite, the run fails with
 * HAWSER_NOT_FINITE and the state's name, with any number of threads and nodes. An `initial` that is not finite is refused alike. Replicated,
 * partitioned and stored states are checked in each clock. A tied local state is checked with its replicated one, any other when the run ends. */

/** A replicated state: every block has a full copy of rows x cols doubles (column-major), deltas are exchanged. `initial`
 *  (rows * cols values, copied at run time) may be NULL for zeros. */
HAWSER_API hawser_state *hawser_replicated_state(hawser_program *program, const char *name, size_t rows, size_t cols,
                                                 const double *initial, hawser_rule rule);

/** A partitioned state: `count` doubles of which each block owns a contiguous share; the owner's values travel to every
 *  reader (one writer: values, not deltas). When `along` is a data state the shares follow its split, else they are even. */
HAWSER_API hawser_state *hawser_partitioned_state(hawser_program *program, const char *name, size_t count,
                                                  hawser_state *along, const double *initial);

/** A stored state: `count` doubles that the store keeps (store.h), spread over the nodes, for what is too large to be everywhere. Units read
 *  it chunk by chunk (hawser_next_chunk) or what they name (hawser_want). `along`, `initial` and shares are as in a partitioned state.
 *  With `function` NULL each share, a *chunk*, has one writer: its block changes it in place (hawser_local), and its values go to the
 *  store when the clock ends. Else everybody changes it by hawser_inc through that function of the store's ("add", "adagrad" ...), which
 *  takes `parameters` (NULL: none); `initial` is then for "add" alone. */
HAWSER_API hawser_state *hawser_stored_state(hawser_program *program, const char *name, size_t count, hawser_state *along,
                                             const double *initial, const char *function, const double *parameters);

/** A local state: `width` doubles for every column (or row) of the block's part of data state `along`; never exchanged.
 *  `initial` is in global order. */
HAWSER_API hawser_state *hawser_local_state(hawser_program *program, const char *name, hawser_state *along, size_t width,
                                            const double *initial);

/** Ties a local state to a replicated one: it is committed with the same damping, when that delta is committed, never on its
 *  own; a rollback takes both back. Keeps v = A alpha true under averaging. */
HAWSER_API void hawser_tie(hawser_state *local, hawser_state *replicated);

/** Returns HAWSER_OK, what a call told it to return, or a failure's status; any other number is HAWSER_BAD_PROGRAM. */
typedef hawser_status hawser_unit_function(hawser_context *context);

/** Declares that a replicated state is a function of others, and how to rebuild it: `rebuild` runs on each block, adds this
 *  block's share to hawser_cache(state), which starts at zero, and the shares are summed in canonical order. Runs on entering
 *  and leaving a loop whose units update it, so that certificates never see drift. */
HAWSER_API void hawser_derive(hawser_state *replicated, hawser_unit_function *rebuild);

/** In how many bits the deltas of a state travel. Other than HAWSER_EXACT they are rounded to the nearest number of the form, on
 *  every way between blocks and threads alike, so that results do not depend on it; what rounding leaves joins the entry's next
 *  delta, and everything is sent in full before a loop is left. int8 has one scale (a power of two) for 512 entries. */
typedef enum hawser_form { HAWSER_EXACT = 0, HAWSER_AS_BF16, HAWSER_AS_F16, HAWSER_AS_INT8 } hawser_form;
HAWSER_API void hawser_encoding(hawser_state *replicated, hawser_form form);

/* --------------------------------------------------------------------------------------------------- operators ---- */

/** States, ended by NULL; built by the two macros below and copied by the call. */
#define HAWSER_READS(...)   ((hawser_state *const[]){__VA_ARGS__, NULL})
#define HAWSER_UPDATES(...) ((hawser_state *const[]){__VA_ARGS__, NULL})

/** Adds a unit that runs on every block (`each`). Either list may be NULL. Updating a state includes reading it. */
HAWSER_API hawser_operator *hawser_unit(hawser_operator *parent, const char *name, hawser_unit_function *function,
                                        hawser_state *const *reads, hawser_state *const *updates);
/** Adds a unit that runs on one block only (block 0 unless a data state that it reads says better). */
HAWSER_API hawser_operator *hawser_unit_one(hawser_operator *parent, const char *name, hawser_unit_function *function,
                                            hawser_state *const *reads, hawser_state *const *updates);
HAWSER_API hawser_operator *hawser_root(hawser_program *program); /**< a sequence */
HAWSER_API hawser_operator *hawser_sequence(hawser_operator *parent);
/** Children may run at the same time; refused when two of them update one state. */
HAWSER_API hawser_operator *hawser_parallel(hawser_operator *parent);
/** First child when `test` says true, second (may be absent) otherwise; decided by the driver at an agreed clock. */
HAWSER_API hawser_operator *hawser_branch(hawser_operator *parent, const char *name,
                                          bool (*test)(hawser_progress *progress, void *user), void *user);

/** When a loop ends: at the first clock for which any given condition holds. A zero field is not a condition. `test` runs first,
 *  so that it may set the metric that the others look at. */
typedef struct hawser_until {
    uint64_t clocks;    /**< own iterations */
    double seconds;     /**< wall time in the loop; lifts the promise of equal bits */
    const char *metric; /**< with `below`: the metric's value <= below (a gap); with `change`: relative change <= change */
    double below;
    double change;     /**< |m(t) - m(t-1)| <= change * max(|m(t)|, tiny) */
    uint64_t patience; /**< with metric: ends when the metric has not fallen for so many clocks (validation) */
    bool (*test)(hawser_progress *progress, void *user); /**< user's: true ends the loop; runs on the driver */
    void *user;
} hawser_until;

/** Adds a loop. Entering and leaving it is a BSP point: all deltas in, derived states rebuilt. A loop whose body holds only
 *  units is shipped whole to the blocks and runs on clock credit; a loop around other operators is stepped by the driver. */
HAWSER_API hawser_operator *hawser_loop(hawser_operator *parent, const char *name, hawser_until until, hawser_sync sync);

/* ------------------------------------------------------------------------------------------------- inside a unit ---- */
/* A pointer stays valid until the unit returns; contents change only in hawser_yield and hawser_publish. Access to a state
 * that the unit did not declare is refused by name (HAWSER_BAD_PROGRAM, pointer calls give NULL and the unit's return value
 * is overruled). Of these calls hawser_want, hawser_wanted, hawser_next_chunk and hawser_inc on stored states alone allocate. */

HAWSER_API uint32_t hawser_block(const hawser_context *context);  /**< this block's number */
HAWSER_API uint32_t hawser_blocks(const hawser_context *context); /**< B */
HAWSER_API uint64_t hawser_clock(const hawser_context *context);  /**< own iteration of the innermost loop, from 0 */
HAWSER_API void *hawser_user(const hawser_context *context);      /**< the program's user pointer: shared, read-only */
/** This block's scratch of the size asked for at hawser_scratch_size; zeroed at the start of the run, kept between units. */
HAWSER_API void *hawser_scratch(const hawser_context *context);
/** Bytes of per-block scratch, and what releases what a unit hung into it (may be NULL): it is called on the block's own thread as the
 *  block ends, possibly while other blocks still run. Before the run. */
HAWSER_API void hawser_scratch_size(hawser_program *program, size_t bytes, void (*release)(void *scratch));
/** Says how much memory units are expected to take besides states and data, for the plan's estimate: `block` bytes in each block (what is hung
 *  into its scratch), and `node` bytes once in each process. A run may take more. */
HAWSER_API void hawser_scratch_expect(hawser_program *program, uint64_t block, uint64_t node);
/** Says how many entries of a replicated or partitioned state a run is expected to use, for the plan's estimate: a state may be as large as the
 *  worst case, since entries that are never changed take no memory. */
HAWSER_API void hawser_state_expect(hawser_state *state, size_t entries);

HAWSER_API const hawser_matrix *hawser_data_view(hawser_context *context, const char *state); /**< this block's part */
/** Makes sure that the entries of some columns (numbers in the whole) of a data state that this unit reads are on this node, fetching
 *  them from the nodes that have them; they stay. Needed before columns of other blocks are touched where the data was read by
 *  hawser_job_load; costs nothing where everything is here. Returns HAWSER_OK, or what the unit must return at once.
 *
 *  Entries that are elsewhere read as zeros. A unit fails by name if a kernel of matrix.h touches such a column, and if the unit takes the
 *  view of a whole matrix that lacks entries on this node before this block has called hawser_data_want for it. If a unit uses only the
 *  columns of its own block, it calls with `count` 0. A unit that walks a column by pointers must name it here. */
HAWSER_API hawser_status hawser_data_want(hawser_context *context, const char *state, const uint32_t *columns,
                                          size_t count) HAWSER_MUST_USE;
/** Dense access to a replicated state that the unit updates: change it in place; the difference is the delta. */
HAWSER_API double *hawser_cache(hawser_context *context, const char *state);
/** Values of a replicated or partitioned state for reading: the whole. */
HAWSER_API const double *hawser_view(hawser_context *context, const char *state);
/** This block's part of a local, partitioned or stored state with one writer, for change when the unit updates it. */
HAWSER_API double *hawser_local(hawser_context *context, const char *state);
/** Which part that is: how many numbers, and in *first (may be NULL) the number that the first of them has in the whole. */
HAWSER_API size_t hawser_part(hawser_context *context, const char *state, size_t *first);
/** Says which entries of a dense cache, or of this block's part of a partitioned state (counted in the whole), changed, so that a yield
 *  looks only there. Once called in a clock it must cover every change of that clock. */
HAWSER_API hawser_status hawser_touch(hawser_context *context, const char *state, size_t first,
                                      size_t count) HAWSER_MUST_USE;
/** state[keys[i]] += values[i] (through the gain), in a replicated state. In a stored state with a function: that function of the values;
 *  keys ascend, and all is in the store before the clock counts as done. */
HAWSER_API hawser_status hawser_inc(hawser_context *context, const char *state, const uint64_t *keys, const double *values,
                                    size_t count) HAWSER_MUST_USE;

/** A block's share of a stored state, as read. */
typedef struct hawser_chunk {
    uint32_t block;       /**< whose; UINT32_MAX: all have been given */
    size_t first, count;  /**< numbers in the whole */
    const double *values; /**< until the unit returns; the own share is hawser_local itself */
} hawser_chunk;
/** Gives each chunk of a stored state that this unit reads once, whichever the loop's sync admits first, then none. Waits when none is
 *  there; empty shares are left out. Sums over chunks in the order of chunk->block, whatever order they came in, have the same bits under
 *  bsp and dc:0 as one thread's. Returns HAWSER_OK, or what the unit must return at once. */
HAWSER_API hawser_status hawser_next_chunk(hawser_context *context, const char *state, hawser_chunk *chunk) HAWSER_MUST_USE;
/** Begins to read numbers of a stored state: those named by `keys` (ascending, each once; copied), or with keys NULL `count` from `first` on.
 *  Returns at once, before they are there. Two may be under way. What was begun in one clock and is taken in the next is as old as it was
 *  asked for; under bsp and data-centric sync a clock's end drops it. */
HAWSER_API hawser_status hawser_want(hawser_context *context, const char *state, const uint64_t *keys, size_t first,
                                     size_t count) HAWSER_MUST_USE;
/** Waits for the oldest hawser_want and gives its values, in the order of its keys; they stay until the next hawser_wanted. */
HAWSER_API hawser_status hawser_wanted(hawser_context *context, const char *state, const double **values) HAWSER_MUST_USE;

HAWSER_API double hawser_gain(hawser_context *context, const char *state);    /**< sigma' in force */
HAWSER_API double hawser_damping(hawser_context *context, const char *state); /**< gamma in force */

/** Sends what changed so far, as a part of this clock, and merges what has arrived. Returns HAWSER_OK, or anything else at
 *  which the unit must return that value at once. */
HAWSER_API hawser_status hawser_yield(hawser_context *context) HAWSER_MUST_USE;
/** Whether a signal or the time limit has asked the whole run to end. A unit that computes for long looks now and then, and returns
 *  as soon as what it leaves behind is consistent. Once true it stays true, on every block; costs some 30 ns. */
HAWSER_API bool hawser_stopping(const hawser_context *context);
/** Sends one state's changes, merges nothing. */
HAWSER_API hawser_status hawser_publish(hawser_context *context, const char *state) HAWSER_MUST_USE;

/** Random numbers that depend on (seed, unit, block, clock, draw) alone. */
HAWSER_API uint64_t hawser_random(hawser_context *context);
HAWSER_API uint64_t hawser_random_below(hawser_context *context, uint64_t bound); /**< unbiased; bound > 0 */
HAWSER_API double hawser_random_uniform(hawser_context *context);                 /**< [0, 1) */

/** Replaces the block's part of a data state that this unit transforms; `part` must live until the run ends. */
HAWSER_API hawser_status hawser_data_replace(hawser_context *context, const char *state,
                                             const hawser_matrix *part) HAWSER_MUST_USE;

/** Fails the job with this block's words, behind the names of unit and block but where `status` is HAWSER_BAD_INPUT; return its value from
 *  the unit. */
HAWSER_API hawser_status hawser_unit_fail(hawser_context *context, hawser_status status, const char *format, ...)
    HAWSER_PRINTF(3, 4);

/* Metrics: small numbers that units report and the driver combines over blocks (in the canonical order) when a unit or a
 * clock has ended everywhere. The combined value is what stop tests see, and every block from its next trigger on. */
typedef enum hawser_combine_by { HAWSER_SUM, HAWSER_MAX, HAWSER_MIN, HAWSER_LAST /**< block 0's */ } hawser_combine_by;
/** Declares a metric before the run; at most 64. */
HAWSER_API void hawser_metric_declare(hawser_program *program, const char *name, hawser_combine_by by);
/** Reports this block's share; the last report in a clock counts. NaN is refused. */
HAWSER_API hawser_status hawser_report(hawser_context *context, const char *metric, double value) HAWSER_MUST_USE;
/** The combined value as of the last trigger or credit; NaN before the first. */
HAWSER_API double hawser_metric(const hawser_context *context, const char *metric);

/* ----------------------------------------------------------------------------------------- on the driver, in tests ---- */

/** The combined value, NaN if there is none. Besides those declared there are always "bytes" (sent by all blocks so far) and
 *  "staleness" (the most clocks that a block has run ahead of its oldest input). */
HAWSER_API double hawser_progress_metric(const hawser_progress *progress, const char *metric);
HAWSER_API void hawser_progress_set(hawser_progress *progress, const char *metric, double value); /**< publish to blocks */
HAWSER_API uint64_t hawser_progress_clock(const hawser_progress *progress);   /**< own iteration of the tested loop */
HAWSER_API uint64_t hawser_progress_clocks(const hawser_progress *progress);  /**< clocks of all shipped loops so far */
HAWSER_API double hawser_progress_seconds(const hawser_progress *progress);   /**< since the run began */
HAWSER_API const char *hawser_progress_loop(const hawser_progress *progress); /**< name of the loop or unit */
HAWSER_API bool hawser_progress_stopping(const hawser_progress *progress);    /**< a signal or limit asked for the end */
/** Changes policy from the next announced clock on; versioned, traced, shown by --log-view. */
HAWSER_API void hawser_progress_gain(hawser_progress *progress, const char *state, double gain);
HAWSER_API void hawser_progress_sync(hawser_progress *progress, const char *loop, hawser_sync sync);

/* -------------------------------------------------------------------------------------------------------- running ---- */

/** The option rows that every job understands (workers, sync, seed, filters, limits ...); for hawser_options_new. */
HAWSER_API const hawser_option *hawser_job_rows(void);

/** Opens a job for a program of the user's own: reads the launcher's environment and HAWSER_ variables, takes the job's flags
 *  out of argv (leaving the program's own words) and resolves workers and memory from the affinity mask and cgroup limits. */
HAWSER_API hawser_status hawser_open(int *argc, char **argv, hawser_job **job, hawser_error *error) HAWSER_MUST_USE;
/** The same from a ready option set that includes hawser_job_rows(); the set must outlive the job. */
HAWSER_API hawser_status hawser_open_options(const hawser_options *options, hawser_job **job,
                                             hawser_error *error) HAWSER_MUST_USE;
HAWSER_API void hawser_close(hawser_job *job);
HAWSER_API uint32_t hawser_job_workers(const hawser_job *job); /**< B */
/** Where --workers leaves it open: at most one worker for every `each` of the work's `entries`, since each costs some waking and
 *  waiting; at least one. The plan and --log-view say so. Before the job's first plan or run. Without effect over several nodes:
 *  their blocks were settled when they joined. */
HAWSER_API void hawser_job_fit(hawser_job *job, uint64_t entries, uint64_t each);
/** Processes that share the job, and the number of this one. Every node runs the same program with the same options and calls
 *  hawser_run_program the same times; results are the same everywhere. Node 0 leads: who prints or writes does it there. */
HAWSER_API uint32_t hawser_job_nodes(const hawser_job *job);
HAWSER_API uint32_t hawser_job_node(const hawser_job *job);
HAWSER_API bool hawser_job_leads(const hawser_job *job);
HAWSER_API hawser_sync hawser_job_sync(const hawser_job *job); /**< what --sync asks for */
HAWSER_API uint64_t hawser_job_seed(const hawser_job *job);
HAWSER_API hawser_form
hawser_job_encoding(const hawser_job *job); /**< what --encoding asks for; an algorithm says of which state */
/** Loads an input on all nodes together: each reads its share of the lines and keeps the entries of the columns of its own blocks (the
 *  input never passes through one node); sizes, offsets, target, weights and names are of the whole everywhere. A cache is mapped and
 *  touched where it is needed; a Matrix Market array every node reads for itself. With one node, hawser_dataset_load. All nodes call it alike;
 * a failure on one fails all. The dataset is the caller's. */
HAWSER_API hawser_status hawser_job_load(hawser_job *job, const char *const *paths, size_t count, const hawser_load *load,
                                         hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;
/** Fetches the entries of some columns to every node, outside of a run. All nodes call it alike, with the same columns. */
HAWSER_API hawser_status hawser_job_fetch(hawser_job *job, const hawser_matrix *matrix, const uint32_t *columns,
                                          size_t count, hawser_error *error) HAWSER_MUST_USE;
/** Asks a running job to end at an agreed clock; async-signal-safe, any thread. If the blocks cannot end together within a quarter of
 *  --grace, the run is abandoned: updates that wait to be sent are dropped, and the results are the local states. Under bsp these are
 *  those of the last clock that all blocks have done, under other policies each block's own. Replicated states are unspecified then. */
HAWSER_API void hawser_interrupt(hawser_job *job);
/** Seconds that are left of --grace, if a signal or --time-limit has asked the job's last run to end; else INFINITY. Node 0 knows of all
 *  requests, another node of its own signals alone. */
HAWSER_API double hawser_job_grace_left(const hawser_job *job);

/** Called on the driver after each combined clock and operator; must not block long. */
typedef void hawser_observer(const hawser_progress *progress, void *user);
HAWSER_API void hawser_observe(hawser_job *job, hawser_observer *observer, void *user);

/** Checks a program and prints its plan to `out`: the logical tree with life times and sync, or the physical plan for the
 *  job's blocks with placement, locality, memory and the numbers that decided; as text or as Graphviz DOT. */
HAWSER_API hawser_status hawser_plan_print(hawser_job *job, hawser_program *program, bool physical, bool dot, FILE *out,
                                           hawser_error *error) HAWSER_MUST_USE;

/** Compiles, parallelises and runs. On HAWSER_OK, and on HAWSER_STOP (ended early by signal or limit), *run holds results. */
HAWSER_API hawser_status hawser_run_program(hawser_job *job, hawser_program *program, hawser_run **run,
                                            hawser_error *error) HAWSER_MUST_USE;
HAWSER_API void hawser_run_free(hawser_run *run);

/** Final values of a replicated, partitioned or stored state (the whole), or of a local state gathered into global order; owned by the run. */
HAWSER_API const double *hawser_result(const hawser_run *run, const char *state, size_t *count);
HAWSER_API double hawser_result_metric(const hawser_run *run, const char *metric);

/** What one worker did. */
typedef struct hawser_worker_figures {
    double cpu_seconds;
    double wait_seconds;
    double last_clock_seconds; /**< since the run began, when its last clock was done: under SSP and TAP workers differ */
    uint64_t clocks;
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t messages_sent;
    uint64_t peak_rss; /**< of its process */
    uint64_t node;     /**< where it was */
} hawser_worker_figures;
/** The way from one node to another, and what it carried since the job began. */
typedef struct hawser_link {
    uint32_t from, to;
    char transport[24]; /**< "unix", "tcp", "tcp+tls", "shm", "ucx" */
    uint64_t messages_sent;
    uint64_t bytes_sent; /**< on the socket, before encryption */
} hawser_link;
/** Who came to a node's door since the job began: nodes that were let in, and whom it turned away. */
typedef struct hawser_gate {
    uint32_t node;
    uint64_t admitted;
    uint64_t wrong_key; /**< did not know the job's key */
    uint64_t unfit;     /**< garbage, another version, build or job, a node that is there already */
    uint64_t late;      /**< said nothing, or not all, in time */
    uint64_t crowded;   /**< had to make room when too many came at a time */
    char last[384];     /**< from where and why, of the last one; "": nobody was turned away */
} hawser_gate;
/** What was sent of one state's updates, or of one kind of message. A message to several workers or nodes counts for each. */
typedef struct hawser_flow {
    const char *name; /**< of the state, or "update", "report", "credit" ... */
    bool state;
    uint64_t messages;
    uint64_t bytes_plain; /**< payloads before they were packed for other nodes */
    uint64_t bytes_sent;  /**< as sent, with envelopes */
} hawser_flow;
/** What the run did, for --json, --log-view and tests. Arrays are owned by the run. */
typedef struct hawser_figures {
    uint64_t clocks; /**< of shipped loops, the furthest block's */
    double seconds;
    uint64_t bytes_exchanged;
    uint32_t workers;
    const hawser_worker_figures *worker;
    uint32_t nodes;
    const hawser_link *links; /**< both directions of each; empty with one node, and on other nodes than 0 */
    size_t link_count;
    const hawser_gate *gates; /**< of each node; empty with one node, and on other nodes than 0 */
    size_t gate_count;
    uint32_t most_lead;        /**< largest clock difference seen between two blocks */
    const uint64_t *staleness; /**< histogram: clocks run with the oldest input s behind, s < staleness_count */
    size_t staleness_count;
    const char *repeatable; /**< NULL: bit-repeatable; else the reason why not */
    /** Of the outermost loop that ended: "clocks", "seconds", "test", "signal" ...; "end": no loop */
    const char *stop_reason;
    const hawser_flow *flows; /**< states first, then kinds; empty on other nodes than 0 */
    size_t flow_count;
    uint64_t coalesced; /**< clocks whose updates went out with those of a later one, over all workers and states */
    /** With stop_reason "signal": the node that was asked to end first, "node 2 (ash)", NULL with one node; and the signal that asked
     * it, where one did, else 0. On all nodes. */
    const char *interrupted_by;
    int interrupted_signal;
} hawser_figures;
HAWSER_API const hawser_figures *hawser_run_figures(const hawser_run *run);
/** Prints the --log-view table: per event count, time, max/min over workers, bytes; wait per clock; staleness histogram. */
HAWSER_API void hawser_run_log_view(const hawser_run *run, FILE *out);

#ifdef __cplusplus
}
#endif
#endif
