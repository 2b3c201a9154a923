/* connection.c - the launcher's side of one agent: starts it here or through ssh, sends it its job and receives its
 * frames. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/option_value.h"
#include "cli/cli.h"
#include "cli/run/agent.h"
#include "cli/run/launch.h"

#define OTHER_GREETING "hawser-agent "

enum { WIRE = 3, GREETING_MOST = 1 << 16, SSH_WORDS = 64, NODES_FIRST = 1 /* seconds */, AGAIN_SECONDS = 1 };

/* ------------------------------------------------------------------------------------------------- starting ---- */

/* Runs in the new process: sets descriptors 0, 1, 2 and, for the agent of this host, 3; all others close on exec. */
static void become(const hw_launch *launch, int in, int out, int err, int wire, char *const *words)
{
    int from[4] = {in, out, err, wire};
    (void)setpgid(0, 0); /* Ctrl-C reaches only the launcher, which sends it on */
    for (int i = 0; i < 4; i++)
        if (from[i] >= 0 && (from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, WIRE + 1)) < 0)
            _exit(126);
    for (int i = 0; i < 4; i++)
        if (from[i] >= 0 && dup2(from[i], i) < 0)
            _exit(126);
    if (err >= 0 && wire < 0) /* SIGTERM to all processes of a Slurm job must not cut the connection to another host */
        (void)signal(SIGTERM, SIG_IGN);
    (void)sigprocmask(SIG_SETMASK, &launch->mask, NULL);
    (void)execvp(words[0], words);
    static const char text[] = "cannot be executed\n";
    (void)!write(2, text, sizeof text - 1);
    _exit(errno == ENOENT ? 127 : 126);
}

static hawser_status start(hw_launch *launch, hw_host_connection *connection, char *const *words, hawser_error *error)
{
    int ends[2] = {-1, -1}, err[2] = {-1, -1}, none = -1;
    bool remote = connection->host != NULL;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 || (remote && pipe2(err, O_CLOEXEC) != 0) ||
        (!remote && isatty(STDIN_FILENO) == 1 && (none = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0))
        goto failed;
    connection->pid = fork();
    if (connection->pid == 0) {
        if (remote)
            become(launch, ends[1], ends[1], err[1], -1, words);
        else
            become(launch, none >= 0 ? none : STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, ends[1], words);
    }
    if (connection->pid < 0)
        goto failed;
    (void)setpgid(connection->pid, connection->pid);
    (void)close(ends[1]);
    if (none >= 0)
        (void)close(none);
    if (remote) {
        (void)close(err[1]);
        connection->err = err[0];
        (void)fcntl(connection->err, F_SETFL, fcntl(connection->err, F_GETFL) | O_NONBLOCK);
    }
    hw_wire_open(&connection->wire, ends[0], ends[0]);
    connection->closed = false;
    return HAWSER_OK;
failed:;
    int reason = errno, all[] = {ends[0], ends[1], err[0], err[1], none};
    connection->pid = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] >= 0)
            (void)close(all[i]);
    return hawser_fail(error, HAWSER_IO, "cannot start a process: %s%s", strerror(reason), hw_machine_advice(reason));
}

/* Quotes a path for the remote shell. */
static hawser_status quoted(const char *text, char *out, size_t size, hawser_error *error)
{
    size_t n = 0;
    for (out[n++] = '\''; *text != '\0' && n + 8 < size; text++) {
        if (*text == '\'') {
            memcpy(out + n, "'\\'", 3);
            n += 3;
        }
        out[n++] = *text;
    }
    if (*text != '\0')
        return hawser_fail(error, HAWSER_BAD_OPTION, "the path of hawser is too long for a command by ssh");
    out[n++] = '\'';
    out[n] = '\0';
    return HAWSER_OK;
}

hawser_status hw_host_connection_start(hw_launch *launch, hw_host_connection *connection, hawser_error *error)
{
    char self[4096], command[8300], path[8192], *rest = NULL, *ssh = NULL;
    char *words[SSH_WORDS + 3];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return hawser_fail(error, HAWSER_IO, "cannot find the path of hawser: %s", strerror(errno));
    self[length] = '\0';
    if (connection->host == NULL) {
        char *const agent[] = {self, (char *)"agent", (char *)"--wire", (char *)"3", NULL};
        return start(launch, connection, agent, error);
    }
    HAWSER_TRY(quoted(launch->remote != NULL ? launch->remote : self, path, sizeof path, error));
    snprintf(command, sizeof command, "exec %s agent", path);
    HAWSER_TRY(hw_copy_text(&ssh, launch->ssh, error));
    size_t n = 0;
    for (char *word = strtok_r(ssh, " \t", &rest); word != NULL && n < SSH_WORDS; word = strtok_r(NULL, " \t", &rest))
        words[n++] = word;
    words[n++] = connection->host->name;
    words[n++] = command;
    words[n] = NULL;
    hawser_status status = n < 3 ? hawser_fail(error, HAWSER_BAD_OPTION, "--ssh '%s' names no command", launch->ssh)
                                 : start(launch, connection, words, error);
    free(ssh);
    return status;
}

/* ------------------------------------------------------------------------------------------------- the job ---- */

/* Sends our directory and our variables of Hawser, which another host does not have. */
static hawser_status send_surroundings(hw_host_connection *connection, hawser_error *error)
{
    char directory[4096];
    if (getcwd(directory, sizeof directory) == NULL)
        return hawser_fail(error, HAWSER_IO, "cannot find the working directory for the nodes: %s", strerror(errno));
    HAWSER_TRY(hw_wire_put_text(&connection->wire, HW_FRAME_DIRECTORY, 0, directory, error));
    for (char **variable = environ; *variable != NULL; variable++)
        if (strncmp(*variable, "HAWSER_", 7) == 0 && !hw_place_variable(*variable) && !hw_kubernetes_variable(*variable))
            HAWSER_TRY(hw_wire_put_text(&connection->wire, HW_FRAME_VARIABLE, 0, *variable, error));
    return HAWSER_OK;
}

static hawser_status send_job(hw_launch *launch, hw_host_connection *connection, hawser_error *error)
{
    HAWSER_TRY(hw_wire_put_text(&connection->wire, HW_FRAME_KEY, 0, launch->key, error));
    HAWSER_TRY(hw_wire_put_text(&connection->wire, HW_FRAME_JOB, launch->node_count, launch->job, error));
    if (connection->host != NULL)
        HAWSER_TRY(send_surroundings(connection, error));
    if (launch->own)
        HAWSER_TRY(hw_wire_put_text(&connection->wire, HW_FRAME_WORD, 0, "", error));
    for (size_t i = 0; i < launch->word_count; i++)
        HAWSER_TRY(hw_wire_put_text(&connection->wire, HW_FRAME_WORD, 0, launch->words[i], error));
    for (uint32_t i = connection->first; i < connection->first + connection->count; i++)
        HAWSER_TRY(hw_wire_put_text(&connection->wire, HW_FRAME_NODE, i, launch->nodes[i].name, error));
    HAWSER_TRY(hw_wire_put(&connection->wire, HW_FRAME_BEAT, (uint32_t)(hw_launch_beat(launch) * 1e3), NULL, 0, error));
    HAWSER_TRY(hw_wire_put_text(&connection->wire, HW_FRAME_GO, 0, "", error));
    if (connection->first == 0 && connection->host != NULL && launch->stdin_fd < 0)
        HAWSER_TRY(hw_wire_put_text(&connection->wire, HW_FRAME_INPUT, 0, "", error));
    return launch->address[0] != '\0' ? hw_wire_put_text(&connection->wire, HW_FRAME_MANAGER, 0, launch->address, error)
                                      : HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------- listening ---- */

/* A reaped process has no group any more, and -0 would be our own. */
static void end_process(const hw_host_connection *connection, int number)
{
    if (connection->pid > 0)
        (void)kill(-connection->pid, number);
}

hawser_status hw_host_connection_use(hw_launch *launch, hw_host_connection *connection, hawser_error *error)
{
    connection->silent = 0;
    if (connection->closed)
        return HAWSER_OK;
    if (connection->count > 0)
        return send_job(launch, connection, error);
    if (!connection->greeted) /* no agent runs there */
        end_process(connection, SIGKILL);
    connection->closed = true;
    hw_wire_close(&connection->wire);
    return HAWSER_OK;
}

/* Skips what a login shell prints in front of the greeting. */
static hawser_status greet(hw_launch *launch, hw_host_connection *connection, hawser_error *error)
{
    hw_buffer *bytes = &connection->wire.received;
    size_t length = strlen(HW_AGENT_GREETING);
    if (hw_buffer_left(bytes) == 0)
        return HAWSER_OK;
    char *text = bytes->data + bytes->from;
    char *found = hw_buffer_left(bytes) >= length ? memmem(text, hw_buffer_left(bytes), HW_AGENT_GREETING, length) : NULL;
    bool other = found == NULL && memmem(text, hw_buffer_left(bytes), OTHER_GREETING, strlen(OTHER_GREETING)) != NULL &&
                 bytes->data[bytes->to - 1] == '\n';
    if (other || (found == NULL && hw_buffer_left(bytes) > GREETING_MOST)) {
        snprintf(connection->last, sizeof connection->last, "%s",
                 other ? "the hawser there is of another release"
                       : "it prints text, but not the greeting of an agent of hawser");
        connection->wire.ended = true;
        end_process(connection, SIGKILL); /* no agent runs there, so nothing must be cleaned up */
    }
    if (found == NULL)
        return HAWSER_OK;
    hw_buffer_drop(bytes, (size_t)(found - text) + length);
    connection->greeted = true;
    connection->silent = 0;
    if (launch->interrupts > 0) { /* the request could not be sent on, and there is nothing yet to be ended */
        end_process(connection, SIGKILL);
        return HAWSER_OK;
    }
    return launch->gathering ? HAWSER_OK : send_job(launch, connection, error);
}

/* Sends the manager's address to all agents. An agent that has not greeted yet gets it behind its job: before that it has no
 * nodes. */
static hawser_status spread_address(hw_launch *launch, const char *address, hawser_error *error)
{
    snprintf(launch->address, sizeof launch->address, "%s", address);
    for (size_t i = 0; i < launch->connection_count; i++)
        if (!launch->connections[i].closed && launch->connections[i].greeted)
            HAWSER_TRY(hw_wire_put_text(&launch->connections[i].wire, HW_FRAME_MANAGER, 0, address, error));
    return HAWSER_OK;
}

static hawser_status take_output(hw_launch *launch, const hw_launch_frame *frame, hawser_error *error)
{
    hw_run_node *node = &launch->nodes[frame->number];
    bool err = frame->kind == HW_FRAME_ERR;
    if (frame->number == 0 && !err) {
        (void)fwrite(frame->payload, 1, frame->length, launch->stream_out);
        (void)fflush(launch->stream_out);
        return HAWSER_OK;
    }
    if (node->file != NULL) {
        (void)fwrite(frame->payload, 1, frame->length, node->file);
        (void)fflush(node->file);
        return HAWSER_OK;
    }
    return hw_lines_take(err ? &node->err : &node->out, launch->prefix ? node->label : "",
                         err ? launch->stream_err : launch->stream_out, frame->payload, frame->length, false, error);
}

static hawser_status take_end(hw_launch *launch, const hw_launch_frame *frame, hawser_error *error)
{
    bool killed = strncmp(frame->payload, "signal ", 7) == 0;
    int number = (int)strtol(frame->payload + strcspn(frame->payload, " "), NULL, 10);
    return hw_launch_ended(launch, frame->number, killed ? 0 : number, killed ? number : 0, NULL, error);
}

static void take_blame(hw_launch *launch, const hw_launch_frame *frame)
{
    char *why = NULL;
    unsigned long node = strtoul(frame->payload, &why, 10);
    if (why != frame->payload && *why == ' ' && node < launch->node_count)
        hw_launch_count_losses(launch, frame->number, (uint32_t)node, why + 1);
}

static hawser_status take_failure(hw_launch *launch, const hw_launch_frame *frame, hawser_error *error)
{
    char *why = NULL;
    long code = strtol(frame->payload, &why, 10);
    return hw_launch_ended(launch, frame->number, (int)code, 0, *why == ' ' ? why + 1 : why, error);
}

static hawser_status take_frame(hw_launch *launch, const hw_host_connection *connection, const hw_launch_frame *frame,
                                hawser_error *error)
{
    bool of_node = frame->kind != HW_FRAME_TAKEN && frame->kind != HW_FRAME_ALIVE;
    if (of_node && (frame->number < connection->first || frame->number >= connection->first + connection->count))
        return hawser_fail(error, HAWSER_BAD_INPUT, "an agent sent a message about node %u, which is not its own",
                           frame->number);
    switch (frame->kind) {
    case HW_FRAME_STARTED: launch->nodes[frame->number].pid = strtol(frame->payload, NULL, 10); return HAWSER_OK;
    case HW_FRAME_FAILED: return take_failure(launch, frame, error);
    case HW_FRAME_ADDRESS: return spread_address(launch, frame->payload, error);
    case HW_FRAME_OUT:
    case HW_FRAME_ERR: return take_output(launch, frame, error);
    case HW_FRAME_TAKEN:
        launch->input_out -= frame->number < launch->input_out ? frame->number : launch->input_out;
        return HAWSER_OK;
    case HW_FRAME_ENDED: return take_end(launch, frame, error);
    case HW_FRAME_LOST: take_blame(launch, frame); return HAWSER_OK;
    case HW_FRAME_PROGRESS: launch->progressed = true; return HAWSER_OK;
    case HW_FRAME_ALIVE: return HAWSER_OK;
    default: return hawser_fail(error, HAWSER_BAD_INPUT, "an agent sent a frame that only hawser run sends");
    }
}

hawser_status hw_host_connection_serve(hw_launch *launch, hw_host_connection *connection, hawser_error *error)
{
    hw_launch_frame frame;
    bool there = true;
    HAWSER_TRY(hw_wire_fill(&connection->wire, error));
    if (!connection->greeted)
        HAWSER_TRY(greet(launch, connection, error));
    while (connection->greeted && there) {
        HAWSER_TRY(hw_wire_next(&connection->wire, &frame, &there, error));
        if (there) {
            connection->silent = 0;
            HAWSER_TRY(take_frame(launch, connection, &frame, error));
        }
    }
    return HAWSER_OK;
}

static void remember(hw_host_connection *connection, const char *piece, size_t length)
{
    while (length > 0 && (piece[length - 1] == '\n' || piece[length - 1] == '\r'))
        length--;
    size_t from = length;
    while (from > 0 && piece[from - 1] != '\n')
        from--;
    if (length > from)
        snprintf(connection->last, sizeof connection->last, "%.*s", (int)(length - from), piece + from);
}

hawser_status hw_host_connection_receive(hw_launch *launch, hw_host_connection *connection, hawser_error *error)
{
    char piece[4096], label[80];
    ssize_t got = read(connection->err, piece, sizeof piece);
    snprintf(label, sizeof label, "[%.60s] ", connection->host->name);
    if (got > 0) {
        remember(connection, piece, (size_t)got);
        return hw_lines_take(&connection->words, label, launch->stream_err, piece, (size_t)got, false, error);
    }
    if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
        (void)close(connection->err);
        connection->err = -1;
        return hw_lines_take(&connection->words, label, launch->stream_err, "", 0, true, error);
    }
    return HAWSER_OK;
}

hawser_status hw_host_connection_signal(hw_launch *launch, int number, hawser_error *error)
{
    for (size_t i = 0; i < launch->connection_count; i++) {
        hw_host_connection *connection = &launch->connections[i];
        bool ending =
            number == SIGINT || number == SIGTERM || number == SIGKILL || (number == SIGHUP && launch->interrupts > 0);
        if (!connection->closed && connection->greeted)
            HAWSER_TRY(hw_wire_put(&connection->wire, HW_FRAME_SIGNAL, (uint32_t)number, NULL, 0, error));
        else if (!connection->closed && ending)
            end_process(connection, number == SIGKILL || connection->host != NULL ? SIGKILL : SIGTERM);
    }
    return HAWSER_OK;
}

static bool all_started(const hw_launch *launch, const hw_host_connection *connection)
{
    for (uint32_t i = connection->first; i < connection->first + connection->count; i++)
        if (launch->nodes[i].pid == 0 && !launch->nodes[i].ended)
            return false;
    return true;
}

/* Returns the signal that ended the agent of this host; 0: none, or we sent it. Only its ssh knows how an agent of another
 * host ended. */
static int killed_by(const hw_host_connection *connection)
{
    return connection->host == NULL && connection->most == 0 && WIFSIGNALED(connection->result)
               ? WTERMSIG(connection->result)
               : 0;
}

static void why_lost(const hw_launch *launch, const hw_host_connection *connection, char *text, size_t size)
{
    const char *host = connection->host != NULL ? connection->host->name : "this host";
    int code = WIFEXITED(connection->result) ? WEXITSTATUS(connection->result) : -1;
    if (connection->most > 0 && connection->greeted)
        snprintf(text, size, "%s has been silent for %.3g s (--%s)",
                 connection->host != NULL ? host : "the agent of this host", connection->most,
                 all_started(launch, connection) ? "failure-timeout" : "join-timeout");
    else if (connection->most > 0 && connection->host == NULL)
        snprintf(text, size, "the agent of this host did not start within %.3g s (--join-timeout)", connection->most);
    else if (connection->most > 0)
        snprintf(text, size, "%s: '%.100s' has logged in nowhere within %.3g s (--join-timeout)%s%s", host, launch->ssh,
                 connection->most, connection->last[0] != '\0' ? ": " : "", connection->last);
    else if (killed_by(connection) != 0)
        snprintf(text, size, "the agent of this host was killed by signal %d (%s)%s", killed_by(connection),
                 sigabbrev_np(killed_by(connection)), killed_by(connection) == SIGKILL ? HW_OUT_OF_MEMORY : "");
    else if (connection->greeted)
        snprintf(text, size, "the connection to %s is gone%s%s", host, connection->last[0] != '\0' ? ": " : "",
                 connection->last);
    else if (connection->host == NULL)
        snprintf(text, size, "the agent of this host did not start");
    else if (code == 127)
        snprintf(text, size,
                 "%s: hawser is not at the path that it has on this host; give its path there by --remote PATH (%s)", host,
                 connection->last);
    else
        snprintf(text, size, "cannot log in to %s by '%s': %s; try it by hand, keys and host keys must be in place", host,
                 launch->ssh, connection->last[0] != '\0' ? connection->last : "it ended without a message");
}

/* Records that a host cannot take part, with a line the first time, and when it may be asked again. */
static void leave_out(const hw_launch *launch, hw_host_connection *connection, const char *why)
{
    if (launch->interrupts == 0 && connection->again == 0)
        fprintf(launch->stream_err, "hawser run: %s is left out: %s\n", connection->host->name, why);
    (void)fflush(launch->stream_err);
    connection->host->lost = true;
    connection->again = hw_seconds() + AGAIN_SECONDS;
}

hawser_status hw_host_connection_settle(hw_launch *launch, hw_host_connection *connection, hawser_error *error)
{
    char why[600];
    for (int i = 0; i < 64 && connection->err >= 0; i++) /* its last lines give the reason */
        HAWSER_TRY(hw_host_connection_receive(launch, connection, error));
    connection->closed = true;
    why_lost(launch, connection, why, sizeof why);
    hw_wire_close(&connection->wire);
    if (launch->gathering)
        leave_out(launch, connection, why);
    for (uint32_t i = connection->first; i < connection->first + connection->count; i++)
        if (!launch->nodes[i].ended) {
            if (connection->host != NULL)
                connection->host->lost = launch->interrupts == 0;
            HAWSER_TRY(hw_launch_ended(launch, i, killed_by(connection) != 0 ? 0 : HW_EXIT_PEER, killed_by(connection), why,
                                       error));
        }
    return HAWSER_OK;
}

hawser_status hw_host_connection_abandon(hw_launch *launch, hw_host_connection *connection, hawser_error *error)
{
    if (connection->host != NULL && connection->greeted)
        fprintf(launch->stream_err, "hawser run: %s does not answer; its nodes may still run there\n",
                connection->host->name);
    else if (connection->host == NULL)
        fprintf(launch->stream_err, "hawser run: the agent of this host does not answer\n");
    (void)fflush(launch->stream_err);
    if (connection->last[0] == '\0')
        snprintf(connection->last, sizeof connection->last, "it did not answer");
    /* A stopped agent of this host continues, finds its wire closed and ends its nodes. Of an agent elsewhere only the ssh
     * process is ours. */
    end_process(connection, connection->host != NULL ? SIGKILL : SIGCONT);
    return hw_host_connection_settle(launch, connection, error);
}

/* Counts the silence of a host. Its limit is longer than the failure timeout, because the nodes report the loss with the
 * phase of the job. */
hawser_status hw_host_connection_wait(hw_launch *launch, hw_host_connection *connection, double seconds, hawser_error *error)
{
    bool started = connection->greeted && all_started(launch, connection);
    double limit = started ? launch->failure_timeout + NODES_FIRST : launch->join_timeout;
    connection->silent += seconds;
    if (connection->silent < limit)
        return HAWSER_OK;
    connection->most = started ? connection->silent : limit;
    return hw_host_connection_abandon(launch, connection, error);
}

void hw_host_connection_free(hw_host_connection *connection)
{
    hw_wire_close(&connection->wire);
    if (connection->err >= 0)
        (void)close(connection->err);
    connection->err = -1;
    hw_buffer_free(&connection->words.bytes);
}
