/* reduce.c - hawser_allreduce: the memory that a block needs for it, and how it waits. */
#include "runtime/block/worker.h"

static const char *unit_name(const void *owner, uint32_t unit)
{
    const hawser_program *program = ((const hw_worker *)owner)->session->program;
    return unit < program->operator_count ? program->operators[unit]->name : NULL;
}

hawser_status hw_worker_open_reductions(hw_worker *worker, hawser_error *error)
{
    const hw_session *session = worker->session;
    if (hw_operator_reduces(session->program->root) == 0)
        return HAWSER_OK;
    hw_reduction_spec spec = {.block = worker->block,
                              .blocks = session->blocks,
                              .view = hw_adds_up(session->plan->settings.adding, session->nodes) ? &session->view : NULL,
                              .shape = session->plan->settings.adding,
                              /* On one node no block is lost alone. */
                              .keep = session->nodes > 1 || session->job->changes.every > 0 || session->job->rehearse > 0
                                          ? HW_REDUCTION_KEPT / session->local
                                          : 0,
                              .unit_name = unit_name,
                              .owner = worker,
                              .log = worker->log};
    return hw_reduction_new(&spec, &worker->reduction, error);
}

static hawser_status send_shares(hw_worker *worker)
{
    uint64_t bytes = worker->mailbox.bytes_sent;
    for (hw_message *message; (message = hw_reduction_next(worker->reduction)) != NULL;)
        HAWSER_TRY(hw_worker_send(worker, message, 0, NULL));
    if (worker->current != NULL)
        worker->events[worker->current->number].bytes += worker->mailbox.bytes_sent - bytes;
    return HAWSER_OK;
}

hawser_status hw_worker_end_reductions(hw_worker *worker)
{
    HAWSER_TRY(hw_reduction_end_clock(worker->reduction, &worker->error));
    return send_shares(worker);
}

hawser_status hw_worker_take_share(hw_worker *worker, hw_message *message)
{
    if (worker->reduction == NULL) {
        hw_message_free(message);
        return hawser_fail(&worker->error, HAWSER_INTERNAL, "block %u got a share, and no unit reduces", worker->block);
    }
    HAWSER_TRY(hw_reduction_accept(worker->reduction, message, &worker->error));
    return send_shares(worker);
}

static hw_stop_request request_here(const hw_worker *worker)
{
    hawser_job *job = worker->session->job;
    bool asked = hw_job_interrupted(job);
    return (hw_stop_request){hw_worker_asked(worker), asked ? atomic_load(&job->asked) : 0};
}

/* Passes a request to stop to the driver, which may not have received it yet, or may be about to see the time limit. */
static void send_stop_request(hw_session *session, hw_stop_request stop)
{
    if (session->driver == NULL || !stop.stop)
        return;
    if (stop.asked != 0)
        hw_job_interrupt(session->job, stop.asked);
    else
        atomic_store(&session->late, true);
}

static bool result_is_there(void *argument)
{
    hw_worker *worker = argument;
    worker->mailbox.cause = HW_WAIT_REDUCTION;
    return hw_reduction_ready(worker->reduction);
}

/* Checks the arguments of a call. */
static hawser_status check(hawser_context *context, const double *values, size_t count, hawser_combine_by by)
{
    if (context->failed != HAWSER_OK)
        return context->failed;
    if (context->unit == NULL)
        return hawser_unit_fail(context, HAWSER_BAD_PROGRAM, "hawser_allreduce: a %s cannot reduce",
                                context->rebuilds != NULL ? "rebuild" : "visit");
    if (context->unit->reduces == 0)
        return hawser_unit_fail(context, HAWSER_BAD_PROGRAM,
                                "hawser_allreduce: set .reduces of this unit where the program is made");
    if (count > context->unit->reduces)
        return hawser_unit_fail(context, HAWSER_BAD_PROGRAM,
                                "hawser_allreduce: %zu numbers, and the unit declares %zu at most", count,
                                context->unit->reduces);
    if (values == NULL && count > 0)
        return hawser_unit_fail(context, HAWSER_BAD_PROGRAM, "hawser_allreduce: 'values' is NULL; the call needs it");
    if ((unsigned)by > HAWSER_MIN)
        return hawser_unit_fail(context, HAWSER_BAD_PROGRAM,
                                "hawser_allreduce: numbers are combined by SUM, MAX or MIN, not by %s",
                                by == HAWSER_LAST ? "LAST" : "an unknown operation");
    return HAWSER_OK;
}

hawser_status hawser_allreduce(hawser_context *context, double *values, size_t count, hawser_combine_by by)
{
    if (context == NULL)
        return HAWSER_BAD_ARGUMENT;
    hw_worker *worker = context->worker;
    HAWSER_TRY(check(context, values, count, by));
    if (hw_redo_changes(context))
        return HAWSER_VIEW_CHANGED;
    hw_reduction_call call = {context->unit->number, count, by};
    hw_stop_request stop = {0};
    hawser_status status = hw_reduction_put(worker->reduction, &call, values, request_here(worker), &worker->error);
    HAWSER_THEN(status, send_shares(worker));
    HAWSER_THEN(status, hw_wait(&worker->mailbox, result_is_there, worker));
    if (status == HAWSER_OK && hw_redo_changes(context))
        return HAWSER_VIEW_CHANGED;
    HAWSER_THEN(status, hw_reduction_take(worker->reduction, values, &stop, &worker->error));
    send_stop_request(worker->session, stop);
    context->stopping = stop.stop;
    context->failed = status;
    return status;
}
