/* row_tiles.h - a block's rows by tiles, and products of a tile with several models at once. A model is a column of numbers:
 * one per column of X, then the intercept. */
#ifndef HW_ALGORITHMS_LEARNER_ROW_TILES_H
#define HW_ALGORITHMS_LEARNER_ROW_TILES_H

#include "algorithms/model/centre.h"

enum { HW_ROW_TILE = 128 }; /* rows that are multiplied at a time */

/* A block's rows, less the shifts of a centre, which outlives them. */
typedef struct hw_row_tiles {
    hawser_matrix X;
    const hw_centre *centre;
    hw_centre_rows memory;
    size_t every; /* one tile in so many is visited; 1: all, unless the caller changes it */
} hw_row_tiles;

/* Takes the rows of X. The caller calls hw_row_tiles_free, also after a failure. */
hawser_status hw_row_tiles_new(hw_row_tiles *tiles, const hawser_matrix *X, const hw_centre *centre,
                               hawser_error *error) HAWSER_MUST_USE;
void hw_row_tiles_free(hw_row_tiles *tiles);

/* Some consecutive rows; {0} is before the first tile. */
typedef struct hw_row_tile {
    hawser_matrix X;
    size_t begin, count;
} hw_row_tile;

/* Goes on to the next tile. Returns false after the last one. Shifted rows are made anew, and are valid until the next
 * call. */
bool hw_row_next_tile(hw_row_tiles *tiles, hw_row_tile *tile);
/* Stores the products of the rows with the coefficients of `count` models, and adds the intercepts, in `out`, by row. */
void hw_row_tile_multiply(const hw_row_tile *tile, const double *models, const double *intercepts, size_t count,
                          double *out);
/* Adds X^T R to `sums`, and the column sums of R, which has `count` numbers per row, to the row of intercepts. */
void hw_row_tile_accumulate(const hw_row_tile *tile, const double *R, size_t count, double *sums);

#endif
