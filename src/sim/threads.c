/* threads.c - threads, locks and time of the product within a world. Locks live in the memory of the pthread objects. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "sim/world.h"
#include "sim/wrap.h"

typedef struct sim_mutex {
    sim_thread *owner;
    sim_list waits;
} sim_mutex;

typedef struct sim_rwlock {
    sim_thread *writer;
    uint64_t readers;
    sim_list waits;
} sim_rwlock;

_Static_assert(sizeof(sim_mutex) <= sizeof(pthread_mutex_t), "a mutex has room for that of a world");
_Static_assert(sizeof(sim_list) <= sizeof(pthread_cond_t), "a condition has room for that of a world");
_Static_assert(sizeof(sim_rwlock) <= sizeof(pthread_rwlock_t), "a lock has room for that of a world");

/* -------------------------------------------------------------------------------------------------------- mutexes ---- */

SIM_WRAP(int, pthread_mutex_init, pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    if (sim_self() == NULL)
        return __real_pthread_mutex_init(mutex, attributes);
    *(sim_mutex *)(void *)mutex = (sim_mutex){0};
    return 0;
}

SIM_WRAP(int, pthread_mutex_destroy, pthread_mutex_t *mutex)
{
    return sim_self() == NULL ? __real_pthread_mutex_destroy(mutex) : 0;
}

static void lock(sim_mutex *mutex)
{
    while (mutex->owner != NULL)
        (void)sim_wait(&mutex->waits, SIM_NEVER);
    mutex->owner = sim_self();
}

static void unlock(sim_mutex *mutex)
{
    mutex->owner = NULL;
    sim_wake_first(&mutex->waits);
}

SIM_WRAP(int, pthread_mutex_lock, pthread_mutex_t *mutex)
{
    if (sim_self() == NULL)
        return __real_pthread_mutex_lock(mutex);
    sim_step();
    lock((sim_mutex *)(void *)mutex);
    return 0;
}

SIM_WRAP(int, pthread_mutex_unlock, pthread_mutex_t *mutex)
{
    if (sim_self() == NULL)
        return __real_pthread_mutex_unlock(mutex);
    unlock((sim_mutex *)(void *)mutex);
    sim_step();
    return 0;
}

/* ----------------------------------------------------------------------------------------------------- conditions ---- */

SIM_WRAP(int, pthread_cond_init, pthread_cond_t *condition, const pthread_condattr_t *attributes)
{
    if (sim_self() == NULL)
        return __real_pthread_cond_init(condition, attributes);
    *(sim_list *)(void *)condition = (sim_list){0};
    return 0;
}

SIM_WRAP(int, pthread_cond_destroy, pthread_cond_t *condition)
{
    return sim_self() == NULL ? __real_pthread_cond_destroy(condition) : 0;
}

static int wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline)
{
    sim_mutex *held = (sim_mutex *)(void *)mutex;
    unlock(held);
    bool woken = sim_wait((sim_list *)(void *)condition, deadline);
    lock(held);
    return woken ? 0 : ETIMEDOUT;
}

SIM_WRAP(int, pthread_cond_wait, pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    if (sim_self() == NULL)
        return __real_pthread_cond_wait(condition, mutex);
    return wait_until(condition, mutex, SIM_NEVER);
}

static uint64_t nanoseconds(const struct timespec *time)
{
    const time_t never = 1000000000; /* 30 years */
    if (time->tv_sec < 0)
        return 0;
    return time->tv_sec >= never ? SIM_NEVER : (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

SIM_WRAP(int, pthread_cond_timedwait, pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *deadline)
{
    if (sim_self() == NULL)
        return __real_pthread_cond_timedwait(condition, mutex, deadline);
    return wait_until(condition, mutex, nanoseconds(deadline));
}

SIM_WRAP(int, pthread_cond_signal, pthread_cond_t *condition)
{
    if (sim_self() == NULL)
        return __real_pthread_cond_signal(condition);
    sim_wake_first((sim_list *)(void *)condition);
    return 0;
}

SIM_WRAP(int, pthread_cond_broadcast, pthread_cond_t *condition)
{
    if (sim_self() == NULL)
        return __real_pthread_cond_broadcast(condition);
    sim_wake_all((sim_list *)(void *)condition);
    return 0;
}

/* ------------------------------------------------------------------------------------------ locks of many readers ---- */

SIM_WRAP(int, pthread_rwlock_init, pthread_rwlock_t *rwlock, const pthread_rwlockattr_t *attributes)
{
    if (sim_self() == NULL)
        return __real_pthread_rwlock_init(rwlock, attributes);
    *(sim_rwlock *)(void *)rwlock = (sim_rwlock){0};
    return 0;
}

SIM_WRAP(int, pthread_rwlock_destroy, pthread_rwlock_t *rwlock)
{
    return sim_self() == NULL ? __real_pthread_rwlock_destroy(rwlock) : 0;
}

SIM_WRAP(int, pthread_rwlock_rdlock, pthread_rwlock_t *rwlock)
{
    if (sim_self() == NULL)
        return __real_pthread_rwlock_rdlock(rwlock);
    sim_rwlock *self = (sim_rwlock *)(void *)rwlock;
    sim_step();
    while (self->writer != NULL)
        (void)sim_wait(&self->waits, SIM_NEVER);
    self->readers++;
    return 0;
}

SIM_WRAP(int, pthread_rwlock_wrlock, pthread_rwlock_t *rwlock)
{
    if (sim_self() == NULL)
        return __real_pthread_rwlock_wrlock(rwlock);
    sim_rwlock *self = (sim_rwlock *)(void *)rwlock;
    sim_step();
    while (self->writer != NULL || self->readers > 0)
        (void)sim_wait(&self->waits, SIM_NEVER);
    self->writer = sim_self();
    return 0;
}

SIM_WRAP(int, pthread_rwlock_unlock, pthread_rwlock_t *rwlock)
{
    if (sim_self() == NULL)
        return __real_pthread_rwlock_unlock(rwlock);
    sim_rwlock *self = (sim_rwlock *)(void *)rwlock;
    if (self->writer != NULL)
        self->writer = NULL;
    else
        self->readers--;
    if (self->readers == 0)
        sim_wake_all(&self->waits);
    sim_step();
    return 0;
}

/* -------------------------------------------------------------------------------------------------------- threads ---- */

SIM_WRAP(int, pthread_create, pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument)
{
    if (sim_self() == NULL)
        return __real_pthread_create(thread, attributes, body, argument);
    *thread = sim_thread_number(sim_thread_start(sim_own(), body, argument));
    sim_step();
    return 0;
}

SIM_WRAP(int, pthread_join, pthread_t thread, void **result)
{
    if (sim_self() == NULL)
        return __real_pthread_join(thread, result);
    sim_thread *joined = sim_thread_at(thread);
    while (!sim_thread_ended(joined, result))
        (void)sim_wait(sim_thread_joiners(joined), SIM_NEVER);
    return 0;
}

SIM_WRAP(pthread_t, pthread_self, void)
{
    return sim_self() == NULL ? __real_pthread_self() : sim_thread_number(sim_self());
}

/* ----------------------------------------------------------------------------------------------------------- time ---- */

SIM_WRAP(double, hw_seconds, void)
{
    if (sim_self() == NULL)
        return __real_hw_seconds();
    sim_look();
    return sim_seconds();
}

SIM_WRAP(double, hw_seconds_lately, void)
{
    return sim_self() == NULL ? __real_hw_seconds_lately() : sim_seconds();
}

SIM_WRAP(double, hw_boot_seconds, void)
{
    return sim_self() == NULL ? __real_hw_boot_seconds() : sim_seconds();
}

SIM_WRAP(double, hw_wall_seconds, void)
{
    const double begin = 1.7e9; /* in 2023 */
    return sim_self() == NULL ? __real_hw_wall_seconds() : begin + sim_seconds();
}

SIM_WRAP(double, hw_thread_cpu_seconds, void)
{
    return sim_self() == NULL ? __real_hw_thread_cpu_seconds() : sim_thread_facts(sim_self())->cpu;
}

SIM_WRAP(int, nanosleep, const struct timespec *time, struct timespec *rest)
{
    if (sim_self() == NULL)
        return __real_nanosleep(time, rest);
    uint64_t length = nanoseconds(time);
    (void)sim_wait(NULL, length == SIM_NEVER ? SIM_NEVER : sim_now() + length);
    return 0;
}

SIM_WRAP(int, sched_yield, void)
{
    if (sim_self() == NULL)
        return __real_sched_yield();
    (void)sim_wait(NULL, sim_now());
    return 0;
}

/* Descriptors are of the real system: files are ready at once, and others are looked at in intervals of virtual time. */
SIM_WRAP(int, poll, struct pollfd *set, nfds_t count, int milliseconds)
{
    const uint64_t interval = 10000000, unit = 1000000;
    if (sim_self() == NULL)
        return __real_poll(set, count, milliseconds);
    uint64_t end = milliseconds < 0 ? SIM_NEVER : sim_now() + (uint64_t)milliseconds * unit;
    for (;;) {
        int ready = __real_poll(set, count, 0);
        uint64_t next = sim_now() + interval;
        if (ready != 0 || sim_now() >= end)
            return ready;
        (void)sim_wait(NULL, next < end ? next : end);
    }
}
