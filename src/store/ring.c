#include "store/ring.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/random.h"

typedef struct point {
    uint64_t position;
    uint32_t server;
} point;

/* Points at one position, however unlikely, are ordered by their servers, so that all nodes agree. */
static int compare_points(const void *a, const void *b)
{
    const point *x = a, *y = b;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return (x->server > y->server) - (x->server < y->server);
}

hawser_status hw_ring_new(const uint64_t *names, uint32_t count, uint32_t points, hw_ring *ring, hawser_error *error)
{
    *ring = (hw_ring){0};
    size_t all = (size_t)count * points;
    point *found = NULL;
    hawser_status status = HW_NEW(&found, all, "a ring of servers", error);
    HAWSER_THEN(status, HW_NEW(&ring->points, all, "a ring of servers", error));
    HAWSER_THEN(status, HW_NEW(&ring->servers, all, "a ring of servers", error));
    if (status != HAWSER_OK) {
        free(found);
        hw_ring_free(ring);
        return status;
    }
    for (uint32_t s = 0; s < count; s++)
        for (uint32_t k = 0; k < points; k++)
            found[(size_t)s * points + k] = (point){hw_mix(hw_mix(names[s]) ^ k), s};
    qsort(found, all, sizeof *found, compare_points);
    for (size_t i = 0; i < all; i++) {
        if (i > 0 && found[i].position == found[i - 1].position)
            continue;
        ring->points[ring->count] = found[i].position;
        ring->servers[ring->count++] = found[i].server;
    }
    free(found);
    return HAWSER_OK;
}

void hw_ring_free(hw_ring *ring)
{
    free(ring->points);
    free(ring->servers);
    *ring = (hw_ring){0};
}

/* Returns the number of points at or before a position. */
static size_t points_before(const hw_ring *ring, uint64_t position)
{
    size_t low = 0, high = ring->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ring->points[middle] <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t hw_ring_of_key(const hw_ring *ring, uint64_t key)
{
    size_t before = points_before(ring, hw_mix(key));
    return ring->servers[before > 0 ? before - 1 : ring->count - 1]; /* the last arc continues past zero */
}
