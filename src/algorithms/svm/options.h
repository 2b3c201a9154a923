/* options.h - the option and metric rows of support vector machines. */
#ifndef HW_ALGORITHMS_SVM_OPTIONS_H
#define HW_ALGORITHMS_SVM_OPTIONS_H

#include "hawser/algorithm.h"

extern const hawser_option hw_svm_rows[];
extern const hawser_metric_row hw_svm_metrics[];

#endif
