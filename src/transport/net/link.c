/* link.c - writing to a link: the first sender writes, others only queue. The reactor writes a burst, so that it can gather
 * it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "transport/net/parts.h"
#include "transport/net/shared.h"

enum {
    BURST = 16,            /* direct writes in a row; further messages are gathered */
    SMALL_CLEAR = 2 << 10, /* largest payload that is copied next to its head, which is cheaper than an own piece */
    SMALL_TLS = 16 << 10,  /* of a TLS record */
    DIRECT_MOST = 1 << 18, /* bytes that a sender writes before it leaves the rest to the reactor */
    REACTOR_MOST = 4 << 20 /* bytes that the reactor writes to one link before it serves the others */
};
#define BURST_RATE 1e5 /* direct writes per second in the long run */

void hw_queue_append(hw_queue *queue, hw_message *message)
{
    message->next = NULL;
    if (queue->first == NULL)
        queue->first = message;
    else
        queue->last->next = message;
    queue->last = message;
}

/* Returns the payload bytes of the message's frame. */
static uint64_t chunk_of(const hw_message *message)
{
    return message->chunk > 0 ? message->chunk : message->envelope.length;
}

uint64_t hw_queued_bytes(const hw_message *message)
{
    return HW_FRAME_MESSAGE + chunk_of(message);
}

void hw_link_count(hw_link *link, int64_t bytes)
{
    atomic_fetch_add_explicit(&link->queued, (uint64_t)bytes, memory_order_relaxed);
    if (!link->uncounted)
        atomic_fetch_add_explicit(&link->net->queued, (uint64_t)bytes, memory_order_relaxed);
}

void hw_link_uncount(hw_link *link)
{
    if (!link->uncounted)
        atomic_fetch_sub_explicit(&link->net->queued, atomic_load(&link->queued), memory_order_relaxed);
    link->uncounted = true;
}

hawser_status hw_link_new(hw_net *net, uint32_t node, hw_link **out, hawser_error *error)
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
    link->channel.fd = -1;
    double now = hw_seconds();
    atomic_store(&link->last_received, now);
    atomic_store(&link->last_sent, now);
    *out = link;
    return HAWSER_OK;
}

void hw_link_free(hw_link *link)
{
    if (link == NULL)
        return;
    hw_channel_close(&link->channel);
    hw_messages_free(link->queue.first);
    hw_messages_free(link->taken.first);
    hw_messages_free(link->written);
    hw_messages_free(link->paced.first);
    if (link->incoming != link->partial)
        hw_message_free(link->incoming);
    hw_message_free(link->partial);
    pthread_mutex_destroy(&link->mutex);
    free(link->put_off);
    free(link->stage);
    free(link);
}

static void add_piece(hw_link *link, void *base, size_t length)
{
    if (length > 0)
        link->pieces[link->piece_count++] = (struct iovec){base, length};
}

/* Packs one message into the stage, after `used` bytes; those before *begin are pieces already. Returns the new `used`. */
static size_t pack(hw_link *link, hw_message *message, size_t used, size_t *begin)
{
    uint64_t length = message->envelope.length, chunk = chunk_of(message);
    unsigned char *payload = message->payload == NULL ? NULL : (unsigned char *)message->payload + message->offset;
    hw_frame frame = {.type = message->offset == 0 ? HW_FRAME_BEGIN : HW_FRAME_MORE,
                      .flags = message->spread ? HW_FRAME_SPREAD : 0,
                      .origin = message->origin,
                      .chunk = chunk,
                      .envelope = message->envelope};
    bool check = link->checked && length > 0 && message->offset == 0;
    frame.envelope.checksum = check ? hw_hash(payload, (size_t)length, 0) : 0;
    used += hw_frame_pack(link->stage + used, &frame);
    link->batch += hw_queued_bytes(message);
    if (message->offset + chunk == length)
        atomic_fetch_add_explicit(&link->messages_sent, 1, memory_order_relaxed);
    size_t own = (size_t)chunk - message->tail_length;
    if (own <= (link->encrypted ? SMALL_TLS : SMALL_CLEAR)) {
        if (own > 0)
            memcpy(link->stage + used, payload, own);
        used += own;
        own = 0;
        if (message->tail == NULL) {
            hw_message_free(message);
            return used;
        }
    }
    add_piece(link, link->stage + *begin, used - *begin);
    add_piece(link, payload, own);
    add_piece(link, (void *)(uintptr_t)message->tail, message->tail_length);
    *begin = used;
    if (message->tail != NULL) { /* the first message of its batch, so there is at most one tail */
        link->tail = message->tail;
        link->tail_length = message->tail_length;
    }
    message->next = link->written;
    link->written = message;
    return used;
}

/* Gathers the next batch. Returns false if there is none; the thread is then no longer the writer, and *shut says whether
 * the reactor waits to close the socket. */
static bool gather(hw_link *link, bool *shut)
{
    size_t used = 0, begin = 0, small = link->encrypted ? SMALL_TLS : SMALL_CLEAR;
    hw_messages_free(link->written);
    link->written = NULL;
    link->tail = NULL;
    link->piece = link->piece_count = 0;
    pthread_mutex_lock(&link->mutex);
    hw_link_count(link, -(int64_t)link->batch);
    link->batch = 0;
    hw_link_ease(link);
    if (link->taken.first == NULL) {
        link->taken = link->queue;
        link->queue = (hw_queue){NULL, NULL};
    }
    bool idle = link->taken.first == NULL, say_goodbye = idle && link->bidding && !link->bid && link->paced.first == NULL;
    bool say_alive = idle && link->alive_due && !link->bid;
    link->alive_due = false;
    link->bid |= say_goodbye;
    if (idle && !say_goodbye && !say_alive) {
        link->writer = HW_WRITER_NONE;
        *shut = link->shut;
        if (link->bid && !link->by_fabric) /* on a UCX link a shutdown means that the peer's goodbye was received */
            shutdown(link->channel.fd, SHUT_WR);
    }
    pthread_mutex_unlock(&link->mutex);
    if (idle && !say_goodbye && !say_alive)
        return false;
    while (link->taken.first != NULL && used + HW_FRAME_MESSAGE + small <= HW_STAGE && link->piece_count + 4 <= HW_PIECES) {
        hw_message *message = link->taken.first;
        link->taken.first = message->next;
        if (hw_pace_drops(link->net, message)) {
            link->batch += hw_queued_bytes(message);
            hw_message_free(message);
            continue;
        }
        used = pack(link, message, used, &begin);
    }
    if (say_goodbye || say_alive) {
        hw_frame frame = {.type = say_goodbye ? HW_FRAME_GOODBYE : HW_FRAME_ALIVE, .origin = link->net->self.node};
        used += hw_frame_pack(link->stage + used, &frame);
    }
    add_piece(link, link->stage + begin, used - begin);
    return true;
}

static void advance(hw_link *link, size_t moved)
{
    atomic_fetch_add_explicit(&link->bytes_sent, moved, memory_order_relaxed);
    while (moved > 0) {
        struct iovec *piece = &link->pieces[link->piece];
        size_t taken = moved < piece->iov_len ? moved : piece->iov_len;
        piece->iov_base = (char *)piece->iov_base + taken;
        piece->iov_len -= taken;
        moved -= taken;
        link->piece += piece->iov_len == 0;
    }
}

/* Returns whether the writer waits for space in memory and not at the socket. */
static bool by_memory(const hw_link *link)
{
    return link->channel.shared != NULL && link->channel.handshake_left == 0;
}

static bool by_endpoint(const hw_link *link)
{
    return link->channel.endpoint != NULL && link->channel.handshake_left == 0;
}

/* Copies the rest of a tail, whose memory its sender gets back. */
static bool take_over(hw_link *link)
{
    uintptr_t begin = (uintptr_t)link->tail, end = begin + link->tail_length;
    for (int i = link->piece; link->tail != NULL && i < link->piece_count; i++) {
        struct iovec *piece = &link->pieces[i];
        hw_message *copy = NULL;
        if ((uintptr_t)piece->iov_base < begin || (uintptr_t)piece->iov_base >= end)
            continue;
        if (hw_pool_message(link->net->pool, piece->iov_len, &copy, NULL) != HAWSER_OK) {
            link->channel.failure = ENOMEM;
            return false;
        }
        memcpy(copy->payload, piece->iov_base, piece->iov_len);
        piece->iov_base = copy->payload;
        copy->next = link->written;
        link->written = copy;
    }
    link->tail = NULL;
    return true;
}

/* Stops being the writer. If the reactor waits to close the socket, it is woken. */
static void leave(hw_link *link, hw_writer writer, bool broken, bool more)
{
    if (!broken && !take_over(link)) {
        broken = true;
        writer = HW_WRITER_NONE;
    }
    pthread_mutex_lock(&link->mutex);
    link->writer = writer;
    link->broken |= broken;
    if (writer == HW_WRITER_BLOCKED && by_memory(link)) {
        more |= hw_shared_await_space(link->channel.shared);
    } else if (writer == HW_WRITER_BLOCKED && by_endpoint(link)) {
        more |= false; /* the reactor checks for space after each progress */
    } else if (writer == HW_WRITER_BLOCKED && !link->shut) {
        hw_link_watch(link);
    }
    bool post = more || broken || link->shut;
    pthread_mutex_unlock(&link->mutex);
    if (post)
        hw_reactor_post(link);
}

/* Writes what is queued. For the writer only. */
static void write_out(hw_link *link, uint64_t most)
{
    bool shut = false;
    for (uint64_t done = 0;;) {
        bool more = true;
        while (more && link->piece == link->piece_count) /* all messages of a batch may have been dropped */
            more = gather(link, &shut);
        if (!more)
            break;
        if (done >= most) { /* checked after gather: a writer without further data need not wake the reactor */
            leave(link, HW_WRITER_NONE, false, true);
            return;
        }
        ssize_t moved = hw_channel_write(&link->channel, &link->pieces[link->piece], link->piece_count - link->piece);
        if (moved == HW_CHANNEL_AGAIN && link->tail != NULL && by_memory(link) && hw_shared_poll_space(link->channel.shared))
            continue;
        if (moved < 0) {
            leave(link, moved == HW_CHANNEL_AGAIN ? HW_WRITER_BLOCKED : HW_WRITER_NONE, moved != HW_CHANNEL_AGAIN, false);
            return;
        }
        advance(link, (size_t)moved);
        atomic_store_explicit(&link->last_sent, hw_seconds_lately(), memory_order_relaxed);
        done += (uint64_t)moved;
        if (moved >= HW_NET_BULK)
            atomic_store_explicit(&link->net->bulk, true, memory_order_relaxed);
    }
    if (shut)
        hw_reactor_post(link);
}

/* With the mutex held: makes this thread the writer if it may be. */
static bool take_part(hw_link *link)
{
    if (link->writer != HW_WRITER_NONE || link->broken || link->shut || !link->announced)
        return false;
    link->writer = HW_WRITER_BUSY;
    return true;
}

static bool allowed(hw_link *link)
{
    double now = hw_seconds();
    link->allowance += (now - link->allowed_at) * BURST_RATE;
    link->allowed_at = now;
    if (link->allowance > BURST)
        link->allowance = BURST;
    if (link->allowance < 1)
        return false;
    link->allowance -= 1;
    return true;
}

/* With the mutex held: returns whether the sender would write the message itself, and nothing before it. */
static bool is_free(const hw_link *link)
{
    return link->writer == HW_WRITER_NONE && link->queue.first == NULL && link->taken.first == NULL &&
           link->piece == link->piece_count && link->announced && !link->by_fabric && !link->checked && link->net->rate <= 0;
}

/* Copies a tail that cannot be written at once, because its memory is the sender's after the call. */
static void join_tail(hw_link *link, hw_message *message)
{
    if (message->tail == NULL || is_free(link))
        return;
    pthread_mutex_unlock(&link->mutex);
    hawser_status status = hw_message_join(link->net->pool, message, NULL);
    pthread_mutex_lock(&link->mutex);
    if (status != HAWSER_OK && !link->broken) {
        link->channel.failure = ENOMEM;
        link->broken = true;
        hw_reactor_post(link);
    }
}

/* With the mutex held: returns whether the reactor may write this message, with others. The reactor is running and does so
 * soon; if the message replies to one that it has just read, after it has delivered all that it has read. A large message is
 * written by the thread that has it in its cache. */
static bool may_gather(const hw_link *link, const hw_message *message)
{
    hw_net *net = link->net;
    if (message->tail != NULL || link->channel.shared != NULL || message->envelope.length > SMALL_CLEAR)
        return false;
    if (hw_net_is_own_thread(net))
        return net->behind;
    return message->may_coalesce && !atomic_load(&net->asleep);
}

bool hw_link_send(hw_link *link, hw_message *message)
{
    pthread_mutex_lock(&link->mutex);
    join_tail(link, message);
    if (atomic_load_explicit(&link->state, memory_order_relaxed) != HW_LINK_UP || link->bidding || link->broken) {
        pthread_mutex_unlock(&link->mutex);
        hw_message_free(message);
        return false;
    }
    bool has_tail = message->tail != NULL, more = message->more && !has_tail && link->channel.shared == NULL;
    hw_link_count(link, (int64_t)hw_queued_bytes(message));
    if (link->net->rate > 0 && hw_pace_delay(link, message)) {
        pthread_mutex_unlock(&link->mutex);
        hw_reactor_wake(link->net);
        return true;
    }
    bool idle = link->writer == HW_WRITER_NONE && !more, gathers = may_gather(link, message);
    hw_queue_append(&link->queue, message);
    /* A write to memory costs no more than queueing. */
    bool direct = idle && !gathers && !link->by_fabric && (link->channel.shared != NULL || has_tail || allowed(link)) &&
                  take_part(link);
    pthread_mutex_unlock(&link->mutex);
    if (direct)
        write_out(link, DIRECT_MOST);
    else if (idle)
        hw_reactor_post(link);
    return true;
}

hawser_status hw_link_gone(hw_link *link, hawser_error *error)
{
    char why[sizeof link->why], text[200];
    pthread_mutex_lock(&link->mutex);
    hw_link_state state = atomic_load(&link->state);
    bool broken = state == HW_LINK_UP && link->broken; /* the reactor has not found out yet */
    bool left = state == HW_LINK_LEFT, ending = state == HW_LINK_UP && link->bidding;
    (void)!snprintf(why, sizeof why, "%s",
                    broken && link->why[0] == '\0' ? hw_channel_trouble(&link->channel, text, sizeof text) : link->why);
    pthread_mutex_unlock(&link->mutex);
    const char *name = link->hello.name;
    if (left || (ending && !broken))
        return hawser_fail(error, HAWSER_PEER_LOST, "node %u (%s) has %s", link->node, name,
                           left ? "left" : "received the end of this node");
    return hawser_fail(error, HAWSER_PEER_LOST, "node %u (%s) was lost: %s", link->node, name, why);
}

void hw_link_drain(hw_link *link)
{
    pthread_mutex_lock(&link->mutex);
    bool mine = take_part(link);
    pthread_mutex_unlock(&link->mutex);
    if (mine)
        write_out(link, REACTOR_MOST);
}

void hw_link_writable(hw_link *link)
{
    pthread_mutex_lock(&link->mutex);
    bool mine = link->writer == HW_WRITER_BLOCKED;
    if (mine && by_memory(link)) {
        atomic_store(&link->channel.shared->waits, false);
        link->writer = HW_WRITER_BUSY;
    } else if (mine && by_endpoint(link)) {
        link->writer = HW_WRITER_BUSY;
    } else if (mine) {
        link->writer = HW_WRITER_BUSY;
        hw_link_watch(link);
    }
    pthread_mutex_unlock(&link->mutex);
    if (mine)
        write_out(link, REACTOR_MOST);
}

bool hw_link_close(hw_link *link)
{
    pthread_mutex_lock(&link->mutex);
    link->shut = true;
    bool now = link->writer != HW_WRITER_BUSY;
    if (now)
        hw_channel_close(&link->channel);
    else
        shutdown(link->channel.fd, SHUT_RDWR);
    hw_message *paced = link->paced.first;
    if (paced != NULL)
        atomic_fetch_sub(&link->net->pacing, 1);
    link->paced.first = NULL;
    pthread_mutex_unlock(&link->mutex);
    hw_messages_free(paced);
    return now;
}

void hw_link_send_heartbeat(hw_link *link)
{
    pthread_mutex_lock(&link->mutex);
    link->alive_due = true;
    pthread_mutex_unlock(&link->mutex);
    hw_link_drain(link);
}

void hw_link_fail(hw_link *link, const char *why)
{
    pthread_mutex_lock(&link->mutex);
    if (atomic_load(&link->dialling) && !link->broken) {
        (void)!snprintf(link->why, sizeof link->why, "%s", why[0] != '\0' ? why : "it has left");
        link->bidding |= why[0] == '\0';
        link->broken = true;
        hw_reactor_post(link);
    }
    pthread_mutex_unlock(&link->mutex);
}

void hw_link_bid(hw_link *link)
{
    pthread_mutex_lock(&link->mutex);
    link->bidding = true;
    bool by_fabric = link->by_fabric;
    pthread_mutex_unlock(&link->mutex);
    if (by_fabric)
        hw_reactor_post(link);
    else
        hw_link_drain(link);
}
