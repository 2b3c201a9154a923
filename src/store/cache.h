/*
 * cache.h - the rows of a table that the workers of one process cache: SSPTable's process cache (Ho et al. 2013, sections 3
 * and 4).
 *
 * A worker's increments are kept apart until its clock ends, and are then sent to the servers as one push. A row that was
 * read is kept with the number of clocks of all workers that it contains at least. A read in clock t with staleness s is
 * served from it if that number is t - s or more. A worker's own increments that the servers do not have yet are added to
 * what it reads (read-my-writes). If the memory for rows is used up, the least recently used row is dropped.
 *
 * The cache owns no thread and takes one call at a time. The owner pulls what a reading requests and pushes what is flushed,
 * and starts both in the order in which the cache returned them. So a pull contains all that was flushed before it and
 * nothing that was flushed later. A pull that waits at a server for clocks of other workers may contain some of a later
 * flush; it is then repeated, waits for no clock, and nothing is flushed until its reply has arrived.
 */
#ifndef HW_STORE_CACHE_H
#define HW_STORE_CACHE_H

#include "store/table.h"

typedef struct hw_cache hw_cache;

typedef struct hw_cache_options {
    const hw_table_spec *spec; /* must outlive the cache; its staleness is that of the reads */
    uint32_t workers;
    size_t bytes; /* memory of rows, and the size of increments from which they should be flushed early */
} hw_cache_options;

hawser_status hw_cache_new(const hw_cache_options *options, hw_cache **cache, hawser_error *error) HAWSER_MUST_USE;
void hw_cache_free(hw_cache *cache); /* NULL is allowed */

uint64_t hw_cache_clock(const hw_cache *cache, uint32_t worker); /* the worker's current clock, from 0 */

/* Drops all rows, because the servers' tables were loaded. No pull may be in progress. */
void hw_cache_forget(hw_cache *cache);

/* Adds to keys[0..count), ascending; without memory it adds nothing. HAWSER_NOT_FINITE: a number that would have become
 * infinite keeps its value, and the others are added. *early: the worker should be flushed before its clock ends. */
hawser_status hw_cache_inc(hw_cache *cache, uint32_t worker, const uint64_t *keys, size_t count, const void *values,
                           bool *early, hawser_error *error) HAWSER_MUST_USE;

/* A worker's increments since its last flush: keys[0..count), ascending, and their values. The caller frees both. */
typedef struct hw_flushed {
    uint64_t *keys;
    size_t count; /* 0: there are none, and nothing to free */
    void *values;
} hw_flushed;
/* Returns whether the cache may be flushed now. If not, it may be after some hw_cache_pulled. */
bool hw_cache_may_flush(const hw_cache *cache);
hawser_status hw_cache_flush(hw_cache *cache, uint32_t worker, hw_flushed *flushed, hawser_error *error) HAWSER_MUST_USE;
/* Ends the worker's clock, after its flush. */
void hw_cache_tick(hw_cache *cache, uint32_t worker);

typedef enum hw_cache_reading_state {
    HW_READING_DONE,
    /* The owner pulls wanted[0..wanted_count) to `pulled` with `least`, clocks to *oldest; then it calls hw_cache_pulled. */
    HW_READING_PULL,
    HW_READING_WAIT /* a pull of another reading brings the missing rows: call hw_cache_read again when one has ended */
} hw_cache_reading_state;

/* A worker's read of keys[0..count), ascending, to `out`. Set the first five fields, and the rest to zero. It must not move
 * until it is freed. */
typedef struct hw_cache_reading {
    uint32_t worker;
    const uint64_t *keys;
    size_t count;
    void *out;
    uint64_t least; /* clocks of all workers that the rows must contain */
    uint32_t *open; /* the rows that are not read yet, */
    size_t open_count;
    uint32_t *rows; /* and those that are pulled */
    uint64_t *wanted;
    size_t wanted_count;
    void *pulled;
    uint64_t *oldest; /* part of the memory of `wanted` */
    bool begun, pulling, disturbed, repeated;
    hw_overflow overflow; /* a row that would be infinite with the worker's own increments; it is returned without them */
    struct hw_cache_reading *next; /* in the list of readings that pull */
} hw_cache_reading;

/* Reads the rows that can be read now; *state says what the caller must do for the others. HAWSER_NO_MEMORY ends the
 * reading. */
hawser_status hw_cache_read(hw_cache *cache, hw_cache_reading *reading, hw_cache_reading_state *state,
                            hawser_error *error) HAWSER_MUST_USE;
/* Takes the reply of a pull. Returns false if the pull must be repeated. */
bool hw_cache_pulled(hw_cache *cache, hw_cache_reading *reading);
/* Ends a reading, also one whose pull failed. */
void hw_cache_reading_end(hw_cache *cache, hw_cache_reading *reading);

typedef struct hw_cache_figures {
    /* Rows: served from the cache, pulled, brought by another reading's pull; repeated pulls; dropped rows. */
    uint64_t hits, misses, shared, repeated, evicted;
    uint64_t rows, bytes; /* in the cache now */
} hw_cache_figures;
void hw_cache_figures_of(const hw_cache *cache, hw_cache_figures *figures);

#endif
