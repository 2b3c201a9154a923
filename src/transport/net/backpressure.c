/*
 * backpressure.c - pauses reading from a peer that requests more than it receives. So the data that wait for it, and those
 * that the owner has yet to send it, stay within a bound, and further requests wait on the peer's side. A paused peer that
 * receives nothing for the failure timeout is lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "transport/net/parts.h"

static uint64_t waiting(const hw_link *link)
{
    return atomic_load(&link->queued) + atomic_load(&link->accounted);
}

static bool eased(const hw_link *link)
{
    return waiting(link) <= link->net->unread_most / 2;
}

void hw_link_watch(hw_link *link)
{
    bool socket =
        link->channel.shared == NULL && link->channel.endpoint == NULL; /* the sockets of other links are always read */
    bool space = link->writer == HW_WRITER_BLOCKED && (socket || link->channel.handshake_left > 0);
    uint32_t events = (socket && atomic_load(&link->read_paused) ? 0 : EPOLLIN) | (space ? EPOLLOUT : 0);
    struct epoll_event event = {.events = events, .data.ptr = link};
    (void)epoll_ctl(link->net->reactor_poll, EPOLL_CTL_MOD, link->channel.fd, &event);
}

static void set_paused(hw_link *link, bool paused)
{
    link->taken_at = hw_seconds();
    pthread_mutex_lock(&link->mutex);
    atomic_store(&link->read_paused, paused);
    if (!link->shut)
        hw_link_watch(link);
    pthread_mutex_unlock(&link->mutex);
}

const char *hw_link_starve(hw_link *link)
{
    link->starved = true;
    return "there is no memory for what it sent";
}

const char *hw_link_pause(hw_link *link, const unsigned char *bytes, size_t size)
{
    if (link->put_off == NULL && (link->put_off = malloc(HW_SCRATCH)) == NULL)
        return hw_link_starve(link);
    memmove(link->put_off, bytes, size);
    link->put_off_size = size;
    set_paused(link, true);
    hw_link_ease(link); /* it may have been sent before any thread could see that reading is paused */
    return NULL;
}

bool hw_link_must_pause(const hw_link *link)
{
    return link->net->unread_most > 0 && !atomic_load(&link->unbounded) && waiting(link) > link->net->unread_most;
}

void hw_link_ease(hw_link *link)
{
    if (atomic_load(&link->read_paused) && eased(link))
        hw_reactor_post(link);
}

bool hw_link_resume(hw_link *link)
{
    if (!atomic_load(&link->read_paused) || !eased(link))
        return false;
    set_paused(link, false);
    atomic_store(&link->last_received, link->taken_at); /* nothing was read until now, so its silence counts from here */
    return true;
}

void hw_link_read_to_end(hw_link *link)
{
    atomic_store(&link->unbounded, true);
    if (atomic_load(&link->read_paused))
        set_paused(link, false);
}

/* Returns when the peer last received something. Bytes that have arrived at its end count, because a socket may accept much
 * more than its peer reads in that time. A peer for which nothing waits is not slow. */
double hw_link_taken(hw_link *link, double now)
{
    int64_t taken = (int64_t)atomic_load(&link->bytes_sent) - hw_channel_unread(&link->channel);
    if (taken != link->peer_has || atomic_load(&link->queued) == 0)
        link->taken_at = now;
    link->peer_has = taken;
    return link->taken_at;
}

const char *hw_link_untaken(const hw_link *link, char *text, size_t size)
{
    (void)!snprintf(text, size, "it has stopped reading: %llu bytes wait for it",
                    (unsigned long long)atomic_load(&link->queued));
    return text;
}

void hw_net_account(hw_net *net, uint32_t node, int64_t bytes)
{
    hw_link *link = hw_net_link(net, node);
    if (link == NULL)
        return;
    atomic_fetch_add(&link->accounted, (uint64_t)bytes);
    if (bytes < 0)
        hw_link_ease(link);
}
