#include "algorithms/svm/block.h"

#include <string.h>

#include "algorithms/model/transpose.h"
#include "algorithms/model/unit.h"
#include "hawser/row_kernels.h"

enum { HESSIAN_COLUMNS = 1024 }; /* the most columns that have a matrix */

/* Returns the numbers of a matrix of second derivatives; 0 if a product with it does not cost much less than one with a
 * block's rows, or the matrices of all problems take more numbers than these. */
static uint64_t hessian_of(const hw_svm *svm)
{
    uint64_t width = svm->path.X->cols + 1, size = hw_svm_hessian_size(width), own = svm->path.X->stored / svm->path.blocks;
    return width <= HESSIAN_COLUMNS && 8 * size <= own && svm->path.outputs * size <= own ? size : 0;
}

/* Returns the bytes of all matrices for `rows` of X, and those of them that a visit writes. */
static uint64_t hessian_bytes(const hw_svm *svm, uint64_t rows)
{
    uint64_t width = svm->path.X->cols + 1, size = hessian_of(svm), k = svm->path.outputs,
             copies = svm->path.blocks > 1 ? 2 : 1;
    return size > 0 ? 8 * (k * (copies * size + width) + width * (width + 2 * HW_SVM_GATHERED)) + k * rows : 0;
}
static uint64_t hessian_record(const hw_svm *svm, uint64_t rows)
{
    uint64_t width = svm->path.X->cols + 1, size = hessian_of(svm);
    return size > 0 ? svm->path.outputs * (8 * (size + width) + rows) + 1 : 0;
}

static size_t folds_of(const hw_svm *svm)
{
    return svm->path.abreast ? svm->path.choice.folds + (size_t)1 : 0;
}

/* Returns the bytes of the fits of folds that are abreast; a visit writes as many. */
static uint64_t folds_bytes(const hw_svm *svm, bool newton, uint64_t problems, uint64_t rows)
{
    uint64_t k = svm->path.outputs, width = svm->path.X->cols + 1;
    uint64_t dual = newton && svm->squared ? 0 : problems * rows, w = newton ? 0 : problems * width;
    return folds_of(svm) * (k * sizeof(hw_svm_memory) + 8 * (k * width + dual + w));
}

uint64_t hw_svm_block_bytes(const hw_svm *svm, bool newton, uint64_t rows)
{
    uint64_t width = svm->path.X->cols + 1, problems = svm->path.outputs,
             tile = hw_centre_rows_bytes(&svm->path.centre, svm->path.X, HW_ROW_TILE),
             folds = folds_bytes(svm, newton, problems, rows);
    if (newton)
        return tile + rows * 8 * ((svm->squared ? 3 : 4) * problems + 1) +
               8 * (problems * (10 * width + 2 * HW_ROW_TILE + 5 + HW_SVM_ALONG) + width) + hessian_bytes(svm, rows) +
               problems * (sizeof(hw_svm_memory) + sizeof(hw_svm_line) + 16) + folds;
    return folds + tile + rows * 8 * (problems + 4) + width * 8 * (3 * problems + 1) + problems * sizeof(hw_svm_memory);
}

uint64_t hw_svm_record_bytes(const hw_svm *svm, uint64_t rows)
{
    const hw_svm_block *b = NULL;
    uint64_t width = svm->path.X->cols + 1, k = svm->path.outputs,
             problems = svm->joint ? (k + svm->path.blocks - 1) / svm->path.blocks : k;
    uint64_t dual = 8 * (problems * (rows + width) + k * width) + folds_bytes(svm, false, problems, rows);
    uint64_t primal = 8 * ((3 * k + 1) * width + (svm->squared ? 0 : k * rows)) + folds_bytes(svm, true, k, rows);
    bool both = svm->may_turn || svm->primal;
    return k * sizeof *b->memory + (both ? hessian_record(svm, rows) : 0) +
           (svm->primal || (both && primal > dual) ? primal : dual);
}

static void new_dual(hw_svm_block *b)
{
    size_t n = hw_svm_block_rows(b);
    b->squares = hw_array_new(&b->of_dual, n + 1, sizeof *b->squares);
    b->beta = hw_array_new(&b->of_dual, n * b->problems + 1, sizeof *b->beta);
    b->w = hw_array_new(&b->of_dual, b->problems * b->width + 1, sizeof *b->w);
    b->margins = hw_array_new(&b->of_dual, n + 1, sizeof *b->margins);
    b->view = hw_array_new(&b->of_dual, b->width, sizeof *b->view);
    b->reduced = hw_array_new(&b->of_dual, hw_svm_dual_reduces(b->svm), sizeof *b->reduced);
    b->order = hw_array_new(&b->of_dual, n + 1, sizeof *b->order);
    b->active = hw_array_new(&b->of_dual, n + 1, sizeof *b->active);
}

static void new_matrices(hw_svm_block *b)
{
    hw_svm_primal *q = &b->primal;
    size_t k = b->svm->path.outputs, size = hessian_of(b->svm);
    if (size == 0)
        return;
    q->share = hw_array_new(&b->arrays, k * size, sizeof *q->share);
    q->hessian = b->svm->path.blocks > 1 ? hw_array_new(&b->arrays, k * size, sizeof *q->hessian) : q->share;
    q->most = hw_array_new(&b->arrays, k * b->width, sizeof *q->most);
    q->in = hw_array_new(&b->arrays, k * b->X.rows + 1, sizeof *q->in);
    q->square = hw_array_new(&b->arrays, b->width * b->width, sizeof *q->square);
    q->gathered = hw_array_new(&b->arrays, 2 * HW_SVM_GATHERED * b->width, sizeof *q->gathered);
}

static void new_primal(hw_svm_block *b)
{
    hw_svm_primal *q = &b->primal;
    size_t n = b->X.rows, k = b->svm->path.outputs, all = k * b->width;
    double **models[] = {&q->W, &q->best, &q->gradient, &q->step, &q->residual, &q->direction, &q->conditioned, &q->packed};
    for (size_t a = 0; a < sizeof models / sizeof *models; a++)
        *models[a] = hw_array_new(&b->arrays, all, sizeof(double));
    q->squares = hw_array_new(&b->arrays, b->width, sizeof *q->squares);
    q->costs = hw_array_new(&b->arrays, n * k + 1, sizeof *q->costs);
    q->margins = hw_array_new(&b->arrays, n * k + 1, sizeof *q->margins);
    q->moved = q->bends = hw_array_new(&b->arrays, n * k + 1, sizeof *q->moved);
    q->centres = b->svm->squared ? NULL : hw_array_new(&b->arrays, n * k + 1, sizeof *q->centres);
    new_matrices(b);
    q->tile = hw_array_new(&b->arrays, 2 * HW_ROW_TILE * k, sizeof *q->tile);
    q->reduced = hw_array_new(&b->arrays, hw_svm_primal_reduces(b->svm), sizeof *q->reduced);
    q->along = hw_array_new(&b->arrays, HW_SVM_ALONG * k, sizeof *q->along);
    q->lines = hw_array_new(&b->arrays, k, sizeof *q->lines);
    q->open = hw_array_new(&b->arrays, k, sizeof *q->open);
    q->running = hw_array_new(&b->arrays, k, sizeof *q->running);
}

/* Makes the arrays of folds for the block's solver. */
static void new_folds(hw_svm_block *b)
{
    size_t folds = folds_of(b->svm), k = b->svm->path.outputs, rows = hw_svm_block_rows(b), all = folds * k * b->width;
    hw_svm_folds *kept = &b->folds;
    if (folds == 0)
        return;
    if (kept->memory == NULL)
        kept->memory = hw_array_new(&b->arrays, folds * k, sizeof *kept->memory);
    kept->best = hw_array_new(b->newton ? &b->arrays : &b->of_best, all, sizeof *kept->best);
    kept->dual = kept->w = NULL;
    if (b->newton && b->svm->squared)
        return;
    size_t duals = folds * rows * (b->newton ? k : b->problems) + 1;
    kept->dual = hw_array_new(b->newton ? &b->arrays : &b->of_dual, duals, sizeof *kept->dual);
    if (!b->newton)
        kept->w = hw_array_new(&b->of_dual, folds * b->problems * b->width + 1, sizeof *kept->w);
}

/* Gives the primal the models of folds that the dual has kept. */
static void turn_folds(hw_svm_block *b)
{
    const double *best = b->folds.best;
    size_t k = b->svm->path.outputs, all = k * b->width;
    new_folds(b);
    for (size_t f = 0; f < folds_of(b->svm) && b->folds.best != NULL; f++)
        hw_transpose(best + f * all, k, b->width, b->folds.best + f * all);
}

static hawser_status check_memory(const hw_svm_block *b, hawser_error *error)
{
    if (b->arrays.failed || b->of_dual.failed)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu rows and %zu models of %zu columns",
                           hw_svm_block_rows(b), b->svm->path.outputs, b->X.cols);
    return HAWSER_OK;
}

static hawser_status new_memory(hw_svm_block *b, hawser_error *error)
{
    size_t k = b->svm->path.outputs;
    b->memory = hw_array_new(&b->arrays, k, sizeof *b->memory);
    b->newton ? new_primal(b) : new_dual(b);
    new_folds(b);
    if (b->newton)
        b->squares = hw_array_new(&b->arrays, b->X.rows + 1, sizeof *b->squares);
    else
        b->best = hw_array_new(&b->of_best, k * b->width, sizeof *b->best);
    HAWSER_TRY(check_memory(b, error));
    for (size_t p = 0; p < k; p++)
        b->memory[p] = (hw_svm_memory){.low = -INFINITY, .high = INFINITY, .gap = INFINITY};
    return HAWSER_OK;
}

static hawser_status check_rows(const hw_svm_block *b, hawser_error *error)
{
    for (size_t i = 0; i < b->X.rows; i++) {
        double weight = hw_svm_weight(b, i), target = b->beside.target[i];
        if (!(weight >= 0.0))
            return hawser_fail(error, HAWSER_BAD_INPUT, "row %zu: the example weight %g is negative; weights are 0 or more",
                               b->X.first + i + 1, weight);
        if (!isfinite(target))
            return hawser_fail(error, HAWSER_NOT_FINITE, "row %zu: the target is %g, which is not finite",
                               b->X.first + i + 1, target);
        if (!isfinite(b->squares[i]))
            return hawser_fail(error, HAWSER_NOT_FINITE,
                               "row %zu: its numbers are too large for squares in double; scale the columns",
                               b->X.first + i + 1);
    }
    return HAWSER_OK;
}

hawser_status hw_svm_block_make(void *block, const void *own, const hawser_matrix *X, uint32_t number, hawser_error *error)
{
    const hw_svm *svm = own;
    hw_svm_block *b = block;
    b->svm = svm;
    b->newton = svm->primal;
    b->X = *X;
    b->C = hw_svm_cost(svm, 0);
    b->width = X->cols + 1;
    b->first = svm->joint ? hw_svm_first(svm, number) : 0;
    b->problems = svm->joint ? hw_svm_first(svm, number + 1) - b->first : svm->path.outputs;
    HAWSER_TRY(hawser_dataset_beside(svm->path.data, X->first, X->rows, &b->beside, error));
    HAWSER_TRY(new_memory(b, error));
    HAWSER_TRY(hw_row_tiles_new(&b->tiles, X, &svm->path.centre, error));
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);)
        hawser_row_squares(&t.X, b->squares + t.begin);
    return check_rows(b, error);
}

void hw_svm_copy_release(hw_svm_copy *copy)
{
    hw_arrays_free(&copy->arrays);
    *copy = (hw_svm_copy){0};
}

/* Frees what only the dual keeps, except the best models. */
static void release_dual(hw_svm_block *b)
{
    hw_arrays_free(&b->of_dual);
    b->beta = b->w = b->squares = b->margins = b->view = b->reduced = NULL;
    b->order = b->active = NULL;
    hw_svm_copy_release(&b->copy);
}

/* Makes the memory of the primal, and takes over the best models of the dual. */
static hawser_status take_over(hw_svm_block *b, hawser_error *error)
{
    size_t k = b->svm->path.outputs;
    HAWSER_TRY(hawser_dataset_beside(b->svm->path.data, b->X.first, b->X.rows, &b->beside, error));
    new_primal(b);
    turn_folds(b);
    HAWSER_TRY(check_memory(b, error));
    hw_transpose(b->best, k, b->width, b->primal.best);
    memcpy(b->primal.W, b->primal.best, k * b->width * sizeof *b->primal.W);
    for (size_t p = 0; p < k; p++)
        if (!b->memory[p].done) /* the same model may have an objective that differs by rounding */
            b->memory[p] = (hw_svm_memory){
                .low = b->memory[p].low, .low_error = b->memory[p].low_error, .high = INFINITY, .gap = INFINITY};
    return HAWSER_OK;
}

hawser_status hw_svm_block_turn(hawser_context *context, hw_svm_block *b)
{
    HAWSER_READ(context, hawser_matrix, X);
    release_dual(b);
    b->newton = true;
    b->X = *X;
    b->first = 0;
    b->problems = b->svm->path.outputs;
    HW_UNIT_TRY(context, take_over(b, &error));
    hw_arrays_free(&b->of_best);
    b->best = NULL;
    return HAWSER_OK;
}

void hw_svm_block_drop(void *block)
{
    hw_svm_block *b = block;
    hw_arrays_free(&b->arrays);
    hw_arrays_free(&b->of_best);
    release_dual(b);
    hw_row_tiles_free(&b->tiles);
}

static void visit_matrices(hawser_record *record, hw_svm_block *b)
{
    hw_svm_primal *q = &b->primal;
    size_t k = b->svm->path.outputs;
    if (q->hessian == NULL)
        return;
    hawser_record_bytes(record, &q->by_matrix, sizeof q->by_matrix);
    if (!q->by_matrix)
        return;
    hawser_record_bytes(record, q->share, k * hw_svm_hessian_size(b->width) * sizeof *q->share);
    hawser_record_bytes(record, q->most, k * b->width * sizeof *q->most);
    hawser_record_bytes(record, q->in, k * b->X.rows * sizeof *q->in);
}

static void visit_folds(hawser_record *record, hw_svm_block *b)
{
    size_t folds = folds_of(b->svm), k = b->svm->path.outputs, rows = hw_svm_block_rows(b);
    hw_svm_folds *kept = &b->folds;
    if (folds == 0)
        return;
    hawser_record_bytes(record, kept->memory, folds * k * sizeof *kept->memory);
    hawser_record_bytes(record, kept->best, folds * k * b->width * sizeof *kept->best);
    if (kept->dual != NULL)
        hawser_record_bytes(record, kept->dual, folds * rows * (b->newton ? k : b->problems) * sizeof *kept->dual);
    if (kept->w != NULL)
        hawser_record_bytes(record, kept->w, folds * b->problems * b->width * sizeof *kept->w);
}

void hw_svm_block_visit(hawser_record *record, hawser_context *context, void *block)
{
    hw_svm_block *b = block;
    bool newton = b->newton;
    hawser_record_bytes(record, &newton, sizeof newton);
    if (newton && !b->newton && hw_svm_block_turn(context, b) != HAWSER_OK)
        return;
    size_t k = b->svm->path.outputs, all = k * b->width;
    hawser_record_bytes(record, &b->C, sizeof b->C);
    hawser_record_bytes(record, &b->scale, sizeof b->scale);
    hawser_record_bytes(record, b->memory, k * sizeof *b->memory);
    if (b->newton) {
        hawser_record_bytes(record, b->primal.W, all * sizeof *b->primal.W);
        hawser_record_bytes(record, b->primal.best, all * sizeof *b->primal.best);
        if (!b->svm->squared)
            hawser_record_bytes(record, b->primal.centres, k * b->X.rows * sizeof *b->primal.centres);
        hawser_record_bytes(record, b->primal.gradient, all * sizeof *b->primal.gradient);
        hawser_record_bytes(record, b->primal.squares, b->width * sizeof *b->primal.squares);
        visit_matrices(record, b);
        visit_folds(record, b);
        return;
    }
    hawser_record_bytes(record, b->beta, b->problems * hw_svm_block_rows(b) * sizeof *b->beta);
    hawser_record_bytes(record, b->w, b->problems * b->width * sizeof *b->w);
    hawser_record_bytes(record, b->best, all * sizeof *b->best);
    visit_folds(record, b);
}
