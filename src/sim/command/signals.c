/* signals.c - the call by which the command waits for signals. The library does not use it, so it is wrapped here alone. */
#include <signal.h>

#include "sim/signals.h"
#include "sim/world.h"
#include "sim/wrap.h"

SIM_WRAP(int, sigwaitinfo, const sigset_t *set, siginfo_t *from)
{
    if (sim_self() == NULL)
        return __real_sigwaitinfo(set, from);
    *from = (siginfo_t){.si_signo = sim_await_signal(set), .si_code = SI_QUEUE}; /* for this process alone */
    return from->si_signo;
}
