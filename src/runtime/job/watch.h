/*
 * watch.h - the watchdog of a job: it names calls of a user's functions (units, observers, stop tests, merge functions, functions and filters
 * of tables, ends of tasks) that do not return, and ends the process if --unit-timeout asks for that.
 */
#ifndef HW_RUNTIME_JOB_WATCH_H
#define HW_RUNTIME_JOB_WATCH_H

#include <stdatomic.h>

#include "cluster/cluster.h"

typedef struct hw_watchdog hw_watchdog;

typedef struct hw_watch_options {
    double warning, timeout; /* seconds; 0: never */
    hw_cluster *cluster;     /* whose nodes receive the reason when the process ends; NULL: one node */
    uint32_t node;
} hw_watch_options;

/* A place from which one such function at a time is called, by one thread. All fields but the last three may be read by any thread. */
typedef struct hw_call_place {
    atomic_uint_fast64_t since; /* nanoseconds of hw_seconds since which the function computes; 0: none does, or it waits */
    _Atomic(const char *) kind; /* "unit" */
    _Atomic(const char *)
        name; /* of the unit, loop, state or function; NULL: it has none. This text and the next one exist as long as */
    _Atomic(const char *) table; /* the place is watched; NULL: no table */
    atomic_uint_fast64_t clock;  /* 1 + the clock; 0: outside of clocks */
    uint32_t block;              /* UINT32_MAX: none */
    uint64_t seen;               /* for the watchdog alone: `since` as last seen; */
    double warn_at;              /* seconds of the next warning; */
    struct hw_call_place *next;  /* the next place */
} hw_call_place;

/* What a place ran before a call. */
typedef struct hw_watched_before {
    uint64_t since;
    const char *kind, *name;
} hw_watched_before;

/* Around a call; calls may nest. `now` is in seconds. */
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

/* The watchdog of a job; freed after all places have been removed, and before the cluster. */
hawser_status hw_watchdog_new(const hw_watch_options *options, hw_watchdog **watchdog, hawser_error *error) HAWSER_MUST_USE;
void hw_watchdog_free(hw_watchdog *watchdog);

/* Watches a place from now on; the first one starts the watchdog's thread. Does nothing without a watchdog, or if nothing is asked of it. */
hawser_status hw_watch_add(hw_watchdog *watchdog, hw_call_place *place, hawser_error *error) HAWSER_MUST_USE;
/* Must be called before the place is freed. May wait until a warning is printed. Does nothing for a place that is not watched. */
void hw_watch_remove(hw_watchdog *watchdog, hw_call_place *place);

#endif
