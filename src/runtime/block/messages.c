/* messages.c - handles the messages of a block: triggers, credit, pauses and updates. */
#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "codec/forms.h"
#include "runtime/block/part.h"
#include "runtime/block/phase.h"
#include "runtime/session/fetch.h"

/* The quotas follow the gains, and then the forms if they may change. */
static void put_gains(hw_worker *worker, const double *gains)
{
    const uint64_t *quotas = (const uint64_t *)(gains + worker->session->program->state_count);
    const hw_plan *plan = worker->session->plan;
    const uint64_t *forms = hw_plan_any_narrows(plan) ? quotas + worker->session->program->state_count : NULL;
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        if (part->kind->set_gain != NULL)
            part->kind->set_gain(part, gains[i]);
        if (part->replica != NULL && quotas[i] > 0)
            hw_replica_set_quota(part->replica, quotas[i]);
        if (part->replica != NULL && forms != NULL && plan->states[i].narrows)
            hw_replica_set_rounding(part->replica, hw_form_row_of((unsigned)forms[i])->width);
    }
}

/* Keeps the message if it has choices of branches, and frees it or the one kept before. */
static void keep_choices(hw_worker *worker, hw_message *message)
{
    const hw_control *control = message->payload;
    hw_message *other = control->choices != 0 ? worker->obeyed : message;
    if (control->choices != 0)
        worker->obeyed = message;
    hw_message_free(other);
}

uint64_t hw_worker_choices(const hw_worker *worker, uint64_t clock)
{
    const hawser_program *program = worker->session->program;
    const hw_control *control = worker->obeyed->payload;
    const size_t arrays = hw_plan_any_narrows(worker->session->plan) ? 3 : 2;
    const uint64_t *choices = (const uint64_t *)(control + 1) + program->metric_count + arrays * program->state_count;
    assert(clock < control->limit && control->limit - clock <= control->choices);
    return choices[clock + control->choices - control->limit];
}

void hw_worker_obey(hw_worker *worker, hw_message *message)
{
    const hw_control *control = message->payload;
    const double *metrics = (const double *)(control + 1);
    uint32_t count = worker->session->program->metric_count;
    memcpy(worker->metrics, metrics, count * sizeof *metrics);
    put_gains(worker, metrics + count);
    worker->limit = control->limit;
    worker->work = control->work;
    memcpy(&worker->share, &message->envelope.count, sizeof worker->share);
    hw_settings_record(worker, message);
    keep_choices(worker, message);
}

void hw_worker_drop_credits(hw_worker *worker)
{
    hw_messages_free(worker->credits);
    worker->credits = worker->credits_last = NULL;
}

static hawser_status answer_pause(hw_worker *worker, const hw_envelope *asked)
{
    hw_message *answer = NULL;
    if (asked->last != 0 && worker->session->cluster != NULL)
        hw_cluster_drop_updates(worker->session->cluster);
    HAWSER_TRY(hw_message_new(0, &answer, &worker->error));
    answer->envelope.kind = HW_MESSAGE_PAUSE;
    answer->envelope.part = asked->part;
    answer->envelope.clock = worker->started;
    answer->envelope.count = worker->trigger != NULL ? 0 : worker->sent; /* a phase that has not begun has no clock */
    worker->paused = true;
    worker->leaving = worker->leaving || asked->last != 0;
    return hw_send(&worker->mailbox, worker->session->blocks, answer);
}

static void keep_credit(hw_worker *worker, hw_message *message)
{
    const hw_control *control = message->payload;
    if (control->final != 0) {
        worker->final_limit = control->limit;
        worker->paused = false;
        if (control->empty != 0)
            worker->empty_from = worker->started;
    }
    message->next = NULL;
    if (worker->credits_last != NULL)
        worker->credits_last->next = message;
    else
        worker->credits = message;
    worker->credits_last = message;
}

static hawser_status accept_update(hw_worker *worker, hw_message *message)
{
    uint32_t state = message->envelope.state;
    if (state >= worker->session->program->state_count || worker->parts[state].kind->accept == NULL) {
        hw_message_free(message);
        return hawser_fail(&worker->error, HAWSER_INTERNAL,
                           "block %u received an update of state number %u, which is not sent", worker->block, state);
    }
    return worker->parts[state].kind->accept(worker, &worker->parts[state], message);
}

/* Keeps the trigger of a phase. Credits and pauses that are still queued belong to the phase before; those of the new phase
 * arrive behind its trigger. */
static void keep_trigger(hw_worker *worker, hw_message *message)
{
    const hw_control *control = message->payload;
    hw_worker_drop_credits(worker);
    hw_message_free(worker->record); /* of a clock that the phase before has not begun */
    worker->record = NULL;
    worker->paused = false;
    worker->started = 0;
    worker->empty_from = UINT64_MAX;
    worker->final_limit = control->final != 0 ? control->limit : UINT64_MAX;
    worker->trigger = message;
}

static hawser_status relay(void *owner)
{
    return hw_worker_relay(owner, false);
}

hawser_status hw_worker_be_relay(hw_worker *worker, hawser_error *error)
{
    worker->mailbox.drained = relay;
    return worker->rounds != NULL ? HAWSER_OK : HW_NEW(&worker->rounds, worker->session->nodes, "a relay's links", error);
}

hawser_status hw_worker_lost(void *owner, const hw_loss *loss)
{
    hw_worker *worker = owner;
    if (worker->log != NULL)
        hw_log_put(worker->log, &(hw_event_record){.kind = HW_EVENT_LOST,
                                                   .actor = worker->block,
                                                   .from = hw_recorder_lost(worker->session->job->cluster),
                                                   .epoch = worker->epoch + worker->session->program->state_count,
                                                   .clock = worker->clock});
    return hw_fail_loss(&worker->mailbox, loss, worker->current != NULL ? worker->current->name : NULL,
                        worker->first_clock + worker->clock);
}

/* Handles a message from the transport. */
hawser_status hw_worker_handle(void *owner, hw_message *message)
{
    hw_worker *worker = owner;
    uint16_t kind = message->envelope.kind;
    if (worker->failed && kind != HW_MESSAGE_ABORT) {
        hw_message_free(message);
        return HAWSER_OK;
    }
    switch (kind) {
    case HW_MESSAGE_POINT: return hw_points_take(worker, message);
    case HW_MESSAGE_RECORD: return hw_remember_take(worker, message);
    case HW_MESSAGE_COLUMNS: return hw_fetch_take(&worker->mailbox, message);
    case HW_MESSAGE_ADDEND:
    case HW_MESSAGE_COMBINED:
    case HW_MESSAGE_PART:
    case HW_MESSAGE_UPDATE: return accept_update(worker, message);
    case HW_MESSAGE_SHARE: return hw_worker_take_share(worker, message);
    case HW_MESSAGE_TRIGGER: keep_trigger(worker, message); return HAWSER_OK;
    case HW_MESSAGE_CREDIT: keep_credit(worker, message); return HAWSER_OK;
    case HW_MESSAGE_PAUSE: {
        hw_envelope asked = message->envelope;
        hw_message_free(message);
        return answer_pause(worker, &asked);
    }
    case HW_MESSAGE_ABORT:
        worker->abandoned = message->envelope.last != 0;
        worker->apart = message->envelope.span != 0;
        worker->agreed = message->envelope.count;
        worker->takes_point = message->envelope.part;
        hw_message_free(message);
        hw_mailbox_end(&worker->mailbox, hawser_fail(&worker->error, HAWSER_PEER_LOST, "the job has ended"));
        return HAWSER_OK;
    default: break;
    }
    hw_message_free(message);
    return hawser_fail(&worker->error, HAWSER_INTERNAL, "block %u got a message of kind %u", worker->block, kind);
}
