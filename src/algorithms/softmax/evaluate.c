/* evaluate.c - measures of softmax regression, and its printed coefficients. */
#include <math.h>
#include <stdlib.h>

#include "algorithms/glm/coefficients.h"
#include "algorithms/measures/classes.h"
#include "algorithms/model/class_weights.h"
#include "algorithms/model/facts.h"
#include "algorithms/newton/exponential.h"
#include "algorithms/softmax/model.h"

/* ---- measures ---- */

/* Replaces the linear predictors of a row, which lie two numbers apart, by `out`: probabilities, or for two classes their
 * difference. Returns the probability's negative logarithm for class `own`. */
static double take_row(const double *scored, size_t k, size_t own, double *out)
{
    double most = scored[0], sum = 0.0, at = own < k ? scored[2 * own] : NAN;
    for (size_t c = 1; c < k; c++)
        most = fmax(most, scored[2 * c]);
    for (size_t c = 0; c < k; c++)
        sum += hw_exponential(scored[2 * c] - most);
    double all = most + hw_logarithm(sum);
    if (k == 2) {
        out[0] = scored[2] - scored[0];
    } else {
        for (size_t c = 0; c < k; c++)
            out[c] = hw_exponential(scored[2 * c] - all);
    }
    return all - at;
}

static double probability(double margin)
{
    double e = hw_exponential(-fabs(margin));
    return margin >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

/* Sums over the rows. */
typedef struct losses {
    double loss;             /* times example weight */
    double weighted, weight; /* the same times class weight, and these products alone */
} losses;

/* Fills what the measures of two classes or of more read, in the memory of the input. */
static losses take_rows(const hawser_evaluation_input *input, const hw_classes *classes, const double *class_weights)
{
    size_t k = classes->count;
    losses sum = {0.0, 0.0, 0.0};
    for (size_t i = 0; i < input->rows; i++) {
        const double *row = input->scored + 2 * k * i;
        size_t own = 0;
        classes->target[i] = row[1];
        while (own < k && classes->labels[own] != row[1])
            own++;
        double one = take_row(row, k, own, input->scored + (k == 2 ? 2 : k) * i);
        double weight = input->weights != NULL ? input->weights[i] : 1.0;
        double of_class = class_weights != NULL && own < k ? class_weights[own] : 1.0;
        sum.loss += weight * one;
        sum.weighted += weight * of_class * one;
        sum.weight += weight * of_class;
        if (k == 2)
            input->scored[2 * i + 1] = classes->target[i];
    }
    return sum;
}

static hawser_status measure(const hawser_evaluation_input *input, hw_classes *classes, const double *class_weights,
                             hawser_measure *measures, hawser_error *error)
{
    double total;
    losses sum = take_rows(input, classes, class_weights);
    HAWSER_TRY(hw_classes_check(classes, &total, error));
    classes->log_loss = sum.loss / total;
    double mean = class_weights != NULL ? sum.weighted / sum.weight : classes->log_loss;
    classes->objective = mean + hw_model_number(input->model, "penalty", NAN);
    return hw_classes_measure(classes, measures, error);
}

hawser_status hw_softmax_evaluate_rows(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error)
{
    hw_classed f;
    HAWSER_TRY(hw_classed_of(input->model, false, &f, error));
    if (f.classes > 2 && input->threshold != 0.5)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--threshold: of %zu classes the most probable one is predicted; leave it out", f.classes);
    double *class_weights;
    hw_classes classes = hw_classes_of(input, f.labels, f.classes);
    classes.probability = probability;
    hawser_status status = hw_class_weights_of(input->model, f.classes, &class_weights, error);
    HAWSER_THEN(status, hw_classes_new(&classes, error));
    HAWSER_THEN(status, measure(input, &classes, class_weights, measures, error));
    free(class_weights);
    hw_classes_free(&classes);
    return status;
}

/* ---- the printed coefficients ---- */

hawser_status hw_softmax_print(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error)
{
    hw_classed f;
    HAWSER_TRY(hw_classed_of(model, false, &f, error));
    return hw_classed_print(&f, model, "", most, out, error);
}
