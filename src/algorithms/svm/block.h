/* block.h - what a block keeps between iterations: the dual variables of its rows, and a copy of all coefficients. */
#ifndef HW_ALGORITHMS_SVM_BLOCK_H
#define HW_ALGORITHMS_SVM_BLOCK_H

#include "algorithms/svm/problem.h"

/* What a block remembers of one problem; the same on all blocks. */
typedef struct hw_svm_memory {
    double sum;       /* of beta over all rows */
    double centre;    /* the intercept that the next one is held near */
    double low, high; /* the best dual and primal objective so far */
    bool done;        /* their gap is small enough */
} hw_svm_memory;

typedef struct hw_svm_block {
    const hw_svm *svm; /* NULL: nothing is made yet */
    hawser_matrix X;
    hawser_beside beside;
    size_t width; /* numbers of a model: the coefficients, then the intercept */
    /* Remembered. */
    uint64_t iteration;
    double scale;          /* mean of the rows' squared norms */
    hw_svm_memory *memory; /* by problem */
    double *beta;          /* by problem, then by row */
    double *w;             /* by problem, `width` numbers: sum_i beta_i x_i over all rows; the last one is not used */
    double *best;          /* likewise: the models of memory->high */
    /* Caches. */
    double *squares; /* of the rows */
    double *margins; /* of the rows, without an intercept */
    double *view;    /* one model */
    double *reduced;
    size_t *order, *active; /* rows in the order of a pass; those that may move */
} hw_svm_block;

/* Makes the block if it has not been made, or has been dropped since. */
hawser_status hw_svm_block_open(hawser_context *context, hw_svm_block **block) HAWSER_MUST_USE;
void hw_svm_block_release(void *block);
void hw_svm_block_visit(hawser_record *record, hawser_context *context);
/* Estimates its bytes for `rows` of X. */
uint64_t hw_svm_block_bytes(const hw_svm *svm, uint64_t rows);

/* Returns the example weight of a row of the block. */
static inline double hw_svm_weight(const hw_svm_block *block, size_t row)
{
    return block->beside.weights != NULL ? block->beside.weights[row] : 1.0;
}

static inline hw_svm_row hw_svm_row_at(const hw_svm_block *block, size_t problem, size_t row)
{
    return hw_svm_row_of(block->svm, problem, block->beside.target[row], hw_svm_weight(block, row));
}

#endif
