/* fiber.c - runs blocks as fibers of one thread, in an order drawn from a seed or chosen by a function, so that any schedule that
 * messages can have can be repeated. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/memory.h"
#include "base/random.h"
#include "runtime/exec/executor.h"

#if defined(__SANITIZE_ADDRESS__)
#define HW_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define HW_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HW_ASAN 1
#elif __has_feature(thread_sanitizer)
#define HW_TSAN 1
#endif
#endif
#ifdef HW_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef HW_TSAN
#include <sanitizer/tsan_interface.h>
#endif

enum { STACK_BYTES = 1 << 20 };

typedef struct hw_fiber {
    ucontext_t context;
    void *stack;
    bool parked, woken, ended;
    double deadline;
    void *fake_stack; /* for the address sanitizer */
    void *race;       /* the thread sanitizer's view of this fiber */
} hw_fiber;

typedef struct hw_fibers {
    hw_executor super;
    uint32_t count, current, alive;
    double time;
    hw_random random;
    hw_chooser chooser; /* NULL function: random numbers choose */
    uint32_t *ready;    /* the fibers that can continue */
    void (*body)(void *argument, uint32_t number);
    void *argument;
    hw_fiber home; /* the thread that runs the scheduler */
    const void *home_stack;
    size_t home_size;
    hw_fiber *fibers;
} hw_fibers;

/* Switches from `from` to `to`. A fiber that has ended returns its stack to the sanitizer. */
static void switch_fiber(hw_fibers *executor, hw_fiber *from, hw_fiber *to)
{
    (void)executor;
#ifdef HW_ASAN
    const void *bottom = to == &executor->home ? executor->home_stack : to->stack;
    size_t size = to == &executor->home ? executor->home_size : STACK_BYTES;
    __sanitizer_start_switch_fiber(from->ended ? NULL : &from->fake_stack, bottom, size);
#endif
#ifdef HW_TSAN
    __tsan_switch_to_fiber(to->race, 0);
#endif
    swapcontext(&from->context, &to->context);
#ifdef HW_ASAN
    const void *old_bottom;
    size_t old_size;
    __sanitizer_finish_switch_fiber(from->fake_stack, &old_bottom, &old_size);
#endif
}

/* makecontext passes ints only, so the pointer comes in two halves. */
static void fiber_main(unsigned high, unsigned low)
{
    hw_fibers *executor = (hw_fibers *)(uintptr_t)((uint64_t)high << 32 | low);
#ifdef HW_ASAN
    __sanitizer_finish_switch_fiber(NULL, &executor->home_stack, &executor->home_size);
#endif
    uint32_t number = executor->current;
    executor->body(executor->argument, number);
    executor->fibers[number].ended = true;
    executor->alive--;
    switch_fiber(executor, &executor->fibers[number], &executor->home);
}

static bool runnable(const hw_fibers *executor, const hw_fiber *fiber)
{
    return !fiber->ended && (!fiber->parked || fiber->woken || fiber->deadline <= executor->time);
}

/* Chooses the next fiber. If all wait, time advances to the first deadline. */
static uint32_t choose(hw_fibers *executor)
{
    uint32_t ready = 0;
    double first = 1e300;
    for (uint32_t i = 0; i < executor->count; i++) {
        if (runnable(executor, &executor->fibers[i]))
            executor->ready[ready++] = i;
        if (!executor->fibers[i].ended && executor->fibers[i].deadline < first)
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

static bool prepare(hw_fibers *executor, hw_fiber *fiber)
{
    uint64_t pointer = (uintptr_t)executor;
    if (getcontext(&fiber->context) != 0)
        return false;
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&fiber->context, (void (*)(void))fiber_main, 2, (unsigned)(pointer >> 32), (unsigned)pointer);
    return true;
}

static hawser_status run(hw_executor *super, void (*body)(void *argument, uint32_t number), void *argument,
                         hawser_error *error)
{
    hw_fibers *executor = (hw_fibers *)super;
    executor->body = body;
    executor->argument = argument;
    executor->alive = executor->count;
    for (uint32_t i = 0; i < executor->count; i++)
        if (!prepare(executor, &executor->fibers[i]))
            return hawser_fail(error, HAWSER_INTERNAL, "cannot make a fiber");
#ifdef HW_TSAN
    executor->home.race = __tsan_get_current_fiber();
    for (uint32_t i = 0; i < executor->count; i++)
        executor->fibers[i].race = __tsan_create_fiber(0);
#endif
    while (executor->alive != 0) {
        executor->current = choose(executor);
        executor->fibers[executor->current].parked = false;
        switch_fiber(executor, &executor->home, &executor->fibers[executor->current]);
    }
#ifdef HW_TSAN
    for (uint32_t i = 0; i < executor->count; i++)
        __tsan_destroy_fiber(executor->fibers[i].race);
#endif
    return HAWSER_OK;
}

static void park(hw_executor *super, uint32_t number, double deadline)
{
    hw_fibers *executor = (hw_fibers *)super;
    hw_fiber *self = &executor->fibers[number];
    self->parked = true;
    self->deadline = deadline;
    switch_fiber(executor, self, &executor->home);
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
        switch_fiber(executor, &executor->fibers[number], &executor->home);
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
        count += !executor->fibers[i].ended && (!executor->fibers[i].parked || executor->fibers[i].woken);
    return count;
}

static void free_executor(hw_executor *super)
{
    hw_fibers *executor = (hw_fibers *)super;
    for (uint32_t i = 0; executor->fibers != NULL && i < executor->count; i++)
        if (executor->fibers[i].stack != NULL)
            munmap(executor->fibers[i].stack, STACK_BYTES);
    free(executor->fibers);
    free(executor->ready);
    free(executor);
}

hawser_status hw_fiber_executor(uint32_t count, uint64_t seed, hw_chooser chooser, hw_executor **out, hawser_error *error)
{
    static const hw_executor_ops ops = {run, park, wake, yield, sleep_seconds, now, busy, free_executor};
    *out = NULL;
    hw_fibers *executor = NULL;
    HAWSER_TRY(HW_NEW(&executor, 1, "fibers", error));
    executor->super.ops = &ops;
    executor->count = count;
    executor->random = hw_random_at(seed, 0, 0, 0);
    executor->chooser = chooser;
    hawser_status status = HW_NEW(&executor->ready, count, "fibers", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&executor->fibers, count, "fibers", error);
    for (uint32_t i = 0; i < count && status == HAWSER_OK; i++) {
        void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (stack == MAP_FAILED)
            status = hawser_fail(error, HAWSER_NO_MEMORY, "cannot map the stack of a fiber");
        else
            executor->fibers[i].stack = stack;
    }
    if (status != HAWSER_OK) {
        free_executor(&executor->super);
        return status;
    }
    *out = &executor->super;
    return HAWSER_OK;
}
