/* variants.h - the tables of the kernels_*.c files. */
#ifndef HW_LINALG_VARIANTS_H
#define HW_LINALG_VARIANTS_H

#include "linalg/kernels.h"

extern const hw_kernels hw_kernels_portable;
#if defined(__x86_64__)
extern const hw_kernels hw_kernels_avx2;
extern const hw_kernels hw_kernels_avx512;
#endif

#endif
