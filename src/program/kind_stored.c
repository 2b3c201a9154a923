/* kind_stored.c - stored states: servers keep their numbers, and blocks read and change them chunk by chunk. */
#include <string.h>

#include "base/json.h"
#include "program/kind.h"
#include "store/table.h"

#define REFUSE(...) return hawser_fail(error, HAWSER_BAD_PROGRAM, __VA_ARGS__)

static const char *const fields[] = {"type",     "rows",       "cols",   "by_column", "along", "initial",
                                     "function", "parameters", "summed", "keep",      NULL};

/* The store has no tables of i32. It adds integers modulo 2^64, as counters, but a state never wraps around. */
static void check_stored_type(const hawser_state *state)
{
    const hw_function *function = state->function;
    hawser_type type = state->type;
    if (type == HAWSER_I32)
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM,
                           "stored state '%s' is of i32, which the store does not keep; make it of i64", state->name);
    else if (type == HAWSER_I64 && function != NULL && (function->adds || function->types != 0))
        hw_program_mistake(
            state->program, HAWSER_BAD_PROGRAM,
            "stored state '%s' is of i64, which function '%s' cannot change%s; use \"max\" or \"assign\", or make it "
            "of f64",
            state->name, function->name, function->adds ? " without a risk of wrapping around" : "");
}

/* Sets what changes a stored state: one writer per share (NULL), or all blocks through a function of the store. */
static void set_function(hawser_state *state, const char *function, const double *parameters)
{
    hawser_program *program = state->program;
    const char *name = state->name;
    state->function = function != NULL ? hw_function_find(function) : NULL;
    check_stored_type(state);
    if (function == NULL)
        return;
    if (state->function == NULL) {
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "stored state '%s': the store has no function '%s'", name, function);
        return;
    }
    if (state->initial != NULL && strcmp(function, "add") != 0)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "stored state '%s' begins at zero: only one that is added to can begin elsewhere, not by '%s'",
                           name, function);
    if (parameters != NULL)
        memcpy(state->parameters, parameters, state->function->parameters * sizeof *parameters);
    char text[400];
    const char *wrong = hw_function_wrong(state->function, state->parameters, text, sizeof text);
    if (wrong != NULL)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "stored state '%s': function %s", name, wrong);
}

/* A sum is of a clock's updates, and first values are in before any clock. */
static void set_summed(hawser_state *state)
{
    state->summed = true;
    if (state->function == NULL)
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM,
                           "stored state '%s' has one writer per chunk, so there is nothing to sum: give it a function",
                           state->name);
    else if (state->initial != NULL)
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM, "stored state '%s' is summed by clock: it begins at zero",
                           state->name);
}

static hawser_state *add(hawser_program *program, const hawser_state_spec *spec, size_t cols)
{
    hawser_state *state =
        hw_state_new_matrix(program, spec->name, HW_STORED, spec->type, spec->rows, cols,
                            spec->by_column ? HAWSER_BY_COLUMN : HAWSER_BY_ROW, spec->along, spec->initial);
    if (state != NULL)
        set_function(state, spec->function, spec->parameters);
    if (state != NULL && spec->summed)
        set_summed(state);
    return state;
}

static hawser_status check_one(const hawser_operator *unit, const hawser_state *state, hawser_error *error)
{
    if (state->function == NULL)
        REFUSE("unit '%s' runs on one block, so it cannot update all shares of stored state '%s'", unit->name, state->name);
    return HAWSER_OK;
}

/* The chunks of a state are ordered alike in all loops. */
static hawser_status check(const hw_plan *plan, const hawser_state *state, hawser_error *error)
{
    const hawser_program *program = plan->program;
    const hawser_operator *first = NULL;
    for (size_t i = 0; i < program->operator_count; i++) {
        const hawser_operator *op = program->operators[i];
        if (!hw_operator_shipped(op) || !hw_operator_updates(op, state))
            continue;
        if (state->function != NULL && op->sync.tightness == HAWSER_CENTRIC)
            REFUSE(
                "loop '%s' is data-centric, which needs one writer per chunk, but all blocks add to stored state '%s'; use "
                "another sync",
                op->name, state->name);
        if (first != NULL && hw_loop_delay(first->sync) != hw_loop_delay(op->sync))
            REFUSE("loops '%s' and '%s' update stored state '%s' under policies that order its chunks differently",
                   first->name, op->name, state->name);
        first = op;
    }
    return HAWSER_OK;
}

static hawser_status describe(const hw_plan *plan, hw_state_plan *own, hawser_error *error)
{
    hawser_form chosen;
    HAWSER_TRY(hw_plan_sending(plan, own, &chosen, error));
    bool owned = own->state->function == NULL;
    own->form = owned ? "values of each chunk (one writer), kept by the store" : "changes, kept by the store";
    own->encoding = "ranges or lists of keys, lists by number once known, zeros left out";
    own->filter_class = hw_filter_class(HW_FILTER_NONE);
    own->guarantee = "all updates that the sync policy promises";
    return HAWSER_OK;
}

/* Returns the bytes of a node's replies to blocks of other nodes, which may be slow to receive them: a block has requested
 * as much as its buffers of chunks hold, and this node has its part of that. */
static uint64_t in_chunk_replies(const hw_plan_settings *settings, uint64_t chunk)
{
    uint64_t others = settings->blocks - hw_plan_blocks_of_a_node(settings);
    return others * hw_plan_chunk_buffers(settings->blocks - 1, chunk) * chunk / settings->nodes;
}

/* Of a stored state whose shares have one writer, a node has its share, the push of it, and on the servers the version that
 * is read, the one that is written and, with several blocks, one that a slow block still reads. Another function changes one
 * table in place. The result of a node is its share, which with one writer its blocks have already; other nodes send what
 * they have of it. */
static hw_state_memory memory(const hw_plan *plan, hw_state_plan *own)
{
    enum { SHARE_AND_PUSH = 2, VERSIONS = 2 };
    uint64_t size = hw_state_size(own->state), all = hw_plan_count(plan, own->state) * size;
    uint64_t largest = hw_plan_largest_share(plan, own->state) * size,
             here = largest * hw_plan_blocks_of_a_node(&plan->settings);
    bool owned = own->state->function == NULL, several = plan->settings.nodes > 1;
    uint64_t copies = owned ? SHARE_AND_PUSH + VERSIONS + (plan->settings.blocks > 1) : 1;
    if (own->state->summed) /* sums of two clocks, by block, with their keys in half-full tables */
        copies += 2 * 4 * (uint64_t)plan->settings.blocks;
    copies += hw_plan_keeps(plan, own->state) ? hw_plan_points(plan) + !owned : 0; /* and what a return leaves */
    here = here < all ? here : all;
    own->block_bytes = largest * copies;
    uint64_t live = here * copies + (owned && several ? in_chunk_replies(&plan->settings, largest) : 0);
    if (owned && several && here > largest)
        live += largest; /* blocks of a node do not read all at the same time (measured) */
    uint64_t sent = here - here / plan->settings.nodes;
    uint64_t end = here * (owned ? 1 + VERSIONS : 2) + sent;
    uint64_t whole = own->state->whole ? hw_plan_whole_result(plan, all, here, largest) : 0;
    return (hw_state_memory){.live = live, .kept = live, .end = whole > end ? whole : end};
}

/* A block has the values of its share, and what a function remembers of them. Those of a share that all blocks change are
 * copied from the servers first. */
static hw_state_record recorded(const hw_plan *plan, const hw_state_plan *own)
{
    const hawser_state *state = own->state;
    const uint64_t points = hw_plan_keeps(plan, state) ? hw_plan_points(plan) : 0;
    hw_state_record record = hw_kind_record_shares(plan, state, 1 + points);
    if (state->function == NULL)
        return record;
    const uint64_t memory = state->function->memory * sizeof(double), share = hw_plan_largest_share(plan, state);
    record.blocks += hw_plan_count(plan, state) * memory;
    record.largest += share * memory;
    record.copies = share * (hw_state_size(state) + memory);
    return record;
}

static void print(const hawser_state *state, FILE *out)
{
    hw_kind_print_lines(state, out);
    fprintf(out, ", %s%s%s", state->function != NULL ? "updated by all blocks with " : "one writer per chunk",
            state->function != NULL ? state->function->name : "", state->summed ? ", summed by clock" : "");
}

static void add_json(const hw_plan *plan, const hw_state_plan *own, json_t *object, bool *ok)
{
    const struct hw_function *function = own->state->function;
    hw_json_text(object, "function", function != NULL ? function->name : NULL, ok);
    hw_kind_add_sending(plan, own, object, ok);
}

const hw_kind hw_kind_stored = {.name = "stored",
                                .fields = fields,
                                .add = add,
                                .numbers = true,
                                .stays = true,
                                .served = true,
                                .owned = true,
                                .lasting = true,
                                .count = hw_kind_rows_by_cols,
                                .check_one = check_one,
                                .check = check,
                                .split = hw_kind_deal_out,
                                .describe = describe,
                                .memory = memory,
                                .recorded = recorded,
                                .print = print,
                                .print_shares = hw_kind_print_sending,
                                .add_json = add_json};
