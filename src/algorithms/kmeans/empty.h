/* empty.h - clusters that no row is in. */
#ifndef HW_ALGORITHMS_KMEANS_EMPTY_H
#define HW_ALGORITHMS_KMEANS_EMPTY_H

#include "algorithms/kmeans/block.h"

/* Gives each cluster without weight, in ascending order, the row that is farthest from its own centre as only member, as
 * scikit-learn does; of equally far rows the first. The row leaves the sum of its cluster. If all rows are on their centres,
 * the cluster stays empty. `sums` and `weights` are those of all blocks. Collective. */
hawser_status hw_kmeans_fill_empty(hawser_context *context, hw_kmeans_block *block, double *sums, double *weights);

#endif
