/* circulant.h - "halton": every node has links to the nodes at the same distances after it, around a ring.
 *
 * Pure. The graph looks the same from every node, so the tree of every origin is that of node 0, turned. Hence every node
 * passes on equally many messages, nodes - 1 - degree, and a ring needs O(nodes) memory. */
#ifndef HW_EXCHANGE_CIRCULANT_H
#define HW_EXCHANGE_CIRCULANT_H

#include <stdint.h>

#include "hawser/status.h"

typedef struct hw_circulant {
    uint32_t nodes, degree, depth;
    uint32_t *distances; /* [degree], ascending */
    uint32_t *first;     /* [nodes + 1]: where the children of a node in the tree of node 0 begin in `below` */
    uint32_t *below;     /* children, those next after their parent first */
} hw_circulant;

/* Makes distances nodes/2, nodes/4, 3 nodes/4, nodes/8 ...: halves, then the odd quarters, then the odd eighths. The first
 * log2(nodes) are MALT's. Later distances are added if they help, until every node reaches every other within twice that
 * many steps. Free the ring also after a failure. */
hawser_status hw_circulant_make(hw_circulant *graph, uint32_t nodes, hawser_error *error) HAWSER_MUST_USE;
void hw_circulant_free(hw_circulant *graph);

/* Stores the children of `node` in the tree of `origin`, and returns their number. */
uint32_t hw_circulant_children(const hw_circulant *graph, uint32_t origin, uint32_t node, uint32_t *children);
/* Returns that number. */
uint32_t hw_circulant_sends(const hw_circulant *graph, uint32_t origin, uint32_t node);

#endif
