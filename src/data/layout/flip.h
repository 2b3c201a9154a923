/* flip.h - from columns to rows and back. */
#ifndef HW_DATA_FLIP_H
#define HW_DATA_FLIP_H

#include "hawser/matrix.h"

/* The other layout of a sparse matrix, or of some of its lines; the arrays are the holder's, released with free(). */
typedef struct hw_flipped {
    hawser_matrix matrix;
    uint64_t *offsets;
    uint32_t *indices;
    void *values;
} hw_flipped;

/* Rows [begin, end) of a CSC matrix as CSR, or columns [begin, end) of a CSR matrix as CSC; `first` is kept at zero. Nothing is
 * left to release on failure. */
hawser_status hw_flip(const hawser_matrix *A, size_t begin, size_t end, hw_flipped *out,
                      hawser_error *error) HAWSER_MUST_USE;
void hw_flip_free(hw_flipped *flipped);

#endif
