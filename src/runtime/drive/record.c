/*
 * record.c - checkpoints on the driver: when one is taken, the position that belongs to it, and a run that goes on from one.
 *
 * All blocks write their records before the same clock, and the driver keeps its position when it has judged the clocks
 * before that. In a loop with tests under bsp the driver asks for records before it gives the credit of the next clock, so
 * no block waits. In a loop under bsp that ends by clocks alone blocks have all their credit, so they pause first. Under all
 * other policies blocks may be at different clocks: they pause, and hold before the first clock that none has begun until
 * all have written their records there. Between two phases blocks write their records at once.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "program/position.h"
#include "runtime/drive/agent.h"
#include "runtime/drive/driver.h"
#include "runtime/job/checkpointer.h"

/* -------------------------------------------------------------------------------------------------------- the path ---- */

hawser_status hw_level_push(hw_driver *driver, const hawser_operator *op)
{
    hw_recording *recording = &driver->recording;
    HAWSER_TRY(HW_GROW(&recording->levels, &recording->capacity, recording->depth + 1, "the path of a run", &driver->error));
    recording->levels[recording->depth++] = (hw_level){.op = op->number, .child = HW_NO_CHILD};
    return HAWSER_OK;
}

void hw_level_pop(hw_driver *driver)
{
    driver->recording.depth--;
}

const hw_path_frame *hw_level_entered(const hw_driver *driver)
{
    const hw_recording *recording = &driver->recording;
    return recording->entering ? &recording->from->frames[recording->depth - 1] : NULL;
}

const hawser_operator *hw_level_child(const hw_driver *driver, const hawser_operator *op)
{
    const hw_path_frame *entered = hw_level_entered(driver);
    const hawser_operator *child = op->first;
    while (entered != NULL && entered->child != HW_NO_CHILD && child != NULL && child->number != entered->child)
        child = child->next;
    return child;
}

void hw_level_at(hw_driver *driver, const hawser_operator *child, uint64_t clock)
{
    hw_level *level = &driver->recording.levels[driver->recording.depth - 1];
    level->child = child != NULL ? child->number : HW_NO_CHILD;
    level->clock = clock;
}

/* Returns whether the innermost operator is the last of the path, and ends the way there. */
static bool arrive(hw_driver *driver)
{
    hw_recording *recording = &driver->recording;
    bool there = recording->entering && recording->depth == recording->from->frame_count;
    recording->entering = recording->entering && !there;
    return there;
}

bool hw_record_until(hw_driver *driver, hw_until *until)
{
    hw_recording *recording = &driver->recording;
    const hw_path_frame *entered = hw_level_entered(driver);
    recording->levels[recording->depth - 1].until = until;
    if (entered == NULL)
        return false;
    const char *memory = recording->from->memory;
    for (size_t i = 0; i + 1 < recording->depth; i++)
        memory += recording->from->frames[i].memory;
    until->first = entered->clock;
    hw_until_take(until, entered, memory, until->began);
    if (recording->depth == recording->from->frame_count && recording->from->step > 0)
        until->shown = recording->from->shown;
    return true;
}

uint64_t hw_record_step(hw_driver *driver)
{
    return arrive(driver) ? driver->recording.step : 0;
}

/* -------------------------------------------------------------------------------------------------- where a run is ---- */

static void copy_until(hw_path_frame *frame, const hw_until *until, double now)
{
    frame->seconds = now - until->began;
    frame->previous = until->previous;
    frame->best = until->best;
    frame->since_best = until->since_best;
    frame->seen = until->seen;
    frame->memory = until->until->remembers;
}

static hawser_status copy_path(hw_position *position, hw_driver *driver, double now)
{
    const hw_recording *recording = &driver->recording;
    static const char what[] = "where a run stands";
    HAWSER_TRY(HW_NEW(&position->frames, recording->depth, what, &driver->error));
    position->frame_count = recording->depth;
    for (size_t i = 0; i < recording->depth; i++) {
        const hw_level *level = &recording->levels[i];
        position->frames[i] = (hw_path_frame){.op = level->op, .child = level->child, .clock = level->clock};
        if (level->until != NULL)
            copy_until(&position->frames[i], level->until, now);
        position->memory_size += position->frames[i].memory;
    }
    HAWSER_TRY(HW_NEW(&position->memory, position->memory_size, what, &driver->error));
    char *to = position->memory;
    for (size_t i = 0; i < recording->depth; i++) {
        if (position->frames[i].memory > 0)
            memcpy(to, recording->levels[i].until->memory, position->frames[i].memory);
        to += position->frames[i].memory;
    }
    return HAWSER_OK;
}

static hawser_status fill(hw_position *position, hw_driver *driver, uint64_t step)
{
    const hw_session *session = driver->session;
    const hawser_program *program = session->program;
    double now = session->executor->ops->now(session->executor);
    *position = (hw_position){
        .program = hw_position_program(program),
        .entries = driver->entries,
        .clocks = driver->clocks,
        .number = driver->recording.number,
        .step = step,
        .points_sent = driver->points.sent,
        .points_returned = driver->points.returned,
        .bytes = driver->bytes,
        .staleness = driver->staleness,
        .run_seconds = now - session->began + driver->recording.before,
        .states = program->state_count,
        .operators = program->operator_count,
        .points_size = driver->points.last != NULL ? hw_plan_points(session->plan) * sizeof *driver->points.last : 0,
        .branches_size = driver->memories.size};
    (void)snprintf(position->repeatable, sizeof position->repeatable, "%s",
                   driver->repeatable != NULL ? driver->repeatable : "");
    (void)snprintf(position->stop_reason, sizeof position->stop_reason, "%s", driver->stop_reason);
    memcpy(position->metrics, driver->metrics, sizeof position->metrics);
    memcpy(position->shown, driver->shown, sizeof position->shown);
    HAWSER_TRY(copy_path(position, driver, now));
    HAWSER_TRY(hw_position_array(&position->points, driver->points.last, position->points_size, 1, &driver->error));
    return hw_position_copy(driver, driver->memories.bytes, position);
}

/* Under --rehearse the driver throws away what it remembers, too, at drawn places. */
static hawser_status rehearse_drawn(hw_driver *driver, uint64_t ended)
{
    const uint32_t place = (uint32_t)driver->session->program->operator_count + 1; /* behind those of tests */
    hw_position *position = NULL;
    if (!hw_driver_rehearses(driver, place, driver->clocks + ended))
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&position, 1, "where a run stands", &driver->error));
    hawser_status status = fill(position, driver, ended);
    HAWSER_THEN(status, hw_driver_rehearse(driver, position));
    hw_position_free(position);
    return status;
}

/* Returns the seconds of the run, over all processes. */
static double seconds_of(const hw_driver *driver)
{
    hw_executor *executor = driver->session->executor;
    return executor->ops->now(executor) - driver->session->began + driver->recording.before;
}

/* A checkpoint is named by the innermost loop around the operator that runs. */
static void describe(hw_driver *driver)
{
    hw_recording *recording = &driver->recording;
    const hw_session *session = driver->session;
    size_t k = recording->depth - 1;
    if (recording->by->placed != NULL)
        recording->by->placed(recording->by->user);
    while (k > 0 && recording->levels[k].until == NULL)
        k--;
    const char *name = session->program->operators[recording->levels[k].op]->name;
    recording->loop = name != NULL ? name : session->program->name;
    recording->clock = recording->number == HW_RECORD_END ? driver->clocks : recording->levels[k].clock + recording->at;
    recording->clocks = driver->clocks;
    recording->seconds = seconds_of(driver);
    memcpy(recording->metrics, driver->metrics, sizeof recording->metrics);
}

static hawser_status hand_over(hw_driver *driver)
{
    hw_recording *recording = &driver->recording;
    const hw_session *session = driver->session;
    const hawser_program *program = session->program;
    const hw_record_piece piece = {.kind = HW_PIECE_POSITION, .run = session->number, .number = recording->number};
    const char *names[HW_METRICS_MOST];
    void *bytes = recording->bytes;
    for (uint32_t i = 0; i < program->metric_count; i++)
        names[i] = program->metrics[i].name;
    const hw_checkpoint_about about = {.program = program->name,
                                       .loop = recording->loop,
                                       .clock = recording->clock,
                                       .clocks = recording->clocks,
                                       .seconds = recording->seconds,
                                       .blocks = session->blocks,
                                       .metrics = names,
                                       .values = recording->metrics,
                                       .metric_count = program->metric_count};
    recording->open = false;
    recording->bytes = NULL;
    recording->taken++;
    return recording->by->take(recording->by->user, &piece, &about, bytes, recording->size, &driver->error);
}

/* ---------------------------------------------------------------------------------------------- taking checkpoints ---- */

bool hw_record_first(hw_driver *driver, bool asked)
{
    hw_recording *recording = &driver->recording;
    hawser_job *job = driver->session->job;
    if (!asked || recording->by == NULL)
        return false;
    hw_job_stop(job);
    if (!recording->urgent)
        recording->urgent_from = recording->number;
    recording->urgent = true;
    bool there = recording->number > recording->urgent_from && !recording->open;
    return !there && hw_job_grace_left(job) > job->grace / 2;
}

bool hw_record_due(hw_driver *driver)
{
    const hw_recording *recording = &driver->recording;
    if (recording->by == NULL || recording->open || recording->entering || driver->stopping != NULL)
        return false;
    return recording->urgent || recording->by->due(recording->by->user, driver->session->number, hw_driver_left(driver));
}

/* Sends an order about records to all blocks. Orders to read have the epoch, which a history needs. */
static hawser_status order(hw_driver *driver, hw_record_order_kind what, uint64_t number, uint64_t at, bool now)
{
    hw_message *message = NULL;
    HAWSER_TRY(hw_message_new(0, &message, &driver->error));
    if (what != HW_RECORD_GO_ON) /* has no reply, and may come before those to the order before it */
        driver->recording.replies = 0;
    message->envelope.kind = HW_MESSAGE_RECORD;
    message->envelope.span = what;
    message->envelope.part = (uint32_t)number;
    message->envelope.clock = at;
    message->envelope.epoch = hw_driver_epoch(driver);
    message->envelope.last = now;
    return hw_driver_send_all(driver, message);
}

static void open_number(hw_recording *recording, uint64_t number, uint64_t at)
{
    free(recording->bytes);
    recording->bytes = NULL;
    recording->open = true;
    recording->number = number;
    recording->at = at;
}

static void open_next(hw_recording *recording, uint64_t at)
{
    open_number(recording, recording->number + 1, at);
}

hawser_status hw_record_order(hw_driver *driver, uint64_t at, bool now)
{
    open_next(&driver->recording, at);
    return order(driver, HW_RECORD_WRITE, driver->recording.number, at, now);
}

static hawser_status finish(hw_driver *driver)
{
    const hw_recording *recording = &driver->recording;
    bool whole = recording->open && recording->bytes != NULL && recording->replies == driver->session->blocks;
    return whole ? hand_over(driver) : HAWSER_OK;
}

hawser_status hw_record_place(hw_driver *driver, uint64_t ended)
{
    hw_recording *recording = &driver->recording;
    HAWSER_TRY(rehearse_drawn(driver, ended));
    if (!recording->open || recording->bytes != NULL || recording->at != ended)
        return HAWSER_OK;
    hw_position *position = NULL;
    HAWSER_TRY(HW_NEW(&position, 1, "where a run stands", &driver->error));
    hawser_status status = fill(position, driver, ended);
    if (status == HAWSER_OK)
        status = hw_position_write(position, &recording->bytes, &recording->size, &driver->error);
    hw_position_free(position);
    HAWSER_TRY(status);
    describe(driver);
    return finish(driver);
}

static bool all_replied(void *argument)
{
    const hw_driver *driver = argument;
    return driver->recording.replies == driver->session->blocks;
}

/* Returns whether one block changes what is in the record of another. */
static bool share_memory(const hawser_program *program)
{
    bool shared = program->process_visit != NULL;
    for (const hawser_state *state = program->states; state != NULL; state = state->next)
        shared = shared || state->function != NULL;
    return shared;
}

/* Waits while blocks cannot go on, and counts the time. */
static hawser_status wait_still(hw_driver *driver, bool (*ready)(void *argument))
{
    hw_executor *executor = driver->session->executor;
    double began = executor->ops->now(executor);
    hawser_status status = hw_driver_wait(driver, ready, driver);
    driver->recording.waited += executor->ops->now(executor) - began;
    return status;
}

hawser_status hw_record_settle(hw_driver *driver)
{
    return share_memory(driver->session->program) ? wait_still(driver, all_replied) : HAWSER_OK;
}

hawser_status hw_record_pause(hw_driver *driver)
{
    HAWSER_TRY(hw_driver_ask_pause(driver, false));
    return wait_still(driver, hw_driver_paused);
}

hawser_status hw_record_hold(hw_driver *driver, uint64_t at)
{
    open_next(&driver->recording, at);
    HAWSER_TRY(order(driver, HW_RECORD_HOLD, driver->recording.number, at, false));
    return wait_still(driver, all_replied);
}

hawser_status hw_record_written(hw_driver *driver)
{
    return wait_still(driver, all_replied);
}

hawser_status hw_record_go_on(hw_driver *driver)
{
    return order(driver, HW_RECORD_GO_ON, driver->recording.number, 0, false);
}

bool hw_record_waits(const hw_driver *driver)
{
    return driver->recording.open && driver->recording.bytes == NULL;
}

void hw_record_give_up(hw_driver *driver)
{
    if (hw_record_waits(driver))
        driver->recording.open = false;
}

hawser_status hw_record_between(hw_driver *driver)
{
    (void)arrive(driver);
    if (!hw_record_due(driver))
        return rehearse_drawn(driver, 0);
    HAWSER_TRY(hw_record_order(driver, 0, true));
    HAWSER_TRY(hw_record_place(driver, 0));
    return hw_record_settle(driver);
}

static bool none_open(void *argument)
{
    const hw_driver *driver = argument;
    return !driver->recording.open;
}

hawser_status hw_record_keep_end(hw_driver *driver)
{
    hw_recording *recording = &driver->recording;
    if (recording->by == NULL || recording->by->keeps_end == NULL || driver->stopping != NULL)
        return HAWSER_OK;
    HAWSER_TRY(wait_still(driver, none_open));
    if (!recording->by->keeps_end(recording->by->user, driver->session->number, seconds_of(driver)))
        return HAWSER_OK;
    hw_level_at(driver, NULL, 0);
    open_number(recording, HW_RECORD_END, 0);
    HAWSER_TRY(order(driver, HW_RECORD_WRITE, HW_RECORD_END, 0, true));
    HAWSER_TRY(hw_record_place(driver, 0));
    return wait_still(driver, all_replied);
}

bool hw_record_at_end(hw_driver *driver)
{
    const hw_position *from = driver->recording.from;
    return from != NULL && from->frame_count == 1 && arrive(driver);
}

hawser_status hw_record_reply(hw_driver *driver, const hw_envelope *reply)
{
    hw_recording *recording = &driver->recording;
    if (reply->part != (uint32_t)recording->number)
        return HAWSER_OK; /* to a checkpoint that was given up */
    recording->replies++;
    return finish(driver);
}

/* ----------------------------------------------------------------------------------------------- going on from one ---- */

static hawser_status identify(const hw_driver *driver, hawser_error *error)
{
    char *text = NULL;
    const hw_checkpointer *by = driver->recording.by;
    if (by->identify == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_session_identity(driver->session, &text, error));
    hawser_status status = by->identify(by->user, driver->session->number, text, error);
    free(text);
    return status;
}

hawser_status hw_record_open(hw_driver *driver, hawser_error *error)
{
    hw_recording *recording = &driver->recording;
    const hw_session *session = driver->session;
    const hw_record_piece piece = {.kind = HW_PIECE_POSITION, .run = session->number};
    void *bytes = NULL;
    size_t size = 0;
    recording->by = session->checkpointer;
    if (recording->by == NULL)
        return HAWSER_OK;
    HAWSER_TRY(identify(driver, error));
    HAWSER_TRY(recording->by->give(recording->by->user, &piece, &bytes, &size, error));
    if (bytes == NULL)
        return HAWSER_OK;
    hawser_status status = hw_position_read(bytes, size, &recording->from, error);
    free(bytes);
    HAWSER_TRY(status);
    const hw_position *from = recording->from;
    size_t points = driver->points.last != NULL ? hw_plan_points(session->plan) * sizeof *driver->points.last : 0;
    HAWSER_TRY(hw_position_fits(from, session->program, error));
    if (from->branches_size != driver->memories.size || from->points_size != points)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the position of program '%s' is damaged", session->program->name);
    recording->entering = true;
    recording->number = from->number;
    recording->step = from->step;
    return HAWSER_OK;
}

void hw_record_close(hw_driver *driver)
{
    free(driver->recording.levels);
    free(driver->recording.bytes);
    hw_position_free(driver->recording.from);
}

/* Has all blocks read `what` of the checkpoint, and waits until they have. */
static hawser_status recall(hw_driver *driver, hw_record_order_kind what)
{
    HAWSER_TRY(order(driver, what, driver->recording.from->number, driver->recording.from->step, true));
    return hw_driver_wait(driver, all_replied, driver);
}

hawser_status hw_record_enter(hw_driver *driver)
{
    const hw_position *from = driver->recording.from;
    if (from == NULL)
        return HAWSER_OK;
    hw_position_take(driver, from, true);
    hw_position_take_run(driver, from);
    driver->recording.before = from->run_seconds;
    for (uint32_t b = 0; driver->points.done != NULL && b < driver->session->blocks; b++)
        driver->points.done[b] = from->points_sent;
    if (from->repeatable[0] != '\0')
        driver->repeatable = from->repeatable;
    driver->stop_reason = from->stop_reason;
    HAWSER_TRY(recall(driver, HW_RECORD_READ_NODE));
    HAWSER_TRY(recall(driver, HW_RECORD_READ_BLOCK));
    return hw_position_take_tests(driver, from);
}
