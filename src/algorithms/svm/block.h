/* block.h - what a block keeps between iterations: a copy of all coefficients, and from the dual the dual variables of its
 * rows. */
#ifndef HW_ALGORITHMS_SVM_BLOCK_H
#define HW_ALGORITHMS_SVM_BLOCK_H

#include "algorithms/learner/method.h"
#include "algorithms/learner/row_tiles.h"
#include "algorithms/model/arrays.h"
#include "algorithms/svm/problem.h"

/* What a block remembers of one problem; the same on all blocks. */
typedef struct hw_svm_memory {
    double sum;                   /* of beta over all rows */
    double centre;                /* the intercept that the next one is held near */
    double low, high;             /* the best dual and primal objective so far */
    double low_error, high_error; /* bounds of their rounding errors */
    double weight;                /* primal: of the examples */
    double slope;                 /* primal: norm of the first gradient */
    double width;                 /* primal: h_i is width / c_i */
    double gap;                   /* the gap of an iteration before; primal: the one that `idle` counts from */
    uint64_t idle;                /* primal: iterations without a smaller gap */
    uint64_t products;            /* primal: of the last step's conjugate gradients, of the first problem for all */
    bool done;                    /* their gap is small enough */
    bool stuck;                   /* no smaller gap can be found */
} hw_svm_memory;

/* Bounds of rounding errors. */
typedef struct hw_svm_errors {
    double objective, bound;
} hw_svm_errors;

enum { HW_SVM_GATHERED = 64 };   /* dense rows that are added to a matrix at a time */
enum { HW_SVM_ALONG = 3 };       /* numbers that are added up along a step */
enum { HW_SVM_PIECE = 1 << 15 }; /* numbers of the other blocks that are gathered at a time */

/* What conjugate gradients and the line search keep of one problem during a step. */
typedef struct hw_svm_line {
    double bends; /* sum of the losses' second derivatives */
    double rate, first, share;
    double length, low, high; /* of the step, and a bracket of the best one */
    double along, square;     /* slope along the step at 0, without the losses; square of the step's coefficients */
    double half;              /* half of the square of the coefficients after the whole step */
    bool found;
} hw_svm_line;

/* The memory of the primal. Arrays of the shape of `W` have a row per column of X and one for the intercepts, each with a
 * number per problem. */
typedef struct hw_svm_primal {
    /* Remembered. */
    double *W, *gradient;
    double *best;    /* the models of memory->high */
    double *centres; /* by problem, then by row: of the dual variables; NULL for squared losses, where they are 0 */
    double *squares; /* weighted means of the columns' squares, and of the target's */
    /* Caches. */
    bool fresh;      /* the margins are those of W */
    bool looked;     /* `reduced` has the block's share of hw_svm_look at the margins */
    double *costs;   /* by problem, then by row: c_i, negative if y_i is -1; 0: the row does not count */
    double *margins; /* likewise, with the intercept */
    double *moved;   /* likewise (hw_svm_move) */
    double *bends;   /* likewise, before these, in the same array: the losses' second derivatives */
    double *step, *residual, *direction, *conditioned, *packed;
    double *hessian;  /* by problem, sums over all blocks (hessian.h); NULL: there are many columns */
    double *share;    /* remembered: likewise, those of the block; the same array if it is the only one */
    double *most;     /* remembered: by problem, then by column: what has been added to the diagonal of `share` */
    uint8_t *in;      /* remembered: by problem, then by row: whether `share` has the row */
    bool by_matrix;   /* remembered: matrices are in use */
    double *square;   /* width x width */
    double *gathered; /* 2 HW_SVM_GATHERED rows of `width` */
    double *tile;     /* HW_ROW_TILE x 2 problems */
    double *reduced;  /* hw_svm_primal_reduces */
    double *along;    /* HW_SVM_ALONG by problem: pass.h */
    hw_svm_line *lines;
    size_t *open;    /* problems that are not solved */
    size_t *running; /* those of them whose step is still being computed */
} hw_svm_primal;

/* A copy of the rows of all blocks, where the dual is solved jointly. */
typedef struct hw_svm_copy {
    uint64_t *offsets;
    uint32_t *indices;
    double *values, *target, *weights;
    hw_arrays arrays;
} hw_svm_copy;

/* Where folds are abreast (row_path.h), the last fit of each, from which that of its next C starts: by fold, copies of the
 * block's arrays. Fold 0 is that of all rows. */
typedef struct hw_svm_folds {
    hw_svm_memory *memory; /* NULL: no folds are abreast */
    double *best;
    double *dual; /* `beta`, or the primal's `centres` */
    double *w;    /* of the dual */
} hw_svm_folds;

typedef struct hw_svm_block {
    hw_member_block own;
    const hw_svm *svm;
    hawser_matrix X;    /* the block's rows, or its copy of all rows */
    hw_row_tiles tiles; /* of the block's own rows, shifted */
    hawser_beside beside;
    size_t width;           /* numbers of a model: the coefficients, then the intercept */
    size_t first, problems; /* the problems that the block solves; all, or its share if the dual is solved jointly */
    /* Remembered. */
    bool newton; /* solves the primal; the same on all blocks */
    double C;
    double scale;          /* mean of the rows' squared norms */
    hw_svm_memory *memory; /* by problem */
    double *beta;          /* by problem of the block, then by row */
    double *w;             /* likewise, `width` numbers: sum_i beta_i x_i over all rows; the last one is not used */
    double *best;          /* by problem, `width` numbers: the models of memory->high */
    /* Caches. */
    double *squares; /* of the rows */
    double *margins; /* of the rows, without an intercept */
    double *view;    /* one model */
    size_t moving;   /* rows that may move after the last pass over them */
    double *reduced;
    size_t *order, *active;             /* rows in the order of a pass; those that may move */
    hw_svm_copy copy;                   /* remembered */
    hw_arrays arrays, of_best, of_dual; /* `best`, and what only the dual has, are freed before the rest */
    hw_svm_folds folds;                 /* remembered */
    hw_svm_primal primal;               /* instead of the arrays above except `memory` and `squares`, if `newton` */
} hw_svm_block;

/* The functions of hw_member_method. */
hawser_status hw_svm_block_make(void *block, const void *own, const hawser_matrix *X, uint32_t number, hawser_error *error);
void hw_svm_block_drop(void *block);
void hw_svm_block_visit(hawser_record *record, hawser_context *context, void *block);
void hw_svm_copy_release(hw_svm_copy *copy);
/* Makes a block of the dual one of the primal, whose start is the best model of each problem. Their bounds are kept. */
hawser_status hw_svm_block_turn(hawser_context *context, hw_svm_block *block) HAWSER_MUST_USE;
/* Estimates its bytes for `rows` of X, with the primal or the dual. */
uint64_t hw_svm_block_bytes(const hw_svm *svm, bool newton, uint64_t rows);
/* Returns how many of these its visit writes at most, if it works on `rows` of X. */
uint64_t hw_svm_record_bytes(const hw_svm *svm, uint64_t rows);

/* Returns the first problem of a block that solves some of them. */
static inline size_t hw_svm_first(const hw_svm *svm, uint32_t block)
{
    return ((uint64_t)block * svm->path.outputs + svm->path.blocks - 1) / svm->path.blocks;
}

/* Returns the number of rows that the block works on. */
static inline size_t hw_svm_block_rows(const hw_svm_block *block)
{
    bool all = block->svm->joint && !block->newton && block->problems > 0;
    return all ? block->svm->path.X->rows : block->X.rows;
}

/* Returns whether the block solves a problem. */
static inline bool hw_svm_has(const hw_svm_block *block, size_t problem)
{
    return problem >= block->first && problem - block->first < block->problems;
}

/* Combines numbers of all blocks, unless each block has all rows. */
static inline hawser_status hw_svm_combine(hawser_context *context, const hw_svm_block *block, double *values, size_t count,
                                           hawser_combine_by by)
{
    return block->svm->joint ? HAWSER_OK : hawser_allreduce(context, values, count, by);
}

/* Returns the dual variables of one of the block's problems. */
static inline double *hw_svm_dual(const hw_svm_block *block, size_t problem)
{
    return block->beta + (problem - block->first) * block->X.rows;
}

/* Returns the numbers of a matrix of second derivatives. */
static inline size_t hw_svm_hessian_size(size_t width)
{
    return width * (width + 1) / 2;
}

/* Returns the most numbers that the primal reduces at a time. */
static inline size_t hw_svm_primal_reduces(const hw_svm *svm)
{
    return svm->path.outputs * (2 * (svm->path.X->cols + 1) + 7);
}

/* Returns the most numbers that the dual reduces at a time for the problems of a block, and to gather rows and models. */
static inline size_t hw_svm_dual_reduces(const hw_svm *svm)
{
    size_t width = svm->path.X->cols + 1,
           problems = svm->joint ? (svm->path.outputs + svm->path.blocks - 1) / svm->path.blocks : svm->path.outputs;
    size_t own = problems * width, least = svm->joint ? (width + 4 > HW_SVM_PIECE ? width + 4 : HW_SVM_PIECE) : 0;
    return own > least ? own : least;
}

/* Notes an objective with a bound of its rounding error. Returns whether it is the least so far. */
static inline bool hw_svm_lower(hw_svm_memory *m, double objective, double error)
{
    if (!(objective < m->high))
        return false;
    m->high = objective;
    m->high_error = error;
    return true;
}

/* Notes a dual objective. */
static inline void hw_svm_raise(hw_svm_memory *m, double bound, double error)
{
    if (bound > m->low) {
        m->low = bound;
        m->low_error = error;
    }
}

/* Returns a bound of the rounding error of the gap. */
static inline double hw_svm_rounding(const hw_svm_memory *m)
{
    return m->low_error + m->high_error;
}

/* Returns whether the gap is certainly as small as the tolerance asks. */
static inline bool hw_svm_is_done(const hw_svm_memory *m, double tolerance)
{
    return m->high - m->low + hw_svm_rounding(m) <= tolerance * m->high;
}

/* Returns the example weight of a row of the block, or 0 if it is held out. */
static inline double hw_svm_weight(const hw_svm_block *block, size_t row)
{
    if (hw_row_out(&block->svm->path, &block->own.turn, block->X.first + row))
        return 0.0;
    return block->beside.weights != NULL ? block->beside.weights[row] : 1.0;
}

static inline hw_svm_row hw_svm_row_at(const hw_svm_block *block, size_t problem, size_t row)
{
    return hw_svm_row_of(block->svm, block->C, problem, block->beside.target[row], hw_svm_weight(block, row),
                         hw_row_class_weights(&block->svm->path, &block->own.turn));
}

#endif
