/*
 * adding.h - which block adds up which updates of a BSP clock before they are sent on.
 *
 * Pure. A sum of updates has the bits of the canonical reduction only if it is the sum of one of its subtrees, so only
 * subtrees are added up on the way. docs/design/adding-on-the-way.md says why, and what it saves.
 *
 * Spread (any graph): the first of a node's blocks that form a subtree adds up their updates and sends the sum to the other
 * nodes. Gathered (tree, servers): all updates are sent up to a root. Each node on the way adds up those that form subtrees,
 * and the root sends the total to all. With servers a state has one range per server, which is the root of that range. By
 * blocks: the same tree within one node, over its blocks.
 *
 * Under SSP and TAP a gathered state's updates go along the same links (tree: between a node and its parent; servers:
 * between each node and the server of a range). They have no cycle, so that an update that is sent on to all links but its
 * own reaches each node once (combined.h).
 */
#ifndef HW_EXCHANGE_ADDING_H
#define HW_EXCHANGE_ADDING_H

#include <stddef.h>

#include "base/view.h"
#include "exchange/reduce.h"
#include "hawser/status.h"

typedef enum hw_adding_kind { HW_ADDING_SPREAD, HW_ADDING_TREE, HW_ADDING_SERVERS, HW_ADDING_BLOCKS } hw_adding_kind;

/* Up to so many blocks of a job on one node send their updates to each other. More of them add up, because n blocks would
 * send n (n - 1) messages. */
enum { HW_ADDING_DIRECT = 8 };

/* How a job adds up updates, which follows from its topology or, on one node, from the number of blocks. */
typedef struct hw_adding_shape {
    hw_adding_kind kind;
    uint32_t servers;
} hw_adding_shape;

/* Returns true if blocks add up updates; false if each sends its own to all others. */
static inline bool hw_adds_up(hw_adding_shape shape, uint32_t nodes)
{
    return nodes > 1 || shape.kind == HW_ADDING_BLOCKS;
}

/* Returns the blocks of the binomial tree's branch that begins with `block`: those up to block + its lowest set bit. */
static inline hw_reduce_run hw_adding_branch(uint32_t block, uint32_t blocks)
{
    uint32_t lowest = block & (0 - block);
    return (hw_reduce_run){block, block == 0 || lowest > blocks - block ? blocks : block + lowest};
}

/* Returns the block above in that tree, which has lost the lowest set bit. */
static inline uint32_t hw_adding_parent(uint32_t block)
{
    return block & (block - 1);
}

/* Destinations other than one block; block numbers are smaller. HW_TO_BLOCKS (transport.h) is all other blocks. */
#define HW_TO_NODES (UINT32_MAX - 1) /* the blocks of all other nodes */
#define HW_TO_LOCAL (UINT32_MAX - 2) /* the other blocks of this node */

typedef struct hw_adding_range {
    size_t begin, end; /* entries */
    hw_reduce_run run; /* blocks whose updates of these entries this block adds up; may be empty */
    uint32_t to;       /* destination of the sums */
    /* In the block that relays, under SSP and TAP: the first blocks of the nodes to which the range has a link. */
    const uint32_t *links;
    uint32_t link_count;
} hw_adding_range;

/* One block's part in adding up one state. */
typedef struct hw_adding {
    uint32_t own_to;      /* destination of own updates; the own number: this block adds them up itself */
    bool gathers;         /* totals of all blocks' updates come back, which include the own ones */
    bool adds;            /* at least one run is not empty */
    bool combines;        /* under SSP and TAP the first block of each node sends and relays updates between nodes */
    bool waits;           /* parts of an update are added up at the end of their clock, too, and not passed on at once */
    uint32_t range_count; /* >= 1 */
    hw_adding_range *ranges;
    uint32_t *links; /* memory of the ranges' links */
    uint32_t link_count;
} hw_adding;

/* Makes `block`'s part in adding up a state of `count` entries, if hw_adds_up. `state` is the state's number: small states
 * begin with different servers. If a view's blocks are not in order, sums are spread instead of gathered, because gathering
 * needs runs of blocks. */
hawser_status hw_adding_new(hw_adding_shape shape, const hw_view *view, uint32_t block, uint32_t state, size_t count,
                            hw_adding **adding, hawser_error *error) HAWSER_MUST_USE;
void hw_adding_free(hw_adding *adding);

#endif
