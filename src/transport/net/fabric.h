/*
 * fabric.h - UCX: a pipe of bytes between two nodes over what the network card or the memory of the host can do.
 *
 * The library is loaded when somebody asks for it and not before; no process that does not ask has any part of it. A net has one fabric
 * and each of its links that goes by it one endpoint. The socket over which the nodes have shaken hands stays: its end is the
 * end of the link, since UCX alone sees neither a killed peer nor a cut line. It encrypts nothing.
 *
 * All of it belongs to one thread at a time, the net's, but for new, address and fd, which come before, and free, which comes after.
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

/* trusted: every way there is, RDMA and plain TCP too; else memory of this host alone. HAWSER_IO: this build or this system has no UCX, or
 * it finds no way. */
hawser_status hw_fabric_new(bool trusted, hw_fabric **fabric, hawser_error *error) HAWSER_MUST_USE;
void hw_fabric_free(hw_fabric *fabric); /* and its endpoints; NULL is allowed */
/* What the other side opens an endpoint to; at most HW_FABRIC_ADDRESS bytes. */
const void *hw_fabric_address(const hw_fabric *fabric, size_t *length);
/* For epoll: readable when there is something to do. */
int hw_fabric_fd(const hw_fabric *fabric);
/* Does what there is to do. True: there was something. */
bool hw_fabric_progress(hw_fabric *fabric);
/* Before a sleep. False: there is something to do first. */
bool hw_fabric_arm(hw_fabric *fabric);

/* To the fabric that has this address. */
hawser_status hw_fabric_open(hw_fabric *fabric, const void *address, hw_fabric_endpoint **endpoint,
                             hawser_error *error) HAWSER_MUST_USE;
void hw_fabric_close(hw_fabric_endpoint *endpoint); /* what is under way is dropped; NULL is allowed */
/* Bytes moved; 0: no room, or nothing there; HW_FABRIC_BROKEN. What is written is copied. */
ssize_t hw_fabric_write(hw_fabric_endpoint *endpoint, const struct iovec *pieces, int count);
ssize_t hw_fabric_read(hw_fabric_endpoint *endpoint, const struct iovec *pieces, int count);
/* There is something to read, if only that the endpoint is broken. */
bool hw_fabric_readable(hw_fabric_endpoint *endpoint);
/* There is enough room that it is worth going on. */
bool hw_fabric_writable(const hw_fabric_endpoint *endpoint);

#endif
