/* memory.h - what a block remembers from clock to clock. */
#ifndef HW_ALGORITHMS_NEWTON_MEMORY_H
#define HW_ALGORITHMS_NEWTON_MEMORY_H

#include "hawser/hawser.h"
#include "hawser/record.h"

/* Visits the scratch of the program, which begins with a hw_newton_block. Returns false if nothing follows: the block is not
 * prepared, or the record has failed. */
bool hw_newton_visit(hawser_record *record, hawser_context *context);

#endif
