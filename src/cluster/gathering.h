/*
 * gathering.h - bytes of every node to every node, over a tree: up to node 0, and all of them down again.
 *
 * Pure. The parent of node n is node (n - 1) / 8, so that 73 nodes are at most two links from node 0. A node sends what it
 * has of its branch up to its parent, in one message or, if a node below keeps the others waiting, in several. Node 0 sends
 * all blocks down, and each node sends the same message on. Numbers grow downwards, so of the nodes that are missing the one
 * with the lowest number has no missing node above it: it has not made the call, and the others wait for it.
 *
 * A block that is large is not sent over the tree but directly, by its node to each other; the tree has its length.
 */
#ifndef HW_CLUSTER_GATHERING_H
#define HW_CLUSTER_GATHERING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"

enum {
    HW_GATHERING_WIDTH = 8,  /* children of a node */
    HW_GATHERING_MOST = 2048 /* bytes of a block that goes over the tree */
};

typedef struct hw_gathering {
    uint32_t self, nodes;
    hw_bytes *in;     /* the caller's, by node; data from malloc */
    uint8_t *known;   /* by node: hw_gathering_known */
    uint8_t *waits;   /* by node: its block is to be sent up; in the memory of `known` */
    uint32_t unsent;  /* number of these */
    uint32_t lacking; /* nodes of the own branch whose blocks are not known */
    bool complete;    /* all blocks are known */
} hw_gathering;

enum hw_gathering_known {
    HW_GATHERING_UNKNOWN,
    HW_GATHERING_KNOWN,
    HW_GATHERING_APART /* the block itself comes directly */
};

static inline uint32_t hw_gathering_parent(uint32_t node)
{
    return (node - 1) / HW_GATHERING_WIDTH;
}

/* Stores the children of a node, `first` to `end` - 1. */
void hw_gathering_children(uint32_t node, uint32_t nodes, uint32_t *first, uint32_t *end);

/* Begins with the own block. `in` has space for all nodes, and is empty. */
hawser_status hw_gathering_begin(hw_gathering *gathering, uint32_t self, uint32_t nodes, hw_bytes own, hw_bytes *in,
                                 hawser_error *error) HAWSER_MUST_USE;
/* Frees all but `in`. */
void hw_gathering_free(hw_gathering *gathering);
/* Takes a message of a child, or the one of the parent. HAWSER_INTERNAL: it is none that this node could receive now. */
hawser_status hw_gathering_take_up(hw_gathering *gathering, uint32_t child, hw_bytes message,
                                   hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_gathering_take_down(hw_gathering *gathering, hw_bytes message, hawser_error *error) HAWSER_MUST_USE;
/* Makes the message with the blocks that were not sent up yet, or the one with all blocks. The caller frees its data. */
hawser_status hw_gathering_make_up(hw_gathering *gathering, hw_bytes *message, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_gathering_make_down(const hw_gathering *gathering, hw_bytes *message, hawser_error *error) HAWSER_MUST_USE;
/* Returns the missing node with the lowest number in the own branch; UINT32_MAX: none is missing. */
uint32_t hw_gathering_missing(const hw_gathering *gathering);

#endif
