/* npy.h - numpy's .npy files: one or two dimensions, little-endian f4 or f8, C or Fortran order. */
#ifndef HW_DATA_NPY_H
#define HW_DATA_NPY_H

#include "base/file.h"
#include "data/source/parse.h"

#define HW_NPY_MAGIC "\x93NUMPY"

/* The shape of a file: numbers of four or eight bytes, by rows or by columns. */
typedef struct hw_npy_shape {
    bool single, fortran;
    int dimensions; /* 1 or 2 */
    size_t sizes[2];
} hw_npy_shape;

/* Writes the header before the numbers, padded to 64 bytes as the format requires. */
hawser_status hw_npy_head(hw_file *file, const hw_npy_shape *shape, hawser_error *error) HAWSER_MUST_USE;

#endif
