/* worker.c - opens a block and handles its messages. */
#include "runtime/block/worker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "runtime/block/phase.h"
#include "runtime/block/stored.h"
#include "runtime/session/fetch.h"

static void put_gains(hw_worker *worker, const double *gains)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        if (part->state->kind == HW_REPLICATED && gains[i] != hw_replica_gain(part->replica))
            hw_replica_set_gain(part->replica, gains[i]);
    }
}

void hw_worker_obey(hw_worker *worker, const hw_message *message)
{
    const hw_control *control = message->payload;
    const double *metrics = (const double *)(control + 1);
    uint32_t count = worker->session->program->metric_count;
    memcpy(worker->metrics, metrics, count * sizeof *metrics);
    put_gains(worker, metrics + count);
    worker->limit = control->limit;
    if (worker->log != NULL)
        hw_log_put(worker->log, &(hw_event_record){.kind = HW_EVENT_CREDIT,
                                                   .actor = worker->block,
                                                   .epoch = worker->epoch + worker->session->program->state_count,
                                                   .count = control->limit});
}

static void drop_credits(hw_worker *worker)
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
    if (state >= worker->session->program->state_count || worker->parts[state].replica == NULL) {
        hw_message_free(message);
        return hawser_fail(&worker->error, HAWSER_INTERNAL,
                           "block %u received an update of state number %u, which is not sent", worker->block, state);
    }
    HAWSER_TRY(hw_replica_accept(worker->parts[state].replica, message, &worker->error));
    return hw_worker_send_next(worker, &worker->parts[state]);
}

/* Keeps the trigger of a phase. Credits and pauses that are still queued belong to the phase before; those of the new phase arrive
 * behind its trigger. */
static void keep_trigger(hw_worker *worker, hw_message *message)
{
    const hw_control *control = message->payload;
    drop_credits(worker);
    worker->paused = false;
    worker->started = 0;
    worker->empty_from = UINT64_MAX;
    worker->final_limit = control->final != 0 ? control->limit : UINT64_MAX;
    worker->trigger = message;
}

/* Handles a message from the transport. Returns HAWSER_PEER_LOST once the job is over. */
static hawser_status handle(void *owner, hw_message *message)
{
    hw_worker *worker = owner;
    switch (message->envelope.kind) {
    case HW_MESSAGE_COLUMNS: return hw_fetch_take(&worker->mailbox, message);
    case HW_MESSAGE_ADDEND:
    case HW_MESSAGE_UPDATE: return accept_update(worker, message);
    case HW_MESSAGE_SHARE: return hw_worker_take_share(worker, message);
    case HW_MESSAGE_TRIGGER: keep_trigger(worker, message); return HAWSER_OK;
    case HW_MESSAGE_CREDIT: keep_credit(worker, message); return HAWSER_OK;
    case HW_MESSAGE_PAUSE: {
        hw_envelope asked = message->envelope;
        hw_message_free(message);
        return answer_pause(worker, &asked);
    }
    case HW_MESSAGE_LOST: {
        if (worker->log != NULL)
            hw_log_put(worker->log, &(hw_event_record){.kind = HW_EVENT_LOST,
                                                       .actor = worker->block,
                                                       .from = hw_recorder_lost(worker->session->job->cluster),
                                                       .epoch = worker->epoch + worker->session->program->state_count,
                                                       .clock = worker->clock});
        hawser_status status = hw_fail_loss(&worker->mailbox, message, worker->operator!= NULL ? worker->operator->name : NULL,
                                            worker->first_clock + worker->clock);
        hw_message_free(message);
        worker->over = true;
        return status;
    }
    case HW_MESSAGE_ABORT:
        worker->abandoned = message->envelope.last != 0;
        worker->agreed = message->envelope.count;
        hw_message_free(message);
        worker->over = true;
        return hawser_fail(&worker->error, HAWSER_PEER_LOST, "the job has ended");
    default: break;
    }
    uint16_t kind = message->envelope.kind;
    hw_message_free(message);
    return hawser_fail(&worker->error, HAWSER_INTERNAL, "block %u got a message of kind %u", worker->block, kind);
}

static hawser_status open_local(hw_worker *worker, hw_state_part *part, hawser_error *error)
{
    hw_plan_range(worker->session->plan, part->state, worker->block, &part->begin, &part->count);
    part->count -= part->begin;
    size_t bytes = part->count * sizeof(double);
    HAWSER_TRY(HW_NEW(&part->work, part->count, "a local state", error));
    if (part->state->tied_to != NULL)
        HAWSER_TRY(HW_NEW(&part->copy, part->count, "a local state's copy", error));
    if (part->state->initial != NULL && bytes != 0) {
        memcpy(part->work, part->state->initial + part->begin, bytes);
        if (part->copy != NULL)
            memcpy(part->copy, part->state->initial + part->begin, bytes);
    }
    return HAWSER_OK;
}

static void merge_watched(const hawser_merging *merging)
{
    const hw_part_merge *own = merging->user;
    hawser_merging given = *merging;
    given.user = own->state->rule.user;
    hw_watched_before before = hw_call_begin(own->mailbox, "merge function of state", own->state->name);
    own->state->rule.merge(&given);
    hw_watch_end(&own->mailbox->work, before);
}

static hawser_status open_replica(hw_worker *worker, hw_state_part *part, hawser_error *error)
{
    const hw_session *session = worker->session;
    const hawser_state *state = part->state;
    const hw_state_plan *plan = &session->plan->states[state->number];
    hw_replica_spec spec = {.state = state->number,
                            .name = state->name,
                            .count = hw_state_count(state),
                            .block = worker->block,
                            .blocks = session->blocks,
                            .values = state->kind == HW_PARTITIONED,
                            .rule = state->rule,
                            .filter = plan->filter,
                            .rounding = plan->rounding,
                            .initial = state->initial,
                            .seed = session->job->settings.seed,
                            .sources = plan->sources,
                            .source = plan->updater};
    if (spec.values) {
        hw_plan_range(session->plan, state, worker->block, &spec.own_begin, &spec.own_end);
        part->begin = spec.own_begin;
        part->count = spec.own_end - spec.own_begin;
    }
    if (session->nodes > 1 && !spec.values && spec.sources == spec.blocks)
        HAWSER_TRY(hw_adding_new(session->job->settings.adding, &session->view, spec.block, spec.state, spec.count,
                                 &part->adding, error));
    if (state->rule.merge != NULL) {
        part->merging = (hw_part_merge){&worker->mailbox, state};
        spec.rule.merge = merge_watched;
        spec.rule.user = &part->merging;
    }
    spec.adding = part->adding;
    spec.log = worker->log;
    HAWSER_TRY(hw_replica_new(&spec, &part->replica, error));
    return hw_part_map_page(part, error);
}

static void open_data(hw_worker *worker, hw_state_part *part)
{
    part->data = hw_plan_part(worker->session->plan, part->state, worker->block);
    if (part->data.residence == NULL)
        return;
    hw_residence_view(part->data.residence, &part->residence);
    part->data.residence = &part->residence;
}

static hawser_status open_part(hw_worker *worker, const hawser_state *state, hawser_error *error)
{
    hw_state_part *part = &worker->parts[state->number];
    part->state = state;
    switch (state->kind) {
    case HW_DATA: open_data(worker, part); return HAWSER_OK;
    case HW_LOCAL: return open_local(worker, part, error);
    case HW_STORED: return hw_stored_open(worker, part, error);
    case HW_REPLICATED:
    case HW_PARTITIONED: return open_replica(worker, part, error);
    }
    return HAWSER_OK;
}

hawser_status hw_worker_open(hw_worker *worker, hw_session *session, uint32_t block, hawser_error *error)
{
    worker->session = session;
    worker->block = block;
    worker->mailbox = (hw_mailbox){.session = session,
                                   .endpoint = block,
                                   .runner = hw_session_runner(session, block),
                                   .owner = worker,
                                   .handle = handle,
                                   .error = &worker->error,
                                   .work = {.block = block}};
    const hawser_program *program = session->program;
    const hw_stream_name name = {HW_STREAM_BLOCK, session->run, block, 0};
    HAWSER_TRY(hw_recorder_log(session->job->recorder, name, &worker->log, error));
    HAWSER_TRY(HW_NEW(&worker->parts, program->state_count, "a block's states", error));
    HAWSER_TRY(HW_NEW(&worker->events, program->operator_count, "a block's figures", error));
    for (const hawser_state *state = program->states; state != NULL; state = state->next)
        HAWSER_TRY(open_part(worker, state, error));
    HAWSER_TRY(hw_worker_new_scratch(worker, error));
    HAWSER_TRY(hw_message_new(sizeof(hw_failure_report), &worker->failure_report, error));
    HAWSER_TRY(hw_worker_open_reductions(worker, error));
    for (uint32_t i = 0; i < HW_METRICS_MOST; i++)
        worker->metrics[i] = (double)NAN;
    return HAWSER_OK;
}

void hw_worker_close(hw_worker *worker)
{
    const hawser_program *program = worker->session != NULL ? worker->session->program : NULL;
    hw_stored_forget(worker);
    for (uint32_t i = 0; worker->parts != NULL && i < program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        hw_replica_free(part->replica);
        hw_adding_free(part->adding);
        hw_stored_close(part->stored);
        free(part->work);
        free(part->copy);
        hw_part_unmap_page(part);
    }
    hw_worker_free_scratch(worker);
    hw_reduction_free(worker->reduction);
    free(worker->parts);
    free(worker->events);
    hw_message_free(worker->failure_report);
    hw_message_free(worker->trigger);
    drop_credits(worker);
    hw_recorder_drop(worker->log);
}

static void send_failure_report(hw_worker *worker, hawser_status status)
{
    hw_message *message = worker->failure_report;
    worker->failure_report = NULL;
    message->envelope.kind = HW_MESSAGE_DONE;
    hw_failure_report *failure_report = message->payload;
    failure_report->status = status;
    memcpy(failure_report->text, worker->error.text, sizeof failure_report->text);
    /* If this cannot be sent either, the driver is gone, and no other node needs the report. */
    if (hw_send(&worker->mailbox, worker->session->blocks, message) != HAWSER_OK)
        worker->over = true;
}

static bool has_trigger(void *argument)
{
    return ((hw_worker *)argument)->trigger != NULL;
}

/* Blocks in step differ by at most one clock: a block that has sent a clock which not all have ended goes back to the one before. */
static void settle(hw_worker *worker)
{
    uint64_t clocks = worker->sent;
    if (worker->policy.kind == HW_POLICY_BSP && worker->agreed < clocks)
        clocks = worker->agreed;
    else
        hw_worker_commit(worker);
    if (worker->operator!= NULL && worker->operator->kind == HW_LOOP && worker->in_phase)
        worker->clocks += clocks;
}

void hw_worker_main(hw_worker *worker)
{
    worker->cpu_began = hw_thread_cpu_seconds();
    while (!worker->over) {
        hawser_status status = hw_wait(&worker->mailbox, has_trigger, worker);
        if (status == HAWSER_OK)
            status = hw_phase_run(worker);
        if (status != HAWSER_OK && !worker->over) {
            send_failure_report(worker, status);
            break;
        }
    }
    if (worker->abandoned)
        settle(worker);
    hw_worker_free_scratch(worker); /* on its own thread: releasing pages takes a while, and all blocks can do it at once */
    worker->cpu_seconds = hw_thread_cpu_seconds() - worker->cpu_began;
}
