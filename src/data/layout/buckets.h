/* buckets.h - entries that come row by row, dealt out into buckets of neighbouring columns: the first half of the way to compressed
 * columns, whose second half then has one bucket in the caches at a time. Each reader has its own, without locks. */
#ifndef HW_DATA_BUCKETS_H
#define HW_DATA_BUCKETS_H

#include <stdatomic.h>

#include "base/bytes.h"
#include "data/source/parse.h"

/* An index of HW_BUCKET_BITS + 1 digits or fewer (binary) has a bucket of its own; above, every power of two is cut into
 * 2^HW_BUCKET_BITS, since in what people have the first columns are the fuller ones; and no bucket is wider than 2^HW_BUCKET_MOST, so
 * that where a column lies in its bucket is two bytes. */
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

/* The least index of a bucket. */
uint64_t hw_bucket_begin(size_t bucket);

/* What an entry is kept as; its value follows: one byte where it is a count, or as the matrix will have it. */
typedef struct hw_dealt {
    uint16_t column; /* from the bucket's first */
    uint16_t row;    /* from the stretch's first */
} hw_dealt;

/* A piece of a bucket: entries stand behind it, back to back. */
typedef struct hw_bucket_block {
    struct hw_bucket_block *next;
    uint32_t entries;     /* that it has room for: all are there, but in a bucket's last */
    uint32_t entry_bytes; /* with the value */
} hw_bucket_block;

/* Memory that others are cut from. */
typedef struct hw_area {
    struct hw_area *next;
    size_t bytes;
} hw_area;

/* Neighbouring buckets that share areas of memory, which go back together. */
typedef struct hw_bucket_group {
    hw_area *areas;
    char *at, *end;     /* of what is left of the newest area */
    atomic_size_t left; /* buckets that are still needed; once closed */
} hw_bucket_group;

/* Rows that a reader has met one after the other. */
typedef struct hw_stretch {
    uint64_t order; /* stretches of all readers, in the order of this, are the input */
    uint64_t first; /* row; for the user of the buckets */
    uint64_t rows;
    double *target;
    size_t target_capacity;
    uint32_t *counts; /* entries in each bucket that there was by then */
    size_t counted;
    uint32_t reader;
} hw_stretch;

typedef struct hw_bucket_cursor {
    char *at, *end; /* of what is left of the bucket's last block */
    bool full;      /* a value was no count: those that follow are kept whole */
} hw_bucket_cursor;

typedef struct hw_bucket {
    hw_bucket_block *first, *last;
    uint64_t entries; /* in blocks in front of the last; once closed: in all */
    uint64_t counted; /* in stretches that are closed */
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
    char *space, *space_end; /* of addresses, where the next area is cut from */
    hw_area *spaces;
    _Atomic uint64_t held; /* bytes of the budget */
} hw_buckets;

/* About `expected` bytes of entries will come. */
void hw_buckets_begin(hw_buckets *buckets, hw_budget *budget, uint32_t reader, bool single, uint64_t expected);
/* What `readers` of these take at most, beyond the entries themselves, while columns are made of `expected` bytes of entries. */
uint64_t hw_buckets_extra(uint32_t readers, uint64_t expected);
/* Deals a part's rows out, and keeps their targets if asked. Rows of the same `order` follow each other. */
hawser_status hw_buckets_add(hw_buckets *buckets, const hw_text_part *part, uint64_t order, bool targets,
                             hawser_error *error) HAWSER_MUST_USE;
/* Nothing more comes. */
hawser_status hw_buckets_close(hw_buckets *buckets, hawser_error *error) HAWSER_MUST_USE;

/* A value that is a count: 0 to 255, and not -0. Most values of texts are, and most of what is made of categories. */
static inline bool hw_small_count(double value, unsigned char *count)
{
    double moved = value + 0x1p52, back; /* the last digit of that is worth 1 */
    uint64_t bits, whole;
    memcpy(&bits, &moved, sizeof bits);
    *count = (unsigned char)bits;
    back = *count;
    memcpy(&bits, &value, sizeof bits);
    memcpy(&whole, &back, sizeof whole);
    return bits == whole;
}

/* A bucket is not needed any more: its memory goes with the last of its group. Several threads may say so of different buckets. */
void hw_bucket_done(hw_buckets *buckets, size_t bucket);
/* Gives a stretch's targets back. */
void hw_stretch_drop(hw_buckets *buckets, hw_stretch *stretch);
void hw_buckets_free(hw_buckets *buckets);

#endif
