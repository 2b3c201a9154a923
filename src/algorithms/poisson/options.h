/* options.h - the option and metric rows of the Poisson regression, and its page of the help. */
#ifndef HW_ALGORITHMS_POISSON_OPTIONS_H
#define HW_ALGORITHMS_POISSON_OPTIONS_H

#include "hawser/algorithm.h"

extern const hawser_option hw_poisson_options[];
extern const hawser_metric_row hw_poisson_metrics[];
extern const hawser_topic hw_poisson_topics[];

#endif
