#include "algorithms/logistic/evaluate.h"

#include <math.h>
#include <stdlib.h>

#include "algorithms/glm/coefficients.h"
#include "algorithms/glm/positive.h"
#include "algorithms/logistic/loss.h"
#include "algorithms/measures/classes.h"
#include "algorithms/measures/measure.h"

/* Reads a fact of two numbers; the first one belongs to the lower label. */
static hawser_status pair_of(const hawser_model *model, const char *key, double pair[2], hawser_error *error)
{
    const char *text = hawser_model_text(model, key);
    for (size_t k = 0; k < 2 && text != NULL; k++) {
        text = hawser_read_number(text, &pair[k]);
        text = text != NULL && isfinite(pair[k]) ? text : NULL;
    }
    return text != NULL && *text == '\0'
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_BAD_INPUT, "the model does not say what its %s are", key);
}

hawser_status hw_logistic_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                                  hawser_error *error)
{
    HAWSER_TRY(hw_linear_margins(model, data, predictions, error));
    for (size_t i = 0; i < hawser_dataset_matrix(data)->rows; i++)
        predictions[i] = hw_logistic_probability(predictions[i]);
    return HAWSER_OK;
}

hawser_status hw_logistic_label(const hawser_model *model, size_t count, double *predictions, hawser_error *error)
{
    double labels[2];
    HAWSER_TRY(pair_of(model, "labels", labels, error));
    for (size_t i = 0; i < count; i++)
        predictions[i] = labels[predictions[i] > 0.5];
    return HAWSER_OK;
}

/* Computes log loss and objective from margins, because probabilities near 0 and 1 have lost digits. */
static hawser_status losses(const hawser_evaluation_input *input, hw_classes *classes, double total, hawser_error *error)
{
    const double *y = classes->target, *weights = hawser_dataset_weights(input->data);
    double class_weights[2], loss = 0.0, weighted = 0.0, weight = 0.0;
    HAWSER_TRY(pair_of(input->model, "class_weights", class_weights, error));
    for (size_t i = 0; i < hawser_dataset_matrix(input->data)->rows; i++) {
        bool high = y[i] == classes->labels[1];
        double own = weights != NULL ? weights[i] : 1.0;
        double one = hw_logistic_loss(high ? classes->scores[i] : -classes->scores[i]);
        loss += own * one;
        weighted += own * class_weights[high] * one;
        weight += own * class_weights[high];
    }
    classes->log_loss = loss / total;
    classes->objective = weighted / weight + hw_linear_fact(input->model, "penalty", NAN);
    return HAWSER_OK;
}

/* Stores the labels that a model's --positive makes of a target; *made is NULL if the model has none. The caller frees it. */
static hawser_status make_labels(const hawser_evaluation_input *input, double **made, hawser_error *error)
{
    const char *text = hawser_model_text(input->model, "positive");
    const double *target = hawser_dataset_target(input->data);
    size_t n = hawser_dataset_matrix(input->data)->rows;
    hw_positive positive;
    *made = NULL;
    if (text == NULL || target == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_positive_read(text, NULL, 0, &positive, error));
    *made = calloc(n + 1, sizeof **made);
    if (*made == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the labels of %zu rows", n);
    for (size_t i = 0; i < n; i++)
        (*made)[i] = hw_positive_holds(&positive, target[i]) ? 1.0 : 0.0;
    return HAWSER_OK;
}

static hawser_status measure(const hawser_evaluation_input *input, const double *target, hw_ranked *ranked,
                             hawser_measure *measures, hawser_error *error)
{
    size_t n = hawser_dataset_matrix(input->data)->rows;
    double labels[2], total, *margins = hw_classes_scores(ranked, n);
    hw_classes classes = {.data = input->data,
                          .target = target,
                          .count = 2,
                          .labels = labels,
                          .words = input->words,
                          .probabilities = input->predictions,
                          .threshold = input->threshold,
                          .scores = margins,
                          .ranked = ranked};
    HAWSER_TRY(pair_of(input->model, "labels", labels, error));
    HAWSER_TRY(hw_classes_check(&classes, &total, error));
    HAWSER_TRY(hw_linear_margins(input->model, input->data, margins, error));
    HAWSER_TRY(hw_measure_finite(margins, n, 1, "margin", error));
    HAWSER_TRY(losses(input, &classes, total, error));
    return hw_classes_measure(&classes, measures, error);
}

hawser_status hw_logistic_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error)
{
    size_t n = hawser_dataset_matrix(input->data)->rows;
    hw_ranked *ranked = calloc(n + 1, sizeof *ranked);
    if (ranked == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory to evaluate %zu rows", n);
    double *labels = NULL;
    hawser_status status = make_labels(input, &labels, error);
    if (status == HAWSER_OK)
        status = measure(input, labels != NULL ? labels : hawser_dataset_target(input->data), ranked, measures, error);
    free(labels);
    free(ranked);
    return status;
}
