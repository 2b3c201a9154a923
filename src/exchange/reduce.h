/* reduce.h - the one shape that every sum over blocks has. */
#ifndef HW_EXCHANGE_REDUCE_H
#define HW_EXCHANGE_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns how many of count >= 2 blocks form the left subtree: the largest power of two below count. */
static inline uint32_t hw_left_of(uint32_t count)
{
    uint32_t left = 1;
    while (left < count - left)
        left *= 2;
    return left;
}

/* A range of blocks. */
typedef struct hw_reduce_run {
    uint32_t begin, end;
} hw_reduce_run;

/* Returns the largest subtree over `blocks` blocks that contains `block` and lies within `within`, which contains `block`
 * too. */
static inline hw_reduce_run hw_subtree_in(uint32_t blocks, uint32_t block, hw_reduce_run within)
{
    hw_reduce_run tree = {0, blocks};
    while (tree.end - tree.begin > 1 && (tree.begin < within.begin || tree.end > within.end)) {
        uint32_t middle = tree.begin + hw_left_of(tree.end - tree.begin);
        if (block < middle)
            tree.end = middle;
        else
            tree.begin = middle;
    }
    return tree;
}

/* Returns true if these blocks form a subtree. */
static inline bool hw_is_subtree(uint32_t blocks, uint32_t first, uint32_t count)
{
    if (first >= blocks || count == 0 || count > blocks - first)
        return false;
    hw_reduce_run tree = hw_subtree_in(blocks, first, (hw_reduce_run){first, first + count});
    return tree.begin == first && tree.end == first + count;
}

/* Returns the canonical sum of numbers, by one fixed binary tree whose left half is the largest power of two below its size.
 * Replicas add up vectors by the same tree (hw_range_sum), whose subtrees may be added up on the way (adding.h). */
double hw_reduce_scalars(const double *parts, uint32_t count);

#endif
