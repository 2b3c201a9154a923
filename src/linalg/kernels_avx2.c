/* kernels_avx2.c - the kernels with 256-bit registers. */
#include "linalg/variants.h"

#if defined(__x86_64__)
#define HW_TARGET         __attribute__((target("avx2")))
#define HW_WIDTH          4
#define HW_VARIANT        hw_kernels_avx2
#define HW_VARIANT_NAME   "avx2"
#define HW_ROWS_LINES     4
#define HW_ROWS_REGISTERS 2
#define HW_COLUMNS        2
#define HW_TILE_A         2
#define HW_TILE_B         3

#include "linalg/kernels_template.h"
#endif
