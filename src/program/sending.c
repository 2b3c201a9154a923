/* sending.c - how the updates of each state are sent: filter, quota and form, from the job's options, the program's calls,
 * and options for one state. */
#include "base/option_value.h"
#include "codec/forms.h"
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
        *form = (hawser_form)hw_form_find(item.text);
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

bool hw_plan_narrows(const hw_plan *plan, const hawser_state *state, hawser_form form)
{
    const hawser_program *program = plan->program;
    const hawser_operator *mixes;
    bool adapts = (plan->settings.adapts & HW_ADAPTS_ENCODING) != 0 && plan->settings.blocks > 1 && form == HAWSER_EXACT &&
                  state->rule.merge == NULL && !hw_plan_mixes(plan, state, &mixes);
    for (size_t i = 0; adapts && i < program->operator_count; i++) {
        const hawser_operator *loop = program->operators[i];
        if (loop->adapted && loop->adapts == state && hw_operator_shipped(loop))
            return true;
    }
    return false;
}

bool hw_plan_any_narrows(const hw_plan *plan)
{
    for (uint32_t i = 0; i < plan->program->state_count; i++)
        if (plan->states[i].narrows)
            return true;
    return false;
}
