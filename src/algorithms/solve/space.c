#include "algorithms/solve/space.h"

#include <assert.h>
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

static void pack_direction(hw_linear_packed *packed, const uint32_t *parts, const double *direction, size_t listed)
{
    memset(packed->in, 0, packed->count * sizeof *packed->in);
    for (size_t f = 0; f < listed; f++)
        packed->in[parts[f]] = direction[f];
}

static void packed_share(const hw_linear_space *space, const uint32_t *parts, const double *direction, size_t listed,
                         double *scratch)
{
    hw_linear_packed *packed = space->packed;
    pack_direction(packed, parts, direction, listed);
    hw_linear_packed_product(packed, space->round->columns->weights);
    for (size_t f = 0; f < listed; f++)
        scratch[f] = packed->out[parts[f]];
}

hw_linear_share hw_linear_space_share(const hw_linear_space *space, const uint32_t *parts, const double *direction,
                                      size_t listed, hw_linear_image *product, double *scratch)
{
    const hw_linear_columns *columns = space->round->columns;
    const hw_linear_part *part = space->part;
    const hawser_matrix *matrix = part != NULL ? &part->view : space->gram != NULL ? &space->gram->view : &columns->X;
    size_t begin = part != NULL ? part->begin : 0, end = part != NULL ? part->end : space->length;
    double *own = product->values + begin;
    hw_linear_share by_column = {scratch, 0, listed, listed}, by_slot = {own, begin, end - begin, space->length};
    if (space->packed != NULL) {
        packed_share(space, parts, direction, listed, scratch);
        return by_column;
    }
    assert(part == NULL || listed == 0 || matrix->cols > 0);
    memset(own, 0, (end - begin) * sizeof *own);
    hawser_combine(matrix, parts, direction, listed, own);
    if (space->gram != NULL)
        return by_slot;
    for (size_t i = begin; columns->weights != NULL && i < end; i++)
        product->values[i] *= columns->weights[i];
    for (size_t f = 0; f < listed; f++)
        scratch[f] = hawser_column_dot(matrix, parts[f], own);
    return by_column;
}

void hw_linear_space_hear(const hw_linear_space *space, const uint32_t *places, const double *direction, size_t listed,
                          const double *sums, double *bend)
{
    const hw_linear_round *round = space->round;
    const hw_linear_columns *columns = round->columns;
    double drift = 0.0;
    if (space->gram != NULL) {
        for (size_t f = 0; f < listed; f++)
            bend[f] = round->gain * sums[places[f]];
        return;
    }
    for (size_t f = 0; columns->centred && f < listed; f++)
        drift -= direction[f] * columns->mean[places[f]];
    for (size_t f = 0; f < listed; f++)
        bend[f] = round->gain * (sums[f] / columns->total + columns->mean[places[f]] * drift);
}

hw_linear_share hw_linear_space_rows(const hw_linear_space *space, const uint32_t *parts, const double *direction,
                                     size_t listed, hw_linear_image *product)
{
    const hw_linear_columns *columns = space->round->columns;
    const hw_linear_part *part = space->part;
    size_t begin = part != NULL ? part->begin : 0, end = part != NULL ? part->end : space->length;
    double *own = product->values + begin;
    memset(own, 0, (end - begin) * sizeof *own);
    if (space->packed != NULL) {
        pack_direction(space->packed, parts, direction, listed);
        hw_linear_packed_rows(space->packed, product->values);
    } else {
        hawser_combine(part != NULL ? &part->view : &columns->X, parts, direction, listed, own);
    }
    for (size_t i = begin; columns->weights != NULL && i < end; i++)
        product->values[i] *= columns->weights[i];
    return (hw_linear_share){own, begin, end - begin, space->length};
}

void hw_linear_space_hear_rows(const hw_linear_space *space, const uint32_t *places, const double *direction, size_t listed,
                               const double *sums, hw_linear_image *product)
{
    const hw_linear_columns *columns = space->round->columns;
    if (sums != product->values)
        memcpy(product->values, sums, space->length * sizeof *sums);
    product->drift = 0.0;
    for (size_t f = 0; columns->centred && f < listed; f++)
        product->drift -= direction[f] * columns->mean[places[f]];
}

/* Zeros in what other blocks compute. */
static void clear_others(const hw_linear_space *space, double *values)
{
    if (space->part != NULL)
        memset(values, 0, space->length * sizeof *values);
}

hawser_status hw_linear_space_bend(const hw_linear_space *space, const uint32_t *parts, const uint32_t *places,
                                   const double *direction, size_t listed, hw_linear_image *product, double *bend,
                                   hawser_error *error)
{
    bool by_slot = space->gram != NULL;
    double *sums = by_slot ? product->values : bend;
    if (by_slot)
        clear_others(space, sums);
    (void)hw_linear_space_share(space, parts, direction, listed, product, bend);
    HAWSER_TRY(hw_linear_sum(space->part, sums, by_slot ? space->length : listed, error));
    hw_linear_space_hear(space, places, direction, listed, sums, bend);
    return HAWSER_OK;
}

hawser_status hw_linear_space_image(const hw_linear_space *space, const uint32_t *parts, const uint32_t *places,
                                    const double *direction, size_t listed, hw_linear_image *product, hawser_error *error)
{
    clear_others(space, product->values);
    (void)hw_linear_space_rows(space, parts, direction, listed, product);
    HAWSER_TRY(hw_linear_sum(space->part, product->values, space->length, error));
    hw_linear_space_hear_rows(space, places, direction, listed, product->values, product);
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
