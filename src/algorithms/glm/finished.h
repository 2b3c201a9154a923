/* finished.h - brings the coefficients of a path's finished members to node 0 (choice/finished.h): each block has only those
 * of its own columns. The driver's record has the rest of a member. */
#ifndef HW_ALGORITHMS_GLM_FINISHED_H
#define HW_ALGORITHMS_GLM_FINISHED_H

#include "algorithms/glm/linear.h"

/* Returns what a unit that gathers so many coefficients reduces. */
size_t hw_linear_finished_reduces(size_t coefficients, size_t blocks);
/* Stores the coefficients and the intercepts of a member in linear->finished on block 0, which is on node 0, and 1 in its
 * table: this block's coefficients are values[0] ... values[count - 1], at `first` among all. Collective over the blocks of
 * a unit that reduces. */
hawser_status hw_linear_finished_gather(hawser_context *context, size_t member, const double *values, size_t first,
                                        size_t count, const double *intercepts) HAWSER_MUST_USE;

#endif
