/* kind_entries.c - entries states: numbers for each stored entry of data by row, which stay with the rows of their block. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/layout.h"
#include "base/memory.h"
#include "data/share/blocks.h"
#include "program/entries.h"
#include "program/kind.h"

#define REFUSE(...) return hawser_fail(error, HAWSER_BAD_PROGRAM, __VA_ARGS__)

static const char *const fields[] = {"type", "rows", "along", "by_value", "initial", "keep", NULL};

static bool follows(hawser_program *program, const char *name, const hawser_state *along)
{
    if (along == NULL)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "entries state '%s' is along no data state; set .along to the data whose entries it follows",
                           name);
    else if (!hw_state_check_along(program, name, along))
        return false;
    else if (along->split != HAWSER_BY_ROW)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "entries state '%s' is along '%s', which is split %s; it follows data that are split by row",
                           name, along->name, along->split == HAWSER_BY_COLUMN ? "by column" : "over no blocks");
    else if (hw_is_dense(along->matrix))
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "entries state '%s' is along '%s', which is dense; it follows the stored entries of sparse data "
                           "(CSR)",
                           name, along->name);
    else
        return along->matrix->layout == HAWSER_CSR; /* CSC by row is the data's mistake */
    return false;
}

static hawser_state *add(hawser_program *program, const hawser_state_spec *spec, size_t cols)
{
    hawser_state *state = hw_state_new(program, spec->name, HW_ENTRIES);
    if (state == NULL)
        return NULL;
    hw_state_set_type(state, spec->type);
    state->cols = state->width = cols;
    state->initial = spec->initial;
    state->by_value = spec->by_value;
    state->asked = spec->rows;
    if (!follows(program, spec->name, spec->along))
        return state;
    state->along = spec->along;
    state->rows = spec->by_value ? 0 : spec->along->matrix->stored; /* hw_program_settle counts values */
    return state;
}

static hawser_status check_one(const hawser_operator *unit, const hawser_state *state, hawser_error *error)
{
    REFUSE("unit '%s' runs on one block, so it cannot update entries state '%s' of all blocks", unit->name, state->name);
}

static hawser_status check(const hw_plan *plan, const hawser_state *state, hawser_error *error)
{
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *op = plan->program->operators[i];
        if (op->kind == HW_UNIT && hw_unit_updates(op, state->along))
            REFUSE("unit '%s' transforms data state '%s', whose entries entries state '%s' follows; make a program with the "
                   "new data",
                   op->name, state->along->name, state->name);
    }
    return HAWSER_OK;
}

/* Its shares are those of its data, in numbers. */
static hawser_status split(hw_plan *plan, hw_state_plan *own, hawser_error *error)
{
    const hawser_state *state = own->state;
    const uint32_t blocks = plan->settings.blocks;
    uint64_t *counts = NULL;
    HAWSER_TRY(HW_NEW(&own->bounds, blocks + 1, "a plan's bounds", error));
    HAWSER_TRY(HW_NEW(&counts, blocks, "a plan's bounds", error));
    hawser_status status = HAWSER_OK;
    if (hw_state_rows_held(state->along) != NULL)
        status = hw_entries_held(state, counts, error);
    for (uint32_t b = 0; b < blocks && status == HAWSER_OK; b++) {
        hawser_matrix part = hw_plan_part(plan, state->along, b);
        if (hw_state_rows_held(state->along) == NULL)
            status = hw_entries_count(state, &part, &counts[b], error);
        own->bounds[b + 1] = own->bounds[b] + (size_t)counts[b];
    }
    free(counts);
    return status;
}

/* A block has where the numbers of each of its rows begin, too. */
static hw_state_memory memory(const hw_plan *plan, hw_state_plan *own)
{
    const hawser_state *state = own->state;
    const size_t *rows = plan->states[state->along->number].bounds;
    uint64_t size = hw_state_size(state), all = hw_plan_count(plan, state) * size, lines = 0,
             part = hw_plan_largest_share(plan, state) * size, blocks = hw_plan_blocks_of_a_node(&plan->settings);
    for (uint32_t b = 0; b < plan->settings.blocks; b++)
        lines = rows[b + 1] - rows[b] > lines ? rows[b + 1] - rows[b] : lines;
    lines = (lines + 1) * sizeof *rows;
    uint64_t here = part * blocks < all ? part * blocks : all;
    uint64_t copies = 1 + (hw_plan_keeps(plan, state) ? hw_plan_points(plan) : 0);
    own->block_bytes = part * copies + lines;
    return (hw_state_memory){.live = here * copies + lines * blocks,
                             .kept = here + lines * blocks,
                             .end = state->whole ? hw_plan_whole_result(plan, all, here, part) : here};
}

static hw_state_record recorded(const hw_plan *plan, const hw_state_plan *own)
{
    return hw_kind_record_shares(plan, own->state, 1 + (hw_plan_keeps(plan, own->state) ? hw_plan_points(plan) : 0));
}

static void print(const hawser_state *state, FILE *out)
{
    fprintf(out, "entries, %zu numbers%s, %s", state->rows, hw_kind_type_text(state),
            state->by_value ? "as many for an entry as its value" : "one for each entry");
}

static void print_shares(const hw_plan *plan, const hw_state_plan *own, const char *newline, FILE *out)
{
    (void)plan, (void)newline;
    fprintf(out, "; placed with its part of %s, never sent", own->state->along->name);
}

static void add_json(const hw_plan *plan, const hw_state_plan *own, json_t *object, bool *ok)
{
    (void)plan;
    hw_json_take(object, "by_value", json_boolean(own->state->by_value), ok);
}

const hw_kind hw_kind_entries = {.name = "entries",
                                 .fields = fields,
                                 .add = add,
                                 .numbers = true,
                                 .stays = true,
                                 .owned = true,
                                 .count = hw_kind_rows_by_cols,
                                 .check_one = check_one,
                                 .check = check,
                                 .split = split,
                                 .memory = memory,
                                 .recorded = recorded,
                                 .print = print,
                                 .print_shares = print_shares,
                                 .add_json = add_json};
