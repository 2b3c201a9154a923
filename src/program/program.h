/*
 * program.h - the parts of a program. Pure: no threads, no I/O.
 */
#ifndef HW_PROGRAM_PROGRAM_H
#define HW_PROGRAM_PROGRAM_H

#include "exchange/exchange.h"
#include "hawser/advanced.h"
#include "hawser/cocoa.h"
#include "hawser/hawser.h"
#include "program/kinds.h"

enum { HW_METRICS_MOST = 64 };
#define HW_REDUCES_MOST ((size_t)1 << 40) /* numbers of one reduction */

struct hawser_state {
    hawser_program *program;
    hawser_state *next;
    char *name;
    uint32_t number;
    hw_state_kind kind;
    hawser_type type;              /* of its numbers; not of data */
    const hawser_matrix *matrix;   /* data */
    const hawser_dataset *dataset; /* data: the matrix is its; NULL: there is none */
    hawser_split split;            /* data; partitioned: whether its lines are rows or columns */
    const double *costs;           /* data: cost of each column or row besides its entries; NULL: none */
    size_t rows,
        cols;     /* of a replicated or partitioned state; rows is the count of a stored state, the width of a local one */
    size_t width; /* local, partitioned, stored: the numbers of a line, which no cut divides */
    size_t lines_each; /* partitioned: every block has so many lines; 0: they are divided among the blocks */
    uint32_t
        initial_parts;   /* local, along no data: the blocks that `initial` has numbers for; 0: one part, for every block */
    const void *initial; /* of the state's type */
    hawser_rule rule;
    hawser_form form; /* replicated: the form in which deltas are sent */
    hw_filter filter; /* replicated: of hawser_state_spec.filter */
    bool filter_set;  /* it was called */
    hawser_state *along;
    hawser_state *tied_to;
    hawser_unit_function *rebuild;
    bool coordinates;                   /* local: v = A alpha is derived from it (hawser_cocoa) */
    const struct hw_function *function; /* stored: combines the updates of all blocks; NULL: each share has one writer */
    double parameters[8];
    bool summed;                    /* stored: the function gets the sum of a clock's updates */
    bool by_value;                  /* entries: as many numbers for an entry as its value says */
    size_t asked;                   /* entries: how many numbers there must be; 0: as many as there are */
    struct hw_moving_shape *moving; /* its lines and parts (program/moving.h); NULL: it is not moving */
    size_t expected;                /* entries that a run is expected to use; 0: all */
    bool whole;                     /* nodes are expected to fetch all of the result */
    bool keeps;                     /* a kept point has a copy of it (hawser_state_keep) */
};

typedef enum hw_operator_kind { HW_SEQUENCE, HW_PARALLEL, HW_LOOP, HW_BRANCH, HW_UNIT } hw_operator_kind;

struct hawser_operator {
    hawser_program *program;
    hawser_operator *parent, *first, *last, *next;
    char *name; /* NULL for sequences and parallels */
    uint32_t number;
    hw_operator_kind kind;
    bool one;                        /* unit: on one block only */
    size_t reduces;                  /* unit: most numbers of one hawser_allreduce; 0: it makes none */
    size_t expected, expected_clock; /* if it reduces: numbers at a time, and in a clock, that a run is expected to reduce */
    hawser_unit_function *function;
    hawser_local_solver *solver;     /* unit: what hawser_cocoa has it call */
    const hawser_state *coordinates; /* those that the solver changes */
    hawser_state **reads, **updates; /* unit: lists that end with NULL */
    hawser_until until;
    hawser_sync asked; /* loop: the sync that the program asks for */
    hawser_sync sync;  /* loop: what it has with the job's blocks; unit if `waits` */
    bool waits;        /* unit: it has a sync of its own */
    bool asks_to_wait; /* unit: the program gave it one */
    bool (*test)(hawser_progress *progress, void *user);
    void *user;
    size_t remembers; /* branch: bytes of memory of its test */
    bool adapted;     /* loop: its work may change (HAWSER_ADAPT), */
    bool shares;      /* and the share of a block in it */
    double work_least, work_most;
    uint32_t staleness_most; /* of an adapted loop; 0: it stays bsp */
    uint32_t metric;         /* number of the metric by which changes are judged; UINT32_MAX: none */
    bool metric_is_gap;
    hawser_state *adapts; /* the state whose encoding and gain may change; NULL: none */
    double (*gain_of)(double work, uint32_t staleness, void *user);
    bool gain_grows; /* in place of gain_of: the gain grows with the staleness, as sigma' of hawser_cocoa does */
    bool preset;     /* hawser_cocoa has declared what may change, and the program has not */
};

typedef struct hw_metric {
    char *name;
    uint32_t hash; /* of the name */
    hawser_combine_by by;
} hw_metric;

struct hawser_program {
    char *name;
    void *user;
    hawser_state *states, *states_last;
    uint32_t state_count;
    hawser_operator *root;
    hawser_operator **operators; /* by number */
    size_t operator_count, operator_capacity;
    hw_metric metrics[HW_METRICS_MOST];
    uint32_t metric_count;
    uint32_t fit_metrics[HAWSER_FIT_METRICS], fit_metric_count; /* numbers of metrics (hawser_metric_numbers_fits) */
    size_t scratch_bytes;
    uint64_t expected_block, expected_node; /* further bytes of a block and of a node (hawser_scratch_expect) */
    /* In records (hawser_record_expect): of the block that has the most, of all blocks, and of tests and the process, */
    uint64_t expected_record, expected_records, expected_once;
    bool record_known; /* if that was called */
    void (*scratch_release)(void *scratch);
    hawser_scratch_visit *scratch_visit; /* NULL: the scratch is a cache */
    hawser_record_function *tests_visit; /* of tests_object (hawser_tests_record); NULL: nothing */
    void *tests_object;
    hawser_record_function *process_visit; /* of process_object (hawser_process_record); NULL: nothing */
    void *process_object;
    uint32_t points;      /* kept at the same time (hawser_kept_points); 0: no state is marked, or one */
    char *note;           /* of hawser_plan_note; NULL: none */
    hawser_error mistake; /* the first one made while building; status HAWSER_OK when there is none */
    const char *where;    /* file and line of what is being added, and of the mistake; NULL: not known */
    const char *mistake_where;
};

/* Gives the states that have so many lines for each block, or numbers by the values of data, their size. Called before a
 * program is compiled. */
hawser_status hw_program_settle(const hawser_program *program, uint32_t blocks, hawser_error *error) HAWSER_MUST_USE;
/* Gives loops the sync that the program asks for, or, with `blocks`, that which they have with so many blocks. Returns
 * whether one of them has another than it asks for. */
bool hw_program_settle_syncs(const hawser_program *program, uint32_t blocks);
/* Stores the first mistake of a program that is being built. */
/* Declares of a loop what its unit of hawser_cocoa lets change: the form of `v`, and its gain. A HAWSER_ADAPT adds to it. */
void hw_adapt_cocoa(hawser_operator *loop, hawser_state *v);
void hw_program_mistake(hawser_program *program, hawser_status status, const char *format, ...) HAWSER_PRINTF(3, 4);

const char *hw_state_kind_name(hw_state_kind kind);
/* Returns "by column", "by row", "whole" or "fetched". */
const char *hw_split_name(hawser_split split);
hawser_state *hw_program_state(const hawser_program *program, const char *name); /* NULL: none of that name */
/* Returns the number of a declared metric; UINT32_MAX if there is none. */
uint32_t hw_program_metric(const hawser_program *program, const char *name);
/* Returns the number of entries of a whole state, and their bytes; 0 for data. A local state along no data counts one
 * block's: hw_plan_count counts all. */
size_t hw_state_count(const hawser_state *state);
size_t hw_state_bytes(const hawser_state *state);
/* Returns the bytes of one entry. */
size_t hw_state_size(const hawser_state *state);
/* Returns "f64", "f32", "i64" or "i32". */
const char *hw_type_name(hawser_type type);
/* Returns true for a type of integers. */
bool hw_type_is_whole(hawser_type type);
/* Returns the number of columns or rows over which a data state, or the data state of a local one, is split. */
size_t hw_state_extent(const hawser_state *state);
/* Returns true for a data state of which each block has its own range of columns or rows. */
bool hw_state_is_split(const hawser_state *state);
/* Returns what nodes have of the matrix of a data state; NULL: all of it, or it is no data state. */
static inline struct hawser_residence *hw_state_residence(const hawser_state *state)
{
    return state->matrix != NULL ? state->matrix->residence : NULL;
}
/* Returns the blocks by which hawser_job_load holds the rows of a data state, or NULL. */
const struct hw_row_blocks *hw_state_rows_held(const hawser_state *state);
/* Returns true for a state whose updates blocks exchange: replicated or partitioned. */
bool hw_state_is_exchanged(const hawser_state *state);
/* Returns true for a state whose result stays on the nodes of its blocks: local or stored. */
bool hw_state_is_kept(const hawser_state *state);
/* Returns how many points a program keeps at the same time; 0: it marks no state. */
uint32_t hw_program_points(const hawser_program *program);
/* Returns true for a local state of which every block has the same number of entries, whatever its data. */
bool hw_state_is_of_blocks(const hawser_state *state);

enum { HW_SYNC_TEXT = 32 };
/* Writes a sync as an argument of --sync: "bsp", "ssp:2", "dc:0". */
const char *hw_sync_text(hawser_sync sync, char text[HW_SYNC_TEXT]);
/* Returns the sync that a loop has in a job of so many blocks: with one block, ssp and tap are bsp. */
hawser_sync hw_sync_of_blocks(hawser_sync sync, uint32_t blocks);
/* Reads such a text, which the options have checked. */
hawser_sync hw_sync_read(const char *text);

/* Adds a unit that runs on every block, with copies of the lists, which NULL ends; either may be NULL. Returns NULL, and
 * stores the mistake, if it cannot. */
hawser_operator *hw_unit_new(hawser_operator *parent, const char *name, hawser_unit_function *function,
                             hawser_state *const *reads, hawser_state *const *updates);
bool hw_unit_reads(const hawser_operator *unit, const hawser_state *state);   /* declared in its reads */
bool hw_unit_updates(const hawser_operator *unit, const hawser_state *state); /* declared in its updates */
bool hw_unit_uses(const hawser_operator *unit, const hawser_state *state);    /* declared in one of both */
/* These return true if `op`, or an operator below it, updates or reads the state. */
bool hw_operator_updates(const hawser_operator *op, const hawser_state *state);
bool hw_operator_reads(const hawser_operator *op, const hawser_state *state);
/* Return true if a unit in it reads or updates a stored state, or a moving one. */
bool hw_operator_stores(const hawser_operator *op);
bool hw_operator_moves(const hawser_operator *op);
/* Returns the most numbers that a unit in it reduces; 0: none does. */
size_t hw_operator_reduces(const hawser_operator *op);
/* Stores the most numbers that a unit in it is expected to reduce at a time, and in a clock. */
void hw_operator_expects(const hawser_operator *op, size_t *numbers, size_t *clock);
/* Returns how far chunks of stored states may lag under a sync that orders them chunk by chunk (consistency.h);
 * HW_DELAY_NONE for another sync. */
uint64_t hw_loop_delay(hawser_sync sync);
/* Returns that delay of the loops that update a stored state. */
uint64_t hw_state_delay(const hawser_state *state);
/* Returns true for a loop that is sent to the blocks as a whole: its body has only units, and sequences of them, or it is
 * under ssp or tap. A loop inside such a loop under ssp or tap is a part of its clock. */
bool hw_operator_shipped(const hawser_operator *op);
/* Returns whether a loop is inside another one. It is then begun again and again, and blocks are in step in between. */
bool hw_loop_is_inner(const hawser_operator *loop);
/* Returns whether an adapted loop has a metric and points at which all blocks are in step, so that the metric counts: those
 * of the loop around it, clocks under bsp, or ends of phases under ssp. */
bool hw_loop_measures(const hawser_operator *loop);
/* Returns the shipped loop whose clocks run an operator, or NULL. */
const hawser_operator *hw_operator_loop(const hawser_operator *op);
/* Branches of a shipped loop are chosen for a whole clock, when the clock gets its credit: returns the bit of a branch in
 * these choices, and how many branches a loop has. */
enum { HW_BRANCHES_MOST = 64, HW_BRANCH_STALENESS_MOST = 1000 };
uint64_t hw_branch_bit(const hawser_operator *branch);
uint32_t hw_loop_branches(const hawser_operator *loop);
/* Returns true if a number of clocks alone ends a loop and it has no branches: no test looks at what its clocks report. */
bool hw_loop_untested(const hawser_operator *loop);
/* Returns the credit window of a loop under a sync. Under dc:0 it is 1 if the loop has tests: results are those of BSP, so
 * each test must see the clock that it sees there. */
uint64_t hw_loop_window(const hawser_operator *loop, hawser_sync sync);
/* Returns whether a unit waits by another sync than the shipped loop around it, and stores that sync: its own, or the bsp of
 * an inner loop. */
bool hw_unit_waits(const hawser_operator *unit, hawser_sync *sync);
/* Iterate over the units that run in each clock of a phase: a unit itself, those of a shipped loop's body, or those directly
 * below a parallel. NULL after the last. */
const hawser_operator *hw_phase_first(const hawser_operator *op);
const hawser_operator *hw_phase_next(const hawser_operator *op, const hawser_operator *unit);
bool hw_phase_updates(const hawser_operator *op, const hawser_state *state);

#endif
