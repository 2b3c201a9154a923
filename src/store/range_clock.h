/*
 * range_clock.h - one source's clock on every key of a table, kept for ranges of keys (Li et al. 2014, algorithm 2).
 *
 * At first one range is all keys, at time 0. A message moves a range to its time: ranges that it cuts are split, and neighbours that
 * then stand at one time are joined again, so that k messages leave at most 2k + 1 ranges, and passing over the whole leaves one.
 * A table has one of these per source: its vector clock.
 */
#ifndef HW_STORE_RANGE_CLOCK_H
#define HW_STORE_RANGE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

/* From `first` up to where the next begins. */
typedef struct hw_timed {
    uint64_t first, time;
} hw_timed;

typedef struct hw_range_clock {
    hw_timed *ranges; /* ascending; the first begins at the table's first key */
    size_t count, capacity;
    uint64_t last; /* of the table's keys */
} hw_range_clock;

/* Keys first..last, both included. */
hawser_status hw_range_clock_new(uint64_t first, uint64_t last, hw_range_clock *clock, hawser_error *error) HAWSER_MUST_USE;
void hw_range_clock_free(hw_range_clock *clock);

/* Keys first..last (within the table) stand at `time` at least from now on; those that are further stay. Unchanged on failure. */
hawser_status hw_range_clock_advance(hw_range_clock *clock, uint64_t first, uint64_t last, uint64_t time,
                                     hawser_error *error) HAWSER_MUST_USE;
uint64_t hw_range_clock_at(const hw_range_clock *clock, uint64_t key);
/* The same, and the last key that stands at that time with it, one after the other. */
uint64_t hw_range_clock_from(const hw_range_clock *clock, uint64_t key, uint64_t *last);
/* The least time of keys first..last. */
uint64_t hw_range_clock_least(const hw_range_clock *clock, uint64_t first, uint64_t last);

#endif
