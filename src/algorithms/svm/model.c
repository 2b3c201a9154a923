#include "algorithms/svm/model.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/choice/member.h"
#include "algorithms/measures/measure.h"

/* ---- predictions ---- */

hawser_status hw_svm_predict(const hawser_model *model, const hawser_dataset *data, double *predictions, hawser_error *error)
{
    hw_classed f;
    HAWSER_TRY(hw_classed_of(model, true, &f, error));
    return hw_classed_predict(&f, data, predictions, error);
}

hawser_status hw_svm_link(const hawser_model *model, const hawser_dataset *data, double *values, hawser_error *error)
{
    hw_classed f;
    HAWSER_TRY(hw_classed_of(model, true, &f, error));
    return hw_classed_link(&f, data, values, error);
}

hawser_status hw_svm_label(const hawser_model *model, const hawser_dataset *data, double *labels, hawser_error *error)
{
    hw_classed f;
    HAWSER_TRY(hw_classed_of(model, true, &f, error));
    if (f.labels == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "a model of --loss epsilon or --loss squared-epsilon predicts numbers, not labels");
    return hw_svm_predict(model, data, labels, error);
}

hawser_status hw_svm_error(const hw_classed *f, const hawser_dataset *data, double values[2], hawser_error *error)
{
    size_t rows = hawser_dataset_matrix(data)->rows;
    const double *target = hawser_dataset_target(data), *weights = hawser_dataset_weights(data);
    double sum = 0.0, total = 0.0, *predictions = calloc(rows + 1, sizeof *predictions);
    hawser_status status = predictions != NULL ? hw_measure_total(rows, weights, &total, error)
                                               : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu predictions", rows);
    HAWSER_THEN(status, hw_classed_predict(f, data, predictions, error));
    for (size_t i = 0; status == HAWSER_OK && i < rows; i++) {
        double weight = weights != NULL ? weights[i] : 1.0, wrong = predictions[i] - target[i];
        if (weight > 0.0)
            sum += weight * (f->labels != NULL ? wrong != 0.0 : wrong * wrong);
    }
    free(predictions);
    values[0] = sum / total;
    return status;
}

hawser_status hw_svm_path(const hawser_algorithm *algorithm, const hawser_model *model, hawser_path *path,
                          hawser_error *error)
{
    const char *metric = hawser_model_text(model, "options.cv-metric"), *loss = hawser_model_text(model, "options.loss");
    bool regression = loss != NULL && strstr(loss, "epsilon") != NULL, crossed = hawser_model_text(model, "cv") != NULL;
    (void)algorithm;
    return hw_choice_path(model,
                          crossed && metric != NULL && strcmp(metric, "loss") == 0 ? "loss"
                          : regression                                             ? "mean squared error"
                                                                                   : "1 - accuracy",
                          path, error);
}
