/*
 * places.h - the progress of many places, as runs of places with equal progress. Memory depends on the number of recorded
 * changes, not on the number of possible places.
 */
#ifndef HW_HISTORY_PLACES_H
#define HW_HISTORY_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

/* Clocks that are merged, and the next part of the clock that is not. */
typedef struct hw_reach {
    uint64_t done;
    uint32_t part;
} hw_reach;

/* The places from `begin` up to the next run's. */
typedef struct hw_reached {
    uint64_t begin;
    hw_reach reach;
} hw_reached;

/* Zeroed: all places have no progress. */
typedef struct hw_places {
    hw_reached *runs;
    size_t count, capacity;
    size_t near; /* the run that was looked up last; the next look-up is likely close to it */
} hw_places;

hw_reach hw_places_at(hw_places *places, uint64_t place);
/* Returns the end of the places from `place` on that have the same progress; UINT64_MAX: all up to the last. */
uint64_t hw_places_alike(hw_places *places, uint64_t place);
/* Sets the progress of places begin .. end - 1. */
hawser_status hw_places_set(hw_places *places, uint64_t begin, uint64_t end, hw_reach reach,
                            hawser_error *error) HAWSER_MUST_USE;
void hw_places_clear(hw_places *places); /* sets all progress to zero; keeps the memory */
void hw_places_free(hw_places *places);

#endif
