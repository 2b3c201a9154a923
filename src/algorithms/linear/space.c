#include "algorithms/linear/space.h"

#include <string.h>

void hw_linear_space_product(const hw_linear_space *space, const uint32_t *places, const double *direction, size_t count,
                             hw_linear_image *product)
{
    const hw_linear_columns *columns = space->round->columns;
    memset(product->values, 0, space->length * sizeof(double));
    product->drift = 0.0;
    hawser_combine(space->gram != NULL ? &space->gram->view : &columns->X, places, direction, count, product->values);
    if (space->gram != NULL)
        return;
    for (size_t k = 0; columns->centred && k < count; k++)
        product->drift -= direction[k] * columns->mean[places[k]];
    for (size_t i = 0; columns->weights != NULL && i < space->length; i++)
        product->values[i] *= columns->weights[i];
}

void hw_linear_space_bend(const hw_linear_space *space, const uint32_t *places, const double *direction, size_t count,
                          hw_linear_image *product, double *bend)
{
    const hw_linear_round *round = space->round;
    const hw_linear_columns *columns = round->columns;
    hw_linear_space_product(space, places, direction, count, product);
    for (size_t f = 0; f < count; f++)
        if (space->gram != NULL)
            bend[f] = round->gain * product->values[places[f]];
        else
            bend[f] = round->gain * (hawser_column_dot(&columns->X, places[f], product->values) / columns->total +
                                     columns->mean[places[f]] * product->drift);
}

void hw_linear_space_go(const hw_linear_space *space, double length, const hw_linear_image *product,
                        const hw_linear_image *from, hw_linear_image *to)
{
    double factor = space->gram != NULL ? length : -space->round->gain * length;
    for (size_t i = 0; i < space->length; i++)
        to->values[i] = from->values[i] + factor * product->values[i];
    to->drift = from->drift + factor * product->drift;
}

static double square_of_residual(const hw_linear_space *space, const hw_linear_image *image)
{
    const hw_linear_columns *columns = space->round->columns;
    double sum = 0.0;
    if (columns->weights == NULL)
        for (size_t i = 0; i < columns->X.rows; i++)
            sum += (image->values[i] + image->drift) * (image->values[i] + image->drift);
    else
        for (size_t i = 0; i < columns->X.rows; i++)
            if (columns->weights[i] > 0.0) {
                double r = image->values[i] / columns->weights[i] + image->drift;
                sum += columns->weights[i] * r * r;
            }
    return sum / (space->round->gain * columns->total);
}

double hw_linear_space_square(const hw_linear_space *space, const double *x, const hw_linear_image *image)
{
    const hw_linear_members *members = space->members;
    double gain = space->round->gain, total = space->round->square / gain;
    if (space->gram == NULL)
        return square_of_residual(space, image);
    for (size_t k = 0; k < members->count; k++) {
        double delta = x[k] - members->start[k];
        if (delta != 0.0)
            total += delta * (gain * image->values[space->gram->slot[members->columns[k]]] - 2.0 * members->gradient[k]);
    }
    return total;
}
