/* block.h - what a block keeps between steps: its rows' probabilities, and a copy of the model and of the gradient. */
#ifndef HW_ALGORITHMS_SOFTMAX_BLOCK_H
#define HW_ALGORITHMS_SOFTMAX_BLOCK_H

#include "algorithms/learner/method.h"
#include "algorithms/learner/row_tiles.h"
#include "algorithms/model/arrays.h"
#include "algorithms/softmax/problem.h"
#include "algorithms/softmax/quadratic.h"

/* What a block remembers; the same on all blocks. */
typedef struct hw_softmax_memory {
    uint64_t products;
    uint64_t conjugate; /* the most steps of conjugate gradients in the next step */
    uint64_t others;    /* passes since the last step on a working set */
    uint64_t idle;      /* steps since the objective fell by more than its rounding error */
    bool trusted;       /* a large working set, which others paid for, has been of use */
    double total;       /* of the example weights */
    double counted;     /* rows with an example weight above 0, held out or not */
    double lambda;      /* weight of the penalty */
    double zero;        /* the objective without coefficients */
    double loss;        /* of W */
    double entropy;     /* of the probabilities of W, weighted mean over the rows */
    double objective;   /* of W */
    double bound;       /* the best lower bound of the optimum */
    double bound_error; /* bounds of rounding errors: of the bound, and of the objective */
    double error;
    double slope;      /* norm of the first gradient */
    double lambda_max; /* of all rows; 0 where the derivatives are but rounding */
} hw_softmax_memory;

typedef struct hw_softmax_score {
    double score; /* what a step of this entry of the model promises */
    uint32_t entry, class;
} hw_softmax_score;

/* The working set of a step: see working_set.h. */
typedef struct hw_softmax_set {
    hw_softmax_score *scores; /* the first ones are the members, ordered by class, then column */
    uint32_t *columns;        /* the `used` columns of the members; the intercepts' is the last one */
    uint32_t *slots;          /* by column: its place in `columns`, or UINT32_MAX */
    size_t used;
    bool holds;                     /* all coefficients that are not zero are members */
    bool large;                     /* the matrix costs more than some passes over the rows */
    double *tiles;                  /* four of HW_ROW_TILE x members */
    hw_softmax_quadratic quadratic; /* with a number per member */
} hw_softmax_set;

/* Where folds are abreast (row_path.h), what the last fit of each remembers, from which that of its next lambda starts. Fold
 * 0 is that of all rows. */
typedef struct hw_softmax_folds {
    hw_softmax_memory *memory; /* by fold */
    double *numbers;           /* by fold: copies of the block's arrays from W to means */
} hw_softmax_folds;

/* All arrays of `width` numbers have the shape of a model. With intercepts, these are models of centred columns: X stays as
 * it is, but products take the means from it. What is far from zero is shifted before (model/centre.h). Otherwise the
 * intercepts and the coefficients of columns far from zero could only change together, in very small steps. */
typedef struct hw_softmax_block {
    hw_member_block own;
    const hw_softmax *softmax;
    hawser_matrix X;
    hw_row_tiles tiles; /* of X, shifted */
    hawser_beside beside;
    /* Remembered. */
    hw_softmax_memory memory;
    double *W, *gradient; /* the model, and the gradient of its mean loss */
    /* sum over the rows of each class of weight times row, divided by the total; the last row has the shares of the
     * classes */
    double *sums;
    double *scale;   /* by column: the factor of the penalty, 1 unless columns are standardized */
    double *squares; /* by column: weighted mean of the squares, not centred */
    double *means;   /* by column: weighted means; zeros without an intercept */
    hw_softmax_folds folds;
    /* Caches. */
    bool fresh;            /* the probabilities are those of W */
    uint32_t *classes;     /* of the rows; UINT32_MAX: the example weight is 0 */
    double *probabilities; /* rows x classes */
    double *tile, *rank;   /* HW_ROW_TILE x classes each */
    double *reduced;       /* width + 2 */
    double *intercepts;    /* hw_softmax_uncentre */
    double *slopes, *step, *trial, *residual, *direction, *conditioned;
    hw_softmax_set set;
    hw_arrays arrays; /* all of the above, and of the set */
} hw_softmax_block;

/* The functions of hw_member_method. */
hawser_status hw_softmax_block_make(void *block, const void *own, const hawser_matrix *X, uint32_t number,
                                    hawser_error *error);
void hw_softmax_block_drop(void *block);
void hw_softmax_block_visit(hawser_record *record, hawser_context *context, void *block);
/* Estimates its bytes for `rows` of X, and those of its visit. */
uint64_t hw_softmax_block_bytes(const hw_softmax *softmax, uint64_t rows);
uint64_t hw_softmax_record_bytes(const hw_softmax *softmax);
/* Keeps the fit of a fold, which has ended, or brings it back. Products are counted on. */
void hw_softmax_keep_fold(hw_softmax_block *block, size_t fold, bool back);
/* Returns how many multiplications a pass takes per row: it multiplies the row by the model, then by the residuals of the
 * classes. */
double hw_softmax_pass_of_row(const hw_softmax *softmax);
/* Returns the most members of a working set: so many that its matrix costs as much as some hundred passes. */
size_t hw_softmax_set_most(const hw_softmax *softmax);

/* Returns whether a row of the block is held out. */
static inline bool hw_softmax_out(const hw_softmax_block *block, size_t row)
{
    return hw_row_out(&block->softmax->path, &block->own.turn, block->X.first + row);
}
/* Returns the example weight of a row of the block, also if it is held out. */
static inline double hw_softmax_example(const hw_softmax_block *block, size_t row)
{
    return block->beside.weights != NULL ? block->beside.weights[row] : 1.0;
}
/* Returns the place of the row's class, or UINT32_MAX if the row has no weight in the training. */
static inline uint32_t hw_softmax_own(const hw_softmax_block *block, size_t row)
{
    return hw_softmax_out(block, row) ? UINT32_MAX : block->classes[row];
}
/* Returns the weight of a row in the training: that of the example times that of its class; 0 if it is held out. */
static inline double hw_softmax_weight(const hw_softmax_block *block, size_t row)
{
    const double *of_class = hw_row_class_weights(&block->softmax->path, &block->own.turn);
    uint32_t own = hw_softmax_own(block, row);
    return own == UINT32_MAX ? 0.0 : hw_softmax_example(block, row) * (of_class != NULL ? of_class[own] : 1.0);
}

/* Returns whether a model has no coefficient of a column. Most columns of a sparse model have none. */
static inline bool hw_softmax_no_coefficient(const hw_softmax_block *block, const double *model, size_t column)
{
    size_t k = block->softmax->path.classes;
    for (size_t c = 0; c < k; c++)
        if (model[column * k + c] != 0.0)
            return false;
    return true;
}

/* Returns the weights of the L1 norm and of half the squared norm for the coefficients of a column. */
static inline double hw_softmax_l1(const hw_softmax_block *block, size_t column)
{
    return block->memory.lambda * block->softmax->share * block->scale[column];
}
static inline double hw_softmax_l2(const hw_softmax_block *block, size_t column)
{
    return block->memory.lambda * (1.0 - block->softmax->share) * block->scale[column] * block->scale[column];
}
/* Returns the weighted mean square of a column, centred if there are intercepts. */
static inline double hw_softmax_variance(const hw_softmax_block *block, size_t column)
{
    double square = block->squares[column], variance = square - block->means[column] * block->means[column];
    return variance > 1e-13 * square ? variance : 1e-13 * square; /* of a constant column: rounding */
}

#endif
