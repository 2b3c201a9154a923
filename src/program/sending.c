/* sending.c - how the updates of each state are sent: filter, quota and form, from the job's options, the program's calls, and options for one state. */
#include "base/option_value.h"
#include "codec/forms.h"
#include "program/plan.h"

/* Returns the greatest staleness of a loop that updates the state. It bounds how long a filter may hold an entry by default. */
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
    if (state->kind != HW_REPLICATED)
        own->filter.kind = HW_FILTER_NONE;
    if (state->filter_set && !hw_operator_updates(plan->program->root, state))
        return hawser_fail(error, HAWSER_BAD_PROGRAM,
                           "state '%s' has a filter (hawser_state_filter), but no unit updates it, so nothing of it is sent",
                           state->name);
    if (state->filter_set)
        own->filter = state->filter;
    if (state->kind == HW_REPLICATED)
        take_options(plan->settings.options, state->name, &own->filter, form);
    if (own->filter.max_held == 0)
        own->filter.max_held = loosest(plan, state) + 1;
    if (*form != HAWSER_EXACT && hw_type_is_whole(state->type))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "state '%s' is of %s, which is sent exactly: it cannot be rounded (--encoding)", state->name,
                           hw_type_name(state->type));
    return check_filter(own, error);
}
