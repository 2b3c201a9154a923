/*
 * cache.h - rows of a table that the workers of one process keep near: SSPTable's process cache (Ho et al. 2013, sections 3 and 4).
 *
 * Increments of a worker are kept apart until its clock ends, and go to the servers as one push then. A row that was read stays, with the
 * clocks of all workers that are in it at least; a read in clock t with staleness s is served from it when those are t - s or more. To
 * what a worker reads its own increments are added that the servers do not have yet (read-my-writes). Rows go, least recently used
 * first, when the memory for them is used up.
 *
 * It owns no thread: one call at a time. The owner pulls what a reading asks for and pushes what is flushed, and begins both in the order
 * in which the cache gave them, so that a pull brings all that was flushed before it and nothing that was flushed later. A pull that waits
 * at a server for others' clocks may bring some of that after all; then it is made once more, which waits for nobody, and until it is
 * back nothing is flushed.
 */
#ifndef HW_STORE_CACHE_H
#define HW_STORE_CACHE_H

#include "store/table.h"

typedef struct hw_cache hw_cache;

typedef struct hw_cache_options {
    const hw_table_spec *spec; /* must outlive the cache; its staleness is the readers' */
    uint32_t workers;
    size_t bytes; /* that rows may take, and again that increments may before they should be flushed early */
} hw_cache_options;

hawser_status hw_cache_new(const hw_cache_options *options, hw_cache **cache, hawser_error *error) HAWSER_MUST_USE;
void hw_cache_free(hw_cache *cache); /* NULL is allowed */

uint64_t hw_cache_clock(const hw_cache *cache, uint32_t worker); /* in which the worker is, from 0 */

/* Forgets all rows: what the servers have is another thing now. Nothing may be pulled meanwhile. */
void hw_cache_forget(hw_cache *cache);

/* Adds to keys[0..count), ascending; all or, without memory, nothing. HAWSER_NOT_FINITE: a number that would have become infinite stays as it was,
 * the rest is added. *early: the worker should be flushed before its clock ends. */
hawser_status hw_cache_inc(hw_cache *cache, uint32_t worker, const uint64_t *keys, size_t count, const void *values,
                           bool *early, hawser_error *error) HAWSER_MUST_USE;

/* What a worker has incremented since it was flushed last: keys[0..count), ascending, and their values, both the caller's to free. */
typedef struct hw_flushed {
    uint64_t *keys;
    size_t count; /* 0: nothing, and nothing to free */
    void *values;
} hw_flushed;
/* May something be flushed now? If not, after some hw_cache_pulled. */
bool hw_cache_may_flush(const hw_cache *cache);
hawser_status hw_cache_flush(hw_cache *cache, uint32_t worker, hw_flushed *flushed, hawser_error *error) HAWSER_MUST_USE;
/* The worker's clock ends; it has been flushed. */
void hw_cache_tick(hw_cache *cache, uint32_t worker);

typedef enum hw_reading_state {
    HW_READING_DONE,
    HW_READING_PULL, /* the owner pulls wanted[0..wanted_count) to `pulled` with `least`, clocks to *oldest; then hw_cache_pulled */
    HW_READING_WAIT /* another reading's pull brings what is missing: hw_cache_read again once one has ended */
} hw_reading_state;

/* A read of keys[0..count), ascending, to `out` by a worker. Fill in the first five, zero the rest; stays where it is until freed. */
typedef struct hw_reading {
    uint32_t worker;
    const uint64_t *keys;
    size_t count;
    void *out;
    uint64_t least; /* clocks of all workers that must be in */
    uint32_t *open; /* numbers of the rows that are not read yet, */
    size_t open_count;
    uint32_t *rows; /* and of those that are pulled */
    uint64_t *wanted;
    size_t wanted_count;
    void *pulled;
    uint64_t *oldest; /* lies in the memory of `wanted` */
    bool begun, pulling, disturbed, again;
    hw_overflow overflow;    /* a row that is infinite with the worker's own increments; it is read without them */
    struct hw_reading *next; /* of those that pull */
} hw_reading;

/* Reads what may be read now; *state says what is to be done about the rest. HAWSER_NO_MEMORY ends it. */
hawser_status hw_cache_read(hw_cache *cache, hw_reading *reading, hw_reading_state *state,
                            hawser_error *error) HAWSER_MUST_USE;
/* The pull has ended; false: it must be made once more. */
bool hw_cache_pulled(hw_cache *cache, hw_reading *reading);
/* Ends a reading; also one whose pull failed. */
void hw_reading_end(hw_cache *cache, hw_reading *reading);

typedef struct hw_cache_figures {
    uint64_t hits, misses, shared, again,
        evicted;          /* rows: read here, pulled, brought by another's pull; pulls made once more; rows */
    uint64_t rows, bytes; /* kept now */
} hw_cache_figures;
void hw_cache_figures_of(const hw_cache *cache, hw_cache_figures *figures);

#endif
