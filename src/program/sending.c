/* sending.c - how the updates of each state are sent: filter, quota and form, from the job's options, the program's calls,
 * and options for one state. And what the driver may change of them and of loops in a run: what programs declare
 * (HAWSER_ADAPT), options allow and the plan can take. */
#include <string.h>

#include "base/option_value.h"
#include "codec/forms.h"
#include "exchange/encoding.h"
#include "program/kind.h"

/* Returns the greatest staleness of a loop that updates the state. It bounds how long a filter may hold an entry by
 * default. */
static uint64_t loosest(const hw_plan *plan, const hawser_state *state)
{
    uint64_t most = 0;
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *loop = plan->program->operators[i];
        if (loop->kind == HW_LOOP && hw_operator_shipped(loop) && hw_operator_updates(loop, state) &&
            loop->sync.staleness > most)
            most = loop->sync.staleness;
    }
    return most;
}

/* The share of a value by which the relative filter orders changes is no integer. */
static hawser_status check_filter(const hw_state_plan *own, hawser_error *error)
{
    const hawser_state *state = own->state;
    if (own->filter.kind != HW_FILTER_RELATIVE || !hw_type_is_whole(state->type))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_PROGRAM,
                       "state '%s' is of %s, which the relative filter cannot order; use another --filter", state->name,
                       hw_type_name(state->type));
}

/* What is held is a sum of changes. Those of a unit on one block are exact, so that they cannot be held with those of all
 * blocks under a rule. */
static hawser_status check_held(const hw_plan *plan, const hw_state_plan *own, hawser_form form, hawser_error *error)
{
    const hawser_state *state = own->state;
    const hawser_rule *rule = &state->rule;
    bool filtered = own->filter.kind != HW_FILTER_NONE && own->filter.quota > 0;
    bool plain = rule->damping == 1 && rule->gain == 1 && rule->merge == NULL;
    const hawser_operator *loop;
    if (plain || plan->settings.blocks == 1 || (!filtered && form == HAWSER_EXACT) || !hw_plan_mixes(plan, state, &loop))
        return HAWSER_OK;
    return hawser_fail(
        error, HAWSER_BAD_PROGRAM,
        "in loop '%s' both a unit on one block and a unit on all blocks update state '%s', which has %s and %s: "
        "updates of one block are exact and cannot be held with those of all; make them two states, or "
        "exchange this one without %s",
        loop->name, state->name,
        rule->merge != NULL  ? "a merge function"
        : rule->damping != 1 ? "a damping"
                             : "a gain",
        filtered ? "a filter" : "an encoding", filtered ? "a filter" : "an encoding");
}

/* A merge function that would never be called is a mistake. */
static hawser_status check_merge(const hw_plan *plan, const hawser_state *state, hawser_error *error)
{
    const hawser_operator *one = NULL;
    for (size_t i = 0; state->rule.merge != NULL && i < plan->program->operator_count; i++) {
        const hawser_operator *unit = plan->program->operators[i];
        if (unit->kind == HW_UNIT && hw_unit_updates(unit, state) && !unit->one)
            return HAWSER_OK;
        if (unit->kind == HW_UNIT && hw_unit_updates(unit, state))
            one = unit;
    }
    if (one == NULL)
        return HAWSER_OK;
    return hawser_fail(
        error, HAWSER_BAD_PROGRAM,
        "state '%s' has a merge function, but only units on one block update it, such as '%s': what one block "
        "writes is exact, and no function gets it; let the unit do what the function does",
        state->name, one->name);
}

/* Replaces what the options have for this state alone. */
static void take_options(const hawser_options *options, const char *name, hw_filter *filter, hawser_form *form)
{
    hw_option_item item;
    if (hw_option_of_state(options, "filter", name, &item))
        filter->kind = hw_filter_find(item.text);
    if (hw_option_of_state(options, "quota", name, &item))
        filter->quota = item.value.bytes;
    if (hw_option_of_state(options, "max-held-clocks", name, &item))
        filter->max_held = (uint64_t)item.value.integer;
    if (hw_option_of_state(options, "encoding", name, &item))
        *form = hw_is_auto(item.text) ? HAWSER_EXACT : (hawser_form)hw_form_find(item.text);
}

static bool is_adapted(const hawser_operator *op)
{
    return op->adapted && hw_operator_shipped(op);
}

/* Returns whether a loop updates a stored state. Servers do not go back to earlier values. */
static bool updates_stored(const hawser_program *program, const hawser_operator *loop)
{
    for (const hawser_state *state = program->states; state != NULL; state = state->next)
        if (hw_kind_of(state)->served && hw_operator_updates(loop, state))
            return true;
    return false;
}

bool hw_plan_adapts(const hw_plan *plan, const hawser_operator *loop, const char **why)
{
    *why = !is_adapted(loop) ? "no loop says what may change of it (HAWSER_ADAPT); the rounds of a linear model do, with "
                               "--exchange-every H"
           : hw_loop_measures(loop) && updates_stored(plan->program, loop)
               ? "its loop updates stored states, which cannot return to earlier values after a change that did harm"
           : plan->lacks_memory
               ? "the limit of memory (--memory-limit) leaves none for the copy of the states to which the loop "
                 "would return after a change that did harm"
               : NULL;
    return *why == NULL;
}

/* Returns whether a loop that the driver adapts names the state. */
static bool is_named(const hw_plan *plan, const hawser_state *state)
{
    for (size_t i = 0; i < plan->program->operator_count; i++)
        if (is_adapted(plan->program->operators[i]) && plan->program->operators[i]->adapts == state)
            return true;
    return false;
}

/* Returns whether an option lets the driver change a state: its value for the state says so, or that for all states. */
static bool is_let(const hw_plan *plan, const char *key, hw_adapts adapts, const hawser_state *state)
{
    hw_option_item item;
    if (hw_option_of_state(plan->settings.options, key, state->name, &item))
        return hw_is_auto(item.text);
    return (plan->settings.adapts & (unsigned)adapts) != 0;
}

/* Returns whether the options and the loops let the driver change the quota of a state in a run. */
static bool quota_falls(const hw_plan *plan, const hawser_state *state)
{
    hw_option_item item;
    bool own = state->filter_set && !hw_option_of_state(plan->settings.options, "quota", state->name, &item);
    return plan->settings.blocks > 1 && !own && is_named(plan, state) && is_let(plan, "quota", HW_ADAPTS_QUOTA, state);
}

/* Returns the bytes of an update of all numbers of a state: with such a quota all updates pass. */
static uint64_t whole_update(const hawser_state *state)
{
    const size_t count = hw_state_count(state);
    return hw_choose_packing(state->type, count, count, count).bytes;
}

hawser_status hw_plan_sending(const hw_plan *plan, hw_state_plan *own, hawser_form *form, hawser_error *error)
{
    const hawser_state *state = own->state;
    own->filter = plan->settings.filter;
    *form = state->form;
    if (!hw_kind_of(state)->summed)
        own->filter.kind = HW_FILTER_NONE;
    if (state->filter_set && !hw_operator_updates(plan->program->root, state))
        return hawser_fail(error, HAWSER_BAD_PROGRAM,
                           "state '%s' has a filter (.filter), but no unit updates it, so nothing of it is sent",
                           state->name);
    if (state->filter_set)
        own->filter = state->filter;
    if (hw_kind_of(state)->summed)
        take_options(plan->settings.options, state->name, &own->filter, form);
    own->quota_falls = own->filter.kind != HW_FILTER_NONE && own->sources > 1 && quota_falls(plan, state);
    if (own->quota_falls)
        own->filter.quota = whole_update(state);
    HAWSER_TRY(check_merge(plan, state, error));
    if (own->filter.max_held == 0)
        own->filter.max_held = loosest(plan, state) + 1;
    if (*form != HAWSER_EXACT && hw_type_is_whole(state->type))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "state '%s' is of %s, which is sent exactly: it cannot be rounded (--encoding)", state->name,
                           hw_type_name(state->type));
    HAWSER_TRY(check_filter(own, error));
    return check_held(plan, own, *form, error);
}

/* ----------------------------------------------------------------------------------------- what may change in a run ---- */

bool hw_plan_narrows(const hw_plan *plan, const hawser_state *state, hawser_form form)
{
    const hawser_operator *mixes;
    return plan->settings.blocks > 1 && form == HAWSER_EXACT && state->rule.merge == NULL && is_named(plan, state) &&
           is_let(plan, "encoding", HW_ADAPTS_ENCODING, state) && !hw_plan_mixes(plan, state, &mixes);
}

bool hw_plan_any_narrows(const hw_plan *plan)
{
    for (uint32_t i = 0; i < plan->program->state_count; i++)
        if (plan->states[i].narrows)
            return true;
    return false;
}

uint32_t hw_plan_staleness_most(const hw_plan *plan, const hawser_operator *loop, const char **why)
{
    const uint32_t let = (plan->settings.adapts & HW_ADAPTS_SYNC) != 0 ? plan->settings.staleness_most : 0;
    *why = loop->sync.tightness != HAWSER_BSP ? "its loop has a sync of its own"
           : hw_operator_reduces(loop) > 0    ? "a unit of its loop adds up numbers over the workers, which only bsp does"
           : hw_loop_branches(loop) > 0       ? "its loop has branches, which are chosen in step"
           : hw_operator_stores(loop)         ? "its loop has stored states, which the store orders"
           : hw_operator_moves(loop)          ? "its loop has states that move between workers in step"
           : loop->metric == UINT32_MAX       ? "the HAWSER_ADAPT of its loop has no .metric, by which it is judged"
           : loop->staleness_most == 0        ? "the HAWSER_ADAPT of its loop has no .staleness_most"
                                              : NULL;
    if (*why != NULL)
        return 0;
    return loop->staleness_most < let ? loop->staleness_most : let;
}

/* Returns why a state keeps its form or quota, although a loop names it. */
static const char *nothing_of_state(const hw_plan *plan, const hawser_state *state, bool form)
{
    const hw_state_plan *own = &plan->states[state->number];
    const hawser_operator *mixes;
    if (form ? own->narrows : own->quota_falls)
        return NULL;
    if (own->sources == 1)
        return "one worker alone updates the state, and sends its values";
    if (form && own->filter.kind != HW_FILTER_NONE)
        return "the state has a filter, and what it holds back is exact; use --quota auto";
    if (form && own->rounding != HW_F64)
        return "the state has a form of its own";
    if (form && state->rule.merge != NULL)
        return "the state has a merge function, which gets exact numbers";
    if (form && hw_plan_mixes(plan, state, &mixes))
        return "both a unit on one worker and a unit on all workers update the state";
    if (!form && own->filter.kind == HW_FILTER_NONE)
        return "it needs a --filter, which chooses what is held back";
    return "it is not about the state that a HAWSER_ADAPT names";
}

static const char *nothing_of_loop(const hw_plan *plan, const hawser_operator *loop, const char *key)
{
    const char *why;
    bool form = strcmp(key, "encoding") == 0;
    if (!hw_plan_adapts(plan, loop, &why))
        return why;
    if (form || strcmp(key, "quota") == 0)
        return plan->settings.nodes <= 1 ? "the job has one node, and only a link between nodes that is busy makes it change"
               : loop->adapts == NULL    ? "the HAWSER_ADAPT of its loop names no .state"
                                         : nothing_of_state(plan, loop->adapts, form);
    if (loop->metric == UINT32_MAX)
        return "the HAWSER_ADAPT of its loop has no .metric, by which changes are judged";
    if (strcmp(key, "sync") == 0)
        return hw_plan_staleness_most(plan, loop, &why) > 0 ? NULL : why;
    if (!hw_loop_measures(loop))
        return "its loop has a sync under which workers are never in step, where changes are judged";
    return loop->work_least < loop->work_most || loop->shares
               ? NULL
               : "the HAWSER_ADAPT of its loop has neither .work_least and .work_most nor .shares";
}

const char *hw_plan_adapts_nothing(const hw_plan *plan, const char *key)
{
    const char *why = NULL, *first = NULL;
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *loop = plan->program->operators[i];
        const char *own = nothing_of_loop(plan, loop, key);
        if (own == NULL)
            return NULL;
        first = first == NULL ? own : first;
        why = is_adapted(loop) ? own : why;
    }
    return why != NULL ? why : first;
}

/* ----------------------------------------------------------------------------------------------------- the guard ---- */

static bool is_updated(const hw_plan *plan, const hawser_state *state)
{
    const char *why;
    for (size_t i = 0; i < plan->program->operator_count; i++) {
        const hawser_operator *loop = plan->program->operators[i];
        if (hw_plan_adapts(plan, loop, &why) && hw_loop_measures(loop) && hw_operator_updates(loop, state))
            return true;
    }
    return false;
}

void hw_plan_guard(hw_plan *plan)
{
    const hawser_program *program = plan->program;
    plan->guards = false;
    bool may = plan->settings.blocks > 1 && plan->settings.adapts != 0 && hw_program_points(program) == 0;
    for (const hawser_state *state = program->states; state != NULL; state = state->next) {
        plan->states[state->number].guarded = may && hw_kind_of(state)->numbers && is_updated(plan, state);
        plan->guards = plan->guards || plan->states[state->number].guarded;
    }
    for (const hawser_state *state = program->states; state != NULL; state = state->next) {
        const hawser_state *with = state->tied_to; /* which goes back with it */
        if (with != NULL && (plan->states[with->number].guarded || plan->states[state->number].guarded))
            plan->states[with->number].guarded = plan->states[state->number].guarded = true;
    }
}

bool hw_plan_keeps(const hw_plan *plan, const hawser_state *state)
{
    return state->keeps || plan->states[state->number].guarded;
}

uint32_t hw_plan_points(const hw_plan *plan)
{
    return plan->guards ? 1 : hw_program_points(plan->program);
}
