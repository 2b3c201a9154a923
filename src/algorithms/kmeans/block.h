/* block.h - what a block keeps between iterations: the clusters of its rows, which it must remember, and caches. */
#ifndef HW_ALGORITHMS_KMEANS_BLOCK_H
#define HW_ALGORITHMS_KMEANS_BLOCK_H

#include "algorithms/kmeans/centres.h"
#include "algorithms/kmeans/problem.h"
#include "algorithms/kmeans/tile.h"
#include "algorithms/model/unit.h"
#include "hawser/record.h"

/* What a block must remember. */
typedef struct hw_kmeans_memory {
    uint64_t start, iteration; /* number of the start; iterations of this start that have ended */
    double best;               /* the least inertia of all starts */
    bool assigned;             /* labels are those of an earlier iteration */
    double smooth, least;      /* mini-batches: the smoothed inertia per weight, and the least of these */
    uint64_t stalled;          /* batches since the least */
    hw_early_count early;      /* of this start */
} hw_kmeans_memory;

typedef struct hw_kmeans_block {
    const hw_kmeans *kmeans; /* NULL: nothing is made yet */
    hw_centre_rows shifted;  /* the rows of X, where they are shifted */
    hawser_matrix X;
    hw_kmeans_points points;
    hw_kmeans_centres centres; /* a copy of the state's, in the forms that distances need */
    hawser_beside beside;
    hw_kmeans_memory memory;
    uint32_t *labels; /* remembered */
    double *counts;   /* remembered: mini-batches, the weight that each centre has received; NULL else */
    double *squares;  /* squared distance of each row to its centre */
    double *sums,
        *weights; /* of each cluster's rows in this block; `summed`: those of the clusters that are not `stale` hold */
    bool *stale;
    bool summed;
    double *lower; /* rows x groups: no centre of the group, except the row's own, is nearer; `bounded`: they hold */
    bool bounded;
    bool bounds;           /* this assignment uses bounds, or makes them */
    size_t marks, changed; /* of the last assignment: groups that bounds have not spared, and rows of a new cluster */
    size_t rest, pause;    /* assignments until bounds are tried again, and the next number of these */
    double *drift;         /* by group: how far its centres have moved since the bounds were made, and space for choices */
    double *before;        /* the centres of the bounds */
    double *reduced;       /* the numbers of a reduction */
    /* One tile of rows. */
    hw_kmeans_tile tile;
    uint32_t nearest[HW_KMEANS_TILE];
    double *products, *apart, *own, *upper;
    float *floats;
    bool *seen; /* groups that a row is compared with */
    size_t *list;
    void *packed;
    size_t packed_bytes;
    hw_arrays arrays;
} hw_kmeans_block;

/* Makes the block if it has not been made, or has been dropped since. */
hawser_status hw_kmeans_block_open(hawser_context *context, hw_kmeans_block **block) HAWSER_MUST_USE;
void hw_kmeans_block_release(void *block);
void hw_kmeans_block_visit(hawser_record *record, hawser_context *context);
/* Estimates its bytes for `rows` of X. */
uint64_t hw_kmeans_block_bytes(const hw_kmeans *kmeans, uint64_t rows);
/* Returns how many of these its visit writes. */
uint64_t hw_kmeans_record_bytes(const hw_kmeans *kmeans, uint64_t rows);

/* Returns the example weight of a row of the block. */
static inline double hw_kmeans_weight(const hw_kmeans_block *block, size_t row)
{
    return block->beside.weights != NULL ? block->beside.weights[row] : 1.0;
}

#endif
