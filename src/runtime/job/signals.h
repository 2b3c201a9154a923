/* signals.h - SIGINT and SIGTERM during a run of a program that does not handle them itself: the run ends at an agreed
 * clock, with results. */
#ifndef HW_RUNTIME_JOB_SIGNALS_H
#define HW_RUNTIME_JOB_SIGNALS_H

#include <pthread.h>
#include <signal.h>

#include "hawser/hawser.h"

typedef struct hw_signals {
    hawser_job *job;
    sigset_t before, taken; /* the mask of the thread that runs the program; the signals that are taken */
    pthread_t thread;       /* waits for them */
    bool watching;
    int first; /* the signal that asked for the end; 0: none yet */
    double first_at;
} hw_signals;

/* Takes SIGINT and SIGTERM until hw_signals_release, but leaves out one that the program handles, blocks or ignores. The
 * first one ends the job's run, a second one the process, as it would without this. Threads of the library block all
 * signals; those of a program that do not block these still end the process. If no thread can be started, a warning says
 * so, and nothing is taken. */
void hw_signals_take(hw_signals *signals, hawser_job *job);
void hw_signals_release(hw_signals *signals);

/* Returns whether `number`, which arrived `after` seconds after `first`, belongs to the same request. A closed terminal
 * sends SIGHUP from the shell and from the kernel. Slurm and systemd send SIGTERM from two sides, or with SIGHUP. timeout
 * sends its signal twice. */
bool hw_signal_echoes(int first, int number, double after);
/* Returns "SIGTERM"; NULL for 0 or another number that is no signal. */
const char *hw_signal_name(int number, char *text, size_t size);

#endif
