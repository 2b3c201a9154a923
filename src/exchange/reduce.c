#include <string.h>

#include "exchange/exchange.h"
#include "exchange/reduce.h"

/* The sum of parts[begin .. begin + count), left in the left-most vector that is there; NULL when none is. */
static double *sum_range(double **parts, uint32_t begin, uint32_t count, size_t n)
{
    if (count == 1)
        return parts[begin];
    uint32_t left_count = hw_left_of(count);
    double *left = sum_range(parts, begin, left_count, n);
    double *right = sum_range(parts, begin + left_count, count - left_count, n);
    if (left == NULL || right == NULL)
        return left != NULL ? left : right;
    for (size_t i = 0; i < n; i++)
        left[i] += right[i];
    return left;
}

void hw_reduce(double **parts, uint32_t count, size_t n, double *out)
{
    double *sum = count > 0 ? sum_range(parts, 0, count, n) : NULL;
    if (sum == NULL)
        memset(out, 0, n * sizeof *out);
    else if (sum != out)
        memcpy(out, sum, n * sizeof *out);
}

double hw_reduce_scalars(const double *parts, uint32_t count)
{
    if (count == 0)
        return 0;
    if (count == 1)
        return parts[0];
    uint32_t left_count = hw_left_of(count);
    return hw_reduce_scalars(parts, left_count) + hw_reduce_scalars(parts + left_count, count - left_count);
}
