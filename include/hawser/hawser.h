/*
 * hawser.h - the program API: write an algorithm once as states, units and loops; run it on threads, on
 * processes and on clusters, under the consistency that you choose.
 *
 * The model is Alt's state-centric one (thesis, chapters 3 and 4). A program has *states* (its numbers), *units* (functions
 * that change states) and *operators* that order the units. Compiling gives a logical plan. Parallelising splits it over B logical
 * replicas, called *blocks*: clocks, random numbers, merge order and local state belong to blocks, never to threads.
 *
 * A unit shares no memory with other blocks: it works on a cache of each state that it changes. When a stage of a clock ends (its units
 * have returned) or when a unit yields, delta = cache - state is sent and other blocks' deltas are merged, under BSP, SSP or TAP.
 *
 * "Collective" means that every node of the job makes the call, with the same arguments and in the same order.
 */
#ifndef HAWSER_H
#define HAWSER_H

#include <stdbool.h>
#include <stdio.h>

#include "hawser/batches.h"
#include "hawser/cancellation.h"
#include "hawser/cluster.h"
#include "hawser/data.h"
#include "hawser/matrix.h"
#include "hawser/messages.h"
#include "hawser/options.h"
#include "hawser/record.h"
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

/** Consistency of the blocks of a loop. Staleness is Petuum's: s = 0 is BSP; Alt's tau is s + 1. The last two are for loops that
 *  update no replicated and no partitioned states. */
typedef enum hawser_tightness {
    HAWSER_BSP = 0,
    HAWSER_SSP = 1,
    HAWSER_TAP = 2,
    /** Bounded delay (Li et al. 2014): as SSP, but a clock's chunks are requested while the clock before it is computed */
    HAWSER_DELAY = 3,
    HAWSER_CENTRIC = 4 /**< data-centric (Goel et al. 2015): chunks wait for each other one by one, without a barrier */
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

/** The argument of a user's merge function. A call may cover a range of the state, or a single update where updates apply at once. */
typedef struct hawser_merging {
    double *state;       /**< entries [first, first + count) as merged so far; the function changes them in place */
    const double *sum;   /**< the canonical sum of the deltas for these entries */
    size_t first, count; /**< indices in the whole state, for penalties and bounds that differ by entry */
    uint32_t blocks;
    uint64_t clock; /**< iteration of the loop in which the deltas were made, for rates and thresholds that fall */
    void *user;
} hawser_merging;

/** How a replicated state is merged (ALT eq. 4.3): state += damping * sum over blocks of delta. A block's cache
 *  is state + gain * its own unsent delta (CoCoA's sigma'), so the block already allows for the other blocks' updates;
 *  the delta itself is sent. Zero fields mean 1. A `merge` function replaces the formula. */
typedef struct hawser_rule {
    double damping; /**< gamma: 1 adds, 1/B averages */
    double gain;    /**< sigma' */
    /** Changes the state by the sum of deltas; deterministic, no side effects. NULL: the formula. */
    void (*merge)(const hawser_merging *merging);
    void *user;
} hawser_rule;

/** Creates an empty program; never returns NULL. Errors while the program is built, a failed allocation among them, are returned by
 *  hawser_plan_print and hawser_run_program. hawser_user returns `user` to units. The caller frees the program. */
HAWSER_API hawser_program *hawser_program_new(const char *name, void *user);
HAWSER_API void hawser_program_free(hawser_program *program);

/** Adds a data state, which all units may read. One unit may transform it before any reader runs (ALT Algorithm 5: D <- f_p(D)): it declares the
 *  state in its updates and calls hawser_data_replace. The matrix must outlive the run. */
HAWSER_API hawser_state *hawser_data_state(hawser_program *program, const char *name, const hawser_matrix *matrix,
                                           hawser_split split);

/** Adds a cost to each column (or row) of a split data state, in the unit of hawser_balance. Blocks are cut so that their total costs are
 *  balanced. `costs` has one value per column, none negative, and must outlive the run; NULL adds nothing. Ignored with several nodes, which
 *  assign columns when they read the input. */
HAWSER_API void hawser_data_costs(hawser_state *data, const double *costs);

/* States hold finite numbers. If an update, a sum of updates or a merge function makes a state NaN or infinite, the run fails with
 * HAWSER_NOT_FINITE and the state's name, with any number of threads and nodes. The same holds for an `initial` that is not finite. Replicated,
 * partitioned and stored states are checked in each clock. A tied local state is checked with its replicated state, any other when the run ends.
 *
 * --init STATE=FILE replaces `initial` in the job's first program that has a state of this name, whatever its kind and type. The option may be repeated,
 * and is a list: w=w.npy,v=v.txt. FILE is an .npy array of the state's type, in C or Fortran order: rows x cols numbers, of a local state one
 * row for each column (or row) of its data, or for each block (hawser_block_state). An array of one dimension, or a text with one number per line, has the
 * order of hawser_result. Every node reads the file. If their numbers differ, the run is refused. Derived states are refused, since they are computed. */

/** Adds a replicated state: every block has a full copy of rows x cols doubles (column-major) and blocks exchange deltas. `initial`
 *  has rows * cols values and is copied at run time; NULL means zeros. */
HAWSER_API hawser_state *hawser_replicated_state(hawser_program *program, const char *name, size_t rows, size_t cols,
                                                 const double *initial, hawser_rule rule);
/** Adds a replicated state of another type; `initial` has numbers of the type. Units use the calls that end in the type's name (hawser_cache_f32),
 *  as for the other functions below.
 *
 *  f32 is computed in f32, by the same tree of sums, so it has the same bits for any number of threads and nodes and over any topology. Only a
 *  merge function gets doubles; its results are rounded to f32.
 *
 *  Integers are added exactly. A sum that overflows fails the run with HAWSER_NOT_FINITE, the state's name and the entry; nothing wraps around. It is
 *  checked at each addition: at hawser_inc_i64, at the difference that a block sends, at each node of the canonical tree of sums, and when the sum is
 *  added to the state. So a sum that would fit fails if a part of it overflows. Under bsp the order of additions is the canonical one, so it
 *  depends on the number of blocks alone; under ssp and tap it depends on the order of arrival. What a unit adds to its cache itself, it
 *  checks itself. Integers have no damping, gain, merge function or encoding, and no relative filter: the plan refuses them. */
HAWSER_API hawser_state *hawser_replicated_state_of(hawser_program *program, const char *name, hawser_type type, size_t rows,
                                                    size_t cols, const void *initial, hawser_rule rule);

/** Adds a partitioned state: `count` doubles, divided into one contiguous share per block. A block writes its own share and sends the values to
 *  all readers. If `along` is a data state the shares follow its split, else they are equal. */
HAWSER_API hawser_state *hawser_partitioned_state(hawser_program *program, const char *name, size_t count,
                                                  hawser_state *along, const double *initial);
/** Adds a partitioned state of another type; `initial` has numbers of the type. Its values are sent as they are, so an integer keeps all its
 *  digits. Nothing is added up, so what a unit computes with integers, it checks itself. */
HAWSER_API hawser_state *hawser_partitioned_state_of(hawser_program *program, const char *name, hawser_type type,
                                                     size_t count, hawser_state *along, const void *initial);

/** Adds a partitioned state of rows x cols numbers of a type. Each block has whole *lines* of it: rows (HAWSER_BY_ROW) or columns
 *  (HAWSER_BY_COLUMN). The numbers of a line are contiguous, in `initial`, in views and in the result: the state is row-major if
 *  it is by row, else column-major. If `along` is a data state, line i belongs to the block of its column (or row) i, and there are equally
 *  many of both. If it is NULL, blocks have equally many lines. All else is as in hawser_partitioned_state_of. */
HAWSER_API hawser_state *hawser_partitioned_matrix(hawser_program *program, const char *name, hawser_type type, size_t rows,
                                                   size_t cols, hawser_split split, hawser_state *along,
                                                   const void *initial);

/** Adds a stored state: `count` doubles that the store keeps (store.h), spread over the nodes, for states that do not fit on every node. Units read
 *  it chunk by chunk (hawser_next_chunk) or by keys (hawser_prefetch). `along`, `initial` and shares are as in a partitioned state.
 *  If `function` is NULL, each share, a *chunk*, has one writer: its block changes it in place (hawser_local), and the values are sent to the
 *  store when the clock ends. Else all blocks change it with hawser_inc, through this function of the store ("add", "adagrad" ...; see
 *  hawser_table). `parameters` then has all parameters of the function (NULL: it has none), and `initial` is for "add" only. */
HAWSER_API hawser_state *hawser_stored_state(hawser_program *program, const char *name, size_t count, hawser_state *along,
                                             const double *initial, const char *function, const double *parameters);

/** Adds a stored state of f32 or i64; `initial` has numbers of the type. The store changes f32 in f32 with "add", "max" and "assign"; its other
 *  functions compute in f64 and round once. An i64 keeps all its digits. i64 with a function that adds, or that is made for floats, is refused,
 *  since sums in the store would wrap around; i32 is refused, too. */
HAWSER_API hawser_state *hawser_stored_state_of(hawser_program *program, const char *name, hawser_type type, size_t count,
                                                hawser_state *along, const void *initial, const char *function,
                                                const double *parameters);

/** Adds a stored state of rows x cols numbers of a type. Blocks have whole lines of it, as in hawser_partitioned_matrix: rows (HAWSER_BY_ROW) or columns
 *  (HAWSER_BY_COLUMN). The numbers of a line are contiguous in chunks, in `initial` and in the result. The store itself has no lines, so keys and ranges
 *  count numbers: number j of line i has the key i * (numbers of a line) + j. All else is as in hawser_stored_state_of. */
HAWSER_API hawser_state *hawser_stored_matrix(hawser_program *program, const char *name, hawser_type type, size_t rows,
                                              size_t cols, hawser_split split, hawser_state *along, const void *initial,
                                              const char *function, const double *parameters);

/** Adds a local state: `width` doubles for every column (or row) of the block's part of data state `along`; never exchanged.
 *  `initial` is in global order. */
HAWSER_API hawser_state *hawser_local_state(hawser_program *program, const char *name, hawser_state *along, size_t width,
                                            const double *initial);
/** Adds a local state of another type; `initial` has numbers of the type. Only states of f64 can be tied. */
HAWSER_API hawser_state *hawser_local_state_of(hawser_program *program, const char *name, hawser_type type,
                                               hawser_state *along, size_t width, const void *initial);

/** Adds a local state that data do not shape: `count` numbers of a type for every block. The result has the blocks' numbers one after the other.
 *  `initial` has `count` numbers for each of `blocks` blocks, in this order, and the plan refuses a job of another number of blocks. If
 *  `blocks` is 0, it has `count` numbers, with which every block begins. NULL means zeros. */
HAWSER_API hawser_state *hawser_block_state(hawser_program *program, const char *name, hawser_type type, size_t count,
                                            const void *initial, uint32_t blocks);

/** Ties a local state to a replicated one: both are committed together, with the same damping, and rolled back together.
 *  This keeps v = A alpha true under averaging. */
HAWSER_API void hawser_tie(hawser_state *local, hawser_state *replicated);

/** A unit. It returns HAWSER_OK, the status of a call that it must pass on, or the status of a failure; any other number is HAWSER_BAD_PROGRAM.
 *
 *  After HAWSER_VIEW_CHANGED all units of the stage run again. The runtime has taken back what they did to states, metrics, reductions and the
 *  scratch (as far as hawser_scratch_record visits it). What a unit changes elsewhere, it must be able to change twice. A stage that has sent a part of
 *  its changes (hawser_yield, hawser_publish, hawser_inc of a stored state) is not run again. */
typedef hawser_status hawser_unit_function(hawser_context *context);

/** Declares that a replicated state is a function of other states. `rebuild` runs on each block and adds the block's share to
 *  hawser_cache(state), which starts at zero. The shares are summed in canonical order. `rebuild` runs when a loop that updates the state is
 *  entered or left, so certificates are computed without drift. */
HAWSER_API void hawser_derive(hawser_state *replicated, hawser_unit_function *rebuild);

/** The form in which the deltas of a state are sent. Except for HAWSER_EXACT, deltas are rounded to the nearest number of the form, between
 *  threads as between nodes, so results do not depend on where blocks run. The rounding error is added to the entry's next delta, and all of
 *  it is sent before a loop is left. int8 has one scale (a power of two) per 512 entries. */
typedef enum hawser_form { HAWSER_EXACT = 0, HAWSER_AS_BF16, HAWSER_AS_F16, HAWSER_AS_INT8 } hawser_form;
HAWSER_API void hawser_encoding(hawser_state *replicated, hawser_form form);
/** Gives a replicated state its own filter in place of the job's (--filter, --quota and --max-held-clocks). `filter` is a name of --filter: "none",
 *  "absolute", ... `quota` is the bytes that a block may send of this state per exchange; entries beyond it are held, for at most `max_held` clocks
 *  (0: the loop's staleness + 1). "none" takes 0 and 0. The plan refuses a filter that can do nothing: without a quota, of a state that no unit
 *  updates, or "relative" for integers.
 *  Options for one state (--filter w=absolute, --quota w=4k, --encoding w=bf16) come before this call and hawser_encoding, and these
 *  before the job's. A state of that name must exist in the job's first program with a loop, or in one of hawser_job_programs, and be a replicated one
 *  that a unit updates. */
HAWSER_API void hawser_state_filter(hawser_state *replicated, const char *filter, uint64_t quota, uint64_t max_held);

/* --------------------------------------------------------------------------------------------------- operators ---- */

/** Lists of states, ended by NULL; the call copies them. */
#define HAWSER_READS(...)   ((hawser_state *const[]){__VA_ARGS__, NULL})
#define HAWSER_UPDATES(...) ((hawser_state *const[]){__VA_ARGS__, NULL})

/** Adds a unit that runs on every block (`each`). Either list may be NULL. Updating a state includes reading it. */
HAWSER_API hawser_operator *hawser_unit(hawser_operator *parent, const char *name, hawser_unit_function *function,
                                        hawser_state *const *reads, hawser_state *const *updates);
/** Adds a unit that runs on one block only: block 0, or the block that has most of the data state that the unit reads. */
HAWSER_API hawser_operator *hawser_unit_one(hawser_operator *parent, const char *name, hawser_unit_function *function,
                                            hawser_state *const *reads, hawser_state *const *updates);
/** Lets a unit of a loop under ssp or tap wait for newer updates than its loop's sync asks for: as under `sync`, which is bsp, or ssp with a smaller
 *  staleness. The order of additions stays the loop's. Units of one stage that use the same state wait for it as the strictest of them.
 *  The plan refuses a sync that waits less than the loop's, and units that use stored states or are in no shipped loop. */
HAWSER_API void hawser_unit_sync(hawser_operator *unit, hawser_sync sync);
/** Declares that a unit calls hawser_allreduce, with at most `most` numbers at a time. The plan counts the memory for it. It refuses units that
 *  run on one block, and loops under other policies than bsp. */
HAWSER_API void hawser_reduces(hawser_operator *unit, size_t most);
/** Sets how many numbers such a unit is expected to reduce at a time, and in a clock, for the plan's estimate. The default is `most`, and
 *  1024 times `most`. */
HAWSER_API void hawser_reduces_expect(hawser_operator *unit, size_t numbers, size_t clock);
HAWSER_API hawser_operator *hawser_root(hawser_program *program); /**< a sequence */
HAWSER_API hawser_operator *hawser_sequence(hawser_operator *parent);
/** Adds an operator whose units start together. A block runs its units of the parallel one after another, in the order in which they were
 *  added, so only units on different blocks (hawser_unit_one) run at the same time. Unit k that runs on one block and reads no data state runs on
 *  block k modulo the number of blocks. Other children run after the units, one after another. The plan rejects a parallel if one child updates
 *  a state that another child reads or updates. */
HAWSER_API hawser_operator *hawser_parallel(hawser_operator *parent);
/** Runs the first child if `test` returns true, else the second, which may be absent. The driver calls `test` at an agreed clock. In a loop under ssp
 *  with staleness s it calls it when clock t gets its credit: hawser_progress_clock is t, and the metrics are those of clock t - s - 1. */
HAWSER_API hawser_operator *hawser_branch(hawser_operator *parent, const char *name,
                                          bool (*test)(hawser_progress *progress, void *user), void *user);

/** Gives the test of a branch `bytes` of memory (hawser_progress_memory), in which it keeps all that it remembers from call to call. It is zeroed when
 *  the run begins, and when the innermost loop around the branch is entered. If a test is called again for a clock, because the sync of the
 *  loop has changed before any block began the clock, the memory is as it was before the first call. */
HAWSER_API void hawser_branch_remembers(hawser_operator *branch, size_t bytes);

/** When a loop ends: at the first clock for which any given condition holds. A zero field is not a condition. `test` runs first,
 *  so it may set the metric that the other conditions read. */
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

/** Adds a loop. Entering and leaving it is a BSP point: all deltas are merged and derived states rebuilt. A loop of units and sequences of units
 *  is sent to the blocks as a whole and runs on clock credit, and so is every loop under ssp or tap. The driver steps a bsp loop that contains other
 *  operators. A loop inside of one under ssp or tap is a part of its clock: it ends by a number of clocks alone, and has the sync of the loop around it,
 *  or bsp, with which its units wait as by hawser_unit_sync.
 *
 *  A clock is one iteration of the whole body. If a unit reads a state (or updates a replicated one) that an earlier unit of the body updates, a new
 *  *stage* begins there: under bsp the unit sees what the earlier unit has changed in this clock on all blocks, under ssp with staleness s what it has
 *  changed up to clock t - s, under tap what has arrived. docs/guarantees.md has the rules, and what the plan refuses. */
HAWSER_API hawser_operator *hawser_loop(hawser_operator *parent, const char *name, hawser_until until, hawser_sync sync);

/* ------------------------------------------------------------------------------------------------------- CoCoA ---- */
/* Minimises f(A alpha) + sum over j of g_j(alpha_j), where the gradient of f changes at most by 1/tau of the distance (ALT section 2.1.3, Algorithm 3;
 * Smith et al. 2016, arXiv:1611.02189). Each block owns some of the coordinates alpha_j: a local state. v = A alpha is a replicated state. In a round,
 * a local solver of the user's improves the coordinates of a block. */

/** The subproblem of a block in a round (ALT eq. 2.7): to make
 *      grad f(v)^T A d + sigma' / (2 tau) |A d|^2 + sum over own j of g_j(alpha_j + d_j)
 *  smaller by the steps d of its own coordinates. The better the solver solves it (Theta), the fewer rounds are needed, but any improvement will do. A
 *  step d_j changes what the subproblem shows, so with f(v) = |v - y|^2 / 2 its gradient in d_j is A_j^T (v - y) + g_j'(alpha_j). With another f, it
 *  is A_j^T (grad f(v0) + (v - v0) / tau) + g_j'(alpha_j), where v0 is the v that the solver was called with. */
typedef struct hawser_subproblem {
    const hawser_matrix *A;    /**< this block's part; a column belongs to each coordinate, or a row if A is split by row */
    size_t coordinates, first; /**< how many are its own (0 is possible), and the number of the first one in alpha */
    size_t size;               /**< numbers of v */
    const double *alpha;       /**< the own coordinates: alpha + d */
    const double *v;           /**< v + sigma' A d; without steps, v as this block knows it */
    double sigma;              /**< sigma' in force */
} hawser_subproblem;

/** Moves own coordinate j, which counts from 0: d_j += step, so that alpha[j] changes by step, and v by sigma' step A_j. A j beyond the own coordinates
 *  fails the unit. Costs one pass over the entries of A_j. */
HAWSER_API void hawser_subproblem_step(hawser_subproblem *subproblem, size_t j, double step);

/** A local solver: it reads the subproblem and takes steps. The context has the states that hawser_cocoa declares. It returns what a unit returns. */
typedef hawser_status hawser_local_solver(hawser_context *context, hawser_subproblem *subproblem);

/** Adds a unit that has `solver` solve each block's subproblem, a round per clock. `alpha` is a local state of f64, one number per coordinate, along a
 *  data state A that is split HAWSER_BY_COLUMN or HAWSER_BY_ROW. `v` is a replicated state of f64, with as many numbers as A has rows, or columns if it
 *  is split HAWSER_BY_ROW. Its rule has gamma (damping) and sigma' (gain): see hawser_cocoa_rule. Ties alpha to v, and derives v from all local
 *  states that a call of hawser_cocoa has tied to it; the program calls neither hawser_tie nor hawser_derive. `reads` are further states that the
 *  solver reads, or NULL. */
HAWSER_API hawser_operator *hawser_cocoa(hawser_operator *loop, const char *name, hawser_local_solver *solver,
                                         hawser_state *alpha, hawser_state *v, hawser_state *const *reads);

/** Returns a safe rule for v in a loop with this sync: gamma as given, and sigma' = gamma K (s + 1) for K workers and staleness s. gamma 1 adds the steps
 *  of the blocks (CoCoA+), 1/K averages them (CoCoA); 0 takes what --merge says. Under tap no staleness is safe for certain; s is 8 then. Without a
 *  job, or for a sync that does not exist, the rule has NaN, and the run refuses it. */
HAWSER_API hawser_rule hawser_cocoa_rule(const hawser_job *job, double gamma, hawser_sync sync);

/* ------------------------------------------------------------------------------------------------- inside a unit ---- */
/* A pointer stays valid until the unit returns; its contents change only in hawser_yield and hawser_publish. Access to a state
 * that the unit did not declare fails with the state's name: the call returns HAWSER_BAD_PROGRAM or NULL, and the run fails whatever the unit
 * returns. Only hawser_prefetch, hawser_prefetch_wait, hawser_next_chunk, hawser_allreduce, and hawser_inc on stored states allocate memory. */

HAWSER_API uint32_t hawser_block(const hawser_context *context);  /**< this block's number */
HAWSER_API uint32_t hawser_blocks(const hawser_context *context); /**< B */
HAWSER_API uint64_t
hawser_clock(const hawser_context *context); /**< own iteration of the innermost loop, from 0; 0 outside of loops */
HAWSER_API void *hawser_user(const hawser_context *context); /**< the program's user pointer: shared, read-only */
/** Returns this block's scratch, of the size set by hawser_scratch_size; zeroed at the start of the run. The scratch is a cache. Within a stage it is
 *  kept from unit to unit. Whenever a block has ended a stage, all of it may be dropped: it is released and zeroed. A unit outside of loops is a
 *  stage of its own. So a unit that finds zeros makes its scratch anew, from states and data. What cannot be made anew belongs in a state, or in a
 *  visit (hawser_scratch_record), which is called around the drop. */
HAWSER_API void *hawser_scratch(const hawser_context *context);
/** Sets the bytes of scratch per block, before the run. `release` frees memory that units stored in the scratch; it is called on the block's
 *  thread when the block ends, possibly while other blocks still run. May be NULL. */
HAWSER_API void hawser_scratch_size(hawser_program *program, size_t bytes, void (*release)(void *scratch));
/** Visits what a block must remember of its scratch from stage to stage, with the functions of record.h. It is called to write the scratch, and to
 *  read it back: hawser_record_reads. When it reads, the scratch is zeroed; it allocates and computes anew what follows from data, and visits the
 *  rest, which depends on the clocks before. Of the context it may call hawser_scratch, hawser_user, hawser_block, hawser_blocks,
 *  hawser_data_view, hawser_data_fetch and hawser_unit_fail. Which fields are visited may depend on fields that were visited before. */
typedef void hawser_scratch_visit(hawser_record *record, hawser_context *context);
/** Declares what a block must remember in its scratch. Between two stages a block's scratch may be written with `visit`, freed (by `release`),
 *  zeroed and read back with `visit`; the run has the same bits with and without this. Memory that `visit` leaves out is a cache: units make it
 *  anew, with the same bits, from states and data when they find zeros. If visit is NULL, or without this call, all of the scratch is a cache. */
HAWSER_API void hawser_scratch_record(hawser_program *program, hawser_scratch_visit *visit);
/** Sets the memory that units are expected to take besides states and data, for the plan's estimate: `block` bytes in each block (stored in
 *  its scratch) and `node` bytes once in each process. A run may take more. */
HAWSER_API void hawser_scratch_expect(hawser_program *program, uint64_t block, uint64_t node);
/** Sets the number of entries that a run is expected to use, for the plan's estimate. Of a replicated or partitioned state, which may be as large as
 *  the worst case, since entries that never change take no memory; or of a HAWSER_FETCHED data state: those that a node fetches (if unset, all). */
HAWSER_API void hawser_state_expect(hawser_state *state, size_t entries);
/** Says that nodes will fetch the whole result of a local or stored state (hawser_result), so that the plan's estimate counts it on every node, besides
 *  the share that stays there. Results of other states are whole on every node, and are always counted. */
HAWSER_API void hawser_result_expect(hawser_state *state);

/** Views and caches: a call for a state that the unit does not declare (or that is of another kind) returns NULL. The error is reported
 *  at once (messages.h), because a unit that uses NULL ends the process; a unit that returns fails with it. */
HAWSER_API const hawser_matrix *hawser_data_view(hawser_context *context, const char *state); /**< this block's part */
/** Fetches the entries of some columns (indices in the whole matrix) of a data state that this unit reads, from the nodes that have them; they
 *  stay on this node. Required before a unit reads columns of other blocks in a state that is HAWSER_FETCHED, if hawser_job_load read the data;
 *  free if all entries are on this node. Returns HAWSER_OK, or the status that the unit must return at once.
 *
 *  Entries on other nodes read as zeros. The unit fails, with its name, if a kernel of matrix.h touches such a column, through the view or through
 *  the matrix of the state, or if the unit takes the view of a HAWSER_FETCHED matrix that lacks entries on this node before this block has called
 *  hawser_data_fetch for it. A unit that uses only the columns of its own block calls with `count` 0. A unit that walks a column by pointers must name the column
 *  here; under --check it fails where it reads a column that is elsewhere. */
HAWSER_API hawser_status hawser_data_fetch(hawser_context *context, const char *state, const uint32_t *columns,
                                           size_t count) HAWSER_MUST_USE;
/** Returns the cache of a replicated state that the unit updates. The unit changes it in place; the difference is the delta. */
HAWSER_API double *hawser_cache(hawser_context *context, const char *state);
HAWSER_API float *hawser_cache_f32(hawser_context *context, const char *state);
HAWSER_API int64_t *hawser_cache_i64(hawser_context *context, const char *state);
HAWSER_API int32_t *hawser_cache_i32(hawser_context *context, const char *state);
/** Returns all values of a replicated or partitioned state, for reading. */
HAWSER_API const double *hawser_view(hawser_context *context, const char *state);
HAWSER_API const float *hawser_view_f32(hawser_context *context, const char *state);
HAWSER_API const int64_t *hawser_view_i64(hawser_context *context, const char *state);
HAWSER_API const int32_t *hawser_view_i32(hawser_context *context, const char *state);
/** Returns this block's part of a local, partitioned or stored state with one writer. The unit may change it if it updates the state. */
HAWSER_API double *hawser_local(hawser_context *context, const char *state);
HAWSER_API float *hawser_local_f32(hawser_context *context, const char *state);
HAWSER_API int64_t *hawser_local_i64(hawser_context *context, const char *state);
HAWSER_API int32_t *hawser_local_i32(hawser_context *context, const char *state);
/** Returns one line of this part, `line` counted from the part's first: a row or a column of hawser_partitioned_matrix, in a local state the numbers
 *  of one column (or row) of its data. A line that this block does not have fails the unit and returns NULL. Each call searches for the
 *  state's name; a loop over all lines is faster with hawser_local, where line follows line. */
HAWSER_API double *hawser_line(hawser_context *context, const char *state, size_t line);
HAWSER_API float *hawser_line_f32(hawser_context *context, const char *state, size_t line);
HAWSER_API int64_t *hawser_line_i64(hawser_context *context, const char *state, size_t line);
HAWSER_API int32_t *hawser_line_i32(hawser_context *context, const char *state, size_t line);
/** Returns the number of lines of this part, and stores the index of its first line in the whole state in *first, which may be NULL. */
HAWSER_API size_t hawser_part_lines(hawser_context *context, const char *state, size_t *first);
/** Returns the size of this part, and stores the index of its first number in the whole state in *first, which may be NULL. */
HAWSER_API size_t hawser_part(hawser_context *context, const char *state, size_t *first);
/** Declares which entries of a dense cache, or of this block's part of a partitioned state (indices in the whole), changed, so that a yield
 *  compares only these. If a unit calls it in a clock, its calls must cover every change of that clock. */
HAWSER_API hawser_status hawser_touch(hawser_context *context, const char *state, size_t first,
                                      size_t count) HAWSER_MUST_USE;
/** Adds values[i] to state[keys[i]] (through the gain) in a replicated state. In a stored state, applies the state's function to the values; keys
 *  must ascend, and the clock ends only when the store has all values. */
HAWSER_API hawser_status hawser_inc(hawser_context *context, const char *state, const uint64_t *keys, const double *values,
                                    size_t count) HAWSER_MUST_USE;
HAWSER_API hawser_status hawser_inc_f32(hawser_context *context, const char *state, const uint64_t *keys,
                                        const float *values, size_t count) HAWSER_MUST_USE;
HAWSER_API hawser_status hawser_inc_i64(hawser_context *context, const char *state, const uint64_t *keys,
                                        const int64_t *values, size_t count) HAWSER_MUST_USE;
HAWSER_API hawser_status hawser_inc_i32(hawser_context *context, const char *state, const uint64_t *keys,
                                        const int32_t *values, size_t count) HAWSER_MUST_USE;

/** A block's share of a stored state, as read. */
typedef struct hawser_chunk {
    uint32_t block;      /**< the block that owns it; UINT32_MAX: there are no more chunks */
    size_t first, count; /**< range of indices in the whole state */
    const double *
        values; /**< a state of f64, else NULL; valid until the next hawser_next_chunk of this state and until the unit returns; for the own share, the pointer that hawser_local returns */
    const float *values_f32;   /**< the same of a state of f32 */
    const int64_t *values_i64; /**< the same of a state of i64 */
} hawser_chunk;
/** Returns the chunks of a stored state that this unit reads, each once, in the order in which the loop's sync admits them. Blocks until the next
 *  chunk is available; skips empty shares. The next call for the same state reuses the memory of the chunk, so a unit works on a chunk at once or
 *  copies it. A block has the chunk in use in memory, and has requested 4 MiB of chunks at most besides it, or two chunks if they are larger;
 *  under bounded delay twice that. Sums over chunks in the order of chunk->block have the same bits under bsp and dc:0 as with one
 *  thread. Returns HAWSER_OK, or the status that the unit must return at once. */
HAWSER_API hawser_status hawser_next_chunk(hawser_context *context, const char *state, hawser_chunk *chunk) HAWSER_MUST_USE;
/** Starts an asynchronous read of a stored state: of the `keys` (ascending, distinct, copied), or, if keys is NULL, of `count` numbers from `first`
 *  on. Does not block. At most two reads may be outstanding. A read that is started in one clock and taken in the next is only as fresh as the
 *  clock that started it. Under BSP and data-centric sync, outstanding reads are dropped at the end of the clock. */
HAWSER_API hawser_status hawser_prefetch(hawser_context *context, const char *state, const uint64_t *keys, size_t first,
                                         size_t count) HAWSER_MUST_USE;
/** Waits for the oldest hawser_prefetch and stores a pointer to its values, in the order of its keys; they are valid until the
 *  next hawser_prefetch_wait. */
HAWSER_API hawser_status hawser_prefetch_wait(hawser_context *context, const char *state,
                                              const double **values) HAWSER_MUST_USE;
HAWSER_API hawser_status hawser_prefetch_wait_f32(hawser_context *context, const char *state,
                                                  const float **values) HAWSER_MUST_USE;
HAWSER_API hawser_status hawser_prefetch_wait_i64(hawser_context *context, const char *state,
                                                  const int64_t **values) HAWSER_MUST_USE;

HAWSER_API double hawser_gain(hawser_context *context, const char *state);    /**< sigma' in force */
HAWSER_API double hawser_damping(hawser_context *context, const char *state); /**< gamma in force */

/** Sends the changes made so far as a part of this clock and merges the updates that have arrived. Returns HAWSER_OK, or the status that the
 *  unit must return at once. */
HAWSER_API hawser_status hawser_yield(hawser_context *context) HAWSER_MUST_USE;
/** Returns whether a signal or the time limit has asked the whole run to end. A unit that computes for long checks it from time to time, and
 *  returns as soon as its states are consistent. Once true it stays true, on every block. A call takes about 30 ns.
 *
 *  In a unit that reduces (hawser_reduces) it returns what all blocks agreed on at the unit's last hawser_allreduce, and false before the
 *  first. So all blocks leave a loop of reductions together. */
HAWSER_API bool hawser_stopping(const hawser_context *context);
/** Sends one state's changes without merging updates. */
HAWSER_API hawser_status hawser_publish(hawser_context *context, const char *state) HAWSER_MUST_USE;

/** These return random numbers that depend only on (seed, unit, block, clock, draw). */
HAWSER_API uint64_t hawser_random(hawser_context *context);
HAWSER_API uint64_t hawser_random_below(hawser_context *context, uint64_t bound); /**< unbiased; bound > 0 */
HAWSER_API double hawser_random_uniform(hawser_context *context);                 /**< [0, 1) */

/** Replaces the block's part of a data state that this unit transforms; `part` must live until the run ends. */
HAWSER_API hawser_status hawser_data_replace(hawser_context *context, const char *state,
                                             const hawser_matrix *part) HAWSER_MUST_USE;

/** Fails the job with this text, after the names of unit and block except if `status` is HAWSER_BAD_INPUT. The unit returns the value of the
 *  call. */
HAWSER_API hawser_status hawser_unit_fail(hawser_context *context, hawser_status status, const char *format, ...)
    HAWSER_PRINTF(3, 4);

/** How numbers of several blocks are combined. */
typedef enum hawser_combine_by { HAWSER_SUM, HAWSER_MAX, HAWSER_MIN, HAWSER_LAST /**< block 0's */ } hawser_combine_by;
/** Combines `count` numbers of every block, entry by entry, and stores the result in `values` on each block. `by` is HAWSER_SUM, HAWSER_MAX or
 *  HAWSER_MIN. A sum has the same bits with any number of threads and nodes and over any topology; a zero in the result is 0.0, never -0.0.
 *  Zeros at both ends of `values` are not sent: if a block's share is a range of the vector, it sets the rest to zero.
 *
 *  Returns HAWSER_OK, or the status that the unit must return at once: HAWSER_NOT_FINITE for NaN, and for a sum of infinities or one that
 *  overflows; HAWSER_BAD_PROGRAM if blocks do not make the same calls. A request to stop does not end it: see hawser_stopping.
 *
 *  Collective over the blocks of a unit that hawser_reduces declares: in a clock every block calls it equally often, each time with the same
 *  `count` and `by`. Waits for all blocks. Filters, quotas and encodings do not apply. */
HAWSER_API hawser_status hawser_allreduce(hawser_context *context, double *values, size_t count,
                                          hawser_combine_by by) HAWSER_MUST_USE;

/* Metrics are small numbers that units report and the driver combines over blocks (in the canonical order) when a unit or a
 * clock has ended everywhere. Stop tests read the combined value, and so does every block from its next trigger on. */
/** Declares a metric before the run; at most 64. */
HAWSER_API void hawser_metric_declare(hawser_program *program, const char *name, hawser_combine_by by);
/** Says that a declared metric numbers the fits of a run, as a fold or a lambda does. Each change of a policy then has its value (hawser_policy_change),
 *  and --trace, --log-view and --log-json show it. At most HAWSER_FIT_METRICS metrics. */
HAWSER_API void hawser_metric_numbers_fits(hawser_program *program, const char *metric);
/** Reports this block's share; the last report in a clock counts. Returns HAWSER_NOT_FINITE for NaN. */
HAWSER_API hawser_status hawser_report(hawser_context *context, const char *metric, double value) HAWSER_MUST_USE;
/** Returns the combined value as of the last trigger or credit; NaN before the first. In a loop with another end than `clocks`, a unit in clock t sees
 *  the value of clock t - 1 under bsp, and of clock t - s - 1 or later under ssp. Blocks of a loop that ends by `clocks` alone get all their credit
 *  when they enter it, so that its units may see what was known then, until it ends. */
HAWSER_API double hawser_metric(const hawser_context *context, const char *metric);

/* ----------------------------------------------------------------------------------------- on the driver, in tests ---- */

/** Returns the combined value, or NaN if there is none. "bytes" (sent by all blocks so far) and "staleness" (the most clocks that a block has run
 *  ahead of its oldest input) exist without a declaration. */
HAWSER_API double hawser_progress_metric(const hawser_progress *progress, const char *metric);
/** Returns the name of metric `index`: the declared ones in their order, then the two others; NULL: there are no more. */
HAWSER_API const char *hawser_progress_metric_name(const hawser_progress *progress, size_t index);
HAWSER_API void hawser_progress_set(hawser_progress *progress, const char *metric, double value); /**< publish to blocks */
HAWSER_API uint64_t hawser_progress_clock(const hawser_progress *progress);   /**< own iteration of the tested loop */
HAWSER_API uint64_t hawser_progress_clocks(const hawser_progress *progress);  /**< clocks of all shipped loops so far */
HAWSER_API double hawser_progress_seconds(const hawser_progress *progress);   /**< since the run began */
HAWSER_API const char *hawser_progress_loop(const hawser_progress *progress); /**< name of the loop or unit */
/** Returns the memory of the test that runs, as large as hawser_until.remembers or hawser_branch_remembers says and aligned for any type; NULL
 *  elsewhere. That of a stop test is zeroed when the loop is entered. The runtime may copy it, go back to a copy and call the test again. So a test that declares it keeps all that it remembers there. */
HAWSER_API void *hawser_progress_memory(const hawser_progress *progress);
/** Declares what the tests of a program, of loops and branches, remember together: an object of the program's, which may have arrays and which the program
 *  still has after the run. `visit` (record.h) writes it and reads it back. The runtime may write it before a test, call the test, read it back and
 *  call the test again. When it is read, the object is as a test has left it, so `visit` first frees what it allocates. Without this call, and
 *  without memory of their own, tests are called once. It must outlive the runs. Called only on node 0. visit NULL: nothing. */
HAWSER_API void hawser_tests_record(hawser_program *program, hawser_record_function *visit, void *object);
HAWSER_API bool hawser_progress_stopping(const hawser_progress *progress); /**< a signal or limit asked for the end */
/** Change a policy. A gain holds from the first clock that is announced next, a sync from the first clock that no block has begun; both hold on all blocks
 *  from the same clock. hawser_figures.changes has these clocks, and --trace, --log-view and --log-json show them. */
HAWSER_API void hawser_progress_gain(hawser_progress *progress, const char *state, double gain);
HAWSER_API void hawser_progress_sync(hawser_progress *progress, const char *loop, hawser_sync sync);
/** Returns change `index` of the changes in this run so far, in the order in which they were announced; NULL: there are no more. The driver owns it, until
 *  the observer or test returns. */
HAWSER_API const struct hawser_policy_change *hawser_progress_change(const hawser_progress *progress, size_t index);

/* -------------------------------------------------------------------------------------------------------- running ---- */

/** The option rows that every job understands (workers, sync, seed, filters, limits ...); for hawser_options_new. */
HAWSER_API const hawser_option *hawser_job_rows(void);

/* Options that can do nothing: hawser_plan_print and hawser_run_program judge the first program that has a loop. They return HAWSER_BAD_OPTION for an
 * option of the command line that can do nothing in it: --filter where no updates are sent, or --sync where the program has not called
 * hawser_job_sync before. In a configuration file or the environment such an option is a note (messages.h). An option that would have an effect
 * with more nodes is only noted, so that one command line serves any number of nodes. hawser_job_idle does this for an option of the program. */

/** Opens a job for the user's own program: reads the launcher's environment and HAWSER_ variables, removes the job's flags
 *  from argv (the program's own arguments stay) and finds workers and memory from the affinity mask and cgroup limits. */
HAWSER_API hawser_status hawser_open(int *argc, char **argv, hawser_job **job, hawser_error *error) HAWSER_MUST_USE;
/** Like hawser_open, from an option set that includes hawser_job_rows(); the set must outlive the job. */
HAWSER_API hawser_status hawser_open_options(const hawser_options *options, hawser_job **job,
                                             hawser_error *error) HAWSER_MUST_USE;
/** What a job is opened with besides its options. Zero fields are defaults, and later versions have more fields. */
typedef struct hawser_opening {
    hawser_messages *messages;         /**< where the job and everything made with it report; NULL: standard error */
    hawser_cancellation *cancellation; /**< ends what the job waits for, and its runs; NULL: none */
    hawser_cluster *
        cluster; /**< the job runs on these nodes (cluster.h); NULL: it joins its nodes, and leaves them when it is closed */
    const void *key;   /**< the key that nodes prove, instead of --key-file; copied; not for a job on a cluster */
    size_t key_length; /**< its bytes, from 16 to 64 */
    uint32_t node;     /**< number of a node with the option join, from 1; 0: as it arrives; not for a job on a cluster */
} hawser_opening;
/** Like hawser_open_options, with more than options. `opening` may be NULL. What it points to must outlive the job, its runs and its datasets. */
HAWSER_API hawser_status hawser_open_with(const hawser_options *options, const hawser_opening *opening, hawser_job **job,
                                          hawser_error *error) HAWSER_MUST_USE;
/** Ends the job and frees it. If the job has local or stored states in runs that other nodes have not freed, blocks until these nodes have freed the
 *  runs or close the job, too, since they may read results here (hawser_result_range). If a node is lost meanwhile, the wait ends with a warning (messages.h). */
HAWSER_API void hawser_close(hawser_job *job);
HAWSER_API uint32_t hawser_job_workers(const hawser_job *job); /**< B */
/** Says that the job runs `count` programs with loops; call it before the first of them. An option may then name a state of any of them (--filter
 *  w=absolute, --init w=w.npy), and the last one refuses names that none has had. Without this call the first program with a loop refuses
 *  them. hawser_close reports each name that was not checked, because fewer programs were run or none has a loop. */
HAWSER_API void hawser_job_programs(hawser_job *job, uint32_t count);
/** Says that option `key` can do nothing in this program, because of `why`. Returns HAWSER_BAD_OPTION, "--KEY does nothing here: WHY", if the command line
 *  or a call sets it to another value than its default; a call is named as it was given, "tol=". If a file or the environment does, node 0 reports such a line (messages.h), once and not with --quiet.
 *  Otherwise, and for a key that the job lacks, nothing happens. */
HAWSER_API hawser_status hawser_job_idle(hawser_job *job, const char *key, const char *why,
                                         hawser_error *error) HAWSER_MUST_USE;
/** For programs that start elsewhere than at the first values of their states, as the ready algorithms do: returns whether --init NAME=FILE is given. */
HAWSER_API bool hawser_job_init_given(const hawser_job *job, const char *name);
/** Stores the numbers of that file: rows x cols, row after row, from .npy or from a text with a number per line. A state of this name no longer begins
 *  with them. Every node reads the file, and the next run fails if nodes have read different numbers. Returns HAWSER_BAD_OPTION if the option does not
 *  name NAME, HAWSER_BAD_INPUT if the file has another shape, and HAWSER_NOT_FINITE for infinities and NaNs. */
HAWSER_API hawser_status hawser_job_init_numbers(hawser_job *job, const char *name, size_t rows, size_t cols, double *values,
                                                 hawser_error *error) HAWSER_MUST_USE;
/** Limits the number of workers, if --workers is not given, to one for every `each` of the work's `entries`, since each worker costs some waking
 *  and waiting; at least one remains. The plan and --log-view report it. Call it before the job's first plan or run. Ignored with several
 *  nodes: the number of their blocks was fixed when they joined. */
HAWSER_API void hawser_job_fit(hawser_job *job, uint64_t entries, uint64_t each);
/** The number of processes that share the job, and the number of this process. Every node runs the same program with the same options and makes
 *  the same calls of hawser_run_program; all nodes get the same results. Node 0 leads: a program prints and writes files there. Both numbers may differ
 *  from one job of a cluster to the next, so a program asks each job. */
HAWSER_API uint32_t hawser_job_nodes(const hawser_job *job);
HAWSER_API uint32_t hawser_job_node(const hawser_job *job);
HAWSER_API bool hawser_job_leads(const hawser_job *job);
HAWSER_API hawser_sync hawser_job_sync(const hawser_job *job); /**< the policy of --sync */
HAWSER_API uint64_t hawser_job_seed(const hawser_job *job);
/** Returns the damping of each worker's updates by --merge: 1 for add, 1 / workers for average. Returns 0 if job is NULL. */
HAWSER_API double hawser_job_damping(const hawser_job *job);
HAWSER_API hawser_form
hawser_job_encoding(const hawser_job *job); /**< the form of --encoding; an algorithm applies it to a state */
/** Loads an input on all nodes. Collective. Each node reads its share of the lines and keeps the entries of the columns of its own blocks; no node
 *  reads the whole input. Sizes, offsets, target, weights and names are those of the whole on every node. A cache file is mapped by every node;
 *  if its layout is the other one, each node reads a share of it. With one node it is the same as hawser_dataset_load. If one node fails, all fail. The caller
 *  frees the dataset.
 *
 *  With hawser_load.split = HAWSER_BY_ROW each node keeps the rows of its own blocks instead, with their targets, weights, offset and groups
 *  (hawser_dataset_beside). With hawser_load.parts = 1 each node gives rows of its own, as text. The matrix has the shape of the whole, for a data state that is split HAWSER_BY_ROW; the plan refuses others. Outside of
 *  a run its arrays and kernels must not be used: a kernel returns NaN and the next run fails, and an access by a pointer ends the process. Sizes and
 *  names are those of the whole on every node. */
HAWSER_API hawser_status hawser_job_load(hawser_job *job, const char *const *paths, size_t count, const hawser_load *load,
                                         hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;
/** Makes a dataset of rows that the nodes have already: arrays (hawser_dataset_from), or a file on each node (hawser_dataset_load, by row). Collective.
 *  The rows stay where they are. Node k passes rows [first, first + its rows) of the whole, which has `rows` rows, in the order of the nodes' numbers.
 *  With `rows` 0 on every node, `first` is ignored and each node's rows follow those of the node before. Gaps, overlaps, other columns and other words
 *  are refused, with the nodes. `own` is NULL on a node without rows; it must outlive the dataset, which has views of its matrix. What belongs to rows is
 *  copied.
 *
 *  The blocks of a node are cut within its rows. So which rows a block has depends on the nodes, and so do the bits of a result: figures and plan say so
 *  (hawser_figures.repeatable) if there are several nodes. The rows have no second source from which they could be read again. Else the dataset is like
 *  one of hawser_job_load with HAWSER_BY_ROW. */
HAWSER_API hawser_status hawser_job_own_rows(hawser_job *job, const hawser_dataset *own, size_t first, size_t rows,
                                             hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;
/** Deals out rows that the nodes have in memory to the job's blocks, as hawser_job_load deals out those of a file. Collective. The rows of node k follow those
 *  of node k - 1; `own` is NULL on a node without rows. With HAWSER_BY_COLUMN each node gets the columns of its own blocks, with HAWSER_BY_ROW the rows; an
 *  algorithm is given hawser_algorithm.split. Targets, weights, offset, groups and names are dealt out with them. The dataset has the bits of a load of one
 *  file with these rows, for any number of nodes, so that a result does not depend on which node has given which rows (hawser_job_own_rows leaves the rows where
 *  they are, and its bits depend on that).
 *
 *  `own` has any layout (hawser_dataset_borrow, hawser_dataset_from, hawser_dataset_load) and must outlive *dataset, which has views of it wherever a
 *  block has only rows of this node in a layout by row, and with one node. Data in the other layout are turned first. A node holds its own input and its
 *  share. While it sends rows or columns, it has a copy of these, too. Columns, types, names, words, targets and `split` must be the same on all
 *  nodes; else HAWSER_BAD_ARGUMENT names two that differ. The caller frees *dataset. */
HAWSER_API hawser_status hawser_job_data(hawser_job *job, const hawser_dataset *own, hawser_split split,
                                         hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;
/** Like hawser_job_data, but every node has all of the data, and no row is sent. The nodes compare digests of all numbers. If data or layouts differ,
 *  HAWSER_BAD_ARGUMENT names the nodes. Each node uses its own blocks of `own`. If these have the layout that `split` needs, nothing is copied. Else
 *  a node turns the columns of its blocks; by rows it turns all of the data, and frees the rest. The bits are those of hawser_job_data. Collective. */
HAWSER_API hawser_status hawser_job_same(hawser_job *job, const hawser_dataset *own, hawser_split split,
                                         hawser_dataset **dataset, hawser_error *error) HAWSER_MUST_USE;
/** Fills `values` with `width` numbers for each of the rows [first, first + count), row after row. The rows are of one block of this node. */
typedef hawser_status hawser_row_numbers(size_t first, size_t count, double *values, void *user);
/** Writes `width` numbers per row of a dataset that was loaded by row, such as predictions, into one file: a line per row, in the order of the rows,
 *  with commas between the numbers, which read back as the same. Collective, outside of a run, with the same width and path on every node. Each node makes
 *  the numbers of its own blocks by `numbers`, a piece at a time, and node 0 writes the file; no node has more than a piece. The file appears under its
 *  name once it is whole. If a node fails or is lost, all fail and no file is left. A number that is not finite is refused by its row. */
HAWSER_API hawser_status hawser_job_write_rows(hawser_job *job, const hawser_dataset *dataset, const char *path,
                                               size_t width, hawser_row_numbers *numbers, void *user,
                                               hawser_error *error) HAWSER_MUST_USE;
/** Finds the columns that are far from zero: most values differ from one of them, c, by less than |c| / 4096, and not all of those are equal. Sums of
 *  products of such values lose the digits in which they differ, and a model with an intercept is the same for x - c (hawser_dataset_centre). Stores c
 *  for each column, 0 for the others, or NULL if no column is far from zero; the caller frees *origin. Rows of weight 0 do not count. The same on all
 *  nodes, for any number of them. HAWSER_BAD_ARGUMENT if the rows are held by block, or for CSR. Collective, outside of a run. */
HAWSER_API hawser_status hawser_job_origins(hawser_job *job, const hawser_dataset *dataset, double **origin,
                                            hawser_error *error) HAWSER_MUST_USE;
/** Finds the columns of a dataset that have entries on any node, all columns if it is dense. Stores their numbers in *columns, ascending, which the
 *  caller frees, and how many they are in *count. The same on all nodes. Collective, outside of a run. */
HAWSER_API hawser_status hawser_job_occurring(hawser_job *job, const hawser_dataset *dataset, uint32_t **columns,
                                              size_t *count, hawser_error *error) HAWSER_MUST_USE;
/** Counts what the load of a dataset took for the estimates of plans (part "load"), as hawser_job_load does. NULL is allowed. */
HAWSER_API void hawser_job_loaded(hawser_job *job, const hawser_dataset *dataset);
/** Fetches the entries of some columns to every node, outside of a run. Collective. */
HAWSER_API hawser_status hawser_job_fetch(hawser_job *job, const hawser_matrix *matrix, const uint32_t *columns,
                                          size_t count, hawser_error *error) HAWSER_MUST_USE;
/** Returns one status on all nodes: that of the first node, by number, that has failed, with its text; else `own`. A node that has failed passes its
 *  text in `error`. Collective, outside of a run: for steps that may fail on one node and must then fail on all, such as one that only node 0 takes.
 *  Returns HAWSER_PEER_LOST if a node is lost meanwhile, HAWSER_TIMEOUT after --timeout. */
HAWSER_API hawser_status hawser_job_agree(hawser_job *job, hawser_status own, hawser_error *error) HAWSER_MUST_USE;
/** Copies `size` bytes at `data` from node 0 to all nodes, as MPI_Bcast does. Collective, outside of a run, with the same size on every node, else
 *  HAWSER_BAD_ARGUMENT on all. Returns HAWSER_PEER_LOST if a node is lost meanwhile, HAWSER_TIMEOUT after --timeout; `data` is then unspecified. */
HAWSER_API hawser_status hawser_job_broadcast(hawser_job *job, void *data, size_t size, hawser_error *error) HAWSER_MUST_USE;
/** Asks a running job to end at an agreed clock. Async-signal-safe; any thread. If the blocks cannot end together within a quarter of
 *  --grace, the run is abandoned: updates that wait to be sent are dropped, and only the local states are results. Under BSP they are
 *  from the last clock that all blocks have ended, under other policies from each block's own last clock. Replicated states are then
 *  unspecified. */
HAWSER_API void hawser_interrupt(hawser_job *job);
/** Returns the seconds left of --grace if a signal or --time-limit has asked the job's last run to end, else INFINITY. Node 0 has all
 *  requests, another node only its own signals. */
HAWSER_API double hawser_job_grace_left(const hawser_job *job);

/** Called on node 0 after each combined clock and operator, on the thread that called hawser_run_program and on this thread's own stack, as the tests of
 *  loops and branches are. While it runs, blocks compute on as far as their credit allows, and wait then. The network never waits for it, so no node
 *  is lost however long it takes; --unit-warning names one that does not return. Units run on threads and stacks of the library instead. */
typedef void hawser_observer(const hawser_progress *progress, void *user);
HAWSER_API void hawser_observe(hawser_job *job, hawser_observer *observer, void *user);

/** How a plan is printed. The logical plan has units, states, their life times and sync. The physical plan has the job's blocks with placement, locality,
 *  memory and the numbers that decided. */
typedef enum hawser_plan_format {
    HAWSER_PLAN_LOGICAL,      /**< text */
    HAWSER_PLAN_PHYSICAL,     /**< text */
    HAWSER_PLAN_LOGICAL_DOT,  /**< a graph for Graphviz */
    HAWSER_PLAN_PHYSICAL_DOT, /**< a graph for Graphviz */
    HAWSER_PLAN_JSON          /**< both plans as one line of JSON (`hawser help plan-json`) */
} hawser_plan_format;

/** Sets a line that the user of a program must know, for instance which guarantees its sync gives up: plans as text print it at the end of the physical
 *  plan, JSON among the warnings. NULL or "": none. The program copies it. */
HAWSER_API void hawser_plan_note(hawser_program *program, const char *note);
/** Checks a program and prints its plan to `out`. */
HAWSER_API hawser_status hawser_plan_print(hawser_job *job, hawser_program *program, hawser_plan_format format, FILE *out,
                                           hawser_error *error) HAWSER_MUST_USE;
/** Like hawser_plan_print, but stores the plan in *text, which the caller frees with free. */
HAWSER_API hawser_status hawser_plan_text(hawser_job *job, hawser_program *program, hawser_plan_format format, char **text,
                                          hawser_error *error) HAWSER_MUST_USE;

/** Compiles, parallelises and runs. On HAWSER_OK, and on HAWSER_STOP (ended early by signal or limit), *run holds results. */
HAWSER_API hawser_status hawser_run_program(hawser_job *job, hawser_program *program, hawser_run **run,
                                            hawser_error *error) HAWSER_MUST_USE;
HAWSER_API void hawser_run_free(hawser_run *run);

/** Returns the final values of a whole replicated, partitioned or stored state, or of a local state in global order. The run owns them. Returns
 *  NULL if no state of this name has the type of the call.
 *
 *  The numbers of a local or stored state stay on the nodes of their blocks. The first call for it fetches all of them to this node, and blocks
 *  meanwhile. It returns NULL, with a warning (messages.h), if they exceed the memory limit, if a node is lost, or if the job is closed and other nodes
 *  had a part of them; hawser_result_fetch returns the error. A node that does not call takes no memory for them, see hawser_result_expect. Not
 *  collective. Any thread. */
HAWSER_API const double *hawser_result(const hawser_run *run, const char *state, size_t *count);
HAWSER_API const float *hawser_result_f32(const hawser_run *run, const char *state, size_t *count);
HAWSER_API const int64_t *hawser_result_i64(const hawser_run *run, const char *state, size_t *count);
HAWSER_API const int32_t *hawser_result_i32(const hawser_run *run, const char *state, size_t *count);
/** Fetches the whole result of a state to this node, where it stays until hawser_run_free: hawser_result then returns it at once. Does nothing if it is
 *  there already. Returns HAWSER_BAD_ARGUMENT if the run has no such state, or if the job is closed and other nodes had a part of the numbers;
 *  HAWSER_NO_MEMORY if they exceed the memory limit, HAWSER_PEER_LOST if a node is lost, HAWSER_TIMEOUT after --timeout. Blocks. Not collective. Any
 *  thread. */
HAWSER_API hawser_status hawser_result_fetch(const hawser_run *run, const char *state, hawser_error *error) HAWSER_MUST_USE;
/** Returns the number of values of a state's result, without fetching them; 0 if the run has no such state. */
HAWSER_API size_t hawser_result_size(const hawser_run *run, const char *state);
/** Copies numbers [first, first + count) of a result to `values`, which has space for `count` numbers; `count` may be 0. Numbers of a local or
 *  stored state are fetched from the nodes that have them, 4 MiB at a time, so a program can pass over a state that is larger than its memory (the
 *  servers of Li et al. 2014, which hold ranges of keys, are read alike). Those of other states are on every node.
 *
 *  Returns HAWSER_BAD_ARGUMENT if the run has no such state, if it has another type, if the range is not within it, or if the job is closed and
 *  other nodes have the numbers; HAWSER_PEER_LOST if a node is lost, HAWSER_TIMEOUT after --timeout. `values` is then unspecified. Blocks. Any thread;
 *  not collective: each node reads what it needs. A state can be read until hawser_run_free, and hawser_close waits until the other nodes
 *  have freed the run or close the job, too. */
HAWSER_API hawser_status hawser_result_range(const hawser_run *run, const char *state, size_t first, size_t count,
                                             double *values, hawser_error *error) HAWSER_MUST_USE;
HAWSER_API hawser_status hawser_result_range_f32(const hawser_run *run, const char *state, size_t first, size_t count,
                                                 float *values, hawser_error *error) HAWSER_MUST_USE;
HAWSER_API hawser_status hawser_result_range_i64(const hawser_run *run, const char *state, size_t first, size_t count,
                                                 int64_t *values, hawser_error *error) HAWSER_MUST_USE;
HAWSER_API hawser_status hawser_result_range_i32(const hawser_run *run, const char *state, size_t first, size_t count,
                                                 int32_t *values, hawser_error *error) HAWSER_MUST_USE;
HAWSER_API double hawser_result_metric(const hawser_run *run, const char *metric);

/* A run that goes on where an earlier one has ended, in this process or, from a file, in another. The earlier run ends between two iterations of a loop that
 * is a child of the root, of a program that pauses. Its results, as `initial` of the states, and its position are all that the later run needs. The
 * loop's clocks and conditions, metrics, random numbers, gains, syncs and what tests remember go on. Under bsp, for states that are sent exactly and not
 * derived, the bits are those of one run with as many blocks. Derived states are rebuilt where a run begins and ends, filters and encodings send all
 * that they hold there, and under other policies blocks wait for each other there. A program that goes on has the same operators, states and metrics,
 * loops the same sync, and states the same gain. --init is refused for it. Scratch begins with zeros. */
/** Ends each run of a program after `clocks` iterations of the loops that are children of the root, counted together. hawser_run_program then returns
 *  HAWSER_STOP, and stop_reason is "pause". Operators after the loop do not run; nor do they after a signal or a limit, as they do without this call. The
 *  next run of the job goes on with its seconds (--time-limit). 0: never, UINT64_MAX: only signals and limits end a run. Collective. */
HAWSER_API void hawser_program_pause(hawser_program *program, uint64_t clocks);
/** Returns the position of a run that has ended early, and stores its size in *size, which may be NULL. The run owns it. The bytes are for the same
 *  build. Returns NULL on other nodes than 0; if the run has ended by itself or was abandoned; if hawser_program_pause was not called; and if a signal
 *  or limit has ended it within an iteration of a loop that the driver steps, or in a loop that is no child of the root. */
HAWSER_API const void *hawser_run_position(const hawser_run *run, size_t *size);
/** Lets a program go on from a position of `size` bytes, which are copied. Units that transform data, which are no result, run again. Other operators
 *  before the position do not run. NULL: from the start, as without this call. Collective, with the same bytes on every node. */
HAWSER_API void hawser_program_resume(hawser_program *program, const void *position, size_t size);

/** Counters of one worker. */
typedef struct hawser_worker_figures {
    double cpu_seconds;
    double wait_seconds;
    double
        last_clock_seconds; /**< from the start of the run to the end of its last clock: under SSP and TAP workers differ */
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
} hawser_link;
/** Connections that a node has accepted and rejected since the job started. */
typedef struct hawser_accept_figures {
    uint32_t node;
    uint64_t admitted;
    uint64_t wrong_key; /**< rejected: another key */
    uint64_t
        malformed; /**< rejected: a malformed handshake; another version, build or job; a node that has joined already */
    uint64_t timed_out; /**< rejected: the handshake was not complete in time */
    uint64_t evicted;   /**< evicted because too many connections were open */
    char last[384];     /**< address and reason of the last rejected connection; "": there was none */
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
#define HAWSER_CHANGES_MOST 16384
/** A change of a policy during a run (hawser_progress_sync, hawser_progress_gain). Long names are cut. */
typedef struct hawser_policy_change {
    uint64_t run;   /**< the run of the job in which it occurred; the first one is 1 */
    uint64_t clock; /**< own iteration of the loop, from which on all blocks obey the new policy */
    char loop[64];
    char state[64];                            /**< the state that has another gain; "": the loop has another sync */
    hawser_sync sync[2];                       /**< old and new */
    double gain[2];                            /**< old and new */
    char by[100];                              /**< what asked for it: "stop test of loop 'rounds'" */
    hawser_fit_number fit[HAWSER_FIT_METRICS]; /**< the fit that began with the new policy or was in progress */
} hawser_policy_change;
/** Counters of a run, for --json, --log-view and tests. The run owns the arrays. */
typedef struct hawser_figures {
    uint64_t clocks; /**< clocks of shipped loops, on the furthest block */
    double seconds;
    uint64_t bytes_exchanged;
    uint32_t workers;
    const hawser_worker_figures *worker;
    uint32_t nodes;
    const hawser_link *links; /**< both directions of each; empty with one node, and on other nodes than 0 */
    size_t link_count;
    const hawser_accept_figures *accepts; /**< one per node; empty with one node, and on other nodes than 0 */
    size_t accept_count;
    uint32_t most_lead; /**< largest clock difference seen between two blocks */
    const uint64_t *
        staleness; /**< histogram: clocks run with the oldest input s behind, s < staleness_count; number 1023 has those beyond, too */
    size_t staleness_count;
    const char *repeatable; /**< NULL: bit-repeatable; else the reason why it is not */
    /** Why the outermost loop ended: "clocks", "seconds", "test", "signal" ...; "end": there was no loop */
    const char *stop_reason;
    const hawser_flow *flows; /**< states first, then kinds; empty on other nodes than 0 */
    size_t flow_count;
    uint64_t coalesced; /**< clocks whose updates were merged into a later message, summed over workers and states */
    /** If stop_reason is "signal": the node that was asked to end first, "node 2 (ash)", or NULL with one node; and the number of the signal,
     * or 0 if there was none. Set on all nodes. */
    const char *interrupted_by;
    int interrupted_signal;
    /** In their order; empty on other nodes than 0. The runs just before this one that did not end with HAWSER_OK come first: a program that goes on after a failed
     * run has all its changes. */
    const hawser_policy_change *changes;
    size_t change_count;
    uint64_t changes_left_out;          /**< later changes, beyond HAWSER_CHANGES_MOST; they were made, too */
    const hawser_event_figures *events; /**< in the order of the plan; empty on other nodes than 0 */
    size_t event_count;
    const char *chosen; /**< why the run had this number of workers; NULL: the user gave it, or nothing chose fewer */
} hawser_figures;
HAWSER_API const hawser_figures *hawser_run_figures(const hawser_run *run);
/** Prints the --log-view table: per event count, time, max/min over workers, bytes; wait per clock; staleness histogram. */
HAWSER_API void hawser_run_log_view(const hawser_run *run, FILE *out);
/** Stores this table in *text, which the caller frees with free. hawser_run_figures has the same numbers. */
HAWSER_API hawser_status hawser_run_log_view_text(const hawser_run *run, char **text, hawser_error *error) HAWSER_MUST_USE;

/* --------------------------------------------------------------------------------------------------------- forks ---- */
/* A job, a cluster, a store, and results that are on other nodes belong to the process that made them. In a forked child, calls of them return
 * HAWSER_BAD_ARGUMENT with the numbers of both processes. hawser_close, hawser_store_close and hawser_cluster_close return at once there, free nothing
 * and send nothing; what they would free remains until the child ends. Other results, models and datasets can be used and freed as in the parent.
 *
 * A child can open jobs of its own. If `hawser run` has started the node, a child that was forked while the node's cluster, or its job, was open is alone.
 * A child that executes a program, and every child of a node that mpirun or srun has started, inherits the launcher's variables, but has no place among
 * the nodes: give it --alone (HAWSER_ALONE=yes). Without this it tries to join as that node. Under `hawser run` that is refused at once; under mpirun it may
 * wait without end. */

#ifdef __cplusplus
}
#endif
#endif
