#include "cli/interrupt.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { ECHO_SECONDS = 3 };

static void endings(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    struct sigaction now; /* a lost terminal ends a training as Ctrl-C does, unless nohup said that it should not */
    if (sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
        sigaddset(set, SIGHUP);
}

/* Slurm ends a job by SIGTERM from two sides, and means one end by it: what follows at once is the same request. */
static void pass_over_echoes(void)
{
    struct timespec wait = {.tv_sec = ECHO_SECONDS};
    double until = hw_seconds() + ECHO_SECONDS, left;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    while (sigtimedwait(&set, NULL, &wait) == SIGTERM && (left = until - hw_seconds()) > 0)
        wait = hw_timespec(left);
}

/* Waiting for signals in a thread needs no handler and so no global. After the first one they are let through: the next ends the
 * process as it would any other. */
static void *wait_for_signals(void *user)
{
    hw_interrupt *interrupt = user;
    sigset_t set;
    int number;
    endings(&set);
    if (sigwait(&set, &number) != 0)
        return NULL;
    hawser_interrupt(interrupt->job);
    const char *begin = isatty(fileno(interrupt->err)) == 1 ? "\n" : ""; /* a bar stands on the line */
    fprintf(interrupt->err, "%shawser: %s; once more ends at once\n", begin, interrupt->words);
    if (number == SIGTERM) {
        sigdelset(&set, SIGTERM);
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        pass_over_echoes();
        sigaddset(&set, SIGTERM);
    }
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    for (;;)
        pause();
}

hawser_status hw_interrupt_begin(hw_interrupt *interrupt, hawser_job *job, FILE *err, const char *words, hawser_error *error)
{
    sigset_t set;
    interrupt->job = job;
    interrupt->err = err;
    interrupt->words = words;
    endings(&set);
    pthread_sigmask(SIG_BLOCK, &set, &interrupt->before);
    int failed = pthread_create(&interrupt->thread, NULL, wait_for_signals, interrupt);
    if (failed == 0)
        return HAWSER_OK;
    pthread_sigmask(SIG_SETMASK, &interrupt->before, NULL);
    return hawser_fail(error, HAWSER_NO_MEMORY, "cannot start a thread: %s", strerror(failed));
}

void hw_interrupt_end(hw_interrupt *interrupt)
{
    pthread_cancel(interrupt->thread); /* sigwait and pause are cancellation points */
    pthread_join(interrupt->thread, NULL);
    pthread_sigmask(SIG_SETMASK, &interrupt->before, NULL);
}
