/* receive.c - reading from a link: large payloads directly into their message or into the owner's memory, small frames many
 * at a time. */
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "transport/net/parts.h"

enum {
    READS = 8,      /* reads in a row from one link, before the others get their turn */
    READS_TLS = 64, /* the same for TLS, of one record each */
    /* Bytes of scratch if the following payload can or probably will be read directly at little cost: from memory, or after
     * a large frame. */
    SHORT_SCRATCH = 2 << 10,
    LARGE = 16 << 10
};

/* Returns where the next bytes of a payload are stored, and their number in *most; NULL: nowhere. The memory is reserved
 * until settle(). */
static unsigned char *place_of(hw_link *link, size_t *most)
{
    const hw_net_events *events = &link->net->events;
    hw_message *message = link->incoming;
    *most = (size_t)link->chunk;
    if (link->direct == HW_DIRECT_ASKS)
        *most = HW_ANSWER_HEAD - (size_t)link->filled;
    if (link->direct == HW_DIRECT_DROPS)
        return NULL;
    if (link->direct != HW_DIRECT_TAIL)
        return (unsigned char *)message->payload + link->filled;
    unsigned char *place = events->acquire(events->argument, link->node, message);
    if (place != NULL && place == message->tail)
        return place + (link->filled - HW_ANSWER_HEAD);
    if (place != NULL)
        events->release(events->argument);
    link->direct = HW_DIRECT_DROPS;
    return NULL;
}

static void settle(const hw_link *link)
{
    const hw_net_events *events = &link->net->events;
    if (link->direct == HW_DIRECT_TAIL)
        events->release(events->argument);
}

/* The head has arrived. Asks the owner for memory for the rest; without it, the message gets its own. */
static const char *ask_owner(hw_link *link)
{
    const hw_net_events *events = &link->net->events;
    hw_message *message = link->incoming, *whole = NULL;
    void *place = events->acquire(events->argument, link->node, message);
    if (place != NULL) {
        events->release(events->argument);
        message->tail = place;
        message->tail_length = (size_t)message->envelope.length - HW_ANSWER_HEAD;
        message->tail_received = true;
        link->direct = HW_DIRECT_TAIL;
        return NULL;
    }
    if (hw_pool_message(link->net->pool, (size_t)message->envelope.length, &whole, NULL) != HAWSER_OK)
        return hw_link_starve(link);
    memcpy(whole->payload, message->payload, HW_ANSWER_HEAD);
    whole->envelope = message->envelope;
    whole->origin = message->origin;
    hw_message_free(message);
    link->incoming = whole;
    link->direct = HW_DIRECT_NONE;
    return NULL;
}

static const char *deliver(hw_link *link)
{
    hw_net *net = link->net;
    hw_message *message = link->incoming;
    if (message == link->partial)
        link->partial = NULL;
    link->incoming = NULL;
    uint64_t length = message->envelope.length;
    if (link->checked && length > 0 && hw_hash(message->payload, (size_t)length, 0) != message->envelope.checksum) {
        hw_message_free(message);
        return "it sent a payload that was damaged in transit";
    }
    atomic_fetch_add_explicit(&link->messages_received, 1, memory_order_relaxed);
    if (link->direct == HW_DIRECT_DROPS) { /* the owner does not need the message any more */
        hw_message_free(message);
        return NULL;
    }
    uint32_t from = link->node;
    if (message->spread && net->direct) {
        hw_message_free(message);
        return "it forwarded a message, but nodes of this net do not";
    }
    if (message->spread)
        from = message->origin;
    if (!hw_net_stamp_holds(net, from, &message->envelope)) {
        if (net->events.foreign != NULL)
            net->events.foreign(net->events.argument, from, &message->envelope);
        hw_message_free(message);
        return NULL;
    }
    if (message->spread) {
        hawser_error error;
        /* A lost child is reported by its own link. */
        if (hw_route_forward(net, from, message, &error) == HAWSER_NO_MEMORY) {
            hw_message_free(message);
            return hw_link_starve(link);
        }
    }
    net->events.arrived(net->events.argument, from, message);
    return NULL;
}

/* Returns whether the rest of the frame that has begun may be read into the owner's memory. */
static bool may_receive_directly(const hw_link *link, bool whole)
{
    const hw_net_events *events = &link->net->events;
    const hw_frame *frame = &link->frame;
    return whole && !link->checked && events->acquire != NULL && frame->envelope.kind == HW_MESSAGE_ANSWER &&
           frame->envelope.length >= LARGE && (frame->flags & HW_FRAME_SPREAD) == 0 &&
           hw_net_stamp_holds(link->net, link->node, &frame->envelope);
}

/* Handles the head of a frame. */
static const char *begin_frame(hw_link *link, const unsigned char *head)
{
    const char *why;
    if (!hw_frame_unpack(head, &link->frame, &why))
        return why;
    const hw_frame *frame = &link->frame;
    switch (frame->type) {
    case HW_FRAME_ALIVE: return NULL;
    case HW_FRAME_GOODBYE: return "";
    case HW_FRAME_MORE:
        if (link->partial == NULL || frame->chunk > link->partial->envelope.length - link->partial_filled)
            return "it sent more of a message than the message has";
        link->incoming = link->partial;
        link->filled = link->partial_filled;
        link->chunk = frame->chunk;
        link->direct = HW_DIRECT_NONE;
        return NULL;
    case HW_FRAME_BEGIN: break;
    }
    link->bulky = frame->chunk >= LARGE;
    if (frame->chunk >= HW_NET_BULK)
        atomic_store_explicit(&link->net->bulk, true, memory_order_relaxed);
    bool whole = frame->chunk == frame->envelope.length;
    if (!whole && link->partial != NULL)
        return "it began a message in parts inside another";
    size_t space = may_receive_directly(link, whole) ? HW_ANSWER_HEAD : (size_t)frame->envelope.length;
    if (hw_pool_message(link->net->pool, space, &link->incoming, NULL) != HAWSER_OK)
        return hw_link_starve(link);
    link->direct = space < (size_t)frame->envelope.length ? HW_DIRECT_ASKS : HW_DIRECT_NONE;
    link->incoming->envelope = frame->envelope;
    link->incoming->spread = (frame->flags & HW_FRAME_SPREAD) != 0;
    link->incoming->origin = frame->origin;
    link->partial = whole ? link->partial : link->incoming;
    link->filled = 0;
    link->chunk = frame->chunk;
    return frame->envelope.length == 0 ? deliver(link) : NULL;
}

/* Counts `moved` more bytes of the payload. */
static const char *filled(hw_link *link, uint64_t moved)
{
    link->filled += moved;
    link->chunk -= moved;
    if (link->direct == HW_DIRECT_ASKS && link->filled == HW_ANSWER_HEAD)
        return ask_owner(link);
    if (link->filled == link->incoming->envelope.length)
        return deliver(link);
    if (link->chunk == 0) { /* the frame is complete */
        link->partial_filled = link->filled;
        link->incoming = NULL;
    }
    return NULL;
}

/* Returns whether the bytes contain a whole message. */
static bool holds_message(const unsigned char *bytes, size_t size)
{
    hw_frame frame;
    const char *why;
    return size >= HW_FRAME_MESSAGE && hw_frame_size(bytes) == HW_FRAME_MESSAGE && hw_frame_unpack(bytes, &frame, &why) &&
           frame.chunk <= size - HW_FRAME_MESSAGE;
}

/* Processes `bytes`. Keeps an incomplete head for the next read, and everything if reading must be paused. */
static const char *take(hw_link *link, const unsigned char *bytes, size_t size)
{
    const char *why = NULL;
    while (size > 0 && why == NULL) {
        if (hw_link_must_pause(link))
            return hw_link_pause(link, bytes, size);
        size_t used;
        if (link->chunk > 0) {
            unsigned char *place = place_of(link, &used);
            used = used < size ? used : size;
            if (place != NULL)
                memcpy(place, bytes, used);
            settle(link);
            link->net->behind = holds_message(bytes + used, size - used);
            why = filled(link, used);
            link->net->behind = false;
        } else {
            size_t needed = size < HW_FRAME_HEAD ? HW_FRAME_HEAD : hw_frame_size(bytes);
            if (size < needed) {
                memcpy(link->head, bytes, size);
                link->head_have = size;
                return NULL;
            }
            used = needed;
            why = begin_frame(link, bytes);
        }
        bytes += used;
        size -= used;
    }
    return why;
}

/* Reads once. *more: another read may return data at once. */
static const char *read_once(hw_link *link, bool *more, char *text, size_t size)
{
    unsigned char *scratch = link->net->scratch, *place = NULL;
    struct iovec pieces[2];
    int count = 0;
    size_t direct = 0, kept = link->head_have, space = HW_SCRATCH - kept;
    if (link->chunk > 0 && link->direct != HW_DIRECT_ASKS)
        place = place_of(link, &direct);
    if (link->channel.shared != NULL || (place != NULL ? direct >= LARGE : link->bulky))
        space = SHORT_SCRATCH - kept;
    if (place != NULL)
        pieces[count++] = (struct iovec){place, direct};
    else
        direct = 0;
    memcpy(scratch, link->head, kept);
    pieces[count++] = (struct iovec){scratch + kept, space};
    ssize_t moved = hw_channel_read(&link->channel, pieces, count);
    if (place != NULL)
        settle(link);
    *more = false;
    if (moved == HW_CHANNEL_AGAIN)
        return NULL;
    if (moved == HW_CHANNEL_END)
        return "its connection was closed";
    if (moved < 0)
        return hw_channel_trouble(&link->channel, text, size);
    atomic_store_explicit(&link->last_received, hw_seconds_lately(), memory_order_relaxed);
    atomic_fetch_add_explicit(&link->bytes_received, (uint64_t)moved, memory_order_relaxed);
    /* A read that got less than it asked for has emptied the socket; TLS returns one record at a time. */
    *more = link->encrypted || (size_t)moved == direct + space;
    if (direct > 0) {
        size_t own = (size_t)moved < direct ? (size_t)moved : direct;
        const char *why = filled(link, own);
        return why != NULL ? why : take(link, scratch, (size_t)moved - own);
    }
    link->head_have = 0;
    return take(link, scratch, kept + (size_t)moved);
}

const char *hw_link_read(hw_link *link, char *text, size_t size)
{
    bool more = true;
    size_t put_off = link->put_off_size;
    int most = link->encrypted ? READS_TLS : READS;
    if (atomic_load(&link->read_paused))
        return NULL;
    link->put_off_size = 0;
    const char *why = take(link, link->put_off, put_off);
    for (int i = 0; more && why == NULL && i < most && !atomic_load(&link->read_paused); i++)
        why = read_once(link, &more, text, size);
    return why;
}
