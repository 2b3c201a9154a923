/* changes.c - records from which clock on a changed policy holds, and what asked for the change. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "runtime/drive/driver.h"

hawser_status hw_policies_open(hw_driver *driver, hawser_error *error)
{
    const hawser_program *program = driver->session->program;
    hw_policies *policies = &driver->policies;
    HAWSER_TRY(HW_NEW(&policies->gains, program->state_count, "a driver's gains", error));
    HAWSER_TRY(HW_NEW(&policies->gain_asker, program->state_count, "a driver's gains", error));
    HAWSER_TRY(HW_NEW(&policies->syncs, program->operator_count, "a driver's policies", error));
    HAWSER_TRY(HW_NEW(&policies->sync_asker, program->operator_count, "a driver's policies", error));
    for (const hawser_state *state = program->states; state != NULL; state = state->next)
        policies->gains[state->number] = state->rule.gain;
    for (size_t i = 0; i < program->operator_count; i++)
        policies->syncs[i] = program->operators[i]->sync;
    return HAWSER_OK;
}

void hw_policies_close(hw_policies *policies)
{
    free(policies->gains);
    free(policies->gain_asker);
    free(policies->syncs);
    free(policies->sync_asker);
    free(policies->changes);
}

/* Adds a change from `clock` on, whose policies the caller sets. */
static hawser_status add(hw_driver *driver, uint64_t clock, const hw_asker *asker, hawser_policy_change **out)
{
    hw_policies *policies = &driver->policies;
    HAWSER_TRY(HW_GROW(&policies->changes, &policies->capacity, policies->count + 1, "changes of policies", &driver->error));
    hawser_policy_change *change = *out = &policies->changes[policies->count++];
    *change = (hawser_policy_change){.clock = clock};
    const char *loop = policies->loop->name;
    (void)snprintf(change->loop, sizeof change->loop, "%s", loop != NULL ? loop : "");
    (void)snprintf(change->by, sizeof change->by, "%s '%s'", asker->kind != NULL ? asker->kind : "",
                   asker->name != NULL ? asker->name : "");
    return HAWSER_OK;
}

/* Adds the changes of gains since blocks were told last. */
static hawser_status add_gains(hw_driver *driver, uint64_t clock)
{
    hw_policies *policies = &driver->policies;
    for (const hawser_state *state = driver->session->program->states; state != NULL; state = state->next) {
        uint32_t i = state->number;
        hawser_policy_change *change;
        if (policies->gains[i] == driver->gains[i])
            continue;
        HAWSER_TRY(add(driver, clock, &policies->gain_asker[i], &change));
        (void)snprintf(change->state, sizeof change->state, "%s", state->name);
        change->gain[0] = policies->gains[i];
        change->gain[1] = policies->gains[i] = driver->gains[i];
    }
    return HAWSER_OK;
}

hawser_status hw_policies_trigger(hw_driver *driver, const hawser_operator *operator, hawser_sync sync, uint64_t first,
                                  uint64_t limit)
{
    hw_policies *policies = &driver->policies;
    hawser_sync *old = &policies->syncs[operator->number];
    policies->loop = operator;
    policies->first = first;
    policies->limit = limit;
    if (operator->kind == HW_LOOP &&(old->tightness != sync.tightness || old->staleness != sync.staleness)) {
        hawser_policy_change *change;
        HAWSER_TRY(add(driver, first, &policies->sync_asker[operator->number], &change));
        change->sync[0] = *old;
        change->sync[1] = *old = sync;
    }
    return add_gains(driver, first);
}

hawser_status hw_policies_credit(hw_driver *driver, uint64_t limit)
{
    hw_policies *policies = &driver->policies;
    if (limit <= policies->limit) /* it announces no clock: the next phase begins with what has changed */
        return HAWSER_OK;
    uint64_t clock = policies->first + policies->limit;
    policies->limit = limit;
    return add_gains(driver, clock);
}
