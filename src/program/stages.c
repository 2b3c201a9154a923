/* stages.c - the stages of a loop's clock. A body is cut where a unit reads what a unit before it, on other blocks, has updated in this clock. */
#include "base/bits.h"
#include "base/memory.h"
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

/* Lists the steps of one phase. */
typedef struct lister {
    hw_plan *plan;
    const hawser_operator *phase;
    size_t first;   /* step of the stage */
    uint32_t stage; /* of the next step */
    hw_step next;   /* what the inner loops around it say */
} lister;

/* Returns whether a unit reads what a unit before it in the stage has updated. */
static bool begins_stage(const lister *l, const hawser_operator *unit)
{
    for (size_t i = l->plan->step_count; i-- > l->first;)
        if (needs_update_of(unit, l->plan->steps[i].unit))
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
static hawser_status add_steps(lister *l, const hawser_operator *operator, hawser_error * error)
{
    hw_step around = l->next;
    bool inner = operator->kind == HW_LOOP && operator!= l->phase;
    uint64_t times = inner ? operator->until.clocks : 1;
    if (operator->kind == HW_UNIT)
        return add_step(l, operator, error);
    for (uint64_t i = 0; i < times; i++) {
        if (inner)
            l->next = (hw_step){.turn = (uint32_t)(around.turn * times + i),
                                .turns = (uint32_t)(around.turns * times),
                                .inner = true,
                                .iteration = i,
                                .yes = around.yes,
                                .no = around.no};
        for (const hawser_operator *child = operator->first; child != NULL; child = child->next) {
            if (operator->kind == HW_BRANCH) {
                uint64_t bit = hw_branch_bit(operator);
                l->next.yes = around.yes | (child == operator->first ? bit : 0);
                l->next.no = around.no | (child == operator->first ? 0 : bit);
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
        const hawser_operator *operator= program->operators[i];
        lister l = {.plan = plan, .phase = operator, .first = plan->step_count, .next = {.turns = 1}};
        plan->first_step[i] = plan->step_count;
        if (hw_operator_shipped(operator))
            HAWSER_TRY(add_steps(&l, operator, error));
        else if (operator->kind == HW_UNIT || operator->kind == HW_PARALLEL)
            for (const hawser_operator *unit = hw_phase_first(operator); unit != NULL; unit = hw_phase_next(operator, unit))
                HAWSER_TRY(add_step(&l, unit, error));
    }
    plan->first_step[program->operator_count] = plan->step_count;
    return HAWSER_OK;
}

const hw_step *hw_plan_steps(const hw_plan *plan, const hawser_operator *operator, size_t * count)
{
    size_t first = plan->first_step[operator->number];
    *count = plan->first_step[operator->number + 1] - first;
    return plan->steps + first;
}

hw_stage_use hw_plan_use(const hw_plan *plan, const hawser_operator *operator, const hawser_state * state)
{
    hw_stage_use use = {0, 0};
    size_t count;
    const hw_step *steps = hw_plan_steps(plan, operator, & count);
    for (size_t i = 0; i < count; i++) {
        uint64_t bit = UINT64_C(1) << steps[i].stage;
        use.updates |= hw_unit_updates(steps[i].unit, state) ? bit : 0;
        use.reads |= hw_unit_reads(steps[i].unit, state) ? bit : 0;
    }
    return use;
}

hw_policy hw_plan_wait(const hw_plan *plan, const hawser_operator *operator, const hawser_state * state, uint32_t stage,
                       hw_policy policy)
{
    size_t count;
    const hw_step *steps = hw_plan_steps(plan, operator, & count);
    for (size_t i = 0; i < count; i++) {
        const hawser_operator *unit = steps[i].unit;
        hawser_sync sync;
        if (steps[i].stage == stage && (hw_unit_reads(unit, state) || hw_unit_updates(unit, state)) &&
            hw_unit_waits(unit, &sync))
            policy = hw_policy_stricter(policy, hw_policy_of(sync));
    }
    return policy;
}

uint32_t hw_plan_stages(const hw_plan *plan, const hawser_operator *operator)
{
    size_t count;
    const hw_step *steps = hw_plan_steps(plan, operator, & count);
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
