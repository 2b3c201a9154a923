/* main.c - opens a block with its states, and runs its phases until the job ends. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "runtime/block/phase.h"
#include "runtime/block/stored.h"
#include "runtime/block/trap.h"

/* Returns true if a loop that updates the state has several stages. */
static bool has_stages(const hw_plan *plan, const hawser_state *state)
{
    const hawser_program *program = plan->program;
    for (size_t i = 0; i < program->operator_count; i++)
        if (hw_operator_shipped(program->operators[i]) && hw_plan_stages(plan, program->operators[i]) > 1 &&
            hw_operator_updates(program->operators[i], state))
            return true;
    return false;
}

static hawser_status open_local(hw_worker *worker, hw_state_part *part, hawser_error *error)
{
    hw_plan_range(worker->session->plan, part->state, worker->block, &part->begin, &part->count);
    part->count -= part->begin;
    HAWSER_TRY(hw_new_array(&part->work, part->count, hw_state_size(part->state), "a local state", error));
    if (part->state->tied_to != NULL)
        HAWSER_TRY(HW_NEW(&part->copy, part->count, "a local state's copy", error));
    if (part->state->tied_to != NULL && has_stages(worker->session->plan, part->state))
        HAWSER_TRY(HW_NEW(&part->before, part->count, "a local state's copy", error));
    if (hw_plan_initial(worker->session->plan, part->state, part->begin) != NULL && part->count > 0)
        hw_life_open(worker, part);
    return HAWSER_OK;
}

static void merge_watched(const hawser_merging *merging)
{
    const hw_part_merge *own = merging->user;
    hawser_merging given = *merging;
    given.user = own->state->rule.user;
    given.clock += *own->first_clock; /* of the loop, which may have begun in an earlier phase */
    hw_watched_before before = hw_call_begin(own->mailbox, "merge function of state", own->state->name);
    own->state->rule.merge(&given);
    hw_watch_end(&own->mailbox->work, before);
}

static hawser_status open_replica(hw_worker *worker, hw_state_part *part, hawser_error *error)
{
    const hw_session *session = worker->session;
    const hawser_state *state = part->state;
    const hw_state_plan *plan = &session->plan->states[state->number];
    const void *initial = hw_plan_initial(session->plan, state, 0);
    hw_replica_spec spec = {.state = state->number,
                            .name = state->name,
                            .type = state->type,
                            .count = hw_state_count(state),
                            .block = worker->block,
                            .blocks = session->blocks,
                            .values = state->kind == HW_PARTITIONED,
                            .rule = state->rule,
                            .filter = plan->filter,
                            .rounding = plan->rounding,
                            .initial = worker->log != NULL ? initial : NULL, /* a history begins with it */
                            .seed = session->job->settings.seed,
                            .sources = plan->sources,
                            .source = plan->updater};
    if (spec.values) {
        hw_plan_range(session->plan, state, worker->block, &spec.own_begin, &spec.own_end);
        part->begin = spec.own_begin;
        part->count = spec.own_end - spec.own_begin;
    }
    hw_adding_shape adding = session->plan->settings.adding;
    if (hw_adds_up(adding, session->nodes) && !spec.values && spec.sources == spec.blocks)
        HAWSER_TRY(hw_adding_new(adding, &session->view, spec.block, spec.state, spec.count, &part->adding, error));
    if (state->rule.merge != NULL) {
        part->merging = (hw_part_merge){&worker->mailbox, state, &worker->first_clock};
        spec.rule.merge = merge_watched;
        spec.rule.user = &part->merging;
    }
    spec.adding = part->adding;
    spec.log = worker->log;
    HAWSER_TRY(hw_replica_new(&spec, &part->replica, error));
    if (initial != NULL && worker->log == NULL)
        hw_life_open(worker, part);
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
                                   .handle = hw_worker_handle,
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
    HAWSER_TRY(hw_trap_new(session, &worker->trap, error));
    HAWSER_TRY(hw_message_new(sizeof(hw_failure_report), &worker->failure_report, error));
    HAWSER_TRY(hw_worker_open_reductions(worker, error));
    HAWSER_TRY(hw_redo_open(worker, error));
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
        free(part->before);
        hw_part_unmap_page(part);
    }
    hw_worker_free_scratch(worker);
    hw_trap_free(worker->trap);
    hw_reduction_free(worker->reduction);
    hw_redo_close(worker);
    free(worker->parts);
    free(worker->events);
    hw_message_free(worker->failure_report);
    hw_message_free(worker->trigger);
    hw_message_free(worker->obeyed);
    hw_worker_drop_credits(worker);
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

/* Tied local states go back to where the clock began that not all blocks have ended. With one stage nothing of it is committed. */
static void go_back(hw_worker *worker)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++)
        if (worker->parts[i].before != NULL)
            memcpy(worker->parts[i].copy, worker->parts[i].before, worker->parts[i].count * sizeof(double));
}

/* Blocks in step differ by at most one clock: a block that has sent a clock which not all have ended goes back to the one before. */
static void settle(hw_worker *worker)
{
    uint64_t clocks = worker->sent;
    bool in_step = worker->policy.kind == HW_POLICY_BSP;
    if (in_step && worker->agreed < clocks)
        clocks = worker->agreed;
    else
        hw_worker_commit(worker);
    if (in_step && worker->in_phase && worker->agreed < worker->started)
        go_back(worker);
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
    hw_life_over(worker);
    hw_worker_free_scratch(worker); /* on its own thread: releasing pages takes a while, and all blocks can do it at once */
    worker->cpu_seconds = hw_thread_cpu_seconds() - worker->cpu_began;
}
