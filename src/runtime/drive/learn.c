/* learn.c - begins with what an earlier run has decided on a loop, and leaves what this one has for later ones (--learn). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/messages.h"
#include "runtime/drive/agent.h"
#include "runtime/drive/driver.h"
#include "runtime/drive/learn.h"
#include "runtime/job/learned.h"

/* Returns the most bytes that the busiest node sends of the loop's states in a clock under bsp. On one node none are sent,
 * and the bytes of the states stand for them. */
static hawser_status planned_bytes(const hw_session *session, const hawser_operator *loop, double *bytes,
                                   hawser_error *error)
{
    *bytes = 0;
    for (const hawser_state *state = session->program->states; state != NULL; state = state->next) {
        hw_traffic traffic = {0};
        if (!hw_state_is_exchanged(state) || !hw_operator_updates(loop, state))
            continue;
        if (session->nodes > 1)
            HAWSER_TRY(hw_plan_traffic_sum(session->plan, &session->plan->states[state->number], true, &traffic, error));
        *bytes += session->nodes > 1 ? (double)traffic.of_busiest : (double)hw_state_bytes(state);
    }
    return HAWSER_OK;
}

static hawser_status describe(const hw_driver *driver, const hawser_operator *loop, hw_learned_run *run, hawser_error *error)
{
    const hw_session *session = driver->session;
    *run = hw_learning_run(session->job, session->program->name, loop->name);
    if (session->data != NULL) {
        char *text = NULL;
        HAWSER_TRY(hw_session_identity(session, &text, error));
        run->identity = hw_hash(text, strlen(text), 0);
        free(text);
    }
    return planned_bytes(session, loop, &run->bytes, error);
}

static void learn(hw_decider *decider, const hw_learned_run *run, const hw_learned_line *found)
{
    char reason[HW_REASON];
    hw_decided decided = found->decided;
    if (found->run.places != run->places) { /* another host may be the slow one */
        decided.shares = NULL;
        decided.losses[HW_KNOB_SHARE] = 0;
    }
    if (found->run.places != run->places || found->run.hosts != run->hosts || found->run.identity != run->identity ||
        run->identity == 0) /* its seconds say nothing of this run's */
        decided.across = (hw_across){.seconds = 0};
    (void)snprintf(reason, sizeof reason, "an earlier run on %" PRIu32 " host%s ended with it (--learn)", found->run.hosts,
                   found->run.hosts == 1 ? "" : "s");
    hw_decider_learn(decider, &decided, reason);
}

hawser_status hw_learn_begin(hw_driver *driver, const hawser_operator *loop, hw_decider *decider)
{
    hawser_job *job = driver->session->job;
    char *text = NULL;
    hw_learned_run run;
    hw_learned_file file = {0};
    const hw_learned_line *found = NULL;
    if (job->learning == NULL)
        return HAWSER_OK;
    if (driver->recording.from != NULL) {
        hw_notify(job->messages, HAWSER_NOTE, 0,
                  "--learn: loop '%s' begins with the settings of the checkpoint, not with those of earlier runs",
                  loop->name);
        return HAWSER_OK;
    }
    hawser_status status = describe(driver, loop, &run, &driver->error);
    if (status == HAWSER_OK)
        status = hw_learning_find(job, &run, &text, &file, &found, &driver->error);
    if (found != NULL)
        learn(decider, &run, found);
    hw_learned_free(&file);
    free(text);
    return status;
}

/* Adds what was decided to the file. */
static hawser_status add(const hw_driver *driver, const hawser_operator *loop, const hw_decider *decider,
                         hawser_error *error)
{
    hw_learned_run run;
    hw_decided decided;
    double *shares = NULL;
    HAWSER_TRY(describe(driver, loop, &run, error));
    HAWSER_TRY(HW_NEW(&shares, driver->session->blocks, "shares of work", error));
    hw_decider_decided(decider, shares, driver->ended_after, driver->ended_by_itself, &decided);
    hawser_status status = hw_learning_add(driver->session->job, &run, &decided, error);
    free(shares);
    return status;
}

void hw_learn_end(const hw_driver *driver, const hawser_operator *loop, const hw_decider *decider)
{
    hawser_job *job = driver->session->job;
    hawser_error error = {0};
    if (job->learning != NULL && (decider->windows > 0 || decider->tries) && add(driver, loop, decider, &error) != HAWSER_OK)
        hw_notify(job->messages, HAWSER_WARNING, 0, "later runs cannot learn from this one: %s", error.text);
}
