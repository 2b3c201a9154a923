/* parallelise.c - makes a physical plan of a logical plan: the owner of each part, the form of each state's updates, and the memory needed. */
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/memory.h"
#include "codec/forms.h"
#include "data/residence.h"
#include "data/share/balance.h"
#include "data/share/blocks.h"
#include "program/plan.h"

hw_policy hw_policy_of(hawser_sync sync)
{
    const hw_policy_row *row = hw_policy_row_of((unsigned)sync.tightness);
    hw_policy_kind kind = (hw_policy_kind)sync.tightness;
    if (row == NULL || (row->zero_is_bsp && sync.staleness == 0))
        return (hw_policy){HW_POLICY_BSP, 0};
    return (hw_policy){kind, hw_policy_counts(kind) ? sync.staleness : 0};
}

/* Returns the blocks by which hawser_job_load holds the rows of a data state, or NULL. */
static const struct hw_row_blocks *rows_held(const hawser_state *state)
{
    return state->matrix->residence != NULL ? state->matrix->residence->rows : NULL;
}

/* Returns the data state that decides where `state` is cut: of those over the same columns (or rows), the one with the most stored entries. */
static const hawser_state *leader(const hawser_state *state)
{
    const hawser_state *best = state;
    for (const hawser_state *other = state->program->states; other != NULL; other = other->next)
        if (hw_state_is_split(other) && other->split == state->split && hw_state_extent(other) == hw_state_extent(state) &&
            (other->matrix->stored > best->matrix->stored ||
             (other->matrix->stored == best->matrix->stored && other->number < best->number)))
            best = other;
    return best;
}

hawser_matrix hw_plan_part(const hw_plan *plan, const hawser_state *state, uint32_t block)
{
    const hawser_matrix *whole = state->matrix;
    if (rows_held(state) != NULL)
        return rows_held(state)->block[block].matrix;
    if (!hw_state_is_split(state))
        return *whole;
    const size_t *bounds = plan->states[state->number].bounds;
    size_t begin = bounds[block], end = bounds[block + 1];
    if (state->split == HAWSER_BY_COLUMN)
        return hawser_matrix_columns(whole, begin, end);
    hawser_matrix part = hawser_matrix_rows(whole, begin, end);
    if (hw_is_dense(whole))
        part.first = begin; /* `first` of a dense view may be the number of its first column */
    return part;
}

void hw_plan_range(const hw_plan *plan, const hawser_state *state, uint32_t block, size_t *begin, size_t *end)
{
    const size_t *bounds = plan->states[(state->along != NULL ? state->along : state)->number].bounds;
    bool equal = hw_state_is_of_blocks(state);
    *begin = (equal ? block : bounds[block]) * state->width;
    *end = (equal ? block + 1 : bounds[block + 1]) * state->width;
}

size_t hw_plan_count(const hw_plan *plan, const hawser_state *state)
{
    return hw_state_count(state) * (hw_state_is_of_blocks(state) ? plan->settings.blocks : 1);
}

const void *hw_plan_initial(const hw_plan *plan, const hawser_state *state, size_t begin)
{
    const void *loaded = plan->states[state->number].loaded, *initial = loaded != NULL ? loaded : state->initial;
    bool same = loaded == NULL && hw_state_is_of_blocks(state) && state->initial_parts == 0; /* for every block */
    return initial != NULL ? (const char *)initial + (same ? 0 : begin * hw_state_size(state)) : NULL;
}

/* Refuses a local state of blocks whose size, or whose first values, do not fit their number. */
static hawser_status check_block_state(const hw_plan *plan, const hawser_state *state, hawser_error *error)
{
    uint32_t blocks = plan->settings.blocks;
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

/* Counts what nodes fetch of a whole state whose columns hawser_job_load has distributed. */
static void count_fetched(const hw_plan *plan, hw_state_plan *own)
{
    const struct hawser_residence *residence = own->state->matrix->residence;
    for (uint32_t node = 0; residence != NULL && node < plan->settings.nodes; node++) {
        uint64_t bytes = hw_foreign_bytes(residence, node);
        own->fetched = bytes > own->fetched ? bytes : own->fetched;
        own->fetched_all += bytes;
    }
}

/* Refuses a data state that is split in another way than hawser_job_load has distributed its matrix. */
static hawser_status check_load(const hw_plan *plan, const hawser_state *state, const hawser_state *first,
                                hawser_error *error)
{
    const struct hw_row_blocks *rows = rows_held(state);
    if (state->matrix->residence == NULL)
        return HAWSER_OK;
    if (rows == NULL)
        return state->split != HAWSER_BY_ROW
                   ? HAWSER_OK
                   : hawser_fail(
                         error, HAWSER_BAD_PROGRAM,
                         "data state '%s' is split by row, but hawser_job_load has given each of the %u nodes the "
                         "columns of its own blocks; load the input with hawser_load.split = HAWSER_BY_ROW, or split "
                         "the state by column",
                         state->name, plan->settings.nodes);
    if (state->split != HAWSER_BY_ROW)
        return hawser_fail(error, HAWSER_BAD_PROGRAM,
                           "data state '%s' is %s, but hawser_job_load has given each of the %u nodes the rows of its own "
                           "blocks (hawser_load.split = HAWSER_BY_ROW); split the state by row, or load the input with "
                           "HAWSER_BY_COLUMN",
                           state->name,
                           state->split == HAWSER_BY_COLUMN ? "split by column"
                           : state->split == HAWSER_FETCHED ? "of columns that units fetch (HAWSER_FETCHED)"
                                                            : "whole (HAWSER_WHOLE)",
                           plan->settings.nodes);
    if (rows->view.blocks != plan->settings.blocks || rows->view.nodes != plan->settings.nodes)
        return hawser_fail(
            error, HAWSER_BAD_PROGRAM,
            "data state '%s' was loaded for %u workers on %u nodes, but the job has %u on %u; load the input in "
            "the job that uses it",
            state->name, rows->view.blocks, rows->view.nodes, plan->settings.blocks, plan->settings.nodes);
    if (first->costs != NULL)
        return hawser_fail(
            error, HAWSER_BAD_PROGRAM,
            "data state '%s' has costs (hawser_data_costs), but the rows of '%s' were cut when they were read, "
            "without them; leave the costs out",
            first->name, state->name);
    return HAWSER_OK;
}

/* Refuses rows that were cut in another way than the blocks are. */
static hawser_status check_cut(const hawser_state *state, const hawser_state *first, const size_t *bounds, uint32_t blocks,
                               hawser_error *error)
{
    for (uint32_t b = 0; b <= blocks; b++)
        if (rows_held(state)->bounds[b] != bounds[b])
            return hawser_fail(error, HAWSER_BAD_PROGRAM,
                               "data state '%s' is cut at row %zu, but data state '%s', which has more entries in the same "
                               "rows, at row %zu; join both in one input, or make a program for each",
                               state->name, rows_held(state)->bounds[b], first->name, bounds[b]);
    return HAWSER_OK;
}

static hawser_status split_data(hw_plan *plan, hw_state_plan *own, hawser_error *error)
{
    const hawser_state *state = own->state, *first = leader(state);
    uint32_t blocks = plan->settings.blocks;
    HAWSER_TRY(check_load(plan, state, first, error));
    HAWSER_TRY(check_load(plan, first, first, error)); /* before its cut is used */
    if (state->split == HAWSER_WHOLE)
        count_fetched(plan, own);
    HAWSER_TRY(HW_NEW(&own->stored, blocks, "a plan's shares", error));
    if (hw_state_is_split(state)) {
        HAWSER_TRY(HW_NEW(&own->bounds, blocks + 1, "a plan's bounds", error));
        own->costs = plan->settings.nodes <= 1 ? first->costs : NULL;
        if (rows_held(first) != NULL)
            memcpy(own->bounds, rows_held(first)->bounds, (blocks + 1) * sizeof *own->bounds);
        else if (own->costs != NULL)
            hw_balance_costs(first->matrix, own->costs, blocks, own->bounds);
        else if (state->split == HAWSER_BY_ROW && hw_is_dense(first->matrix))
            hw_balance_even(first->matrix->rows, blocks, own->bounds);
        else
            hawser_balance(first->matrix, blocks, own->bounds);
    }
    if (rows_held(state) != NULL)
        HAWSER_TRY(check_cut(state, first, own->bounds, blocks, error));
    for (uint32_t b = 0; b < blocks; b++) {
        hawser_matrix part = hw_plan_part(plan, state, b);
        own->stored[b] = part.stored;
        uint64_t entry = hw_type_size(part.type) + (hw_is_dense(&part) ? 0 : 4);
        if (part.stored * entry > own->block_bytes)
            own->block_bytes = part.stored * entry;
    }
    return HAWSER_OK;
}

/* Places a `one` unit on the block that has most of the data that it reads; without split data on block 0, and in a parallel each such unit on the
 * next block. */
static void place(hw_plan *plan, const hawser_operator *unit)
{
    uint32_t blocks = plan->settings.blocks, best = 0;
    uint64_t most = 0;
    if (unit->parent != NULL && unit->parent->kind == HW_PARALLEL)
        for (const hawser_operator *child = unit->parent->first; child != unit; child = child->next)
            best += child->kind == HW_UNIT && child->one;
    best %= blocks;
    for (hawser_state *const *item = unit->reads; *item != NULL; item++)
        if (hw_state_is_split(*item))
            for (uint32_t b = 0; b < blocks; b++)
                if (plan->states[(*item)->number].stored[b] > most) {
                    most = plan->states[(*item)->number].stored[b];
                    best = b;
                }
    plan->placement[unit->number] = best;
}

/* Finds whether a state has a single writing block. That block then sends values, because there is nothing to sum. */
static void find_sources(const hw_plan *plan, hw_state_plan *own)
{
    uint32_t blocks = plan->settings.blocks, updater = UINT32_MAX;
    bool single = own->state->kind == HW_REPLICATED && own->state->rebuild == NULL;
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *unit = plan->program->operators[i];
        if (unit->kind != HW_UNIT || !hw_unit_updates(unit, own->state))
            continue;
        uint32_t at = plan->placement[unit->number];
        single = single && unit->one && (updater == UINT32_MAX || updater == at);
        updater = at;
    }
    single = single && updater != UINT32_MAX;
    own->sources = single ? 1 : blocks;
    own->updater = single ? updater : 0;
}

static hawser_status describe(const hw_plan *plan, hw_state_plan *own, hawser_error *error)
{
    hawser_form chosen;
    HAWSER_TRY(hw_plan_sending(plan, own, &chosen, error));
    bool values = own->state->kind == HW_PARTITIONED || own->sources == 1;
    if (own->state->kind == HW_STORED) {
        bool owned = own->state->function == NULL;
        own->form = owned ? "values of each chunk (one writer), kept by the store" : "changes, kept by the store";
        own->encoding = "ranges or lists of keys, lists by number once known, zeros left out";
        own->filter_class = hw_filter_class(HW_FILTER_NONE);
        own->guarantee = "all updates that the sync policy promises";
        return HAWSER_OK;
    }
    bool held = own->filter.kind != HW_FILTER_NONE && plan->settings.blocks > 1;
    own->form = plan->settings.blocks == 1 ? "stays (one block)" : values ? "values (one writer)" : "deltas";
    bool rounded = chosen != HAWSER_EXACT && plan->settings.blocks > 1;
    const hw_form_row *form = hw_form_row_of(rounded ? (unsigned)chosen : HAWSER_EXACT);
    own->rounding = form->width;
    own->encoding = form->plan;
    own->filter_class = hw_filter_class(held ? own->filter.kind : HW_FILTER_NONE);
    own->guarantee = held && rounded ? "all but what is held, and but the rounding of what was sent last"
                     : held          ? "all but what is held"
                     : rounded       ? "all but the rounding of what was sent last"
                                     : "all updates that the sync policy promises";
    return HAWSER_OK;
}

/* Rejects a unit whose blocks would all make the same update, which the merge would count B times (Alt, table 3.1). */
static hawser_status check_parallel_data(const hw_plan *plan, const hawser_operator *unit, hawser_error *error)
{
    if (unit->one || plan->settings.blocks == 1)
        return HAWSER_OK;
    const hawser_state *data = NULL, *replicated = NULL;
    for (hawser_state *const *item = unit->reads; *item != NULL; item++) {
        if (hw_state_is_split(*item))
            return HAWSER_OK;
        if ((*item)->kind == HW_DATA)
            data = *item;
    }
    for (hawser_state *const *item = unit->updates; *item != NULL; item++)
        if ((*item)->kind == HW_REPLICATED)
            replicated = *item;
    if (data == NULL || replicated == NULL)
        return HAWSER_OK;
    return hawser_fail(
        error, HAWSER_BAD_PROGRAM,
        "unit '%s' updates replicated state '%s' from replicated data only ('%s' is whole on each of %u blocks): "
        "every block would do the same work; split the data or make it a unit on one block",
        unit->name, replicated->name, data->name, plan->settings.blocks);
}

static hawser_status check_memory(const hw_plan *plan, hawser_error *error)
{
    const hw_plan_settings *settings = &plan->settings;
    const char *name = plan->program->name,
               *shared = settings->shared > 0 ? ", without what is shared with nodes of this host" : "";
    const hw_state_plan *whole = NULL;
    const uint64_t run = plan->memory_needed - plan->memory_parts[HW_MEMORY_LOAD]; /* the load had a limit of its own */
    double needed = (double)run / 0x1p20, limit = (double)settings->memory / 0x1p20;
    if (run <= settings->memory)
        return HAWSER_OK;
    for (uint32_t i = 0; i < plan->program->state_count; i++)
        if (plan->states[i].fetched > (whole != NULL ? whole->fetched : 0))
            whole = &plan->states[i];
    if (whole != NULL)
        return hawser_fail(
            error, HAWSER_NO_MEMORY,
            "data state '%s' is HAWSER_WHOLE, so each of %u nodes fetches up to %.1f MiB of it from other nodes; "
            "with that program '%s' needs about %.1f MiB, but the limit is %.1f MiB%s; make the state "
            "HAWSER_FETCHED or HAWSER_BY_COLUMN, or raise --memory-limit",
            whole->state->name, settings->nodes, (double)whole->fetched / 0x1p20, name, needed, limit, shared);
    const hawser_state *open = NULL; /* nothing says how much of it is fetched */
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next)
        if (state->kind == HW_DATA && state->split == HAWSER_FETCHED && state->expected == 0 &&
            state->matrix->residence != NULL)
            open = state;
    if (open != NULL)
        return hawser_fail(
            error, HAWSER_NO_MEMORY,
            "program '%s' needs about %.1f MiB if a node fetches all of data state '%s', but the limit is %.1f "
            "MiB%s; say by hawser_state_expect how many of its entries a node fetches, or raise "
            "--memory-limit",
            name, needed, open->name, limit, shared);
    return hawser_fail(error, HAWSER_NO_MEMORY,
                       "program '%s' needs about %.1f MiB for its data, its states and the work of %u %s, but the limit "
                       "is %.1f MiB%s; %sraise --memory-limit",
                       name, needed, settings->blocks, settings->blocks == 1 ? "worker" : "workers", limit, shared,
                       settings->blocks == 1 ? "" : "use fewer workers or ");
}

hawser_status hw_parallelise(hw_plan *plan, const hw_plan_settings *settings, hawser_error *error)
{
    plan->settings = *settings;
    if (settings->nodes == 1 && settings->blocks > HW_ADDING_DIRECT)
        plan->settings.adding.kind = HW_ADDING_BLOCKS;
    const hawser_program *program = plan->program;
    for (const hawser_state *state = program->states; state != NULL; state = state->next) {
        hw_state_plan *own = &plan->states[state->number];
        if (state->kind == HW_DATA) {
            HAWSER_TRY(split_data(plan, own, error));
        } else if ((state->kind == HW_PARTITIONED || state->kind == HW_STORED) && state->along == NULL) {
            HAWSER_TRY(HW_NEW(&own->bounds, settings->blocks + 1, "a plan's bounds", error));
            hw_balance_even(hw_state_count(state) / state->width, settings->blocks, own->bounds);
        } else if (hw_state_is_of_blocks(state)) {
            HAWSER_TRY(check_block_state(plan, state, error));
        }
    }
    for (size_t i = 0; i < program->operator_count; i++) {
        const hawser_operator *operator= program->operators[i];
        if (operator->kind != HW_UNIT)
            continue;
        HAWSER_TRY(check_parallel_data(plan, operator, error));
        if (operator->one)
            place(plan, operator);
    }
    for (const hawser_state *state = program->states; state != NULL; state = state->next) {
        hw_state_plan *own = &plan->states[state->number];
        if (state->kind == HW_DATA)
            continue;
        find_sources(plan, own);
        HAWSER_TRY(describe(plan, own, error));
    }
    HAWSER_TRY(hw_plan_memory(plan, error));
    return check_memory(plan, error);
}
