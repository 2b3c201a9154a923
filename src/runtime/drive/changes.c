/* changes.c - records from which clock on a changed policy holds, and what asked for the change. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    policies->changes = driver->session->job->earlier;
    policies->earlier = policies->changes.count;
    driver->session->job->earlier = (hw_policy_changes){0};
    return HAWSER_OK;
}

void hw_policies_keep(hawser_job *job, const hw_policy_changes *changes)
{
    hawser_error ignored;
    hw_policy_changes *kept = &job->earlier;
    if (changes->count == 0 && changes->left_out == 0) /* it may not have taken the earlier ones */
        return;
    *kept = (hw_policy_changes){.left_out = changes->left_out};
    if (HW_GROW(&kept->all, &kept->capacity, changes->count, "changes of policies", &ignored) != HAWSER_OK) {
        kept->left_out += changes->count;
        return;
    }
    memcpy(kept->all, changes->all, changes->count * sizeof *kept->all);
    kept->count = changes->count;
}

void hw_policies_close(hw_policies *policies)
{
    free(policies->gains);
    free(policies->gain_asker);
    free(policies->syncs);
    free(policies->sync_asker);
    free(policies->changes.all);
}

static void name_fit(const hw_driver *driver, hawser_policy_change *change)
{
    const hawser_program *program = driver->session->program;
    uint32_t named = 0;
    for (uint32_t i = 0; i < program->fit_metric_count; i++) {
        uint32_t metric = program->fit_metrics[i];
        if (isnan(driver->metrics[metric]))
            continue;
        hawser_fit_number *fit = &change->fit[named++];
        (void)snprintf(fit->metric, sizeof fit->metric, "%s", program->metrics[metric].name);
        fit->value = driver->metrics[metric];
    }
}

/* Adds a change, unless there are too many. */
static hawser_status add(hw_driver *driver, const hw_asker *asker, hawser_policy_change change)
{
    hw_policies *policies = &driver->policies;
    hw_policy_changes *changes = &policies->changes;
    if (changes->count == HAWSER_CHANGES_MOST) {
        changes->left_out++;
        return HAWSER_OK;
    }
    HAWSER_TRY(HW_GROW(&changes->all, &changes->capacity, changes->count + 1, "changes of policies", &driver->error));
    const char *loop = policies->loop->name;
    change.run = driver->session->number;
    (void)snprintf(change.loop, sizeof change.loop, "%s", loop != NULL ? loop : "");
    (void)snprintf(change.by, sizeof change.by, "%s '%s'", asker->kind != NULL ? asker->kind : "",
                   asker->name != NULL ? asker->name : "");
    (void)snprintf(change.reason, sizeof change.reason, "%s", asker->reason);
    name_fit(driver, &change);
    changes->all[changes->count++] = change;
    return HAWSER_OK;
}

/* Adds the changes of quotas since blocks were told last. */
static hawser_status add_quotas(hw_driver *driver, uint64_t clock)
{
    for (const hawser_state *state = driver->session->program->states; state != NULL; state = state->next) {
        hw_quota *quota = &driver->quotas[state->number];
        if (quota->sent == quota->now)
            continue;
        hawser_policy_change change = {.clock = clock, .quota = {quota->sent, quota->now}};
        (void)snprintf(change.state, sizeof change.state, "%s", state->name);
        quota->sent = quota->now;
        HAWSER_TRY(add(driver, &quota->asker, change));
    }
    return HAWSER_OK;
}

/* Adds the changes of forms since blocks were told last. */
static hawser_status add_forms(hw_driver *driver, uint64_t clock)
{
    for (const hawser_state *state = driver->session->program->states; state != NULL; state = state->next) {
        hw_sent_form *form = &driver->forms[state->number];
        if (form->sent == form->now)
            continue;
        hawser_policy_change change = {.clock = clock, .form = {form->sent, form->now}};
        (void)snprintf(change.state, sizeof change.state, "%s", state->name);
        form->sent = form->now;
        HAWSER_TRY(add(driver, &form->asker, change));
    }
    return HAWSER_OK;
}

/* Adds the changes of gains, quotas and forms since blocks were told last. */
static hawser_status add_gains(hw_driver *driver, uint64_t clock)
{
    hw_policies *policies = &driver->policies;
    HAWSER_TRY(add_quotas(driver, clock));
    HAWSER_TRY(add_forms(driver, clock));
    for (const hawser_state *state = driver->session->program->states; state != NULL; state = state->next) {
        uint32_t i = state->number;
        if (policies->gains[i] == driver->gains[i])
            continue;
        hawser_policy_change change = {.clock = clock, .gain = {policies->gains[i], driver->gains[i]}};
        (void)snprintf(change.state, sizeof change.state, "%s", state->name);
        policies->gains[i] = driver->gains[i];
        HAWSER_TRY(add(driver, &policies->gain_asker[i], change));
    }
    return HAWSER_OK;
}

/* Adds the changes of a loop's work and of blocks' shares in it. */
static hawser_status add_work(hw_driver *driver, const hawser_operator *loop, uint64_t clock)
{
    hw_knobs *knobs = &driver->knobs[loop->number];
    if (!(knobs->sent_work == knobs->work)) {
        const hawser_policy_change change = {.clock = clock, .work = {knobs->sent_work, knobs->work}};
        knobs->sent_work = knobs->work;
        HAWSER_TRY(add(driver, &knobs->asker, change));
    }
    for (uint32_t b = 0; knobs->shares != NULL && b < driver->session->blocks; b++) {
        if (knobs->sent_shares[b] == knobs->shares[b])
            continue;
        const hawser_policy_change change = {.clock = clock, .share = {knobs->sent_shares[b], knobs->shares[b]}, .block = b};
        knobs->sent_shares[b] = knobs->shares[b];
        HAWSER_TRY(add(driver, &knobs->asker, change));
    }
    return HAWSER_OK;
}

/* Adds the change of a loop's sync since its last trigger. */
static hawser_status add_sync(hw_driver *driver, const hawser_operator *loop, hawser_sync sync, uint64_t clock)
{
    hw_policies *policies = &driver->policies;
    hawser_sync *old = &policies->syncs[loop->number];
    if (loop->kind != HW_LOOP || (old->tightness == sync.tightness && old->staleness == sync.staleness))
        return HAWSER_OK;
    const hawser_policy_change change = {.clock = clock, .sync = {*old, sync}};
    *old = sync;
    return add(driver, &policies->sync_asker[loop->number], change);
}

hawser_status hw_policies_trigger(hw_driver *driver, const hawser_operator *op, hawser_sync sync, uint64_t first,
                                  uint64_t limit)
{
    hw_policies *policies = &driver->policies;
    policies->loop = op;
    policies->first = first;
    policies->limit = limit;
    HAWSER_TRY(add_sync(driver, op, sync, first));
    HAWSER_TRY(add_work(driver, op, first));
    return add_gains(driver, first);
}

hawser_status hw_policies_credit(hw_driver *driver, uint64_t limit)
{
    hw_policies *policies = &driver->policies;
    if (limit <= policies->limit) /* it announces no clock: the next phase begins with what has changed */
        return HAWSER_OK;
    uint64_t clock = policies->first + policies->limit;
    policies->limit = limit;
    HAWSER_TRY(add_work(driver, policies->loop, clock));
    return add_gains(driver, clock);
}

/* Returns whether clocks were judged after a test asked for a change: what the last one asks for needs no clock. */
static bool came_too_late(const hw_driver *driver, const hw_asker *asker)
{
    return asker->name != NULL && asker->reason[0] == '\0' && asker->clocks < driver->clocks;
}

void hw_policies_report(const hw_driver *driver)
{
    const hw_session *session = driver->session;
    const hw_policies *policies = &driver->policies;
    static const char why[] = "a change begins with the first clock that no block has begun";
    char to[HW_SYNC_TEXT];
    for (size_t i = 0; i < session->program->operator_count; i++) {
        const hawser_sync *asked = &driver->syncs[i], *sent = &policies->syncs[i];
        const hw_asker *asker = &policies->sync_asker[i];
        const hw_knobs *knobs = &driver->knobs[i];
        if (!(knobs->work == knobs->sent_work) && came_too_late(driver, &knobs->asker))
            hw_notify(session->job->messages, HAWSER_WARNING, session->node,
                      "loop '%s' ended before its work became %g, which %s '%s' asked for after %llu clocks: %s",
                      session->program->operators[i]->name, knobs->work, knobs->asker.kind, knobs->asker.name,
                      (unsigned long long)knobs->asker.clocks, why);
        if ((asked->tightness != sent->tightness || asked->staleness != sent->staleness) && came_too_late(driver, asker))
            hw_notify(session->job->messages, HAWSER_WARNING, session->node,
                      "loop '%s' ended before its sync became %s, which %s '%s' asked for after %llu clocks: %s",
                      session->program->operators[i]->name, hw_sync_text(*asked, to), asker->kind, asker->name,
                      (unsigned long long)asker->clocks, why);
    }
    for (const hawser_state *state = session->program->states; state != NULL; state = state->next) {
        const hw_asker *asker = &policies->gain_asker[state->number];
        double gain = driver->gains[state->number];
        if (gain != policies->gains[state->number] && came_too_late(driver, asker))
            hw_notify(session->job->messages, HAWSER_WARNING, session->node,
                      "the run ended before the gain of state '%s' became %g, which %s '%s' asked for after %llu clocks: %s",
                      state->name, gain, asker->kind, asker->name, (unsigned long long)asker->clocks, why);
    }
}
