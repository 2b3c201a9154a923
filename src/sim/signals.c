#include "sim/signals.h"

#include <pthread.h>

#include "sim/world.h"
#include "sim/wrap.h"

enum { SIGNALS = 64 };

int sim_await_signal(const sigset_t *set)
{
    sim_facts *facts = sim_thread_facts(sim_self());
    facts->awaited = 0;
    for (int number = 1; number <= SIGNALS; number++)
        if (sigismember(set, number) == 1)
            facts->awaited |= UINT64_C(1) << (number - 1);
    facts->sigwaits = true;
    while ((facts->signals & facts->awaited) == 0)
        (void)sim_wait(NULL, SIM_NEVER);
    facts->sigwaits = false;
    int number = 1;
    while ((facts->signals & facts->awaited & UINT64_C(1) << (number - 1)) == 0)
        number++;
    facts->signals &= ~(UINT64_C(1) << (number - 1));
    return number;
}

SIM_WRAP(int, pthread_sigmask, int how, const sigset_t *set, sigset_t *before)
{
    if (sim_self() == NULL)
        return __real_pthread_sigmask(how, set, before);
    if (before != NULL)
        sigemptyset(before);
    return 0;
}

SIM_WRAP(int, pthread_kill, pthread_t thread, int signal)
{
    if (sim_self() == NULL)
        return __real_pthread_kill(thread, signal);
    sim_thread *target = sim_thread_at(thread);
    sim_facts *facts = sim_thread_facts(target);
    facts->signals |= UINT64_C(1) << (signal - 1);
    if (facts->sigwaits)
        sim_wake(target);
    return 0;
}

/* The library ends its process so when a second signal comes. All others are those of a fault of the real process. */
SIM_WRAP(int, raise, int signal)
{
    if (sim_self() == NULL || (signal != SIGTERM && signal != SIGINT))
        return __real_raise(signal);
    sim_kill(sim_own());
    for (;;) /* no thread of a process that has ended runs again */
        (void)sim_wait(NULL, SIM_NEVER);
}

SIM_WRAP(int, sigwait, const sigset_t *set, int *signal)
{
    if (sim_self() == NULL)
        return __real_sigwait(set, signal);
    *signal = sim_await_signal(set);
    return 0;
}
