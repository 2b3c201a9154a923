/*
 * ring.h - a pipe of bytes in memory that two processes share: one writes, the other reads, neither ever waits.
 *
 * A ring has two indices, counts of bytes ever written and ever read, each stored by one side alone. A side believes its own count, which
 * it keeps in its own memory, and checks the other's before use: whatever stands in the shared memory, nothing is touched outside the
 * ring, and no more than the ring's size is taken for there. What is read is copied out before anybody looks at it.
 *
 * Who finds nothing to do asks for a bell and looks once more before it sleeps; the other side's next call says that it is to be rung,
 * once. How is not the ring's business. Counts and requests are stored and loaded in one order that both sides agree on (sequentially
 * consistent), so that either the request is seen or what it waits for: no wake is lost.
 */
#ifndef HW_TRANSPORT_NET_RING_H
#define HW_TRANSPORT_NET_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
    HW_RING_LINE = 128,      /* two cache lines, since processors fetch them in pairs */
    HW_RING_LEAST = 4 << 10, /* bytes of a ring: a power of two */
    HW_RING_MOST = 64 << 20,
    HW_RING_DAMAGED = -2 /* what reading and writing say when the other's count cannot be */
};

/* In shared memory; all zero at first. Each field has a line of its own: what one side stores often the other reads often. */
typedef struct hw_ring_control {
    _Alignas(HW_RING_LINE) atomic_uint_fast64_t written;
    _Alignas(HW_RING_LINE) atomic_uint_fast64_t read;
    _Alignas(HW_RING_LINE) atomic_uint reader_asks; /* for a bell, when there is something to read */
    _Alignas(HW_RING_LINE) atomic_uint writer_asks; /* when there is room again */
    _Alignas(HW_RING_LINE)
        atomic_uint_fast64_t alive; /* the writer's clock when it last said that it lives, in nanoseconds */
} hw_ring_control;

/* One side's own view, in its own memory. Reading and writing are for one thread at a time, hw_ring_roomy for any. */
typedef struct hw_ring {
    hw_ring_control *control;
    unsigned char *bytes;
    size_t size;
    atomic_uint_fast64_t own; /* the count that is this side's */
    bool ended;               /* the reader's: nothing beyond `last` counts */
    uint64_t last;
} hw_ring;

/* Bytes moved, 0 where there is no room or nothing, HW_RING_DAMAGED. *bell: the other side is to be rung. */
ssize_t hw_ring_write(hw_ring *ring, const struct iovec *pieces, int count, bool *bell);
ssize_t hw_ring_read(hw_ring *ring, const struct iovec *pieces, int count, bool *bell);

/* The reader's: is there anything? Damage counts as something: who reads will find it. */
bool hw_ring_readable(const hw_ring *ring);
/* The writer's: is there so much room that it is worth going on? Damage counts as room. */
bool hw_ring_roomy(const hw_ring *ring);
/* The writer's: bytes that have not been read; at most the ring's size. */
size_t hw_ring_unread(const hw_ring *ring);

/* The reader's: the writer is gone, and what is there now is all that will be read. */
void hw_ring_end(hw_ring *ring);

/* Asks for a bell. Look (readable, roomy) once more before sleeping. */
void hw_ring_ask_reader(hw_ring *ring);
void hw_ring_ask_writer(hw_ring *ring);
/* The reader is awake and needs none. */
void hw_ring_unask_reader(hw_ring *ring);

#endif
