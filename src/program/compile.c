/* compile.c - compiles a program into a logical plan. It rejects, by name, every mistake that can be found before a run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/numbers.h"
#include "program/kind.h"

#define REFUSE(...) return hawser_fail(error, HAWSER_BAD_PROGRAM, __VA_ARGS__)

static hawser_status check_names(const hawser_operator *unit, hawser_error *error)
{
    const hawser_program *program = unit->program;
    for (size_t i = 0; i < program->operator_count; i++) {
        const hawser_operator *other = program->operators[i];
        if (other != unit && other->kind == HW_UNIT && strcmp(other->name, unit->name) == 0)
            REFUSE("two units are called '%s'; give each its own name", unit->name);
    }
    return HAWSER_OK;
}

/* A reduction needs all blocks, and each of them equally often. */
static hawser_status check_reducing(const hawser_operator *unit, hawser_error *error)
{
    char sync[HW_SYNC_TEXT];
    if (unit->reduces == 0)
        return HAWSER_OK;
    if (unit->one)
        REFUSE("unit '%s' runs on one block, so it cannot reduce over all blocks; leave .one out", unit->name);
    for (const hawser_operator *loop = unit->parent; loop != NULL; loop = loop->parent)
        if (loop->kind == HW_LOOP && loop->sync.tightness != HAWSER_BSP)
            REFUSE(
                "unit '%s' reduces over all blocks, but loop '%s' is under %s, where blocks run different clocks; use bsp",
                unit->name, loop->name, hw_sync_text(loop->sync, sync));
    for (const hawser_state *state = unit->program->states; state != NULL; state = state->next)
        if (state->rebuild == unit->function)
            REFUSE("unit '%s' reduces over all blocks, and its function also rebuilds state '%s'; a rebuild cannot reduce",
                   unit->name, state->name);
    return HAWSER_OK;
}

static bool waits_for_a_state(const hawser_operator *unit, const hawser_operator *loop)
{
    for (const hawser_state *state = unit->program->states; state != NULL; state = state->next)
        if (hw_state_is_exchanged(state) && hw_phase_updates(loop, state) &&
            (hw_unit_reads(unit, state) || hw_unit_updates(unit, state)))
            return true;
    return false;
}

/* The loop adds updates in its own order and holds back none that its sync does not need, so a unit can only wait for
 * more. */
static hawser_status check_unit_sync(const hawser_operator *unit, hawser_error *error)
{
    char own[HW_SYNC_TEXT], whole[HW_SYNC_TEXT];
    const hawser_operator *shipped = hw_operator_loop(unit), *loop = unit->parent;
    if (!unit->waits)
        return HAWSER_OK;
    while (loop != NULL && loop->kind != HW_LOOP)
        loop = loop->parent;
    /* With another sync of the loop blocks would run it by themselves, and the same program is right under both. */
    if (shipped == NULL && loop != NULL && unit->sync.tightness == HAWSER_BSP)
        return HAWSER_OK;
    if (shipped == NULL)
        REFUSE("unit '%s' has a sync of its own, but is in no loop that blocks run by themselves, so all blocks enter it "
               "together; remove .sync",
               unit->name);
    if (hw_operator_stores(unit))
        REFUSE("unit '%s' has a sync of its own, but uses stored states, which servers order by the sync of the loop; "
               "remove .sync",
               unit->name);
    if (!waits_for_a_state(unit, shipped))
        REFUSE("unit '%s' has a sync of its own, but uses no replicated or partitioned state that loop '%s' updates, so it "
               "waits for nothing; remove .sync",
               unit->name, shipped->name);
    hw_policy waits = hw_policy_of(unit->sync), stricter = hw_policy_stricter(waits, hw_policy_of(loop->sync));
    if (stricter.kind != waits.kind || stricter.staleness != waits.staleness)
        REFUSE("unit '%s' is under %s, which waits less than %s of its loop '%s'; give the loop the sync that waits least, "
               "and stricter ones to its units",
               unit->name, hw_sync_text(unit->sync, own), hw_sync_text(loop->sync, whole), loop->name);
    return HAWSER_OK;
}

/* The store counts one access per clock of the loop that is sent to the blocks. */
static hawser_status check_stored_inside(const hawser_operator *unit, hawser_error *error)
{
    const hawser_operator *loop = hw_operator_loop(unit);
    for (const hawser_operator *above = unit->parent; loop != NULL && above != loop; above = above->parent)
        if (above->kind == HW_LOOP && hw_operator_stores(unit))
            REFUSE("unit '%s' uses stored states in loop '%s', which is a part of each clock of loop '%s', but the store "
                   "has the changes of a clock when it has ended; put the unit outside of '%s', or give '%s' bsp",
                   unit->name, above->name, loop->name, above->name, loop->name);
    return HAWSER_OK;
}

static hawser_status check_unit(const hawser_operator *unit, hawser_error *error)
{
    HAWSER_TRY(check_unit_sync(unit, error));
    HAWSER_TRY(check_stored_inside(unit, error));
    HAWSER_TRY(check_reducing(unit, error));
    for (hawser_state *const *item = unit->updates; *item != NULL; item++) {
        const hawser_state *state = *item;
        if (state->tied_to != NULL && !hw_unit_updates(unit, state->tied_to))
            REFUSE("unit '%s' updates '%s' without '%s', to which it is tied; declare both", unit->name, state->name,
                   state->tied_to->name);
        if (unit->one && hw_kind_of(state)->check_one != NULL)
            HAWSER_TRY(hw_kind_of(state)->check_one(unit, state, error));
        for (hawser_state *const *again = unit->updates; again != item; again++)
            if (*again == state)
                REFUSE("unit '%s' names state '%s' twice in its updates", unit->name, state->name);
    }
    return HAWSER_OK;
}

static hawser_status check_parallel(const hawser_operator *parallel, hawser_error *error)
{
    for (const hawser_state *state = parallel->program->states; state != NULL; state = state->next)
        for (const hawser_operator *one = parallel->first; one != NULL; one = one->next) {
            if (!hw_operator_updates(one, state))
                continue;
            for (const hawser_operator *other = parallel->first; other != NULL; other = other->next) {
                if (other == one)
                    continue;
                if (hw_operator_updates(other, state))
                    REFUSE("two children of a parallel update state '%s'; put them in a sequence", state->name);
                if (hw_operator_reads(other, state))
                    REFUSE("a child of a parallel reads state '%s' while another updates it; put them in a sequence",
                           state->name);
            }
        }
    if (parallel->first == NULL)
        REFUSE("a parallel has no children");
    return HAWSER_OK;
}

/* Bounded delay and data-centric sync order only accesses to the store. */
static hawser_status check_stored_loop(const hawser_operator *loop, hawser_error *error)
{
    char sync[HW_SYNC_TEXT];
    if (!hw_policy_row_of((unsigned)loop->sync.tightness)->stored_only)
        return HAWSER_OK;
    hw_sync_text(loop->sync, sync);
    if (!hw_operator_stores(loop))
        REFUSE("loop '%s' is under %s, which is for stored states, and it has none; use bsp, ssp or tap", loop->name, sync);
    for (const hawser_state *state = loop->program->states; state != NULL; state = state->next)
        if (hw_state_is_exchanged(state) && hw_operator_updates(loop, state))
            REFUSE("loop '%s' is under %s, which is for stored states, but it updates %s state '%s'; use bsp, ssp or tap",
                   loop->name, sync, hw_state_kind_name(state->kind), state->name);
    return HAWSER_OK;
}

/* Blocks that are in different clocks cannot agree on a test inside of one, so they must know the length of an inner loop
 * from the start. */
static hawser_status check_inner_loop(const hawser_operator *loop, const hawser_operator *outer, hawser_error *error)
{
    char own[HW_SYNC_TEXT], sync[HW_SYNC_TEXT];
    const hawser_until *until = &loop->until;
    const hawser_operator *around = loop->parent;
    if (until->seconds != 0 || until->metric != NULL || until->test != NULL)
        REFUSE(
            "loop '%s' is a part of each clock of loop '%s' under %s, where blocks agree on no test; end it by a number of "
            "clocks alone, or give '%s' bsp",
            loop->name, outer->name, hw_sync_text(outer->sync, sync), outer->name);
    while (around->kind != HW_LOOP)
        around = around->parent;
    bool same = loop->sync.tightness == around->sync.tightness && loop->sync.staleness == around->sync.staleness;
    if (loop->sync.tightness != HAWSER_BSP && !same)
        REFUSE("loop '%s' is under %s inside of loop '%s' under %s; give it the sync of the loop around it, or bsp",
               loop->name, hw_sync_text(loop->sync, own), around->name, hw_sync_text(around->sync, sync));
    return HAWSER_OK;
}

static hawser_status check_loop(const hawser_operator *loop, hawser_error *error)
{
    const hawser_until *until = &loop->until;
    const hawser_operator *outer = hw_operator_loop(loop);
    if (loop->first == NULL || ((outer != NULL || hw_operator_shipped(loop)) && hw_phase_first(loop) == NULL))
        REFUSE("loop '%s' has an empty body", loop->name);
    bool by_metric = until->below != 0 || until->change != 0 || until->patience != 0;
    if (until->metric == NULL && by_metric)
        REFUSE("loop '%s' ends by a metric but names none; set .metric", loop->name);
    if (until->metric != NULL && hw_program_metric(loop->program, until->metric) == UINT32_MAX)
        REFUSE("loop '%s' ends by metric '%s', which the program does not declare; call hawser_metric_declare", loop->name,
               until->metric);
    if (until->clocks == 0 && until->seconds == 0 && until->metric == NULL && until->test == NULL)
        REFUSE("loop '%s' has no condition that ends it; set .clocks, .seconds, .metric or .test", loop->name);
    if (until->test == NULL && until->remembers > 0)
        REFUSE("loop '%s' has memory for a test, but no test", loop->name);
    if (!(until->seconds >= 0) || !(until->change >= 0) || !isfinite(until->below))
        REFUSE("loop '%s' has a condition that is negative or not a number", loop->name);
    if (outer != NULL)
        return check_inner_loop(loop, outer, error);
    if (!hw_operator_shipped(loop) && loop->sync.tightness != HAWSER_BSP)
        REFUSE("loop '%s' holds other operators than units, so it can only be bsp, ssp or tap; give the sync to the loop "
               "inside it",
               loop->name);
    return check_stored_loop(loop, error);
}

static hawser_status check_branch(const hawser_operator *branch, hawser_error *error)
{
    if (branch->first == NULL || (branch->first->next != NULL && branch->first->next->next != NULL))
        REFUSE("branch '%s' must have one or two children", branch->name);
    const hawser_operator *loop = hw_operator_loop(branch), *around = branch->parent;
    if (loop == NULL)
        return HAWSER_OK;
    while (around->kind != HW_LOOP)
        around = around->parent;
    if (loop->sync.tightness == HAWSER_TAP)
        REFUSE(
            "branch '%s' is in loop '%s' under tap, where no clock waits for the metrics by which it would be chosen; give "
            "'%s' ssp or bsp",
            branch->name, loop->name, loop->name);
    if (loop->sync.staleness > HW_BRANCH_STALENESS_MOST)
        REFUSE("branch '%s' is in loop '%s' under ssp:%u, but it is chosen for all clocks of a credit ahead; the most is "
               "ssp:%d",
               branch->name, loop->name, loop->sync.staleness, HW_BRANCH_STALENESS_MOST);
    if (around != loop)
        REFUSE("branch '%s' is in loop '%s', a part of each clock of loop '%s', and it is chosen once for a clock; put the "
               "branch around '%s'",
               branch->name, around->name, loop->name, around->name);
    if (hw_operator_stores(branch))
        REFUSE("branch '%s' of loop '%s' has units that use stored states, which the store counts in every clock; put them "
               "outside of the branch, or give '%s' bsp",
               branch->name, loop->name, loop->name);
    if (hw_loop_branches(loop) > HW_BRANCHES_MOST)
        REFUSE("loop '%s' under ssp has more than %d branches; divide its body", loop->name, HW_BRANCHES_MOST);
    return HAWSER_OK;
}

static hawser_status check_initial(const hawser_state *state, hawser_error *error)
{
    const hw_numbers *numbers = hw_numbers_of(state->type);
    size_t parts = state->initial_parts > 1 ? state->initial_parts : 1;
    size_t count = state->initial != NULL ? hw_state_count(state) * parts : 0;
    size_t bad = numbers->first_not_finite(state->initial, count);
    if (bad == count)
        return HAWSER_OK;
    char text[HW_NUMBER_TEXT];
    numbers->text(state->initial, bad, text);
    return hawser_fail(error, HAWSER_NOT_FINITE, "%s state '%s' begins with %s at number %zu; all must be finite",
                       hw_state_kind_name(state->kind), state->name, text, bad);
}

static hawser_status check_operator(const hawser_operator *op, hawser_error *error)
{
    switch (op->kind) {
    case HW_SEQUENCE: return HAWSER_OK;
    case HW_PARALLEL: return check_parallel(op, error);
    case HW_LOOP: return check_loop(op, error);
    case HW_BRANCH: return check_branch(op, error);
    case HW_UNIT: HAWSER_TRY(check_names(op, error)); return check_unit(op, error);
    }
    return HAWSER_OK;
}

static void visit(const hawser_operator *op, uint32_t *order, size_t *count)
{
    order[(*count)++] = op->number;
    for (const hawser_operator *child = op->first; child != NULL; child = child->next)
        visit(child, order, count);
}

uint32_t hw_plan_position(const hw_plan *plan, const hawser_operator *op)
{
    uint32_t position = 0;
    while (plan->order[position] != op->number)
        position++;
    return position;
}

static uint32_t count_operators(const hawser_operator *op)
{
    uint32_t count = 1;
    for (const hawser_operator *child = op->first; child != NULL; child = child->next)
        count += count_operators(child);
    return count;
}

static void find_life(hw_plan *plan, const hawser_state *state)
{
    hw_life *life = &plan->states[state->number].life;
    *life = (hw_life){UINT32_MAX, UINT32_MAX, 0};
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *op = plan->program->operators[plan->order[i]];
        if (op->kind != HW_UNIT || (!hw_unit_reads(op, state) && !hw_unit_updates(op, state)))
            continue;
        if (life->first == UINT32_MAX)
            life->first = op->number;
        life->last = op->number;
        /* A state that a loop's body uses lives as long as the outermost loop around it. */
        for (const hawser_operator *above = op->parent; above != NULL; above = above->parent)
            if (above->kind == HW_LOOP)
                life->last = above->number;
    }
    if (life->last == UINT32_MAX)
        return;
    const hawser_operator *last = plan->program->operators[life->last];
    life->end = hw_plan_position(plan, last) + count_operators(last);
}

/* A tied state is committed with the state that it is tied to. */
static void extend_tied(hw_plan *plan)
{
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next) {
        hw_life *life = &plan->states[state->number].life;
        if (state->tied_to != NULL && plan->states[state->tied_to->number].life.end > life->end)
            life->end = plan->states[state->tied_to->number].life.end;
    }
}

/* A tied state and the state that it is tied to go back together, unless the latter is rebuilt. */
static hawser_status check_kept(const hawser_program *program, hawser_error *error)
{
    for (const hawser_state *state = program->states; state != NULL; state = state->next) {
        const hawser_state *with = state->tied_to;
        if (with != NULL && state->keeps != with->keeps && (with->keeps || with->rebuild == NULL))
            REFUSE("state '%s' is tied to '%s', and only one of both is kept; call hawser_state_keep for both", state->name,
                   with->name);
    }
    return HAWSER_OK;
}

hawser_status hw_compile(const hawser_program *program, hw_plan **out, hawser_error *error)
{
    *out = NULL;
    if (program == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no program (NULL); hawser_program_new makes one");
    if (program->mistake.status != HAWSER_OK)
        return hawser_fail(error, program->mistake.status, "program '%s'%s%s: %s", program->name ? program->name : "?",
                           program->mistake_where != NULL ? ", " : "",
                           program->mistake_where != NULL ? program->mistake_where : "", program->mistake.text);
    if (program->root->first == NULL)
        REFUSE("program '%s' has no operators", program->name);
    HAWSER_TRY(check_kept(program, error));
    hw_plan *plan = NULL;
    HAWSER_TRY(HW_NEW(&plan, 1, "a plan", error));
    plan->program = program;
    hawser_status status = HW_NEW(&plan->states, program->state_count, "a plan's states", error);
    HAWSER_THEN(status, HW_NEW(&plan->order, program->operator_count, "a plan's order", error));
    HAWSER_THEN(status, HW_NEW(&plan->placement, program->operator_count, "a plan's placement", error));
    size_t count = 0;
    if (status == HAWSER_OK)
        visit(program->root, plan->order, &count);
    for (size_t i = 0; i < count && status == HAWSER_OK; i++)
        status = check_operator(program->operators[plan->order[i]], error);
    HAWSER_THEN(status, hw_find_steps(plan, error));
    for (const hawser_state *state = program->states; state != NULL && status == HAWSER_OK; state = state->next) {
        plan->states[state->number].state = state;
        find_life(plan, state);
        status = check_initial(state, error);
        if (status == HAWSER_OK && hw_kind_of(state)->check != NULL)
            status = hw_kind_of(state)->check(plan, state, error);
    }
    if (status == HAWSER_OK)
        extend_tied(plan);
    if (status != HAWSER_OK) {
        hw_plan_free(plan);
        return status;
    }
    *out = plan;
    return HAWSER_OK;
}

void hw_plan_free(hw_plan *plan)
{
    if (plan == NULL)
        return;
    for (uint32_t i = 0; plan->states != NULL && i < plan->program->state_count; i++) {
        free(plan->states[i].bounds);
        free(plan->states[i].stored);
    }
    free(plan->states);
    free(plan->order);
    free(plan->placement);
    free(plan->steps);
    free(plan->first_step);
    free(plan);
}
