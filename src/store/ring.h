/*
 * ring.h - the server of each key of a sparse table: consistent hashing (Li et al. 2014; Karger et al. 1997).
 *
 * Every server has several points ("virtual nodes") on a circle of 2^64 positions, which depend on its name only. The arc
 * from a point to the next belongs to the server of that point, so a server that comes or goes moves no keys but its own.
 * The position of a key is hw_mix of it, because keys may crowd anywhere in 2^64. Dense tables are cut without a ring
 * (arcs.h).
 */
#ifndef HW_STORE_RING_H
#define HW_STORE_RING_H

#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

typedef struct hw_ring {
    uint64_t *points; /* ascending, no two equal */
    uint32_t *servers;
    size_t count;
} hw_ring;

enum { HW_RING_POINTS = 64 }; /* per server: with 64 the largest share of ten servers is about 1.3 times the mean */

/* Makes a ring of servers 0..count-1, count > 0; names[i], all distinct, determines the points of server i. */
hawser_status hw_ring_new(const uint64_t *names, uint32_t count, uint32_t points, hw_ring *ring,
                          hawser_error *error) HAWSER_MUST_USE;
void hw_ring_free(hw_ring *ring);

/* Returns the server of a sparse table's key. */
uint32_t hw_ring_of_key(const hw_ring *ring, uint64_t key);

#endif
