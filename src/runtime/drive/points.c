/* points.c - kept points on the driver: what tests ask for, and whether a point is the result of a run that ends early or
 * fails. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "hawser/kept_points.h"
#include "program/kind.h"
#include "runtime/drive/driver.h"

hawser_status hw_points_new(hw_driver *driver, hawser_error *error)
{
    hw_points *points = &driver->points;
    uint32_t count = hw_plan_points(driver->session->plan);
    if (count == 0)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&points->last, count, "kept points", error));
    HAWSER_TRY(HW_NEW(&points->done, driver->session->blocks, "kept points", error));
    return HW_NEW(&points->failed, driver->session->blocks, "kept points", error);
}

void hw_points_free(hw_points *points)
{
    free(points->last);
    free(points->done);
    free(points->failed);
    free(points->orders);
}

/* Returns whether a marked state is on servers, which all blocks change. A block copies its share before any block changes
 * it again. */
static bool keeps_sums(const hawser_program *program, const hawser_operator *loop)
{
    for (const hawser_state *state = program->states; state != NULL; state = state->next)
        if (state->keeps && state->function != NULL && (loop == NULL || hw_operator_updates(loop, state)))
            return true;
    return false;
}

/* Returns whether a marked state moves: a block must not send a part of a point to one that has not gone back to it. */
static bool keeps_parts(const hw_plan *plan)
{
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next)
        if (hw_plan_keeps(plan, state) && hw_kind_of(state)->moves)
            return true;
    return false;
}

/* Returns whether the driver has a point, or is about to have it after this test. */
static bool has(const hw_points *points, uint32_t point)
{
    for (size_t k = 0; k < points->count; k++)
        if (points->orders[k].point == point && points->orders[k].returns == 0)
            return true;
    return points->last != NULL && points->last[point].at[0] > 0;
}

/* Returns whether all that marked states have is committed on every block when the next clock of a loop has merged what its
 * first stage reads: no stage of theirs follows, and nothing is held back. Otherwise a point is kept once the phase has
 * ended. */
static bool keeps_within(const hw_driver *driver, const hawser_operator *loop)
{
    const hw_plan *plan = driver->session->plan;
    for (const hawser_state *state = plan->program->states; state != NULL; state = state->next) {
        const hw_state_plan *own = &plan->states[state->number];
        if (!state->keeps || !hw_state_is_exchanged(state) || !hw_operator_updates(loop, state))
            continue;
        hw_stages use = hw_plan_use(plan, loop, state);
        if (((use.updates | use.reads) & 1) == 0 || own->filter.kind != HW_FILTER_NONE || own->rounding != HW_F64 ||
            own->narrows)
            return false;
    }
    return !keeps_sums(plan->program, loop);
}

static hawser_status refuse(hw_driver *driver, const char *call, const char *why)
{
    return driver->error.status != HAWSER_OK
               ? driver->error.status
               : hawser_fail(&driver->error, HAWSER_BAD_PROGRAM, "%s, in '%s': %s", call, driver->progress.name, why);
}

static hawser_status check(hw_driver *driver, const char *call, uint32_t point, bool returns)
{
    const hw_points *points = &driver->points;
    const hawser_program *program = driver->session->program;
    uint32_t count = hw_program_points(program);
    char why[200];
    if (!points->testing)
        return refuse(driver, call, "only stop tests of loops and tests of branches keep points or return to one");
    if (count == 0)
        return refuse(driver, call, "the program marks no state; call hawser_state_keep");
    if (point >= count) {
        (void)snprintf(why, sizeof why, "there is no point %u; hawser_kept_points has %u", point, count);
        return refuse(driver, call, why);
    }
    if (points->loop != NULL && points->sync.tightness != HAWSER_BSP) {
        char sync[HW_SYNC_TEXT];
        (void)snprintf(why, sizeof why,
                       "under %s blocks are at different clocks; use a loop under bsp, or a test outside of it",
                       hw_sync_text(points->sync, sync));
        return refuse(driver, call, why);
    }
    if (points->loop != NULL && points->branch && (returns || !keeps_within(driver, points->loop)))
        return refuse(driver, call, "in a loop that blocks run, only the loop's stop test can do this");
    if (returns && !has(points, point)) {
        (void)snprintf(why, sizeof why, "point %u was not kept", point);
        return refuse(driver, call, why);
    }
    return HAWSER_OK;
}

/* Returns whether an order has nothing to do, because the last one of this test has left the point as this one would. A test
 * that has done both of one point and returned to another in between is refused: a block takes a point from the node's first
 * one, which may be an order behind or ahead. */
static bool is_idle(hw_driver *driver, const char *call, uint32_t point, bool returns)
{
    const hw_points *points = &driver->points;
    char why[200];
    bool between = false;
    for (size_t k = points->count; k-- > 0;) {
        const hw_point_order *before = &points->orders[k];
        if ((before->returns != 0) != returns && before->point == point && between) {
            (void)snprintf(why, sizeof why, "the same test has %s point %u before it returned to another point",
                           returns ? "kept" : "returned to", point);
            (void)refuse(driver, call, why);
        }
        if ((before->returns != 0) != returns && before->point == point)
            return true;
        between = between || before->returns != 0;
    }
    return false;
}

static void order(hawser_progress *progress, const char *call, uint32_t point, bool returns)
{
    if (progress == NULL || check(progress->driver, call, point, returns) != HAWSER_OK)
        return;
    hw_points *points = &progress->driver->points;
    if (is_idle(progress->driver, call, point, returns))
        return;
    if (HW_GROW(&points->orders, &points->capacity, points->count + 1, "kept points", &progress->driver->error) == HAWSER_OK)
        points->orders[points->count++] = (hw_point_order){point, returns};
}

void hawser_progress_keep(hawser_progress *progress, uint32_t point)
{
    order(progress, __func__, point, false);
}

void hawser_progress_return(hawser_progress *progress, uint32_t point)
{
    order(progress, __func__, point, true);
}

bool hawser_progress_has(const hawser_progress *progress, uint32_t point)
{
    return progress != NULL && point < hw_program_points(progress->driver->session->program) &&
           has(&progress->driver->points, point);
}

void hw_points_guard(hw_driver *driver, bool returns)
{
    hw_points *points = &driver->points;
    if (HW_GROW(&points->orders, &points->capacity, points->count + 1, "kept points", &driver->error) != HAWSER_OK)
        return;
    points->orders[points->count++] = (hw_point_order){.returns = returns};
    points->guarding = true;
}

void hw_points_patience(hw_driver *driver)
{
    hw_points *points = &driver->points;
    bool bsp = points->loop == NULL || points->sync.tightness == HAWSER_BSP;
    if (driver->session->plan->guards || points->last == NULL || !has(points, 0) || !bsp ||
        driver->error.status != HAWSER_OK)
        return;
    points->testing = true;
    hawser_progress_return(&driver->progress, 0);
    points->testing = false;
}

/* Notes that the next message keeps a point. What it was before is the result if blocks fail before they have carried that
 * out. */
static void note(const hw_driver *driver, hw_points_kept *kept)
{
    uint64_t number = driver->points.sent + 1;
    if (kept->at[0] != number) {
        kept->at[1] = kept->at[0];
        memcpy(kept->metrics[1], kept->metrics[0], sizeof kept->metrics[1]);
    }
    kept->at[0] = number;
    memcpy(kept->metrics[0], driver->metrics, sizeof kept->metrics[0]);
}

/* Returns true once all blocks have carried out the last orders. */
static bool all_done(void *argument)
{
    const hw_driver *driver = argument;
    for (uint32_t b = 0; b < driver->session->blocks; b++)
        if (driver->points.done[b] < driver->points.sent)
            return false;
    return true;
}

/* Returns true once all blocks have carried out the last return. */
static bool all_returned(void *argument)
{
    const hw_driver *driver = argument;
    for (uint32_t b = 0; b < driver->session->blocks; b++)
        if (driver->points.done[b] < driver->points.returned)
            return false;
    return true;
}

static hawser_status send_orders(hw_driver *driver, bool at_end)
{
    hw_points *points = &driver->points;
    hw_message *message = NULL;
    size_t bytes = points->count * sizeof *points->orders;
    HAWSER_TRY(hw_message_new(bytes, &message, &driver->error));
    memcpy(message->payload, points->orders, bytes);
    message->envelope.kind = HW_MESSAGE_POINT;
    message->envelope.clock = ++points->sent;
    message->envelope.count = points->count;
    message->envelope.last = at_end;
    points->count = 0;
    return hw_driver_send_all(driver, message);
}

hawser_status hw_points_send(hw_driver *driver)
{
    hw_points *points = &driver->points;
    bool returns = false;
    if (points->count == 0)
        return HAWSER_OK;
    for (size_t k = 0; k < points->count; k++)
        returns = returns || points->orders[k].returns != 0;
    /* A block may take a point from the node's first one, which must have kept it by then, and not keep another yet. In a
     * loop clocks see to that. */
    if (points->loop == NULL)
        HAWSER_TRY(hw_driver_wait(driver, returns ? all_done : all_returned, driver));
    for (size_t k = 0; k < points->count; k++) {
        uint32_t point = points->orders[k].point;
        if (points->orders[k].returns == 0)
            note(driver, &points->last[point]);
    }
    bool at_end = points->loop != NULL && (returns || points->guarding || !keeps_within(driver, points->loop));
    points->guarding = false;
    points->ends_phase = points->ends_phase || at_end;
    HAWSER_TRY(send_orders(driver, at_end));
    points->returned = returns ? points->sent : points->returned;
    bool waits = points->loop == NULL &&
                 (keeps_sums(driver->session->program, NULL) || (returns && keeps_parts(driver->session->plan)));
    return waits ? hw_driver_wait(driver, all_done, driver) : HAWSER_OK;
}

void hw_points_done(hw_driver *driver, const hw_envelope *reply)
{
    if (driver->points.done != NULL)
        driver->points.done[reply->source] = reply->clock;
}

/* Returns true once all blocks have carried out the last orders, or one has failed before: then none of them does, because a
 * block carries them out once it has what all others have, too. */
static bool is_settled(void *argument)
{
    const hw_driver *driver = argument;
    const hw_points *points = &driver->points;
    for (uint32_t b = 0; b < driver->session->blocks; b++)
        if (points->failed[b] && points->done[b] < points->sent)
            return true;
    return all_done(argument);
}

/* Forgets the last orders, which blocks have not carried out and will not. */
static void go_without(hw_points *points, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        hw_points_kept *kept = &points->last[k];
        if (kept->at[0] < points->sent)
            continue;
        kept->at[0] = kept->at[1];
        memcpy(kept->metrics[0], kept->metrics[1], sizeof kept->metrics[0]);
    }
}

/* The result of a run that has failed is the kept point of the lowest number. */
static void choose_after_failure(hw_driver *driver, bool settled)
{
    hw_points *points = &driver->points;
    uint32_t count = hw_program_points(driver->session->program);
    if (!all_done(driver))
        go_without(points, count);
    for (points->number = 0; points->number < count && points->last[points->number].at[0] == 0;)
        points->number++;
    points->result = settled && points->number < count;
    if (points->result)
        driver->stop_reason = "failure";
}

void hw_points_settle(hw_driver *driver, hawser_status status)
{
    hw_points *points = &driver->points;
    if (points->last == NULL || driver->session->plan->guards)
        return;
    if (status == HAWSER_STOP)
        points->result = points->last[0].at[0] > 0 && (!driver->abandoned || all_done(driver));
    if (!hw_failure_keeps(status))
        return;
    hawser_error ended = driver->error;
    points->settling = true;
    bool settled = hw_wait(&driver->mailbox, is_settled, driver) == HAWSER_OK;
    driver->error = ended;
    choose_after_failure(driver, settled);
}
