/*
 * rehearse.c - --rehearse on the driver: at drawn places it throws away all that it remembers from clock to clock, and takes
 * it back from the bytes of its position, as a run does that goes on from a checkpoint. So a field that positions lack is
 * noticed by the bits of the run.
 */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "program/position.h"
#include "runtime/drive/driver.h"
#include "runtime/job/job.h"

bool hw_driver_rehearses(const hw_driver *driver, uint32_t place, uint64_t clock)
{
    const hawser_job *job = driver->session->job;
    if (job->rehearse == 0)
        return false;
    hw_random random = hw_random_at(job->settings.seed, driver->entries, driver->session->blocks + place, clock);
    return hw_random_below(&random, job->rehearse) == 0;
}

static void spoil(void *memory, size_t bytes)
{
    if (bytes > 0)
        memset(memory, 0xa5, bytes);
}

/* Overwrites all that the driver remembers from clock to clock, except what blocks were told last. */
static void spoil_driver(hw_driver *driver)
{
    const hawser_program *program = driver->session->program;
    spoil(driver->metrics, sizeof driver->metrics);
    spoil(driver->shown, sizeof driver->shown);
    spoil(driver->gains, program->state_count * sizeof *driver->gains);
    spoil(driver->syncs, program->operator_count * sizeof *driver->syncs);
    spoil(driver->memories.bytes, driver->memories.size);
    hw_knobs_spoil(driver);
    if (driver->points.last != NULL)
        spoil(driver->points.last, hw_plan_points(driver->session->plan) * sizeof *driver->points.last);
    driver->entries = driver->clocks = driver->points.sent = driver->points.returned = UINT64_MAX / 3;
    driver->bytes = driver->staleness = -1;
    driver->repeatable = driver->stop_reason = "rehearsed";
    for (size_t i = 0; i < driver->recording.depth; i++) {
        hw_until *until = driver->recording.levels[i].until;
        if (until == NULL)
            continue;
        until->previous = until->best = until->began = -1;
        until->since_best = UINT64_MAX / 3;
        until->seen = !until->seen;
        spoil(until->memory, until->until->remembers);
    }
}

static hawser_status return_driver(hw_driver *driver, const hw_position *from, double now)
{
    const char *memory = from->memory;
    hw_position_take(driver, from, false);
    hw_position_take_run(driver, from);
    for (size_t i = 0; i < driver->recording.depth; i++) {
        if (driver->recording.levels[i].until != NULL)
            hw_until_take(driver->recording.levels[i].until, &from->frames[i], memory, now);
        memory += from->frames[i].memory;
    }
    return hw_position_take_tests(driver, from);
}

hawser_status hw_driver_rehearse(hw_driver *driver, const hw_position *position)
{
    hw_position *from = NULL;
    void *bytes = NULL;
    size_t size = 0;
    const char *repeatable = driver->repeatable, *stop_reason = driver->stop_reason; /* texts that outlive the position */
    const double now = driver->session->executor->ops->now(driver->session->executor);
    hawser_status status = hw_position_write(position, &bytes, &size, &driver->error);
    HAWSER_THEN(status, hw_position_read(bytes, size, &from, &driver->error));
    free(bytes);
    HAWSER_TRY(status);
    spoil_driver(driver);
    status = return_driver(driver, from, now);
    if ((from->repeatable[0] != '\0') == (repeatable != NULL))
        driver->repeatable = repeatable;
    if (strcmp(from->stop_reason, stop_reason) == 0)
        driver->stop_reason = stop_reason;
    hw_position_free(from);
    return status;
}
