/*
 * fiber.c - blocks carried by fibers of one thread, in an order drawn from a seed or chosen: any schedule that messages can have, again.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/memory.h"
#include "base/random.h"
#include "runtime/exec/crew.h"

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
    void *fake_stack; /* the address sanitizer's */
    void *race;       /* the thread sanitizer's view of this fiber */
} hw_fiber;

typedef struct hw_fibers {
    hw_crew super;
    uint32_t count, current, alive;
    double time;
    hw_random random;
    hw_chooser chooser; /* without a function: the random numbers */
    uint32_t *ready;    /* who can go on, for the choice */
    void (*body)(void *argument, uint32_t number);
    void *argument;
    hw_fiber home; /* the thread that runs the scheduler */
    const void *home_stack;
    size_t home_size;
    hw_fiber *fibers;
} hw_fibers;

/* Leaves `from` for `to`; an ended fiber gives its sanitizer's stack back. */
static void switch_fiber(hw_fibers *crew, hw_fiber *from, hw_fiber *to)
{
    (void)crew;
#ifdef HW_ASAN
    const void *bottom = to == &crew->home ? crew->home_stack : to->stack;
    size_t size = to == &crew->home ? crew->home_size : STACK_BYTES;
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
    hw_fibers *crew = (hw_fibers *)(uintptr_t)((uint64_t)high << 32 | low);
#ifdef HW_ASAN
    __sanitizer_finish_switch_fiber(NULL, &crew->home_stack, &crew->home_size);
#endif
    uint32_t number = crew->current;
    crew->body(crew->argument, number);
    crew->fibers[number].ended = true;
    crew->alive--;
    switch_fiber(crew, &crew->fibers[number], &crew->home);
}

static bool runnable(const hw_fibers *crew, const hw_fiber *fiber)
{
    return !fiber->ended && (!fiber->parked || fiber->woken || fiber->deadline <= crew->time);
}

/* When all wait, time goes to the first deadline. */
static uint32_t choose(hw_fibers *crew)
{
    uint32_t ready = 0;
    double first = 1e300;
    for (uint32_t i = 0; i < crew->count; i++) {
        if (runnable(crew, &crew->fibers[i]))
            crew->ready[ready++] = i;
        if (!crew->fibers[i].ended && crew->fibers[i].deadline < first)
            first = crew->fibers[i].deadline;
    }
    if (ready == 0) {
        crew->time = first;
        return choose(crew);
    }
    if (crew->chooser.choose != NULL)
        return crew->ready[crew->chooser.choose(crew->chooser.argument, crew->ready, ready)];
    return crew->ready[hw_random_below(&crew->random, ready)];
}

static bool prepare(hw_fibers *crew, hw_fiber *fiber)
{
    uint64_t pointer = (uintptr_t)crew;
    if (getcontext(&fiber->context) != 0)
        return false;
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&fiber->context, (void (*)(void))fiber_main, 2, (unsigned)(pointer >> 32), (unsigned)pointer);
    return true;
}

static hawser_status run(hw_crew *super, void (*body)(void *argument, uint32_t number), void *argument, hawser_error *error)
{
    hw_fibers *crew = (hw_fibers *)super;
    crew->body = body;
    crew->argument = argument;
    crew->alive = crew->count;
    for (uint32_t i = 0; i < crew->count; i++)
        if (!prepare(crew, &crew->fibers[i]))
            return hawser_fail(error, HAWSER_INTERNAL, "cannot make a fiber");
#ifdef HW_TSAN
    crew->home.race = __tsan_get_current_fiber();
    for (uint32_t i = 0; i < crew->count; i++)
        crew->fibers[i].race = __tsan_create_fiber(0);
#endif
    while (crew->alive != 0) {
        crew->current = choose(crew);
        crew->fibers[crew->current].parked = false;
        switch_fiber(crew, &crew->home, &crew->fibers[crew->current]);
    }
#ifdef HW_TSAN
    for (uint32_t i = 0; i < crew->count; i++)
        __tsan_destroy_fiber(crew->fibers[i].race);
#endif
    return HAWSER_OK;
}

static void park(hw_crew *super, uint32_t number, double deadline)
{
    hw_fibers *crew = (hw_fibers *)super;
    hw_fiber *self = &crew->fibers[number];
    self->parked = true;
    self->deadline = deadline;
    switch_fiber(crew, self, &crew->home);
    self->woken = false;
}

static void wake(hw_crew *super, uint32_t number)
{
    ((hw_fibers *)super)->fibers[number].woken = true;
}

static void breathe(hw_crew *super, uint32_t number)
{
    hw_fibers *crew = (hw_fibers *)super;
    if (crew->chooser.choose != NULL || hw_random_below(&crew->random, 2) == 0)
        switch_fiber(crew, &crew->fibers[number], &crew->home);
}

static void sleep_seconds(hw_crew *super, uint32_t number, double seconds)
{
    hw_fibers *crew = (hw_fibers *)super;
    double until = crew->time + seconds;
    bool woken = crew->fibers[number].woken;
    while (crew->time < until) {
        park(super, number, until);
        woken = true; /* perhaps: one look too many at the inbox does no harm */
    }
    crew->fibers[number].woken = woken;
}

static double now(hw_crew *super)
{
    return ((hw_fibers *)super)->time;
}

static uint32_t busy(hw_crew *super)
{
    const hw_fibers *crew = (const hw_fibers *)super;
    uint32_t count = 0;
    for (uint32_t i = 0; i < crew->count; i++)
        count += !crew->fibers[i].ended && (!crew->fibers[i].parked || crew->fibers[i].woken);
    return count;
}

static void free_crew(hw_crew *super)
{
    hw_fibers *crew = (hw_fibers *)super;
    for (uint32_t i = 0; crew->fibers != NULL && i < crew->count; i++)
        if (crew->fibers[i].stack != NULL)
            munmap(crew->fibers[i].stack, STACK_BYTES);
    free(crew->fibers);
    free(crew->ready);
    free(crew);
}

hawser_status hw_fiber_crew(uint32_t count, uint64_t seed, hw_chooser chooser, hw_crew **out, hawser_error *error)
{
    static const hw_crew_ops ops = {run, park, wake, breathe, sleep_seconds, now, busy, free_crew};
    *out = NULL;
    hw_fibers *crew = NULL;
    HAWSER_TRY(HW_NEW(&crew, 1, "fibers", error));
    crew->super.ops = &ops;
    crew->count = count;
    crew->random = hw_random_at(seed, 0, 0, 0);
    crew->chooser = chooser;
    hawser_status status = HW_NEW(&crew->ready, count, "fibers", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&crew->fibers, count, "fibers", error);
    for (uint32_t i = 0; i < count && status == HAWSER_OK; i++) {
        void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (stack == MAP_FAILED)
            status = hawser_fail(error, HAWSER_NO_MEMORY, "cannot map the stack of a fiber");
        else
            crew->fibers[i].stack = stack;
    }
    if (status != HAWSER_OK) {
        free_crew(&crew->super);
        return status;
    }
    *out = &crew->super;
    return HAWSER_OK;
}
