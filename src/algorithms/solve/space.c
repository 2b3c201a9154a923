#include "algorithms/solve/space.h"

#include <string.h>

/* Returns the dense part of an image of centred columns. */
static double drift_of(const hw_linear_columns *columns, const uint32_t *places, const double *direction, size_t listed)
{
    double drift = 0.0;
    for (size_t f = 0; columns->centred && f < listed; f++)
        drift -= direction[f] * columns->mean[places[f]];
    return drift;
}

void hw_linear_space_product(const hw_linear_space *space, const uint32_t *places, const double *direction, size_t count,
                             hw_linear_image *product)
{
    const hw_linear_columns *columns = space->round->columns;
    memset(product->values, 0, space->length * sizeof(double));
    hawser_combine(space->gram != NULL ? &space->gram->view : &columns->X, places, direction, count, product->values);
    product->drift = space->gram != NULL ? 0.0 : drift_of(columns, places, direction, count);
    if (space->gram != NULL)
        return;
    for (size_t i = 0; columns->weights != NULL && i < space->length; i++)
        product->values[i] *= columns->weights[i];
}

static void pack_direction(hw_linear_packed *packed, const uint32_t *parts, const double *direction, size_t listed)
{
    memset(packed->in, 0, packed->count * sizeof *packed->in);
    for (size_t f = 0; f < listed; f++)
        packed->in[parts[f]] = direction[f];
}

/* Finds the rows that this block sums over. */
static void own_range(const hw_linear_space *space, size_t *begin, size_t *end)
{
    const hw_linear_part *part = space->part;
    *begin = part != NULL ? part->begin : 0;
    *end = part != NULL ? part->end : space->length;
}

/* Computes this block's range of the weighted image in `product`, from the rows of its view. */
static void own_image(const hw_linear_space *space, const hawser_matrix *view, const uint32_t *parts,
                      const double *direction, size_t listed, hw_linear_image *product)
{
    const double *weights = space->round->columns->weights;
    size_t begin, end;
    own_range(space, &begin, &end);
    memset(product->values + begin, 0, (end - begin) * sizeof(double));
    if (space->packed != NULL) {
        pack_direction(space->packed, parts, direction, listed);
        hw_linear_packed_rows(space->packed, product->values);
    } else {
        hawser_combine(view, parts, direction, listed, product->values + begin);
    }
    for (size_t i = begin; weights != NULL && i < end; i++)
        product->values[i] *= weights[i];
}

/* Computes the bend on the Gram matrix, where every block computes its slots. */
static hawser_status bend_slots(const hw_linear_space *space, const uint32_t *parts, const uint32_t *places,
                                const double *direction, size_t listed, hw_linear_image *product, double *bend,
                                hawser_error *error)
{
    const hw_linear_part *part = space->part;
    memset(product->values, 0, space->length * sizeof(double));
    hawser_combine(part != NULL ? &part->view : &space->gram->view, parts, direction, listed,
                   product->values + (part != NULL ? part->begin : 0));
    HAWSER_TRY(hw_linear_sum(part, product->values, space->length, error));
    for (size_t f = 0; f < listed; f++)
        bend[f] = space->round->gain * product->values[places[f]];
    return HAWSER_OK;
}

/* Computes X' W X direction over this block's rows. */
static void bend_rows(const hw_linear_space *space, const uint32_t *parts, const double *direction, size_t listed,
                      hw_linear_image *product, double *bend)
{
    const hawser_matrix *view = space->part != NULL ? &space->part->view : &space->round->columns->X;
    hw_linear_packed *packed = space->packed;
    size_t begin, end;
    if (packed != NULL) {
        pack_direction(packed, parts, direction, listed);
        hw_linear_packed_product(packed, space->round->columns->weights);
        for (size_t f = 0; f < listed; f++)
            bend[f] = packed->out[parts[f]];
        return;
    }
    own_range(space, &begin, &end);
    own_image(space, view, parts, direction, listed, product);
    for (size_t f = 0; f < listed; f++)
        bend[f] = hawser_column_dot(view, parts[f], product->values + begin);
}

hawser_status hw_linear_space_bend(const hw_linear_space *space, const uint32_t *parts, const uint32_t *places,
                                   const double *direction, size_t listed, hw_linear_image *product, double *bend,
                                   hawser_error *error)
{
    const hw_linear_columns *columns = space->round->columns;
    if (space->gram != NULL)
        return bend_slots(space, parts, places, direction, listed, product, bend, error);
    bend_rows(space, parts, direction, listed, product, bend);
    HAWSER_TRY(hw_linear_sum(space->part, bend, listed, error));
    double drift = drift_of(columns, places, direction, listed);
    for (size_t f = 0; f < listed; f++)
        bend[f] = space->round->gain * (bend[f] / columns->total + columns->mean[places[f]] * drift);
    return HAWSER_OK;
}

hawser_status hw_linear_space_image(const hw_linear_space *space, const uint32_t *parts, const uint32_t *places,
                                    const double *direction, size_t listed, hw_linear_image *product, hawser_error *error)
{
    const hw_linear_columns *columns = space->round->columns;
    size_t begin, end;
    own_range(space, &begin, &end);
    memset(product->values, 0, begin * sizeof(double));
    memset(product->values + end, 0, (space->length - end) * sizeof(double));
    own_image(space, space->part != NULL ? &space->part->view : &columns->X, parts, direction, listed, product);
    HAWSER_TRY(hw_linear_sum(space->part, product->values, space->length, error));
    product->drift = drift_of(columns, places, direction, listed);
    return HAWSER_OK;
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
