/* evaluate.c - probabilities and labels from a model, and their measures. */
#include "algorithms/logistic/parts.h"

#include <math.h>

#include "algorithms/glm/coefficients.h"
#include "algorithms/glm/positive.h"
#include "algorithms/logistic/loss.h"
#include "algorithms/measures/classes.h"
#include "algorithms/model/facts.h"

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
        predictions[i] = isfinite(predictions[i]) ? hw_logistic_probability(predictions[i]) : NAN; /* an overflow */
    return HAWSER_OK;
}

hawser_status hw_logistic_label(const hawser_model *model, const hawser_dataset *data, double *labels, hawser_error *error)
{
    double pair[2];
    HAWSER_TRY(pair_of(model, "labels", pair, error));
    HAWSER_TRY(hw_logistic_predict(model, data, labels, error));
    for (size_t i = 0; i < hawser_dataset_matrix(data)->rows; i++)
        labels[i] = isnan(labels[i]) ? NAN : pair[labels[i] > 0.5];
    return HAWSER_OK;
}

/* Computes log loss and objective from margins, because probabilities near 0 and 1 have lost digits. */
static hawser_status losses(const hawser_evaluation_input *input, hw_classes *classes, double total, hawser_error *error)
{
    const double *weights = input->weights;
    double class_weights[2], loss = 0.0, weighted = 0.0, weight = 0.0;
    HAWSER_TRY(pair_of(input->model, "class_weights", class_weights, error));
    for (size_t i = 0; i < input->rows; i++) {
        double margin = input->scored[2 * i];
        bool high = input->scored[2 * i + 1] == classes->labels[1];
        double own = weights != NULL ? weights[i] : 1.0;
        double one = hw_logistic_loss(high ? margin : -margin);
        loss += own * one;
        weighted += own * class_weights[high] * one;
        weight += own * class_weights[high];
    }
    classes->log_loss = loss / total;
    classes->objective = weighted / weight + hw_model_number(input->model, "penalty", NAN);
    return HAWSER_OK;
}

/* Replaces targets by the labels that a model's --positive makes of them. */
static hawser_status make_labels(const hawser_evaluation_input *input, hawser_error *error)
{
    const char *text = hawser_model_text(input->model, "positive");
    hw_positive positive;
    if (text == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_positive_read(text, NULL, 0, &positive, error));
    for (size_t i = 0; i < input->rows; i++)
        input->scored[2 * i + 1] = hw_positive_holds(&positive, input->scored[2 * i + 1]) ? 1.0 : 0.0;
    return HAWSER_OK;
}

hawser_status hw_logistic_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error)
{
    double labels[2] = {0.0, 0.0}, total;
    hw_classes classes = hw_classes_of(input, labels, 2);
    classes.probability = hw_logistic_probability;
    HAWSER_TRY(make_labels(input, error));
    HAWSER_TRY(pair_of(input->model, "labels", labels, error));
    HAWSER_TRY(hw_classes_check(&classes, &total, error));
    HAWSER_TRY(losses(input, &classes, total, error));
    return hw_classes_measure(&classes, measures, error);
}
