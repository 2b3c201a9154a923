/*
 * watch.h - the watchdog of a job: it names calls of a user's functions (units, observers, stop tests, merge functions,
 * functions and filters of tables, ends of tasks) that do not return, and ends the process if --unit-timeout asks for that.
 */
#ifndef HW_RUNTIME_JOB_WATCH_H
#define HW_RUNTIME_JOB_WATCH_H

#include <stdatomic.h>

#include "base/messages.h"
#include "cluster/cluster.h"

typedef struct hw_watchdog hw_watchdog;

typedef struct hw_watch_options {
    double warning, timeout; /* seconds; 0: never */
    hw_cluster *cluster;     /* whose nodes receive the reason when the process ends; NULL: one node */
    uint32_t node;
    hawser_messages *messages; /* of the job */
} hw_watch_options;

/* A place at which one thread calls such functions, one at a time. Any thread may read all fields except the last three. */
typedef struct hw_call_place {
    /* Nanoseconds of hw_seconds at which the function began to compute; 0: none does, or it waits. */
    atomic_uint_fast64_t since;
    /* "unit"; the name of the unit, loop, state or function; the table. Name and table may be NULL. The texts exist as long
     * as the place is watched. */
    _Atomic(const char *) kind, name, table;
    atomic_uint_fast64_t clock; /* 1 + the clock; 0: outside of clocks */
    uint32_t block;             /* UINT32_MAX: none */
    /* Only the watchdog uses the rest: the last value of `since`, seconds of the next warning, the next place. */
    uint64_t seen;
    double warn_at;
    struct hw_call_place *next;
} hw_call_place;

/* The state of a place before a call. */
typedef struct hw_watched_before {
    uint64_t since;
    const char *kind, *name;
} hw_watched_before;

/* Call them around a call of a user's function; calls may nest. `now` is in seconds. */
static inline hw_watched_before hw_watch_begin(hw_call_place *place, const char *kind, const char *name, double now)
{
    hw_watched_before before = {atomic_load_explicit(&place->since, memory_order_relaxed),
                                atomic_load_explicit(&place->kind, memory_order_relaxed),
                                atomic_load_explicit(&place->name, memory_order_relaxed)};
    atomic_store_explicit(&place->kind, kind, memory_order_relaxed);
    atomic_store_explicit(&place->name, name, memory_order_relaxed);
    atomic_store_explicit(&place->since, (uint64_t)(now * 1e9), memory_order_release);
    return before;
}

static inline void hw_watch_end(hw_call_place *place, hw_watched_before before)
{
    atomic_store_explicit(&place->kind, before.kind, memory_order_relaxed);
    atomic_store_explicit(&place->name, before.name, memory_order_relaxed);
    atomic_store_explicit(&place->since, before.since, memory_order_release);
}

/* Makes the watchdog of a job. Free it after all places were removed, and before the cluster. */
hawser_status hw_watchdog_new(const hw_watch_options *options, hw_watchdog **watchdog, hawser_error *error) HAWSER_MUST_USE;
void hw_watchdog_free(hw_watchdog *watchdog);

/* Watches a place from now on; the first one starts the watchdog's thread. Does nothing without a watchdog, or if nothing is
 * asked of it. */
hawser_status hw_watch_add(hw_watchdog *watchdog, hw_call_place *place, hawser_error *error) HAWSER_MUST_USE;
/* Must be called before the place is freed. May wait until a warning is printed. Does nothing for a place that is not
 * watched. */
void hw_watch_remove(hw_watchdog *watchdog, hw_call_place *place);

#endif
