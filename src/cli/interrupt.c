#include "cli/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "cli/cli.h"
#include "runtime/job/enter.h"
#include "runtime/job/signals.h"

enum { CLOSING = SIGURG }; /* ends the thread; no other process sends this signal */

static void endings(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    struct sigaction now; /* under nohup a lost terminal ends nothing */
    if (sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
        sigaddset(set, SIGHUP);
}

bool hw_interrupt_has_terminal(void)
{
    int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (terminal >= 0)
        (void)close(terminal);
    return terminal >= 0;
}

/* Prints a line, unless the pipe is full: a reader that is stuck must not keep the process from ending. */
static void say(const char *before, const char *text, const char *after)
{
    char line[300];
    struct pollfd err = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&err, 1, 0) != 1 || (err.revents & POLLOUT) == 0)
        return;
    const char *begin = isatty(STDERR_FILENO) == 1 ? "\n" : ""; /* a progress bar is on the line */
    int length = snprintf(line, sizeof line, "%shawser: %s%s%s\n", begin, before, text, after);
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
    (void)ignored;
}

/* Returns whether the terminal or the parent sent a signal: a launcher sends it to all of its processes. */
static bool is_for_all(const siginfo_t *from)
{
    return from->si_code == SI_KERNEL || (from->si_code == SI_USER && from->si_pid == getppid());
}

static void take(hw_interrupt *interrupt, const siginfo_t *from)
{
    int number = from->si_signo;
    bool silent = interrupt->silent && is_for_all(from);
    char name[20], by[40];
    snprintf(by, sizeof by, "ended by %s ", hw_signal_name(number, name, sizeof name));
    if (number == SIGHUP && interrupt->goes_on) {
        say("SIGHUP is ignored, because there is no terminal to lose; SIGTERM ends", "", "");
        return;
    }
    if (interrupt->first != 0 && hw_signal_echoes(interrupt->first, number, hw_seconds() - interrupt->first_at))
        return;
    bool again = interrupt->first != 0;
    if (!again && interrupt->job != NULL) {
        interrupt->first = number;
        interrupt->first_at = hw_seconds();
        hw_job_interrupt_by(interrupt->job, number);
        if (!silent)
            say(interrupt->words, "; once more ends at once", "");
        return;
    }
    if (again && !silent)
        say(by, "at once; what was not saved by then is lost", "");
    else if (!again && !silent)
        say(by, interrupt->words, "");
    if (!again && interrupt->open_job != NULL)
        hw_job_abort_by(interrupt->open_job, number);
    _exit(HW_EXIT_SIGNAL);
}

/* A thread that waits for signals needs no handler and therefore no global variable. */
static void *wait_for_signals(void *user)
{
    hw_interrupt *interrupt = user;
    siginfo_t from = {0};
    for (bool closed = false; !closed;) {
        int number = sigwaitinfo(&interrupt->set, &from);
        if (number < 0) /* a debugger interrupted it */
            continue;
        pthread_mutex_lock(&interrupt->mutex);
        if (number != CLOSING)
            take(interrupt, &from);
        closed = number == CLOSING && interrupt->closing;
        pthread_mutex_unlock(&interrupt->mutex);
    }
    return NULL;
}

hawser_status hw_interrupt_open(hw_interrupt *interrupt, bool silent, hawser_error *error)
{
    *interrupt = (hw_interrupt){.silent = silent, .words = "before it was done"};
    endings(&interrupt->set);
    pthread_sigmask(SIG_BLOCK, &interrupt->set, &interrupt->before);
    sigaddset(&interrupt->set, CLOSING);
    pthread_mutex_init(&interrupt->mutex, NULL);
    int failed = hw_thread_start(&interrupt->thread, wait_for_signals, interrupt);
    interrupt->watching = failed == 0;
    if (failed == 0)
        return HAWSER_OK;
    pthread_sigmask(SIG_SETMASK, &interrupt->before, NULL);
    return hawser_fail(error, HAWSER_NO_MEMORY, "cannot start a thread: %s", strerror(failed));
}

void hw_interrupt_close(hw_interrupt *interrupt)
{
    if (!interrupt->watching)
        return;
    pthread_mutex_lock(&interrupt->mutex);
    interrupt->closing = true;
    pthread_mutex_unlock(&interrupt->mutex);
    pthread_kill(interrupt->thread, CLOSING);
    pthread_join(interrupt->thread, NULL);
    pthread_mutex_destroy(&interrupt->mutex);
    interrupt->watching = false;
}

static void set(hw_interrupt *interrupt, hawser_job *job, const char *words)
{
    if (interrupt == NULL)
        return;
    pthread_mutex_lock(&interrupt->mutex);
    interrupt->job = job;
    interrupt->words = words;
    pthread_mutex_unlock(&interrupt->mutex);
}

void hw_interrupt_pass_over_hangups(hw_interrupt *interrupt)
{
    if (interrupt == NULL)
        return;
    pthread_mutex_lock(&interrupt->mutex);
    interrupt->goes_on = true;
    pthread_mutex_unlock(&interrupt->mutex);
}

void hw_interrupt_words(hw_interrupt *interrupt, const char *words)
{
    set(interrupt, NULL, words);
}

void hw_interrupt_set_job(hw_interrupt *interrupt, hawser_job *job)
{
    if (interrupt == NULL)
        return;
    pthread_mutex_lock(&interrupt->mutex);
    interrupt->open_job = job;
    pthread_mutex_unlock(&interrupt->mutex);
}

void hw_interrupt_begin(hw_interrupt *interrupt, hawser_job *job, const char *words)
{
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    if (interrupt != NULL)
        pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    set(interrupt, job, words);
}

bool hw_interrupt_is_silent(const hw_interrupt *interrupt)
{
    return interrupt != NULL && interrupt->silent;
}

bool hw_interrupt_came(hw_interrupt *interrupt)
{
    if (interrupt == NULL)
        return false;
    pthread_mutex_lock(&interrupt->mutex);
    bool came = interrupt->first != 0;
    pthread_mutex_unlock(&interrupt->mutex);
    return came;
}

void hw_interrupt_end(hw_interrupt *interrupt)
{
    set(interrupt, NULL, "while it was closing; what it had saved is kept");
}
