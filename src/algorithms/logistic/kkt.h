/* kkt.h - the KKT filter of delayed block proximal gradient (Li et al. 2014, section 5.1), by column and by row. */
#ifndef HW_ALGORITHMS_LOGISTIC_KKT_H
#define HW_ALGORITHMS_LOGISTIC_KKT_H

#include "algorithms/newton/block.h"

/* Leaves out the columns of the block that are at zero with a gradient inside the penalty's dead zone by more than the
 * largest violation of any column of the block. active: by column of the block; all if `filter` is false. Returns how many
 * were left out. */
size_t hw_logistic_kkt(const hw_newton_block *block, const double *alpha, double lambda, bool filter, bool *active);

#endif
