#include "algorithms/lasso/finish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/lasso/block.h"
#include "algorithms/lasso/model.h"

/* Certifies coefficients on the whole problem: what was measured last in an interrupted run is not what it left behind. */
static hawser_status certify_whole(hw_lasso *lasso, const double *alpha, double lambda, hw_lasso_row *row,
                                   hawser_error *error)
{
    hw_lasso_block block = {0};
    hawser_status status = hw_lasso_block_prepare(&block, lasso, lasso->X, 0, error);
    double *v = calloc(lasso->X->rows + 1, sizeof *v);
    if (status == HAWSER_OK && v == NULL)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu rows", lasso->X->rows);
    if (status == HAWSER_OK) {
        hw_lasso_sums sums;
        hawser_multiply(lasso->X, alpha, 0.0, v);
        hw_lasso_block_residual(&block, v, true);
        hw_lasso_block_scan(&block, alpha, lambda);
        row->nonzeros = (double)hw_lasso_block_sums(&block, alpha, lambda, &sums);
        row->lambda = lambda;
        row->objective = hw_lasso_primal(&sums);
        double scaled = 0.0, plain = 0.0;
        hw_lasso_block_conjugate(&block, lambda, hw_lasso_scale(&sums), &scaled, &plain);
        row->gap = hw_lasso_gap(&sums, scaled, plain, block.zero_objective);
        row->penalty = sums.penalty;
        row->intercept = block.intercept;
        row->error = NAN;
        row->done = true;
        lasso->whole_zero_objective = block.zero_objective;
    }
    free(v);
    hw_lasso_block_release(&block);
    return status;
}

void hw_lasso_take_rest(hw_lasso *lasso, const hawser_run *run)
{
    hw_lasso_sums sums = {.loss = hawser_result_metric(run, "loss"),
                          .square = hawser_result_metric(run, "square"),
                          .target = hawser_result_metric(run, "target"),
                          .penalty = hawser_result_metric(run, "penalty"),
                          .curved = hawser_result_metric(run, "curved"),
                          .ratio = hawser_result_metric(run, "ratio")};
    double zero = hawser_result_metric(run, "zero_objective");
    lasso->whole_zero_objective = zero;
    lasso->rest = (hw_lasso_row){.lambda = lasso->rest_lambda,
                                 .objective = hw_lasso_primal(&sums),
                                 .gap = hw_lasso_gap(&sums, hawser_result_metric(run, "conjugate"),
                                                     hawser_result_metric(run, "plain_conjugate"), zero),
                                 .nonzeros = hawser_result_metric(run, "nonzeros"),
                                 .penalty = sums.penalty,
                                 .intercept = hawser_result_metric(run, "intercept"),
                                 .error = NAN,
                                 .done = true};
}

/* The first lambda, when an interrupted run has not come to its end, gets its row from what is there. */
static hawser_status row_of_the_rest(hw_lasso *lasso, const double *alpha, hawser_error *error)
{
    if (lasso->rest.done) {
        lasso->rows[0] = lasso->rest;
        return HAWSER_OK;
    }
    double lambda = lasso->begun ? lasso->lambdas[0] : lasso->settings.lambda >= 0.0 ? lasso->settings.lambda : 0.0;
    return certify_whole(lasso, alpha, lambda, &lasso->rows[0], error);
}

/* Errors of all lambdas on a data set of the user's. */
static hawser_status validate(hw_lasso *lasso, const hawser_dataset *data, const double *alpha, const double *path,
                              hawser_error *error)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    const double *y = hawser_dataset_target(data), *weights = hawser_dataset_weights(data),
                 *offset = hawser_dataset_offset(data);
    if (y == NULL || X->cols > lasso->X->cols)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the validation data have %zu columns%s, the training data %zu", X->cols,
                           y == NULL ? " and no target" : "", lasso->X->cols);
    double *w = calloc(lasso->X->cols + 1, sizeof *w), *predictions = calloc(X->rows + 1, sizeof *predictions);
    hawser_status status = HAWSER_OK;
    if (w == NULL || predictions == NULL)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the validation of %zu rows", X->rows);
    for (size_t l = 0; status == HAWSER_OK && l < lasso->lambda_count && lasso->rows[l].done; l++) {
        double total = 0.0, squares = 0.0;
        for (size_t j = 0; j < X->cols; j++)
            w[j] = path != NULL ? path[j * lasso->lambda_count + l] : alpha[j];
        hawser_multiply(X, w, lasso->rows[l].intercept, predictions);
        for (size_t i = 0; i < X->rows; i++) {
            double weight = weights != NULL ? weights[i] : 1.0,
                   e = y[i] - predictions[i] - (offset != NULL ? offset[i] : 0.0);
            total += weight;
            squares += weight * e * e;
        }
        lasso->rows[l].error = squares / total;
    }
    free(w);
    free(predictions);
    return status;
}

static void tell(const hw_lasso *lasso, const hw_lasso_row *row, const hawser_training_input *input,
                 hawser_training *training)
{
    hawser_fact all[] = {{"objective", row->objective},
                         {"gap", row->gap},
                         {"lambda", row->lambda},
                         {"nonzeros", row->nonzeros},
                         {"intercept", row->intercept},
                         {"lambda_max", lasso->lambda_max},
                         {"r2", lasso->whole_zero_objective > 0.0
                                    ? 1.0 - (row->objective - row->penalty) / lasso->whole_zero_objective
                                    : 0.0}};
    size_t at = sizeof all / sizeof *all;
    memcpy(training->facts, all, sizeof all);
    if (lasso->lambda_count > 1)
        training->facts[at++] = (hawser_fact){"lambdas", (double)lasso->lambda_count};
    if (!isnan(row->error))
        training->facts[at++] = (hawser_fact){lasso->settings.folds > 0 ? "cv_mse" : "validation_mse", row->error};
    if (lasso->settings.folds > 0 && !isnan(row->error))
        training->facts[at++] = (hawser_fact){"cv_standard_error", row->standard_error};
    (void)input;
}

static void say_why(const hw_lasso *lasso, bool early, hawser_training *training)
{
    const hawser_figures *figures = hawser_run_figures(training->run);
    const char *reason = "gap";
    for (size_t l = 0; l < lasso->lambda_count; l++)
        if (lasso->rows[l].done && lasso->rows[l].precision)
            reason = "precision";
    if (early)
        reason = figures != NULL && figures->stop_reason != NULL ? figures->stop_reason : "limit";
    snprintf(training->stop_reason, sizeof training->stop_reason, "%s", reason);
    training->interrupted = early && strcmp(reason, "signal") == 0;
}

hawser_status hw_lasso_finish(hw_lasso *lasso, const hawser_training_input *input, bool early, hawser_training *training,
                              hawser_error *error)
{
    size_t count = 0;
    const double *alpha = hawser_result(training->run, "alpha", &count);
    const double *path = lasso->lambda_count > 1 ? hawser_result(training->run, "path", &count) : NULL;
    for (size_t l = 0; l < lasso->lambda_count; l++)
        if (!lasso->rows[l].done)
            lasso->rows[l].error = NAN;
    if (early && !lasso->rows[0].done) {
        path = NULL; /* not even the first lambda is complete: the model is what there is */
        HAWSER_TRY(row_of_the_rest(lasso, alpha, error));
    }
    if (input->validation != NULL)
        HAWSER_TRY(validate(lasso, input->validation, alpha, path, error));
    size_t chosen = path != NULL ? hw_lasso_select(lasso) : 0;
    HAWSER_TRY(hw_lasso_model_make(lasso, input, chosen, alpha, path, &training->model, error));
    tell(lasso, &lasso->rows[chosen], input, training);
    say_why(lasso, early, training);
    return HAWSER_OK;
}
