#include "cli/run/agent.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/option_value.h"
#include "cli/cli.h"
#include "cli/run/child.h"

enum {
    ASKED_SECONDS = 1,
    LAST_SECONDS = 3,
    SENT_ON_SECONDS = 3,
    DRAIN_SECONDS = 5,
    WATCHED = 4,
    LONGEST_LINE = 1024,
    PIECE = 1 << 16,
    OTHER_DESCRIPTORS = 16
};

typedef struct agent {
    hw_wire wire;
    int signals;
    const sigset_t *mask;
    int node_in, node_out;
    /* The job, as it was received: */
    char *key, *job, *directory;
    uint32_t nodes;
    char **words, **variables;
    size_t word_count, word_capacity, variable_count, variable_capacity;
    hw_child *children;
    size_t count, capacity;
    double beat, beat_at; /* seconds between two heartbeats, 0: none is requested; time of the next one */
    bool going;
    double asked, last; /* times at which the nodes get SIGTERM and are killed; 0: none yet */
    /* When the launcher last sent a request to end; since when this process has had one of its own. 0: none */
    double sent_on, signalled;
    struct pollfd *set;
} agent;

/* ------------------------------------------------------------------------------------------------- the job ---- */

static hawser_status add_text(char ***list, size_t *count, size_t *capacity, const char *text, hawser_error *error)
{
    HAWSER_TRY(HW_GROW(list, capacity, *count + 2, "a list of arguments", error));
    HAWSER_TRY(hw_copy_text(&(*list)[*count], text, error));
    (*list)[++*count] = NULL;
    return HAWSER_OK;
}

enum { AGENT_KEY = 2 * 64 + 1 /* digits of the longest key */ };

static hawser_status set_text(char **at, const char *text, hawser_error *error)
{
    free(*at);
    *at = NULL;
    return hw_copy_text(at, text, error);
}

static hawser_status set_key(agent *it, const char *digits, hawser_error *error)
{
    if (strlen(digits) >= AGENT_KEY)
        return hawser_fail(error, HAWSER_BAD_INPUT, "hawser run sent a key that is too long");
    if (it->key == NULL)
        HAWSER_TRY(hw_undumped_new((void **)&it->key, AGENT_KEY, error));
    (void)snprintf(it->key, AGENT_KEY, "%s", digits);
    return HAWSER_OK;
}

static hawser_status add_child(agent *it, const hw_launch_frame *frame, hawser_error *error)
{
    HAWSER_TRY(HW_GROW(&it->children, &it->capacity, it->count + 1, "nodes", error));
    hw_child *child = &it->children[it->count++];
    *child = (hw_child){.node = frame->number, .channel = -1, .in = -1, .out = -1, .err = -1};
    snprintf(child->name, sizeof child->name, "%s", frame->payload);
    return HAWSER_OK;
}

static bool same_name(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");
    return strncmp(a, b, length) == 0 && b[length] == '=';
}

static bool overridden(const agent *it, const char *variable)
{
    for (size_t i = 0; i < it->variable_count; i++)
        if (same_name(it->variables[i], variable))
            return true;
    return false;
}

/* Makes a node's environment: ours, the variables of the job, and the place of this node. The last entries of the array
 * (five to seven) are its own. */
static hawser_status environment_of(const agent *it, const hw_child *child, char own[7][160], char ***out,
                                    hawser_error *error)
{
    size_t count = 0, n = 0;
    while (environ[count] != NULL)
        count++;
    char **all = NULL;
    HAWSER_TRY(HW_NEW(&all, count + it->variable_count + 8, "an environment", error));
    for (size_t i = 0; i < count; i++)
        if (!hw_place_variable(environ[i]) && !overridden(it, environ[i]))
            all[n++] = environ[i];
    for (size_t i = 0; i < it->variable_count; i++)
        all[n++] = it->variables[i];
    snprintf(own[0], sizeof own[0], "HAWSER_LAUNCH=fd:3");
    snprintf(own[1], sizeof own[1], "HAWSER_NODE=%u", child->node);
    snprintf(own[2], sizeof own[2], "HAWSER_NODES=%u", it->nodes);
    snprintf(own[3], sizeof own[3], "HAWSER_NODE_NAME=%s", child->name);
    snprintf(own[4], sizeof own[4], "HAWSER_JOB=%.100s", it->job);
    snprintf(own[5], sizeof own[5], "HAWSER_SOCKETS=@");
    snprintf(own[6], sizeof own[6], "HAWSER_LOCAL=yes");
    for (int i = 0; i < 5; i++)
        all[n++] = own[i];
    if (it->count > 1)
        all[n++] = own[5];
    if (it->count == it->nodes)
        all[n++] = own[6];
    *out = all;
    return HAWSER_OK;
}

/* Reports that a node was not started, with the exit code that it counts with. */
static hawser_status give_up(agent *it, hw_child *child, int code, const char *why, hawser_error *error)
{
    char failure[1100];
    child->ended = true;
    snprintf(failure, sizeof failure, "%d %s", code, why);
    return hw_wire_put_text(&it->wire, HW_FRAME_FAILED, child->node, failure, error);
}

static hawser_status start_child(agent *it, hw_child *child, hawser_error *error)
{
    char own[7][160], text[40];
    int code = 126;
    hawser_error why = {0};
    hw_child_job job = {.words = it->words,
                        .key = it->key,
                        .directory = it->directory,
                        .in = it->node_in,
                        .out = it->node_out,
                        .signals = it->mask};
    HAWSER_TRY(environment_of(it, child, own, &job.environment, error));
    hawser_status status = hw_child_start(child, &job, &code, &why);
    free(job.environment);
    if (status == HAWSER_OK && child->pid > 0) {
        snprintf(text, sizeof text, "%ld", (long)child->pid);
        return hw_wire_put_text(&it->wire, HW_FRAME_STARTED, child->node, text, error);
    }
    return give_up(it, child, code, why.text, error);
}

/* Starts all nodes or none: a node that waits for one that cannot be started would wait without a reason. */
static hawser_status start_all(agent *it, hawser_error *error)
{
    char what[64];
    hawser_error why = {0};
    snprintf(what, sizeof what, "%zu nodes on one host need", it->count);
    hawser_status enough = hw_machine_descriptors(WATCHED * it->count + OTHER_DESCRIPTORS, what, "their agent", &why);
    hawser_status status = HAWSER_OK;
    for (size_t i = 0; i < it->count && status == HAWSER_OK; i++)
        status = enough == HAWSER_OK ? start_child(it, &it->children[i], error)
                                     : give_up(it, &it->children[i], hw_exit_code(enough), why.text, error);
    return status;
}

static hawser_status go(agent *it, hawser_error *error)
{
    if (it->words == NULL || it->count == 0 || it->key == NULL || it->job == NULL || it->going)
        return hawser_fail(error, HAWSER_BAD_INPUT, "hawser run sent a job without arguments, nodes, key or job");
    it->going = true;
    HAWSER_TRY(HW_NEW(&it->set, 3 + WATCHED * it->count, "a list of descriptors", error));
    return start_all(it, error);
}

/* ------------------------------------------------------------------------------------------------- the nodes ---- */

static hawser_status send_manager(agent *it, const char *address, hawser_error *error)
{
    for (size_t i = 0; i < it->count; i++)
        if (it->children[i].node != 0 && it->children[i].channel >= 0)
            HAWSER_TRY(hw_child_send(&it->children[i], "manager", address, error));
    return HAWSER_OK;
}

/* Reports the failure of a node to the nodes here, one of which may wait for it to join. */
static hawser_status send_ending(agent *it, const hw_launch_frame *frame, hawser_error *error)
{
    char line[400];
    snprintf(line, sizeof line, "%u %.300s", frame->number, frame->payload);
    for (size_t i = 0; i < it->count; i++)
        if (it->children[i].node != frame->number && it->children[i].channel >= 0)
            HAWSER_TRY(hw_child_send(&it->children[i], "ended", line, error));
    return HAWSER_OK;
}

static hawser_status take_input(agent *it, const hw_launch_frame *frame, hawser_error *error)
{
    for (size_t i = 0; i < it->count; i++)
        if (it->children[i].node == 0) {
            it->children[i].input_ended = frame->length == 0;
            return hw_buffer_add(&it->children[i].input, frame->payload, frame->length, error);
        }
    return HAWSER_OK;
}

/* Adds an argument. An empty first one stands for this command itself. */
static hawser_status take_word(agent *it, const char *word, hawser_error *error)
{
    char self[4096];
    if (it->word_count == 0 && word[0] == '\0') {
        ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
        if (length <= 0)
            return hawser_fail(error, HAWSER_IO, "cannot find the path of hawser: %s", strerror(errno));
        self[length] = '\0';
        word = self;
    }
    return add_text(&it->words, &it->word_count, &it->word_capacity, word, error);
}

static void pass_signal(agent *it, int number)
{
    for (size_t i = 0; i < it->count; i++)
        hw_child_signal(&it->children[i], number);
    if (number != SIGTERM && number != SIGINT)
        return;
    it->sent_on = hw_seconds();
    it->signalled = 0;
}

static hawser_status take_frame(agent *it, const hw_launch_frame *frame, hawser_error *error)
{
    switch (frame->kind) {
    case HW_FRAME_KEY: return set_key(it, frame->payload, error);
    case HW_FRAME_JOB: it->nodes = frame->number; return set_text(&it->job, frame->payload, error);
    case HW_FRAME_DIRECTORY: return set_text(&it->directory, frame->payload, error);
    case HW_FRAME_VARIABLE:
        return add_text(&it->variables, &it->variable_count, &it->variable_capacity, frame->payload, error);
    case HW_FRAME_WORD: return take_word(it, frame->payload, error);
    case HW_FRAME_NODE: return add_child(it, frame, error);
    case HW_FRAME_BEAT: it->beat = frame->number / 1e3; return HAWSER_OK;
    case HW_FRAME_GO: return go(it, error);
    case HW_FRAME_SIGNAL: pass_signal(it, (int)frame->number); return HAWSER_OK;
    case HW_FRAME_MANAGER: return send_manager(it, frame->payload, error);
    case HW_FRAME_ENDING: return send_ending(it, frame, error);
    case HW_FRAME_INPUT: return take_input(it, frame, error);
    default: return hawser_fail(error, HAWSER_BAD_INPUT, "hawser run sent a frame that only an agent sends");
    }
}

/* Sends on what a node has written; at the end it closes the descriptor. */
static hawser_status pass_on(agent *it, const hw_child *child, int *fd, hw_frame_kind kind, hawser_error *error)
{
    char piece[PIECE];
    ssize_t got = read(*fd, piece, sizeof piece);
    if (got > 0)
        return hw_wire_put(&it->wire, kind, child->node, piece, (size_t)got, error);
    if (got == 0 || (errno != EINTR && errno != EAGAIN))
        hw_close_fd(fd);
    return HAWSER_OK;
}

/* Returns the text behind `word` if the line begins with it, else NULL. */
static const char *after(const char *line, const char *word)
{
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 ? line + length : NULL;
}

static hawser_status take_line(agent *it, const hw_child *child, const char *line, hawser_error *error)
{
    const char *address = after(line, "address "), *lost = after(line, "lost "), *progress = after(line, "progress ");
    if (child->node == 0 && address != NULL)
        return hw_wire_put_text(&it->wire, HW_FRAME_ADDRESS, 0, address, error);
    if (child->node == 0 && progress != NULL)
        return hw_wire_put_text(&it->wire, HW_FRAME_PROGRESS, 0, progress, error);
    return lost != NULL ? hw_wire_put_text(&it->wire, HW_FRAME_LOST, child->node, lost, error) : HAWSER_OK;
}

/* Reads lines of the node's channel: "address ADDRESS" and "progress N" of node 0, and "lost N WHY". */
static hawser_status receive(agent *it, hw_child *child, hawser_error *error)
{
    char piece[LONGEST_LINE];
    ssize_t got = read(child->channel, piece, sizeof piece);
    if (got <= 0) {
        if (got == 0 || (errno != EINTR && errno != EAGAIN))
            hw_close_fd(&child->channel);
        return HAWSER_OK;
    }
    HAWSER_TRY(hw_buffer_add(&child->incoming, piece, (size_t)got, error));
    for (char *end;
         (end = memchr(child->incoming.data + child->incoming.from, '\n', hw_buffer_left(&child->incoming))) != NULL;) {
        const char *line = child->incoming.data + child->incoming.from;
        *end = '\0';
        HAWSER_TRY(take_line(it, child, line, error));
        hw_buffer_drop(&child->incoming, (size_t)(end - line) + 1);
    }
    if (hw_buffer_left(&child->incoming) > LONGEST_LINE)
        hw_close_fd(&child->channel);
    return HAWSER_OK;
}

static hawser_status feed(agent *it, hw_child *child, hawser_error *error)
{
    size_t before = hw_buffer_left(&child->input);
    if (child->in >= 0 && !hw_buffer_write(&child->input, child->in)) {
        hw_buffer_drop(&child->input, hw_buffer_left(&child->input));
        hw_close_fd(&child->in);
    }
    size_t taken = before - hw_buffer_left(&child->input);
    if (taken > 0)
        HAWSER_TRY(hw_wire_put(&it->wire, HW_FRAME_TAKEN, (uint32_t)taken, NULL, 0, error));
    if (child->input_ended && hw_buffer_left(&child->input) == 0)
        hw_close_fd(&child->in);
    return HAWSER_OK;
}

/* The whole process group ends with its first process. The group's number is valid until that process is reaped. */
static hawser_status reap(agent *it, hw_child *child, hawser_error *error)
{
    siginfo_t info = {0};
    int result = 0;
    char text[40];
    if (child->pid <= 0 || waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
        return HAWSER_OK;
    hw_end_group(child->pid, &result);
    child->pid = -1;
    for (int turns = 0; turns < 64 && (child->out >= 0 || child->err >= 0);
         turns++) { /* reads the last output, at most a pipe's worth */
        if (child->out >= 0)
            HAWSER_TRY(pass_on(it, child, &child->out, HW_FRAME_OUT, error));
        if (child->err >= 0)
            HAWSER_TRY(pass_on(it, child, &child->err, HW_FRAME_ERR, error));
    }
    if (child->channel >= 0)
        HAWSER_TRY(receive(it, child, error));
    if (WIFSIGNALED(result))
        snprintf(text, sizeof text, "signal %d", WTERMSIG(result));
    else
        snprintf(text, sizeof text, "code %d", WEXITSTATUS(result));
    hw_child_close(child);
    child->ended = true;
    return hw_wire_put_text(&it->wire, HW_FRAME_ENDED, child->node, text, error);
}

/* ------------------------------------------------------------------------------------------------- the loop ---- */

static bool all_ended(const agent *it)
{
    for (size_t i = 0; i < it->count; i++)
        if (!it->children[i].ended)
            return false;
    return it->going;
}

/* The launcher is gone: closes the channels, which ends nodes of Hawser. Other programs get SIGTERM later: a node of Hawser
 * would take a signal that comes first as a request to save its model. */
static void wind_up(agent *it)
{
    if (it->last != 0)
        return;
    it->asked = hw_seconds() + ASKED_SECONDS;
    it->last = it->asked - ASKED_SECONDS + LAST_SECONDS;
    for (size_t i = 0; i < it->count; i++) {
        hw_close_fd(&it->children[i].channel);
        hw_child_signal(&it->children[i], SIGCONT);
    }
}

/* Signals the nodes whose time to end by themselves is over. */
static void end_late(agent *it)
{
    double now = hw_seconds();
    if (it->signalled != 0 && now > it->signalled + SENT_ON_SECONDS)
        wind_up(it);
    int number = it->last == 0 ? 0 : now > it->last ? SIGKILL : now > it->asked ? SIGTERM : 0;
    if (number == 0)
        return;
    it->asked = it->last;
    for (size_t i = 0; i < it->count; i++)
        hw_child_signal(&it->children[i], number);
}

static size_t watch_all(agent *it, struct pollfd *set)
{
    bool full = hw_wire_full(&it->wire), waiting = hw_buffer_left(&it->wire.waiting) > 0;
    set[0] = hw_watch(it->signals, POLLIN);
    set[1] = hw_watch(it->wire.in, it->wire.ended ? 0 : POLLIN);
    set[2] = hw_watch(it->wire.out, waiting ? POLLOUT : 0);
    size_t n = 3;
    for (size_t i = 0; i < it->count && it->going; i++, n += WATCHED) {
        hw_child *child = &it->children[i];
        bool outgoing = hw_buffer_left(&child->outgoing) > 0,
             input = hw_buffer_left(&child->input) > 0 || child->input_ended;
        set[n] = hw_watch(child->channel, (short)(POLLIN | (outgoing ? POLLOUT : 0)));
        set[n + 1] = hw_watch(child->in, input ? POLLOUT : 0);
        set[n + 2] = hw_watch(child->out, full ? 0 : POLLIN);
        set[n + 3] = hw_watch(child->err, full ? 0 : POLLIN);
    }
    return n;
}

static hawser_status serve_child(agent *it, hw_child *child, const struct pollfd *set, hawser_error *error)
{
    if ((set[0].revents & POLLOUT) != 0 && !hw_buffer_write(&child->outgoing, child->channel))
        hw_buffer_drop(&child->outgoing, hw_buffer_left(&child->outgoing));
    if ((set[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0)
        HAWSER_TRY(receive(it, child, error));
    if (set[1].revents != 0)
        HAWSER_TRY(feed(it, child, error));
    if (set[2].revents != 0 && child->out >= 0)
        HAWSER_TRY(pass_on(it, child, &child->out, HW_FRAME_OUT, error));
    if (set[3].revents != 0 && child->err >= 0)
        HAWSER_TRY(pass_on(it, child, &child->err, HW_FRAME_ERR, error));
    return HAWSER_OK;
}

/* Slurm and systemd send a request to end to launcher, agents and nodes alike. Then the launcher sends its own on, and the
 * nodes may take their time. */
static hawser_status serve_signals(agent *it, hawser_error *error)
{
    for (int number; (number = hw_signals_next(it->signals)) != 0;)
        if (number == SIGHUP)
            wind_up(it);
        else if ((number == SIGTERM || number == SIGINT) && it->signalled == 0 &&
                 (it->sent_on == 0 || hw_seconds() > it->sent_on + SENT_ON_SECONDS))
            it->signalled = hw_seconds();
    for (size_t i = 0; i < it->count; i++)
        HAWSER_TRY(reap(it, &it->children[i], error));
    return HAWSER_OK;
}

static hawser_status serve_wire(agent *it, hawser_error *error)
{
    hw_launch_frame frame;
    bool there;
    HAWSER_TRY(hw_wire_fill(&it->wire, error));
    HAWSER_TRY(hw_wire_next(&it->wire, &frame, &there, error));
    while (there) {
        HAWSER_TRY(take_frame(it, &frame, error));
        HAWSER_TRY(hw_wire_next(&it->wire, &frame, &there, error));
    }
    if (it->wire.ended)
        wind_up(it);
    return HAWSER_OK;
}

/* Sends a heartbeat when it is due. Data that wait to be sent serve as well. */
static hawser_status say_alive(agent *it, hawser_error *error)
{
    double now = hw_seconds();
    if (it->beat <= 0 || now < it->beat_at)
        return HAWSER_OK;
    it->beat_at = now + it->beat;
    return hw_buffer_left(&it->wire.waiting) > 0 ? HAWSER_OK : hw_wire_put(&it->wire, HW_FRAME_ALIVE, 0, NULL, 0, error);
}

static hawser_status turn(agent *it, hawser_error *error)
{
    struct pollfd before[3], *set = it->set != NULL ? it->set : before;
    size_t count = watch_all(it, set);
    HAWSER_TRY(say_alive(it, error));
    double wait = it->beat > 0 ? it->beat_at - hw_seconds() : INFINITY;
    if (poll(set, count, hw_poll_milliseconds(it->last != 0 || it->signalled != 0 ? fmin(wait, 0.1) : wait)) < 0 &&
        errno != EINTR)
        return hawser_fail(error, HAWSER_IO, "cannot wait: %s", strerror(errno));
    if (set[2].revents != 0)
        hw_wire_flush(&it->wire);
    for (size_t i = 0; it->going && i < it->count && 3 + WATCHED * i < count; i++)
        HAWSER_TRY(serve_child(it, &it->children[i], set + 3 + WATCHED * i, error));
    if (set[0].revents != 0)
        HAWSER_TRY(serve_signals(it, error));
    if (set[1].revents != 0)
        HAWSER_TRY(serve_wire(it, error));
    end_late(it);
    return HAWSER_OK;
}

/* Sends what is still queued, unless the launcher does not read it. */
static void drain(agent *it)
{
    double until = hw_seconds() + DRAIN_SECONDS;
    while (hw_buffer_left(&it->wire.waiting) > 0 && hw_seconds() < until) {
        struct pollfd one = {.fd = it->wire.out, .events = POLLOUT};
        (void)poll(&one, 1, 100);
        hw_wire_flush(&it->wire);
    }
}

static void free_list(char **list)
{
    for (char **at = list; at != NULL && *at != NULL; at++)
        free(*at);
    free(list);
}

static void finish(agent *it)
{
    for (size_t i = 0; i < it->count; i++) {
        if (it->children[i].pid > 0)
            hw_end_group(it->children[i].pid, NULL);
        hw_child_close(&it->children[i]);
    }
    hw_wire_close(&it->wire);
    hw_undumped_free(it->key, AGENT_KEY);
    free(it->job);
    free(it->directory);
    free_list(it->words);
    free_list(it->variables);
    free(it->children);
    free(it->set);
}

hawser_status hw_agent_serve(int in, int out, int node_in, int node_out, const sigset_t *mask, hawser_error *error)
{
    agent it = {.node_in = node_in, .node_out = node_out, .mask = mask};
    sigset_t before;
    HAWSER_TRY(hw_signals_open(&before, &it.signals, error));
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* for hw_end_group */
    hw_wire_open(&it.wire, in, out);
    hawser_status status = hw_buffer_add(&it.wire.waiting, HW_AGENT_GREETING, strlen(HW_AGENT_GREETING), error);
    while (status == HAWSER_OK && !all_ended(&it) && !(it.last != 0 && !it.going))
        status = turn(&it, error);
    drain(&it);
    finish(&it);
    hw_signals_close(&before, it.signals);
    return status;
}
