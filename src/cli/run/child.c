#include "cli/run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"

enum { CHANNEL = 3 }; /* the node's descriptor of its channel */

/* Both ends of all pipes and the channel. The node's ends are closed here once it runs. */
typedef struct ends {
    int channel[2], in[2], out[2], err[2], news[2];
} ends;

static void close_ends(ends *all)
{
    for (int i = 0; i < 2; i++) {
        hw_close_fd(&all->channel[i]);
        hw_close_fd(&all->in[i]);
        hw_close_fd(&all->out[i]);
        hw_close_fd(&all->err[i]);
        hw_close_fd(&all->news[i]);
    }
}

static bool make_ends(const hw_child *child, const hw_child_job *job, ends *all)
{
    bool first = child->node == 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, all->channel) != 0 || pipe2(all->err, O_CLOEXEC) != 0 ||
        pipe2(all->news, O_CLOEXEC) != 0)
        return false;
    if (first && job->in >= 0)
        all->in[0] = fcntl(job->in, F_DUPFD_CLOEXEC, 0);
    else if (first)
        (void)!pipe2(all->in, O_CLOEXEC);
    else
        all->in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (first && job->out >= 0)
        all->out[1] = fcntl(job->out, F_DUPFD_CLOEXEC, 0);
    else
        (void)!pipe2(all->out, O_CLOEXEC);
    return all->in[0] >= 0 && all->out[1] >= 0;
}

/* Runs in the new process: sets descriptors 0 to 3 (all others close on exec) and the old signals, and executes the program.
 * No function that it calls allocates memory. */
static void become(const hw_child_job *job, const ends *all)
{
    int from[4] = {all->in[0], all->out[1], all->err[1], all->channel[1]}, code;
    (void)setpgid(0, 0);
    if (job->directory != NULL) /* no other process of that host would end the node of an agent that was killed */
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    for (int i = 0; i < 4; i++) /* first moves them above 3 */
        if ((from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, CHANNEL + 1)) < 0)
            goto failed;
    int news = fcntl(all->news[1], F_DUPFD_CLOEXEC, CHANNEL + 1);
    if (news < 0)
        goto failed;
    for (int i = 0; i < 4; i++)
        if (dup2(from[i], i) < 0)
            goto failed;
    if (job->directory != NULL && chdir(job->directory) != 0) {
        code = -errno;
        (void)!write(news, &code, sizeof code);
        _exit(126);
    }
    (void)sigprocmask(SIG_SETMASK, job->signals, NULL);
    (void)execvpe(job->words[0], job->words, job->environment);
    code = errno;
    (void)!write(news, &code, sizeof code);
    _exit(errno == ENOENT ? 127 : 126);
failed:
    code = errno;
    (void)!write(all->news[1], &code, sizeof code);
    _exit(126);
}

/* Returns whether the program runs: then the news pipe closes without data. */
static bool runs(int news, const hw_child_job *job, int *code, hawser_error *error)
{
    int said = 0;
    ssize_t got;
    do
        got = read(news, &said, sizeof said);
    while (got < 0 && errno == EINTR);
    if (got != sizeof said)
        return true;
    *code = said == ENOENT ? 127 : 126;
    hawser_status ignored;
    if (said < 0)
        ignored = hawser_fail(error, HAWSER_IO, "cannot work in %s: %s", job->directory, strerror(-said));
    else
        ignored = hawser_fail(error, HAWSER_IO, "cannot run %s: %s", job->words[0], strerror(said));
    (void)ignored;
    return false;
}

static void keep(int *mine, int *theirs)
{
    *mine = *theirs;
    *theirs = -1;
    if (*mine >= 0)
        (void)fcntl(*mine, F_SETFL, fcntl(*mine, F_GETFL) | O_NONBLOCK);
}

hawser_status hw_child_start(hw_child *child, const hw_child_job *job, int *code, hawser_error *error)
{
    ends all = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    HAWSER_TRY(hw_child_send(child, "key", job->key, error));
    pid_t pid = make_ends(child, job, &all) ? fork() : -1;
    if (pid == 0)
        become(job, &all);
    if (pid < 0) {
        int reason = errno;
        close_ends(&all);
        return hawser_fail(error, HAWSER_IO, "cannot start a process: %s%s", strerror(reason), hw_machine_advice(reason));
    }
    (void)setpgid(pid, pid); /* both parent and child call it, whichever is first */
    hw_close_fd(&all.news[1]);
    child->pid = pid;
    if (runs(all.news[0], job, code, error)) {
        keep(&child->channel, &all.channel[0]);
        keep(&child->in, &all.in[1]);
        keep(&child->out, &all.out[0]);
        keep(&child->err, &all.err[0]);
    } else {
        (void)waitpid(pid, NULL, 0);
        child->pid = 0;
    }
    close_ends(&all);
    return HAWSER_OK;
}

void hw_child_signal(const hw_child *child, int number)
{
    if (child->pid > 0)
        (void)kill(-child->pid, number);
}

/* A process that is killed ends a
 * moment later, and its children become this process's (a subreaper), so it waits for all of them; for a second at most,
 * since a process that waits for a disk cannot end. */
void hw_end_group(pid_t group, int *result)
{
    enum { SECONDS = 1 };
    (void)kill(-group, SIGKILL);
    (void)waitpid(group, result, 0);
    for (const double until = hw_seconds() + SECONDS; hw_seconds() < until;) {
        const pid_t found = waitpid(-group, NULL, WNOHANG);
        if (found < 0)
            return;
        if (found == 0)
            (void)poll(NULL, 0, 1);
    }
}

hawser_status hw_child_send(hw_child *child, const char *word, const char *text, hawser_error *error)
{
    HAWSER_TRY(hw_buffer_add(&child->outgoing, word, strlen(word), error));
    HAWSER_TRY(hw_buffer_add(&child->outgoing, " ", 1, error));
    HAWSER_TRY(hw_buffer_add(&child->outgoing, text, strlen(text), error));
    return hw_buffer_add(&child->outgoing, "\n", 1, error);
}

void hw_child_close(hw_child *child)
{
    hw_close_fd(&child->channel);
    hw_close_fd(&child->in);
    hw_close_fd(&child->out);
    hw_close_fd(&child->err);
    hw_buffer_free(&child->outgoing);
    hw_buffer_free(&child->incoming);
    hw_buffer_free(&child->input);
}
