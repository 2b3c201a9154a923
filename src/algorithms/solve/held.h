/* held.h - a dual point, by row, that several blocks of a process hold. Its values are written before it is shared. */
#ifndef HW_ALGORITHMS_SOLVE_HELD_H
#define HW_ALGORITHMS_SOLVE_HELD_H

#include <stdatomic.h>
#include <stddef.h>

typedef struct hw_linear_held {
    atomic_size_t holders;
    double values[];
} hw_linear_held;

/* Returns a point of `count` numbers with one holder, or NULL if there is no memory. */
hw_linear_held *hw_linear_held_new(size_t count);
/* Makes *to hold `dual` in place of what it holds; either may be NULL. The last holder frees a point. Threads may do so at
 * the same time for different *to. */
void hw_linear_hold(hw_linear_held **to, hw_linear_held *dual);

#endif
