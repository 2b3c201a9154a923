/* options.h - the option and metric rows of topic models. */
#ifndef HW_ALGORITHMS_LDA_OPTIONS_H
#define HW_ALGORITHMS_LDA_OPTIONS_H

#include "hawser/algorithm.h"

extern const hawser_option hw_lda_rows[];
extern const hawser_metric_row hw_lda_metrics[];

#endif
