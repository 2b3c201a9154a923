/* npy.h - numpy's .npy files: one or two dimensions, little-endian f4 or f8, C or Fortran order. */
#ifndef HW_DATA_NPY_H
#define HW_DATA_NPY_H

#include "base/file.h"
#include "data/source/parse.h"

#define HW_NPY_MAGIC "\x93NUMPY"

/* What lies in a file: numbers of four bytes or of eight, by rows or by columns. */
typedef struct hw_npy_shape {
    bool single, fortran;
    int dimensions; /* 1 or 2 */
    size_t sizes[2];
} hw_npy_shape;

/* Writes what stands in front of the numbers, padded to 64 bytes as the format asks. */
hawser_status hw_npy_head(hw_file *file, const hw_npy_shape *shape, hawser_error *error) HAWSER_MUST_USE;

#endif
