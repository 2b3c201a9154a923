/*
 * delayed.h - delayed block proximal gradient (Li et al. 2014, section 5.1). A parameter server keeps the margins; each
 * block sends it the changes that its steps make, and keeps the weights of its own columns.
 */
#ifndef HW_ALGORITHMS_LOGISTIC_DELAYED_H
#define HW_ALGORITHMS_LOGISTIC_DELAYED_H

#include "algorithms/glm/program.h"

struct hw_newton_block;
struct hw_logistic_delayed;

/* Adds the work between two certificates, for --solver dbpg. */
void hw_logistic_delayed_work(const hw_linear_frame *frame);
/* Declares its metrics. "suppressed": columns that the KKT filter left out. "caution": the factor by which steps are
 * shortened. "moved": how far the last steps of all blocks together would have moved a margin. "near": by row, an estimate
 * of the gap. */
void hw_logistic_delayed_declare(hawser_program *program);
/* Visits the state that a block keeps from clock to clock. */
void hw_logistic_delayed_visit(hawser_record *record, struct hw_newton_block *block);
void hw_logistic_delayed_free(struct hw_logistic_delayed *delayed);

#endif
