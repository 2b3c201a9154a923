#include "algorithms/multitask/block.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/choice/fit.h"
#include "algorithms/glm/coefficients.h"
#include "algorithms/glm/fold.h"

enum { CHUNK = 8 }; /* columns that are scanned for all outputs while they are in a cache */

void hw_multitask_release(void *scratch)
{
    hw_multitask_block *block = scratch;
    void *all[] = {block->row_weights, block->norm,     block->residual, block->sum,
                   block->intercept,   block->gradient, block->members,  block->measured};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
    hw_linear_columns_free(&block->columns);
    hw_linear_span_free(&block->span);
    hw_linear_gram_free(&block->gram);
    if (block->joint != NULL)
        hw_multitask_release(block->joint);
    free(block->joint);
    free(block->joint_alpha);
    free(block->solution);
    memset(block, 0, sizeof *block);
}

hawser_status hw_multitask_allocate(hw_multitask_block *block, const hawser_matrix *X, hawser_error *error)
{
    size_t n = X->rows, p = X->cols, q = block->outputs;
    block->columns.X = *X;
    HAWSER_TRY(hw_linear_columns_new(&block->columns, error));
    HAWSER_TRY(hw_linear_new_doubles(&block->residual, n * q, error));
    HAWSER_TRY(hw_linear_new_doubles(&block->norm, 2 * p, error));
    block->scan = block->norm + p;
    HAWSER_TRY(hw_linear_new_doubles(&block->gradient, p * q, error));
    HAWSER_TRY(hw_linear_new_doubles(&block->sum, q, error));
    HAWSER_TRY(hw_linear_new_doubles(&block->intercept, q, error));
    HAWSER_TRY(hw_linear_gram_new(&block->gram, p, error));
    block->gram.epochs *= (double)q; /* its products cost as much for each output, but not its entries */
    return HAWSER_OK;
}

static double row_weight(const hw_multitask_block *block, size_t i)
{
    return block->row_weights != NULL ? block->row_weights[i] : 1.0;
}

/* Computes the residuals of one output from its image v (NULL: zeros), adds to the sums, and multiplies the residuals by the
 * weights. */
static void residual_of(hw_multitask_block *block, size_t output, const double *v)
{
    size_t n = block->columns.X.rows;
    const double *y = block->linear->problem.target + output * n;
    double *r = block->residual + output * n, intercept = 0.0, sum = 0.0, square = 0.0, target = 0.0;
    for (size_t i = 0; block->columns.centred && i < n; i++)
        intercept += row_weight(block, i) * (y[i] - (v != NULL ? v[output * n + i] : 0.0));
    intercept /= block->columns.total;
    for (size_t i = 0; i < n; i++) {
        double plain = y[i] - (v != NULL ? v[output * n + i] : 0.0) - intercept;
        double weighted = row_weight(block, i) * plain;
        sum += weighted;
        square += weighted * plain;
        target += weighted * y[i];
        r[i] = weighted;
    }
    block->intercept[output] = intercept;
    block->sum[output] = sum;
    block->square += square / block->columns.total;
    block->target += target / block->columns.total;
}

void hw_multitask_residual(hw_multitask_block *block, const double *v)
{
    block->square = block->target = 0.0;
    for (size_t o = 0; o < block->outputs; o++)
        residual_of(block, o, v);
    block->loss = 0.5 * block->square;
    block->kept = false;
}

hawser_status hw_multitask_prepare(hw_multitask_block *block, const hw_linear *linear, const hawser_matrix *X, uint32_t fold,
                                   hawser_error *error)
{
    if (block->linear == NULL) {
        block->linear = linear;
        block->outputs = linear->problem.outputs;
        HAWSER_TRY(hw_multitask_allocate(block, X, error));
        HAWSER_TRY(hw_linear_new_doubles(&block->measured, X->rows * block->outputs, error));
        HAWSER_TRY(hw_linear_span_new(&block->span, &linear->problem, error));
        if (hw_linear_weighted(&linear->problem))
            HAWSER_TRY(hw_linear_new_doubles(&block->row_weights, X->rows, error));
    }
    block->fold = fold;
    HAWSER_TRY(hw_linear_begin_fold(linear, X, fold, block->row_weights, &block->columns, error));
    HAWSER_TRY(hw_linear_measure(linear, &block->columns, error));
    hw_linear_span_reset(&block->span);
    hw_linear_gram_clear(&block->gram);
    if (block->joint != NULL)
        hw_linear_gram_clear(&block->joint->gram);
    block->member_count = 0;
    block->fresh = false;
    hw_multitask_residual(block, NULL);
    block->zero_objective = block->loss;
    return HAWSER_OK;
}

void hw_multitask_measure_gradient(hw_multitask_block *block, size_t column)
{
    size_t q = block->outputs;
    block->norm[column] = block->columns.norm[column] > 0.0 ? hw_multitask_norm(block->gradient + column * q, q) : 0.0;
}

/* Computes the gradient of every column from the residuals. */
static void scan_columns(hw_multitask_block *block)
{
    const hw_linear_columns *columns = &block->columns;
    size_t n = columns->X.rows, p = columns->X.cols, q = block->outputs;
    for (size_t first = 0, next; first < p; first = next) {
        next = p - first > CHUNK ? first + CHUNK : p;
        hawser_matrix chunk = hawser_matrix_columns(&columns->X, first, next);
        for (size_t o = 0; o < q; o++) {
            hawser_scan(&chunk, block->residual + o * n, block->scan);
            for (size_t j = first; j < next; j++)
                block->gradient[j * q + o] = (block->scan[j - first] - columns->mean[j] * block->sum[o]) / columns->total;
        }
    }
    for (size_t j = 0; j < p; j++)
        hw_multitask_measure_gradient(block, j);
}

/* Divides the residuals of an output by their weights; rows of weight 0 get 0. */
static void unweigh(const hw_multitask_block *block, double *r)
{
    for (size_t i = 0; block->row_weights != NULL && i < block->columns.X.rows; i++)
        r[i] = block->row_weights[i] > 0.0 ? r[i] / block->row_weights[i] : 0.0;
}

/* Takes the plain residuals of an output as its dual point: multiplies them by the weights, and adds to the sums. */
static void take_dual(hw_multitask_block *block, size_t output)
{
    size_t n = block->columns.X.rows;
    const double *y = block->linear->problem.target + output * n;
    double *r = block->residual + output * n, sum = 0.0, square = 0.0, target = 0.0;
    for (size_t i = 0; i < n; i++) {
        double weighted = row_weight(block, i) * r[i];
        sum += weighted;
        square += weighted * r[i];
        target += weighted * y[i];
        r[i] = weighted;
    }
    block->sum[output] = sum;
    block->square += square / block->columns.total;
    block->target += target / block->columns.total;
}

/* Makes the residuals a dual point, which is orthogonal to each column without a penalty. */
static void project(hw_multitask_block *block)
{
    const hw_linear_problem *problem = &block->linear->problem;
    size_t n = block->columns.X.rows;
    block->square = block->target = 0.0;
    for (size_t o = 0; o < block->outputs; o++) {
        double *r = block->residual + o * n;
        unweigh(block, r);
        hw_linear_span_project(&block->span, problem, &block->columns, problem->target + o * n, r);
        take_dual(block, o);
    }
}

void hw_multitask_measure(hw_multitask_block *block, const double *v)
{
    size_t bytes = block->columns.X.rows * block->outputs * sizeof *v;
    bool projected = block->linear->problem.free_count > 0;
    block->fresh = !projected;
    if (block->kept && memcmp(block->measured, v, bytes) == 0)
        return;
    hw_multitask_residual(block, v);
    if (projected)
        project(block);
    scan_columns(block);
    memcpy(block->measured, v, bytes);
    block->kept = true;
}

/* Removes from the targets, which are the residuals at zero, what columns of penalty factor 0 explain. */
static hawser_status fit_free(hw_multitask_block *block, hawser_error *error)
{
    const hw_linear_problem *problem = &block->linear->problem;
    size_t n = block->columns.X.rows;
    block->square = block->target = 0.0;
    for (size_t o = 0; o < block->outputs; o++) {
        double *r = block->residual + o * n;
        unweigh(block, r);
        HAWSER_TRY(hw_linear_span_fit(&block->span, problem, &block->columns, problem->target + o * n, r, error));
        take_dual(block, o);
    }
    return HAWSER_OK;
}

hawser_status hw_multitask_lambda_max(hw_multitask_block *block, double *most, hawser_error *error)
{
    *most = 0.0;
    hw_multitask_residual(block, NULL);
    if (block->linear->problem.free_count > 0)
        HAWSER_TRY(fit_free(block, error));
    scan_columns(block);
    for (size_t j = 0; j < block->columns.X.cols; j++)
        if (block->columns.l1[j] > 0.0 && block->norm[j] > hw_linear_noise(&block->columns, j, sqrt(block->square)))
            *most = fmax(*most, block->norm[j] / block->columns.l1[j]);
    return HAWSER_OK;
}

size_t hw_multitask_sums(const hw_multitask_block *block, const double *alpha, double lambda, hw_linear_sums *sums)
{
    size_t nonzeros = 0, q = block->outputs;
    *sums = (hw_linear_sums){.loss = block->loss, .square = block->square, .target = block->target};
    for (size_t j = 0; j < block->columns.X.cols; j++) {
        const double *w = alpha + j * q, *g = block->gradient + j * q;
        hw_linear_term term = hw_linear_term_at(&block->columns, j, lambda);
        double slope = block->norm[j];
        if (hw_any(w, q)) {
            double size = hw_multitask_norm(w, q), square = 0.0;
            for (size_t o = 0; o < q; o++)
                square += (g[o] - term.l2 * w[o]) * (g[o] - term.l2 * w[o]);
            slope = sqrt(square);
            nonzeros++;
            sums->penalty += hw_linear_penalty(size, term);
            sums->curved += term.l2 * size * size;
        }
        if (term.l1 > 0.0)
            sums->ratio = fmax(sums->ratio, slope / term.l1);
    }
    return nonzeros;
}

void hw_multitask_conjugate(const hw_multitask_block *block, double lambda, double scale, double *scaled, double *plain)
{
    *scaled = *plain = 0.0;
    for (size_t j = 0; j < block->columns.X.cols; j++) {
        hw_linear_term term = hw_linear_term_at(&block->columns, j, lambda);
        *scaled += hw_linear_conjugate(scale * block->norm[j], term);
        *plain += hw_linear_conjugate(block->norm[j], term);
    }
}

/* ------------------------------------------------------------------------------------------------ the working set ---- */

typedef struct candidate {
    double promise;
    uint32_t column;
} candidate;

static int more_promising(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->promise != y->promise)
        return x->promise > y->promise ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

hawser_status hw_multitask_reserve(hw_multitask_block *block, size_t count, hawser_error *error)
{
    if (count <= block->member_capacity)
        return HAWSER_OK;
    uint32_t *members = realloc(block->members, 2 * count * sizeof *members);
    if (members == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a working set of %zu columns", count);
    block->members = members;
    block->member_capacity = 2 * count;
    return HAWSER_OK;
}

hawser_status hw_multitask_choose(hw_multitask_block *block, const double *alpha, double lambda, double scale, double radius,
                                  size_t least, hawser_error *error)
{
    const hw_linear_columns *columns = &block->columns;
    size_t p = columns->X.cols, q = block->outputs, support = 0, always = 0, count = 0;
    block->screened = 0;
    candidate *candidates = malloc((p + 1) * sizeof *candidates);
    if (candidates == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu candidates", p);
    for (size_t j = 0; j < p; j++) {
        double excess = block->norm[j] - lambda * columns->l1[j];
        double most = fabs(scale) * block->norm[j] + radius * (1.0 + 1e-9) * sqrt(columns->norm[j]);
        bool in = hw_any(alpha + j * q, q), zero = !in && most < lambda * columns->l1[j] * (1.0 - 1e-9);
        bool unpenalised = !in && lambda * (columns->l1[j] + columns->l2[j]) == 0.0 && columns->norm[j] > 0.0;
        support += in;
        always += unpenalised;
        block->screened += zero; /* every dual point within the radius says so, the optimum's among them */
        if (unpenalised || (!in && !zero && excess > 0.0))
            candidates[count++] = (candidate){unpenalised ? INFINITY : excess / sqrt(columns->norm[j]), (uint32_t)j};
    }
    qsort(candidates, count, sizeof *candidates, more_promising);
    size_t most = (support > least ? support : least) + always;
    count = count < most ? count : most;
    hawser_status status = hw_multitask_reserve(block, support + count, error);
    block->member_count = 0;
    for (size_t j = 0; j < p && status == HAWSER_OK; j++)
        if (hw_any(alpha + j * q, q))
            block->members[block->member_count++] = (uint32_t)j;
    for (size_t k = 0; k < count && status == HAWSER_OK; k++)
        block->members[block->member_count++] = candidates[k].column;
    free(candidates);
    HAWSER_TRY(status);
    if (block->member_count > 1)
        qsort(block->members, block->member_count, sizeof *block->members, ascending);
    block->use_gram =
        hw_linear_gram_pays(&block->gram, columns, block->members, block->member_count, HW_LINEAR_LARGEST_GRAM);
    return HAWSER_OK;
}
