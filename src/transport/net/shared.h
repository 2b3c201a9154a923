/*
 * shared.h - a link of two nodes of one host by memory: two rings, one per direction, in one mapping, beside the socket over
 * which they have shaken hands.
 *
 * The bytes of the link use the rings as they would use the socket. The socket stays: its end is the end of the link, and a
 * byte on it is a wakeup. docs/wire.md has the layout.
 */
#ifndef HW_TRANSPORT_NET_SHARED_H
#define HW_TRANSPORT_NET_SHARED_H

#include "transport/net/mapping.h"
#include "transport/net/ring.h"

enum {
    HW_SHARED_RING = 512 << 10 /* default bytes per direction; with the sent data they fit a core's cache */
};

typedef struct hw_shared {
    hw_mapping mapping;
    hw_shared_ring in, out;
    bool asked;        /* the reader has requested a wakeup and not received it yet */
    atomic_bool waits; /* the writer waits for space */
    /* writer only: polls for space to leave out; how many more after the next unsuccessful one */
    uint32_t unlooked, penalty;
    uint64_t alive; /* reader only: the last heartbeat that it has read */
} hw_shared;

/* Makes both rings of `size` bytes each (a power of two, HW_RING_LEAST..MOST); for the dialler. The caller passes *fd to the
 * other side and closes it. Returns errors like hw_mapping_new. */
hawser_status hw_shared_new(size_t size, hw_shared **shared, int *fd, hawser_error *error) HAWSER_MUST_USE;
/* Opens the other side of a received descriptor, which the caller keeps. Returns HAWSER_BAD_INPUT if it is not such
 * memory. */
hawser_status hw_shared_open(int fd, hw_shared **shared, hawser_error *error) HAWSER_MUST_USE;
void hw_shared_free(hw_shared *shared); /* NULL is allowed */

/* Returns whether there is something to read, or space for which a writer waits. */
bool hw_shared_presses(const hw_shared *shared);
/* Polls for space when the writer found none, because a sleep and a wakeup cost more. Returns true if there is some now.
 * Unsuccessful polls make later ones rarer. */
bool hw_shared_poll_space(hw_shared *shared);
/* Requests a wakeup when the writer found no space and will not check again by itself. Returns true if there is space by
 * now; then no wakeup will be sent. */
bool hw_shared_await_space(hw_shared *shared);
/* Requests a wakeup before the reader sleeps, after which the reader checks the ring once more; withdraws the request. */
void hw_shared_arm(hw_shared *shared);
void hw_shared_disarm(hw_shared *shared);

/* Sends a heartbeat without a wakeup: the other side reads it at its next check. */
void hw_shared_send_heartbeat(hw_shared *shared, double now);
/* Returns whether there is a new heartbeat since the last call. *said is its time by the other side's clock, which may have
 * another zero. */
bool hw_shared_receive_heartbeat(hw_shared *shared, double *said);

#endif
