/* units.h - the units of k-means. */
#ifndef HW_ALGORITHMS_KMEANS_UNITS_H
#define HW_ALGORITHMS_KMEANS_UNITS_H

#include "algorithms/kmeans/problem.h"

/* Draws the centres of a start. */
hawser_status hw_kmeans_begin(hawser_context *context);
/* Checks the rows, and measures the columns' mean variance for the tolerance. */
hawser_status hw_kmeans_prepare(hawser_context *context);
/* One iteration over all rows, and over a mini-batch. */
hawser_status hw_kmeans_step(hawser_context *context);
hawser_status hw_kmeans_batch_step(hawser_context *context);
/* Measures the centres of a start on all rows, and keeps them if they are the best so far. */
hawser_status hw_kmeans_finish(hawser_context *context);
/* Measures the centres kmeans->given of block 0. */
hawser_status hw_kmeans_measure(hawser_context *context);

/* Why a start has ended: the metric "ended", 0 while it goes on. */
typedef enum hw_kmeans_end {
    HW_KMEANS_GOES_ON = 0,
    HW_KMEANS_SETTLED, /* no row has changed its cluster */
    HW_KMEANS_TOLERANCE,
    HW_KMEANS_ITERATIONS,
    HW_KMEANS_EPOCHS,
    HW_KMEANS_PATIENCE,
    HW_KMEANS_EARLY /* --early-stopping */
} hw_kmeans_end;

#endif
