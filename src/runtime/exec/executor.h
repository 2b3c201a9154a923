/*
 * executor.h - the runners that carry blocks and driver: operating-system threads, or (tests) fibers under a seed or somebody's choices.
 *
 * A runner is known by its number. It runs until it parks; wake makes a parked runner, or the next park of a running one,
 * return. Nobody else in the runtime blocks.
 */
#ifndef HW_RUNTIME_EXEC_EXECUTOR_H
#define HW_RUNTIME_EXEC_EXECUTOR_H

#include <stdint.h>

#include "hawser/status.h"

typedef struct hw_executor hw_executor;

typedef struct hw_executor_ops {
    /* Runs body(argument, i) for i < count, each on its runner; returns when all have returned. The last one runs on the calling
     * thread and never needs a permit. On an error no body has run. */
    hawser_status (*run)(hw_executor *executor, void (*body)(void *argument, uint32_t number), void *argument,
                         hawser_error *error);
    /* Called by runner `number`: returns after a wake since its last park, or when now() >= deadline; may return early. */
    void (*park)(hw_executor *executor, uint32_t number, double deadline);
    /* Any runner may call it; never blocks. */
    void (*wake)(hw_executor *executor, uint32_t number);
    /* A point at which another runner may be preferred; tests switch here. */
    void (*breathe)(hw_executor *executor, uint32_t number);
    /* Lets `seconds` of this runner's time pass. */
    void (*sleep)(hw_executor *executor, uint32_t number, double seconds);
    double (*now)(hw_executor *executor);
    /* Runners that are neither parked nor ended, the caller included. */
    uint32_t (*busy)(hw_executor *executor);
    void (*free)(hw_executor *executor);
} hw_executor_ops;

struct hw_executor {
    const hw_executor_ops *ops;
};

/* Threads: `permits` of the first count - 1 compute at a time; `spin` lets a waiting runner look shortly before it sleeps. */
hawser_status hw_thread_executor(uint32_t count, uint32_t permits, int spin, hw_executor **executor,
                                 hawser_error *error) HAWSER_MUST_USE;
/* Who goes on, asked wherever one may go on or another could: the place in `ready`, which has the numbers of the `count` runners that
 * can (at least one, ascending). */
typedef struct hw_chooser {
    uint32_t (*choose)(void *argument, const uint32_t *ready, uint32_t count);
    void *argument;
} hw_chooser;

/* Fibers of the calling thread, in an order that the chooser makes, or that is drawn from `seed` where it has no function; time jumps
 * when all wait. */
hawser_status hw_fiber_executor(uint32_t count, uint64_t seed, hw_chooser chooser, hw_executor **executor,
                                hawser_error *error) HAWSER_MUST_USE;

#endif
