/*
 * adding.h - who adds up what of a BSP clock before it travels on.
 *
 * Pure. A sum of updates has the bits of the canonical reduction only where it is the sum of one of its subtrees; so that is what is
 * added up on the way, and nothing else. docs/design/adding-on-the-way.md says why, and what it saves.
 *
 * Spread (any graph): of a node's blocks those that form a subtree are added up by the first of them, which tells the sum to the other
 * nodes. Gathered (tree, servers): all updates go up to a root, added up at each node that they pass as far as they form subtrees,
 * and what they come to goes down to everybody. Over servers a state has a range for each of them, whose root it is.
 */
#ifndef HW_EXCHANGE_ADDING_H
#define HW_EXCHANGE_ADDING_H

#include <stddef.h>

#include "base/view.h"
#include "exchange/reduce.h"
#include "hawser/status.h"

typedef enum hw_adding_kind { HW_ADDING_SPREAD, HW_ADDING_TREE, HW_ADDING_SERVERS } hw_adding_kind;

/* What follows for a job from its topology. */
typedef struct hw_adding_shape {
    hw_adding_kind kind;
    uint32_t servers;
} hw_adding_shape;

/* Where an update goes that is not for one block; block numbers are smaller. HW_TO_BLOCKS of transport.h: all other blocks. */
#define HW_TO_NODES (UINT32_MAX - 1) /* the blocks of all other nodes */
#define HW_TO_LOCAL (UINT32_MAX - 2) /* the other blocks of this node */

typedef struct hw_adding_range {
    size_t begin, end; /* entries */
    hw_reduce_run run; /* blocks whose updates of them this block adds up; empty: none */
    uint32_t to;       /* where the sums go */
} hw_adding_range;

/* One block's part in it, for one state. */
typedef struct hw_adding {
    uint32_t own_to;      /* where own updates go; the own number: they stay here to be added up */
    bool gathers;         /* everybody's updates come back as what they came to, the own ones among them */
    bool adds;            /* some run is not empty */
    uint32_t range_count; /* >= 1 */
    hw_adding_range *ranges;
} hw_adding;

/* `state` numbers the state, of `count` entries: small ones begin with different servers. More than one node. What is gathered are runs of
 * blocks; where a view's blocks are not in order, sums are spread instead. */
hawser_status hw_adding_new(hw_adding_shape shape, const hw_view *view, uint32_t block, uint32_t state, size_t count,
                            hw_adding **adding, hawser_error *error) HAWSER_MUST_USE;
void hw_adding_free(hw_adding *adding);

#endif
