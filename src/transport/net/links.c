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

hawser_status hw_net_enter(hw_net *net, hw_link *link, hawser_error *error)
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
    if (atomic_load(&net->closed_to_new))
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

/* Gives a link the channel of a handshake. With its mutex held, or before another thread can find it. */
static void take_channel(hw_link *link, hw_shake *shake, const unsigned char *first, size_t first_size)
{
    link->channel.fd = shake->channel.fd;
    link->channel.tls = shake->channel.tls;
    link->channel.shared = shake->shared;
    link->shared_bytes = shake->shared != NULL ? shake->shared->mapping.size : 0;
    link->channel.handshake_left = shake->shared != NULL || shake->fabric ? first_size : 0;
    link->by_fabric = shake->fabric;
    memcpy(link->fabric, shake->peer.fabric, sizeof link->fabric);
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
    link->heartbeat = fmin(link->net->heartbeat, hw_net_heartbeat(fmax(shake->peer.failure_timeout / 1e3, TIMEOUT_LEAST)));
    double now = hw_seconds();
    atomic_store(&link->last_received, now);
    atomic_store(&link->last_sent, now);
    if (first_size > 0) {
        memcpy(link->stage, first, first_size);
        link->pieces[0] = (struct iovec){link->stage, first_size};
        link->piece_count = 1;
    }
    shake->channel.fd = -1;
    shake->channel.tls = NULL;
    shake->shared = NULL;
}

/* Makes a link of the channel. With the net's mutex held, as for the next. */
static hawser_status add_new(hw_net *net, hw_shake *shake, uint32_t node, const unsigned char *first, size_t first_size,
                             hw_link **out, hawser_error *error)
{
    hw_link *link = NULL;
    if (atomic_load(&net->closed_to_new) && !shake->dials) /* the peer tries again until it learns that this node has left */
        return hawser_fail(error, HAWSER_STOP, "%s is about to end", net->self.name);
    HAWSER_TRY(hw_link_new(net, node, &link, error));
    link->hello = shake->peer.peer;
    link->hello.node = node;
    pthread_mutex_lock(&link->mutex); /* once it is in the table, others may send */
    hawser_status status = hw_net_enter(net, link, error);
    if (status == HAWSER_OK)
        take_channel(link, shake, first, first_size);
    pthread_mutex_unlock(&link->mutex);
    if (status != HAWSER_OK) {
        hw_link_free(link);
        return status;
    }
    *out = link;
    return HAWSER_OK;
}

/* Gives the channel to the link that is being dialled. The dial ends when its thread next looks at it. */
static hawser_status give(hw_link *link, hw_shake *shake, const unsigned char *first, size_t first_size, hawser_error *error)
{
    pthread_mutex_lock(&link->mutex);
    bool waits = atomic_load(&link->dialling) && !link->broken && !link->shut;
    if (waits) {
        take_channel(link, shake, first, first_size);
        atomic_store(&link->dialling, false);
        atomic_fetch_sub(&link->net->dialling, 1);
    }
    pthread_mutex_unlock(&link->mutex);
    return waits ? HAWSER_OK : hw_link_gone(link, error);
}

hawser_status hw_net_add(hw_net *net, hw_shake *shake, uint32_t node, const unsigned char *first, size_t first_size,
                         hawser_error *error)
{
    HAWSER_TRY(hw_net_check_peer(net, node, shake->peer.peer.incarnation, error));
    pthread_mutex_lock(&net->mutex);
    hw_link *link = hw_net_link(net, node);
    hawser_status status;
    if (link == NULL)
        status = add_new(net, shake, node, first, first_size, &link, error);
    else if (!atomic_load(&link->dialling))
        status = hawser_fail(error, HAWSER_PEER_LOST, "there is already a link to a node %u: %s", node, link->hello.name);
    else if (!shake->dials && hw_net_prefers_own(net, node))
        status = hawser_fail(error, HAWSER_STOP, "%s is connecting to that node", net->self.name);
    else
        status = give(link, shake, first, first_size, error);
    if (status == HAWSER_OK && !shake->dials)
        net->figures.accepted++;
    pthread_mutex_unlock(&net->mutex);
    HAWSER_TRY(status);
    hw_reactor_post(link);
    return HAWSER_OK;
}

hawser_status hw_net_reach(hw_net *net, uint32_t node, hw_link **link, hawser_error *error)
{
    *link = hw_net_link(net, node);
    if (*link != NULL)
        return HAWSER_OK;
    if (node < atomic_load_explicit(&net->known, memory_order_acquire) && node != hw_net_number(net))
        return hw_first_use(net, node, link, error);
    return hawser_fail(error, HAWSER_PEER_LOST, "there is no link to node %u", node);
}

hawser_status hw_net_send(hw_net *net, uint32_t node, hw_message *message, hawser_error *error)
{
    hw_link *link;
    hawser_status status = hw_net_reach(net, node, &link, error);
    if (status != HAWSER_OK) {
        hw_message_free(message);
        return status;
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
                          .busy = hw_link_busy(link)};
    pthread_mutex_lock(&link->mutex);
    path->shared = link->shared_bytes;
    memcpy(path->transport, link->transport, sizeof path->transport);
    memcpy(path->peer, link->peer, sizeof path->peer);
    pthread_mutex_unlock(&link->mutex);
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
