/* options.h - the option and metric rows of softmax regression. */
#ifndef HW_ALGORITHMS_SOFTMAX_OPTIONS_H
#define HW_ALGORITHMS_SOFTMAX_OPTIONS_H

#include "hawser/algorithm.h"

extern const hawser_option hw_softmax_rows[];
extern const hawser_metric_row hw_softmax_metrics[];
extern const hawser_topic hw_softmax_topics[];

#endif
