/* parallelise.c - makes a physical plan of a logical plan: the owner of each part, the form of each state's updates, and the
 * memory needed. */

#include "base/layout.h"
#include "base/memory.h"
#include "data/residence.h"
#include "data/share/blocks.h"
#include "program/kind.h"

hw_policy hw_policy_of(hawser_sync sync)
{
    const hw_policy_row *row = hw_policy_row_of((unsigned)sync.tightness);
    hw_policy_kind kind = (hw_policy_kind)sync.tightness;
    if (row == NULL || (row->zero_is_bsp && sync.staleness == 0))
        return (hw_policy){HW_POLICY_BSP, 0};
    return (hw_policy){kind, hw_policy_counts(kind) ? sync.staleness : 0};
}

const struct hw_row_blocks *hw_state_rows_held(const hawser_state *state)
{
    const struct hawser_residence *residence = hw_state_residence(state);
    return residence != NULL ? residence->rows : NULL;
}

hawser_matrix hw_plan_part(const hw_plan *plan, const hawser_state *state, uint32_t block)
{
    const hawser_matrix *whole = state->matrix;
    if (hw_state_rows_held(state) != NULL)
        return hw_state_rows_held(state)->block[block].matrix;
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
    const size_t *bounds = plan->states[state->number].bounds;
    if (bounds == NULL && state->along != NULL)
        bounds = plan->states[state->along->number].bounds;
    bool equal = bounds == NULL; /* each block has a line */
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

/* Places a `one` unit on the block that has most of the data that it reads; without split data on block 0, and in a parallel
 * each such unit on the next block. */
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
    bool single = hw_kind_of(own->state)->summed && own->state->rebuild == NULL;
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

/* Rejects a unit whose blocks would all make the same update, which the merge would count B times (Alt, table 3.1). */
static hawser_status check_parallel_data(const hw_plan *plan, const hawser_operator *unit, hawser_error *error)
{
    if (unit->one || plan->settings.blocks == 1)
        return HAWSER_OK;
    const hawser_state *data = NULL, *replicated = NULL;
    for (hawser_state *const *item = unit->reads; *item != NULL; item++) {
        if (hw_state_is_split(*item))
            return HAWSER_OK;
        if (!hw_kind_of(*item)->numbers)
            data = *item;
    }
    for (hawser_state *const *item = unit->updates; *item != NULL; item++) {
        if (hw_kind_of(*item)->owned && (*item)->function == NULL)
            return HAWSER_OK; /* each block has a part of its own, which says what its work is */
        if (hw_kind_of(*item)->summed)
            replicated = *item;
    }
    if (data == NULL || replicated == NULL)
        return HAWSER_OK;
    return hawser_fail(
        error, HAWSER_BAD_PROGRAM,
        "unit '%s' updates replicated state '%s' from replicated data only ('%s' is whole on each of %u blocks): "
        "every block would do the same work; split the data or make it a unit on one block",
        unit->name, replicated->name, data->name, plan->settings.blocks);
}

/* Returns the bytes of the run. The load of the data had a limit of its own. */
static uint64_t run_bytes(const hw_plan *plan)
{
    return plan->memory_needed - plan->memory_parts[HW_MEMORY_LOAD];
}

static hawser_status check_memory(const hw_plan *plan, hawser_error *error)
{
    const hw_plan_settings *settings = &plan->settings;
    const char *name = plan->program->name,
               *shared = settings->shared > 0 ? ", without what is shared with nodes of this host" : "";
    const hw_state_plan *whole = NULL;
    const uint64_t run = run_bytes(plan);
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
        if (hw_state_residence(state) != NULL && state->split == HAWSER_FETCHED && state->expected == 0)
            open = state;
    if (open != NULL)
        return hawser_fail(
            error, HAWSER_NO_MEMORY,
            "program '%s' needs about %.1f MiB if a node fetches all of data state '%s', but the limit is %.1f "
            "MiB%s; set .expect to how many of its entries a node fetches, or raise "
            "--memory-limit",
            name, needed, open->name, limit, shared);
    const uint64_t copies = plan->memory_parts[HW_MEMORY_CHECKPOINTS];
    if (run - copies <= settings->memory)
        return hawser_fail(error, HAWSER_NO_MEMORY,
                           "program '%s' needs about %.1f MiB, %.1f MiB of them for copies of checkpoints until these are "
                           "written, but the limit is %.1f MiB%s; raise --memory-limit, or leave out --checkpoint",
                           name, needed, (double)copies / 0x1p20, limit, shared);
    return hawser_fail(error, HAWSER_NO_MEMORY,
                       "program '%s' needs about %.1f MiB for its data, its states and the work of %u %s, but the limit "
                       "is %.1f MiB%s; %sraise --memory-limit",
                       name, needed, settings->blocks, settings->blocks == 1 ? "worker" : "workers", limit, shared,
                       settings->blocks == 1 ? "" : "use fewer workers or ");
}

/* Finds how updates are sent, what the driver may change, and the memory that this takes. */
static hawser_status describe(hw_plan *plan, hawser_error *error)
{
    hw_plan_guard(plan);
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next) {
        hw_state_plan *own = &plan->states[state->number];
        if (hw_kind_of(state)->numbers)
            find_sources(plan, own);
        if (hw_kind_of(state)->describe != NULL)
            HAWSER_TRY(hw_kind_of(state)->describe(plan, own, error));
    }
    return hw_plan_memory(plan, error);
}

hawser_status hw_parallelise(hw_plan *plan, const hw_plan_settings *settings, hawser_error *error)
{
    plan->settings = *settings;
    if (settings->nodes == 1 && settings->blocks > HW_ADDING_DIRECT)
        plan->settings.adding.kind = HW_ADDING_BLOCKS;
    const hawser_program *program = plan->program;
    for (const hawser_state *state = program->states; state != NULL; state = state->next) {
        hw_state_plan *own = &plan->states[state->number];
        if (hw_kind_of(state)->split != NULL)
            HAWSER_TRY(hw_kind_of(state)->split(plan, own, error));
    }
    for (size_t i = 0; i < program->operator_count; i++) {
        const hawser_operator *op = program->operators[i];
        if (op->kind != HW_UNIT)
            continue;
        HAWSER_TRY(check_parallel_data(plan, op, error));
        if (op->one)
            place(plan, op);
    }
    const uint64_t least = settings->memory_least > 0 ? settings->memory_least : settings->memory;
    HAWSER_TRY(describe(plan, error));
    if (plan->guards && run_bytes(plan) > least) {
        plan->lacks_memory = true;
        plan->settings.adapts = 0;
        HAWSER_TRY(describe(plan, error));
    }
    return check_memory(plan, error);
}
