/* stages.c - the stages of a loop's clock. A body is cut where a unit reads what a unit before it, on other blocks, has
 * updated in this clock. */
#include "base/bits.h"
#include "base/memory.h"
#include "program/kind.h"

/* Returns true if `unit` reads a state that `before` updates on other blocks. The update of a partitioned state reads the
 * own part only. */
static bool needs_update_of(const hawser_operator *unit, const hawser_operator *before)
{
    for (hawser_state *const *item = before->updates; *item != NULL; item++) {
        const hawser_state *state = *item;
        bool reads = hw_unit_reads(unit, state) || (hw_kind_of(state)->summed && hw_unit_updates(unit, state));
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
            if (hw_kind_of(*item)->served && (hw_unit_reads(unit, *item) || hw_unit_updates(unit, *item)))
                return hawser_fail(
                    error, HAWSER_BAD_PROGRAM,
                    "unit '%s' uses stored state '%s', which unit '%s' changes before it in each clock of loop "
                    "'%s', but the store has these changes only when the clock has ended; make them one "
                    "unit, or give each a loop of its own",
                    unit->name, (*item)->name, before->name, loop->name);
    return HAWSER_OK;
}

/* Lists the steps of one phase. */
typedef struct lister {
    hw_plan *plan;
    const hawser_operator *phase;
    size_t first;   /* step of the stage */
    uint32_t stage; /* of the next step */
    hw_step next;   /* what the inner loops around it say */
} lister;

/* Returns whether a moving state that both use has other owners: the step before is in another iteration of an inner
 * loop. */
static bool moves_between(const lister *l, const hawser_operator *unit, const hw_step *before)
{
    if (before->inner == l->next.inner && before->iteration == l->next.iteration)
        return false;
    for (const hawser_state *state = l->plan->program->states; state != NULL; state = state->next)
        if (hw_kind_of(state)->moves && hw_unit_uses(unit, state) && hw_unit_uses(before->unit, state))
            return true;
    return false;
}

/* Returns whether a unit reads what a unit before it in the stage has updated. */
static bool begins_stage(const lister *l, const hawser_operator *unit)
{
    for (size_t i = l->plan->step_count; i-- > l->first;)
        if (needs_update_of(unit, l->plan->steps[i].unit) || moves_between(l, unit, &l->plan->steps[i]))
            return true;
    return false;
}

static hawser_status add_step(lister *l, const hawser_operator *unit, hawser_error *error)
{
    hw_plan *plan = l->plan;
    bool loop = l->phase->kind == HW_LOOP;
    if (loop)
        HAWSER_TRY(check_stored_order(l->phase, unit, error));
    if (loop && begins_stage(l, unit)) {
        l->first = plan->step_count;
        l->stage++;
    }
    if (l->stage == HW_STAGES_MOST)
        return hawser_fail(
            error, HAWSER_BAD_PROGRAM,
            "a clock of loop '%s' has more than %d stages. Unit '%s' begins one stage too many; divide the loop's body",
            l->phase->name, HW_STAGES_MOST, unit->name);
    if (plan->step_count - plan->first_step[l->phase->number] == HW_STEPS_MOST)
        return hawser_fail(error, HAWSER_BAD_PROGRAM,
                           "a clock of loop '%s' runs units more than %d times, and unit '%s' is next; make a unit of the "
                           "inner loop",
                           l->phase->name, HW_STEPS_MOST, unit->name);
    HAWSER_TRY(HW_GROW(&plan->steps, &plan->step_capacity, plan->step_count + 1, "a plan's steps", error));
    hw_step *step = &plan->steps[plan->step_count++];
    *step = l->next;
    step->unit = unit;
    step->stage = l->stage;
    return HAWSER_OK;
}

/* Lists the steps below an operator of a shipped loop, with those of an inner loop once for each of its iterations. */
static hawser_status add_steps(lister *l, const hawser_operator *op, hawser_error *error)
{
    hw_step around = l->next;
    bool inner = op->kind == HW_LOOP && op != l->phase;
    uint64_t times = inner ? op->until.clocks : 1;
    if (op->kind == HW_UNIT)
        return add_step(l, op, error);
    for (uint64_t i = 0; i < times; i++) {
        if (inner)
            l->next = (hw_step){.turn = (uint32_t)(around.turn * times + i),
                                .turns = (uint32_t)(around.turns * times),
                                .inner = true,
                                .iteration = i,
                                .yes = around.yes,
                                .no = around.no};
        for (const hawser_operator *child = op->first; child != NULL; child = child->next) {
            if (op->kind == HW_BRANCH) {
                uint64_t bit = hw_branch_bit(op);
                l->next.yes = around.yes | (child == op->first ? bit : 0);
                l->next.no = around.no | (child == op->first ? 0 : bit);
            }
            HAWSER_TRY(add_steps(l, child, error));
        }
    }
    l->next = around;
    return HAWSER_OK;
}

hawser_status hw_find_steps(hw_plan *plan, hawser_error *error)
{
    const hawser_program *program = plan->program;
    HAWSER_TRY(HW_NEW(&plan->first_step, program->operator_count + 1, "a plan's steps", error));
    for (size_t i = 0; i < program->operator_count; i++) {
        const hawser_operator *op = program->operators[i];
        lister l = {.plan = plan, .phase = op, .first = plan->step_count, .next = {.turns = 1}};
        plan->first_step[i] = plan->step_count;
        if (hw_operator_shipped(op))
            HAWSER_TRY(add_steps(&l, op, error));
        else if (op->kind == HW_UNIT || op->kind == HW_PARALLEL)
            for (const hawser_operator *unit = hw_phase_first(op); unit != NULL; unit = hw_phase_next(op, unit))
                HAWSER_TRY(add_step(&l, unit, error));
    }
    plan->first_step[program->operator_count] = plan->step_count;
    return HAWSER_OK;
}

const hw_step *hw_plan_steps(const hw_plan *plan, const hawser_operator *op, size_t *count)
{
    size_t first = plan->first_step[op->number];
    *count = plan->first_step[op->number + 1] - first;
    return plan->steps + first;
}

hw_stages hw_plan_use(const hw_plan *plan, const hawser_operator *op, const hawser_state *state)
{
    hw_stages use = {.source = UINT32_MAX};
    bool single = hw_kind_of(state)->summed, summed = single;
    size_t count;
    const hw_step *steps = hw_plan_steps(plan, op, &count);
    for (size_t i = 0; i < count; i++) {
        const hawser_operator *unit = steps[i].unit;
        uint64_t bit = UINT64_C(1) << steps[i].stage;
        use.reads |= hw_unit_reads(unit, state) ? bit : 0;
        if (!hw_unit_updates(unit, state) && !(hw_kind_of(state)->moves && hw_unit_reads(unit, state)))
            continue;
        uint32_t at = plan->placement[unit->number];
        single = single && unit->one && (use.updates == 0 || use.source == at);
        use.source = single ? at : UINT32_MAX;
        use.updates |= bit;
        use.exact |= summed && unit->one ? bit : 0; /* units of one stage never update the same number twice */
    }
    if (plan->settings.blocks == 1)
        use.source = 0;
    return use;
}

bool hw_plan_mixes(const hw_plan *plan, const hawser_state *state, const hawser_operator **loop)
{
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *op = plan->program->operators[i];
        hw_stages use = hw_operator_shipped(op) ? hw_plan_use(plan, op, state) : (hw_stages){0};
        *loop = op;
        if (use.exact != 0 && use.exact != use.updates)
            return true;
    }
    return false;
}

hw_policy hw_plan_wait(const hw_plan *plan, const hawser_operator *op, const hawser_state *state, uint32_t stage,
                       hw_policy policy)
{
    size_t count;
    const hw_step *steps = hw_plan_steps(plan, op, &count);
    for (size_t i = 0; i < count; i++) {
        const hawser_operator *unit = steps[i].unit;
        hawser_sync sync;
        if (steps[i].stage == stage && (hw_unit_reads(unit, state) || hw_unit_updates(unit, state)) &&
            hw_unit_waits(unit, &sync))
            policy = hw_policy_stricter(policy, hw_policy_of(sync));
    }
    return policy;
}

uint32_t hw_plan_stages(const hw_plan *plan, const hawser_operator *op)
{
    size_t count;
    const hw_step *steps = hw_plan_steps(plan, op, &count);
    return count > 0 ? steps[count - 1].stage + 1 : 1;
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

bool hw_plan_unit_stages(const hw_plan *plan, const hawser_operator *unit, uint32_t *first, uint32_t *last)
{
    const hawser_operator *loop = hw_operator_loop(unit);
    size_t count;
    const hw_step *steps = hw_plan_steps(plan, loop != NULL ? loop : unit, &count);
    *first = UINT32_MAX, *last = 0;
    for (size_t i = 0; i < count; i++)
        if (steps[i].unit == unit) {
            *first = *first == UINT32_MAX ? steps[i].stage : *first;
            *last = steps[i].stage;
        }
    return loop != NULL && hw_plan_stages(plan, loop) > 1;
}
