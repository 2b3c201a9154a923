/* program.h - the units and the work of Newton's method on working sets, from which the algorithms with a loss (loss.h) make
 * their programs. */
#ifndef HW_ALGORITHMS_NEWTON_PROGRAM_H
#define HW_ALGORITHMS_NEWTON_PROGRAM_H

#include "algorithms/glm/expect.h"
#include "algorithms/glm/program.h"
#include "hawser/record.h"

/* The scratch of their blocks begins with a hw_newton_block. */
hawser_unit_function hw_newton_prepare, hw_newton_measure, hw_newton_bound, hw_newton_choose;
const double *hw_newton_intercepts(const void *scratch);
void hw_newton_declare(hawser_program *program);
/* Visits what a block remembers from clock to clock (memory.c). Returns false if nothing follows: the block is not prepared,
 * or the record has failed. */
bool hw_newton_visit(hawser_record *record, hawser_context *context);

/* Adds the work between two certificates. */
void hw_newton_work(const hw_linear_frame *frame);
/* Returns the memory that units and work need. If a parameter server keeps the weights, only that of certificates. */
hw_linear_needs hw_newton_needs(const hw_linear *linear);

#endif
