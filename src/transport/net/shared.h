/*
 * shared.h - two nodes of one host connected by memory: a ring each way in one mapping, beside the socket over which they have shaken hands.
 *
 * The bytes of the link go through the rings, as they would through the socket. The socket stays: its end is the end of the link, and a
 * byte over it is a wakeup. docs/wire.md has the layout.
 */
#ifndef HW_TRANSPORT_NET_SHARED_H
#define HW_TRANSPORT_NET_SHARED_H

#include "transport/net/mapping.h"
#include "transport/net/ring.h"

enum {
    HW_SHARED_RING = 512 << 10 /* bytes each way, where nobody says otherwise: with what is sent it fits a core's cache */
};

typedef struct hw_shared {
    hw_mapping mapping;
    hw_shared_ring in, out;
    bool asked;                 /* the reader has requested a wakeup and not received it yet */
    atomic_bool waits;          /* the writer, for room */
    uint32_t unlooked, penalty; /* the writer's: looks for room that it leaves out; how many, when the next is in vain */
    uint64_t alive;             /* the reader's: the last sign of life that it has seen */
} hw_shared;

/* Makes both rings, of `size` bytes each (a power of two, HW_RING_LEAST..MOST); for the one who dials. *fd is the caller's, to be handed
 * to the other side. As hw_mapping_new. */
hawser_status hw_shared_new(size_t size, hw_shared **shared, int *fd, hawser_error *error) HAWSER_MUST_USE;
/* The other side of what came; fd stays the caller's. HAWSER_BAD_INPUT: it is not that. */
hawser_status hw_shared_open(int fd, hw_shared **shared, hawser_error *error) HAWSER_MUST_USE;
void hw_shared_free(hw_shared *shared); /* NULL is allowed */

/* There is something to read, or room for which a writer waits. */
bool hw_shared_presses(const hw_shared *shared);
/* The writer found no room. True: having looked on for a little there is some, for a sleep and a wake cost more. A look in vain makes the next
 * ones rarer. */
bool hw_shared_poll_space(hw_shared *shared);
/* The writer found no room and will not look again unless told. True: there is some by now, nobody will be told. */
bool hw_shared_await_space(hw_shared *shared);
/* Requests a wakeup before the reader sleeps, after which the reader checks the ring once more; withdraws the request. */
void hw_shared_arm(hw_shared *shared);
void hw_shared_disarm(hw_shared *shared);

/* A sign of life that wakes nobody: the other side sees it when it looks. */
void hw_shared_breathe(hw_shared *shared, double now);
/* Is there a new one since this was last asked? *said: by the other side's clock, whose zero may be another one. */
bool hw_shared_lives(hw_shared *shared, double *said);

#endif
