/* memory.h - visits the fields that a block of the lasso keeps from clock to clock. */
#ifndef HW_ALGORITHMS_LASSO_MEMORY_H
#define HW_ALGORITHMS_LASSO_MEMORY_H

#include "hawser/hawser.h"
#include "hawser/record.h"

/* Visits the scratch of the lasso's program, a hw_lasso_block. */
void hw_lasso_visit(hawser_record *record, hawser_context *context);

#endif
