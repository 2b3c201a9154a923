/*
 * places.h - how far each of many places has come, as runs of places that have come equally far: memory goes by what records have said, not by how
 * many places there might be.
 */
#ifndef HW_HISTORY_PLACES_H
#define HW_HISTORY_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

/* Clocks that are in, and the next part of the one that is not. */
typedef struct hw_reach {
    uint64_t done;
    uint32_t part;
} hw_reach;

/* From `begin` to the next run's. */
typedef struct hw_reached {
    uint64_t begin;
    hw_reach reach;
} hw_reached;

/* Set to zero: all have come nowhere. */
typedef struct hw_places {
    hw_reached *runs;
    size_t count, capacity;
    size_t near; /* the run that was asked for last: the next is likely to be asked for next */
} hw_places;

hw_reach hw_places_at(hw_places *places, uint64_t place);
/* Up to there, itself not included, all have come as far as this place; UINT64_MAX: to the last. */
uint64_t hw_places_alike(hw_places *places, uint64_t place);
/* From now on places begin .. end - 1 have come so far. */
hawser_status hw_places_set(hw_places *places, uint64_t begin, uint64_t end, hw_reach reach,
                            hawser_error *error) HAWSER_MUST_USE;
void hw_places_clear(hw_places *places); /* nowhere again; memory stays */
void hw_places_free(hw_places *places);

#endif
