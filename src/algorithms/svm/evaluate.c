/* evaluate.c - measures of a support vector machine, and its printed coefficients. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/measures/classes.h"
#include "algorithms/measures/errors.h"
#include "algorithms/model/class_weights.h"
#include "algorithms/svm/model.h"

/* ---- measures ---- */

const hawser_measure_row hw_svm_measures[] = {
    HW_CLASSES_FIRST_ROWS,
    HW_ERRORS_MEAN_ROWS,
    {"objective", "1/2 |w|^2 + C (sum of weight times loss), what the training minimised, on these data; one against the "
                  "rest: the sum over the classes"},
    HW_CLASSES_HIGHER_ROWS,
    HW_CLASSES_TABLE_ROWS,
    HW_ERRORS_SPREAD_ROWS,
    {NULL, NULL}};

/* Reads what the objective is made of. Returns false if the model does not say it. */
static bool describe(const hawser_model *model, const hw_classed *f, hw_svm *svm)
{
    const char *loss = hawser_model_text(model, "options.loss"), *C = hawser_model_text(model, "C");
    const char *epsilon = hawser_model_text(model, "options.epsilon");
    if (C == NULL) /* a model of an older release */
        C = hawser_model_text(model, "options.C");
    if (loss == NULL || C == NULL || epsilon == NULL || hawser_read_number(C, &svm->C) == NULL ||
        hawser_read_number(epsilon, &svm->epsilon) == NULL)
        return false;
    svm->regression = f->labels == NULL;
    svm->epsilon = svm->regression ? svm->epsilon : 0.0;
    svm->squared = strncmp(loss, "squared-", strlen("squared-")) == 0;
    svm->path.labels = (double *)(uintptr_t)f->labels; /* they are only read */
    svm->path.outputs = f->problems;
    return true;
}

static double objective_of(const hawser_evaluation_input *input, const hw_classed *f, const double *class_weights)
{
    hw_svm svm = {0};
    double squares = 0.0, losses = 0.0;
    if (!describe(input->model, f, &svm))
        return NAN;
    for (size_t j = 0; j < f->problems * f->columns; j++)
        squares += f->coefficients[j] * f->coefficients[j];
    for (size_t i = 0; i < input->rows; i++) {
        double weight = input->weights != NULL ? input->weights[i] : 1.0;
        for (size_t p = 0; weight > 0.0 && p < f->problems; p++) {
            const double *pair = input->scored + 2 * (i * f->problems + p);
            hw_svm_row row = hw_svm_row_of(&svm, svm.C, p, pair[1], weight, class_weights);
            losses += row.c * hw_svm_loss(&svm, &row, pair[0]);
        }
    }
    return 0.5 * squares + losses;
}

/* Parts margins and labels, which lie side by side, in the memory of the input. */
static void part(const hawser_evaluation_input *input, size_t k, double *target)
{
    for (size_t i = 0; i < input->rows; i++) {
        target[i] = input->scored[2 * k * i + 1];
        for (size_t c = 0; c < k; c++)
            input->scored[k * i + c] = input->scored[2 * (k * i + c)];
    }
}

static hawser_status measure(const hawser_evaluation_input *input, const hw_classed *f, hw_classes *classes,
                             hawser_measure *measures, hawser_error *error)
{
    double total, *class_weights;
    hawser_status status = hw_class_weights_of(input->model, f->classes, &class_weights, error);
    if (status == HAWSER_OK)
        classes->objective = objective_of(input, f, class_weights);
    free(class_weights);
    HAWSER_TRY(status);
    HAWSER_TRY(hw_classes_new(classes, error));
    if (f->classes > 2)
        part(input, f->classes, classes->target);
    HAWSER_TRY(hw_classes_check(classes, &total, error));
    return hw_classes_measure(classes, measures, error);
}

hawser_status hw_svm_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error)
{
    hw_classed f;
    HAWSER_TRY(hw_classed_of(input->model, true, &f, error));
    if (input->threshold != 0.5)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--threshold: a model of svm has no probabilities to compare with it");
    if (f.labels == NULL)
        return hw_errors_measure(input, objective_of(input, &f, NULL), measures, error);
    hw_classes classes = hw_classes_of(input, f.labels, f.classes);
    classes.margins_only = true;
    hawser_status status = measure(input, &f, &classes, measures, error);
    hw_classes_free(&classes);
    return status;
}

/* ---- the printed coefficients ---- */

hawser_status hw_svm_print(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error)
{
    hw_classed f;
    HAWSER_TRY(hw_classed_of(model, true, &f, error));
    return hw_classed_print(&f, model, " against the rest", most, out, error);
}
