/* transport_ring.h - two processes that copy through memory: one writes a ring, the other reads it, and both poll. It
 * has no framing, no sleep and no checks. bench_transport compares shared memory with it. */
#ifndef BENCH_TRANSPORT_RING_H
#define BENCH_TRANSPORT_RING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/thread.h"

enum { BARE_RING = 512 << 10, BARE_SLICE = 32 << 10 };

typedef struct bare_ring {
    _Alignas(128) atomic_uint_fast64_t written;
    _Alignas(128) atomic_uint_fast64_t read;
    _Alignas(128) unsigned char bytes[BARE_RING];
} bare_ring;

/* Makes a ring, before the fork. Returns NULL if there is no memory. */
static bare_ring *bare_ring_new(void)
{
    void *made = mmap(NULL, sizeof(bare_ring), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return made == MAP_FAILED ? NULL : made;
}

/* Copies the same `size` bytes in or out, `count` times. */
static void bare_ring_move(bare_ring *ring, unsigned char *bytes, size_t size, uint64_t count, bool in)
{
    uint64_t at = atomic_load(in ? &ring->written : &ring->read);
    for (uint64_t i = 0; i < count; i++)
        for (size_t done = 0, part; done < size; done += part, at += part) {
            size_t place = (size_t)(at % BARE_RING), left = size - done;
            part = left < BARE_SLICE ? left : BARE_SLICE;
            part = part < BARE_RING - place ? part : BARE_RING - place;
            if (in) {
                while (BARE_RING - (at - atomic_load_explicit(&ring->read, memory_order_acquire)) < part)
                    hw_thread_pause();
                memcpy(ring->bytes + place, bytes + done, part);
                atomic_store_explicit(&ring->written, at + part, memory_order_release);
            } else {
                while (atomic_load_explicit(&ring->written, memory_order_acquire) - at < part)
                    hw_thread_pause();
                memcpy(bytes + done, ring->bytes + place, part);
                atomic_store_explicit(&ring->read, at + part, memory_order_release);
            }
        }
}

#endif
