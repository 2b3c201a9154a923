/* flip.h - converts columns to rows and back. */
#ifndef HW_DATA_FLIP_H
#define HW_DATA_FLIP_H

#include "hawser/matrix.h"

/* The other layout of a matrix, or of some lines of a sparse one. The holder frees the arrays. */
typedef struct hw_flipped {
    hawser_matrix matrix;
    uint64_t *offsets;
    uint32_t *indices;
    void *values;
} hw_flipped;

/* Converts rows [begin, end) of a CSC matrix to CSR, or columns [begin, end) of a CSR matrix to CSC; `first` stays zero.
 * After a failure there is nothing to free. */
hawser_status hw_flip(const hawser_matrix *A, size_t begin, size_t end, hw_flipped *out,
                      hawser_error *error) HAWSER_MUST_USE;
/* Converts HAWSER_DENSE to HAWSER_DENSE_ROWS and back. After a failure there is nothing to free. */
hawser_status hw_flip_dense(const hawser_matrix *A, hw_flipped *out, hawser_error *error) HAWSER_MUST_USE;
void hw_flip_free(hw_flipped *flipped);

#endif
