/* channel.h - a connected socket, encrypted or not, or memory that its two ends share: reads and writes that never block and never raise
 * a signal. */
#ifndef HW_TRANSPORT_NET_CHANNEL_H
#define HW_TRANSPORT_NET_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "transport/net/moved.h"

typedef struct hw_shared hw_shared;
typedef struct hw_fabric_endpoint hw_fabric_endpoint;

typedef struct hw_net_channel {
    int fd;                       /* non-blocking; -1: closed */
    atomic_int failure;           /* errno, or 0 where TLS found it wrong; set with HW_CHANNEL_BROKEN */
    struct hw_tls *tls;           /* NULL: in clear */
    hw_shared *shared;            /* NULL: all goes by the socket */
    hw_fabric_endpoint *endpoint; /* by UCX; the net's thread's alone */
    size_t handshake_left;        /* bytes that still go by the socket, before what goes by memory or endpoint */
} hw_net_channel;

/* Bytes moved, or a result of moved.h. One thread may read while another writes. */
ssize_t hw_channel_read(hw_net_channel *channel, const struct iovec *pieces, int count);
ssize_t hw_channel_write(hw_net_channel *channel, const struct iovec *pieces, int count);
/* Decrypted bytes wait here that epoll does not know of. */
bool hw_channel_pending(hw_net_channel *channel);
/* Of one with memory: what the socket has to say, which is that there is something in memory, or that the other end is closed. True: it
 * said something, if only that somebody lives there. */
bool hw_channel_listen(hw_net_channel *channel);
/* Bytes written here that have not arrived at the other end, as far as can be told. */
int64_t hw_channel_unread(const hw_net_channel *channel);
/* A clause for people: what `failure` means. */
const char *hw_channel_trouble(const hw_net_channel *channel, char *text, size_t size);
void hw_channel_close(hw_net_channel *channel);

#endif
