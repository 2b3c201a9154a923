#include "algorithms/logistic/evaluate.h"

#include <math.h>
#include <stdlib.h>

#include "algorithms/glm/coefficients.h"
#include "algorithms/logistic/loss.h"

/* Two numbers of a fact, those of the lower label first. */
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

typedef struct ranked {
    double margin, weight;
    bool high;
} ranked;

static int by_margin(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    return a->margin < b->margin ? -1 : a->margin > b->margin;
}

/* Weighted probability that an example of the higher label is ranked above one of the lower; ties count half. */
static double area(ranked *examples, size_t count, const double weight[2])
{
    double below = 0.0, won = 0.0;
    qsort(examples, count, sizeof *examples, by_margin);
    for (size_t i = 0, next; i < count; i = next) {
        double tied[2] = {0.0, 0.0};
        for (next = i; next < count && examples[next].margin == examples[i].margin; next++)
            tied[examples[next].high] += examples[next].weight;
        won += tied[1] * (below + 0.5 * tied[0]);
        below += tied[0];
    }
    return won / (weight[0] * weight[1]);
}

/* Fills examples (margins are there already) and their sums: weight by class; log loss, right ones, weighted loss, its weight. */
static hawser_status tally(const hawser_dataset *data, const double labels[2], const double class_weights[2],
                           ranked *examples, double weight[2], double sums[4], hawser_error *error)
{
    const double *y = hawser_dataset_target(data), *weights = hawser_dataset_weights(data);
    for (size_t i = 0; i < hawser_dataset_matrix(data)->rows; i++) {
        ranked *one = &examples[i];
        if (y[i] != labels[0] && y[i] != labels[1])
            return hawser_fail(error, HAWSER_BAD_INPUT, "row %zu: the label %g is none of the model's (%g and %g)", i + 1,
                               y[i], labels[0], labels[1]);
        one->high = y[i] == labels[1];
        one->weight = weights != NULL ? weights[i] : 1.0;
        double loss = hw_logistic_loss(one->high ? one->margin : -one->margin);
        weight[one->high] += one->weight;
        sums[0] += one->weight * loss;
        sums[1] += (one->margin > 0.0) == one->high ? one->weight : 0.0;
        sums[2] += one->weight * class_weights[one->high] * loss;
        sums[3] += one->weight * class_weights[one->high];
    }
    return HAWSER_OK;
}

static hawser_status measure(const hawser_model *model, const hawser_dataset *data, ranked *examples, hawser_fact out[16],
                             hawser_error *error)
{
    size_t n = hawser_dataset_matrix(data)->rows, at = 0;
    double labels[2], class_weights[2], weight[2] = {0.0, 0.0}, sums[4] = {0.0, 0.0, 0.0, 0.0};
    HAWSER_TRY(pair_of(model, "labels", labels, error));
    HAWSER_TRY(pair_of(model, "class_weights", class_weights, error));
    HAWSER_TRY(tally(data, labels, class_weights, examples, weight, sums, error));
    double total = weight[0] + weight[1];
    if (!(total > 0.0))
        return hawser_fail(error, HAWSER_BAD_INPUT, "nothing to evaluate: %zu rows with total weight %g", n, total);
    if (weight[0] > 0.0 && weight[1] > 0.0)
        out[at++] = (hawser_fact){"auc", area(examples, n, weight)};
    out[at++] = (hawser_fact){"accuracy", sums[1] / total};
    out[at++] = (hawser_fact){"log_loss", sums[0] / total};
    double penalty = hw_linear_fact(model, "penalty", NAN); /* of a model that was not certified it is not known */
    if (!isnan(penalty))
        out[at++] = (hawser_fact){"objective", sums[2] / sums[3] + penalty};
    out[at] = (hawser_fact){NULL, 0.0};
    return HAWSER_OK;
}

hawser_status hw_logistic_evaluate(const hawser_model *model, const hawser_dataset *data, const double *predictions,
                                   hawser_fact facts[16], hawser_error *error)
{
    size_t n = hawser_dataset_matrix(data)->rows;
    (void)predictions; /* near 0 and 1 margins tell more */
    if (hawser_dataset_target(data) == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "the input has no target to compare with; name its column with --target");
    double *margins = calloc(n + 1, sizeof *margins);
    ranked *examples = calloc(n + 1, sizeof *examples);
    hawser_status status = HAWSER_OK;
    if (margins == NULL || examples == NULL)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory to evaluate %zu rows", n);
    if (status == HAWSER_OK)
        status = hw_linear_margins(model, data, margins, error);
    for (size_t i = 0; status == HAWSER_OK && i < n; i++)
        examples[i].margin = margins[i];
    if (status == HAWSER_OK)
        status = measure(model, data, examples, facts, error);
    free(margins);
    free(examples);
    return status;
}
