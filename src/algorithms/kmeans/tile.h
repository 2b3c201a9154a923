/* tile.h - the nearest centres of a tile of dense rows, in vectors: one lane for each row. */
#ifndef HW_ALGORITHMS_KMEANS_TILE_H
#define HW_ALGORITHMS_KMEANS_TILE_H

#include "algorithms/kmeans/centres.h"

/* Memory for one tile, in numbers of the arithmetic, and the columns of all tiles where they are small. */
typedef struct hw_kmeans_tile {
    bool usable;    /* false: the rows are sparse, or some columns may be on other nodes */
    bool keeps;     /* rows holds all columns of all tiles, one tile after another */
    size_t copied;  /* `keeps`: the tiles of rows [0, copied) are there */
    void *rows;     /* some columns of the tile's rows, column by column */
    void *products; /* clusters x tile: products of each centre with the rows, by place */
    void *nearest;  /* 3 x tile: of each row the least distance, the second least, and the place of the nearest */
    double *of_row; /* by place: distances of one row */
    hw_arrays arrays;
} hw_kmeans_tile;

/* Estimates the bytes for `rows` of X. */
uint64_t hw_kmeans_tile_bytes(const hawser_matrix *X, uint64_t rows, uint64_t clusters, bool single);
/* Allocates nothing if X is not usable. */
hawser_status hw_kmeans_tile_new(hw_kmeans_tile *tile, const hawser_matrix *X, const hw_kmeans_centres *centres,
                                 hawser_error *error) HAWSER_MUST_USE;
void hw_kmeans_tile_free(hw_kmeans_tile *tile);

/* Finds the nearest centres of rows [begin, end) of the points and stores them in nearest[0, end - begin). The rows are a
 * tile: `begin` is a multiple of HW_KMEANS_TILE, and the tiles before have been first. `tile` is usable, and its points are
 * always the same. */
void hw_kmeans_nearest_of_tile(const hw_kmeans_points *points, const hw_kmeans_centres *centres, size_t begin, size_t end,
                               hw_kmeans_tile *tile, uint32_t *nearest);

#endif
