/* signals.c - signals as data to read: no handler and no global variable. */
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/run/agent.h"

hawser_status hw_signals_open(sigset_t *before, int *fd, hawser_error *error)
{
    static const int wanted[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct sigaction now; /* a signal that nohup or a shell has switched off stays off */
        if (wanted[i] == SIGCHLD || sigaction(wanted[i], NULL, &now) != 0 || now.sa_handler != SIG_IGN)
            sigaddset(&set, wanted[i]);
    }
    *fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (*fd < 0)
        return hawser_fail(error, HAWSER_IO, "cannot receive signals: %s", strerror(errno));
    sigaddset(&set, SIGPIPE);
    sigaddset(&set, SIGTTOU);
    (void)sigprocmask(SIG_BLOCK, &set, before);
    return HAWSER_OK;
}

int hw_signals_next(int fd)
{
    struct signalfd_siginfo info;
    ssize_t got;
    do
        got = read(fd, &info, sizeof info);
    while (got < 0 && errno == EINTR);
    return got == sizeof info ? (int)info.ssi_signo : 0;
}

void hw_signals_close(const sigset_t *before, int fd)
{
    const struct timespec now = {0, 0};
    sigset_t pending;
    (void)close(fd);
    while (sigpending(&pending) == 0 && sigtimedwait(&pending, NULL, &now) > 0) /* these were for the run, which is over */
        continue;
    (void)sigprocmask(SIG_SETMASK, before, NULL);
}
