/* dial.c - connects to a node, within a timeout. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "transport/net/parts.h"

static const double first_rest = 0.02, longest_rest = 0.25;

static void rest(double seconds)
{
    if (seconds <= 0)
        return;
    struct timespec time = hw_timespec(seconds);
    (void)nanosleep(&time, NULL);
}

/* Returns whether no dial may wait any more. */
static bool is_over(const hw_net *net)
{
    return atomic_load(&net->stopping) || atomic_load(&net->dials_end) || hw_cancelled(net->cancellation);
}

/* The handshake with one target. It sleeps in short slices, as nothing wakes it at the end of the dials. */
static hw_shake_progress shake_hands(const hw_net *net, hw_shake *shake, double deadline)
{
    const double slice = 1e-3 * HW_CANCELLATION_MS;
    for (;;) {
        hw_shake_progress progress = hw_shake_step(shake);
        if (progress == HW_SHAKE_DONE || progress == HW_SHAKE_FAILED)
            return progress;
        double left = is_over(net) ? 0 : deadline - hw_seconds();
        if (left <= 0) {
            (void)!snprintf(shake->why, sizeof shake->why, "no answer in time");
            return progress;
        }
        struct pollfd wait = {shake->channel.fd, progress == HW_SHAKE_WRITE ? POLLOUT : POLLIN, 0};
        (void)poll(&wait, 1, (int)((left < slice ? left : slice) * 1e3) + 1);
    }
}

/* Takes the own number that the peer has sent. */
static hawser_status take_number(hw_net *net, const hw_shake *shake, hawser_error *error)
{
    uint32_t before = HW_NET_ANY;
    if (atomic_compare_exchange_strong(&net->self.node, &before, shake->number) || before == shake->number)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_PEER_LOST, "%s reports that this is node %u, but it is node %u", shake->peer.peer.name,
                       shake->number, before);
}

static hawser_status link_up(hw_net *net, hw_shake *shake, uint32_t *number, hawser_error *error)
{
    uint32_t node = shake->peer.peer.node;
    if (node == HW_NET_ANY)
        return hawser_fail(error, HAWSER_PEER_LOST, "%s does not know its own node number yet", shake->peer.peer.name);
    HAWSER_TRY(take_number(net, shake, error));
    HAWSER_TRY(hw_net_add(net, shake, node, NULL, 0, error));
    *number = shake->number;
    const hw_link *link = hw_net_link(net, node);
    pthread_mutex_lock(&net->mutex);
    while (!atomic_load(&link->announced) && !link->closed)
        pthread_cond_wait(&net->changed, &net->mutex);
    pthread_mutex_unlock(&net->mutex);
    if (!atomic_load(&link->announced))
        return hawser_fail(error, HAWSER_PEER_LOST, "%s is about to end", net->self.name);
    return HAWSER_OK;
}

/* Tries each target once. Returns HAWSER_STOP if none answered: try again. */
static hawser_status try_all(hw_net *net, const hw_target *targets, int count, hw_shake *shake, double deadline,
                             hawser_error *error)
{
    bool late = false;
    for (int i = 0; i < count; i++) {
        int fd = hw_connect_begin(&targets[i]);
        if (fd < 0) {
            bool few = errno == EMFILE || errno == ENFILE; /* a lack of descriptors is not the peer's fault */
            (void)hawser_fail(error, HAWSER_PEER_LOST, "%s%s", strerror(errno), hw_machine_advice(errno));
            if (few)
                return HAWSER_IO;
            continue;
        }
        if (hw_unix_socket(fd) && !hw_same_user(fd)) {
            (void)hawser_fail(error, HAWSER_PEER_LOST, "its Unix socket belongs to another user");
            close(fd);
            continue;
        }
        uint32_t expected = shake->expected;
        hw_shake_begin(shake, &net->self, fd, true, expected);
        double now = hw_seconds(), end = now + net->handshake_timeout;
        hw_shake_progress progress = shake_hands(net, shake, end < deadline ? end : deadline);
        if (progress == HW_SHAKE_DONE)
            return HAWSER_OK;
        hw_shake_close(shake);
        late = progress != HW_SHAKE_FAILED;
        (void)hawser_fail(error, late ? HAWSER_TIMEOUT : HAWSER_PEER_LOST, "%s", shake->why);
        if (!late && shake->fault != HW_FAULT_CUT && shake->fault != HW_FAULT_LATER)
            return hawser_fail(error, HAWSER_PEER_LOST, "%s%s", shake->fault == HW_FAULT_REFUSED ? "refused: " : "",
                               shake->why);
    }
    return HAWSER_STOP;
}

void hw_net_stop_dials(hw_net *net)
{
    atomic_store(&net->dials_end, true);
}

void hw_net_set_ring(hw_net *net, size_t bytes)
{
    net->self.ring = bytes;
}

hawser_status hw_net_dial(hw_net *net, const char *address, uint32_t node, double seconds, uint32_t *number,
                          hawser_error *error)
{
    double start = hw_seconds(), deadline = start + seconds, pause = first_rest;
    hw_shake *shake = NULL;
    HAWSER_TRY(HW_NEW(&shake, 1, "a handshake", error));
    shake->expected = node;
    shake->channel.fd = shake->descriptor = -1;
    hawser_error last = {.status = HAWSER_TIMEOUT, .text = "no answer"};
    hawser_status status;
    for (;;) {
        hw_target targets[HW_CANDIDATES];
        int count;
        /* Names are resolved on each try, because a restarted node may have another address. */
        status = hw_address_targets(address, net->host, net->self.transport, targets, &count, &last);
        if (status == HAWSER_OK)
            status = try_all(net, targets, count, shake, deadline, &last);
        else if (status == HAWSER_PEER_LOST)
            status = HAWSER_STOP;
        if (status != HAWSER_STOP)
            break;
        double left = deadline - hw_seconds();
        if (left <= 0 || is_over(net)) {
            status = last.status == HAWSER_TIMEOUT ? HAWSER_TIMEOUT : HAWSER_PEER_LOST;
            break;
        }
        rest(hw_cancellation_slice(net->cancellation, hw_seconds() + (pause < left ? pause : left)) - hw_seconds());
        pause = pause * 2 < longest_rest ? pause * 2 : longest_rest;
    }
    HAWSER_THEN(status, link_up(net, shake, number, &last));
    hw_shake_close(shake);
    free(shake);
    if (status == HAWSER_OK)
        return HAWSER_OK;
    if (hw_cancelled(net->cancellation))
        return hawser_fail(error, HAWSER_STOP, "joining %s was cancelled after %.1f s", address, hw_seconds() - start);
    return hawser_fail(error, status, "cannot join %s after %.1f s: %s", address, hw_seconds() - start, last.text);
}
