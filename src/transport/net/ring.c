#include "transport/net/ring.h"

#include <string.h>

_Static_assert(sizeof(hw_ring_control) == 5 * HW_RING_LINE, "the layout is part of the protocol between processes");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2,
               "the atomics must be lock-free, because a lock does not work between processes");

enum {
    PUBLISH = 32 << 10, /* bytes after which the other side is notified, so that both copy at the same time */
    WRITABLE = 4        /* 1/WRITABLE of the ring must be free before a writer that found no space continues */
};

/* Returns whether the other side has requested a wakeup, once per request. The own count was stored before, in the
 * sequentially consistent order. */
static bool asked(atomic_uint *asks)
{
    return atomic_load(asks) != 0 && atomic_exchange(asks, 0) != 0;
}

static uint64_t space_of(const hw_shared_ring *ring)
{
    uint64_t own = atomic_load_explicit(&ring->own, memory_order_relaxed);
    return ring->size - (own - atomic_load(&ring->control->read)); /* larger than size: damaged */
}

static uint64_t there_is(const hw_shared_ring *ring)
{
    uint64_t own = atomic_load_explicit(&ring->own, memory_order_relaxed);
    return (ring->ended ? ring->last : atomic_load(&ring->control->written)) - own;
}

/* Copies `size` bytes at count `at`, around the end of the ring if necessary. */
static void copy(const hw_shared_ring *ring, uint64_t at, unsigned char *bytes, size_t size, bool in)
{
    size_t place = (size_t)at & (ring->size - 1), first = ring->size - place < size ? ring->size - place : size;
    if (in) {
        memcpy(ring->bytes + place, bytes, first);
        memcpy(ring->bytes, bytes + first, size - first);
    } else {
        memcpy(bytes, ring->bytes + place, first);
        memcpy(bytes + first, ring->bytes, size - first);
    }
}

typedef struct side {
    bool writes;
    atomic_uint_fast64_t *count; /* in shared memory */
    atomic_uint *other_asks;
} side;

/* Moves what fits into `most`, and publishes the count from time to time. */
static ssize_t move(hw_shared_ring *ring, side self, const struct iovec *pieces, int count, uint64_t most, bool *wakeup)
{
    uint64_t start = atomic_load_explicit(&ring->own, memory_order_relaxed), at = start, published = start;
    for (int i = 0; i < count && most > 0; i++)
        for (size_t done = 0; done < pieces[i].iov_len && most > 0;) {
            size_t size = pieces[i].iov_len - done;
            size = size < most ? size : (size_t)most;
            size = size < PUBLISH ? size : PUBLISH;
            copy(ring, at, (unsigned char *)pieces[i].iov_base + done, size, self.writes);
            at += size;
            done += size;
            most -= size;
            if (at - published >= PUBLISH) {
                atomic_store_explicit(self.count, at, memory_order_release);
                published = at;
            }
        }
    if (at != start) {
        atomic_store_explicit(&ring->own, at, memory_order_relaxed);
        atomic_store(self.count, at);
        /* A writer that requested a wakeup gets it when a quarter is free or all has been read, not for a few bytes. */
        if (self.writes || there_is(ring) <= ring->size - ring->size / WRITABLE)
            *wakeup = asked(self.other_asks);
    }
    return (ssize_t)(at - start);
}

ssize_t hw_ring_write(hw_shared_ring *ring, const struct iovec *pieces, int count, bool *wakeup)
{
    uint64_t space = space_of(ring);
    *wakeup = false;
    if (space > ring->size)
        return HW_RING_DAMAGED;
    return move(ring, (side){true, &ring->control->written, &ring->control->reader_asks}, pieces, count, space, wakeup);
}

ssize_t hw_ring_read(hw_shared_ring *ring, const struct iovec *pieces, int count, bool *wakeup)
{
    uint64_t there = there_is(ring);
    *wakeup = false;
    if (there > ring->size)
        return HW_RING_DAMAGED;
    return move(ring, (side){false, &ring->control->read, &ring->control->writer_asks}, pieces, count, there, wakeup);
}

bool hw_ring_readable(const hw_shared_ring *ring)
{
    return there_is(ring) != 0;
}

bool hw_ring_writable(const hw_shared_ring *ring)
{
    return space_of(ring) >= ring->size / WRITABLE;
}

size_t hw_ring_unread(const hw_shared_ring *ring)
{
    uint64_t space = space_of(ring);
    return space > ring->size ? 0 : ring->size - (size_t)space;
}

void hw_ring_end(hw_shared_ring *ring)
{
    ring->last = atomic_load(&ring->control->written);
    ring->ended = true;
}

void hw_ring_ask_reader(hw_shared_ring *ring)
{
    atomic_store(&ring->control->reader_asks, 1);
}

void hw_ring_unask_reader(hw_shared_ring *ring)
{
    atomic_store_explicit(&ring->control->reader_asks, 0, memory_order_relaxed);
}

void hw_ring_ask_writer(hw_shared_ring *ring)
{
    atomic_store(&ring->control->writer_asks, 1);
}
