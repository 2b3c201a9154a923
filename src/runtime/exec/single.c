/*
 * single.c - runs one block and the driver in turn on the calling thread: one continues when the other waits. Between two
 * threads each message would cost a wakeup, which takes longer than a clock of small data.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "runtime/exec/coroutine.h"
#include "runtime/exec/executor.h"

enum { BLOCK, DRIVER, RUNNERS };

static const size_t STACK_BYTES = (size_t)8 << 20; /* the usual stack of a thread, because units are the user's code */

typedef struct hw_single_runner {
    hw_coroutine coroutine; /* the driver's is the calling thread's own stack */
    bool parked;
    double deadline; /* while parked */
    atomic_bool woken;
} hw_single_runner;

typedef struct hw_single {
    hw_executor super;
    void (*body)(void *argument, uint32_t number);
    void *argument;
    pthread_mutex_t mutex; /* for the condition, on which the thread sleeps while both wait */
    pthread_cond_t condition;
    hw_single_runner runners[RUNNERS];
} hw_single;

static void block_main(void *argument)
{
    hw_single *executor = argument;
    executor->body(executor->argument, BLOCK);
}

static hawser_status run(hw_executor *super, void (*body)(void *argument, uint32_t number), void *argument,
                         hawser_error *error)
{
    hw_single *executor = (hw_single *)super;
    hw_single_runner *block = &executor->runners[BLOCK], *driver = &executor->runners[DRIVER];
    executor->body = body;
    executor->argument = argument;
    hw_coroutine_home(&driver->coroutine);
    if (!hw_coroutine_begin(&block->coroutine, &driver->coroutine, block_main, executor))
        return hawser_fail(error, HAWSER_INTERNAL, "cannot make a coroutine for the block");
    block->parked = driver->parked = false;
    body(argument, DRIVER);
    driver->coroutine.ended = true;
    if (!block->coroutine.ended)
        hw_coroutine_switch(&driver->coroutine, &block->coroutine);
    hw_coroutine_end(&block->coroutine);
    return HAWSER_OK;
}

static bool can_run(const hw_single_runner *runner, double time)
{
    return !runner->coroutine.ended &&
           (!runner->parked || atomic_load_explicit(&runner->woken, memory_order_relaxed) || runner->deadline <= time);
}

static bool is_woken(const hw_single *executor)
{
    return atomic_load(&executor->runners[BLOCK].woken) || atomic_load(&executor->runners[DRIVER].woken);
}

/* Sleeps until a thread of the store wakes a runner, or until the deadline. */
static void sleep_until(hw_single *executor, double deadline)
{
    struct timespec until = hw_timespec(deadline);
    int result = 0;
    pthread_mutex_lock(&executor->mutex);
    while (!is_woken(executor) && result == 0)
        result = pthread_cond_timedwait(&executor->condition, &executor->mutex, &until);
    pthread_mutex_unlock(&executor->mutex);
}

static void park(hw_executor *super, uint32_t number, double deadline)
{
    hw_single *executor = (hw_single *)super;
    hw_single_runner *self = &executor->runners[number], *other = &executor->runners[RUNNERS - 1 - number];
    self->parked = true;
    self->deadline = deadline;
    while (!atomic_exchange(&self->woken, false)) {
        double time = hw_seconds();
        if (time >= deadline)
            break;
        if (can_run(other, time))
            hw_coroutine_switch(&self->coroutine, &other->coroutine);
        else
            sleep_until(executor, !other->coroutine.ended && other->deadline < deadline ? other->deadline : deadline);
    }
    self->parked = false;
}

static void wake(hw_executor *super, uint32_t number)
{
    hw_single *executor = (hw_single *)super;
    if (atomic_exchange(&executor->runners[number].woken, true))
        return;
    pthread_mutex_lock(&executor->mutex);
    pthread_cond_signal(&executor->condition);
    pthread_mutex_unlock(&executor->mutex);
}

/* Lets the other runner continue if its deadline has passed, so that signals and time limits are seen while a block sends
 * without waiting. */
static void yield(hw_executor *super, uint32_t number)
{
    hw_single *executor = (hw_single *)super;
    hw_single_runner *other = &executor->runners[RUNNERS - 1 - number];
    if (other->parked && !other->coroutine.ended && other->deadline <= hw_seconds())
        hw_coroutine_switch(&executor->runners[number].coroutine, &other->coroutine);
}

static void sleep_seconds(hw_executor *super, uint32_t number, double seconds)
{
    hw_single_runner *self = &((hw_single *)super)->runners[number];
    double until = hw_seconds() + seconds;
    bool woken = atomic_load(&self->woken);
    while (hw_seconds() < until) {
        park(super, number, until);
        woken = true; /* a wake may have arrived; one needless read of the inbox does no harm */
    }
    atomic_store(&self->woken, woken);
}

static double now(hw_executor *super)
{
    (void)super;
    return hw_seconds();
}

static uint32_t busy(hw_executor *super)
{
    const hw_single *executor = (const hw_single *)super;
    uint32_t count = 0;
    for (uint32_t i = 0; i < RUNNERS; i++)
        count += can_run(&executor->runners[i], 0.0);
    return count;
}

static void free_executor(hw_executor *super)
{
    hw_single *executor = (hw_single *)super;
    hw_coroutine_free(&executor->runners[BLOCK].coroutine);
    pthread_mutex_destroy(&executor->mutex);
    pthread_cond_destroy(&executor->condition);
    free(executor);
}

hawser_status hw_single_executor(hw_executor **out, hawser_error *error)
{
    static const hw_executor_ops ops = {run, park, wake, yield, NULL, sleep_seconds, now, busy, free_executor};
    *out = NULL;
    hw_single *executor = NULL;
    HAWSER_TRY(HW_NEW(&executor, 1, "an executor", error));
    executor->super.ops = &ops;
    if (pthread_mutex_init(&executor->mutex, NULL) != 0) {
        free(executor);
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot make a mutex");
    }
    if (hw_thread_condition(&executor->condition) != 0) {
        pthread_mutex_destroy(&executor->mutex);
        free(executor);
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot make a condition variable");
    }
    hawser_status status = hw_coroutine_new(&executor->runners[BLOCK].coroutine, STACK_BYTES, error);
    if (status != HAWSER_OK) {
        free_executor(&executor->super);
        return status;
    }
    *out = &executor->super;
    return HAWSER_OK;
}
