/* watch.c - a thread that checks all watched places of a job at intervals. */
#include "runtime/job/watch.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"

/* Warnings are printed after T, 2 T, 4 T ..., and at least every hour. */
#define LONGEST_SILENCE 3600.0

enum { EXIT_TIMEOUT = 8, GOODBYE_SECONDS = 2 };

struct hw_watchdog {
    pthread_mutex_t mutex; /* guards all fields */
    pthread_cond_t changed;
    pthread_t thread;
    hw_watch_options how;
    hw_call_place *places;
    bool started, ends;
};

static void describe(const hw_watch_options *how, hw_call_place *place, double seconds, char *text, size_t size)
{
    const char *kind = atomic_load_explicit(&place->kind, memory_order_relaxed);
    const char *name = atomic_load_explicit(&place->name, memory_order_relaxed);
    uint64_t clock = atomic_load_explicit(&place->clock, memory_order_relaxed);
    const char *table = atomic_load_explicit(&place->table, memory_order_relaxed);
    char block[40] = "", at[40] = "", called[200] = "", of[100] = "", node[HW_NET_NAME + 8] = "";
    if (name != NULL)
        (void)!snprintf(called, sizeof called, " '%s'", name);
    if (table != NULL)
        (void)!snprintf(of, sizeof of, ", table '%s'", table);
    if (place->block != UINT32_MAX)
        (void)!snprintf(block, sizeof block, ", block %" PRIu32, place->block);
    if (clock > 0 || place->block != UINT32_MAX)
        (void)!snprintf(at, sizeof at, ", clock %" PRIu64, clock > 0 ? clock - 1 : 0);
    if (how->cluster != NULL)
        (void)!snprintf(node, sizeof node, " (%s)", hw_cluster_member(how->cluster, how->node)->name);
    (void)!snprintf(text, size, "%s%s%s%s%s, on node %" PRIu32 "%s, has computed for %.3g s without returning",
                    kind != NULL ? kind : "call", called, of, block, at, how->node, node, seconds);
}

/* No thread can be interrupted inside a function, so the process ends. The other nodes receive the reason. */
static void end_process(const hw_watch_options *how, hw_call_place *place, double seconds)
{
    char text[600], why[400];
    describe(how, place, seconds, why, sizeof why);
    (void)!snprintf(text, sizeof text, "%s; --unit-timeout allows %.3g s, so the job ends", why, how->timeout);
    hw_notify_end(how->messages, how->node, text);
    if (how->cluster != NULL)
        hw_cluster_abort(how->cluster, text, GOODBYE_SECONDS);
    _exit(EXIT_TIMEOUT);
}

static void warn(const hw_watch_options *how, hw_call_place *place, double seconds)
{
    char why[400];
    describe(how, place, seconds, why, sizeof why);
    hw_notify(how->messages, HAWSER_WARNING, how->node,
              "%s; it may need that long, or never return (--unit-timeout ends the job then)", why);
}

static void look(const hw_watch_options *how, hw_call_place *place, double now)
{
    uint64_t since = atomic_load_explicit(&place->since, memory_order_acquire);
    double seconds = since != 0 ? now - (double)since * 1e-9 : 0;
    if (since != place->seen) {
        place->seen = since;
        place->warn_at = how->warning;
    }
    if (since == 0)
        return;
    if (how->timeout > 0 && seconds >= how->timeout)
        end_process(how, place, seconds);
    if (how->warning > 0 && seconds >= place->warn_at) {
        warn(how, place, seconds);
        place->warn_at = seconds + fmin(seconds, LONGEST_SILENCE);
    }
}

static double shortest(const hw_watch_options *how)
{
    double warning = how->warning, timeout = how->timeout;
    return warning > 0 && timeout > 0 ? fmin(warning, timeout) : fmax(warning, timeout);
}

static void *watch(void *argument)
{
    hw_watchdog *watchdog = argument;
    pthread_mutex_lock(&watchdog->mutex);
    while (!watchdog->ends) {
        double now = hw_seconds();
        for (hw_call_place *place = watchdog->places; place != NULL; place = place->next)
            look(&watchdog->how, place, now);
        struct timespec until = hw_timespec(hw_seconds() + fmin(shortest(&watchdog->how) / 8, 1));
        if (watchdog->places != NULL)
            pthread_cond_timedwait(&watchdog->changed, &watchdog->mutex, &until);
        else
            pthread_cond_wait(&watchdog->changed, &watchdog->mutex);
    }
    pthread_mutex_unlock(&watchdog->mutex);
    return NULL;
}

hawser_status hw_watchdog_new(const hw_watch_options *options, hw_watchdog **watchdog, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(watchdog, 1, "a watchdog", error));
    (*watchdog)->how = *options;
    pthread_mutex_init(&(*watchdog)->mutex, NULL);
    (void)hw_thread_condition(&(*watchdog)->changed);
    return HAWSER_OK;
}

void hw_watchdog_free(hw_watchdog *watchdog)
{
    if (watchdog == NULL)
        return;
    pthread_mutex_lock(&watchdog->mutex);
    watchdog->ends = true;
    pthread_cond_signal(&watchdog->changed);
    pthread_mutex_unlock(&watchdog->mutex);
    if (watchdog->started)
        pthread_join(watchdog->thread, NULL);
    pthread_cond_destroy(&watchdog->changed);
    pthread_mutex_destroy(&watchdog->mutex);
    free(watchdog);
}

hawser_status hw_watch_add(hw_watchdog *watchdog, hw_call_place *place, hawser_error *error)
{
    int failure = 0;
    if (watchdog == NULL || !(shortest(&watchdog->how) > 0))
        return HAWSER_OK;
    pthread_mutex_lock(&watchdog->mutex);
    if (!watchdog->started)
        failure = hw_thread_start(&watchdog->thread, watch, watchdog);
    watchdog->started = failure == 0;
    if (failure == 0) {
        place->next = watchdog->places;
        watchdog->places = place;
        pthread_cond_signal(&watchdog->changed);
    }
    pthread_mutex_unlock(&watchdog->mutex);
    if (failure != 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot start the watchdog's thread: %s", strerror(failure));
    return HAWSER_OK;
}

void hw_watch_remove(hw_watchdog *watchdog, hw_call_place *place)
{
    if (watchdog == NULL)
        return;
    pthread_mutex_lock(&watchdog->mutex);
    hw_call_place **at = &watchdog->places;
    while (*at != NULL && *at != place)
        at = &(*at)->next;
    if (*at != NULL)
        *at = place->next;
    pthread_mutex_unlock(&watchdog->mutex);
}
