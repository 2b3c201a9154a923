/* buckets.h - distributes entries that arrive row by row over buckets of neighbouring columns. This is the first half of the
 * conversion to compressed columns; the second half then has one bucket in the caches at a time. Each reader has its own
 * buckets, without locks. */
#ifndef HW_DATA_BUCKETS_H
#define HW_DATA_BUCKETS_H

#include <stdatomic.h>

#include "base/bytes.h"
#include "data/source/parse.h"

/* An index of at most HW_BUCKET_BITS + 1 binary digits has its own bucket. Above, each power of two is divided into
 * 2^HW_BUCKET_BITS buckets, because in real data the first columns are the fuller ones. No bucket is wider than
 * 2^HW_BUCKET_MOST, so that a column's place in its bucket takes two bytes. */
enum { HW_BUCKET_BITS = 5, HW_BUCKET_MOST = 16 };

static inline unsigned hw_bucket_shift(uint32_t index)
{
    unsigned shift = hw_highest_bit(index | 1 << HW_BUCKET_BITS) - HW_BUCKET_BITS;
    return shift < HW_BUCKET_MOST ? shift : HW_BUCKET_MOST;
}

static inline size_t hw_bucket_of(uint32_t index)
{
    unsigned shift = hw_bucket_shift(index);
    return ((size_t)shift << HW_BUCKET_BITS) + (index >> shift);
}

/* Returns the least index of a bucket. */
uint64_t hw_bucket_begin(size_t bucket);

/* The stored form of an entry. Its value follows: one byte if it is a count, otherwise in the storage type. */
typedef struct hw_dealt {
    uint16_t column; /* offset from the bucket's first column */
    uint16_t row;    /* offset from the stretch's first row */
} hw_dealt;

/* A piece of a bucket: the entries follow it, back to back. */
typedef struct hw_bucket_block {
    struct hw_bucket_block *next;
    uint32_t entries;     /* capacity; used completely, except in a bucket's last block */
    uint32_t entry_bytes; /* including the value */
} hw_bucket_block;

/* Memory that blocks are cut from. */
typedef struct hw_area {
    struct hw_area *next;
    size_t bytes;
} hw_area;

/* Neighbouring buckets that share areas of memory, which are released together. */
typedef struct hw_bucket_group {
    hw_area *areas;
    char *at, *end;     /* the free rest of the newest area */
    atomic_size_t left; /* once closed: buckets that are still needed */
} hw_bucket_group;

/* Consecutive rows that a reader has read. */
typedef struct hw_stretch {
    uint64_t order; /* the stretches of all readers in this order are the input */
    uint64_t first; /* number of its first row; for the user of the buckets */
    uint64_t rows;
    double *target;
    size_t target_capacity;
    uint32_t *counts; /* entries in each bucket that existed by then */
    size_t counted;
    uint32_t reader;
} hw_stretch;

typedef struct hw_bucket_cursor {
    char *at, *end; /* the free rest of the bucket's last block */
    bool full;      /* a value was not a count: later ones are stored in full */
} hw_bucket_cursor;

typedef struct hw_bucket {
    hw_bucket_block *first, *last;
    uint64_t entries; /* in blocks before the last; once closed: in all */
    uint64_t counted; /* in closed stretches */
    uint64_t bytes;
    size_t group;
} hw_bucket;

typedef struct hw_buckets {
    hw_budget *budget;
    size_t value_bytes, area_bytes;
    uint32_t reader;
    size_t count, cursor_capacity, bucket_capacity, group_count;
    hw_bucket_cursor *cursors;
    hw_bucket *buckets;
    hw_bucket_group *groups;
    hw_stretch *stretches;
    size_t stretch_count, stretch_capacity;
    char *space, *space_end; /* address space from which the next area is cut */
    hw_area *spaces;
    _Atomic uint64_t reserved; /* bytes taken from the budget */
} hw_buckets;

/* Starts buckets for about `expected` bytes of entries. */
void hw_buckets_begin(hw_buckets *buckets, hw_budget *budget, uint32_t reader, bool single, uint64_t expected);
/* Returns the most memory that `readers` buckets take, beyond the entries themselves, while columns are made of `expected`
 * bytes of entries. */
uint64_t hw_buckets_extra(uint32_t readers, uint64_t expected);
/* Distributes a part's rows, and keeps their targets on request. Rows of the same `order` are consecutive. */
hawser_status hw_buckets_add(hw_buckets *buckets, const hw_text_part *part, uint64_t order, bool targets,
                             hawser_error *error) HAWSER_MUST_USE;
/* Ends the input of the buckets. */
hawser_status hw_buckets_close(hw_buckets *buckets, hawser_error *error) HAWSER_MUST_USE;

/* Returns whether a value is a count: 0 to 255, and not -0. Most values in texts and categories are counts. */
static inline bool hw_small_count(double value, unsigned char *count)
{
    double moved = value + 0x1p52, back; /* its last digit has the value 1 */
    uint64_t bits, whole;
    memcpy(&bits, &moved, sizeof bits);
    *count = (unsigned char)bits;
    back = *count;
    memcpy(&bits, &value, sizeof bits);
    memcpy(&whole, &back, sizeof whole);
    return bits == whole;
}

/* Releases a bucket that is not needed any more; the memory is freed with the last bucket of its group. Several threads may
 * release different buckets. */
void hw_bucket_done(hw_buckets *buckets, size_t bucket);
/* Frees a stretch's targets. */
void hw_stretch_drop(hw_buckets *buckets, hw_stretch *stretch);
void hw_buckets_free(hw_buckets *buckets);

#endif
