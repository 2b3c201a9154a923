/* signals.h - signals of the threads of a world. Those of the real process reach none of its processes. */
#ifndef HW_SIM_SIGNALS_H
#define HW_SIM_SIGNALS_H

#include <signal.h>

/* Waits until the running thread was sent a signal of the set, and returns its number. */
int sim_await_signal(const sigset_t *set);

#endif
