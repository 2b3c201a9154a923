/*
 * fabric.h - UCX: a pipe of bytes between two nodes over the network card or the memory of the host.
 *
 * The library is loaded only on request; other processes have no part of it. A net has one fabric, and each of its links by
 * UCX has one endpoint. The socket over which the nodes have shaken hands stays: its end is the end of the link, because UCX
 * alone detects neither a killed peer nor a cut line. UCX does not encrypt.
 *
 * For one thread at a time: the net's, except for new, address and fd, which are called before that thread starts, and free,
 * which is called after it ends.
 */
#ifndef HW_TRANSPORT_NET_FABRIC_H
#define HW_TRANSPORT_NET_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "hawser/status.h"

enum { HW_FABRIC_ADDRESS = 1000, HW_FABRIC_BROKEN = -2 };

typedef struct hw_fabric hw_fabric;
typedef struct hw_fabric_endpoint hw_fabric_endpoint;

/* Loads UCX. If trusted, it may use all transports, RDMA and plain TCP too; otherwise only memory of this host. Returns
 * HAWSER_IO if this build or this system has no UCX, or UCX finds no transport. */
hawser_status hw_fabric_new(bool trusted, hw_fabric **fabric, hawser_error *error) HAWSER_MUST_USE;
void hw_fabric_free(hw_fabric *fabric); /* frees the endpoints too; NULL is allowed */
/* Returns the address to which the other side opens an endpoint; at most HW_FABRIC_ADDRESS bytes. */
const void *hw_fabric_address(const hw_fabric *fabric, size_t *length);
/* Returns a descriptor for epoll, readable when there is work. */
int hw_fabric_fd(const hw_fabric *fabric);
/* Makes progress. Returns true if there was any. */
bool hw_fabric_progress(hw_fabric *fabric);
/* Arms the descriptor before a sleep. Returns false if there is work first. */
bool hw_fabric_arm(hw_fabric *fabric);

/* Opens an endpoint to the fabric with this address. */
hawser_status hw_fabric_open(hw_fabric *fabric, const void *address, hw_fabric_endpoint **endpoint,
                             hawser_error *error) HAWSER_MUST_USE;
void hw_fabric_close(hw_fabric_endpoint *endpoint); /* drops the data in flight; NULL is allowed */
/* Return the number of bytes moved, 0 if there is no space or no data, or HW_FABRIC_BROKEN. Written bytes are copied. */
ssize_t hw_fabric_write(hw_fabric_endpoint *endpoint, const struct iovec *pieces, int count);
ssize_t hw_fabric_read(hw_fabric_endpoint *endpoint, const struct iovec *pieces, int count);
/* Returns whether there is something to read, or the endpoint is broken. */
bool hw_fabric_readable(hw_fabric_endpoint *endpoint);
/* Returns whether there is enough space to continue writing. */
bool hw_fabric_writable(const hw_fabric_endpoint *endpoint);

#endif
