/* options.h - the lasso's option and metric rows. */
#ifndef HW_ALGORITHMS_LASSO_OPTIONS_H
#define HW_ALGORITHMS_LASSO_OPTIONS_H

#include "hawser/algorithm.h"

extern const hawser_option hw_lasso_rows[];
extern const hawser_topic hw_lasso_topics[];
extern const hawser_metric_row hw_lasso_metrics[];

#endif
