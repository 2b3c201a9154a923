/* kernels_portable.c - the kernels for the instruction set of the build. */
#define HW_TARGET
#define HW_WIDTH          2
#define HW_VARIANT        hw_kernels_portable
#define HW_VARIANT_NAME   "portable"
#define HW_ROWS_LINES     4
#define HW_ROWS_REGISTERS 2
#define HW_COLUMNS        2
#define HW_TILE_A         1
#define HW_TILE_B         2

#include "linalg/variants.h"

#include "linalg/kernels_template.h"
