/* kind_local.c - local states: numbers of one block, which no other block sees. */
#include <inttypes.h>

#include "program/kind.h"

static const char *const fields[] = {"type",    "rows",           "cols", "each", "along",
                                     "initial", "initial_blocks", "tie",  "keep", NULL};

/* Gives the state a line for each column (or row) of data. */
static void follow(hawser_state *state, hawser_state *along)
{
    state->along = along;
    if (!hw_state_is_split(along))
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM,
                           "local state '%s' is along '%s', which is not split: every block would own all of it",
                           state->name, along->name);
    size_t extent = hw_state_extent(along);
    if (extent != 0 && state->width > SIZE_MAX / 16 / extent)
        hw_program_mistake(state->program, HAWSER_BAD_PROGRAM, "local state '%s' has an impossible width, %zu", state->name,
                           state->width);
}

static hawser_state *add(hawser_program *program, const hawser_state_spec *spec, size_t cols)
{
    hawser_state *state = hw_state_new(program, spec->name, HW_LOCAL);
    if (state == NULL)
        return NULL;
    hw_state_set_type(state, spec->type);
    state->rows = state->width = spec->each ? spec->rows * cols : cols;
    state->cols = 1;
    state->initial = spec->initial;
    state->initial_parts = spec->initial_blocks;
    if (spec->each && (spec->rows == 0 || spec->rows > SIZE_MAX / 16 / cols))
        hw_program_mistake(program, HAWSER_BAD_PROGRAM, "state '%s' has an impossible size, %zu x %zu; set .rows and .cols",
                           spec->name, spec->rows, cols);
    else if (!spec->each && spec->along == NULL)
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "local state '%s' is along no data state; set .along, or .each for one that data do not shape",
                           spec->name);
    else if (!spec->each && hw_state_check_along(program, spec->name, spec->along))
        follow(state, spec->along);
    if (state->along != NULL && spec->rows != 0 && spec->rows != hw_state_extent(state->along))
        hw_program_mistake(program, HAWSER_BAD_PROGRAM,
                           "local state '%s' has %zu rows, but '%s' is split into %zu lines; leave .rows out, or give as "
                           "many",
                           spec->name, spec->rows, state->along->name, hw_state_extent(state->along));
    if (spec->tie != NULL)
        hw_state_tie(state, spec->tie);
    return state;
}

static size_t count(const hawser_state *state)
{
    return hw_state_is_of_blocks(state) ? state->rows : state->rows * hw_state_extent(state);
}

static hawser_status check_one(const hawser_operator *unit, const hawser_state *state, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_PROGRAM,
                       "unit '%s' runs on one block, so it cannot update local state '%s' of all blocks", unit->name,
                       state->name);
}

/* Refuses a local state of blocks whose size, or whose first values, do not fit their number. */
static hawser_status split(hw_plan *plan, hw_state_plan *own, hawser_error *error)
{
    const hawser_state *state = own->state;
    uint32_t blocks = plan->settings.blocks;
    if (!hw_state_is_of_blocks(state))
        return HAWSER_OK; /* its data are split */
    if (state->rows > SIZE_MAX / 16 / blocks)
        return hawser_fail(error, HAWSER_BAD_PROGRAM,
                           "local state '%s' has an impossible size, %zu numbers in each of %u blocks", state->name,
                           state->rows, blocks);
    if (state->initial_parts != 0 && state->initial_parts != blocks)
        return hawser_fail(error, HAWSER_BAD_PROGRAM,
                           "local state '%s' begins with numbers for %u blocks, but the job has %u; give --workers %u, or "
                           "begin with one part for every block (0 blocks)",
                           state->name, state->initial_parts, blocks, state->initial_parts);
    return HAWSER_OK;
}

/* A tied state has a committed copy, and one of the beginning of a clock of several stages. The result of a node is the
 * shares of its blocks, which they have already. */
static hw_state_memory memory(const hw_plan *plan, hw_state_plan *own)
{
    const hawser_state *state = own->state;
    uint64_t size = hw_state_size(state), all = hw_plan_count(plan, state) * size,
             part = hw_plan_largest_share(plan, state) * size;
    uint64_t here = part * hw_plan_blocks_of_a_node(&plan->settings);
    here = here < all ? here : all;
    uint64_t copies = state->tied_to == NULL ? 1 : hw_plan_exchanges(plan, state->tied_to) > 1 ? 3 : 2;
    copies += hw_plan_keeps(plan, state) ? hw_plan_points(plan) : 0;
    own->block_bytes = part * copies;
    return (hw_state_memory){
        .live = here * copies, .kept = here, .end = state->whole ? hw_plan_whole_result(plan, all, here, part) : here};
}

static hw_state_record recorded(const hw_plan *plan, const hw_state_plan *own)
{
    const hawser_state *state = own->state;
    uint64_t copies = state->tied_to == NULL ? 1 : hw_plan_exchanges(plan, state->tied_to) > 1 ? 3 : 2;
    return hw_kind_record_shares(plan, state, copies + (hw_plan_keeps(plan, state) ? hw_plan_points(plan) : 0));
}

static void print(const hawser_state *state, FILE *out)
{
    fprintf(out, "local, %s %zu%s", hw_state_is_of_blocks(state) ? "of each block" : "width", state->rows,
            hw_kind_type_text(state));
}

static void print_shares(const hw_plan *plan, const hw_state_plan *own, const char *newline, FILE *out)
{
    (void)plan, (void)newline;
    if (own->state->along != NULL)
        fprintf(out, "; placed with its part of %s", own->state->along->name);
    fprintf(out, ", never sent");
}

const hw_kind hw_kind_local = {.name = "local",
                               .fields = fields,
                               .add = add,
                               .numbers = true,
                               .stays = true,
                               .owned = true,
                               .lined = true,
                               .count = count,
                               .check_one = check_one,
                               .split = split,
                               .memory = memory,
                               .recorded = recorded,
                               .print = print,
                               .print_shares = print_shares};
