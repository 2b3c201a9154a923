/*
 * sums.h - updates of clocks that are not over, for tables whose function sees the sum of all workers' updates of a clock, once.
 *
 * Every worker's updates of a clock are added up by themselves, in the order in which it pushed them; when all workers have ended the clock
 * the workers' sums are added in the order of their numbers. So the same bits come out whoever was first.
 */
#ifndef HW_STORE_SUMS_H
#define HW_STORE_SUMS_H

#include "store/shard.h"

/* One clock's: by worker, NULL where nothing was pushed. */
typedef struct hw_clock_sum {
    struct hw_clock_sum *next; /* of a later clock */
    uint64_t clock;
    hw_table_shard *parts[];
} hw_clock_sum;

typedef struct hw_sums {
    hw_table_spec spec; /* of what is kept: sparse, added up */
    uint32_t workers;
    hw_clock_sum *clocks;  /* ascending */
    hw_table_shard *total; /* of the clock that is settled */
    size_t bytes;          /* of all clocks, */
    uint64_t rows;         /* and how many: of each worker, in each */
} hw_sums;

/* Keys, ascending, and their sums, until the next call. */
typedef struct hw_summed {
    uint64_t *keys;
    unsigned char *values;
    size_t count;
} hw_summed;

/* For a table's updates; zeroed before. */
void hw_sums_init(hw_sums *sums, const hw_table_spec *table, uint32_t workers);
void hw_sums_free(hw_sums *sums);
/* Adds what a worker pushes in a clock: all, or without memory nothing. A number that would become infinite stays as it was. */
hawser_status hw_sums_put(hw_sums *sums, uint32_t worker, uint64_t clock, const uint64_t *keys, size_t count,
                          const void *values, hw_overflow *overflow, hawser_error *error) HAWSER_MUST_USE;
/* The sums of the oldest clock below `end`, without rows of which a sum is not finite; false: there is none. Then hw_sums_drop, or it comes
 * again. */
hawser_status hw_sums_oldest(hw_sums *sums, uint64_t end, hw_summed *summed, hw_overflow *overflow, bool *found,
                             hawser_error *error) HAWSER_MUST_USE;
void hw_sums_drop(hw_sums *sums);
void hw_summed_free(hw_summed *summed);

#endif
