/* driver_wait.c - how the driver waits: it looks for signals and limits, abandons the run, and calls the user's tests and
 * observer. */
#include <math.h>

#include "runtime/drive/driver.h"

double hw_driver_left(const hw_driver *driver)
{
    const hw_session *session = driver->session;
    double limit = session->job->time_limit;
    return limit > 0 ? limit - (session->executor->ops->now(session->executor) - session->began) : (double)INFINITY;
}

static bool is_out_of_time(const hw_driver *driver)
{
    return atomic_load(&driver->session->late) || hw_driver_left(driver) <= 0;
}

/* Asks the units of all nodes to stop (hawser_stopping). A node that the message cannot reach stops with its clock. */
static void say_ending(hw_driver *driver)
{
    hw_session *session = driver->session;
    hawser_error ignored = {0};
    hawser_status before = driver->mailbox.ended;
    driver->mailbox.error = &ignored;
    atomic_store(&session->ending, true);
    for (uint32_t node = 1; node < session->nodes; node++) {
        hw_message *message = NULL;
        if (hw_message_new(0, &message, &ignored) != HAWSER_OK)
            break;
        message->envelope.kind = HW_MESSAGE_INTERRUPT;
        if (hw_send(&driver->mailbox, hw_agent_endpoint(session, node), message) != HAWSER_OK)
            continue;
    }
    driver->mailbox.error = &driver->error;
    if (before == HAWSER_OK && driver->mailbox.ended != HAWSER_OK && driver->error.status >= HAWSER_OK)
        driver->error = ignored; /* a loss arrived meanwhile: the next wait ends by it, with this text */
}

void hw_driver_check(hw_driver *driver)
{
    hw_session *session = driver->session;
    if (driver->stopping != NULL || hw_record_first(driver, hw_job_interrupted(session->job) || is_out_of_time(driver)))
        return;
    if (hw_job_interrupted(session->job)) {
        driver->stopping = "signal";
        driver->repeatable = "a signal ended the run";
        say_ending(driver);
    } else if (is_out_of_time(driver)) {
        driver->stopping = "time-limit";
        driver->repeatable = "a time limit ended the run";
        hw_job_stop(session->job);
        say_ending(driver);
    } else if (session->job->max_clocks != 0 && driver->clocks >= session->job->max_clocks)
        driver->stopping = "clocks";
}

/* ---------------------------------------------------------------------------------------------- waiting in the end ---- */

typedef struct hw_limited {
    hw_driver *driver;
    bool (*ready)(void *argument);
    void *argument;
    double left; /* seconds of --grace at which the wait ends */
    bool in;
} hw_limited;

static bool is_in_or_late(void *argument)
{
    hw_limited *limited = argument;
    hawser_job *job = limited->driver->session->job;
    limited->in = limited->ready(limited->argument);
    if (is_out_of_time(limited->driver))
        hw_job_stop(job);
    return limited->in || hw_job_grace_left(job) <= limited->left;
}

hawser_status hw_driver_wait_until(hw_driver *driver, bool (*ready)(void *argument), void *argument, double left, bool *in)
{
    hw_limited limited = {driver, ready, argument, left, false};
    HAWSER_TRY(hw_wait(&driver->mailbox, is_in_or_late, &limited));
    *in = limited.in;
    return HAWSER_OK;
}

/* Abandons the run. Blocks that compute answer when their unit has returned. If an answer is missing, each block keeps what
 * it has committed. */
static hawser_status abandon(hw_driver *driver)
{
    bool in = false;
    hw_driver_check(driver);
    if (driver->stopping == NULL) /* a signal or limit that ended an earlier run */
        driver->stopping = "time-limit";
    driver->stop_reason = driver->stopping;
    driver->abandoned = true;
    if (driver->session->cluster != NULL)
        hw_cluster_drop_updates(driver->session->cluster);
    HAWSER_TRY(hw_driver_ask_pause(driver, true));
    double left = hw_job_grace_left(driver->session->job);
    HAWSER_TRY(hw_driver_wait_until(driver, hw_driver_paused, driver, fmin(0.5 * left, left - HW_LEAST_RUN), &in));
    if (!in)
        driver->agreed = UINT64_MAX;
    return hawser_fail(&driver->error, HAWSER_STOP, "the run was ended early, without its last updates: %s",
                       driver->stopping);
}

hawser_status hw_driver_wait(hw_driver *driver, bool (*ready)(void *argument), void *argument)
{
    bool in = false;
    HAWSER_TRY(hw_driver_wait_until(driver, ready, argument, driver->give_up, &in));
    return in ? HAWSER_OK : abandon(driver);
}

static hw_watched_before call_begin(hw_driver *driver, const char *kind)
{
    driver->policies.asking = (hw_asker){.kind = kind, .name = driver->progress.name, .clocks = driver->clocks};
    atomic_store_explicit(&driver->mailbox.work.clock, driver->progress.clock + 1, memory_order_relaxed);
    return hw_call_begin(&driver->mailbox, kind, driver->progress.name);
}

void hw_driver_observe(hw_driver *driver, const char *name, uint64_t clock)
{
    const hawser_job *job = driver->session->job;
    driver->progress.name = name;
    driver->progress.clock = clock;
    if (job->observer == NULL)
        return;
    hw_watched_before before = call_begin(driver, "observer of");
    job->observer(&driver->progress, job->observer_user);
    hw_watch_end(&driver->mailbox.work, before);
}

bool hw_driver_test(hw_driver *driver, const char *kind, bool (*test)(hawser_progress *progress, void *user), void *user)
{
    hw_watched_before before = call_begin(driver, kind);
    driver->points.testing = true;
    bool yes = test(&driver->progress, user);
    driver->points.testing = false;
    hw_watch_end(&driver->mailbox.work, before);
    return yes;
}

bool hw_driver_all_done(void *argument)
{
    hw_driver *driver = argument;
    return driver->done == driver->session->blocks;
}
