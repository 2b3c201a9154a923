#include "algorithms/softmax/finish.h"

#include <math.h>
#include <string.h>

#include "algorithms/glm/row_result.h"
#include "algorithms/softmax/model.h"
#include "algorithms/softmax/validation.h"

static double count_coefficients(const hw_softmax *s, const double *model)
{
    double count = 0.0;
    for (size_t e = 0; e < s->X->cols * s->classes; e++)
        count += model[e] != 0.0;
    return count;
}

static void fill_facts(const hw_softmax *s, const hw_row_result *result, const hw_linear_row *row, const double *accuracy)
{
    hawser_training *training = result->training;
    hawser_fact facts[] = {{"objective", row->objective},
                           {"gap", row->gap},
                           {"nonzero", count_coefficients(s, result->model)},
                           {"lambda", row->lambda},
                           {"iterations", hawser_result_metric(training->run, "iterations")},
                           {"classes", (double)s->classes}};
    size_t at = sizeof facts / sizeof *facts;
    memcpy(training->facts, facts, sizeof facts);
    if (s->path.choice.path_count > 0) {
        training->facts[at++] = (hawser_fact){"lambda_max", hawser_result_metric(training->run, "lambda_max")};
        training->facts[at++] = (hawser_fact){"lambdas", (double)hw_row_result_members(result)};
    }
    if (accuracy != NULL) {
        training->facts[at++] = (hawser_fact){"validation_log_loss", row->error};
        training->facts[at++] = (hawser_fact){"validation_accuracy", *accuracy};
    }
    bool loss = strcmp(s->path.choice.metric, "loss") == 0;
    (void)hw_row_result_describe(result, loss ? "cv_log_loss" : "cv_error", at);
}

static hawser_status make(const hw_softmax *s, const hawser_training_input *input, hw_row_result *result,
                          hawser_error *error)
{
    hawser_training *training = result->training;
    double accuracy = NAN, ignored;
    for (size_t l = 0; input->validation != NULL && l < hw_row_result_members(result); l++) {
        hw_row_result_take(result, l);
        HAWSER_TRY(hw_softmax_validation_error(s, result->model, &result->record.rows[l].error, &accuracy, error));
    }
    const hw_linear_row *row = hw_row_result_choose(result);
    if (input->validation != NULL)
        HAWSER_TRY(hw_softmax_validation_error(s, result->model, &ignored, &accuracy, error));
    hw_softmax_result made = {.model = result->model,
                              .objective = row->objective,
                              .gap = row->gap,
                              .rounding = hw_row_result_rounding(result),
                              .penalty = row->penalty,
                              .lambda = row->lambda,
                              .iterations = hawser_result_metric(training->run, "iterations")};
    HAWSER_TRY(hw_softmax_model_make(s, &made, input, &training->model, error));
    HAWSER_TRY(hw_row_result_store(result, training->model, error));
    fill_facts(s, result, row, input->validation != NULL ? &accuracy : NULL);
    return HAWSER_OK;
}

hawser_status hw_softmax_finish(const hw_softmax *softmax, const hawser_training_input *input, hawser_training *training,
                                hawser_error *error)
{
    hw_row_result result;
    hawser_status status =
        hw_row_result_new(&result, &softmax->path, training, hawser_result(training->run, "model", NULL), "lambda", error);
    if (status == HAWSER_OK)
        status = make(softmax, input, &result, error);
    hw_row_result_free(&result);
    return status;
}
