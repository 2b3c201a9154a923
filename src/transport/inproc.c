/* inproc.c - the transport between blocks of one process. */
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "transport/queue.h"
#include "transport/segment/segment.h"

typedef struct inproc {
    hw_transport transport;
    uint32_t count;
    hw_inbox *endpoints;
    hw_segment_table *segments;
} inproc;

static inproc *of(hw_transport *transport)
{
    return (inproc *)(void *)transport;
}

static hawser_status refuse(const inproc *self, uint32_t source, uint32_t destination, hw_message *message,
                            hawser_error *error)
{
    hw_message_free(message);
    return hawser_fail(error, HAWSER_BAD_ARGUMENT, "cannot send from endpoint %u to endpoint %u: there are %u", source,
                       destination, self->count);
}

static hawser_status inproc_send(hw_transport *transport, uint32_t source, uint32_t destination, hw_message *message,
                                 hawser_error *error)
{
    inproc *self = of(transport);
    if (source >= self->count || destination >= self->count)
        return refuse(self, source, destination, message, error);
    hw_inbox *to = &self->endpoints[destination];
    if (atomic_load_explicit(&to->closed, memory_order_acquire)) {
        hw_message_free(message);
        return hawser_fail(error, HAWSER_PEER_LOST, "endpoint %u is closed: message from endpoint %u not sent", destination,
                           source);
    }
    message->envelope.destination = destination;
    if (message->payload == NULL)
        message->envelope.length = 0;
    if (!hw_inbox_put(to, message))
        hw_message_free(message); /* closed meanwhile: the message is dropped, as if it had been read too late */
    return HAWSER_OK;
}

static hawser_status inproc_spread(hw_transport *transport, uint32_t source, hw_message *message, hawser_error *error)
{
    (void)transport;
    (void)source;
    (void)error;
    hw_message_free(message);
    return HAWSER_OK;
}

static hawser_status inproc_send_to_node(hw_transport *transport, uint32_t source, uint32_t node, hw_message *message,
                                         hawser_error *error)
{
    (void)node;
    return inproc_spread(transport, source, message, error);
}

static hw_message *inproc_receive(hw_transport *transport, uint32_t number)
{
    return hw_inbox_take(&of(transport)->endpoints[number]);
}

/* Returns 0, because a sent message has already arrived. */
static uint64_t inproc_pending(hw_transport *transport)
{
    (void)transport;
    return 0;
}

static uint64_t inproc_pending_to(hw_transport *transport, uint32_t node)
{
    (void)transport;
    (void)node;
    return 0;
}

static void inproc_on_delivery(hw_transport *transport, uint32_t number, void (*wake)(void *), void *argument)
{
    hw_inbox *own = &of(transport)->endpoints[number];
    own->wake = wake;
    own->argument = argument;
}

static hawser_status inproc_expose(hw_transport *transport, uint32_t endpoint, const hw_segment_shape *shape,
                                   hw_segment **segment, hawser_error *error)
{
    return hw_segment_table_expose(of(transport)->segments, endpoint, shape, segment, error);
}

static hawser_status inproc_put(hw_transport *transport, uint32_t source, uint32_t destination, hw_message *message,
                                hawser_error *error)
{
    inproc *self = of(transport);
    if (source >= self->count || destination >= self->count)
        return refuse(self, source, destination, message, error);
    message->envelope.source = source;
    message->envelope.destination = destination;
    hawser_status status = hw_segment_table_put(self->segments, message, error);
    hw_message_free(message);
    return status;
}

static void inproc_close(hw_transport *transport, uint32_t number)
{
    atomic_store_explicit(&of(transport)->endpoints[number].closed, true, memory_order_release);
}

static void inproc_free(hw_transport *transport)
{
    inproc *self = of(transport);
    for (uint32_t i = 0; i < self->count; i++)
        hw_inbox_empty(&self->endpoints[i]);
    hw_segment_table_free(self->segments);
    free(self->endpoints);
    free(self);
}

static const hw_transport_ops inproc_ops = {
    .name = "inproc",
    .send = inproc_send,
    .spread = inproc_spread,
    .send_to_node = inproc_send_to_node,
    .receive = inproc_receive,
    .pending = inproc_pending,
    .pending_to = inproc_pending_to,
    .on_delivery = inproc_on_delivery,
    .expose = inproc_expose,
    .put = inproc_put,
    .close = inproc_close,
    .free = inproc_free,
};

hawser_status hw_inproc_new(uint32_t endpoints, hw_transport **transport, hawser_error *error)
{
    *transport = NULL;
    inproc *self = NULL;
    hawser_status status = HW_NEW(&self, 1, "a transport", error);
    HAWSER_TRY(status);
    self->transport.ops = &inproc_ops;
    self->count = endpoints;
    status = HW_NEW(&self->endpoints, endpoints, "the transport's endpoints", error);
    HAWSER_THEN(status, hw_segment_table_new(endpoints, &self->segments, error));
    if (status != HAWSER_OK) {
        free(self->endpoints);
        free(self);
        return status;
    }
    for (uint32_t i = 0; i < endpoints; i++)
        hw_inbox_init(&self->endpoints[i]);
    *transport = &self->transport;
    return HAWSER_OK;
}
