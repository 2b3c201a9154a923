/*
 * range.h - a range of a state's entries, and the parked updates of it, whose clocks are not merged yet.
 *
 * A parked message is a leaf of the canonical tree (one block's update, in parts or whole) or the sum of one of its
 * subtrees, which a block on the way has added up. hw_range_sum uses both, so a sum has the same bits wherever its subtrees
 * were added up.
 */
#ifndef HW_EXCHANGE_RANGE_H
#define HW_EXCHANGE_RANGE_H

#include "exchange/numbers.h"

/* Messages of clocks that are not merged yet, in order. */
typedef struct hw_parked {
    hw_message *first, *last;
} hw_parked;

typedef struct hw_range {
    const hw_numbers *numbers;
    size_t count;      /* entries of the whole state */
    size_t begin, end; /* entries of the range; begin starts a tile */
    uint32_t blocks;
    hw_parked *parked; /* by the first block of the message's subtree */
    uint32_t *parts;   /* by block: number of the next part of its clock */
    uint64_t *done;    /* by block: complete clocks */
} hw_range;

/* A piece of a state: entries [begin, begin + count), within one tile. */
typedef struct hw_range_piece {
    size_t begin, count;
    uint64_t clock;
} hw_range_piece;

hawser_status hw_range_new(hawser_type type, uint32_t blocks, size_t count, size_t begin, size_t end, hw_range *range,
                           hawser_error *error) HAWSER_MUST_USE;
void hw_range_free(hw_range *range);
void hw_range_reset(hw_range *range); /* clocks at zero; nothing may be parked */

/* Takes a message and keeps it until it is dropped. */
void hw_range_park(hw_range *range, hw_message *message);
/* Returns a block's oldest message if that is of `clock`, else NULL. The range owns it. */
hw_message *hw_range_oldest(const hw_range *range, uint32_t block, uint64_t clock);
/* Frees messages: a block's oldest one; those of `clock` of blocks [begin, end). */
void hw_range_drop_oldest(hw_range *range, uint32_t block);
void hw_range_drop(hw_range *range, uint32_t begin, uint32_t end, uint64_t clock);

/* Returns the canonical sum of a piece over the subtree of blocks [first, first + count); NULL if no block has updated it.
 * The result lies in a payload, which must not be changed, or in `scratch`, which has one tile for each level of the tree
 * (reduce.h) and one more. If an integer overflows at a node of the tree, the least such entry is stored in *over, unless
 * that is less already. */
const void *hw_range_sum(const hw_range *range, hw_range_piece where, uint32_t first, uint32_t count, void *scratch,
                         size_t *over);

/* to[index - offset] += scale * value for positions [begin, end) of a payload. Returns the first entry that overflows;
 * SIZE_MAX if none does. */
size_t hw_add_payload(const hw_payload *payload, size_t begin, size_t end, double scale, void *to, size_t offset);

#endif
