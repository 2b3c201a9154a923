/* fiber.c - runs blocks as fibers of one thread, in an order drawn from a seed or chosen by a function, so that any schedule
 * that messages can have can be repeated. */
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "runtime/exec/coroutine.h"
#include "runtime/exec/executor.h"

enum { STACK_BYTES = 1 << 20 };

typedef struct hw_fiber {
    hw_coroutine coroutine;
    struct hw_fibers *executor;
    bool parked, woken;
    double deadline;
} hw_fiber;

typedef struct hw_fibers {
    hw_executor super;
    uint32_t count, alive;
    double time;
    hw_random random;
    hw_chooser chooser; /* NULL function: random numbers choose */
    uint32_t *ready;    /* the fibers that can continue */
    void (*body)(void *argument, uint32_t number);
    void *argument;
    hw_coroutine home; /* the thread that runs the scheduler */
    hw_fiber *fibers;
} hw_fibers;

static void fiber_main(void *argument)
{
    hw_fiber *fiber = argument;
    hw_fibers *executor = fiber->executor;
    executor->body(executor->argument, (uint32_t)(fiber - executor->fibers));
    executor->alive--;
}

/* Lets the scheduler continue. */
static void leave(hw_fiber *fiber)
{
    hw_coroutine_switch(&fiber->coroutine, &fiber->executor->home);
}

static bool runnable(const hw_fibers *executor, const hw_fiber *fiber)
{
    return !fiber->coroutine.ended && (!fiber->parked || fiber->woken || fiber->deadline <= executor->time);
}

/* Chooses the next fiber. If all wait, time advances to the first deadline. */
static uint32_t choose(hw_fibers *executor)
{
    uint32_t ready = 0;
    double first = 1e300;
    for (uint32_t i = 0; i < executor->count; i++) {
        if (runnable(executor, &executor->fibers[i]))
            executor->ready[ready++] = i;
        if (!executor->fibers[i].coroutine.ended && executor->fibers[i].deadline < first)
            first = executor->fibers[i].deadline;
    }
    if (ready == 0) {
        executor->time = first;
        return choose(executor);
    }
    if (executor->chooser.choose != NULL)
        return executor->ready[executor->chooser.choose(executor->chooser.argument, executor->ready, ready)];
    return executor->ready[hw_random_below(&executor->random, ready)];
}

static hawser_status run(hw_executor *super, void (*body)(void *argument, uint32_t number), void *argument,
                         hawser_error *error)
{
    hw_fibers *executor = (hw_fibers *)super;
    executor->body = body;
    executor->argument = argument;
    executor->alive = executor->count;
    hw_coroutine_home(&executor->home);
    for (uint32_t i = 0; i < executor->count; i++)
        if (!hw_coroutine_begin(&executor->fibers[i].coroutine, &executor->home, fiber_main, &executor->fibers[i]))
            return hawser_fail(error, HAWSER_INTERNAL, "cannot make a fiber");
    while (executor->alive != 0) {
        hw_fiber *next = &executor->fibers[choose(executor)];
        next->parked = false;
        hw_coroutine_switch(&executor->home, &next->coroutine);
    }
    for (uint32_t i = 0; i < executor->count; i++)
        hw_coroutine_end(&executor->fibers[i].coroutine);
    return HAWSER_OK;
}

static void park(hw_executor *super, uint32_t number, double deadline)
{
    hw_fibers *executor = (hw_fibers *)super;
    hw_fiber *self = &executor->fibers[number];
    self->parked = true;
    self->deadline = deadline;
    leave(self);
    self->woken = false;
}

static void wake(hw_executor *super, uint32_t number)
{
    ((hw_fibers *)super)->fibers[number].woken = true;
}

static void yield(hw_executor *super, uint32_t number)
{
    hw_fibers *executor = (hw_fibers *)super;
    if (executor->chooser.choose != NULL || hw_random_below(&executor->random, 2) == 0)
        leave(&executor->fibers[number]);
}

static void sleep_seconds(hw_executor *super, uint32_t number, double seconds)
{
    hw_fibers *executor = (hw_fibers *)super;
    double until = executor->time + seconds;
    bool woken = executor->fibers[number].woken;
    while (executor->time < until) {
        park(super, number, until);
        woken = true; /* a wake may have arrived; one needless read of the inbox does no harm */
    }
    executor->fibers[number].woken = woken;
}

static double now(hw_executor *super)
{
    return ((hw_fibers *)super)->time;
}

static uint32_t busy(hw_executor *super)
{
    const hw_fibers *executor = (const hw_fibers *)super;
    uint32_t count = 0;
    for (uint32_t i = 0; i < executor->count; i++)
        count += !executor->fibers[i].coroutine.ended && (!executor->fibers[i].parked || executor->fibers[i].woken);
    return count;
}

static void free_executor(hw_executor *super)
{
    hw_fibers *executor = (hw_fibers *)super;
    for (uint32_t i = 0; executor->fibers != NULL && i < executor->count; i++)
        hw_coroutine_free(&executor->fibers[i].coroutine);
    free(executor->fibers);
    free(executor->ready);
    free(executor);
}

hawser_status hw_fiber_executor(uint32_t count, uint64_t seed, hw_chooser chooser, hw_executor **out, hawser_error *error)
{
    static const hw_executor_ops ops = {run, park, wake, yield, NULL, sleep_seconds, now, busy, free_executor};
    *out = NULL;
    hw_fibers *executor = NULL;
    HAWSER_TRY(HW_NEW(&executor, 1, "fibers", error));
    executor->super.ops = &ops;
    executor->count = count;
    executor->random = hw_random_at(seed, 0, 0, 0);
    executor->chooser = chooser;
    hawser_status status = HW_NEW(&executor->ready, count, "fibers", error);
    HAWSER_THEN(status, HW_NEW(&executor->fibers, count, "fibers", error));
    for (uint32_t i = 0; i < count && status == HAWSER_OK; i++) {
        executor->fibers[i].executor = executor;
        status = hw_coroutine_new(&executor->fibers[i].coroutine, STACK_BYTES, error);
    }
    if (status != HAWSER_OK) {
        free_executor(&executor->super);
        return status;
    }
    *out = &executor->super;
    return HAWSER_OK;
}
