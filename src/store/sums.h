/*
 * sums.h - updates of clocks that have not ended, for tables whose function gets the sum of all workers' updates of a clock
 * once.
 *
 * Each worker's updates of a clock are added up apart, in the order of its pushes. When all workers have ended the clock,
 * the workers' sums are added in the order of their numbers. So the bits do not depend on the order of arrival.
 */
#ifndef HW_STORE_SUMS_H
#define HW_STORE_SUMS_H

#include "store/shard.h"

/* The sums of one clock, by worker; NULL: it has pushed nothing. */
typedef struct hw_clock_sum {
    struct hw_clock_sum *next; /* the next later clock */
    uint64_t clock;
    hw_table_shard *parts[];
} hw_clock_sum;

typedef struct hw_sums {
    hw_table_spec spec; /* of the sums: sparse, added up */
    uint32_t workers;
    hw_clock_sum *clocks;  /* ascending */
    hw_table_shard *total; /* of the clock that is being applied */
    size_t bytes;          /* of all clocks */
    uint64_t rows;         /* rows of all workers in all clocks */
} hw_sums;

/* Keys, ascending, and their sums; valid until the next call. */
typedef struct hw_summed {
    uint64_t *keys;
    unsigned char *values;
    size_t count;
} hw_summed;

/* Prepares sums, initially zero, for a table's updates. */
void hw_sums_init(hw_sums *sums, const hw_table_spec *table, uint32_t workers);
void hw_sums_free(hw_sums *sums);
/* Adds a worker's push in a clock; without memory it adds nothing. A number that would become infinite keeps its value. */
hawser_status hw_sums_put(hw_sums *sums, uint32_t worker, uint64_t clock, const uint64_t *keys, size_t count,
                          const void *values, hw_overflow *overflow, hawser_error *error) HAWSER_MUST_USE;
/* Returns the sums of the oldest clock below `end`, without rows that have a sum that is not finite; *found is false if
 * there is none. Call hw_sums_drop next, or the same sums are returned again. */
hawser_status hw_sums_oldest(hw_sums *sums, uint64_t end, hw_summed *summed, hw_overflow *overflow, bool *found,
                             hawser_error *error) HAWSER_MUST_USE;
void hw_sums_drop(hw_sums *sums);
void hw_summed_free(hw_summed *summed);

#endif
