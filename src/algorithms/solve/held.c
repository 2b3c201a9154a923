#include "algorithms/solve/held.h"

#include <stdlib.h>

hw_linear_held *hw_linear_held_new(size_t count)
{
    hw_linear_held *dual = malloc(sizeof *dual + count * sizeof *dual->values);
    if (dual != NULL)
        atomic_init(&dual->holders, 1);
    return dual;
}

void hw_linear_hold(hw_linear_held **to, hw_linear_held *dual)
{
    hw_linear_held *before = *to;
    if (dual != NULL)
        atomic_fetch_add(&dual->holders, 1);
    *to = dual;
    if (before != NULL && atomic_fetch_sub(&before->holders, 1) == 1)
        free(before);
}
