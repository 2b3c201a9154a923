/* npy.h - numpy's .npy files: one or two dimensions, little-endian f4 or f8, C or Fortran order. */
#ifndef HW_DATA_NPY_H
#define HW_DATA_NPY_H

#include "data/format/parse.h"

#define HW_NPY_MAGIC "\x93NUMPY"

/* Loads the files of the job, one below the other. */
hawser_status hw_npy_load(hw_job *job, hawser_dataset *dataset, hawser_error *error) HAWSER_MUST_USE;

#endif
