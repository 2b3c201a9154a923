/*
 * crew.h - the vehicles that carry blocks and driver: operating-system threads, or (tests) fibers under a seed or somebody's choices.
 *
 * A vehicle is known by its number. It runs until it parks; wake makes a parked vehicle, or the next park of a running one,
 * return. Nobody else in the runtime blocks.
 */
#ifndef HW_RUNTIME_EXEC_CREW_H
#define HW_RUNTIME_EXEC_CREW_H

#include <stdint.h>

#include "hawser/status.h"

typedef struct hw_crew hw_crew;

typedef struct hw_crew_ops {
    /* Runs body(argument, i) for i < count, each on its vehicle; returns when all have returned. The last one runs on the calling
     * thread and never needs a permit. On an error no body has run. */
    hawser_status (*run)(hw_crew *crew, void (*body)(void *argument, uint32_t number), void *argument, hawser_error *error);
    /* Called by vehicle `number`: returns after a wake since its last park, or when now() >= deadline; may return early. */
    void (*park)(hw_crew *crew, uint32_t number, double deadline);
    /* Any vehicle may call it; never blocks. */
    void (*wake)(hw_crew *crew, uint32_t number);
    /* A point at which another vehicle may be preferred; tests switch here. */
    void (*breathe)(hw_crew *crew, uint32_t number);
    /* Lets `seconds` of this vehicle's time pass. */
    void (*sleep)(hw_crew *crew, uint32_t number, double seconds);
    double (*now)(hw_crew *crew);
    /* Vehicles that are neither parked nor ended, the caller included. */
    uint32_t (*busy)(hw_crew *crew);
    void (*free)(hw_crew *crew);
} hw_crew_ops;

struct hw_crew {
    const hw_crew_ops *ops;
};

/* Threads: `permits` of the first count - 1 compute at a time; `spin` lets a waiting vehicle look shortly before it sleeps. */
hawser_status hw_thread_crew(uint32_t count, uint32_t permits, int spin, hw_crew **crew,
                             hawser_error *error) HAWSER_MUST_USE;
/* Who goes on, asked wherever one may go on or another could: the place in `ready`, which has the numbers of the `count` vehicles that
 * can (at least one, ascending). */
typedef struct hw_chooser {
    uint32_t (*choose)(void *argument, const uint32_t *ready, uint32_t count);
    void *argument;
} hw_chooser;

/* Fibers of the calling thread, in an order that the chooser makes, or that is drawn from `seed` where it has no function; time jumps
 * when all wait. */
hawser_status hw_fiber_crew(uint32_t count, uint64_t seed, hw_chooser chooser, hw_crew **crew,
                            hawser_error *error) HAWSER_MUST_USE;

#endif
