/* transpose.h - the numbers of several models: by column, with a number per model side by side, or model by model. */
#ifndef HW_ALGORITHMS_MODEL_TRANSPOSE_H
#define HW_ALGORITHMS_MODEL_TRANSPOSE_H

#include <stddef.h>

/* Stores rows x cols numbers, which are row after row, column after column. */
static inline void hw_transpose(const double *from, size_t rows, size_t cols, double *to)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            to[c * rows + r] = from[r * cols + c];
}

#endif
