/*
 * reduction.h - numbers that all blocks add up, a clock each time, through one replicated state. Blocks exchange differences: put in
 * the place of a last share that was larger by many digits, a share would lose its own to that one's rounding. So shares are added to
 * zeros. The state holds two sets of numbers that take turns: one takes the shares of a clock, and of the other, which all have heard,
 * each number is made zero again by one block, which is exact.
 */
#ifndef HW_ALGORITHMS_SOLVE_REDUCTION_H
#define HW_ALGORITHMS_SOLVE_REDUCTION_H

#include "algorithms/solve/space.h"

/* The same on all blocks, and as old as the state: a run of reductions that ends, or is cut short, leaves its turn to the next. */
typedef struct hw_linear_reduction {
    double *sums; /* of the last shares, once they are heard */
    size_t turn;  /* the set that takes the next shares: 0 or 1; it is zero */
    size_t held;  /* numbers of the other one that may be none, from its first on */
    double asked; /* what this block has in the state's first number: 1 asks all to stop */
} hw_linear_reduction;

/* Numbers of a state for sums of `most` numbers. */
size_t hw_linear_reduction_size(size_t most);
/* All zero before, as the state is. Free with hw_linear_reduction_free. */
hawser_status hw_linear_reduction_new(hw_linear_reduction *reduction, size_t most, hawser_error *error) HAWSER_MUST_USE;
void hw_linear_reduction_free(hw_linear_reduction *reduction);
/* Puts reduction->held numbers into reduction->sums; returns whether somebody asked all to stop, which all hear at the same clock. */
bool hw_linear_reduction_hear(hw_linear_reduction *reduction, const double *state);
/* Adds the share of block `own`; at the end an empty one. Returns how many numbers of the state may have changed, from its first on. */
size_t hw_linear_reduction_put(hw_linear_reduction *reduction, hw_linear_share share, bool stop, uint32_t own,
                               uint32_t blocks, double *state);

#endif
