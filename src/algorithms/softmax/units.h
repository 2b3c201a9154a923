/* units.h - a step of softmax regression, and what is reported of it. The functions of hw_member_method. */
#ifndef HW_ALGORITHMS_SOFTMAX_UNITS_H
#define HW_ALGORITHMS_SOFTMAX_UNITS_H

#include "algorithms/softmax/block.h"

hawser_status hw_softmax_step(hawser_context *context, void *block, hw_member_step *step);
hawser_status hw_softmax_held_out(hawser_context *context, void *block, double sums[2]);
hawser_status hw_softmax_report(hawser_context *context, const void *block);
extern const char *const hw_softmax_reported[];

#endif
