/* links.c - the links of a net: adds them, finds them by node, and answers for them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "transport/net/parts.h"

#define TIMEOUT_LEAST 0.2 /* a shorter timeout of a peer is ignored */

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
    link->stage = malloc(HW_STAGE); /* not zeroed, so that an idle link uses one page of it */
    if (link->stage == NULL || pthread_mutex_init(&link->mutex, NULL) != 0) {
        free(link->stage);
        free(link);
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot allocate a link and its buffer of %d bytes", HW_STAGE);
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
    link->heartbeat = fmin(net->heartbeat, hw_net_heartbeat(fmax(shake->peer.failure_timeout / 1e3, TIMEOUT_LEAST)));
    double now = hw_seconds();
    atomic_store(&link->last_received, now);
    atomic_store(&link->last_sent, now);
    if (first_size > 0) {
        memcpy(link->stage, first, first_size);
        link->pieces[0] = (struct iovec){link->stage, first_size};
        link->piece_count = 1;
    }
    pthread_mutex_lock(&net->mutex);
    hawser_status status = enter(net, link, error);
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

hawser_status hw_net_send(hw_net *net, uint32_t node, hw_message *message, hawser_error *error)
{
    hw_link *link = hw_net_link(net, node);
    if (link == NULL) {
        hw_message_free(message);
        return hawser_fail(error, HAWSER_PEER_LOST, "there is no link to node %u", node);
    }
    message->origin = hw_net_number(net);
    message->spread = 0;
    hw_net_stamp(net, &message->envelope);
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
                          .busy = hw_link_busy(link),
                          .shared = link->shared_bytes};
    memcpy(path->transport, link->transport, sizeof path->transport);
    memcpy(path->peer, link->peer, sizeof path->peer);
    return true;
}

uint64_t hw_net_pending(const hw_net *net)
{
    return atomic_load_explicit(&net->queued, memory_order_relaxed);
}

uint64_t hw_net_pending_to(hw_net *net, uint32_t node)
{
    hw_link *link = hw_net_link(net, node);
    return link != NULL && atomic_load_explicit(&link->state, memory_order_relaxed) == HW_LINK_UP
               ? atomic_load_explicit(&link->queued, memory_order_relaxed)
               : 0;
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
