/* acceptor.c - the thread that serves half-open connections until the peer has proved the key or time is up. It cannot delay
 * a link. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/machine.h"
#include "transport/net/parts.h"

enum { EVENTS = 64 };
#define LONGEST       1e6 /* seconds; longer waits have no end */
#define REPLACE_AFTER 0.5 /* seconds that a half-open connection has before another may replace it */

static const char TOO_MANY[] = "too many half-open connections";

typedef struct half_open {
    struct half_open *next, *previous; /* in order of arrival, which is that of their deadlines */
    double deadline;
    char from[HW_NET_ADDRESS];
    hw_shake shake;
    bool decided; /* the acceptor has rejected or admitted the peer */
} half_open;

typedef struct net_acceptor {
    hw_net *net;
    half_open *oldest, *newest;
    uint32_t count;
    struct hw_dial *dials;
    double notified_at; /* when the owner was last notified of a rejection; 0: never */
    uint64_t unreported;
} net_acceptor;

/* Limits the notifications: a flood of connections causes few of them. */
static void notify_owner(net_acceptor *self, const char *from, const char *why)
{
    const hw_net_events *events = &self->net->events;
    double now = hw_seconds();
    if (events->refused == NULL)
        return;
    if (self->notified_at != 0 && now < self->notified_at + HW_NET_REFUSED_SECONDS) {
        self->unreported++;
        return;
    }
    events->refused(events->argument, from, why, self->unreported);
    self->notified_at = now;
    self->unreported = 0;
}

static void count_refusal(net_acceptor *self, const char *from, hw_shake_fault fault, bool late, const char *why)
{
    hw_net *net = self->net;
    pthread_mutex_lock(&net->mutex);
    hw_net_accept_figures *figures = &net->figures;
    if (late)
        figures->timed_out++;
    else if (fault == HW_FAULT_KEY)
        figures->refused_key++;
    else
        figures->refused_hello++;
    (void)!snprintf(figures->last_refused, sizeof figures->last_refused, "%.*s: %.200s", HW_NET_ADDRESS / 2, from, why);
    pthread_mutex_unlock(&net->mutex);
    notify_owner(self, from, why);
}

static void unlink_half_open(net_acceptor *self, half_open *one)
{
    if (one->previous != NULL)
        one->previous->next = one->next;
    else
        self->oldest = one->next;
    if (one->next != NULL)
        one->next->previous = one->previous;
    else
        self->newest = one->previous;
    self->count--;
    hw_shake_close(&one->shake);
    free(one);
}

/* The peer has proved the key; the owner admits or rejects it. */
static hawser_status admit(hw_net *net, hw_shake *shake, hawser_error *error)
{
    unsigned char message[HW_HANDSHAKE_MOST];
    const hw_net_hello *hello = &shake->peer.peer;
    uint32_t number = hello->node;
    if (hw_net_prefers_own(net, number))
        return hawser_fail(error, HAWSER_STOP, "%s is connecting to that node", net->self.name);
    if (atomic_load(&net->closed_to_new) && hw_net_link(net, number) == NULL)
        return hawser_fail(error, HAWSER_STOP, "%s is about to end", net->self.name);
    HAWSER_TRY(hw_net_check_peer(net, number, hello->incarnation, error));
    if (net->events.admit != NULL)
        HAWSER_TRY(net->events.admit(net->events.argument, hello, &number, error));
    if (number == HW_NET_ANY)
        return hawser_fail(error, HAWSER_PEER_LOST, "%s hands out no node numbers", net->self.name);
    size_t size = hw_shake_accept(shake, number, message);
    if (size == 0)
        return hawser_fail(error, HAWSER_IO, "OpenSSL could not make a proof");
    return hw_net_add(net, shake, number, message, size, error);
}

static void watch(net_acceptor *self, half_open *one, hw_shake_progress progress)
{
    struct epoll_event event = {.events = progress == HW_SHAKE_WRITE ? EPOLLOUT : EPOLLIN, .data.ptr = one};
    (void)epoll_ctl(self->net->acceptor_poll, EPOLL_CTL_MOD, one->shake.channel.fd, &event);
}

/* Returns false if the peer sent nothing, like a supervisor that checks whether the port is open. Such a connection is not a
 * rejection. */
static bool has_sent(const half_open *one)
{
    return one->shake.fault == HW_FAULT_CUT && one->shake.have == 0 && one->shake.own_size == 0;
}

/* Returns whether a known node, which has a link to this one, was connecting: of two first uses at once, one ends. */
static bool is_second(const hw_net *net, const hw_shake *shake)
{
    const hw_net_hello *peer = &shake->peer.peer;
    hawser_error ignored;
    return shake->fault != HW_FAULT_KEY && peer->node < atomic_load(&net->known) && hw_net_link(net, peer->node) != NULL &&
           hw_net_check_peer(net, peer->node, peer->incarnation, &ignored) == HAWSER_OK;
}

static void advance(net_acceptor *self, half_open *one)
{
    hw_net *net = self->net;
    hw_shake_progress progress = hw_shake_step(&one->shake);
    if (progress == HW_SHAKE_DONE) {
        hawser_error error;
        (void)epoll_ctl(net->acceptor_poll, EPOLL_CTL_DEL, one->shake.channel.fd, NULL);
        hawser_status status = admit(net, &one->shake, &error);
        if (status == HAWSER_OK) {
            unlink_half_open(self, one);
            return;
        }
        struct epoll_event event = {.events = EPOLLOUT, .data.ptr = one};
        (void)epoll_ctl(net->acceptor_poll, EPOLL_CTL_ADD, one->shake.channel.fd, &event);
        hw_shake_refuse(&one->shake, status == HAWSER_STOP ? HW_FAULT_LATER : HW_FAULT_HELLO, error.text);
        progress = hw_shake_step(&one->shake);
    }
    if (one->shake.fault != HW_FAULT_NONE && !one->decided) {
        one->decided = true;
        if (!has_sent(one) && one->shake.fault != HW_FAULT_LATER && !is_second(net, &one->shake))
            count_refusal(self, one->from, one->shake.fault, false, one->shake.why);
    }
    if (progress == HW_SHAKE_FAILED)
        unlink_half_open(self, one);
    else
        watch(self, one, progress);
}

static void crowded(net_acceptor *self, const char *from, const char *why)
{
    pthread_mutex_lock(&self->net->mutex);
    hw_net_accept_figures *figures = &self->net->figures;
    figures->crowded_out++;
    (void)!snprintf(figures->last_refused, sizeof figures->last_refused, "%.*s: %s", HW_NET_ADDRESS / 2, from, why);
    pthread_mutex_unlock(&self->net->mutex);
    notify_owner(self, from, why);
}

/* Evicts the oldest half-open connection: a well-behaved peer is done in milliseconds. Returns false if even the oldest one
 * is too new. */
static bool evict_oldest(net_acceptor *self)
{
    half_open *oldest = self->oldest;
    if (oldest == NULL || oldest->deadline - self->net->handshake_timeout > hw_seconds() - REPLACE_AFTER)
        return false;
    crowded(self, oldest->from, TOO_MANY);
    unlink_half_open(self, oldest);
    return true;
}

/* Called when no descriptor is left. Accepts the waiting connection with the spare descriptor and closes it, since it would
 * wake the thread forever. */
static void reject_connection(net_acceptor *self, int listener)
{
    close(self->net->spare);
    int fd = accept(listener, NULL, NULL);
    if (fd >= 0)
        close(fd);
    self->net->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    crowded(self, "an unknown peer", "no descriptor is left here; see `ulimit -n`");
}

static void accept_one(net_acceptor *self, int fd)
{
    hw_net *net = self->net;
    bool space = self->count < HW_NET_HALF_OPEN_MOST || evict_oldest(self);
    half_open *one = space ? malloc(sizeof *one) : NULL;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = one};
    if (one == NULL || epoll_ctl(net->acceptor_poll, EPOLL_CTL_ADD, fd, &event) != 0) {
        free(one);
        close(fd);
        crowded(self, "an unknown peer", TOO_MANY);
        return;
    }
    hw_socket_tune(fd);
    hw_peer_text(fd, one->from);
    hw_shake_begin(&one->shake, &net->self, fd, false, HW_NET_ANY);
    one->decided = false;
    one->deadline = hw_seconds() + net->handshake_timeout;
    one->next = NULL;
    one->previous = self->newest;
    *(self->newest == NULL ? &self->oldest : &self->newest->next) = one;
    self->newest = one;
    self->count++;
}

static void accept_all(net_acceptor *self, int listener)
{
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            if (hw_unix_socket(fd) && !hw_same_user(fd))
                close(fd); /* not counted: the other user's dialler also sees the owner of this socket, and uses TCP */
            else
                accept_one(self, fd);
            continue;
        }
        if ((errno == EMFILE || errno == ENFILE) && evict_oldest(self))
            continue;
        if (errno == EMFILE || errno == ENFILE)
            reject_connection(self, listener);
        return;
    }
}

static void expire(net_acceptor *self, double now)
{
    while (self->oldest != NULL && self->oldest->deadline <= now) {
        half_open *one = self->oldest;
        if (!one->decided)
            count_refusal(self, one->from, HW_FAULT_NONE, true, "did not finish its handshake in time");
        unlink_half_open(self, one);
    }
}

static bool is_listener(const hw_net *net, const void *what)
{
    return (const char *)what >= (const char *)net->listeners.fds &&
           (const char *)what < (const char *)(net->listeners.fds + HW_LISTENERS_MOST);
}

static void *acceptor_main(void *argument)
{
    hw_net *net = argument;
    net_acceptor self = {.net = net};
    while (!atomic_load(&net->acceptor_ends)) {
        struct epoll_event events[EVENTS];
        double now = hw_seconds(), due = hw_dials_serve(net, &self.dials, now);
        double left = (self.oldest != NULL && self.oldest->deadline < due ? self.oldest->deadline : due) - now;
        int wait = left > LONGEST ? -1 : left <= 0 ? 0 : (int)(left * 1e3) + 1;
        int count = epoll_wait(net->acceptor_poll, events, EVENTS, wait);
        for (int i = 0; i < count; i++) {
            void *what = events[i].data.ptr;
            if (what == &net->acceptor_wakeup)
                hw_wakeup_clear(net->acceptor_wakeup);
            else if (!is_listener(net, what) && !hw_dials_event(self.dials, what))
                advance(&self, what);
        }
        for (int i = 0; i < count; i++) /* last, because it may close connections that have events above */
            if (is_listener(net, events[i].data.ptr))
                accept_all(&self, *(int *)events[i].data.ptr);
        expire(&self, hw_seconds());
    }
    while (self.oldest != NULL)
        unlink_half_open(&self, self.oldest);
    hw_dials_free(self.dials);
    return NULL;
}

static bool listen_to(hw_net *net, int *fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = fd};
    return epoll_ctl(net->acceptor_poll, EPOLL_CTL_ADD, *fd, &event) == 0;
}

hawser_status hw_acceptor_start(hw_net *net, hawser_error *error)
{
    net->acceptor_poll = epoll_create1(EPOLL_CLOEXEC);
    net->acceptor_wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    net->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool ready = net->acceptor_poll >= 0 && net->acceptor_wakeup >= 0 && listen_to(net, &net->acceptor_wakeup);
    for (int i = 0; i < net->listeners.count && ready; i++)
        ready = listen_to(net, &net->listeners.fds[i]);
    if (!ready)
        return hawser_fail(error, HAWSER_IO, "cannot make an epoll descriptor: %s%s", strerror(errno),
                           hw_machine_advice(errno));
    int failure = hw_thread_start(&net->acceptor, acceptor_main, net);
    if (failure != 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot start the thread that accepts connections: %s",
                           strerror(failure));
    net->acceptor_runs = true;
    return HAWSER_OK;
}

void hw_acceptor_end(hw_net *net)
{
    if (net->acceptor_runs) {
        atomic_store(&net->acceptor_ends, true);
        hw_wakeup_send(net->acceptor_wakeup);
        pthread_join(net->acceptor, NULL);
        net->acceptor_runs = false;
    }
    hw_listeners_close(&net->listeners);
}
