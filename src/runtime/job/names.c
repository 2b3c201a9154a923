/* names.c - names of states in options (--filter w=absolute), in a job that runs several programs. */
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/memory.h"
#include "base/option_value.h"
#include "program/kind.h"
#include "runtime/job/job.h"

void hawser_job_programs(hawser_job *job, uint32_t count)
{
    if (job != NULL)
        job->named.programs = count;
}

bool hw_names_last(const hw_named_states *named)
{
    return named->run + 1 >= named->programs;
}

bool hw_state_is_sent(const hw_plan *plan, const hawser_state *state)
{
    return hw_kind_of(state)->summed && hw_operator_updates(plan->program->root, state);
}

bool hw_names_know(const hw_named_states *named, const char *state, size_t length)
{
    for (size_t i = 0; i < named->count; i++)
        if (strlen(named->sent[i]) == length && strncmp(named->sent[i], state, length) == 0)
            return true;
    return false;
}

hawser_status hw_names_add(hw_named_states *named, const hw_plan *plan, hawser_error *error)
{
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next) {
        if (!hw_state_is_sent(plan, state) || hw_names_know(named, state->name, strlen(state->name)))
            continue;
        HAWSER_TRY(HW_GROW(&named->sent, &named->capacity, named->count + 1, "names of states", error));
        HAWSER_TRY(hw_copy_text(&named->sent[named->count], state->name, error));
        named->count++;
    }
    return HAWSER_OK;
}

/* Reports the names of one option that no program had. */
static void report_unknown(const hawser_job *job, const char *key)
{
    hw_option_item item;
    for (const char *rest = NULL; hw_option_next_item(job->options, key, &rest, &item);)
        if (item.length > 0 && !hw_names_know(&job->named, item.state, item.length) && !hw_job_left_idle(job, key))
            hw_notify(job->messages, HAWSER_WARNING, 0,
                      "--%s did nothing: no program of this job has sent updates of a state '%.*s'", key, (int)item.length,
                      item.state);
}

void hw_names_close(hawser_job *job)
{
    static const char *const keys[] = {"filter", "quota", "max-held-clocks", "encoding"};
    hw_named_states *named = &job->named;
    bool asks = named->any && !named->checked && !named->failed && hawser_job_leads(job);
    for (size_t i = 0; asks && i < sizeof keys / sizeof *keys; i++)
        report_unknown(job, keys[i]);
    for (size_t i = 0; asks && i < job->first.count; i++)
        if (!job->first.items[i].used)
            hw_notify(job->messages, HAWSER_WARNING, 0, "--init did nothing: no program of this job had a state '%s'",
                      job->first.items[i].state);
    for (size_t i = 0; i < named->count; i++)
        free(named->sent[i]);
    free(named->sent);
}
