/*
 * range.h - a range of a state's entries, and what blocks say of it in clocks that are not merged yet.
 *
 * What is said is a leaf of the canonical tree (one block's update, in parts or whole) or the sum of one of its subtrees, added up on
 * its way: hw_range_sum takes either where it meets it, so that sums come out with the same bits wherever they were begun.
 */
#ifndef HW_EXCHANGE_RANGE_H
#define HW_EXCHANGE_RANGE_H

#include "codec/narrow.h"
#include "exchange/encoding.h"

/* Messages of clocks that are not merged yet, in order. */
typedef struct hw_parked {
    hw_message *first, *last;
} hw_parked;

typedef struct hw_range {
    size_t count;      /* entries of the whole state */
    size_t begin, end; /* those of the range; begin starts a tile */
    uint32_t blocks;
    hw_parked *parked; /* by the first block of what a message is about */
    uint32_t *parts;   /* by block: number of the next part of its clock */
    uint64_t *done;    /* by block: clocks complete */
} hw_range;

/* A piece of a state: entries [begin, begin + count), within one tile. */
typedef struct hw_range_piece {
    size_t begin, count;
    uint64_t clock;
} hw_range_piece;

hawser_status hw_range_new(uint32_t blocks, size_t count, size_t begin, size_t end, hw_range *range,
                           hawser_error *error) HAWSER_MUST_USE;
void hw_range_free(hw_range *range);
void hw_range_reset(hw_range *range); /* clocks at zero; nothing may be parked */

/* Keeps a message until its clock is dropped; the oldest of clock `clock` of a block, or NULL; lets go of it. */
void hw_range_park(hw_range *range, hw_message *message);
hw_message *hw_range_oldest(const hw_range *range, uint32_t block, uint64_t clock);
void hw_range_drop_oldest(hw_range *range, uint32_t block);
void hw_range_drop(hw_range *range, uint32_t begin, uint32_t end, uint64_t clock); /* of blocks [begin, end) */

/* The canonical sum of a piece over blocks [first, first + count), a subtree: the tree of reduce.h, a tile at a time, so that what shared
 * payloads hold is only read. NULL when nobody says anything. scratch: a tile for each level of the tree, and one. */
const double *hw_range_sum(const hw_range *range, hw_range_piece where, uint32_t first, uint32_t count, double *scratch);

/* to += scale * from */
void hw_add_scaled(double *restrict to, const double *restrict from, double scale, size_t n);
/* to[index - offset] += scale * value for positions [begin, end) of a payload. */
void hw_add_payload(const hw_payload *payload, size_t begin, size_t end, double scale, double *to, size_t offset);

#endif
