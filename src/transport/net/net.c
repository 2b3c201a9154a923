/* net.c - the start and the end of a net. */
#include "transport/net/net.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "transport/net/parts.h"

#define FAILURE_TIMEOUT   5.0
#define TIMEOUT_LEAST     0.2 /* a shorter timeout of a peer is ignored */
#define HANDSHAKE_TIMEOUT 5.0
#define HEARTBEAT_MOST    1.0
#define BEATS             5 /* of a failure timeout */

hw_link *hw_net_link(const hw_net *net, uint32_t node)
{
    if (node >= HW_LINK_PAGE * HW_LINK_PAGES)
        return NULL;
    _Atomic(hw_link *) *page = atomic_load_explicit(&net->pages[node / HW_LINK_PAGE], memory_order_acquire);
    return page == NULL ? NULL : atomic_load_explicit(&page[node % HW_LINK_PAGE], memory_order_acquire);
}

/* Adds a link to the table. With the net's mutex held. */
static hawser_status enter(hw_net *net, hw_link *link, hawser_error *error)
{
    uint32_t node = link->node;
    if (node == atomic_load(&net->self.node))
        return hawser_fail(error, HAWSER_PEER_LOST, "there is already a node %u: %s", node, net->self.name);
    if (node >= HW_LINK_PAGE * HW_LINK_PAGES)
        return hawser_fail(error, HAWSER_PEER_LOST, "node number %u is too large: at most %d", node,
                           HW_LINK_PAGE * HW_LINK_PAGES - 1);
    const hw_link *old = hw_net_link(net, node);
    if (old != NULL)
        return hawser_fail(error, HAWSER_PEER_LOST, "there is already a link to a node %u: %s", node, old->hello.name);
    if (atomic_load(&net->stopping))
        return hawser_fail(error, HAWSER_PEER_LOST, "%s is about to end", net->self.name);
    _Atomic(hw_link *) *page = atomic_load(&net->pages[node / HW_LINK_PAGE]);
    if (page == NULL) {
        HAWSER_TRY(HW_NEW(&page, HW_LINK_PAGE, "a table of links", error));
        atomic_store_explicit(&net->pages[node / HW_LINK_PAGE], page, memory_order_release);
    }
    atomic_store_explicit(&page[node % HW_LINK_PAGE], link, memory_order_release);
    link->next = atomic_load(&net->links);
    atomic_store(&net->links, link);
    net->open++;
    return HAWSER_OK;
}

static double heartbeat_of(double failure_timeout)
{
    return failure_timeout < BEATS * HEARTBEAT_MOST ? failure_timeout / BEATS : HEARTBEAT_MOST;
}

static void describe(hw_link *link, const hw_shake *shake)
{
    const char *transport = link->channel.shared != NULL       ? "shm"
                            : link->by_fabric                  ? "ucx"
                            : hw_unix_socket(link->channel.fd) ? "unix"
                                                               : "tcp";
    link->encrypted = shake->encrypted;
    bool near = hw_same_host(link->channel.fd);
    link->checked = !link->encrypted && !near;
    (near ? hw_socket_near : hw_socket_far)(link->channel.fd);
    (void)!snprintf(link->transport, sizeof link->transport, "%s%s", transport, link->encrypted ? "+tls" : "");
    hw_peer_text(link->channel.fd, link->peer);
    link->hello = shake->peer.peer;
    link->hello.node = link->node;
}

hawser_status hw_net_add(hw_net *net, hw_shake *shake, uint32_t node, const unsigned char *first, size_t first_size,
                         hawser_error *error)
{
    hw_link *link = NULL;
    HAWSER_TRY(HW_NEW(&link, 1, "a link", error));
    hawser_status status = HW_NEW(&link->stage, HW_STAGE, "a link's buffer", error);
    if (status != HAWSER_OK || pthread_mutex_init(&link->mutex, NULL) != 0) {
        free(link->stage);
        free(link);
        return status == HAWSER_OK ? hawser_fail(error, HAWSER_NO_MEMORY, "cannot make a mutex") : status;
    }
    link->net = net;
    link->node = node;
    link->channel.fd = shake->channel.fd;
    link->channel.tls = shake->channel.tls;
    link->channel.shared = shake->shared;
    link->shared_bytes = shake->shared != NULL ? shake->shared->mapping.size : 0;
    link->channel.handshake_left = shake->shared != NULL || shake->fabric ? first_size : 0;
    link->by_fabric = shake->fabric;
    memcpy(link->fabric, shake->peer.fabric, sizeof link->fabric);
    describe(link, shake);
    link->heartbeat = fmin(net->heartbeat, heartbeat_of(fmax(shake->peer.failure_timeout / 1e3, TIMEOUT_LEAST)));
    double now = hw_seconds();
    atomic_store(&link->last_received, now);
    atomic_store(&link->last_sent, now);
    if (first_size > 0) {
        memcpy(link->stage, first, first_size);
        link->pieces[0] = (struct iovec){link->stage, first_size};
        link->piece_count = 1;
    }
    pthread_mutex_lock(&net->mutex);
    status = enter(net, link, error);
    if (status == HAWSER_OK && first_size > 0)
        net->figures.accepted++;
    pthread_mutex_unlock(&net->mutex);
    link->channel.fd = status == HAWSER_OK ? link->channel.fd : -1;
    if (status != HAWSER_OK) {
        link->channel.tls = NULL;
        link->channel.shared = NULL;
        hw_link_free(link);
        return status;
    }
    shake->channel.fd = -1;
    shake->channel.tls = NULL;
    shake->shared = NULL;
    hw_reactor_post(link);
    return HAWSER_OK;
}

static void copy_text(char *to, size_t size, const char *from)
{
    (void)!snprintf(to, size, "%s", from == NULL ? "" : from);
}

static hawser_status check(const hw_net_options *options, hawser_error *error)
{
    if (options->key_length < HW_NET_KEY_LEAST || options->key_length > HW_NET_KEY_MOST)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a job key of %zu bytes: from %d to %d", options->key_length,
                           HW_NET_KEY_LEAST, HW_NET_KEY_MOST);
    if (options->port_low > options->port_high)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "ports from %u to %u: none", options->port_low, options->port_high);
    return HAWSER_OK;
}

static hawser_status prepare(hw_net *net, const hw_net_options *options, const hw_net_events *events, hawser_error *error)
{
    hw_identity *self = &net->self;
    net->events = *events;
    net->failure_timeout = options->failure_timeout > 0 ? options->failure_timeout : FAILURE_TIMEOUT;
    net->handshake_timeout = options->handshake_timeout > 0 ? options->handshake_timeout : HANDSHAKE_TIMEOUT;
    net->heartbeat = heartbeat_of(net->failure_timeout);
    self->failure_timeout = (uint32_t)fmin(net->failure_timeout * 1e3, UINT32_MAX);
    net->unread_most = options->unread_most;
    net->rate = (double)options->rate;
    net->paid_at = hw_seconds();
    hw_host_id(net->host);
    copy_text(self->build, sizeof self->build, options->build);
    copy_text(self->job, sizeof self->job, options->job);
    copy_text(self->name, sizeof self->name, options->name);
    memcpy(self->key, options->key, options->key_length);
    self->key_length = options->key_length;
    self->trust_fabric = options->trust_fabric;
    self->encrypt_always = options->encrypt_always;
    self->transport = options->transport;
    net->direct = options->direct;
    self->ring = options->ring > 0 ? options->ring : HW_SHARED_RING;
    atomic_store(&self->node, options->node);
    if (!hw_secret_random(&self->incarnation, sizeof self->incarnation))
        return hawser_fail(error, HAWSER_IO, "OpenSSL has no random numbers");
    HAWSER_TRY(hw_tls_contexts_new(&self->contexts, error));
    HAWSER_TRY(hw_pool_new(&net->pool, error));
    if (options->transport == HW_NET_UCX)
        HAWSER_TRY(hw_fabric_new(options->trust_fabric, &self->fabric, error));
    HAWSER_TRY(hw_listeners_open(options, self->incarnation, &net->listeners, error));
    memcpy(self->address, net->listeners.address, sizeof self->address);
    HAWSER_TRY(hw_reactor_start(net, error));
    return hw_acceptor_start(net, error);
}

static bool make_locks(hw_net *net)
{
    return pthread_mutex_init(&net->mutex, NULL) == 0 && hw_thread_condition(&net->changed) == 0 &&
           pthread_rwlock_init(&net->routing, NULL) == 0;
}

hawser_status hw_net_new(const hw_net_options *options, const hw_net_events *events, hw_net **out, hawser_error *error)
{
    *out = NULL;
    HAWSER_TRY(check(options, error));
    hw_net *net = NULL;
    HAWSER_TRY(HW_NEW(&net, 1, "a net", error));
    net->reactor_poll = net->reactor_wakeup = net->reactor_timer = net->acceptor_poll = net->acceptor_wakeup = net->spare =
        -1;
    if (!make_locks(net)) {
        free(net);
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot make a mutex");
    }
    hawser_status status = prepare(net, options, events, error);
    if (status != HAWSER_OK) {
        hw_net_free(net);
        return status;
    }
    *out = net;
    return HAWSER_OK;
}

const char *hw_net_address(const hw_net *net)
{
    return net->listeners.address;
}

const char *hw_net_listening(const hw_net *net)
{
    return net->listeners.listening;
}

uint32_t hw_net_number(const hw_net *net)
{
    return atomic_load(&net->self.node);
}

hawser_status hw_net_send(hw_net *net, uint32_t node, hw_message *message, hawser_error *error)
{
    hw_link *link = hw_net_link(net, node);
    if (link == NULL) {
        hw_message_free(message);
        return hawser_fail(error, HAWSER_PEER_LOST, "there is no link to node %u", node);
    }
    message->origin = hw_net_number(net);
    message->spread = 0;
    return hw_link_send(link, message) ? HAWSER_OK : hw_link_gone(link, error);
}

void hw_net_forget(hw_net *net, uint32_t node)
{
    hw_link *link = hw_net_link(net, node);
    if (link == NULL)
        return;
    /* The reactor removes links from the list under the mutex, so none between these two lines. */
    pthread_mutex_lock(&net->mutex);
    atomic_store(&link->forgotten, true);
    hw_reactor_post(link);
    pthread_mutex_unlock(&net->mutex);
}

void hw_net_dismiss(hw_net *net, uint32_t node)
{
    hw_link *link = hw_net_link(net, node);
    if (link == NULL)
        return;
    atomic_store(&link->dismissed, hw_seconds());
    hw_link_bid(link);
}

bool hw_net_linked(const hw_net *net, uint32_t node)
{
    const hw_link *link = hw_net_link(net, node);
    return link != NULL && atomic_load(&link->state) == HW_LINK_UP;
}

bool hw_net_path_of(hw_net *net, uint32_t node, hw_net_path *path)
{
    hw_link *link = hw_net_link(net, node);
    if (link == NULL)
        return false;
    *path = (hw_net_path){.messages_sent = atomic_load(&link->messages_sent),
                          .messages_received = atomic_load(&link->messages_received),
                          .bytes_sent = atomic_load(&link->bytes_sent),
                          .bytes_received = atomic_load(&link->bytes_received),
                          .queued = atomic_load(&link->queued),
                          .shared = link->shared_bytes};
    memcpy(path->transport, link->transport, sizeof path->transport);
    memcpy(path->peer, link->peer, sizeof path->peer);
    return true;
}

uint64_t hw_net_pending(const hw_net *net)
{
    uint64_t bytes = 0;
    for (hw_link *link = atomic_load(&net->links); link != NULL; link = link->next)
        if (atomic_load_explicit(&link->state, memory_order_relaxed) == HW_LINK_UP)
            bytes += atomic_load_explicit(&link->queued, memory_order_relaxed);
    return bytes;
}

double hw_net_silence(hw_net *net, uint32_t node)
{
    hw_link *link = hw_net_link(net, node);
    if (node == hw_net_number(net))
        return 0;
    double silent = link == NULL ? HUGE_VAL : hw_seconds() - atomic_load(&link->last_received);
    return silent < 0 ? 0 : silent;
}

void hw_net_accepts(hw_net *net, hw_net_accept_figures *figures)
{
    pthread_mutex_lock(&net->mutex);
    *figures = net->figures;
    pthread_mutex_unlock(&net->mutex);
}

/* Returns the bytes that have arrived at the peers of open links, up to a constant; the rest is in the kernel or in shared memory. */
static int64_t goodbye_progress(hw_net *net)
{
    int64_t arrived = 0;
    for (hw_link *link = atomic_load(&net->links); link != NULL; link = link->next) {
        pthread_mutex_lock(&link->mutex);
        if (!link->shut)
            arrived -= hw_channel_unread(&link->channel);
        pthread_mutex_unlock(&link->mutex);
        arrived += (int64_t)atomic_load(&link->bytes_sent);
    }
    return arrived;
}

/* Waits until every link is closed, or nothing has moved for this long. The time for the last messages depends on their size and the links. */
static void await_closed(hw_net *net, double seconds)
{
    double still_since = hw_seconds(), step = seconds < 0.4 ? seconds / 4 : 0.1;
    int64_t before = goodbye_progress(net);
    for (uint32_t open_before = UINT32_MAX;;) {
        struct timespec until = hw_timespec(hw_seconds() + step);
        pthread_mutex_lock(&net->mutex);
        if (net->open > 0)
            pthread_cond_timedwait(&net->changed, &net->mutex, &until);
        uint32_t open = net->open;
        pthread_mutex_unlock(&net->mutex);
        if (open == 0)
            return;
        int64_t now = goodbye_progress(net);
        if (now != before || open != open_before)
            still_since = hw_seconds();
        else if (hw_seconds() - still_since >= seconds)
            return;
        before = now;
        open_before = open;
    }
}

void hw_net_stop(hw_net *net, double seconds)
{
    if (atomic_exchange(&net->stopping, true))
        return;
    hw_acceptor_end(net);
    if (!net->reactor_runs)
        return;
    /* The reactor removes no links any more. */
    pthread_mutex_lock(&net->mutex);
    pthread_mutex_unlock(&net->mutex);
    for (hw_link *link = atomic_load(&net->links); link != NULL; link = link->next)
        hw_link_bid(link);
    if (seconds > 0)
        await_closed(net, seconds);
    hw_reactor_end(net);
}

void hw_net_free(hw_net *net)
{
    if (net == NULL)
        return;
    hw_net_stop(net, 0);
    for (hw_link *link = atomic_load(&net->links), *next; link != NULL; link = next) {
        next = link->next;
        hw_link_free(link);
    }
    for (int i = 0; i < HW_LINK_PAGES; i++)
        free((void *)atomic_load(&net->pages[i]));
    const int descriptors[] = {net->reactor_poll,  net->reactor_wakeup,  net->reactor_timer,
                               net->acceptor_poll, net->acceptor_wakeup, net->spare};
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    hw_fabric_free(net->self.fabric);
    hw_pool_free(net->pool);
    hw_route_free(net);
    hw_tls_contexts_free(net->self.contexts);
    hw_secret_forget(net->self.key, sizeof net->self.key);
    pthread_rwlock_destroy(&net->routing);
    pthread_cond_destroy(&net->changed);
    pthread_mutex_destroy(&net->mutex);
    free(net->scratch);
    free(net);
}
