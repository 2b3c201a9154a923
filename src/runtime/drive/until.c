/* until.c - decides when a loop ends. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/drive/driver.h"

hawser_status hw_until_begin(hw_until *state, hw_driver *driver, const hawser_operator *loop)
{
    hw_executor *executor = driver->session->executor;
    *state = (hw_until){.until = &loop->until, .began = executor->ops->now(executor), .best = INFINITY};
    if (loop->until.remembers > 0)
        HAWSER_TRY(hw_new_array(&state->memory, loop->until.remembers, 1, "what a stop test remembers", &driver->error));
    if (!hw_record_until(driver, state))
        hw_memories_clear(driver, loop);
    return HAWSER_OK;
}

void hw_until_end(hw_until *state)
{
    free(state->memory);
}

static const char *by_metric(hw_until *state, double value)
{
    const hawser_until *until = state->until;
    const char *reason = NULL;
    if (isnan(value))
        return NULL;
    /* A bound of 0 counts only if the metric has no other condition. */
    bool bounded = until->below != 0 || (until->change == 0 && until->patience == 0);
    if (bounded && value <= until->below)
        reason = until->metric;
    double scale = fabs(value) > DBL_MIN ? fabs(value) : DBL_MIN;
    if (reason == NULL && until->change != 0 && state->seen && fabs(value - state->previous) <= until->change * scale)
        reason = "change";
    if (value < state->best) {
        state->best = value;
        state->since_best = 0;
    } else if (++state->since_best >= until->patience && until->patience != 0 && reason == NULL)
        reason = "patience";
    state->previous = value;
    state->seen = true;
    return reason;
}

static bool runs_test(hw_until *state, hw_driver *driver)
{
    const hawser_until *until = state->until;
    if (until->test == NULL)
        return false;
    driver->progress.memory = state->memory;
    bool yes = hw_driver_test(driver, "stop test of loop", until->test, until->user);
    driver->progress.memory = NULL;
    return yes;
}

static const char *ends(hw_until *state, hw_driver *driver, uint64_t clock)
{
    const hawser_until *until = state->until;
    const char *reason = NULL;
    bool tested = runs_test(state, driver);
    if (until->metric != NULL)
        reason = by_metric(state, hawser_progress_metric(&driver->progress, until->metric));
    if (tested && reason == NULL)
        reason = "test";
    if (reason == NULL && until->clocks != 0 && clock + 1 >= until->clocks)
        reason = "clocks";
    hw_executor *executor = driver->session->executor;
    if (reason == NULL && until->seconds > 0 && executor->ops->now(executor) - state->began >= until->seconds) {
        reason = "seconds";
        driver->repeatable = "a loop was ended by time";
    }
    return reason;
}

static bool is_same(const char *first, const char *second)
{
    return first == second || (first != NULL && second != NULL && strcmp(first, second) == 0);
}

/* Calls a test, and then once more from the memory that it had before. */
static const char *ends_twice(hw_until *state, hw_driver *driver, uint64_t clock)
{
    const hw_until before = *state;
    const char *first = NULL;
    double metrics[HW_METRICS_MOST];
    hw_remembered kept;
    if (hw_remembered_keep(&kept, driver, state->memory, state->until->remembers) == HAWSER_OK)
        first = ends(state, driver, clock);
    memcpy(metrics, driver->metrics, sizeof metrics);
    *state = before;
    hw_remembered_return(&kept, driver);
    if (driver->error.status != HAWSER_OK)
        return NULL;
    const char *reason = ends(state, driver, clock);
    bool by_time = is_same(first, "seconds") || is_same(reason, "seconds");
    bool same = by_time || is_same(first, reason);
    return hw_remembered_compare(driver, metrics, same, "stop test of loop") == HAWSER_OK ? reason : NULL;
}

const char *hw_until_ends(hw_until *state, hw_driver *driver, uint64_t clock)
{
    const hawser_until *until = state->until;
    bool again = until->test != NULL && hw_test_again(driver, until->remembers, 0, clock);
    const char *reason = again ? ends_twice(state, driver, clock) : ends(state, driver, clock);
    if (reason != NULL && strcmp(reason, "patience") == 0)
        hw_points_patience(driver);
    return driver->error.status == HAWSER_OK && hw_points_send(driver) == HAWSER_OK ? reason : NULL;
}
