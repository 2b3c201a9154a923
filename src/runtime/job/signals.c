#include "runtime/job/signals.h"

#include <string.h>

#include "base/clock.h"
#include "base/messages.h"
#include "base/thread.h"
#include "runtime/job/job.h"

enum { CLOSING = SIGURG }; /* ends the thread; no other process sends this signal */
/* No person presses Ctrl-C twice within press_seconds, in which signals may also arrive in another order. */
static const double echo_seconds = 3, press_seconds = 0.1;

bool hw_signal_echoes(int first, int number, double after)
{
    if (number == SIGHUP) /* a terminal can be closed long after Ctrl-C, which requests nothing new */
        return true;
    return after < (number == SIGTERM && first != SIGINT ? echo_seconds : press_seconds);
}

const char *hw_signal_name(int number, char *text, size_t size)
{
    const char *name = sigabbrev_np(number);
    if (number == 0 || name == NULL)
        return NULL;
    snprintf(text, size, "SIG%s", name);
    return text;
}

/* Ends the process as the signal does where nobody takes it. */
static void end_by(int number)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    (void)raise(number);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}

static void *wait_for_signals(void *user)
{
    hw_signals *signals = user;
    hawser_job *job = signals->job;
    sigset_t set = signals->taken;
    char name[20];
    int number;
    sigaddset(&set, CLOSING);
    while (sigwait(&set, &number) == 0 && number != CLOSING) {
        if (signals->first == 0) {
            signals->first = number;
            signals->first_at = hw_seconds();
            hw_job_interrupt_by(job, number);
            hw_notify(job->messages, HAWSER_NOTE, hawser_job_node(job),
                      "%s: ending at the next agreed clock; once more ends at once",
                      hw_signal_name(number, name, sizeof name));
        } else if (!hw_signal_echoes(signals->first, number, hw_seconds() - signals->first_at))
            end_by(number);
    }
    return NULL;
}

/* Stores the signals that would end the process. */
static bool find_unhandled(sigset_t *unhandled)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    bool any = false;
    sigset_t blocked;
    sigemptyset(unhandled);
    if (pthread_sigmask(SIG_BLOCK, NULL, &blocked) != 0)
        return false;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction now;
        if (sigismember(&blocked, numbers[i]) == 1 || sigaction(numbers[i], NULL, &now) != 0 ||
            (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL)
            continue;
        sigaddset(unhandled, numbers[i]);
        any = true;
    }
    return any;
}

void hw_signals_take(hw_signals *signals, hawser_job *job)
{
    *signals = (hw_signals){.job = job};
    if (job->own_signals || !find_unhandled(&signals->taken))
        return;
    pthread_sigmask(SIG_BLOCK, &signals->taken, &signals->before);
    int failed = hw_thread_start(&signals->thread, wait_for_signals, signals);
    signals->watching = failed == 0;
    if (failed == 0)
        return;
    pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
    hw_notify(job->messages, HAWSER_WARNING, hawser_job_node(job),
              "a signal would end this process without results, because no thread can wait for signals: %s",
              strerror(failed));
}

void hw_signals_release(hw_signals *signals)
{
    if (!signals->watching)
        return;
    pthread_kill(signals->thread, CLOSING);
    pthread_join(signals->thread, NULL);
    signals->watching = false;
    pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
}
