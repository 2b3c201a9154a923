/* stages.c - the stages of a loop's clock. A body is cut where a unit reads what a unit before it, on other blocks, has updated in this clock. */
#include "base/bits.h"
#include "program/plan.h"

/* Returns true if `unit` reads a state that `before` updates on other blocks. The update of a partitioned state reads the own part only. */
static bool needs_update_of(const hawser_operator *unit, const hawser_operator *before)
{
    for (hawser_state *const *item = before->updates; *item != NULL; item++) {
        const hawser_state *state = *item;
        bool reads = hw_unit_reads(unit, state) || (state->kind == HW_REPLICATED && hw_unit_updates(unit, state));
        if (hw_state_is_exchanged(state) && reads)
            return true;
    }
    return false;
}

/* The store takes a clock's changes when the clock ends, so a later unit of the clock would read what is out of date. */
static hawser_status check_stored_order(const hawser_operator *loop, const hawser_operator *unit, hawser_error *error)
{
    for (const hawser_operator *before = hw_phase_first(loop); before != unit; before = hw_phase_next(loop, before))
        for (hawser_state *const *item = before->updates; *item != NULL; item++)
            if ((*item)->kind == HW_STORED && (hw_unit_reads(unit, *item) || hw_unit_updates(unit, *item)))
                return hawser_fail(
                    error, HAWSER_BAD_PROGRAM,
                    "unit '%s' uses stored state '%s', which unit '%s' changes before it in each clock of loop "
                    "'%s', but the store has these changes only when the clock has ended; make them one "
                    "unit, or give each a loop of its own",
                    unit->name, (*item)->name, before->name, loop->name);
    return HAWSER_OK;
}

hawser_status hw_find_stages(hw_plan *plan, const hawser_operator *loop, hawser_error *error)
{
    const hawser_operator *first = hw_phase_first(loop); /* of the stage */
    uint32_t stage = 0;
    for (const hawser_operator *unit = first; unit != NULL; unit = hw_phase_next(loop, unit)) {
        bool cut = false;
        HAWSER_TRY(check_stored_order(loop, unit, error));
        for (const hawser_operator *before = first; before != unit && !cut; before = hw_phase_next(loop, before))
            cut = needs_update_of(unit, before);
        if (cut) {
            first = unit;
            stage++;
        }
        if (stage == HW_STAGES_MOST)
            return hawser_fail(error, HAWSER_BAD_PROGRAM,
                               "a clock of loop '%s' has more than %d stages, of which unit '%s' begins the next; "
                               "divide the loop's body",
                               loop->name, HW_STAGES_MOST, unit->name);
        plan->stage[unit->number] = stage;
    }
    plan->stage[loop->number] = stage + 1;
    return HAWSER_OK;
}

hw_stage_use hw_plan_use(const hw_plan *plan, const hawser_operator *operator, const hawser_state * state)
{
    hw_stage_use use = {0, 0};
    for (const hawser_operator *unit = hw_phase_first(operator); unit != NULL; unit = hw_phase_next(operator, unit)) {
        uint64_t bit = UINT64_C(1) << (operator->kind == HW_LOOP ? plan->stage[unit->number] : 0);
        use.updates |= hw_unit_updates(unit, state) ? bit : 0;
        use.reads |= hw_unit_reads(unit, state) ? bit : 0;
    }
    return use;
}

hw_policy hw_plan_wait(const hw_plan *plan, const hawser_operator *operator, const hawser_state * state, uint32_t stage,
                       hw_policy policy)
{
    for (const hawser_operator *unit = hw_phase_first(operator); unit != NULL; unit = hw_phase_next(operator, unit))
        if (unit->waits && plan->stage[unit->number] == stage &&
            (hw_unit_reads(unit, state) || hw_unit_updates(unit, state)))
            policy = hw_policy_stricter(policy, hw_policy_of(unit->sync));
    return policy;
}

uint32_t hw_plan_stages(const hw_plan *plan, const hawser_operator *operator)
{
    return operator->kind == HW_LOOP ? plan->stage[operator->number] : 1;
}

uint32_t hw_plan_exchanges(const hw_plan *plan, const hawser_state *state)
{
    uint32_t most = 1;
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *loop = plan->program->operators[i];
        uint32_t each = hw_operator_shipped(loop) ? hw_bits_set(hw_plan_use(plan, loop, state).updates) : 0;
        most = each > most ? each : most;
    }
    return most;
}
