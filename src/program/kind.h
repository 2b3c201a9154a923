/*
 * kind.h - what programs and plans ask about a state by its kind: one row per kind, each in a file of its own
 * (kind_exchanged.c has two). A function that is NULL has nothing to do. What a block does with a state is in
 * runtime/block/part.h.
 *
 * A new kind is a line in kinds.h and in hawser_state_kind, a file here and a file in runtime/block.
 */
#ifndef HW_PROGRAM_KIND_H
#define HW_PROGRAM_KIND_H

#include "program/plan.h"

struct json_t;

/* The memory of a state on a node: from the first phase that uses it to the last, and from then on, when only the values of
 * the result are kept. */
typedef struct hw_state_memory {
    uint64_t live, kept, end; /* end: what gathering the result takes, besides other states */
    uint64_t late;            /* what more updates may take while blocks are apart */
} hw_state_memory;

/* The bytes of a state in a checkpoint. */
typedef struct hw_state_record {
    uint64_t blocks, largest; /* in the records of all blocks, and in the largest of them */
    uint64_t copies;          /* memory of one block besides its record, while that is made */
    uint64_t once;            /* once for all blocks */
} hw_state_record;

typedef struct hw_kind {
    const char *name; /* in plans and errors */

    /* hawser_state_add: the fields that a spec may have besides name and kind, up to NULL; and the state of a spec that has
     * no others. Without `cols` in the spec, that is 1. */
    const char *const *fields;
    hawser_state *(*add)(hawser_program *program, const hawser_state_spec *spec, size_t cols);

    /* Facts. */
    bool numbers;   /* it has numbers of its own, and a result; else it is a matrix */
    bool exchanged; /* blocks send each other what they change, so stages and syncs wait for it */
    bool summed;    /* all blocks may change each number; changes are added up, by rules, filters, forms and gains */
    /* its parts go from block to block (program/moving.h): a unit that reads it needs them like one that updates it */
    bool moves;
    bool stays;   /* its result stays on the nodes of its blocks (runtime/job/kept_results.h) */
    bool served;  /* servers keep its numbers, and count one access per clock */
    bool owned;   /* each block owns a part of its numbers (hw_plan_range) */
    bool lined;   /* `rows` is the width of a line, and lines are as many as the data has, or the blocks */
    bool lasting; /* its memory is allocated before the first phase, and kept after the last one that uses it */

    /* Returns the numbers of a whole state; of a local state along no data, those of one block. */
    size_t (*count)(const hawser_state *state);
    /* Refuse what the kind forbids: of a unit on one block that updates it; in the program; and with so many blocks, where
     * `split` also cuts the state into shares. */
    hawser_status (*check_one)(const hawser_operator *unit, const hawser_state *state, hawser_error *error);
    hawser_status (*check)(const hw_plan *plan, const hawser_state *state, hawser_error *error);
    hawser_status (*split)(hw_plan *plan, hw_state_plan *own, hawser_error *error);
    /* Chooses how its changes are sent, and the texts about that: form, encoding, filter_class, guarantee. NULL: none
     * are. */
    hawser_status (*describe)(const hw_plan *plan, hw_state_plan *own, hawser_error *error);
    /* Estimates its memory on a node; sets own->block_bytes. NULL: counted elsewhere. */
    hw_state_memory (*memory)(const hw_plan *plan, hw_state_plan *own);
    /* Estimates its bytes in a checkpoint: an upper bound. NULL: it has none, but for data that units change. */
    hw_state_record (*recorded)(const hw_plan *plan, const hw_state_plan *own);

    /* Print what it is; after that, in the physical plan, its shares or how it is sent; and its own keys in the JSON of a
     * plan. */
    void (*print)(const hawser_state *state, FILE *out);
    void (*print_shares)(const hw_plan *plan, const hw_state_plan *own, const char *newline, FILE *out);
    void (*add_json)(const hw_plan *plan, const hw_state_plan *own, struct json_t *object, bool *ok);
} hw_kind;

#define HW_KIND_ROW(id, row) extern const hw_kind hw_kind_##row;
HW_STATE_KINDS(HW_KIND_ROW)

/* Returns the row of a state's kind; of a public kind, NULL if there is none of that number. */
const hw_kind *hw_kind_of(const hawser_state *state);
const hw_kind *hw_kind_find(hawser_state_kind kind);

/* For the rows: */
/* Adds a state to the end of the program's list. Returns NULL, and stores the mistake, if it cannot. */
hawser_state *hw_state_new(hawser_program *program, const char *name, hw_state_kind kind);
/* Stores the type of a state; one that does not exist is a mistake. */
void hw_state_set_type(hawser_state *state, hawser_type type);
/* Returns whether `along` is a data state of the program; else it is a mistake. */
bool hw_state_check_along(hawser_program *program, const char *name, const hawser_state *along);
/* Ties a local state to a replicated one; a pair that cannot be tied is a mistake. */
void hw_state_tie(hawser_state *local, hawser_state *replicated);
/* Adds a state of rows x cols numbers, of which blocks own whole rows, or whole columns. */
hawser_state *hw_state_new_matrix(hawser_program *program, const char *name, hw_state_kind kind, hawser_type type,
                                  size_t rows, size_t cols, hawser_split split, hawser_state *along, const void *initial);
size_t hw_kind_rows_by_cols(const hawser_state *state);         /* a `count` */
const char *hw_kind_type_text(const hawser_state *state);       /* " f32"; f64 needs no word */
void hw_kind_print_lines(const hawser_state *state, FILE *out); /* its size, lines and type */
/* A `print_shares` and an `add_json`: how its changes are sent. */
void hw_kind_print_sending(const hw_plan *plan, const hw_state_plan *own, const char *newline, FILE *out);
void hw_kind_add_sending(const hw_plan *plan, const hw_state_plan *own, struct json_t *object, bool *ok);
/* A `split`: cuts the state's lines into equally many for each block, unless they follow data. */
hawser_status hw_kind_deal_out(hw_plan *plan, hw_state_plan *own, hawser_error *error);
/* A `recorded`: all numbers of a state whose shares blocks own, so many times. */
hw_state_record hw_kind_record_shares(const hw_plan *plan, const hawser_state *state, uint64_t times);
/* Return the most blocks of a node; the numbers of the largest share of a state whose shares blocks own (hw_plan_range). */
uint64_t hw_plan_blocks_of_a_node(const hw_plan_settings *settings);
uint64_t hw_plan_largest_share(const hw_plan *plan, const hawser_state *state);
/* Returns what a node has of a result that stays on the nodes and that it fetches whole: `all` bytes, of which `here` are on
 * the node, in parts of `part`. */
uint64_t hw_plan_whole_result(const hw_plan *plan, uint64_t all, uint64_t here, uint64_t part);

#endif
