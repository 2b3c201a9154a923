/* life.c - gives a block's part of a state its first values when a phase first uses the state, and frees it after the last
 * phase that does. */
#include <string.h>

#include "runtime/block/part.h"

/* Returns true if a rebuild, which may use any state, may run in a phase. */
static bool has_rebuild(const hawser_program *program)
{
    for (const hawser_state *state = program->states; state != NULL; state = state->next)
        if (state->rebuild != NULL)
            return true;
    return false;
}

void hw_life_fill(const hw_worker *worker, hw_state_part *part)
{
    if (!part->unfilled)
        return;
    part->unfilled = false;
    const void *initial = hw_plan_initial(worker->session->plan, part->state, part->replica != NULL ? 0 : part->begin);
    if (part->replica != NULL) {
        hw_replica_fill(part->replica, initial);
        return;
    }
    size_t bytes = part->count * hw_state_size(part->state);
    memcpy(part->work, initial, bytes);
    if (part->copy != NULL)
        memcpy(part->copy, initial, bytes);
}

void hw_life_open(hw_worker *worker, hw_state_part *part)
{
    part->unfilled = true;
    if (worker->session->plan->states[part->state->number].loaded != NULL) /* which is freed once all blocks are open */
        hw_life_fill(worker, part);
}

/* Frees all but the values of the result. */
static void retire(const hw_worker *worker, hw_state_part *part)
{
    if (part->retired || part->kind->retire == NULL)
        return;
    part->retired = true;
    part->kind->retire(worker, part);
}

/* Frees the states that no operator from position `from` of the plan's order on uses. A block does so when a later phase
 * begins, not at the end of the last one that uses them, because the driver may enter that again, with another sync. */
static void retire_before(hw_worker *worker, uint32_t from)
{
    const hw_plan *plan = worker->session->plan;
    const hawser_program *program = worker->session->program;
    if (has_rebuild(program))
        return;
    for (uint32_t i = 0; i < program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        if (!part->unfilled && plan->states[i].life.end <= from)
            retire(worker, part);
    }
}

/* Returns true if a phase uses a state, or commits it together with another state. */
static bool is_used(const hawser_operator *op, const hawser_state *state)
{
    return hw_operator_reads(op, state) || hw_operator_updates(op, state) ||
           (state->tied_to != NULL && hw_operator_updates(op, state->tied_to));
}

void hw_life_begin(hw_worker *worker)
{
    const hawser_program *program = worker->session->program;
    const hw_plan *plan = worker->session->plan;
    bool all = has_rebuild(program);
    retire_before(worker, hw_plan_position(plan, worker->current));
    for (uint32_t i = 0; i < program->state_count; i++)
        if (all || is_used(worker->current, worker->parts[i].state))
            hw_life_fill(worker, &worker->parts[i]);
}

void hw_life_over(hw_worker *worker)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        hw_life_fill(worker, part);
        retire(worker, part);
    }
}
