/* place_pmi.c - MPICH's mpirun and others like it: PMI-1, lines of text over the descriptor PMI_FD. Values that are put into
 * its store are the job's own, and all processes can read them after a barrier. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cluster/place.h"

enum { LONGEST = 2048, BARRIER_SECONDS = 60, ANSWER_SECONDS = 30, GOODBYE_SECONDS = 5 };

typedef struct pmi_store {
    char name[256];
    char answer[LONGEST];
} pmi_store;

static hawser_status say(hw_place *place, const char *line, hawser_error *error)
{
    for (size_t sent = 0, length = strlen(line); sent < length;) {
        ssize_t put = write(place->channel[1], line + sent, length - sent);
        if (put < 0 && errno != EINTR)
            return hawser_fail(error, HAWSER_PEER_LOST, "cannot speak to mpirun (PMI_FD): %s", strerror(errno));
        sent += put > 0 ? (size_t)put : 0;
    }
    return HAWSER_OK;
}

/* Reads one line. The process manager sends nothing that was not requested. */
static hawser_status read_reply(hw_place *place, double seconds, hawser_error *error)
{
    pmi_store *it = place->state;
    size_t used = 0;
    double deadline = hw_seconds() + seconds;
    while (used + 1 < sizeof it->answer) {
        double left = deadline - hw_seconds(), slice = hw_cancellation_slice(place->cancellation, deadline) - hw_seconds();
        struct pollfd set = {.fd = place->channel[0], .events = POLLIN};
        if (left <= 0)
            return hawser_fail(error, HAWSER_TIMEOUT, "mpirun (PMI_FD) has not answered for %g seconds; is a node missing?",
                               seconds);
        if (hw_cancelled(place->cancellation))
            return hawser_fail(error, HAWSER_STOP, "a wait for mpirun (PMI_FD) was cancelled");
        if (poll(&set, 1, hw_poll_milliseconds(slice)) <= 0)
            continue;
        ssize_t got = read(place->channel[0], it->answer + used, 1);
        if (got == 0)
            return hawser_fail(error, HAWSER_PEER_LOST, "mpirun, which started this process, is gone");
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return hawser_fail(error, HAWSER_IO, "cannot read from mpirun (PMI_FD): %s", strerror(errno));
        if (got == 1 && it->answer[used] == '\n') {
            it->answer[used] = '\0';
            return HAWSER_OK;
        }
        used += got > 0 ? 1 : 0;
    }
    return hawser_fail(error, HAWSER_BAD_INPUT, "mpirun (PMI_FD) sent a line of over %d bytes", LONGEST);
}

/* Finds the value behind " key=", up to a blank, and ends the text there. Returns NULL if there is none. */
static char *value_of(char *line, const char *key)
{
    size_t length = strlen(key);
    for (char *at = line; (at = strstr(at, key)) != NULL; at += length)
        if ((at == line || at[-1] == ' ') && at[length] == '=') {
            at += length + 1;
            at[strcspn(at, " ")] = '\0';
            return at;
        }
    return NULL;
}

static hawser_status ask(hw_place *place, const char *line, const char *expected, double seconds, hawser_error *error)
{
    pmi_store *it = place->state;
    HAWSER_TRY(say(place, line, error));
    HAWSER_TRY(read_reply(place, seconds, error));
    size_t length = strlen(expected);
    bool right = strncmp(it->answer, "cmd=", 4) == 0 && strncmp(it->answer + 4, expected, length) == 0;
    const char *rc = strstr(it->answer, " rc=");
    if (!right || (rc != NULL && strtol(rc + 4, NULL, 10) != 0))
        return hawser_fail(error, HAWSER_PEER_LOST, "mpirun (PMI_FD) answered '%.80s' instead of %s", it->answer, expected);
    return HAWSER_OK;
}

static hawser_status put(hw_place *place, const char *key, const char *value, hawser_error *error)
{
    char line[LONGEST];
    const pmi_store *it = place->state;
    snprintf(line, sizeof line, "cmd=put kvsname=%s key=%s value=%s\n", it->name, key, value);
    return ask(place, line, "put_result", ANSWER_SECONDS, error);
}

static hawser_status get(hw_place *place, const char *key, char **value, hawser_error *error)
{
    char line[LONGEST];
    pmi_store *it = place->state;
    snprintf(line, sizeof line, "cmd=get kvsname=%s key=%s\n", it->name, key);
    HAWSER_TRY(ask(place, line, "get_result", ANSWER_SECONDS, error));
    *value = value_of(it->answer, "value");
    if (*value == NULL)
        return hawser_fail(error, HAWSER_PEER_LOST, "mpirun's store has no %s of node 0", key);
    return HAWSER_OK;
}

static hawser_status meet(hw_place *place, double seconds, hawser_error *error)
{
    return ask(place, "cmd=barrier_in\n", "barrier_out", seconds, error);
}

/* The address is sent as hexadecimal digits, because the protocol has no quotes. */
static hawser_status publish(hw_place *place, const char *address, hawser_error *error)
{
    char text[2 * HW_NET_ADDRESS + 1];
    hw_key_text((const unsigned char *)address, strnlen(address, HW_NET_ADDRESS - 1), text);
    HAWSER_TRY(put(place, "hawser-address", text, error));
    return meet(place, BARRIER_SECONDS, error);
}

static hawser_status fetch(hw_place *place, double seconds, char address[HW_NET_ADDRESS], hawser_error *error)
{
    char *text = NULL;
    HAWSER_TRY(meet(place, seconds, error));
    HAWSER_TRY(get(place, "hawser-address", &text, error));
    size_t n = 0;
    for (; n + 1 < HW_NET_ADDRESS && text[2 * n] != '\0' && text[2 * n + 1] != '\0'; n++) {
        const char pair[3] = {text[2 * n], text[2 * n + 1], '\0'};
        address[n] = (char)strtoul(pair, NULL, 16);
    }
    address[n] = '\0';
    return HAWSER_OK;
}

/* Sends finalize: mpirun takes a process that ends without it for dead, and ends the others. */
static void close_place(hw_place *place)
{
    hawser_error ignored;
    pmi_store *it = place->state;
    if (place->channel[0] >= 0 && it != NULL) {
        if (ask(place, "cmd=finalize\n", "finalize_ack", GOODBYE_SECONDS, &ignored) == HAWSER_OK)
            it->answer[0] = '\0';
        (void)close(place->channel[0]);
    }
    place->channel[0] = place->channel[1] = place->lifeline = -1;
    if (it != NULL)
        explicit_bzero(it, sizeof *it);
    free(it);
    place->state = NULL;
}

static hawser_status exchange_key(hw_place *place, hawser_error *error)
{
    char text[2 * HW_NET_KEY_MOST + 1], *found = NULL;
    if (place->node == 0) {
        HAWSER_TRY(hw_key_make(place->key, error));
        place->key_length = 32;
        hw_key_text(place->key, place->key_length, text);
        hawser_status status = put(place, "hawser-key", text, error);
        explicit_bzero(text, sizeof text);
        HAWSER_TRY(status);
        return meet(place, BARRIER_SECONDS, error);
    }
    HAWSER_TRY(meet(place, BARRIER_SECONDS, error));
    HAWSER_TRY(get(place, "hawser-key", &found, error));
    return hw_key_parse(found, strlen(found), place->key, &place->key_length, error);
}

hawser_status hw_place_pmi(const hw_place_options *options, hw_place *place, hawser_error *error)
{
    static const hw_place_ops ops = {"mpirun (PMI)", publish, fetch, NULL, NULL, close_place};
    uint64_t fd, node, nodes;
    if (!hw_variable_number(options->environment, "PMI_FD", 3, 1 << 20, &fd) ||
        !hw_variable_number(options->environment, "PMI_SIZE", 2, HW_PLACE_NODES_MOST, &nodes) ||
        !hw_variable_number(options->environment, "PMI_RANK", 0, nodes - 1, &node))
        return HAWSER_OK;
    if (fcntl((int)fd, F_SETFD, FD_CLOEXEC) != 0)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "PMI_FD = %d is no open descriptor: something between mpirun and this program has closed it",
                           (int)fd);
    place->node = (uint32_t)node;
    place->nodes = (uint32_t)nodes;
    place->channel[0] = place->channel[1] = place->lifeline = (int)fd;
    place->ops = &ops;
    pmi_store *it = NULL;
    HAWSER_TRY(HW_NEW(&it, 1, "mpirun's store", error));
    place->state = it;
    HAWSER_TRY(ask(place, "cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init", ANSWER_SECONDS, error));
    HAWSER_TRY(ask(place, "cmd=get_my_kvsname\n", "my_kvsname", ANSWER_SECONDS, error));
    const char *name = value_of(it->answer, "kvsname");
    if (name == NULL || strlen(name) >= sizeof it->name)
        return hawser_fail(error, HAWSER_PEER_LOST, "mpirun (PMI_FD) does not say the name of its store");
    snprintf(it->name, sizeof it->name, "%s", name);
    snprintf(place->job, sizeof place->job, "%.60s", it->name);
    return exchange_key(place, error);
}
