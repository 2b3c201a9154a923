/* options.h - the option and metric rows of the multi-task lasso. */
#ifndef HW_ALGORITHMS_MULTITASK_OPTIONS_H
#define HW_ALGORITHMS_MULTITASK_OPTIONS_H

#include "hawser/algorithm.h"

extern const hawser_option hw_multitask_rows[];
extern const hawser_metric_row hw_multitask_metrics[];

#endif
