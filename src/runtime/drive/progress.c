/* progress.c - what tests and observers can read from the driver and request of it. */
#include <math.h>
#include <string.h>

#include "program/kind.h"
#include "runtime/drive/driver.h"

/* What observers see beside the metrics of the program: the figures of reports. */
static const char *const further[] = {"bytes", "staleness", "wait_input", "wait_credit", "wait_reduction"};
enum { FURTHER = sizeof further / sizeof *further };

static double further_metric(const hw_driver *driver, size_t index)
{
    _Static_assert(FURTHER == 2 + HW_WAIT_CAUSES, "the waits are last, in the order of their causes");
    return index == 0 ? driver->bytes : index == 1 ? driver->staleness : driver->waits[index - 2];
}

double hawser_progress_metric(const hawser_progress *progress, const char *metric)
{
    if (progress == NULL)
        return (double)NAN;
    uint32_t number = hw_program_metric(progress->driver->session->program, metric);
    if (number != UINT32_MAX)
        return progress->driver->metrics[number];
    for (size_t i = 0; metric != NULL && i < FURTHER; i++)
        if (strcmp(metric, further[i]) == 0)
            return further_metric(progress->driver, i);
    return (double)NAN;
}

const char *hawser_progress_metric_name(const hawser_progress *progress, size_t index)
{
    if (progress == NULL)
        return NULL;
    const hawser_program *program = progress->driver->session->program;
    if (index < program->metric_count)
        return program->metrics[index].name;
    index -= program->metric_count;
    return index < FURTHER ? further[index] : NULL;
}

void hawser_progress_numbers(const hawser_progress *progress, const char *const *metrics, size_t count, double *out)
{
    if (progress == NULL)
        return;
    hw_driver *driver = progress->driver;
    if (out == NULL || (metrics == NULL && count > 0)) {
        if (driver->error.status == HAWSER_OK)
            (void)hawser_fail(&driver->error, HAWSER_BAD_PROGRAM, "hawser_progress_numbers: %s is NULL",
                              out == NULL ? "out" : "metrics");
        return;
    }
    out[0] = (double)hawser_progress_clock(progress);
    out[1] = (double)hawser_progress_clocks(progress);
    out[2] = hawser_progress_seconds(progress);
    for (size_t i = 0; i < count; i++)
        out[3 + i] = hawser_progress_metric(progress, metrics[i]);
}

void hawser_progress_set(hawser_progress *progress, const char *metric, double value)
{
    if (progress == NULL)
        return;
    hw_driver *driver = progress->driver;
    uint32_t number = hw_program_metric(driver->session->program, metric);
    if (number != UINT32_MAX)
        driver->metrics[number] = value;
    else if (driver->error.status == HAWSER_OK)
        (void)hawser_fail(&driver->error, HAWSER_BAD_PROGRAM, "hawser_progress_set: the program declares no metric '%s'",
                          metric != NULL ? metric : "");
}

uint64_t hawser_progress_clock(const hawser_progress *progress)
{
    return progress != NULL ? progress->clock : 0;
}

uint64_t hawser_progress_clocks(const hawser_progress *progress)
{
    return progress != NULL ? progress->driver->clocks : 0;
}

double hawser_progress_seconds(const hawser_progress *progress)
{
    if (progress == NULL)
        return 0;
    const hw_session *session = progress->driver->session;
    return session->executor->ops->now(session->executor) - session->began + progress->driver->recording.before;
}

void *hawser_progress_memory(const hawser_progress *progress)
{
    return progress != NULL ? progress->memory : NULL;
}

const char *hawser_progress_loop(const hawser_progress *progress)
{
    return progress != NULL ? progress->name : NULL;
}

bool hawser_progress_stopping(const hawser_progress *progress)
{
    if (progress == NULL)
        return false;
    hw_driver_check(progress->driver);
    return progress->driver->stopping != NULL;
}

const hawser_policy_change *hawser_progress_change(const hawser_progress *progress, size_t index)
{
    const hw_policies *policies = progress != NULL ? &progress->driver->policies : NULL;
    return policies != NULL && index < policies->changes.count - policies->earlier
               ? &policies->changes.all[policies->earlier + index]
               : NULL;
}

void hawser_progress_gain(hawser_progress *progress, const char *state, double gain)
{
    if (progress == NULL)
        return;
    hw_driver *driver = progress->driver;
    const hw_plan *plan = driver->session->plan;
    const hawser_state *found = state != NULL ? hw_program_state(driver->session->program, state) : NULL;
    bool fits = found != NULL && hw_kind_of(found)->summed && !hw_type_is_whole(found->type) && gain > 0 && isfinite(gain);
    const hawser_operator *loop;
    if (fits && gain != 1 && hw_plan_holds(&plan->states[found->number]) && hw_plan_mixes(plan, found, &loop)) {
        if (driver->error.status == HAWSER_OK)
            (void)hawser_fail(
                &driver->error, HAWSER_BAD_PROGRAM,
                "hawser_progress_gain: state '%s' has a filter or an encoding, and in loop '%s' both a unit on one "
                "block and a unit on all blocks update it; updates of one block are exact and cannot be held under "
                "a gain",
                found->name, loop->name);
    } else if (fits) {
        if (driver->gains[found->number] != gain)
            driver->policies.gain_asker[found->number] = driver->policies.asking;
        driver->gains[found->number] = gain;
    } else if (driver->error.status == HAWSER_OK)
        (void)hawser_fail(
            &driver->error, HAWSER_BAD_PROGRAM,
            "hawser_progress_gain: gain %g for '%s'; it takes a replicated state of f64 or f32 and a number above zero",
            gain, state != NULL ? state : "");
}

void hawser_progress_sync(hawser_progress *progress, const char *loop, hawser_sync sync)
{
    if (progress == NULL)
        return;
    hw_driver *driver = progress->driver;
    const hawser_program *program = driver->session->program;
    for (size_t i = 0; loop != NULL && i < program->operator_count; i++) {
        const hawser_operator *op = program->operators[i];
        if (op->kind != HW_LOOP || strcmp(op->name, loop) != 0)
            continue;
        sync = hw_sync_of_blocks(sync, driver->session->blocks);
        if (sync.tightness == op->sync.tightness && op->asked.tightness != op->sync.tightness)
            return; /* with one block it is bsp whatever the program asks for */
        if (!hw_operator_shipped(op))
            continue;
        if (hw_operator_reduces(op) != 0 && sync.tightness != HAWSER_BSP) {
            if (driver->error.status == HAWSER_OK)
                (void)hawser_fail(&driver->error, HAWSER_BAD_PROGRAM,
                                  "hawser_progress_sync: a unit of loop '%s' reduces over all blocks, so it can only be bsp",
                                  loop);
            return;
        }
        bool late = sync.tightness == HAWSER_TAP || sync.staleness > HW_BRANCH_STALENESS_MOST;
        if (hw_loop_branches(op) > 0 && late) {
            if (driver->error.status == HAWSER_OK)
                (void)hawser_fail(&driver->error, HAWSER_BAD_PROGRAM,
                                  "hawser_progress_sync: loop '%s' has branches, so it can only be bsp, or ssp up to ssp:%d",
                                  loop, HW_BRANCH_STALENESS_MOST);
            return;
        }
        if (hw_loop_branches(op) > 0 && program->tests_visit != NULL) {
            if (driver->error.status == HAWSER_OK)
                (void)hawser_fail(
                    &driver->error, HAWSER_BAD_PROGRAM,
                    "hawser_progress_sync: loop '%s' has branches, which would be chosen again, but what tests have in "
                    "hawser_tests_record cannot be taken back; use hawser_branch_remembers",
                    loop);
            return;
        }
        const hw_policy_row *row = hw_policy_row_of((unsigned)sync.tightness);
        bool fits =
            row != NULL && (hw_operator_stores(op) ? hw_loop_delay(sync) == hw_loop_delay(op->sync) : !row->stored_only);
        if (!fits)
            break;
        if (driver->syncs[i].tightness != sync.tightness || driver->syncs[i].staleness != sync.staleness)
            driver->policies.sync_asker[i] = driver->policies.asking;
        driver->syncs[i] = sync;
        return;
    }
    if (driver->error.status == HAWSER_OK)
        (void)hawser_fail(
            &driver->error, HAWSER_BAD_PROGRAM,
            "hawser_progress_sync: no shipped loop is called '%s', or the new policy is not one that it could change to",
            loop != NULL ? loop : "");
}
