#include "algorithms/svm/finish.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/row_result.h"
#include "algorithms/svm/model.h"

/* What the result is made from. */
typedef struct outcome {
    const hw_svm *svm;
    const hawser_training_input *input;
    hw_row_result result;
    double *last, *models; /* a model by column, and by problem: the columns and the intercept of each */
} outcome;

/* Copies the model of a member to o->models. */
static void take(outcome *o, size_t member)
{
    size_t k = o->svm->problems, width = o->svm->X->cols + 1;
    hw_row_result_take(&o->result, member);
    for (size_t e = 0; e < k * width; e++)
        o->models[e % k * width + e / k] = o->result.model[e];
}

static hawser_status validate(outcome *o, double *wrong, hawser_error *error)
{
    size_t k = o->svm->problems, d = o->svm->X->cols;
    double *columns = calloc(k * (d + 1), sizeof *columns), *intercepts = columns + k * d;
    if (columns == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu models of %zu columns", k, d);
    for (size_t p = 0; p < k; p++) {
        memcpy(columns + p * d, o->models + p * (d + 1), d * sizeof *columns);
        intercepts[p] = o->models[p * (d + 1) + d];
    }
    hw_classed f = {.coefficients = columns,
                    .intercepts = intercepts,
                    .labels = o->svm->labels,
                    .problems = k,
                    .columns = d,
                    .classes = o->svm->classes};
    hawser_status status = hw_svm_error(&f, o->input->validation, wrong, error);
    free(columns);
    return status;
}

static void fill_facts(outcome *o, const hw_linear_row *row, hawser_training *training)
{
    const hw_svm *svm = o->svm;
    hawser_fact facts[] = {{"objective", row->objective},
                           {"gap", row->gap},
                           {"C", row->lambda},
                           {"iterations", hawser_result_metric(training->run, "iterations")},
                           {"classes", (double)svm->classes}};
    size_t at = sizeof facts / sizeof *facts;
    memcpy(training->facts, facts, sizeof facts);
    if (o->input->validation != NULL)
        training->facts[at++] = svm->regression ? (hawser_fact){"validation_mean_squared_error", row->error}
                                                : (hawser_fact){"validation_accuracy", 1.0 - row->error};
    (void)hw_row_result_describe(&o->result, "cv_error", at);
}

static hawser_status make(outcome *o, hawser_training *training, hawser_error *error)
{
    for (size_t l = 0; l < o->svm->path.members; l++)
        o->result.record.rows[l].penalty = NAN; /* these models have none */
    for (size_t l = 0; o->input->validation != NULL && l < hw_row_result_members(&o->result); l++) {
        take(o, l);
        HAWSER_TRY(validate(o, &o->result.record.rows[l].error, error));
    }
    const hw_linear_row *row = hw_row_result_choose(&o->result);
    take(o, o->result.fit.selection.chosen);
    hw_svm_result made = {.models = o->models,
                          .objective = row->objective,
                          .gap = row->gap,
                          .C = row->lambda,
                          .iterations = hawser_result_metric(training->run, "iterations")};
    HAWSER_TRY(hw_svm_model_make(o->svm, &made, o->input, &training->model, error));
    HAWSER_TRY(hw_row_result_store(&o->result, training->model, error));
    fill_facts(o, row, training);
    return HAWSER_OK;
}

hawser_status hw_svm_finish(const hw_svm *svm, const hawser_training_input *input, hawser_training *training,
                            hawser_error *error)
{
    size_t k = svm->problems, width = svm->X->cols + 1;
    outcome o = {.svm = svm, .input = input, .last = calloc(2 * k * width, sizeof *o.last)};
    if (o.last == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu models of %zu columns", k, width);
    o.models = o.last + k * width;
    const double *models = hawser_result(training->run, "models", NULL);
    for (size_t e = 0; e < k * width; e++)
        o.last[e] = models[e % k * width + e / k];
    hawser_status status = hw_row_result_new(&o.result, &svm->path, training, o.last, "C", error);
    if (status == HAWSER_OK)
        status = make(&o, training, error);
    hw_row_result_free(&o.result);
    free(o.last);
    return status;
}
