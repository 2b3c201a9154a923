#include "algorithms/svm/finish.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/driver.h"
#include "algorithms/glm/row_result.h"
#include "algorithms/svm/model.h"

/* What the result is made from. */
typedef struct outcome {
    const hw_svm *svm;
    const hawser_training_input *input;
    hw_row_result result;
} outcome;

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
        training->facts[at++] = (hawser_fact){hw_svm_validation_name(svm), svm->regression ? row->error : 1.0 - row->error};
    (void)hw_row_result_describe(&o->result, "cv_error", at);
    if (svm->moved)
        hw_linear_note(training, "columns are far from zero, where the dual loses digits, so the primal was solved instead");
    if (hawser_result_metric(training->run, "turned") > 0.0)
        hw_linear_note(training, "the dual came closer too slowly, so --solver auto went on with the primal from its model; "
                                 "--solver primal solves it from the start");
}

static hawser_status make(outcome *o, hawser_training *training, hawser_error *error)
{
    for (size_t l = 0; l < o->svm->path.members; l++)
        o->result.record.rows[l].penalty = NAN; /* these models have none */
    for (size_t l = 0; o->input->validation != NULL && l < hw_row_result_members(&o->result); l++) {
        hw_row_result_take(&o->result, l);
        HAWSER_TRY(hw_svm_validation_error(o->svm, o->result.model, &o->result.record.rows[l].error, error));
    }
    const hw_linear_row *row = hw_row_result_choose(&o->result);
    hw_svm_result made = {.model = o->result.model,
                          .objective = row->objective,
                          .gap = row->gap,
                          .rounding = hw_row_result_rounding(&o->result),
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
    outcome o = {.svm = svm, .input = input};
    double *last = calloc(k * width, sizeof *last); /* by column */
    if (last == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu models of %zu columns", k, width);
    const double *models = hawser_result(training->run, "models", NULL);
    for (size_t e = 0; e < k * width; e++)
        last[e] = models[e % k * width + e / k];
    hawser_status status = hw_row_result_new(&o.result, &svm->path, training, last, "C", error);
    if (status == HAWSER_OK)
        status = make(&o, training, error);
    hw_row_result_free(&o.result);
    free(last);
    return status;
}
