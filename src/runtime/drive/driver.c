/* driver.c - interprets the plan: one operator after the other, units by trigger. */
#include "runtime/drive/driver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/residence.h"
#include "data/share/blocks.h"
#include "program/position.h"
#include "runtime/drive/agent.h"

/* The interval in which an idle driver checks signals and time limits: hawser_interrupt may be called where it can wake no
 * thread. */
#define POLL_SECONDS 0.02

/* A run that was asked to end is abandoned when this part of --grace is left, so that there is time for a certificate. A run
 * that begins later than that, such as the certificate's, is abandoned when GIVE_UP_LATE of the time that it found is left,
 * but not before HW_LEAST_RUN seconds. */
static const double GIVE_UP = 0.75, GIVE_UP_LATE = 0.3;
/* In the end nodes hand in their results within the rest of --grace, but have at least this time: a node with many blocks on
 * few processors needs it to leave its units, and without its part all results are lost. */
static const double LEAST_GATHER = 5.0;

/* Keeps a message that each node sends once before and once after the run. */
static hawser_status keep_node_report(hw_driver *driver, hw_message *message)
{
    const hw_session *session = driver->session;
    uint32_t node = message->envelope.source - session->blocks - 1;
    if (message->envelope.source <= session->blocks || node >= session->nodes || driver->node_reports[node] != NULL) {
        hawser_status status =
            hawser_fail(&driver->error, HAWSER_INTERNAL, "endpoint %u sent an unexpected message (kind %u)",
                        message->envelope.source, message->envelope.kind);
        hw_message_free(message);
        return status;
    }
    driver->node_reports[node] = message;
    driver->node_report_count++;
    return HAWSER_OK;
}

static hawser_status lost(void *owner, const hw_loss *loss)
{
    hw_driver *driver = owner;
    return hw_fail_loss(&driver->mailbox, loss, driver->progress.name, driver->progress.clock);
}

static hawser_status receive_interrupt(hw_driver *driver, hw_message *message)
{
    uint64_t asked = hw_asked(0, 0);
    if (message->envelope.length == sizeof asked)
        memcpy(&asked, message->payload, sizeof asked);
    hw_job_interrupt(driver->session->job, asked);
    hw_message_free(message);
    return HAWSER_OK;
}

/* Counts the answer to a pause. An answer to an earlier pause, whose wait was given up, is ignored. */
static void take_pause(hw_driver *driver, const hw_envelope *answer)
{
    if (answer->part != driver->pauses)
        return;
    driver->paused++;
    driver->furthest = answer->clock > driver->furthest ? answer->clock : driver->furthest;
    driver->agreed = answer->count < driver->agreed ? answer->count : driver->agreed;
}

static hawser_status handle(void *owner, hw_message *message)
{
    hw_driver *driver = owner;
    uint32_t source = message->envelope.source;
    hawser_status status = HAWSER_OK;
    switch (message->envelope.kind) {
    case HW_MESSAGE_PROGRAM:
    case HW_MESSAGE_GATHER: return keep_node_report(driver, message);
    case HW_MESSAGE_INTERRUPT: return receive_interrupt(driver, message);
    default: break;
    }
    if (source >= driver->session->blocks) {
        status = hawser_fail(&driver->error, HAWSER_INTERNAL, "endpoint %u, which is not a block, sent a message of kind %u",
                             source, message->envelope.kind);
    } else if (message->envelope.kind == HW_MESSAGE_REPORT) {
        hw_reports *reports = &driver->reports[source];
        message->next = NULL;
        if (reports->last != NULL)
            reports->last->next = message;
        else
            reports->first = message;
        reports->last = message;
        return HAWSER_OK;
    } else if (message->envelope.kind == HW_MESSAGE_PAUSE) {
        take_pause(driver, &message->envelope);
    } else if (message->envelope.kind == HW_MESSAGE_POINT) {
        hw_points_done(driver, &message->envelope);
    } else if (message->envelope.kind == HW_MESSAGE_RECORD) {
        status = hw_record_reply(driver, &message->envelope);
    } else if (message->envelope.kind == HW_MESSAGE_DONE && message->payload != NULL && driver->points.failed != NULL &&
               driver->points.settling) {
        driver->points.failed[source] = true;
    } else if (message->envelope.kind == HW_MESSAGE_DONE && message->payload != NULL) {
        if (driver->points.failed != NULL)
            driver->points.failed[source] = true;
        const hw_failure_report *failure_report = message->payload;
        status = hawser_fail(&driver->error, (hawser_status)failure_report->status, "%s", failure_report->text);
    } else if (message->envelope.kind == HW_MESSAGE_DONE)
        driver->done++;
    else
        status = hawser_fail(&driver->error, HAWSER_INTERNAL, "the driver got a message of kind %u", message->envelope.kind);
    hw_message_free(message);
    return status;
}

/* Returns whether rows of a data state were cut within the nodes that have them (hawser_job_own_rows). */
static bool has_own_rows(const hawser_program *program)
{
    for (const hawser_state *state = program->states; state != NULL; state = state->next)
        if (hw_state_rows_held(state) != NULL && hw_state_rows_held(state)->owned)
            return true;
    return false;
}

hawser_status hw_driver_open(hw_driver *driver, hw_session *session, hawser_error *error)
{
    const hawser_program *program = session->program;
    driver->session = session;
    driver->stop_reason = "end";
    double left = hw_job_grace_left(session->job);
    driver->give_up = isinf(left) ? GIVE_UP * session->job->grace : fmin(GIVE_UP_LATE * left, left - HW_LEAST_RUN);
    driver->progress = (hawser_progress){.driver = driver, .name = program->name};
    session->progress = &driver->progress;
    driver->mailbox = (hw_mailbox){.session = session,
                                   .endpoint = session->blocks,
                                   .runner = session->local,
                                   .owner = driver,
                                   .handle = handle,
                                   .lost = lost,
                                   .poll = POLL_SECONDS,
                                   .error = &driver->error,
                                   .work = {.block = UINT32_MAX}};
    HAWSER_TRY(HW_NEW(&driver->reports, session->blocks, "a driver's reports", error));
    HAWSER_TRY(HW_NEW(&driver->parts, session->blocks, "a driver's metrics", error));
    HAWSER_TRY(HW_NEW(&driver->gains, program->state_count, "a driver's gains", error));
    HAWSER_TRY(HW_NEW(&driver->syncs, program->operator_count, "a driver's policies", error));
    HAWSER_TRY(hw_policies_open(driver, error));
    HAWSER_TRY(hw_knobs_open(driver, error));
    HAWSER_TRY(hw_causes_open(driver, error));
    HAWSER_TRY(hw_adapt_open(driver, error));
    HAWSER_TRY(hw_memories_open(driver, error));
    HAWSER_TRY(hw_points_new(driver, error));
    HAWSER_TRY(hw_record_open(driver, error));
    HAWSER_TRY(HW_NEW(&driver->aborts, session->blocks, "a driver's abort messages", error));
    HAWSER_TRY(HW_NEW(&driver->node_reports, session->nodes, "reports of nodes", error));
    HAWSER_TRY(HW_NEW(&driver->equal, session->nodes, "reports of nodes", error));
    for (uint32_t i = 0; i < session->blocks; i++)
        HAWSER_TRY(hw_message_new(0, &driver->aborts[i], error));
    for (uint32_t i = 0; i < HW_METRICS_MOST; i++)
        driver->metrics[i] = (double)NAN;
    for (const hawser_state *state = program->states; state != NULL; state = state->next)
        driver->gains[state->number] = state->rule.gain;
    for (size_t i = 0; i < program->operator_count; i++)
        driver->syncs[i] = program->operators[i]->sync;
    if (session->nodes > 1 && has_own_rows(program))
        driver->repeatable = "rows stay on the nodes that have them, so bits depend on the nodes";
    return HAWSER_OK;
}

void hw_driver_close(hw_driver *driver)
{
    for (uint32_t i = 0; driver->reports != NULL && i < driver->session->blocks; i++)
        hw_messages_free(driver->reports[i].first);
    for (uint32_t i = 0; driver->aborts != NULL && i < driver->session->blocks; i++)
        hw_message_free(driver->aborts[i]);
    for (uint32_t i = 0; driver->node_reports != NULL && i < driver->session->nodes; i++)
        hw_message_free(driver->node_reports[i]);
    free(driver->node_reports);
    free(driver->equal);
    free(driver->reports);
    free(driver->parts);
    free(driver->gains);
    free(driver->syncs);
    free(driver->choices);
    hw_policies_close(&driver->policies);
    hw_knobs_close(driver);
    hw_causes_close(driver);
    hw_adapt_close(driver);
    hw_memories_close(&driver->memories);
    hw_points_free(&driver->points);
    hw_record_close(driver);
    free(driver->aborts);
}

static hawser_status interpret(hw_driver *driver, const hawser_operator *op);

/* Runs a child of the innermost operator, in its own iteration `clock`. */
static hawser_status interpret_child(hw_driver *driver, const hawser_operator *child, uint64_t clock)
{
    hw_level_at(driver, child, clock);
    return interpret(driver, child);
}

/* Runs one unit, or the units of a parallel operator together. */
static hawser_status run_units(hw_driver *driver, const hawser_operator *op)
{
    HAWSER_TRY(hw_record_between(driver));
    driver->progress.clock = driver->around; /* a loop that has ended left its own */
    HAWSER_TRY(hw_driver_trigger(driver, op, hawser_bsp(), driver->around, 1, true));
    HAWSER_TRY(hw_driver_wait(driver, hw_driver_all_done, driver));
    if (!hw_driver_combine(driver))
        return hawser_fail(&driver->error, HAWSER_INTERNAL, "not all blocks have reported on '%s'",
                           hw_phase_first(op)->name);
    for (const hawser_operator *unit = hw_phase_first(op); unit != NULL; unit = hw_phase_next(op, unit))
        hw_driver_observe(driver, unit->name, driver->around);
    if (hw_operator_reduces(op) > 0) /* its blocks may have agreed to stop */
        hw_driver_check(driver);
    return driver->error.status;
}

static hawser_status run_parallel(hw_driver *driver, const hawser_operator *parallel)
{
    const hw_path_frame *entered = hw_level_entered(driver);
    const hawser_operator *first = hw_level_child(driver, parallel);
    if (hw_phase_first(parallel) != NULL && (entered == NULL || entered->child == HW_NO_CHILD))
        HAWSER_TRY(run_units(driver, parallel));
    for (const hawser_operator *child = first; child != NULL; child = child->next)
        if (child->kind != HW_UNIT)
            HAWSER_TRY(interpret_child(driver, child, 0));
    return HAWSER_OK;
}

static void note_stop(hw_driver *driver, const hawser_operator *loop, const char *reason)
{
    for (const hawser_operator *above = loop->parent; above != NULL; above = above->parent)
        if (above->kind == HW_LOOP)
            return;
    driver->stop_reason = reason;
}

static hawser_status step_until(hw_driver *driver, const hawser_operator *loop, hw_until *until)
{
    uint64_t around = driver->around;
    const char *reason = NULL;
    hw_driver_check(driver);
    for (uint64_t clock = until->first; reason == NULL; clock++) {
        if (driver->stopping != NULL) {
            reason = driver->stopping;
            break;
        }
        for (const hawser_operator *child = hw_level_child(driver, loop); child != NULL; child = child->next) {
            driver->progress.clock = driver->around = clock;
            HAWSER_TRY(interpret_child(driver, child, clock));
        }
        driver->progress.name = loop->name;
        driver->progress.clock = clock;
        reason = hw_until_ends(until, driver, clock);
        HAWSER_TRY(driver->error.status);
        hw_driver_check(driver);
    }
    driver->around = around;
    note_stop(driver, loop, reason);
    return HAWSER_OK;
}

/* Runs a loop that has other operators than units, step by step. */
static hawser_status step_loop(hw_driver *driver, const hawser_operator *loop)
{
    hw_until until;
    hawser_status status = hw_until_begin(&until, driver, loop);
    if (status == HAWSER_OK)
        status = step_until(driver, loop, &until);
    hw_until_end(&until);
    return status;
}

static hawser_status run_branch(hw_driver *driver, const hawser_operator *branch)
{
    bool yes;
    if (hw_level_entered(driver) != NULL) /* it was tested before the checkpoint */
        return interpret_child(driver, hw_level_child(driver, branch), 0);
    HAWSER_TRY(hw_branch_test(driver, branch, &yes));
    const hawser_operator *child = yes ? branch->first : branch->first->next;
    return child != NULL ? interpret_child(driver, child, 0) : HAWSER_OK;
}

static hawser_status interpret_in(hw_driver *driver, const hawser_operator *op)
{
    switch (op->kind) {
    case HW_SEQUENCE: break;
    case HW_PARALLEL: return run_parallel(driver, op);
    case HW_BRANCH: return run_branch(driver, op);
    case HW_UNIT: return run_units(driver, op);
    case HW_LOOP:
        if (!hw_operator_shipped(op))
            return step_loop(driver, op);
        HAWSER_TRY(hw_driver_ship(driver, op));
        note_stop(driver, op, driver->stop_reason);
        return HAWSER_OK;
    }
    for (const hawser_operator *child = hw_level_child(driver, op); child != NULL; child = child->next)
        HAWSER_TRY(interpret_child(driver, child, 0));
    return HAWSER_OK;
}

static hawser_status interpret(hw_driver *driver, const hawser_operator *op)
{
    HAWSER_TRY(hw_level_push(driver, op));
    hawser_status status = interpret_in(driver, op);
    hw_level_pop(driver);
    return status;
}

/* Runs the children of the root, from where the run goes on. */
static hawser_status run_root(hw_driver *driver)
{
    const hawser_program *program = driver->session->program;
    HAWSER_TRY(hw_level_push(driver, program->root));
    if (hw_record_at_end(driver))
        return HAWSER_OK;
    for (const hawser_operator *child = hw_level_child(driver, program->root); child != NULL; child = child->next)
        HAWSER_TRY(interpret_child(driver, child, 0));
    return hw_record_keep_end(driver);
}

static bool all_arrived(void *argument)
{
    hw_driver *driver = argument;
    return driver->node_report_count + 1 == driver->session->nodes;
}

/* Finds the first line in which two texts differ. */
static void first_difference(const char *a, const char *b, char *line_a, char *line_b, size_t size)
{
    while (*a != '\0' || *b != '\0') {
        size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        if (n != m || memcmp(a, b, n) != 0) {
            snprintf(line_a, size, "%.*s", (int)n, a);
            snprintf(line_b, size, "%.*s", (int)m, b);
            return;
        }
        a += n + (a[n] == '\n');
        b += m + (b[m] == '\n');
    }
}

static hawser_status compare_program(hw_driver *driver, uint32_t node, const char *own)
{
    const hw_message *message = driver->node_reports[node];
    const char *other = message->payload;
    size_t length = message->envelope.length;
    char here[200] = "nothing", there[200] = "nothing";
    if (length == 0 || other[length - 1] != '\0')
        return hawser_fail(&driver->error, HAWSER_INTERNAL, "node %u sent no program", node);
    if (strcmp(own, other) == 0)
        return HAWSER_OK;
    first_difference(own, other, here, there, sizeof here);
    return hawser_fail(&driver->error, HAWSER_BAD_PROGRAM,
                       "node %u (%s) runs something else: '%s' there, '%s' on node 0; start the same program with the same "
                       "options and input everywhere",
                       node, hw_cluster_member(driver->session->cluster, node)->name, there, here);
}

static void drop_node_reports(hw_driver *driver)
{
    for (uint32_t i = 0; i < driver->session->nodes; i++) {
        hw_message_free(driver->node_reports[i]);
        driver->node_reports[i] = NULL;
    }
    driver->node_report_count = 0;
}

/* Waits until every other node has sent the program that it runs, and refuses one that differs. */
static hawser_status driver_greet(hw_driver *driver)
{
    char *own = NULL;
    HAWSER_TRY(hw_driver_wait(driver, all_arrived, driver));
    HAWSER_TRY(hw_session_program(driver->session, &own, &driver->error));
    hawser_status status = HAWSER_OK;
    for (uint32_t i = 1; i < driver->session->nodes && status == HAWSER_OK; i++)
        status = compare_program(driver, i, own);
    free(own);
    drop_node_reports(driver);
    return status;
}

/* Names the first node that has not handed in its part. */
static hawser_status fail_late(hw_driver *driver)
{
    uint32_t node = 1;
    while (node + 1 < driver->session->nodes && driver->node_reports[node] != NULL)
        node++;
    return hawser_fail(
        &driver->error, HAWSER_TIMEOUT,
        "node %u (%s) has not handed in its part of the result within --grace (%.3g s), nor in the last %.3g s; "
        "raise --grace",
        node, hw_cluster_member(driver->session->cluster, node)->name, driver->session->job->grace, LEAST_GATHER);
}

/* Waits for the results of the other nodes. */
static hawser_status driver_gather(hw_driver *driver)
{
    bool in = false;
    double left = hw_job_grace_left(driver->session->job);
    HAWSER_TRY(hw_driver_wait_until(driver, all_arrived, driver, fmin(0.0, left - LEAST_GATHER), &in));
    return in ? HAWSER_OK : fail_late(driver);
}

static void say_abort(hw_driver *driver)
{
    hawser_error ignored = {0}; /* a block that cannot be reached has ended */
    hawser_status before = driver->mailbox.ended;
    driver->mailbox.error = &ignored;
    for (uint32_t i = 0; i < driver->session->blocks; i++) {
        hw_message *message = driver->aborts[i];
        driver->aborts[i] = NULL;
        message->envelope.kind = HW_MESSAGE_ABORT;
        message->envelope.last = driver->abandoned;
        message->envelope.span = driver->abandoned || driver->points.settling; /* blocks have ended other clocks */
        message->envelope.count = driver->agreed;
        message->envelope.part = driver->points.result ? driver->points.number + 1 : 0;
        if (hw_send(&driver->mailbox, i, message) != HAWSER_OK)
            continue;
    }
    driver->mailbox.error = &driver->error;
    if (before == HAWSER_OK && driver->mailbox.ended != HAWSER_OK && driver->error.status >= HAWSER_OK)
        driver->error = ignored; /* a loss arrived meanwhile: the next wait ends by it, with this text */
}

void hw_driver_main(hw_driver *driver)
{
    bool alone = driver->session->nodes == 1;
    hawser_status status = alone ? HAWSER_OK : driver_greet(driver);
    if (status == HAWSER_OK)
        status = hw_record_enter(driver);
    if (status == HAWSER_OK)
        status = run_root(driver);
    if (status == HAWSER_OK)
        hw_adapt_last(driver);
    if (status == HAWSER_OK && driver->stopping != NULL) {
        driver->stop_reason = driver->stopping;
        status = hawser_fail(&driver->error, HAWSER_STOP, "the run was ended early: %s", driver->stopping);
    }
    hw_points_settle(driver, status);
    say_abort(driver);
    if (!alone && (status == HAWSER_OK || status == HAWSER_STOP || driver->points.result)) {
        hawser_error ended = driver->error;
        driver->progress.name = "gathering the results";
        hawser_status gathered = driver_gather(driver);
        if (gathered == HAWSER_OK)
            driver->error = ended;
        else
            status = gathered;
    }
    driver->error.status = status;
}
