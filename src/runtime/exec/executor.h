/*
 * executor.h - the runners that execute blocks and driver: operating-system threads, one thread for a single block and the
 * driver, or, in tests, fibers ordered by a seed or a chooser.
 *
 * A runner is identified by its number. It runs until it parks. A wake makes a parked runner return, or the next park of a
 * running one. The runtime blocks nowhere else.
 */
#ifndef HW_RUNTIME_EXEC_EXECUTOR_H
#define HW_RUNTIME_EXEC_EXECUTOR_H

#include <stdint.h>

#include "hawser/status.h"

typedef struct hw_executor hw_executor;

typedef struct hw_executor_ops {
    /* Runs body(argument, i) for i < count, each on its runner, and returns when all have returned. The last one runs on the
     * calling thread and needs no permit. On an error no body has run. */
    hawser_status (*run)(hw_executor *executor, void (*body)(void *argument, uint32_t number), void *argument,
                         hawser_error *error);
    /* Called by runner `number`: returns after a wake since its last park, or when now() >= deadline; may return early. */
    void (*park)(hw_executor *executor, uint32_t number, double deadline);
    /* Wakes a runner. Any runner may call it; never blocks. */
    void (*wake)(hw_executor *executor, uint32_t number);
    /* A yield point: another runner may continue instead; tests switch here. */
    void (*yield)(hw_executor *executor, uint32_t number);
    /* Lets a runner that waits for a permit continue instead, until this one gets a permit again. Not for the driver. NULL:
     * there are no permits. */
    void (*give_way)(hw_executor *executor, uint32_t number);
    /* Lets `seconds` of this runner's time pass. */
    void (*sleep)(hw_executor *executor, uint32_t number, double seconds);
    double (*now)(hw_executor *executor);
    /* Returns the number of runners that are neither parked nor ended, the caller included. */
    uint32_t (*busy)(hw_executor *executor);
    void (*free)(hw_executor *executor);
} hw_executor_ops;

struct hw_executor {
    const hw_executor_ops *ops;
};

/* Threads: `permits` of the first count - 1 run at a time; with `spin` a waiting runner polls shortly before it sleeps. */
hawser_status hw_thread_executor(uint32_t count, uint32_t permits, int spin, hw_executor **executor,
                                 hawser_error *error) HAWSER_MUST_USE;
/* One block, runner 0, and the driver, runner 1, in turn on the calling thread. The driver does nothing while the block
 * computes, so its CPU time is counted as the block's. */
hawser_status hw_single_executor(hw_executor **executor, hawser_error *error) HAWSER_MUST_USE;
/* Chooses the next runner at each yield point: returns an index of `ready`, the ascending numbers of the `count` runners
 * that can continue (at least one). */
typedef struct hw_chooser {
    uint32_t (*choose)(void *argument, const uint32_t *ready, uint32_t count);
    void *argument;
} hw_chooser;

/* Fibers of the calling thread, in the order of the chooser, or, if it has no function, in an order drawn from `seed`. Time
 * jumps when all fibers wait. */
hawser_status hw_fiber_executor(uint32_t count, uint64_t seed, hw_chooser chooser, hw_executor **executor,
                                hawser_error *error) HAWSER_MUST_USE;

#endif
