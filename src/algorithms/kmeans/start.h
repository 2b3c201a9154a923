/* start.h - the centres that a start begins with, drawn from the rows of all blocks. */
#ifndef HW_ALGORITHMS_KMEANS_START_H
#define HW_ALGORITHMS_KMEANS_START_H

#include "algorithms/kmeans/block.h"

/* Draws the centres (clusters x columns) of start `start`. Which rows are drawn depends on the seed, the data and the number
 * of blocks. All blocks get the same centres. Collective over the blocks of a unit that reduces up to kmeans->reduced
 * numbers. */
hawser_status hw_kmeans_start(hawser_context *context, hw_kmeans_block *block, uint64_t start, double *centres);

#endif
