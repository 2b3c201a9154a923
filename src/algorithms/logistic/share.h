/*
 * share.h - the working sets of all blocks solved as one by all blocks. Every block does alike what costs little, and passes, of which
 * each coordinate waits for the one before; of what costs much else each does a part, and all go on with the sums: moments of the
 * members by curvature and their pulls (each block takes some of them), the products of conjugate gradients and the image of the step
 * that they come to (each its own rows, on a copy of the members' entries there).
 */
#ifndef HW_ALGORITHMS_LOGISTIC_SHARE_H
#define HW_ALGORITHMS_LOGISTIC_SHARE_H

#include "algorithms/logistic/board.h"
#include "algorithms/solve/reduction.h"

typedef struct hw_logistic_share {
    hw_linear_part part;
    hw_logistic_newton_state *newton; /* NULL: not begun, or done */
    hw_linear_reduction reduction;    /* as old as the exchanged state */
    /* what block->whole has learned from models that were shared: of others one block alone knows */
    hw_logistic_learned learned;
    bool taught;      /* there is such a thing */
    double *solution; /* by member, as on the board */
    size_t count;     /* of the members */
    bool shared;      /* they are worth it */
    bool begun, solved;
    bool stopping; /* all blocks have been told so at the same clock */
} hw_logistic_share;

/* Of the state through which it is shared. */
size_t hw_logistic_share_sums(const hw_linear *linear);
/* Whether a working set as it is expected is worth sharing; how much of the state it then takes. */
bool hw_logistic_share_expected(const hw_linear *linear);
size_t hw_logistic_share_expected_sums(const hw_linear *linear);
/* Settles whether what is on the board is worth sharing; forgets the last time. */
hawser_status hw_logistic_share_weigh(hw_logistic_block *block, const double *board, hawser_error *error) HAWSER_MUST_USE;
/* Begins it, from v and block->point there, which are the same on all blocks. The columns have to be at hand. */
hawser_status hw_logistic_share_begin(hw_logistic_block *block, const double *board, const double *v, double lambda,
                                      const hw_logistic_effort *effort, uint32_t own, hawser_error *error) HAWSER_MUST_USE;
/* Runs to the next sums, or to the end (share->solved). `sums` is the exchanged state, of which the first *changed numbers may have
 * changed. */
hawser_status hw_logistic_share_step(hw_logistic_block *block, hw_linear_stop stop, uint32_t own, double *sums,
                                     size_t *changed, hawser_error *error) HAWSER_MUST_USE;
void hw_logistic_share_free(hw_logistic_share *share);

#endif
