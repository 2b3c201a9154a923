/* channel.h - a connected socket, encrypted or not, or memory that its two ends share: reads and writes that never block and
 * never raise a signal. */
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
    atomic_int failure;           /* errno, or 0 if TLS found the error; set with HW_CHANNEL_BROKEN */
    struct hw_tls *tls;           /* NULL: not encrypted */
    hw_shared *shared;            /* NULL: all bytes use the socket */
    hw_fabric_endpoint *endpoint; /* set if the link uses UCX; net thread only */
    size_t handshake_left;        /* bytes that still use the socket, before those that use memory or the endpoint */
} hw_net_channel;

/* Return the number of bytes moved, or a result of moved.h. One thread may read while another writes. */
ssize_t hw_channel_read(hw_net_channel *channel, const struct iovec *pieces, int count);
ssize_t hw_channel_write(hw_net_channel *channel, const struct iovec *pieces, int count);
/* Returns whether decrypted bytes wait here, of which epoll gives no notice. */
bool hw_channel_pending(hw_net_channel *channel);
/* Reads the socket of a link with shared memory: a wakeup, or the end. Returns true if anything was received, which counts
 * as a heartbeat. */
bool hw_channel_listen(hw_net_channel *channel);
/* Returns an estimate of the bytes written here that have not arrived at the other end. */
int64_t hw_channel_unread(const hw_net_channel *channel);
/* Describes `failure` in a clause for messages. */
const char *hw_channel_trouble(const hw_net_channel *channel, char *text, size_t size);
void hw_channel_close(hw_net_channel *channel);

#endif
