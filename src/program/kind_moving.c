/* kind_moving.c - moving states: parts that go from block to block, so that no node has all of them. */
#include <inttypes.h>

#include "base/json.h"
#include "program/kind.h"
#include "program/moving.h"

#define REFUSE(...) return hawser_fail(error, HAWSER_BAD_PROGRAM, __VA_ARGS__)

static const char *const fields[] = {"type",  "lines",      "offsets", "parts", "cut",
                                     "owner", "owner_user", "initial", "keep",  NULL};

static hawser_state *add(hawser_program *program, const hawser_state_spec *spec, size_t cols)
{
    hawser_state *state = hw_state_new(program, spec->name, HW_MOVING);
    if (state == NULL)
        return NULL;
    hw_state_set_type(state, spec->type);
    state->moving = hw_moving_shape_new(program, spec);
    state->rows = state->moving != NULL ? state->moving->offsets[spec->lines] : 0;
    state->cols = state->width = cols;
    state->initial = spec->initial;
    return state;
}

static hawser_status check_one(const hawser_operator *unit, const hawser_state *state, hawser_error *error)
{
    REFUSE("unit '%s' runs on one block, so it cannot update moving state '%s', whose parts are on all of them", unit->name,
           state->name);
}

/* The store orders chunks by its own clocks, and nothing waits for parts that move under such a sync. */
static hawser_status check(const hw_plan *plan, const hawser_state *state, hawser_error *error)
{
    char sync[HW_SYNC_TEXT];
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *op = plan->program->operators[i];
        if (op->kind == HW_UNIT && op->one && hw_unit_reads(op, state))
            REFUSE("unit '%s' runs on one block, so it cannot read moving state '%s', whose parts are on all of them",
                   op->name, state->name);
        if (hw_operator_shipped(op) && hw_policy_row_of((unsigned)op->sync.tightness)->stored_only &&
            (hw_operator_updates(op, state) || hw_operator_reads(op, state)))
            REFUSE("loop '%s' is under %s, which is for stored states, but it uses moving state '%s'; use bsp, ssp or tap",
                   op->name, hw_sync_text(op->sync, sync), state->name);
    }
    return HAWSER_OK;
}

static hawser_status split(hw_plan *plan, hw_state_plan *own, hawser_error *error)
{
    const hawser_state *state = own->state;
    uint32_t blocks = plan->settings.blocks, parts = state->moving->parts;
    if (parts % blocks != 0)
        REFUSE("moving state '%s' has %" PRIu32 " parts, which %" PRIu32 " blocks cannot share equally; give a multiple of "
               "their number",
               state->name, parts, blocks);
    return HAWSER_OK;
}

static hawser_status describe(const hw_plan *plan, hw_state_plan *own, hawser_error *error)
{
    (void)error;
    own->form = plan->settings.blocks == 1 ? "stays (one block)" : "values of each part, sent to its next block alone";
    own->encoding = "as they are";
    own->filter_class = hw_filter_class(HW_FILTER_NONE);
    own->guarantee = "the version that the block before has written, under every sync";
    return HAWSER_OK;
}

static uint64_t largest_parts(const hawser_state *state, uint32_t count)
{
    return (uint64_t)hw_moving_largest(state, count) * hw_state_size(state);
}

/* Returns for how many clocks parts may be on a block at once: for its own, the next one, and those by which other blocks
 * are ahead of it. */
static uint64_t clocks_at_once(const hw_plan *plan, const hawser_state *state)
{
    uint64_t most = plan->settings.blocks > 1 ? 2 : 1, parts = state->moving->parts;
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *loop = plan->program->operators[i];
        if (!hw_operator_shipped(loop) || (!hw_operator_updates(loop, state) && !hw_operator_reads(loop, state)))
            continue;
        uint64_t window = hw_loop_window(loop, loop->sync);
        most = most > window + 1 ? most : window + 1;
    }
    return most < parts ? most : parts; /* then all of them */
}

/* A block has its parts of a clock, and those of the next clocks that have arrived. Over nodes a link may still send the
 * last one that has left: nodes took between none and one of these (measured), so half of it is counted. */
static hw_state_memory memory(const hw_plan *plan, hw_state_plan *own)
{
    const hawser_state *state = own->state;
    uint32_t blocks = plan->settings.blocks, each = state->moving->parts / blocks;
    uint64_t all = (uint64_t)hw_state_count(state) * hw_state_size(state), here = hw_plan_blocks_of_a_node(&plan->settings);
    uint64_t part = largest_parts(state, each), node = part * here < all ? part * here : all;
    uint64_t clocks = clocks_at_once(plan, state);
    uint64_t sent = plan->settings.nodes > 1 ? largest_parts(state, 1) / 2 : 0;
    uint64_t points = hw_plan_keeps(plan, state) ? hw_plan_points(plan) : 0, ids = state->moving->parts * sizeof(uint32_t);
    uint64_t copies = points * (part + ids) * here;
    own->block_bytes = (clocks < all / (part + 1) ? clocks * part : all) + points * (part + ids);
    return (hw_state_memory){.live = (clocks * node + sent < all ? clocks * node + sent : all) + copies,
                             .kept = node + copies,
                             .end = state->whole ? hw_plan_whole_result(plan, all, node, part) : node};
}

/* The blocks have all parts, and each has a list of who has which. */
static hw_state_record recorded(const hw_plan *plan, const hw_state_plan *own)
{
    const hawser_state *state = own->state;
    const uint64_t blocks = plan->settings.blocks, points = hw_plan_keeps(plan, state) ? hw_plan_points(plan) : 0;
    const uint64_t all = (uint64_t)hw_state_count(state) * hw_state_size(state),
                   ids = state->moving->parts * sizeof(uint32_t);
    const uint64_t part = largest_parts(state, state->moving->parts / (uint32_t)blocks);
    return (hw_state_record){.blocks = (1 + points) * (all + blocks * ids), .largest = (1 + points) * (part + ids)};
}

static void print(const hawser_state *state, FILE *out)
{
    fprintf(out, "moving, %zu lines, %zu numbers%s, in %" PRIu32 " parts", state->moving->lines, state->rows,
            hw_kind_type_text(state), state->moving->parts);
}

static void add_json(const hw_plan *plan, const hw_state_plan *own, json_t *object, bool *ok)
{
    hw_json_take(object, "parts", json_integer(own->state->moving->parts), ok);
    hw_kind_add_sending(plan, own, object, ok);
}

const hw_kind hw_kind_moving = {.name = "moving",
                                .fields = fields,
                                .add = add,
                                .numbers = true,
                                .moves = true,
                                .stays = true,
                                .lasting = true,
                                .count = hw_kind_rows_by_cols,
                                .check_one = check_one,
                                .check = check,
                                .split = split,
                                .describe = describe,
                                .memory = memory,
                                .recorded = recorded,
                                .print = print,
                                .print_shares = hw_kind_print_sending,
                                .add_json = add_json};
