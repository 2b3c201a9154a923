/*
 * first_use.c - links to known nodes, which the first message makes. The sender enters the link and queues on it; the
 * acceptor's thread dials, because it must not block. A handshake with one target of the address is a try. If all targets
 * have failed it rests and tries again, because the peer may reject this node for now. While the net stops, it gives up if
 * no process listens there: the peer has left, and its goodbye does not arrive if node 0, which forwards it, has left too.
 *
 * Two nodes may dial each other at once. Then the connection of the higher number counts: the lower node gives it to its own
 * link and ends its own try, and the higher node rejects the lower one's for now.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "transport/net/parts.h"

static const double first_rest = 0.02, longest_rest = 0.25;
enum { ABSENT_MOST = 3 }; /* rounds of tries without a listener: an overloaded acceptor closes some connections, too */

typedef struct hw_dial {
    struct hw_dial *next;
    hw_net *net;
    uint32_t node;
    char address[HW_NET_ADDRESS];
    hw_target targets[HW_CANDIDATES];
    int count, at;           /* targets; the one that is tried next */
    bool trying;             /* a handshake is in progress */
    bool answered;           /* some target of this round may be a process that listens */
    int absent;              /* rounds in a row in which none was */
    double deadline, try_at; /* of the link; when the next try is due, or the present one is late */
    double pause;
    hw_shake shake;
    char why[200]; /* why the last try has failed */
} hw_dial;

/* --------------------------------------------------------------------------------------------------- any thread ---- */

hawser_status hw_net_know(hw_net *net, uint32_t nodes, hw_net_describe describe, hawser_error *error)
{
    _Atomic(unsigned char) *gone = NULL;
    HAWSER_TRY(HW_NEW(&gone, nodes, "the nodes of a net", error));
    net->gone = gone;
    net->describe = describe;
    atomic_store_explicit(&net->known, nodes, memory_order_release);
    return HAWSER_OK;
}

void hw_net_gone(hw_net *net, uint32_t node, const char *why)
{
    if (node >= atomic_load_explicit(&net->known, memory_order_acquire))
        return;
    pthread_mutex_lock(&net->mutex);
    if (atomic_load(&net->gone[node]) == 0)
        atomic_store(&net->gone[node], why[0] == '\0' ? HW_GONE_LEFT : HW_GONE_LOST);
    hw_link *link = hw_net_link(net, node);
    if (link != NULL && atomic_load(&link->dialling))
        hw_link_fail(link, why);
    pthread_mutex_unlock(&net->mutex);
}

void hw_net_close_to_new(hw_net *net)
{
    pthread_mutex_lock(&net->mutex);
    atomic_store(&net->closed_to_new, true);
    pthread_mutex_unlock(&net->mutex);
}

hawser_status hw_net_check_peer(const hw_net *net, uint32_t node, uint64_t incarnation, hawser_error *error)
{
    hw_net_hello known;
    if (node >= atomic_load_explicit(&net->known, memory_order_acquire))
        return HAWSER_OK;
    net->describe(net->events.argument, node, &known);
    if (known.incarnation == incarnation)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_PEER_LOST, "node %" PRIu32 " (%s) is another process than the one that has joined",
                       node, known.name);
}

bool hw_net_prefers_own(const hw_net *net, uint32_t node)
{
    const hw_link *link = hw_net_link(net, node);
    return link != NULL && atomic_load(&link->dialling) && hw_net_number(net) > node;
}

/* Enters the link, for which the acceptor's thread finds the dial. With the net's mutex held. */
static hawser_status enter(hw_net *net, hw_dial *dial, const hw_net_hello *hello, hw_link **out, hawser_error *error)
{
    unsigned char gone = atomic_load(&net->gone[dial->node]);
    if (gone != 0)
        return hawser_fail(error, HAWSER_PEER_LOST, "node %" PRIu32 " (%s) %s", dial->node, hello->name,
                           gone == HW_GONE_LEFT ? "has left" : "was lost");
    hw_link *link;
    HAWSER_TRY(hw_link_new(net, dial->node, &link, error));
    link->hello = *hello;
    link->hello.node = dial->node;
    (void)!snprintf(link->transport, sizeof link->transport, HW_NET_DIALLING);
    atomic_store(&link->dialling, true);
    hawser_status status = hw_net_enter(net, link, error);
    if (status != HAWSER_OK) {
        hw_link_free(link);
        return status;
    }
    atomic_fetch_add(&net->dialling, 1);
    dial->next = net->dials;
    net->dials = dial;
    *out = link;
    return HAWSER_OK;
}

hawser_status hw_first_use(hw_net *net, uint32_t node, hw_link **link, hawser_error *error)
{
    hw_net_hello hello;
    hw_dial *dial = NULL;
    net->describe(net->events.argument, node, &hello);
    HAWSER_TRY(HW_NEW(&dial, 1, "a connection", error));
    dial->net = net;
    dial->node = node;
    memcpy(dial->address, hello.address, sizeof dial->address);
    dial->deadline = hw_seconds() + net->failure_timeout;
    dial->pause = first_rest;
    dial->shake.channel.fd = dial->shake.descriptor = -1;
    (void)!snprintf(dial->why, sizeof dial->why, "no answer");
    hawser_status status = HAWSER_OK;
    pthread_mutex_lock(&net->mutex);
    *link = hw_net_link(net, node);
    bool is_new = *link == NULL;
    if (is_new)
        status = enter(net, dial, &hello, link, error);
    pthread_mutex_unlock(&net->mutex);
    if (!is_new || status != HAWSER_OK)
        free(dial);
    else
        hw_wakeup_send(net->acceptor_wakeup);
    return status;
}

/* ------------------------------------------------------------------------------------------- the acceptor's thread ---- */

static void end_try(hw_dial *dial)
{
    hw_shake_close(&dial->shake);
    dial->trying = false;
}

/* Ends the dial's link. */
static void give_up(const hw_dial *dial, const char *why)
{
    pthread_mutex_lock(&dial->net->mutex);
    hw_link *link = hw_net_link(dial->net, dial->node);
    if (link != NULL)
        hw_link_fail(link, why);
    pthread_mutex_unlock(&dial->net->mutex);
}

/* After a failed try: the next target is tried at once, and a new round after a rest. */
static void schedule(hw_dial *dial)
{
    if (dial->at < dial->count) {
        dial->try_at = 0;
        return;
    }
    dial->absent = dial->answered ? 0 : dial->absent + 1;
    dial->answered = false;
    if (dial->absent >= ABSENT_MOST && atomic_load(&dial->net->stopping))
        give_up(dial, "");
    dial->try_at = hw_seconds() + dial->pause;
    dial->pause = dial->pause * 2 < longest_rest ? dial->pause * 2 : longest_rest;
}

/* Returns whether the link still waits for a connection. */
static bool is_wanted(const hw_dial *dial)
{
    bool wanted = false;
    pthread_mutex_lock(&dial->net->mutex);
    hw_link *link = hw_net_link(dial->net, dial->node);
    if (link != NULL) {
        pthread_mutex_lock(&link->mutex);
        wanted = atomic_load(&link->dialling) && !link->broken && !link->shut;
        pthread_mutex_unlock(&link->mutex);
    }
    pthread_mutex_unlock(&dial->net->mutex);
    return wanted;
}

/* Starts a handshake with the next target. Returns false if its connection has failed at once. */
static bool begin_try(hw_dial *dial, double now)
{
    hw_net *net = dial->net;
    int fd = hw_connect_begin(&dial->targets[dial->at++]);
    if (fd < 0) {
        bool few = errno == EMFILE || errno == ENFILE; /* a lack of descriptors is not the peer's fault */
        (void)!snprintf(dial->why, sizeof dial->why, "%s%s", strerror(errno), hw_machine_advice(errno));
        if (few)
            give_up(dial, dial->why);
        return false;
    }
    struct epoll_event event = {.events = EPOLLOUT, .data.ptr = dial};
    if (hw_unix_socket(fd) && !hw_same_user(fd)) {
        (void)!snprintf(dial->why, sizeof dial->why, "its Unix socket belongs to another user");
    } else if (epoll_ctl(net->acceptor_poll, EPOLL_CTL_ADD, fd, &event) != 0) {
        (void)!snprintf(dial->why, sizeof dial->why, "this process has no resources to serve its connection");
    } else {
        hw_shake_begin(&dial->shake, &net->self, fd, true, dial->node);
        dial->try_at = now + net->handshake_timeout;
        dial->trying = true;
        return true;
    }
    close(fd);
    return false;
}

/* A handshake is done: gives the channel to the link. */
static void take_up(hw_dial *dial)
{
    hawser_error error;
    hw_net *net = dial->net;
    (void)epoll_ctl(net->acceptor_poll, EPOLL_CTL_DEL, dial->shake.channel.fd, NULL);
    if (hw_net_add(net, &dial->shake, dial->node, NULL, 0, &error) != HAWSER_OK)
        give_up(dial, error.text);
    end_try(dial);
}

/* Continues a handshake as far as the socket allows. Returns false if it has ended. */
static bool advance(hw_dial *dial)
{
    hw_shake_progress progress = hw_shake_step(&dial->shake);
    if (progress == HW_SHAKE_DONE) {
        take_up(dial);
        return false;
    }
    if (progress == HW_SHAKE_FAILED) {
        const hw_shake_fault fault = dial->shake.fault;
        (void)!snprintf(dial->why, sizeof dial->why, "%s%.180s", fault == HW_FAULT_REFUSED ? "refused: " : "",
                        dial->shake.why);
        dial->answered |= fault != HW_FAULT_CUT;
        if (fault != HW_FAULT_CUT && fault != HW_FAULT_LATER)
            give_up(dial, dial->why);
        end_try(dial);
        return false;
    }
    struct epoll_event event = {.events = progress == HW_SHAKE_WRITE ? EPOLLOUT : EPOLLIN, .data.ptr = dial};
    (void)epoll_ctl(dial->net->acceptor_poll, EPOLL_CTL_MOD, dial->shake.channel.fd, &event);
    return true;
}

/* Resolves the address anew before each round of tries. */
static void find_targets(hw_dial *dial)
{
    hawser_error error;
    hw_net *net = dial->net;
    dial->at = 0;
    hawser_status status =
        hw_address_targets(dial->address, net->host, net->self.transport, dial->targets, &dial->count, &error);
    if (status == HAWSER_OK)
        return;
    dial->count = 0;
    dial->answered = true; /* no one was asked */
    (void)!snprintf(dial->why, sizeof dial->why, "%.190s", error.text);
    if (status != HAWSER_PEER_LOST)
        give_up(dial, dial->why);
}

/* Starts the next try, or rests if no target can be tried. */
static void try_next(hw_dial *dial, double now)
{
    if (dial->at == dial->count)
        find_targets(dial);
    while (!dial->trying && dial->at < dial->count)
        if (begin_try(dial, now))
            (void)advance(dial);
    if (!dial->trying)
        schedule(dial);
}

/* Serves one dial. Returns false if it has ended. */
static bool serve(hw_dial *dial, double now)
{
    if (now >= dial->deadline && hw_net_paused(dial->net) > 0) /* this process was stopped: the peer is not late */
        dial->deadline = now + dial->net->failure_timeout;
    if (dial->trying && now >= dial->try_at) {
        (void)!snprintf(dial->why, sizeof dial->why, "no answer in time");
        dial->answered = true;
        end_try(dial);
        schedule(dial);
    }
    if (now >= dial->deadline)
        give_up(dial, dial->trying ? "no answer in time" : dial->why);
    else if (!dial->trying && now >= dial->try_at && is_wanted(dial))
        try_next(dial, now);
    return is_wanted(dial);
}

double hw_dials_serve(hw_net *net, hw_dial **dials, double now)
{
    double next = HUGE_VAL;
    pthread_mutex_lock(&net->mutex);
    while (net->dials != NULL) {
        hw_dial *taken = net->dials;
        net->dials = taken->next;
        taken->next = *dials;
        *dials = taken;
    }
    pthread_mutex_unlock(&net->mutex);
    for (hw_dial **at = dials; *at != NULL;) {
        hw_dial *dial = *at;
        if (serve(dial, now)) {
            double due = dial->try_at < dial->deadline ? dial->try_at : dial->deadline;
            next = due < next ? due : next;
            at = &dial->next;
        } else {
            *at = dial->next;
            hw_shake_close(&dial->shake);
            free(dial);
        }
    }
    return next;
}

bool hw_dials_event(hw_dial *dials, const void *what)
{
    hw_dial *dial = dials;
    while (dial != NULL && dial != what)
        dial = dial->next;
    if (dial == NULL)
        return false;
    if (dial->trying && !advance(dial))
        schedule(dial);
    return true;
}

void hw_dials_free(hw_dial *dials)
{
    for (hw_dial *next; dials != NULL; dials = next) {
        next = dials->next;
        hw_shake_close(&dials->shake);
        free(dials);
    }
}
