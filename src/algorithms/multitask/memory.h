/* memory.h - the visit of a block's memory (hawser/record.h). */
#ifndef HW_ALGORITHMS_MULTITASK_MEMORY_H
#define HW_ALGORITHMS_MULTITASK_MEMORY_H

#include "hawser/hawser.h"
#include "hawser/record.h"

void hw_multitask_visit(hawser_record *record, hawser_context *context);

#endif
