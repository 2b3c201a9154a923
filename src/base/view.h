/*
 * view.h - which node runs which block, as all nodes of a job agree on it. The view is the only source: a caller asks it,
 * and must not assume that the numbers of a node's blocks are consecutive.
 */
#ifndef HW_BASE_VIEW_H
#define HW_BASE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "hawser/status.h"

enum { HW_VIEW_FIRST = 1 }; /* a job's only view so far */

typedef struct hw_view {
    uint32_t number; /* part of each message */
    uint32_t blocks, nodes;
    uint32_t *node; /* by block */
} hw_view;

/* The first view: blocks are dealt to the nodes in order, as evenly as possible. hw_view_free releases it, also after a
 * failure. */
hawser_status hw_view_first(uint32_t blocks, uint32_t nodes, hw_view *view, hawser_error *error) HAWSER_MUST_USE;
void hw_view_free(hw_view *view);

/* Returns the node that runs a block. */
static inline uint32_t hw_view_node(const hw_view *view, uint32_t block)
{
    return view->node[block];
}
/* Returns the number of a node's blocks. */
uint32_t hw_view_count(const hw_view *view, uint32_t node);
/* Returns the first of a node's blocks from block `from` on; view->blocks if there is none. */
uint32_t hw_view_next(const hw_view *view, uint32_t node, uint32_t from);
/* Returns whether each node has blocks with consecutive numbers, and lower nodes have lower blocks. */
bool hw_view_in_order(const hw_view *view);

#endif
