/* merges.h - the rules of --merge. Columns: enumerator, name, help, and the function of merge.c that returns the damping of
 * each worker's updates. */
#ifndef HW_EXCHANGE_MERGES_H
#define HW_EXCHANGE_MERGES_H

#include <stdint.h>

#include "base/rows.h"

#define HW_MERGES(ROW)                                                                                                      \
    ROW(ADD, "add", "all workers' updates are added up", damping_of_sums)                                                   \
    ROW(AVERAGE, "average", "the mean of the workers' updates is added", damping_of_means)

/* Returns the damping of the updates of each of `blocks` blocks under the rule named `word`. */
double hw_merge_damping(const char *word, uint32_t blocks);

#endif
