/* place_run.c - the node's end of the channel that `hawser run` gives each process. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cluster/place.h"

enum { KEY_SECONDS = 30, ADDRESS_SECONDS = 10, LONGEST_LINE = 512 };

/* Bytes that were read and not used yet. */
typedef struct text_reader {
    size_t used;
    char text[LONGEST_LINE];
} text_reader;

static hawser_status await(const hw_place *place, int fd, short events, double deadline, const char *what,
                           hawser_error *error)
{
    for (;;) {
        double left = deadline - hw_seconds();
        struct pollfd set = {.fd = fd, .events = events};
        double slice = hw_cancellation_slice(place->cancellation, deadline) - hw_seconds();
        int ready = poll(&set, 1, hw_poll_milliseconds(slice));
        if (ready > 0)
            return HAWSER_OK;
        if (ready < 0 && errno != EINTR)
            return hawser_fail(error, HAWSER_IO, "cannot wait for hawser run: %s", strerror(errno));
        if (hw_cancelled(place->cancellation))
            return hawser_fail(error, HAWSER_STOP, "a wait for hawser run to %s was cancelled", what);
        if (left <= 0)
            return hawser_fail(error, HAWSER_TIMEOUT,
                               "hawser run did not %s in time; a process joins once: for several jobs open a cluster "
                               "(hawser_cluster_open), and the jobs on it",
                               what);
    }
}

/* Takes a whole line, without its end, from what has been read. */
static bool take_line(text_reader *at, char line[LONGEST_LINE])
{
    char *end = memchr(at->text, '\n', at->used);
    if (end == NULL)
        return false;
    size_t length = (size_t)(end - at->text);
    memcpy(line, at->text, length);
    line[length] = '\0';
    at->used -= length + 1;
    memmove(at->text, end + 1, at->used);
    return true;
}

/* Reads the next line, without its end. */
static hawser_status read_line(hw_place *place, double deadline, const char *what, char line[LONGEST_LINE],
                               hawser_error *error)
{
    text_reader *at = place->state;
    for (;;) {
        if (take_line(at, line))
            return HAWSER_OK;
        if (at->used == sizeof at->text)
            return hawser_fail(error, HAWSER_BAD_INPUT, "the launcher's channel carries a line of over %d bytes",
                               LONGEST_LINE);
        HAWSER_TRY(await(place, place->channel[0], POLLIN, deadline, what, error));
        ssize_t got = read(place->channel[0], at->text + at->used, sizeof at->text - at->used);
        if (got == 0 || (got < 0 && errno == ECONNRESET))
            return hawser_fail(error, HAWSER_PEER_LOST, "hawser run, which started this process, is gone");
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return hawser_fail(error, HAWSER_IO, "cannot read the launcher's channel: %s", strerror(errno));
        at->used += got > 0 ? (size_t)got : 0;
    }
}

/* Returns the text behind `word` and a blank, or NULL. */
static const char *after(const char *line, const char *word)
{
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 && line[length] == ' ' ? line + length + 1 : NULL;
}

static hawser_status publish(hw_place *place, const char *address, hawser_error *error)
{
    char line[HW_NET_ADDRESS + 16];
    int length = snprintf(line, sizeof line, "address %s\n", address);
    if (length < 0 || (size_t)length >= sizeof line)
        return hawser_fail(error, HAWSER_INTERNAL, "an address of %zu bytes", strlen(address));
    double deadline = hw_seconds() + ADDRESS_SECONDS;
    for (size_t sent = 0; sent < (size_t)length;) {
        HAWSER_TRY(await(place, place->channel[1], POLLOUT, deadline, "take this node's address", error));
        ssize_t put = send(place->channel[1], line + sent, (size_t)length - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put < 0 && errno != EINTR && errno != EAGAIN)
            return hawser_fail(error, HAWSER_PEER_LOST, "hawser run, which started this process, is gone (%s)",
                               strerror(errno));
        sent += put > 0 ? (size_t)put : 0;
    }
    return HAWSER_OK;
}

static bool read_end(const char *line, hw_node_end *end)
{
    const char *found = after(line, "ended");
    int length = 0;
    if (found == NULL || sscanf(found, "%" SCNu32 " %n", &end->node, &length) != 1 || length == 0)
        return false;
    snprintf(end->text, sizeof end->text, "%.*s", (int)sizeof end->text - 1, found + length);
    return true;
}

/* Drops a line that is longer than the buffer: the launcher sends none. */
static bool take(hw_place *place, const void *bytes, size_t length, hw_node_end *end)
{
    text_reader *at = place->state;
    char line[LONGEST_LINE];
    size_t fits = sizeof at->text - at->used < length ? sizeof at->text - at->used : length;
    if (fits > 0)
        memcpy(at->text + at->used, bytes, fits);
    at->used += fits;
    while (take_line(at, line))
        if (read_end(line, end))
            return true;
    if (at->used == sizeof at->text)
        at->used = 0;
    return false;
}

static hawser_status fetch(hw_place *place, double seconds, char address[HW_NET_ADDRESS], hawser_error *error)
{
    char line[LONGEST_LINE];
    HAWSER_TRY(read_line(place, hw_seconds() + seconds, "hand on the address of node 0", line, error));
    const char *found = after(line, "manager");
    hw_node_end end;
    if (read_end(line, &end))
        return hawser_fail(error, HAWSER_PEER_LOST, "%s before the job's nodes had joined", end.text);
    if (found == NULL || strlen(found) >= HW_NET_ADDRESS)
        return hawser_fail(error, HAWSER_BAD_INPUT, "hawser run said '%.40s' instead of the address of node 0", line);
    memcpy(address, found, strlen(found) + 1);
    return HAWSER_OK;
}

/* Sends one line or nothing: if the channel is full, the launcher learns of the loss from other nodes. */
static void say_lost(hw_place *place, uint32_t node, const char *why)
{
    char line[LONGEST_LINE];
    int length = snprintf(line, sizeof line, "lost %u %.400s\n", node, why);
    if (place->channel[1] >= 0 && send(place->channel[1], line, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return;
}

/* A single node has not read its key, which shows that the descriptor is still the channel. */
static bool is_channel(const hw_place *place)
{
    char key[4] = "";
    return place->ops != NULL || (recv(place->channel[1], key, sizeof key, MSG_PEEK | MSG_DONTWAIT) == (ssize_t)sizeof key &&
                                  memcmp(key, "key ", sizeof key) == 0);
}

void hw_place_progress(const hw_place *place, uint64_t clock)
{
    char line[40];
    int length = snprintf(line, sizeof line, "progress %" PRIu64 "\n", clock);
    if (place->reports && is_channel(place) &&
        send(place->channel[1], line, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return; /* the launcher is gone or stuck, and the lifeline notices the former */
}

static void close_place(hw_place *place)
{
    if (place->channel[0] >= 0)
        (void)close(place->channel[0]);
    place->channel[0] = place->channel[1] = place->lifeline = -1;
    free(place->state);
    place->state = NULL;
}

static hawser_status read_key(hw_place *place, hawser_error *error)
{
    char line[LONGEST_LINE];
    hawser_status status = read_line(place, hw_seconds() + KEY_SECONDS, "hand over the job's key", line, error);
    const char *text = status == HAWSER_OK ? after(line, "key") : NULL;
    if (text != NULL)
        status = hw_key_parse(text, strlen(text), place->key, &place->key_length, error);
    else if (status == HAWSER_OK)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "hawser run said something else than the job's key");
    explicit_bzero(line, sizeof line);
    return status;
}

/* Looks for a process that has taken the channel: it is the owner of the socket, and has set FD_CLOEXEC. So a process that
 * it has forked since has this flag, too: that one is alone. The owner's parent, or a process forked before, would join a
 * second time. */
static hawser_status look_for_owner(int fd, hw_place *place, hawser_error *error)
{
    int owner = fcntl(fd, F_GETOWN);
    bool own = owner == getpid();
    if (owner <= 0)
        return HAWSER_OK;
    if (own || (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "%s has joined the job already, and a node joins once: for several jobs open a cluster "
                           "(hawser_cluster_open), and the jobs on it; with --alone a process works for itself",
                           own ? "this process" : "another process of this node");
    *place = (hw_place){.nodes = 1, .lifeline = -1, .channel = {-1, -1}, .forked = true};
    return HAWSER_OK;
}

/* From now on only this process, and those that it forks, have the channel. In a program that a child executes it would hide
 * the launcher's end from us, and ours from the launcher. */
static hawser_status take_channel(const char *text, hw_place *place, hawser_error *error)
{
    char *end = NULL;
    long fd = strncmp(text, "fd:", 3) == 0 ? strtol(text + 3, &end, 10) : -1;
    int kind = 0;
    socklen_t size = sizeof kind;
    if (fd < 3 || fd > 1 << 20 || *end != '\0')
        return hawser_fail(error, HAWSER_BAD_OPTION, "HAWSER_LAUNCH = '%.40s': expected fd:N, as hawser run sets it", text);
    if (getsockopt((int)fd, SOL_SOCKET, SO_TYPE, &kind, &size) != 0 || kind != SOCK_STREAM)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "HAWSER_LAUNCH = '%s', but descriptor %ld is not hawser run's channel: something between hawser run and "
            "this program has closed it, or a job has been opened here before: for several jobs open a cluster "
            "(hawser_cluster_open), and the jobs on it; a child process works for itself with --alone (HAWSER_ALONE=yes)",
            text, fd);
    HAWSER_TRY(look_for_owner((int)fd, place, error));
    if (place->forked)
        return HAWSER_OK;
    (void)fcntl((int)fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl((int)fd, F_SETOWN, getpid());
    place->channel[0] = place->channel[1] = place->lifeline = (int)fd;
    return HAWSER_OK;
}

static hawser_status read_place(const hw_place_options *options, hw_place *place, hawser_error *error)
{
    char *const *environment = options->environment;
    const char *job = hw_variable(environment, "HAWSER_JOB"), *name = hw_variable(environment, "HAWSER_NODE_NAME");
    const char *sockets = hw_variable(environment, "HAWSER_SOCKETS");
    uint64_t node, nodes;
    if (!hw_variable_number(environment, "HAWSER_NODES", 1, HW_PLACE_NODES_MOST, &nodes) ||
        !hw_variable_number(environment, "HAWSER_NODE", 0, nodes - 1, &node) || job == NULL)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "HAWSER_LAUNCH is set, but HAWSER_NODE, HAWSER_NODES and HAWSER_JOB are not what hawser run sets");
    if (options->listen != 0 || options->join != NULL)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--%s is for nodes that are started by hand, and hawser run has started this one; leave one of them "
            "out",
            options->join != NULL ? "join" : "listen");
    place->node = (uint32_t)node;
    place->nodes = (uint32_t)nodes;
    place->local = hw_variable(environment, "HAWSER_LOCAL") != NULL;
    snprintf(place->job, sizeof place->job, "%s", job);
    snprintf(place->name, sizeof place->name, "%s", name != NULL ? name : "");
    place->secluded = sockets == NULL;
    if (sockets != NULL && strlen(sockets) < sizeof place->directory)
        snprintf(place->directory, sizeof place->directory, "%s", sockets);
    return HAWSER_OK;
}

/* A single node does not take the channel, because a process may open several jobs of one node. It only reports by it. */
static void find_channel(const char *text, hw_place *place)
{
    char *end = NULL;
    long fd = strncmp(text, "fd:", 3) == 0 ? strtol(text + 3, &end, 10) : -1;
    if (fd < 3 || fd > 1 << 20 || *end != '\0')
        return;
    place->channel[1] = (int)fd;
    place->reports = true;
}

hawser_status hw_place_run(const hw_place_options *options, hw_place *place, hawser_error *error)
{
    static const hw_place_ops ops = {"hawser run", publish, fetch, say_lost, take, close_place};
    const char *launch = hw_variable(options->environment, "HAWSER_LAUNCH");
    if (launch == NULL)
        return HAWSER_OK;
    HAWSER_TRY(read_place(options, place, error));
    if (place->nodes == 1) {
        find_channel(launch, place);
        return HAWSER_OK;
    }
    HAWSER_TRY(take_channel(launch, place, error));
    if (place->forked)
        return HAWSER_OK;
    place->ops = &ops;
    place->reports = place->node == 0;
    text_reader *state = NULL;
    HAWSER_TRY(HW_NEW(&state, 1, "the launcher's channel", error));
    place->state = state;
    return read_key(place, error);
}
