/* kernels_avx512.c - the kernels with 512-bit registers. */
#include "linalg/variants.h"

#if defined(__x86_64__)
#define HW_TARGET         __attribute__((target("avx512f")))
#define HW_WIDTH          8
#define HW_VARIANT        hw_kernels_avx512
#define HW_VARIANT_NAME   "avx512"
#define HW_ROWS_LINES     4
#define HW_ROWS_REGISTERS 4
#define HW_COLUMNS        4
#define HW_TILE_A         4
#define HW_TILE_B         4

#include "linalg/kernels_template.h"
#endif
