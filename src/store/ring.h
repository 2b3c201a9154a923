/*
 * ring.h - which server has which keys of a sparse table: consistent hashing (Li et al. 2014; Karger et al. 1997).
 *
 * Every server stands on a circle of 2^64 positions at several points of its own ("virtual nodes"), which follow from its name alone. The
 * arc from a point up to the next belongs to the server whose point that is; a server that comes or goes moves no keys but its own.
 *
 * A sparse table's keys lie where hw_mix puts them, because they may crowd anywhere in 2^64. Dense tables are cut without a ring (arcs.h).
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

enum { HW_RING_POINTS = 64 }; /* of a server: with 64 the largest share of ten servers is some 1.3 times the mean */

/* A ring of servers 0..count-1; names[i], distinct, says where server i stands. count > 0. */
hawser_status hw_ring_new(const uint64_t *names, uint32_t count, uint32_t points, hw_ring *ring,
                          hawser_error *error) HAWSER_MUST_USE;
void hw_ring_free(hw_ring *ring);

/* The server of a sparse table's key. */
uint32_t hw_ring_of_key(const hw_ring *ring, uint64_t key);

#endif
