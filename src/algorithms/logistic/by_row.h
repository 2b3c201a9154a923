/*
 * by_row.h - delayed block proximal gradient by rows (Li et al. 2014, algorithm 3). A block has the entries of its own rows.
 * In a clock it computes the gradient of a group of columns over its rows. The servers sum the gradients of all blocks, and
 * every block takes the same proximal step by the sum.
 */
#ifndef HW_ALGORITHMS_LOGISTIC_BY_ROW_H
#define HW_ALGORITHMS_LOGISTIC_BY_ROW_H

#include "algorithms/glm/program.h"

struct hw_newton_block;
struct hw_logistic_by_row;

/* Adds the work between two certificates, for --solver dbpg with rows on the blocks. It uses the metrics of delayed.h, but
 * for "moved". */
void hw_logistic_by_row_work(const hw_linear_frame *frame);
/* Visits the state that a block keeps from clock to clock. */
void hw_logistic_by_row_visit(hawser_record *record, hawser_context *context, struct hw_newton_block *block);
void hw_logistic_by_row_free(struct hw_logistic_by_row *by_row);

#endif
