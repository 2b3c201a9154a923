/*
 * tree.h - a tree of sums over weights, from which a weight is drawn, and changed, in as many steps as the logarithm of
 * their number (the F+ tree of Yu et al. 2015).
 *
 * Each inner node is the sum of its two children, whatever the order in which weights were set. So a tree depends on its
 * weights alone.
 */
#ifndef HW_ALGORITHMS_LDA_TREE_H
#define HW_ALGORITHMS_LDA_TREE_H

#include "hawser/status.h"

#include <stdint.h>
#include <stdlib.h>

typedef struct hw_tree {
    size_t count, leaves, depth; /* of weights; a power of two above or equal, and its logarithm */
    double *node;                /* node 1 is the root, node i has children 2 i and 2 i + 1, weight k is node leaves + k */
} hw_tree;

/* Makes a tree of zeros. The caller frees tree->node, also after a failure. */
static inline hawser_status hw_tree_new(hw_tree *tree, size_t count, hawser_error *error)
{
    *tree = (hw_tree){.count = count, .leaves = 2, .depth = 1};
    for (; tree->leaves < count; tree->depth++)
        tree->leaves *= 2;
    tree->node = calloc(2 * tree->leaves, sizeof *tree->node);
    return tree->node != NULL ? HAWSER_OK
                              : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a tree of %zu topics", count);
}

static inline double *hw_tree_weights(const hw_tree *tree)
{
    return tree->node + tree->leaves;
}

/* Adds up all weights anew. */
static inline void hw_tree_sum(hw_tree *tree)
{
    for (size_t i = tree->leaves - 1; i > 0; i--)
        tree->node[i] = tree->node[2 * i] + tree->node[2 * i + 1];
}

static inline void hw_tree_set(hw_tree *tree, size_t k, double weight)
{
    double *node = tree->node;
    size_t i = tree->leaves + k;
    node[i] = weight;
    while (i > 1) {
        i /= 2;
        node[i] = node[2 * i] + node[2 * i + 1];
    }
}

/* Returns the first weight whose sum with those before it is above `at`, as if weight `less_of` were smaller by `less`. */
static inline size_t hw_tree_find(const hw_tree *tree, double at, size_t less_of, double less)
{
    const double *node = tree->node;
    size_t i = 1, depth = tree->depth, leaf = tree->leaves + less_of;
    while (i < tree->leaves) {
        i *= 2;
        depth--;
        double left = node[i] - (leaf >> depth == i ? less : 0.0);
        if (at >= left) {
            at -= left;
            i++;
        }
    }
    size_t k = i - tree->leaves;
    return k < tree->count ? k : tree->count - 1; /* only rounding leads beyond */
}

#endif
