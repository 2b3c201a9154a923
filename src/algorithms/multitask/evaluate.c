/* evaluate.c - predictions of several targets, and their measures. */
#include "algorithms/multitask/parts.h"

#include <math.h>

#include "algorithms/glm/coefficients.h"
#include "algorithms/measures/measure.h"
#include "algorithms/model/facts.h"

const hawser_measure_row hw_multitask_measures[] = {
    {"r2", "mean of the targets' r2; unknown if one of them is"},
    {"rmse", "mean of the targets' rmse"},
    {"mae", "mean of the targets' mae"},
    {"objective", "what the training minimised, on these data; unknown if the training did not certify the model"},
    {"outputs", "a line per target:"},
    {".output", "the target"},
    {".r2",
     "1 - (sum of squared errors) / (sum of squared distances of the target from its mean); unknown if all its values are "
     "equal"},
    {".rmse", "square root of the mean of the squared errors"},
    {".mae", "mean of the absolute errors"},
    {NULL, NULL}};

size_t hw_multitask_outputs(const hawser_model *model)
{
    hw_linear_weights weights;
    hawser_error ignored;
    return hw_linear_weights_of(model, &weights, &ignored) == HAWSER_OK ? weights.outputs : 1;
}

hawser_status hw_multitask_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                                   hawser_error *error)
{
    return hw_linear_margins_of(model, data, hw_multitask_outputs(model), predictions, error);
}

enum { OUTPUT, R2, RMSE, MAE, FIELDS };

/* Fills the line of one target. Returns its sum of weighted squared errors. */
static double measure_output(const hawser_evaluation_input *input, size_t output, double total, double *line)
{
    const double *weights = input->weights, *scored = input->scored + 2 * output;
    size_t n = input->rows, step = 2 * input->outputs;
    double mean = 0.0, squares = 0.0, absolute = 0.0, variation = 0.0, least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double w = weights != NULL ? weights[i] : 1.0, y = scored[i * step + 1];
        mean += w * y / total;
        least = w > 0.0 ? fmin(least, y) : least;
        most = w > 0.0 ? fmax(most, y) : most;
    }
    for (size_t i = 0; i < n; i++) {
        double w = weights != NULL ? weights[i] : 1.0, y = scored[i * step + 1], e = y - scored[i * step];
        squares += w * e * e;
        absolute += w * fabs(e);
        variation += w * (y - mean) * (y - mean);
    }
    line[OUTPUT] = (double)output;
    line[R2] = least < most ? 1.0 - squares / variation : NAN;
    line[RMSE] = sqrt(squares / total);
    line[MAE] = absolute / total;
    return squares;
}

hawser_status hw_multitask_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error)
{
    static const char *const columns[] = {"output", "r2", "rmse", "mae"};
    size_t outputs = input->outputs;
    double total, squares = 0.0, mean[FIELDS] = {0.0}, *table;
    HAWSER_TRY(hw_measure_total(input->rows, input->weights, &total, error));
    HAWSER_TRY(hw_measure_finite_scores(input, "prediction", error));
    hawser_measure lines[2] = {{0}};
    HAWSER_TRY(hw_measure_table(lines, "outputs", columns, outputs, FIELDS, &table, error));
    for (size_t o = 0; o < outputs; o++) {
        squares += measure_output(input, o, total, table + o * FIELDS);
        for (size_t k = 0; k < FIELDS; k++)
            mean[k] += table[o * FIELDS + k] / (double)outputs;
    }
    hw_measure_number(measures, "r2", mean[R2], "all values of a target are equal");
    hw_measure_number(measures, "rmse", mean[RMSE], NULL);
    hw_measure_number(measures, "mae", mean[MAE], NULL);
    hw_measure_number(measures, "objective", 0.5 * squares / total + hw_model_number(input->model, "penalty", NAN),
                      "the training did not certify the model");
    size_t at = 0;
    while (measures[at].name != NULL)
        at++;
    measures[at] = lines[0];
    return HAWSER_OK;
}
