/* main.c - opens a block with its states, and runs its phases until the job ends. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "runtime/block/fault.h"
#include "runtime/block/part.h"
#include "runtime/block/phase.h"
#include "runtime/block/stored.h"
#include "runtime/block/trap.h"

hawser_status hw_worker_open(hw_worker *worker, hw_session *session, uint32_t block, hawser_error *error)
{
    worker->session = session;
    worker->block = block;
    worker->mailbox = (hw_mailbox){.session = session,
                                   .endpoint = block,
                                   .runner = hw_session_runner(session, block),
                                   .owner = worker,
                                   .handle = hw_worker_handle,
                                   .lost = hw_worker_lost,
                                   .error = &worker->error,
                                   .work = {.block = block}};
    worker->spent.awaited = UINT64_MAX;
    worker->work = worker->share = 1;
    const hawser_program *program = session->program;
    const hw_stream_name name = {HW_STREAM_BLOCK, session->run, block, 0};
    HAWSER_TRY(hw_recorder_log(session->job->recorder, name, &worker->log, error));
    HAWSER_TRY(hw_settings_open(worker, error));
    HAWSER_TRY(HW_NEW(&worker->parts, program->state_count, "a block's states", error));
    HAWSER_TRY(HW_NEW(&worker->events, program->operator_count, "a block's figures", error));
    for (const hawser_state *state = program->states; state != NULL; state = state->next) {
        hw_state_part *part = &worker->parts[state->number];
        part->state = state;
        part->kind = hw_part_kind_of(state->kind);
        HAWSER_TRY(part->kind->open(worker, part, error));
    }
    HAWSER_TRY(hw_worker_new_scratch(worker, error));
    HAWSER_TRY(hw_trap_new(session, &worker->trap, error));
    HAWSER_TRY(hw_message_new(sizeof(hw_failure_report), &worker->failure_report, error));
    HAWSER_TRY(hw_points_open(worker, error));
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
    hw_points_close(worker);
    free(worker->settings);
    for (uint32_t i = 0; worker->parts != NULL && i < program->state_count; i++) {
        hw_state_part *part = &worker->parts[i];
        if (part->kind != NULL && part->kind->close != NULL)
            part->kind->close(part);
        free(part->work);
        free(part->copy);
        free(part->batch);
        free(part->before);
    }
    hw_worker_free_scratch(worker);
    hw_trap_free(worker->trap);
    hw_reduction_free(worker->reduction);
    hw_redo_close(worker);
    free(worker->parts);
    free(worker->events);
    free(worker->rounds);
    hw_message_free(worker->failure_report);
    hw_message_free(worker->trigger);
    hw_message_free(worker->obeyed);
    hw_message_free(worker->record);
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
    hw_mailbox_end(&worker->mailbox, hw_send(&worker->mailbox, worker->session->blocks, message));
}

static bool is_over(void *argument)
{
    return hw_worker_is_over(argument);
}

/* Reports a failure. If a kept point may be the result, the block waits until the driver says so. */
static void fail(hw_worker *worker, hawser_status status)
{
    send_failure_report(worker, status);
    if (hw_worker_is_over(worker) || worker->points == NULL || !hw_failure_keeps(status))
        return;
    worker->failed = true;
    hw_mailbox_end(&worker->mailbox, hw_wait(&worker->mailbox, is_over, worker));
}

static bool has_trigger(void *argument)
{
    hw_worker *worker = argument;
    worker->mailbox.cause = HW_WAIT_CREDIT;
    return worker->trigger != NULL;
}

/* Tied local states go back to where the clock began that not all blocks have ended. With one stage nothing of it is
 * committed. */
static void go_back(hw_worker *worker)
{
    for (uint32_t i = 0; i < worker->session->program->state_count; i++)
        if (worker->parts[i].before != NULL)
            memcpy(worker->parts[i].copy, worker->parts[i].before, worker->parts[i].count * sizeof(double));
}

/* Blocks in step differ by at most one clock: a block that has sent a clock which not all have ended goes back to the one
 * before. */
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
    if (worker->current != NULL && worker->current->kind == HW_LOOP && worker->in_phase)
        worker->clocks += clocks;
}

/* Leaves the kept point as the result, and counts the clocks of a phase that did not end. */
static void take_point(hw_worker *worker)
{
    if (!worker->abandoned && worker->in_phase && worker->current->kind == HW_LOOP)
        worker->clocks += worker->clock;
    if (hw_points_result(worker, worker->takes_point - 1) != HAWSER_OK)
        worker->takes_point = 0; /* there was no memory for it, so the block's last values are left */
}

void hw_worker_main(hw_worker *worker)
{
    worker->cpu_began = hw_thread_cpu_seconds();
    hw_fault_stack *stack = NULL;
    hawser_status status = HAWSER_OK;
    if (!worker->session->job->fibers)
        status = hw_fault_stack_new(&worker->mailbox.work, &worker->error, &stack, &worker->error);
    while (!hw_worker_is_over(worker)) {
        if (status == HAWSER_OK)
            status = hw_wait(&worker->mailbox, has_trigger, worker);
        if (status == HAWSER_OK)
            status = hw_phase_run(worker);
        if (status != HAWSER_OK && !hw_worker_is_over(worker)) {
            fail(worker, status);
            break;
        }
    }
    if (worker->abandoned)
        settle(worker);
    if (worker->takes_point > 0)
        take_point(worker);
    hw_life_over(worker);
    hw_worker_free_scratch(worker); /* on its own thread: releasing pages takes a while, and all blocks can do it at once */
    hw_fault_stack_free(stack);
    worker->cpu_seconds = hw_thread_cpu_seconds() - worker->cpu_began;
}
