/* net_transport.c - the transport of one run over a net: inboxes for local endpoints (by reference), links for remote
 * ones. */
#include <stdlib.h>

#include "base/memory.h"
#include "transport/net/parts.h"
#include "transport/queue.h"
#include "transport/segment/segment.h"

typedef struct net_transport {
    hw_transport transport;
    hw_net *net;
    uint32_t session, count, blocks, self;
    uint32_t *home;
    hw_inbox *inboxes; /* [endpoint]; a remote endpoint uses only `closed` */
    /* [source][destination], the last entry for messages to all blocks of a node; NULL if the source is remote */
    uint64_t **sequences;
    hw_segment_table *segments;
} net_transport;

static net_transport *of(hw_transport *transport)
{
    return (net_transport *)(void *)transport;
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
    if (source >= self->count || destination >= self->count || self->sequences[source] == NULL)
        return refuse(self, source, destination, message, error);
    hw_inbox *to = &self->inboxes[destination];
    if (atomic_load_explicit(&to->closed, memory_order_acquire)) {
        hw_message_free(message);
        return hawser_fail(error, HAWSER_PEER_LOST, "endpoint %u is closed: message from endpoint %u not sent", destination,
                           source);
    }
    hw_envelope *envelope = &message->envelope;
    envelope->source = source;
    envelope->destination = destination;
    envelope->session = self->session;
    envelope->sequence = self->sequences[source][destination]++;
    if (message->payload == NULL)
        envelope->length = 0;
    if (self->home[destination] != self->self)
        return hw_net_send(self->net, self->home[destination], message, error);
    if (!hw_inbox_put(to, message))
        hw_message_free(message); /* closed meanwhile: the message is dropped, as if it had been read too late */
    return HAWSER_OK;
}

/* Makes the envelope of a message for every block of other nodes. */
static void address_to_blocks(net_transport *self, uint32_t source, hw_message *message)
{
    hw_envelope *envelope = &message->envelope;
    envelope->source = source;
    envelope->destination = HW_TO_BLOCKS;
    envelope->session = self->session;
    envelope->sequence = self->sequences[source][self->count]++;
    if (message->payload == NULL)
        envelope->length = 0;
}

static hawser_status net_spread(hw_transport *transport, uint32_t source, hw_message *message, hawser_error *error)
{
    net_transport *self = of(transport);
    if (source >= self->count || self->sequences[source] == NULL)
        return refuse(self, source, HW_TO_BLOCKS, message, error);
    address_to_blocks(self, source, message);
    return hw_net_spread(self->net, message, error);
}

static hawser_status net_send_to_node(hw_transport *transport, uint32_t source, uint32_t node, hw_message *message,
                                      hawser_error *error)
{
    net_transport *self = of(transport);
    if (source >= self->count || self->sequences[source] == NULL || node == self->self)
        return refuse(self, source, HW_TO_BLOCKS, message, error);
    address_to_blocks(self, source, message);
    return hw_net_send(self->net, node, message, error);
}

static hw_message *net_receive(hw_transport *transport, uint32_t number)
{
    return hw_inbox_take(&of(transport)->inboxes[number]);
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
    hw_inbox *own = &of(transport)->inboxes[number];
    own->wake = wake;
    own->argument = argument;
}

static hawser_status net_expose(hw_transport *transport, uint32_t endpoint, const hw_segment_shape *shape,
                                hw_segment **segment, hawser_error *error)
{
    net_transport *self = of(transport);
    if (endpoint >= self->count || self->home[endpoint] != self->self)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "endpoint %u is not on node %u: it cannot expose memory there",
                           endpoint, self->self);
    return hw_segment_table_expose(self->segments, endpoint, shape, segment, error);
}

/* Writes to a local segment at once. For a remote one the net thread of that node writes the bytes. */
static hawser_status net_put(hw_transport *transport, uint32_t source, uint32_t destination, hw_message *message,
                             hawser_error *error)
{
    net_transport *self = of(transport);
    if (source >= self->count || destination >= self->count || self->sequences[source] == NULL)
        return refuse(self, source, destination, message, error);
    hw_envelope *envelope = &message->envelope;
    envelope->kind = HW_MESSAGE_PUT;
    envelope->source = source;
    envelope->destination = destination;
    envelope->session = self->session;
    if (message->payload == NULL)
        envelope->length = 0;
    if (self->home[destination] != self->self)
        return hw_net_send(self->net, self->home[destination], message, error);
    hawser_status status = hw_segment_table_put(self->segments, message, error);
    hw_message_free(message);
    return status;
}

static void net_close(hw_transport *transport, uint32_t number)
{
    atomic_store_explicit(&of(transport)->inboxes[number].closed, true, memory_order_release);
}

static void net_free(hw_transport *transport)
{
    net_transport *self = of(transport);
    for (uint32_t i = 0; self->inboxes != NULL && i < self->count; i++)
        hw_inbox_empty(&self->inboxes[i]);
    for (uint32_t i = 0; self->sequences != NULL && i < self->count; i++)
        free(self->sequences[i]);
    hw_segment_table_free(self->segments);
    free(self->sequences);
    free(self->inboxes);
    free(self->home);
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
    for (uint32_t i = 0; i < self->blocks; i++) {
        hw_message *copy;
        if (self->home[i] != self->self)
            continue;
        HAWSER_TRY(hw_message_share(message, &copy, error));
        copy->envelope.destination = i;
        if (!hw_inbox_put(&self->inboxes[i], copy))
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
    hawser_status status = HAWSER_OK;
    if (node != self->self && (source >= self->count || self->home[source] != node))
        status = hawser_fail(error, HAWSER_BAD_INPUT, "node %u sent a message from endpoint %u, which is not its own", node,
                             source);
    else if (!all && (destination >= self->count || self->home[destination] != self->self))
        status = hawser_fail(error, HAWSER_BAD_INPUT, "node %u sent a message to endpoint %u, which is not on node %u", node,
                             destination, self->self);
    else if (envelope->kind == HW_MESSAGE_PUT && !all)
        status = apply_put(self, node, message, error);
    else if (all)
        status = to_blocks(self, message, error);
    else if (hw_inbox_put(&self->inboxes[destination], message))
        return HAWSER_OK;
    hw_message_free(message);
    return status;
}

static hawser_status make(net_transport *self, const uint32_t *home, hawser_error *error)
{
    uint32_t count = self->count;
    HAWSER_TRY(HW_NEW(&self->home, count, "the transport's endpoints", error));
    HAWSER_TRY(HW_NEW(&self->inboxes, count, "the transport's endpoints", error));
    HAWSER_TRY(HW_NEW(&self->sequences, count, "the transport's sequence numbers", error));
    for (uint32_t i = 0; i < count; i++) {
        hw_inbox_init(&self->inboxes[i]);
        self->home[i] = home[i];
        if (home[i] == self->self)
            HAWSER_TRY(HW_NEW(&self->sequences[i], (size_t)count + 1, "the transport's sequence numbers", error));
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
