/* options.h - k-means' option and metric rows. */
#ifndef HW_ALGORITHMS_KMEANS_OPTIONS_H
#define HW_ALGORITHMS_KMEANS_OPTIONS_H

#include "hawser/algorithm.h"

extern const hawser_option hw_kmeans_rows[];
extern const hawser_metric_row hw_kmeans_metrics[];

#endif
