#include "algorithms/sgd/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/policy.h"
#include "algorithms/glm/start.h"
#include "algorithms/model/class_weights.h"
#include "algorithms/solve/entries.h"
#include "hawser/advanced.h"

enum { WORTH_A_WORKER = 1 << 20 };

/* After the steps of exchange.c, the power method may be below the eigenvalue by a fifth. */
static const double CAUTION = 1.25;

/* --------------------------------------------------------------------------------------------------------- settings ---- */

static hawser_status check_idle(hawser_job *job, bool all_rows, bool one_row, hawser_error *error)
{
    static const char *const others[] = {"merge", "filter", "quota", "max-held-clocks", "encoding", "exchange-every"};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        HAWSER_TRY(hawser_job_idle(job, others[k], "it is about copies of a model, and each of these weights has one writer",
                                   error));
    if (all_rows)
        HAWSER_TRY(hawser_job_idle(job, "epochs", "--solver gd ends with --tol or --max-clocks", error));
    if (!all_rows)
        HAWSER_TRY(hawser_job_idle(job, "tol", "--solver sgd and minibatch end with --epochs", error));
    if (all_rows || one_row)
        HAWSER_TRY(hawser_job_idle(job, "batch", "it is about --solver minibatch", error));
    return hawser_job_idle(job, "validation", "there is no model to choose", error);
}

static hawser_status read_settings(hw_descent *descent, hawser_job *job, const hawser_options *options, hawser_error *error)
{
    const char *solver = hawser_options_text(options, "solver"), *form = hawser_options_text(options, "exchange");
    bool one_row = strcmp(solver, "sgd") == 0;
    descent->all_rows = strcmp(solver, "gd") == 0;
    HAWSER_TRY(check_idle(job, descent->all_rows, one_row, error));
    descent->batch = descent->all_rows ? descent->X->rows : one_row ? 1 : (size_t)hawser_options_integer(options, "batch");
    bool stale = hw_linear_lag(descent->sync) > 0.0 && !descent->all_rows;
    if (stale && strcmp(form, "products") == 0)
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--exchange products with --solver %s needs --sync bsp or dc:0: stale products are those of other rows", solver);
    descent->sends_weights = strcmp(form, "weights") == 0 || (stale && strcmp(form, "auto") == 0);
    descent->rate = hawser_options_has(options, "step") ? hawser_options_number(options, "step") : 0.0;
    descent->tolerance = hawser_options_number(options, "tol");
    descent->epochs = hawser_options_number(options, "epochs");
    descent->intercept = hawser_options_flag(options, "intercept");
    return HAWSER_OK;
}

double hw_descent_rate(const hw_descent *descent, double curvature, double row_square, double bend, uint64_t iteration)
{
    double rate = descent->rate, most = bend * CAUTION * curvature;
    if (!descent->all_rows)
        most += bend * row_square / (double)descent->batch;
    if (!(rate > 0.0))
        rate = most > 0.0 ? 1.0 / (most * (1.0 + hw_linear_lag(descent->sync))) : 0.0;
    double epoch = ceil((double)descent->X->rows / (double)descent->batch);
    return descent->all_rows ? rate : rate / (1.0 + (double)iteration / (2.0 * epoch));
}

static hawser_status take_target(hw_descent *descent, const hawser_dataset *data, hawser_error *error)
{
    size_t n = descent->X->rows;
    const double *y = hawser_dataset_target(data), *offset = hawser_dataset_offset(data);
    if (y == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the input has no target; name its column with --target");
    HAWSER_TRY(hw_linear_check_numeric(data, error));
    HAWSER_TRY(hw_linear_new_doubles(&descent->target, n, error));
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        double w = descent->weights != NULL ? descent->weights[i] : 1.0;
        if (!(w >= 0.0))
            return hawser_fail(error, HAWSER_BAD_INPUT, "row %zu: the example weight %g is negative", i + 1, w);
        descent->target[i] = w > 0.0 ? y[i] - (offset != NULL ? offset[i] : 0.0) : 0.0;
        descent->total += w;
        sum += w * descent->target[i];
    }
    HAWSER_TRY(hw_linear_check_target(descent->target, n, error));
    if (!(descent->total > 0.0))
        return hawser_fail(error, HAWSER_BAD_INPUT, "all %zu rows have weight 0", n);
    HAWSER_TRY(hw_check_weight_sum(descent->total, error));
    descent->mean = descent->intercept ? sum / descent->total : 0.0;
    for (size_t i = 0; i < n; i++) {
        descent->target[i] -= descent->mean;
        squares += (descent->weights != NULL ? descent->weights[i] : 1.0) * descent->target[i] * descent->target[i];
    }
    descent->deviation = sqrt(squares / descent->total);
    return HAWSER_OK;
}

hawser_status hw_descent_read(void *own, hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    hw_descent *descent = own;
    *descent = (hw_descent){.data = input->data,
                            .held = input->held,
                            .X = hawser_dataset_matrix(input->data),
                            .weights = hawser_dataset_weights(input->data),
                            .by_deviation = true};
    if (descent->X->rows == 0 || descent->X->cols == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "the input has %zu rows and %zu columns besides its target (see --target; of CSV --delimiter)",
                           descent->X->rows, descent->X->cols);
    HAWSER_TRY(hw_linear_check_layout(descent->X, error));
    descent->sync = hawser_job_sync(job);
    HAWSER_TRY(read_settings(descent, job, input->options, error));
    HAWSER_TRY(take_target(descent, input->data, error));
    HAWSER_TRY(hw_linear_new_doubles(&descent->start, descent->X->cols, error));
    if (hw_linear_starts(job, input))
        HAWSER_TRY(hw_linear_start(job, input, 1, descent->start, error));
    hawser_job_fit(job, descent->X->stored, WORTH_A_WORKER);
    descent->blocks = hawser_job_workers(job);
    descent->seed = hawser_job_seed(job);
    return HAWSER_OK;
}

void hw_descent_release(void *own)
{
    hw_descent *descent = own;
    free(descent->target);
    free(descent->start);
    *descent = (hw_descent){0};
}

/* ------------------------------------------------------------------------------------------------------------ block ---- */

/* Computes means, and the inverses of variances unless `inverse` is NULL. */
static hawser_status moments(const hw_descent *descent, const hawser_matrix *X, double *mean, double *inverse,
                             hawser_error *error)
{
    for (size_t j = 0; j < X->cols; j++) {
        double sum = 0.0, squares = 0.0;
        hawser_column_moments(X, j, descent->weights, descent->total, 0.0, &sum, &squares);
        double scale = squares / descent->total;
        HAWSER_TRY(hw_linear_check_square(scale, descent->data, X->first + j, error));
        if (descent->by_deviation)
            HAWSER_TRY(hw_linear_check_small(scale, sum, X->rows, descent->data, X->first + j, error));
        mean[j] = descent->intercept ? sum / descent->total : 0.0;
        if (inverse == NULL)
            continue;
        if (descent->intercept)
            hawser_column_moments(X, j, descent->weights, descent->total, mean[j], &sum, &squares);
        double variance = squares / descent->total;
        inverse[j] = variance > 1e-24 * scale && variance > 0.0 ? 1.0 / variance : 0.0;
    }
    return HAWSER_OK;
}

hawser_status hw_descent_block_new(hw_descent_block *block, const hw_descent *descent, const hawser_matrix *own,
                                   const hawser_matrix *whole, hawser_error *error)
{
    size_t n = descent->X->rows, most = n > descent->batch ? n : descent->batch; /* a batch draws rows with repeats */
    block->descent = descent;
    block->memory.least = descent->all_rows ? INFINITY : 0.5 * descent->deviation * descent->deviation;
    HAWSER_TRY(hw_rows_new(&block->own, own, !descent->all_rows, error));
    HAWSER_TRY(hw_linear_new_doubles(&block->mean, own->cols, error));
    HAWSER_TRY(hw_linear_new_doubles(&block->inverse, own->cols, error));
    HAWSER_TRY(hw_linear_new_doubles(&block->direction, own->cols, error));
    HAWSER_TRY(hw_linear_new_doubles(&block->gradient, own->cols, error));
    HAWSER_TRY(hw_linear_new_doubles(&block->margins, most, error));
    block->part = calloc(descent->blocks + 1, sizeof *block->part);
    block->list = calloc(descent->batch + 1, sizeof *block->list);
    if (block->part == NULL || block->list == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a batch of %zu rows", descent->batch);
    if (whole == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_rows_new(&block->whole, whole, !descent->all_rows, error));
    HAWSER_TRY(hw_linear_new_doubles(&block->whole_mean, whole->cols, error));
    return hw_linear_new_doubles(&block->parts, descent->batch * descent->blocks, error);
}

hawser_status hw_descent_block_weigh(hw_descent_block *block, hawser_error *error)
{
    HAWSER_TRY(moments(block->descent, &block->own.X, block->mean, block->inverse, error));
    return block->whole_mean != NULL ? moments(block->descent, &block->whole.X, block->whole_mean, NULL, error) : HAWSER_OK;
}

void hw_descent_block_release(void *scratch)
{
    hw_descent_block *block = scratch;
    void *all[] = {block->mean,  block->inverse,      block->whole_mean, block->direction, block->gradient,
                   block->parts, (void *)block->part, block->margins,    block->list};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
    hw_rows_free(&block->own);
    hw_rows_free(&block->whole);
}

hw_row_batch hw_descent_all(const hw_descent_block *block)
{
    return (hw_row_batch){NULL, block->descent->X->rows};
}

hw_row_batch hw_descent_batch(hw_descent_block *block, uint64_t iteration)
{
    const hw_descent *descent = block->descent;
    if (descent->all_rows)
        return hw_descent_all(block);
    hw_rows_draw(descent->seed, iteration, descent->X->rows, descent->batch, block->list);
    return (hw_row_batch){block->list, descent->batch};
}

void hw_descent_product(const hw_descent_block *block, hw_row_batch batch, const double *theta, double *out)
{
    size_t count = block->own.X.cols;
    hw_rows_product(&block->own, batch, 0, count, theta, -hawser_dot(count, block->mean, theta, NULL), out);
}

void hw_descent_add_up(hw_descent_block *block, size_t count)
{
    memset(block->margins, 0, count * sizeof *block->margins);
    for (uint32_t b = 0; b < block->descent->blocks; b++)
        for (size_t k = 0; block->part[b] != NULL && k < count; k++)
            block->margins[k] += block->part[b][k];
}

double hw_descent_residual(hw_descent_block *block, hw_row_batch batch)
{
    const hw_descent *descent = block->descent;
    double loss = 0.0;
    for (size_t k = 0; k < batch.count; k++) {
        size_t i = batch.list != NULL ? batch.list[k] : k;
        double w = descent->weights != NULL ? descent->weights[i] : 1.0, r = descent->target[i] - block->margins[k];
        loss += 0.5 * w * r * r;
        block->margins[k] = w * r;
    }
    return loss;
}

bool hw_descent_is_best(hw_descent_block *block, double loss)
{
    const hw_descent *descent = block->descent;
    hw_descent_memory *memory = &block->memory;
    if (!descent->all_rows) {
        memory->epoch += loss;
        if (++memory->batches * descent->batch < descent->X->rows)
            return false;
        loss = memory->epoch / (double)memory->batches;
        memory->epoch = 0.0;
        memory->batches = 0;
    }
    bool best = loss < memory->least;
    memory->least = best ? loss : memory->least;
    return best;
}

double hw_descent_gradient(hw_descent_block *block, hw_row_batch batch)
{
    double sum = 0.0, most = 0.0;
    hw_rows_gradient(&block->own, batch, block->margins, block->gradient);
    for (size_t k = 0; k < batch.count; k++)
        sum += block->margins[k];
    for (size_t j = 0; j < block->own.X.cols; j++) {
        block->gradient[j] -= block->mean[j] * sum;
        most = fmax(most, fabs(block->gradient[j]) * sqrt(block->inverse[j]));
    }
    return most;
}

void hw_descent_squares(const hw_descent_block *block, double *out)
{
    const hawser_matrix *X = &block->own.X;
    size_t n = X->rows;
    double constant = 0.0;
    memset(out, 0, n * sizeof *out);
    for (size_t j = 0; j < X->cols; j++) {
        double m = block->mean[j], inverse = block->inverse[j];
        uint64_t begin, end;
        hw_linear_entries(X, j, &begin, &end);
        constant += m * m * inverse;
        hawser_simulated_work(NULL, end - begin);
        for (uint64_t k = begin; k < end; k++) {
            double x = hw_number_at(X, k);
            out[hw_linear_row_of(X, begin, k)] += (x - 2.0 * m) * x * inverse;
        }
    }
    for (size_t i = 0; i < n; i++)
        out[i] += constant;
}
