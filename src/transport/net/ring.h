/*
 * ring.h - a pipe of bytes in memory that two processes share. One process writes, the other reads, and no call blocks.
 *
 * A ring has two counts, of bytes written and of bytes read; each is stored by one side only. A side keeps its own count in
 * its own memory and checks the other's before use. So whatever the shared memory contains, no access is outside the ring,
 * and no count exceeds the ring's size. Data are copied out of the ring before they are parsed.
 *
 * An idle side requests a wakeup and checks the ring once more before it sleeps. The next call of the other side reports the
 * request, once; the caller sends the wakeup. Counts and requests are stored and loaded in one sequentially consistent
 * order: the other side sees the request, or the idle side sees the data, so no wakeup is lost.
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
    HW_RING_DAMAGED = -2 /* returned by reads and writes if the other side's count is impossible */
};

/* In shared memory; all zero at first. Each field has a line of its own: what one side stores often the other reads
 * often. */
typedef struct hw_ring_control {
    _Alignas(HW_RING_LINE) atomic_uint_fast64_t written;
    _Alignas(HW_RING_LINE) atomic_uint_fast64_t read;
    _Alignas(HW_RING_LINE) atomic_uint reader_asks;    /* the reader requests a wakeup when there is something to read */
    _Alignas(HW_RING_LINE) atomic_uint writer_asks;    /* the writer requests a wakeup when there is space again */
    _Alignas(HW_RING_LINE) atomic_uint_fast64_t alive; /* the writer's clock at its last heartbeat, in nanoseconds */
} hw_ring_control;

/* The state of one side, in its own memory. Reading and writing are for one thread at a time, hw_ring_writable for any. */
typedef struct hw_shared_ring {
    hw_ring_control *control;
    unsigned char *bytes;
    size_t size;
    atomic_uint_fast64_t own; /* the count of this side */
    bool ended;               /* reader only: nothing after `last` counts */
    uint64_t last;
} hw_shared_ring;

/* Returns the bytes moved, 0 if the ring is full or empty, or HW_RING_DAMAGED. Sets *wakeup if the caller must wake the
 * other side. */
ssize_t hw_ring_write(hw_shared_ring *ring, const struct iovec *pieces, int count, bool *wakeup);
ssize_t hw_ring_read(hw_shared_ring *ring, const struct iovec *pieces, int count, bool *wakeup);

/* For the reader: returns whether there is data. Damage counts as data, and the read will find it. */
bool hw_ring_readable(const hw_shared_ring *ring);
/* For the writer: returns whether there is enough space to continue. Damage counts as space. */
bool hw_ring_writable(const hw_shared_ring *ring);
/* For the writer: returns the bytes that have not been read, at most the ring's size. */
size_t hw_ring_unread(const hw_shared_ring *ring);

/* For the reader: the writer is gone, and only what is in the ring now will be read. */
void hw_ring_end(hw_shared_ring *ring);

/* Requests a wakeup. The caller checks (readable, writable) once more before it sleeps. */
void hw_ring_ask_reader(hw_shared_ring *ring);
void hw_ring_ask_writer(hw_shared_ring *ring);
/* Withdraws the reader's request. */
void hw_ring_unask_reader(hw_shared_ring *ring);

#endif
