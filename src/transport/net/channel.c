#include "transport/net/channel.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/net/fabric.h"
#include "transport/net/shared.h"
#include "transport/net/tls.h"

enum {
    SLICE = 64 << 10,     /* bytes that are written to memory before the other end is woken */
    WRITE_MOST = 1 << 20, /* bytes in one write to a socket; the thread does not receive while it writes */
    PIECES_MOST = 64
};

static ssize_t outcome(hw_net_channel *channel, ssize_t moved)
{
    if (moved >= 0)
        return moved;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
        return HW_CHANNEL_AGAIN;
    channel->failure = errno;
    return HW_CHANNEL_BROKEN;
}

/* Wakes the peer by a byte. A full socket has woken it already, and a broken one is found on reading. */
static void wake_peer(hw_net_channel *channel)
{
    (void)!send(channel->fd, "!", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t read_shared(hw_net_channel *channel, const struct iovec *pieces, int count)
{
    hw_shared_ring *in = &channel->shared->in;
    bool wakeup = false;
    ssize_t moved = hw_ring_read(in, pieces, count, &wakeup);
    if (wakeup)
        wake_peer(channel);
    if (moved > 0)
        return moved;
    if (moved == 0 && !in->ended)
        return HW_CHANNEL_AGAIN;
    if (moved == 0 && channel->failure == 0)
        return HW_CHANNEL_END;
    if (moved != 0)
        channel->failure = EBADMSG;
    return HW_CHANNEL_BROKEN;
}

/* Writes in slices, so that both ends copy at the same time. */
static ssize_t write_shared(hw_net_channel *channel, const struct iovec *pieces, int count)
{
    ssize_t moved = 1, all = 0;
    for (int i = 0; i < count && moved > 0; i++)
        for (size_t done = 0; done < pieces[i].iov_len && moved > 0; done += (size_t)moved) {
            size_t left = pieces[i].iov_len - done;
            struct iovec slice = {(char *)pieces[i].iov_base + done, left < SLICE ? left : SLICE};
            bool wakeup = false;
            moved = hw_ring_write(&channel->shared->out, &slice, 1, &wakeup);
            if (wakeup)
                wake_peer(channel);
            all += moved > 0 ? moved : 0;
        }
    if (all > 0)
        return all;
    if (moved == 0)
        return HW_CHANNEL_AGAIN;
    channel->failure = EBADMSG;
    return HW_CHANNEL_BROKEN;
}

static ssize_t write_socket(hw_net_channel *channel, const struct iovec *pieces, int count)
{
    struct iovec part[PIECES_MOST];
    size_t left = WRITE_MOST;
    int taken = 0;
    for (; taken < count && taken < PIECES_MOST && left > 0; taken++) {
        part[taken] = pieces[taken];
        if (part[taken].iov_len > left)
            part[taken].iov_len = left;
        left -= part[taken].iov_len;
    }
    struct msghdr message = {.msg_iov = part, .msg_iovlen = (size_t)taken};
    return outcome(channel, sendmsg(channel->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT));
}

static ssize_t endpoint_outcome(hw_net_channel *channel, ssize_t moved)
{
    if (moved > 0)
        return moved;
    if (moved == 0)
        return HW_CHANNEL_AGAIN;
    channel->failure = ENOLINK;
    return HW_CHANNEL_BROKEN;
}

bool hw_channel_listen(hw_net_channel *channel)
{
    char wakeups[64];
    if (channel->shared->in.ended)
        return false;
    ssize_t moved = outcome(channel, recv(channel->fd, wakeups, sizeof wakeups, MSG_DONTWAIT));
    if (moved == HW_CHANNEL_END || moved == HW_CHANNEL_BROKEN)
        hw_ring_end(&channel->shared->in);
    return moved > 0;
}

ssize_t hw_channel_read(hw_net_channel *channel, const struct iovec *pieces, int count)
{
    if (channel->shared != NULL)
        return read_shared(channel, pieces, count);
    if (channel->endpoint != NULL)
        return endpoint_outcome(channel, hw_fabric_read(channel->endpoint, pieces, count));
    if (channel->tls != NULL)
        return hw_tls_read(channel->tls, pieces[0].iov_base, pieces[0].iov_len, &channel->failure);
    return outcome(channel, readv(channel->fd, pieces, count));
}

ssize_t hw_channel_write(hw_net_channel *channel, const struct iovec *pieces, int count)
{
    if (channel->shared != NULL && channel->handshake_left == 0)
        return write_shared(channel, pieces, count);
    if (channel->endpoint != NULL && channel->handshake_left == 0)
        return endpoint_outcome(channel, hw_fabric_write(channel->endpoint, pieces, count));
    if (channel->tls != NULL)
        return hw_tls_write(channel->tls, pieces[0].iov_base, pieces[0].iov_len, &channel->failure);
    ssize_t moved = write_socket(channel, pieces, count);
    if (moved > 0 && channel->handshake_left > 0) /* a write of its own, so that no other piece follows */
        channel->handshake_left -= (size_t)moved;
    return moved == 0 ? HW_CHANNEL_AGAIN : moved;
}

bool hw_channel_pending(hw_net_channel *channel)
{
    return channel->tls != NULL && hw_tls_pending(channel->tls);
}

int64_t hw_channel_unread(const hw_net_channel *channel)
{
    int waiting = 0;
    if (channel->shared != NULL)
        return (int64_t)hw_ring_unread(&channel->shared->out);
    return ioctl(channel->fd, SIOCOUTQ, &waiting) == 0 ? waiting : 0;
}

const char *hw_channel_trouble(const hw_net_channel *channel, char *text, size_t size)
{
    int failure = atomic_load(&channel->failure);
    if (failure == ECONNRESET || failure == EPIPE)
        return "its connection was reset";
    if (failure == ENOLINK)
        return "its connection by UCX was lost";
    if (failure == EBADMSG)
        return "the contents of the memory shared with it are invalid";
    if (failure == 0)
        return "it sent data that are not encrypted with the job's key";
    char buffer[128];
    int written = snprintf(text, size, "its connection failed: %s", strerror_r(failure, buffer, sizeof buffer));
    return written < 0 ? "its connection failed" : text;
}

void hw_channel_close(hw_net_channel *channel)
{
    hw_tls_free(channel->tls);
    channel->tls = NULL;
    hw_shared_free(channel->shared);
    channel->shared = NULL;
    hw_fabric_close(channel->endpoint);
    channel->endpoint = NULL;
    if (channel->fd >= 0)
        close(channel->fd);
    channel->fd = -1;
}
