/* evaluate.c - measures of softmax regression, and its printed coefficients. */
#include <math.h>
#include <stdlib.h>

#include "algorithms/glm/class_weights.h"
#include "algorithms/glm/coefficients.h"
#include "algorithms/measures/classes.h"
#include "algorithms/model/largest.h"
#include "algorithms/newton/exponential.h"
#include "algorithms/softmax/model.h"

/* ---- measures ---- */

/* Replaces the linear predictors of a row, which lie two numbers apart, by `out`: probabilities, or for two classes their difference. Returns the
 * probability's negative logarithm for class `own`. */
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
static losses take_rows(const hawser_evaluation_input *input, hw_classes *classes, const double *class_weights,
                        double *target)
{
    size_t k = classes->count;
    losses sum = {0.0, 0.0, 0.0};
    for (size_t i = 0; i < input->rows; i++) {
        const double *row = input->scored + 2 * k * i;
        size_t own = 0;
        target[i] = row[1];
        while (own < k && classes->labels[own] != target[i])
            own++;
        double one = take_row(row, k, own, input->scored + (k == 2 ? 2 : k) * i);
        double weight = input->weights != NULL ? input->weights[i] : 1.0;
        double of_class = class_weights != NULL && own < k ? class_weights[own] : 1.0;
        sum.loss += weight * one;
        sum.weighted += weight * of_class * one;
        sum.weight += weight * of_class;
        if (k == 2)
            input->scored[2 * i + 1] = target[i];
    }
    return sum;
}

static hawser_status measure(const hawser_evaluation_input *input, hw_classes *classes, const double *class_weights,
                             double *target, hawser_measure *measures, hawser_error *error)
{
    double total;
    losses sum = take_rows(input, classes, class_weights, target);
    HAWSER_TRY(hw_classes_check(classes, &total, error));
    classes->log_loss = sum.loss / total;
    double mean = class_weights != NULL ? sum.weighted / sum.weight : classes->log_loss;
    classes->objective = mean + hw_linear_fact(input->model, "penalty", NAN);
    return hw_classes_measure(classes, measures, error);
}

hawser_status hw_softmax_evaluate_rows(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error)
{
    hw_classed f;
    HAWSER_TRY(hw_softmax_fitted_of(input->model, &f, error));
    if (f.classes > 2 && input->threshold != 0.5)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--threshold: of %zu classes the most probable one is predicted; leave it out", f.classes);
    double *class_weights, *target = calloc(input->rows + 1, sizeof *target);
    hw_ranked *ranked = calloc(input->rows + 1, sizeof *ranked);
    hw_classes classes = {.rows = input->rows,
                          .weights = input->weights,
                          .count = f.classes,
                          .labels = f.labels,
                          .words = input->words,
                          .scored = input->scored,
                          .probability = probability,
                          .threshold = input->threshold,
                          .target = target,
                          .probabilities = input->scored,
                          .ranked = ranked};
    hawser_status status = hw_class_weights_of(input->model, f.classes, &class_weights, error);
    if (status == HAWSER_OK)
        status = target != NULL && ranked != NULL
                     ? measure(input, &classes, class_weights, target, measures, error)
                     : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu rows", input->rows);
    free(class_weights);
    free(target);
    free(ranked);
    return status;
}

/* ---- the printed coefficients ---- */

static void print_class(const hw_classed *f, const hawser_schema *schema, size_t place, FILE *out)
{
    size_t count = 0;
    const char *const *words = schema != NULL ? hawser_schema_target(schema, &count) : NULL;
    double label = f->labels[place];
    if (words != NULL && label >= 0.0 && label < (double)count)
        fprintf(out, "class %s:\n", words[(size_t)label]);
    else
        fprintf(out, "class %.10g:\n", label);
    fprintf(out, "  %-30s %.10g\n", "(intercept)", f->intercepts[place]);
}

hawser_status hw_softmax_print(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error)
{
    hw_classed f;
    hawser_schema *schema = NULL;
    HAWSER_TRY(hw_softmax_fitted_of(model, &f, error));
    HAWSER_TRY(hawser_model_schema(model, &schema, error));
    hw_column_value *all = calloc(f.columns, sizeof *all);
    for (size_t c = 0; all != NULL && c < f.classes; c++) {
        print_class(&f, schema, c, out);
        hw_print_largest(model, schema, f.coefficients + c * f.columns, f.columns, most, "  ", all, out);
    }
    hawser_schema_free(schema);
    if (all == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu columns", f.columns);
    free(all);
    return HAWSER_OK;
}
