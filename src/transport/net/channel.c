#include "transport/net/channel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/net/tls.h"

static ssize_t outcome(hw_channel *channel, ssize_t moved)
{
    if (moved >= 0)
        return moved;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
        return HW_CHANNEL_AGAIN;
    channel->failure = errno;
    return HW_CHANNEL_BROKEN;
}

ssize_t hw_channel_read(hw_channel *channel, const struct iovec *pieces, int count)
{
    if (channel->tls != NULL)
        return hw_tls_read(channel, pieces[0].iov_base, pieces[0].iov_len);
    return outcome(channel, readv(channel->fd, pieces, count));
}

ssize_t hw_channel_write(hw_channel *channel, const struct iovec *pieces, int count)
{
    if (channel->tls != NULL)
        return hw_tls_write(channel, pieces[0].iov_base, pieces[0].iov_len);
    struct msghdr message = {.msg_iov = (struct iovec *)(size_t)pieces, .msg_iovlen = (size_t)count};
    ssize_t moved = outcome(channel, sendmsg(channel->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT));
    return moved == 0 ? HW_CHANNEL_AGAIN : moved;
}

bool hw_channel_pending(hw_channel *channel)
{
    return channel->tls != NULL && hw_tls_pending(channel->tls);
}

const char *hw_channel_trouble(const hw_channel *channel, char *text, size_t size)
{
    int failure = atomic_load(&channel->failure);
    if (failure == ECONNRESET || failure == EPIPE)
        return "its connection was reset";
    if (failure == 0)
        return "what it sent was not encrypted by the job's key";
    char buffer[128];
    int written = snprintf(text, size, "its connection failed: %s", strerror_r(failure, buffer, sizeof buffer));
    return written < 0 ? "its connection failed" : text;
}

void hw_channel_close(hw_channel *channel)
{
    hw_tls_free(channel->tls);
    channel->tls = NULL;
    if (channel->fd >= 0)
        close(channel->fd);
    channel->fd = -1;
}
