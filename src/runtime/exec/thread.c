/* thread.c - runs blocks as threads of the operating system. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "runtime/exec/executor.h"

/* A peer's share of a clock takes about as long as the own one. For that time polling costs less than to sleep and be
 * woken. */
#define SPIN_SECONDS 50e-6
enum { LOOKS = 32 }; /* polls between two reads of the time */

typedef struct hw_thread {
    struct hw_threads *executor;
    pthread_t id;
    uint32_t number;
    atomic_bool woken;
    bool made;   /* mutex and condition exist */
    bool parked; /* asleep and not counted as busy; guarded by mutex */
    pthread_mutex_t mutex;
    pthread_cond_t condition;
} hw_thread;

typedef struct hw_threads {
    hw_executor super;
    uint32_t count;
    int spin;
    void (*body)(void *argument, uint32_t number);
    void *argument;
    atomic_uint busy;
    pthread_mutex_t mutex; /* guards gate, permits and taken */
    pthread_cond_t condition;
    uint32_t permits;
    uint64_t taken;       /* permits, since the executor was made */
    atomic_uint waiting;  /* threads that need a permit; changed under the mutex */
    cpu_set_t processors; /* the processors that this process may use, if threads are spread over them; else none */
    int gate;             /* 0 closed, 1 go, -1 cancelled */
    hw_thread *threads;
} hw_threads;

/* Takes a permit once more than `after` have been taken. A signal may have reached a thread whose turn it was not, so it is
 * repeated. */
static void take_permit_after(hw_threads *executor, uint64_t after)
{
    atomic_fetch_add(&executor->waiting, 1);
    while (executor->permits == 0 || executor->taken < after)
        pthread_cond_wait(&executor->condition, &executor->mutex);
    executor->permits--;
    executor->taken++;
    if (atomic_fetch_sub(&executor->waiting, 1) > 1 && executor->permits > 0)
        pthread_cond_signal(&executor->condition);
}

static void take_permit(hw_threads *executor)
{
    pthread_mutex_lock(&executor->mutex);
    take_permit_after(executor, 0);
    pthread_mutex_unlock(&executor->mutex);
}

static void give_permit(hw_threads *executor)
{
    pthread_mutex_lock(&executor->mutex);
    executor->permits++;
    pthread_cond_signal(&executor->condition);
    pthread_mutex_unlock(&executor->mutex);
}

/* If one thread wakes all others, they begin on its processor, and the kernel takes tens of milliseconds to spread them. So
 * if there is a processor for each, they start on different ones and may move from there. */
static int start_thread(hw_thread *self, void *(*body)(void *argument))
{
    hw_threads *executor = self->executor;
    int here = sched_getcpu(), count = CPU_COUNT(&executor->processors);
    pthread_attr_t attributes;
    if (here < 0 || count < 2 || pthread_attr_init(&attributes) != 0)
        return pthread_create(&self->id, NULL, body, self);
    int place = here, steps = (int)(self->number % (uint32_t)count) + 1;
    while (steps > 0) {
        place = (place + 1) % CPU_SETSIZE;
        steps -= CPU_ISSET(place, &executor->processors) ? 1 : 0;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(place, &one);
    bool placed = pthread_attr_setaffinity_np(&attributes, sizeof one, &one) == 0;
    int failure = pthread_create(&self->id, placed ? &attributes : NULL, body, self);
    pthread_attr_destroy(&attributes);
    return failure == EINVAL ? pthread_create(&self->id, NULL, body, self) : failure; /* a processor was taken away */
}

static void *thread_main(void *argument)
{
    hw_thread *self = argument;
    hw_threads *executor = self->executor;
    pthread_mutex_lock(&executor->mutex);
    while (executor->gate == 0)
        pthread_cond_wait(&executor->condition, &executor->mutex);
    bool go = executor->gate > 0;
    pthread_mutex_unlock(&executor->mutex);
    if (!go)
        return NULL;
    if (CPU_COUNT(&executor->processors) > 1)
        (void)sched_setaffinity(0, sizeof executor->processors, &executor->processors);
    take_permit(executor);
    executor->body(executor->argument, self->number);
    atomic_fetch_sub(&executor->busy, 1);
    give_permit(executor);
    return NULL;
}

static void open_gate(hw_threads *executor, int gate)
{
    pthread_mutex_lock(&executor->mutex);
    executor->gate = gate;
    pthread_cond_broadcast(&executor->condition);
    pthread_mutex_unlock(&executor->mutex);
}

static hawser_status run(hw_executor *super, void (*body)(void *argument, uint32_t number), void *argument,
                         hawser_error *error)
{
    hw_threads *executor = (hw_threads *)super;
    executor->body = body;
    executor->argument = argument;
    executor->gate = 0;
    atomic_store(&executor->busy, executor->count);
    uint32_t started = 0;
    int failure = 0;
    while (started + 1 < executor->count && failure == 0) {
        failure = start_thread(&executor->threads[started], thread_main);
        if (failure == 0)
            started++;
    }
    open_gate(executor, failure == 0 ? 1 : -1);
    if (failure == 0) {
        body(argument, executor->count - 1);
        atomic_fetch_sub(&executor->busy, 1);
    }
    for (uint32_t i = 0; i < started; i++)
        pthread_join(executor->threads[i].id, NULL);
    if (failure != 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot start thread %u of %u: %s; use fewer workers", started + 1,
                           executor->count - 1, strerror(failure));
    return HAWSER_OK;
}

/* Sleeps unless the thread was woken already. The waking thread counts a sleeper as busy again, so that there is no moment
 * at which a thread is about to run and none is counted. */
static void wait_until(hw_thread *self, double deadline)
{
    struct timespec until = hw_timespec(deadline);
    pthread_mutex_lock(&self->mutex);
    if (!atomic_load(&self->woken)) {
        self->parked = true;
        atomic_fetch_sub(&self->executor->busy, 1);
    }
    int result = 0;
    while (!atomic_load(&self->woken) && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&self->condition, &self->mutex, &until);
    if (self->parked)
        atomic_fetch_add(&self->executor->busy, 1);
    self->parked = false;
    atomic_store(&self->woken, false);
    pthread_mutex_unlock(&self->mutex);
}

/* Polls; returns true if another thread woke this runner meanwhile. */
static bool spin(hw_thread *self)
{
    double end = hw_seconds() + SPIN_SECONDS;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (atomic_load_explicit(&self->woken, memory_order_relaxed) && atomic_exchange(&self->woken, false))
                return true;
            hw_thread_pause();
        }
    } while (hw_seconds() < end);
    return false;
}

static void park(hw_executor *super, uint32_t number, double deadline)
{
    hw_threads *executor = (hw_threads *)super;
    hw_thread *self = &executor->threads[number];
    bool driver = number + 1 == executor->count;
    if (atomic_exchange(&self->woken, false) || (executor->spin && !driver && spin(self)))
        return;
    if (!driver)
        give_permit(executor);
    wait_until(self, deadline);
    if (!driver)
        take_permit(executor);
}

static void wake(hw_executor *super, uint32_t number)
{
    hw_thread *thread = &((hw_threads *)super)->threads[number];
    if (atomic_exchange(&thread->woken, true))
        return;
    pthread_mutex_lock(&thread->mutex);
    if (thread->parked)
        atomic_fetch_add(&thread->executor->busy, 1);
    thread->parked = false;
    pthread_cond_signal(&thread->condition);
    pthread_mutex_unlock(&thread->mutex);
}

static void yield(hw_executor *super, uint32_t number)
{
    (void)super;
    (void)number;
}

/* Gives the permit to a waiting thread, and takes one again only after that thread. */
static void give_way(hw_executor *super, uint32_t number)
{
    (void)number;
    hw_threads *executor = (hw_threads *)super;
    if (atomic_load_explicit(&executor->waiting, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&executor->mutex);
    if (atomic_load(&executor->waiting) > 0) {
        executor->permits++;
        pthread_cond_signal(&executor->condition);
        take_permit_after(executor, executor->taken + 1);
    }
    pthread_mutex_unlock(&executor->mutex);
}

static void sleep_seconds(hw_executor *super, uint32_t number, double seconds)
{
    (void)super;
    (void)number;
    struct timespec rest = hw_timespec(seconds);
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        continue;
}

static double now(hw_executor *super)
{
    (void)super;
    return hw_seconds();
}

static uint32_t busy(hw_executor *super)
{
    return atomic_load(&((hw_threads *)super)->busy);
}

static void free_executor(hw_executor *super)
{
    hw_threads *executor = (hw_threads *)super;
    for (uint32_t i = 0; executor->threads != NULL && i < executor->count; i++)
        if (executor->threads[i].made) {
            pthread_mutex_destroy(&executor->threads[i].mutex);
            pthread_cond_destroy(&executor->threads[i].condition);
        }
    pthread_mutex_destroy(&executor->mutex);
    pthread_cond_destroy(&executor->condition);
    free(executor->threads);
    free(executor);
}

static bool make_thread(hw_thread *thread)
{
    if (pthread_mutex_init(&thread->mutex, NULL) != 0)
        return false;
    thread->made = hw_thread_condition(&thread->condition) == 0;
    if (!thread->made)
        pthread_mutex_destroy(&thread->mutex);
    return thread->made;
}

hawser_status hw_thread_executor(uint32_t count, uint32_t permits, int spin, hw_executor **out, hawser_error *error)
{
    static const hw_executor_ops ops = {run, park, wake, yield, give_way, sleep_seconds, now, busy, free_executor};
    *out = NULL;
    hw_threads *executor = NULL;
    HAWSER_TRY(HW_NEW(&executor, 1, "threads", error));
    executor->super.ops = &ops;
    executor->count = count;
    executor->permits = permits;
    executor->spin = spin;
    CPU_ZERO(&executor->processors);
    if (spin && count > 2 && sched_getaffinity(0, sizeof executor->processors, &executor->processors) != 0)
        CPU_ZERO(&executor->processors); /* the machine has more processors than the set can hold */
    if (pthread_mutex_init(&executor->mutex, NULL) != 0 || pthread_cond_init(&executor->condition, NULL) != 0) {
        free(executor);
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot make a mutex");
    }
    hawser_status status = HW_NEW(&executor->threads, count, "threads", error);
    for (uint32_t i = 0; i < count && status == HAWSER_OK; i++) {
        executor->threads[i].executor = executor;
        executor->threads[i].number = i;
        if (!make_thread(&executor->threads[i]))
            status = hawser_fail(error, HAWSER_NO_MEMORY, "cannot make a condition variable");
    }
    if (status != HAWSER_OK) {
        free_executor(&executor->super);
        return status;
    }
    *out = &executor->super;
    return HAWSER_OK;
}
