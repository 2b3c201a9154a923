#include "algorithms/logistic/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/policy.h"
#include "algorithms/logistic/block.h"
#include "algorithms/logistic/loss.h"
#include "algorithms/sgd/exchange.h"
#include "algorithms/solve/entries.h"
#include "algorithms/solve/memory.h"
#include "hawser/advanced.h"

enum { CLOCKS = 100 }; /* clocks between two certificates, if a step uses all rows */

static const double BEND = 0.25; /* largest curvature of the logistic loss */

/* The state of one block. */
typedef struct hw_logistic_steps {
    hw_descent descent; /* the problem of this fold */
    hw_descent_block block;
    uint32_t fold;            /* from 1; 0: not prepared yet */
    uint64_t iteration;       /* counts over all loops at this lambda */
    double lambda, intercept; /* intercept: that of centred columns */
} hw_logistic_steps;

/* Newton's part of a block is its first member. */
static hw_logistic_block *logistic_of(hw_newton_block *block)
{
    return (hw_logistic_block *)block;
}

void hw_logistic_steps_free(hw_logistic_steps *steps)
{
    if (steps == NULL)
        return;
    hw_descent_block_release(&steps->block);
    free(steps);
}

/* ------------------------------------------------------------------------------------------------------------ ready ---- */

/* Returns one over the square of the largest entry of the centred column in rows with weight, or 0 if the column is
 * constant. */
static double inverse_square(const hawser_matrix *X, size_t j, const double *weights, double mean, double norm)
{
    uint64_t begin, end;
    hw_linear_entries(X, j, &begin, &end);
    double most = end - begin < X->rows ? fabs(mean) : 0.0;
    hawser_simulated_work(NULL, end - begin);
    for (uint64_t k = begin; k < end; k++)
        if (weights == NULL || weights[hw_linear_row_of(X, begin, k)] > 0.0)
            most = fmax(most, fabs(hw_number_at(X, k) - mean));
    return norm > 1e-24 * (mean * mean + norm) && most > 0.0 ? 1.0 / (most * most) : 0.0;
}

/* Returns whether blocks exchange weights: by --exchange, or because stale products would belong to other rows. */
static bool sends_weights(const hw_linear *linear)
{
    const hw_linear_settings *settings = &linear->choices.settings;
    return settings->weights || (!settings->products && settings->batch > 0 && hw_linear_lag(linear->choices.sync) > 0.0);
}

static hawser_status new_steps(hawser_context *context, hw_newton_block *block, hawser_error *error)
{
    const hw_linear *linear = block->linear;
    hw_logistic_steps *steps = logistic_of(block)->steps = calloc(1, sizeof *steps);
    if (steps == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a block");
    steps->descent =
        (hw_descent){.X = linear->problem.X,
                     .intercept = linear->choices.settings.intercept,
                     .all_rows = linear->choices.settings.batch == 0,
                     .sends_weights = sends_weights(linear),
                     .batch = linear->choices.settings.batch > 0 ? linear->choices.settings.batch : linear->problem.X->rows,
                     .rate = linear->choices.settings.rate,
                     .seed = linear->choices.seed,
                     .sync = linear->choices.sync,
                     .blocks = linear->choices.blocks};
    const hawser_matrix *whole = NULL;
    if (steps->descent.sends_weights) {
        HAWSER_TRY(hawser_read(context, "whole", &whole));
        HAWSER_TRY(hw_descent_fetch_all(context, whole->cols));
    }
    return hw_descent_block_new(&steps->block, &steps->descent, &block->columns.X, whole, error);
}

/* Prepares the weights and means of another fold. */
static hawser_status weigh(hw_newton_block *block, uint32_t fold, hawser_error *error)
{
    hw_logistic_steps *steps = logistic_of(block)->steps;
    const hw_linear_columns *columns = &block->columns;
    steps->fold = fold;
    steps->descent.weights = block->row_weights;
    steps->descent.total = columns->total;
    HAWSER_TRY(hw_descent_block_weigh(&steps->block, error));
    for (size_t j = 0; j < columns->X.cols; j++)
        steps->block.inverse[j] = inverse_square(&columns->X, j, block->row_weights, steps->block.mean[j], columns->norm[j]);
    return HAWSER_OK;
}

/* Allocates the state of the steps, with the weights that the block has now. */
static bool make_again(hawser_record *record, hawser_context *context, hw_newton_block *block)
{
    hawser_error error = {0};
    if (new_steps(context, block, &error) == HAWSER_OK && weigh(block, 0, &error) == HAWSER_OK)
        return true;
    if (error.status != HAWSER_OK) /* otherwise the context has failed */
        hawser_record_fail(record, error.status, error.text);
    return false;
}

void hw_logistic_steps_visit(hawser_record *record, hawser_context *context, hw_newton_block *block)
{
    bool present = logistic_of(block)->steps != NULL;
    HW_LINEAR_REMEMBER(record, present);
    if (!present || (hawser_record_reads(record) && !make_again(record, context, block)))
        return;
    HW_LINEAR_REMEMBER(record, logistic_of(block)->steps->fold);
    HW_LINEAR_REMEMBER(record, logistic_of(block)->steps->iteration);
    HW_LINEAR_REMEMBER(record, logistic_of(block)->steps->lambda);
    HW_LINEAR_REMEMBER(record, logistic_of(block)->steps->intercept);
}

/* Starts from the coefficients of the last certificate. */
static hawser_status ready(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, alpha);
    HAWSER_WRITE(context, double, w);
    double lambda = hawser_metric(context, "lambda");
    uint32_t fold = hw_linear_fold_of(context) + 1;
    if (logistic_of(block)->steps == NULL)
        HW_UNIT_TRY(context, new_steps(context, block, &error));
    hw_logistic_steps *steps = logistic_of(block)->steps;
    if (steps->fold != fold || steps->lambda != lambda)
        steps->iteration = 0;
    if (steps->fold != fold)
        HW_UNIT_TRY(context, weigh(block, fold, &error));
    steps->lambda = lambda;
    memcpy(w, alpha, block->columns.X.cols * sizeof *w);
    return hawser_report(context, "centre", hawser_dot(block->columns.X.cols, steps->block.mean, alpha, NULL));
}

static hawser_status lengths(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    HAWSER_WRITE(context, double, row_parts);
    hw_descent_squares(&logistic_of(block)->steps->block, row_parts);
    return HAWSER_OK;
}

static hawser_status point(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    return hw_descent_point(context, &logistic_of(block)->steps->block);
}

static hawser_status power(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    return hw_descent_power(context, &logistic_of(block)->steps->block);
}

/* Computes this block's products of the next batch. */
static hawser_status post_products(hawser_context *context, hw_logistic_steps *steps)
{
    HAWSER_READ(context, double, w);
    HAWSER_WRITE(context, double, products);
    hw_descent_product(&steps->block, hw_descent_batch(&steps->block, steps->iteration), w, products);
    return HAWSER_OK;
}

/* Sets the intercept of centred columns from the best one that the certificate found. Computes the products of the first
 * batch. */
static hawser_status begin(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    hw_logistic_steps *steps = logistic_of(block)->steps;
    steps->intercept = block->point.intercept + (steps->descent.intercept ? hawser_metric(context, "centre") : 0.0);
    return steps->descent.sends_weights ? HAWSER_OK : post_products(context, steps);
}

/* ------------------------------------------------------------------------------------------------------------ steps ---- */

/* Replaces the margins of all rows by their pulls, at the best intercept. */
static void pull_all(hw_newton_block *block)
{
    hw_logistic_steps *steps = logistic_of(block)->steps;
    block->point.intercept = steps->intercept;
    hw_logistic_settle(&block->rows, steps->block.margins, 1e-12 * block->zero_objective, &block->point);
    memcpy(steps->block.margins, block->point.pull, block->rows.count * sizeof(double));
    steps->intercept = block->point.intercept;
}

/* Replaces the margins of a batch by their pulls, and moves the intercept by `rate` times their sum. */
static void pull_batch(hw_newton_block *block, hw_row_batch batch, double rate)
{
    const hw_newton_rows *rows = &block->rows;
    hw_logistic_steps *steps = logistic_of(block)->steps;
    double *margins = steps->block.margins, sum = 0.0;
    for (size_t k = 0; k < batch.count; k++) {
        size_t i = batch.list[k];
        double margin = margins[k] + steps->intercept + (rows->offset != NULL ? rows->offset[i] : 0.0);
        double weight = rows->weights != NULL ? rows->weights[i] : 1.0;
        margins[k] = weight * rows->target[i] * hw_logistic_probability(-rows->target[i] * margin);
        sum += margins[k];
    }
    if (rows->intercept)
        steps->intercept += rate * sum;
}

/* Returns the intercept's rate. The intercept is a column of ones in every row, so its steps must be smaller than those of
 * rare columns. */
static double intercept_rate(const hw_descent *descent, double rate, uint64_t iteration)
{
    double batch = (double)descent->batch, epoch = ceil((double)descent->X->rows / batch);
    double own = 1.0 / (BEND * (1.0 + 1.0 / batch) * (1.0 + hw_linear_lag(descent->sync)));
    return fmin(rate, own / (1.0 + (double)iteration / (2.0 * epoch)));
}

static hawser_status move(hawser_context *context, hw_newton_block *block, double rate)
{
    HAWSER_WRITE(context, double, w);
    hw_logistic_steps *steps = logistic_of(block)->steps;
    const hw_linear_columns *columns = &block->columns;
    double lambda = hawser_metric(context, "lambda"), usual = steps->descent.total;
    usual /= (double)steps->descent.X->rows;
    double share = 1.0 / ((double)steps->descent.batch * usual);
    for (size_t j = 0; j < columns->X.cols; j++) {
        double eta = rate * steps->block.inverse[j];
        hw_linear_term term = hw_linear_term_at(columns, j, lambda);
        if (eta > 0.0)
            w[j] = hw_linear_prox(w[j] / eta + steps->block.gradient[j] * share, 1.0 / eta, term);
        else if (steps->block.inverse[j] == 0.0) /* constant in this fold: the penalty alone decides */
            w[j] = hw_linear_prox(0.0, 0.0, term);
        if (!isfinite(w[j]))
            return hawser_unit_fail(context, HAWSER_DIVERGED,
                                    "a weight is no number any more in iteration %llu; lower --step",
                                    (unsigned long long)steps->iteration);
    }
    return HAWSER_OK;
}

static hawser_status descend(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    hw_logistic_steps *steps = logistic_of(block)->steps;
    const hw_descent *descent = &steps->descent;
    hw_row_batch batch = hw_descent_batch(&steps->block, steps->iteration);
    double caution = hawser_metric(context, "caution"), share = descent->total / (double)descent->X->rows;
    HAWSER_TRY(descent->sends_weights ? hw_descent_make_products(context, &steps->block, "w", batch)
                                      : hw_descent_take_products(context, &steps->block, "products", batch.count));
    double rate = hw_descent_rate(descent, hawser_metric(context, "curvature"), hawser_metric(context, "row_square"), BEND,
                                  steps->iteration);
    rate /= caution > 1.0 ? caution : 1.0;
    if (descent->all_rows)
        pull_all(block);
    else
        pull_batch(block, batch, intercept_rate(descent, rate, steps->iteration) / ((double)batch.count * share));
    (void)hw_descent_gradient(&steps->block, batch);
    HAWSER_TRY(move(context, block, rate));
    steps->iteration++;
    return descent->sends_weights ? HAWSER_OK : post_products(context, steps);
}

static hawser_status settle(hawser_context *context)
{
    HAWSER_WRITE(context, double, alpha);
    HAWSER_READ(context, double, w);
    memcpy(alpha, w, hawser_part(context, "w", NULL) * sizeof(double));
    return hawser_touch(context, "v", 0, 0); /* derived from alpha */
}

/* ---------------------------------------------------------------------------------------------------------- program ---- */

void hw_logistic_steps_declare(hawser_program *program)
{
    hawser_metric_declare(program, "centre", HAWSER_SUM);
    hawser_metric_declare(program, "row_square", HAWSER_MAX);
    hawser_metric_declare(program, "squares", HAWSER_SUM);
    hawser_metric_declare(program, "curvature", HAWSER_LAST);
}

static uint64_t clocks_of(const hw_linear_choices *choices)
{
    if (choices->settings.batch > 0)
        return choices->step_clocks;
    return choices->settings.certify_every > 0 ? choices->settings.certify_every : CLOCKS;
}

void hw_logistic_steps_work(const hw_linear_frame *frame)
{
    const hw_linear *linear = frame->driver->linear;
    hawser_program *p = frame->program;
    hawser_state *X = frame->X, *whole = NULL, *products = NULL;
    size_t rows = linear->problem.X->rows,
           batch = linear->choices.settings.batch > 0 ? linear->choices.settings.batch : rows;
    bool weights_are_sent = sends_weights(linear);
    hawser_state *row_parts = HAWSER_STATE(p, "row_parts", HAWSER_STORED, .rows = linear->choices.blocks * rows);
    hawser_state *w = HAWSER_STATE(p, "w", weights_are_sent ? HAWSER_STORED : HAWSER_LOCAL, .rows = linear->problem.X->cols,
                                   .along = X, .initial = linear->problem.alpha);
    if (weights_are_sent)
        whole = HAWSER_STATE(p, "whole", HAWSER_DATA, .matrix = linear->problem.X, .split = HAWSER_FETCHED);
    else
        products = HAWSER_STATE(p, "products", HAWSER_STORED, .rows = linear->choices.blocks * batch);
    HAWSER_UNIT(frame->work, "ready", ready, .reads = {X, frame->alpha, whole}, .updates = {w});
    if (!(linear->choices.settings.rate > 0.0)) {
        hawser_operator *uncurved =
            hawser_sequence(hawser_branch(frame->work, "uncurved", hw_linear_uncurved, frame->driver));
        HAWSER_UNIT(uncurved, "lengths", lengths, .reads = {X}, .updates = {row_parts});
        HAWSER_UNIT(uncurved, "point", point, .reads = {X}, .updates = {row_parts});
        hawser_operator *powers =
            hawser_loop(uncurved, "curvature", (hawser_until){.test = hw_descent_powers_done}, hawser_bsp());
        HAWSER_UNIT(powers, "power", power, .reads = {X}, .updates = {row_parts});
    }
    HAWSER_UNIT(frame->work, "begin", begin, .reads = {w}, .updates = {products});
    hawser_operator *steps =
        hawser_loop(frame->work, "steps", (hawser_until){.clocks = clocks_of(&linear->choices)}, linear->choices.sync);
    HAWSER_UNIT(steps, "descend", descend, .reads = {X, whole}, .updates = {w, products});
    hw_linear_settle_work(frame, w, settle);
}
