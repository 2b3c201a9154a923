/* options.h - the option and metric rows of the logistic regression, and its page of the help. */
#ifndef HW_ALGORITHMS_LOGISTIC_OPTIONS_H
#define HW_ALGORITHMS_LOGISTIC_OPTIONS_H

#include "hawser/algorithm.h"

extern const hawser_option hw_logistic_options[];
extern const hawser_metric_row hw_logistic_metrics[];
extern const hawser_topic hw_logistic_topics[];

#endif
