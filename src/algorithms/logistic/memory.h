/* memory.h - what a block of the logistic regression remembers from clock to clock. */
#ifndef HW_ALGORITHMS_LOGISTIC_MEMORY_H
#define HW_ALGORITHMS_LOGISTIC_MEMORY_H

#include "hawser/hawser.h"

/* Visits the scratch of the program, a hw_logistic_block. */
void hw_logistic_visit(hawser_record *record, hawser_context *context);

#endif
