#include "algorithms/measures/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

hawser_status hw_measure_total(size_t n, const double *weights, double *total, hawser_error *error)
{
    *total = 0.0;
    for (size_t i = 0; i < n; i++)
        *total += weights != NULL ? weights[i] : 1.0;
    return *total > 0.0
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_BAD_INPUT, "nothing to evaluate: %zu rows with total weight %g", n, *total);
}

hawser_status hw_measure_finite(double number, size_t row, const char *what, hawser_error *error)
{
    return isfinite(number) ? HAWSER_OK
                            : hawser_fail(error, HAWSER_BAD_INPUT,
                                          "row %zu: the %s is %g, and measures need finite numbers; are values of the row, "
                                          "or the model's coefficients, too large?",
                                          row + 1, what, number);
}

hawser_status hw_measure_finite_scores(const hawser_evaluation_input *input, const char *what, hawser_error *error)
{
    for (size_t i = 0; i < input->rows * input->outputs; i++)
        HAWSER_TRY(hw_measure_finite(input->scored[2 * i], i / input->outputs, what, error));
    return HAWSER_OK;
}

/* Returns the first free element. The last element stays free, because its NULL name ends the list. */
static hawser_measure *next(hawser_measure *measures)
{
    size_t count = 0;
    while (count + 1 < HAWSER_MEASURES && measures[count].name != NULL)
        count++;
    return count + 1 < HAWSER_MEASURES ? &measures[count] : NULL;
}

void hw_measure_number(hawser_measure *measures, const char *name, double value, const char *why)
{
    hawser_measure *one = next(measures);
    if (one == NULL)
        return;
    *one = (hawser_measure){.name = name, .value = isfinite(value) ? value : NAN};
    if (!isfinite(value))
        snprintf(one->why, sizeof one->why, "%s", isnan(value) && why != NULL ? why : "the numbers are too large");
}

hawser_status hw_measure_table(hawser_measure *measures, const char *name, const char *const *columns, size_t lines,
                               size_t width, double **values, hawser_error *error)
{
    hawser_measure *one = next(measures);
    *values = one != NULL ? calloc((lines + 1) * width, sizeof **values) : NULL;
    if (*values == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the measure '%s'", name);
    *one =
        (hawser_measure){.name = name, .value = NAN, .values = *values, .lines = lines, .width = width, .columns = columns};
    if (columns == NULL)
        one->heads = *values + lines * width;
    return HAWSER_OK;
}
