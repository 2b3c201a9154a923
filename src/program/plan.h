/*
 * plan.h - compiles a program into a logical plan (checked, with life times and sync) and that into a physical plan for B
 * blocks.
 */
#ifndef HW_PROGRAM_PLAN_H
#define HW_PROGRAM_PLAN_H

#include "consistency/consistency.h"
#include "exchange/exchange.h"
#include "exchange/topology.h"
#include "program/program.h"

/* What options let the driver change of loops: of all states that they name, or (BY_STATE) of states that options name. */
typedef enum hw_adapts {
    HW_ADAPTS_SYNC = 1,
    HW_ADAPTS_ENCODING = 2,
    HW_ADAPTS_QUOTA = 4,
    HW_ADAPTS_WORK = 8,
    HW_ADAPTS_GAIN = 16,
    HW_ADAPTS_ALL = 31,
    HW_ADAPTS_BY_STATE = 32
} hw_adapts;

/* The input of a plan's decisions, from the job's options and the machine. */
typedef struct hw_plan_settings {
    uint32_t blocks;
    uint32_t threads; /* blocks that compute at once */
    uint32_t processors;
    uint32_t nodes;           /* 1: one process */
    uint32_t hosts;           /* of these nodes */
    char links[96];           /* name of the topology and the number of hosts: "servers:4 (4 hosts)" */
    char topology[300];       /* text about the links between nodes; empty with one node */
    const hw_topology *graph; /* these links; NULL with one node */
    hw_adding_shape adding;   /* follows from the topology; on one node the plan chooses it */
    const char *const *names; /* of the nodes; NULL: they have none */
    uint64_t memory;          /* limit of each process in bytes, without `shared` */
    uint64_t memory_least;    /* the least `memory` of a node, for decisions that all nodes must make alike; 0: `memory` */
    uint64_t shared;          /* bytes of memory shared with other nodes of this host */
    uint64_t loaded;          /* the most bytes that a load of this job has taken */
    hw_filter filter;         /* max_held 0: the loop's staleness + 1 */
    bool checkpoints;         /* are taken */
    const hawser_options *options; /* with filters, quotas and forms of single states; NULL: none */
    uint64_t seed;
    unsigned adapts;         /* hw_adapts: what may change of loops that declare it (HAWSER_ADAPT) */
    uint32_t staleness_most; /* the greatest s of an adapted loop */
    char chosen[200];        /* the numbers that decided on the blocks; empty: the user has set their number */
} hw_plan_settings;

/* The operators between which a state lives, from before the first to after the last, in depth-first order. */
typedef struct hw_life {
    uint32_t first, last; /* operator numbers; UINT32_MAX: never used */
    uint32_t end;         /* position in the plan's order from which on no operator uses it */
} hw_life;

typedef struct hw_state_plan {
    const hawser_state *state;
    hw_life life;
    const double *costs; /* data: costs by which they were cut, besides their entries; NULL: none */
    size_t *bounds;      /* blocks + 1, in units of the split (columns, rows, numbers); NULL for replicated and whole data */
    uint64_t *stored;    /* per block: stored entries of a data state; NULL otherwise */
    uint64_t
        fetched; /* whole data: the most bytes that a node fetches from other nodes before the first unit that reads it */
    uint64_t fetched_all; /* the same, summed over the nodes */
    uint64_t block_bytes; /* memory of one block's part, copies included (the largest block) */
    uint32_t sources;     /* blocks that update it */
    uint32_t updater;     /* the block when sources == 1 */
    hw_filter filter;
    hw_width rounding;       /* of deltas */
    bool narrows;            /* and it may change in a run */
    bool guarded;            /* the driver keeps it before it changes a loop, and may return to that */
    bool quota_falls;        /* the quota of the filter may change in a run, which begins with one that all fits in */
    const void *loaded;      /* first values in place of the program's; NULL: none */
    const char *loaded_from; /* the file that they come from */
    uint64_t loaded_digest;
    const char *form, *encoding, *filter_class, *guarantee; /* text for the printed plan */
} hw_state_plan;

/* One run of a unit in a clock of a phase. A unit in an inner loop has one for each iteration. */
typedef struct hw_step {
    const hawser_operator *unit;
    uint32_t stage;       /* of the clock, from 0 */
    uint32_t turn, turns; /* which of the unit's runs in the clock, from 0, and their number */
    bool inner;           /* it is in an inner loop, */
    uint64_t iteration;   /* the own iteration of that loop */
    uint64_t yes, no; /* it runs if these branches of the loop were true, and these false: one bit each (hw_branch_bit) */
} hw_step;

/* What a node needs memory for. */
typedef enum hw_memory_part {
    HW_MEMORY_DATA,
    HW_MEMORY_STATES, /* at the time when they are largest together, updates in flight included */
    HW_MEMORY_UNITS,  /* scratch, and what the program expects besides */
    HW_MEMORY_REDUCTIONS,
    HW_MEMORY_CHUNKS,       /* of stored states, in the blocks' buffers */
    HW_MEMORY_FIRST_VALUES, /* read from files, until the blocks have them */
    HW_MEMORY_THREADS,
    HW_MEMORY_LINKS,
    HW_MEMORY_PROCESS,     /* what no data set makes larger */
    HW_MEMORY_HOLES,       /* between allocations */
    HW_MEMORY_LOAD,        /* what the load of the data took beyond all this */
    HW_MEMORY_CHECKPOINTS, /* copies of what is recorded, until they are written */
    HW_MEMORY_PARTS
} hw_memory_part;

typedef struct hw_plan {
    const hawser_program *program;
    hw_plan_settings settings;
    hw_state_plan *states; /* by state number */
    uint32_t *order;       /* operator numbers in depth-first order */
    uint32_t *placement;   /* by operator number: the block of a `one` unit */
    hw_step *steps;        /* of all phases: units, parallels and shipped loops */
    size_t step_count, step_capacity;
    size_t *first_step; /* by operator number: where its steps begin, and at the end their number */
    bool guards;        /* some states are guarded */
    bool lacks_memory;  /* nothing of loops may change, for lack of memory for guarded states */
    /* bytes of first values that were read from files, until the blocks have them; set before the plan is split */
    uint64_t memory_loaded;
    uint64_t memory_data;      /* bytes of the data states' matrices on a node */
    uint64_t memory_mapped;    /* bytes of matrices in mapped files, which the kernel may drop; not in memory_data */
    uint64_t memory_needed;    /* estimate for the node with the most blocks, memory_data included */
    uint64_t checkpoint_bytes; /* of a checkpoint on disk, at most; 0: none are taken */
    uint64_t memory_parts[HW_MEMORY_PARTS]; /* what it is for; their sum is memory_needed */
    uint64_t
        memory_late; /* upper bound of what updates may take in addition while blocks are as far apart as credit allows */
} hw_plan;

/* Checks the program and attaches life times. The program must outlive the plan. */
hawser_status hw_compile(const hawser_program *program, hw_plan **plan, hawser_error *error) HAWSER_MUST_USE;
/* stages.c: lists the steps of each phase in their order, and divides them into stages. */
hawser_status hw_find_steps(hw_plan *plan, hawser_error *error) HAWSER_MUST_USE;
/* sending.c: finds the filter, the quota and the form of a state, and refuses those that it cannot have. An option for this
 * state alone comes before the program's call, and that before the job's filter. */
hawser_status hw_plan_sending(const hw_plan *plan, hw_state_plan *own, hawser_form *form,
                              hawser_error *error) HAWSER_MUST_USE;
/* Splits a compiled plan over blocks. Fails if the program makes no sense for that many, or if it does not fit the
 * memory. */
hawser_status hw_parallelise(hw_plan *plan, const hw_plan_settings *settings, hawser_error *error) HAWSER_MUST_USE;
void hw_plan_free(hw_plan *plan);

/* Returns whether relays send on the updates of a state under SSP and TAP, and add up those that wait for the same link
 * (exchange/combined.h). */
bool hw_plan_combines(const hw_plan *plan, const hw_state_plan *own);

/* The most bytes of a state's updates that nodes send in a clock: those of an exchange, times the exchanges of a clock. */
typedef struct hw_traffic {
    uint32_t busiest; /* node that sends the most */
    uint64_t of_busiest, all;
} hw_traffic;
hawser_status hw_plan_traffic_sum(const hw_plan *plan, const hw_state_plan *own, bool in_step, hw_traffic *traffic,
                                  hawser_error *error) HAWSER_MUST_USE;
/* Stores the most that one node sends in a clock, in messages with all numbers of the state: over the topology, and if every
 * node sent to every other. As hw_plan_traffic_sum, an upper bound. */
hawser_status hw_plan_updates_sent(const hw_plan *plan, const hw_state_plan *own, bool in_step, double *sent,
                                   double *over_all, hawser_error *error) HAWSER_MUST_USE;
/* Stores whether the state is updated under bsp or outside of loops (in_step), and whether it is updated under another
 * policy (apart). */
void hw_plan_policies(const hw_plan *plan, const hawser_state *state, bool *in_step, bool *apart);
/* Stores the first and last stage of a clock in which a unit runs. Returns false if its clocks have one stage. */
bool hw_plan_unit_stages(const hw_plan *plan, const hawser_operator *unit, uint32_t *first, uint32_t *last);
/* Returns whether only the credit of TAP, which is far above any useful lead, bounds the updates in memory. */
bool hw_plan_far_apart(const hw_plan *plan);
#define HW_FAR_APART_TEXT                                                                                                   \
    "under tap only credit, 256 clocks, limits how far blocks are apart: updates that wait for a slow one may take more"

void hw_plan_print_logical(const hw_plan *plan, bool dot, FILE *out);
hawser_status hw_plan_print_physical(const hw_plan *plan, bool dot, FILE *out, hawser_error *error) HAWSER_MUST_USE;
/* print_json.c: both plans as one line of JSON. */
hawser_status hw_plan_print_json(const hw_plan *plan, FILE *out, hawser_error *error) HAWSER_MUST_USE;

/* Returns the entries of columns of other nodes for which a node has memory: all, because a state over the matrix is whole,
 * or those that units are expected to fetch. */
uint64_t hw_plan_fetched(const hw_plan *plan, const hawser_matrix *A);
/* Estimates the memory of a split plan: block_bytes of the states, memory_data, memory_needed, memory_parts and
 * memory_late. */
hawser_status hw_plan_memory(hw_plan *plan, hawser_error *error) HAWSER_MUST_USE;

enum { HW_STAGES_MOST = 64, HW_STEPS_MOST = 4096 };
/* Returns the steps of a clock of a phase, in their order. A loop that is no phase has none. */
const hw_step *hw_plan_steps(const hw_plan *plan, const hawser_operator *op, size_t *count);
/* Returns whether the step runs in a clock of these choices. */
static inline bool hw_step_runs(const hw_step *step, uint64_t choices)
{
    return (choices & step->yes) == step->yes && (choices & step->no) == 0;
}
/* Returns how the stages of a phase use a state: bit j for stage j. A stage is exact if its update is by a unit that runs on
 * one block. */
hw_stages hw_plan_use(const hw_plan *plan, const hawser_operator *op, const hawser_state *state);
/* Returns whether updates of a state are held back or rounded. */
static inline bool hw_plan_holds(const hw_state_plan *own)
{
    return (own->filter.kind != HW_FILTER_NONE && own->filter.quota > 0) || own->rounding != HW_F64 || own->narrows;
}
/* sending.c: returns whether the driver may change the encoding of a state in a run, which begins with `form`. */
bool hw_plan_narrows(const hw_plan *plan, const hawser_state *state, hawser_form form);
/* Returns the greatest staleness that the driver may give a loop in a run. If it is 0, stores why in *why. */
uint32_t hw_plan_staleness_most(const hw_plan *plan, const hawser_operator *loop, const char **why);
/* Returns why the driver can change nothing in a run of what an option lets it change by "auto"; NULL: it can change
 * something. `key` is sync, exchange-every, encoding or quota. */
const char *hw_plan_adapts_nothing(const hw_plan *plan, const char *key);
/* Returns whether the driver may change anything of a loop, and stores why not otherwise. */
bool hw_plan_adapts(const hw_plan *plan, const hawser_operator *loop, const char **why);
/* Finds the states that the driver keeps before it changes a loop: those that such a loop updates, unless the program marks
 * states itself (hawser_state_keep): then its own tests return to them. */
void hw_plan_guard(hw_plan *plan);
/* Return whether a kept point has the state, and how many points a run keeps: those of the program, or that of the guard. */
bool hw_plan_keeps(const hw_plan *plan, const hawser_state *state);
uint32_t hw_plan_points(const hw_plan *plan);
/* Returns whether it may change that of any state: TRIGGER and CREDIT then have the forms. */
bool hw_plan_any_narrows(const hw_plan *plan);
/* Returns whether both a unit on one block and a unit on all blocks update a state in a loop, which it then stores. */
bool hw_plan_mixes(const hw_plan *plan, const hawser_state *state, const hawser_operator **loop);
/* Returns the position of an operator in the plan's order. */
uint32_t hw_plan_position(const hw_plan *plan, const hawser_operator *op);
uint32_t hw_plan_stages(const hw_plan *plan, const hawser_operator *op); /* 1 for a unit or parallel */
/* Returns the policy by which a block waits for a state before a stage of a phase: the strictest of `policy`, under which
 * the phase runs, and of the units of this stage that use the state and wait by another sync (hw_unit_waits). Staleness
 * counts clocks. */
hw_policy hw_plan_wait(const hw_plan *plan, const hawser_operator *op, const hawser_state *state, uint32_t stage,
                       hw_policy policy);
/* Returns the most exchanges of a state's updates in a clock of a loop; at least 1. */
uint32_t hw_plan_exchanges(const hw_plan *plan, const hawser_state *state);

hw_policy hw_policy_of(hawser_sync sync);
/* Returns the part of a data state that a block sees. */
hawser_matrix hw_plan_part(const hw_plan *plan, const hawser_state *state, uint32_t block);
/* Returns the number of entries of a whole state, over all blocks; 0 for data. */
size_t hw_plan_count(const hw_plan *plan, const hawser_state *state);
/* Returns the first values of a state from entry `begin` of the whole on; NULL: it begins at zero. */
const void *hw_plan_initial(const hw_plan *plan, const hawser_state *state, size_t begin);
/* Stores the range of numbers of a local, partitioned, stored or entries state that a block owns. */
void hw_plan_range(const hw_plan *plan, const hawser_state *state, uint32_t block, size_t *begin, size_t *end);

/* Bytes that a node has requested at a time of a result that it reads from another node. */
enum { HW_RESULT_WINDOW = 4 << 20 };
/* Bytes of a stored state that a block has in memory or has requested besides the chunk in use. */
enum { HW_CHUNK_WINDOW = 4 << 20 };
/* Returns the number of buffers that a block needs to read `chunks` chunks of at most `largest` bytes: for the chunk in use,
 * for those within the window, and for two at least, so that one request is in flight while another chunk is late. */
uint32_t hw_plan_chunk_buffers(uint32_t chunks, uint64_t largest);

#endif
