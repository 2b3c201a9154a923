/* net_transport.c - the transport of one run over a net: inboxes for local endpoints (by reference), links for remote
 * ones. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/memory.h"
#include "transport/net/parts.h"
#include "transport/queue.h"
#include "transport/segment/segment.h"

#define LOCAL (UINT32_C(1) << 31) /* in `places`; numbers of nodes are smaller */

/* An endpoint of this node. */
typedef struct local_endpoint {
    hw_inbox inbox;
    uint32_t number;
} local_endpoint;

typedef struct net_transport {
    hw_transport transport;
    hw_net *net;
    uint32_t session, count, blocks, self, local_count;
    uint32_t *places; /* [endpoint]: LOCAL and its place in `locals`, or the node of a remote one */
    local_endpoint *locals;
    atomic_bool *closed; /* [endpoint]; of remote ones */
    hw_segment_table *segments;
} net_transport;

static net_transport *of(hw_transport *transport)
{
    return (net_transport *)(void *)transport;
}

/* Returns a local endpoint, or NULL. */
static local_endpoint *local_at(const net_transport *self, uint32_t number)
{
    return number < self->count && (self->places[number] & LOCAL) != 0 ? &self->locals[self->places[number] - LOCAL] : NULL;
}

static uint32_t home_of(const net_transport *self, uint32_t number)
{
    return (self->places[number] & LOCAL) != 0 ? self->self : self->places[number];
}

static hawser_status refuse(net_transport *self, uint32_t source, uint32_t destination, hw_message *message,
                            hawser_error *error)
{
    hw_message_free(message);
    return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                       "cannot send from endpoint %u to endpoint %u: there are %u, and a sender is here", source,
                       destination, self->count);
}

static hawser_status net_send(hw_transport *transport, uint32_t source, uint32_t destination, hw_message *message,
                              hawser_error *error)
{
    net_transport *self = of(transport);
    const local_endpoint *from = local_at(self, source);
    if (destination >= self->count || from == NULL)
        return refuse(self, source, destination, message, error);
    local_endpoint *to = local_at(self, destination);
    if (atomic_load_explicit(to != NULL ? &to->inbox.closed : &self->closed[destination], memory_order_acquire)) {
        hw_message_free(message);
        return hawser_fail(error, HAWSER_PEER_LOST, "endpoint %u is closed: message from endpoint %u not sent", destination,
                           source);
    }
    hw_envelope *envelope = &message->envelope;
    envelope->source = source;
    envelope->destination = destination;
    envelope->session = self->session;
    if (message->payload == NULL)
        envelope->length = 0;
    if (to == NULL)
        return hw_net_send(self->net, self->places[destination], message, error);
    if (!hw_inbox_put(&to->inbox, message))
        hw_message_free(message); /* closed meanwhile: the message is dropped, as if it had been read too late */
    return HAWSER_OK;
}

/* Makes the envelope of a message for every block of other nodes. Frees the message on failure. */
static hawser_status address_to_blocks(net_transport *self, uint32_t source, hw_message *message, hawser_error *error)
{
    const local_endpoint *from = local_at(self, source);
    if (from == NULL)
        return refuse(self, source, HW_TO_BLOCKS, message, error);
    hw_envelope *envelope = &message->envelope;
    envelope->source = source;
    envelope->destination = HW_TO_BLOCKS;
    envelope->session = self->session;
    if (message->payload == NULL)
        envelope->length = 0;
    return HAWSER_OK;
}

static hawser_status net_spread(hw_transport *transport, uint32_t source, hw_message *message, hawser_error *error)
{
    net_transport *self = of(transport);
    HAWSER_TRY(address_to_blocks(self, source, message, error));
    return hw_net_spread(self->net, message, error);
}

static hawser_status net_send_to_node(hw_transport *transport, uint32_t source, uint32_t node, hw_message *message,
                                      hawser_error *error)
{
    net_transport *self = of(transport);
    if (node == self->self)
        return refuse(self, source, HW_TO_BLOCKS, message, error);
    HAWSER_TRY(address_to_blocks(self, source, message, error));
    return hw_net_send(self->net, node, message, error);
}

static hw_message *net_receive(hw_transport *transport, uint32_t number)
{
    return hw_inbox_take(&local_at(of(transport), number)->inbox);
}

static uint64_t net_pending(hw_transport *transport)
{
    return hw_net_pending(of(transport)->net);
}

static uint64_t net_pending_to(hw_transport *transport, uint32_t node)
{
    return hw_net_pending_to(of(transport)->net, node);
}

static void net_on_delivery(hw_transport *transport, uint32_t number, void (*wake)(void *), void *argument)
{
    hw_inbox *own = &local_at(of(transport), number)->inbox;
    own->wake = wake;
    own->argument = argument;
}

static hawser_status net_expose(hw_transport *transport, uint32_t endpoint, const hw_segment_shape *shape,
                                hw_segment **segment, hawser_error *error)
{
    net_transport *self = of(transport);
    if (local_at(self, endpoint) == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "endpoint %u is not on node %u: it cannot expose memory there",
                           endpoint, self->self);
    return hw_segment_table_expose(self->segments, endpoint, shape, segment, error);
}

/* Writes to a local segment at once. For a remote one the net thread of that node writes the bytes. */
static hawser_status net_put(hw_transport *transport, uint32_t source, uint32_t destination, hw_message *message,
                             hawser_error *error)
{
    net_transport *self = of(transport);
    if (destination >= self->count || local_at(self, source) == NULL)
        return refuse(self, source, destination, message, error);
    hw_envelope *envelope = &message->envelope;
    envelope->kind = HW_MESSAGE_PUT;
    envelope->source = source;
    envelope->destination = destination;
    envelope->session = self->session;
    if (message->payload == NULL)
        envelope->length = 0;
    if (local_at(self, destination) == NULL)
        return hw_net_send(self->net, self->places[destination], message, error);
    hawser_status status = hw_segment_table_put(self->segments, message, error);
    hw_message_free(message);
    return status;
}

static void net_close(hw_transport *transport, uint32_t number)
{
    net_transport *self = of(transport);
    local_endpoint *local = local_at(self, number);
    atomic_store_explicit(local != NULL ? &local->inbox.closed : &self->closed[number], true, memory_order_release);
}

static void net_free(hw_transport *transport)
{
    net_transport *self = of(transport);
    for (uint32_t i = 0; self->locals != NULL && i < self->local_count; i++)
        hw_inbox_empty(&self->locals[i].inbox);
    hw_segment_table_free(self->segments);
    free(self->closed);
    free(self->locals);
    free(self->places);
    free(self);
}

static const hw_transport_ops net_ops = {
    .name = "net",
    .send = net_send,
    .spread = net_spread,
    .send_to_node = net_send_to_node,
    .receive = net_receive,
    .pending = net_pending,
    .pending_to = net_pending_to,
    .on_delivery = net_on_delivery,
    .expose = net_expose,
    .put = net_put,
    .close = net_close,
    .free = net_free,
};

/* Delivers a copy to each local block. The caller keeps the original. */
static hawser_status to_blocks(net_transport *self, const hw_message *message, hawser_error *error)
{
    for (uint32_t i = 0; i < self->local_count; i++) {
        hw_message *copy;
        if (self->locals[i].number >= self->blocks)
            continue;
        HAWSER_TRY(hw_message_share(message, &copy, error));
        copy->envelope.destination = self->locals[i].number;
        if (!hw_inbox_put(&self->locals[i].inbox, copy))
            hw_message_free(copy);
    }
    return HAWSER_OK;
}

static hawser_status apply_put(net_transport *self, uint32_t node, const hw_message *message, hawser_error *error)
{
    hawser_error own;
    if (hw_segment_table_put(self->segments, message, &own) == HAWSER_OK)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_INPUT, "node %u violated the protocol: %s", node, own.text);
}

hawser_status hw_net_transport_arrived(hw_transport *transport, uint32_t node, hw_message *message, hawser_error *error)
{
    net_transport *self = of(transport);
    const hw_envelope *envelope = &message->envelope;
    uint32_t source = envelope->source, destination = envelope->destination;
    bool all = destination == HW_TO_BLOCKS;
    local_endpoint *to = local_at(self, destination);
    hawser_status status = HAWSER_OK;
    if (node != self->self && (source >= self->count || home_of(self, source) != node))
        status = hawser_fail(error, HAWSER_BAD_INPUT, "node %u sent a message from endpoint %u, which is not its own", node,
                             source);
    else if (!all && to == NULL)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "node %u sent a message to endpoint %u, which is not on node %u", node,
                             destination, self->self);
    else if (envelope->kind == HW_MESSAGE_PUT && !all)
        status = apply_put(self, node, message, error);
    else if (all)
        status = to_blocks(self, message, error);
    else if (hw_inbox_put(&to->inbox, message))
        return HAWSER_OK;
    hw_message_free(message);
    return status;
}

static hawser_status make(net_transport *self, const uint32_t *home, hawser_error *error)
{
    uint32_t count = self->count;
    HAWSER_TRY(HW_NEW(&self->places, count, "the transport's endpoints", error));
    HAWSER_TRY(HW_NEW(&self->closed, count, "the transport's endpoints", error));
    for (uint32_t i = 0; i < count; i++)
        self->places[i] = home[i] == self->self ? LOCAL + self->local_count++ : home[i];
    HAWSER_TRY(HW_NEW(&self->locals, self->local_count, "the transport's endpoints", error));
    for (uint32_t i = 0; i < count; i++) {
        local_endpoint *local = local_at(self, i);
        if (local == NULL)
            continue;
        hw_inbox_init(&local->inbox);
        local->number = i;
    }
    return hw_segment_table_new(count, &self->segments, error);
}

hawser_status hw_net_transport_new(hw_net *net, uint32_t session, uint32_t endpoints, uint32_t blocks, const uint32_t *home,
                                   hw_transport **transport, hawser_error *error)
{
    *transport = NULL;
    net_transport *self = NULL;
    HAWSER_TRY(HW_NEW(&self, 1, "a transport", error));
    self->transport.ops = &net_ops;
    self->net = net;
    self->session = session;
    self->count = endpoints;
    self->blocks = blocks;
    self->self = hw_net_number(net);
    hawser_status status = make(self, home, error);
    if (status != HAWSER_OK) {
        net_free(&self->transport);
        return status;
    }
    *transport = &self->transport;
    return HAWSER_OK;
}
