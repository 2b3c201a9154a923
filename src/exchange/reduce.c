#include "exchange/reduce.h"

double hw_reduce_scalars(const double *parts, uint32_t count)
{
    if (count == 0)
        return 0;
    if (count == 1)
        return parts[0];
    uint32_t left_count = hw_left_of(count);
    return hw_reduce_scalars(parts, left_count) + hw_reduce_scalars(parts + left_count, count - left_count);
}
