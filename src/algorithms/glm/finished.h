/*
 * finished.h - the coefficients of a path's finished members on node 0, so that they outlive the loss of another node: each
 * block has only those of its own columns. A run reads nothing of them. The driver's record has the rest of a member.
 */
#ifndef HW_ALGORITHMS_GLM_FINISHED_H
#define HW_ALGORITHMS_GLM_FINISHED_H

#include "hawser/hawser.h"

/* The coefficients of one member that are not zero, as pairs: the place in the coefficients of all columns, and the
 * value. */
typedef struct hw_finished_member {
    double *pairs, *intercepts;
    size_t count;
} hw_finished_member;

typedef struct hw_finished {
    hw_finished_member *member;
    size_t members, outputs; /* outputs: intercepts of a member */
} hw_finished;

/* Makes space for `members` members. The caller frees *finished with hw_finished_free, also after a failure. */
hawser_status hw_finished_new(hw_finished **finished, size_t members, size_t outputs, hawser_error *error) HAWSER_MUST_USE;
void hw_finished_free(hw_finished *finished);

/* Returns what a unit that gathers so many coefficients reduces. */
size_t hw_finished_reduces(size_t coefficients, size_t blocks);
/* Brings the coefficients of a member to block 0, which is on node 0: this block's are values[0] ... values[count - 1], at
 * `first` among all. Collective over the blocks of a unit that reduces. */
hawser_status hw_finished_gather(hawser_context *context, hw_finished *finished, size_t member, const double *values,
                                 size_t first, size_t count, const double *intercepts) HAWSER_MUST_USE;

/* Fills arrays of zeros from the first `count` members: coefficient e of member k is path[e * members + k], and its
 * intercept of output o is intercepts[k * outputs + o]. Node 0, after the run. */
void hw_finished_fill(const hw_finished *finished, size_t count, double *path, double *intercepts);

#endif
