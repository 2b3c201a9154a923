/*
 * range_clock.h - one source's clock on every key of a table, kept for ranges of keys (Li et al. 2014, algorithm 2).
 *
 * At first one range has all keys, at time 0. A message advances a range of keys: ranges that it cuts are split, and
 * neighbours of equal time are joined again. So k messages leave at most 2k + 1 ranges, and a message about all keys leaves
 * one. A table has one such clock per source: together they are its vector clock.
 */
#ifndef HW_STORE_RANGE_CLOCK_H
#define HW_STORE_RANGE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

/* The keys from `first` up to the beginning of the next range. */
typedef struct hw_timed {
    uint64_t first, time;
} hw_timed;

typedef struct hw_range_clock {
    hw_timed *ranges; /* ascending; the first begins at the table's first key */
    size_t count, capacity;
    uint64_t last; /* of the table's keys */
} hw_range_clock;

/* Makes the clock of keys first..last, both included. */
hawser_status hw_range_clock_new(uint64_t first, uint64_t last, hw_range_clock *clock, hawser_error *error) HAWSER_MUST_USE;
void hw_range_clock_free(hw_range_clock *clock);

/* Advances keys first..last (within the table) to at least `time`; later times stay. Unchanged on failure. */
hawser_status hw_range_clock_advance(hw_range_clock *clock, uint64_t first, uint64_t last, uint64_t time,
                                     hawser_error *error) HAWSER_MUST_USE;
uint64_t hw_range_clock_at(const hw_range_clock *clock, uint64_t key);
/* Returns the time of a key, and in *last the last key of its range. */
uint64_t hw_range_clock_from(const hw_range_clock *clock, uint64_t key, uint64_t *last);
/* Returns the least time of keys first..last. */
uint64_t hw_range_clock_least(const hw_range_clock *clock, uint64_t first, uint64_t last);

#endif
