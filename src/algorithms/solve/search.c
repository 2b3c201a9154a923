#include "algorithms/solve/search.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/solve/face.h"

/* The sums behind the image in a reduction: r z, l2 z^2 and m z. In the last reduction: the growth of the penalty, nothing,
 * and m step. */
enum { POWER, RIDGE, MEAN, GROWTH = POWER };

void hw_linear_search_free(hw_linear_search *search)
{
    free(search->columns);
    free(search->memory);
    free(search->share);
    free(search->sum);
    memset(search, 0, sizeof *search);
}

static hawser_status reserve(hw_linear_search *search, size_t rows, size_t count, hawser_error *error)
{
    if (search->share == NULL) {
        search->rows = rows;
        search->share = calloc(rows + 1, sizeof *search->share);
        search->sum = calloc(rows + HW_LINEAR_SEARCH_SUMS, sizeof *search->sum);
    }
    if (count > search->capacity || search->columns == NULL) {
        free(search->columns);
        free(search->memory);
        search->capacity = count + count / 2 + 16;
        search->columns = malloc(search->capacity * sizeof *search->columns);
        search->memory = malloc(6 * search->capacity * sizeof *search->memory);
    }
    if (search->share == NULL || search->sum == NULL || search->columns == NULL || search->memory == NULL) {
        hw_linear_search_free(search);
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory to search over %zu rows and %zu columns", rows, count);
    }
    double **parts[6] = {&search->curve, &search->pull, &search->scaled, &search->step, &search->direction, &search->bend};
    for (size_t k = 0; k < 6; k++)
        *parts[k] = search->memory + k * search->capacity;
    return HAWSER_OK;
}

/* The search ends if the curvature along a direction is below this share of that along its coordinates: a longer step would
 * leave the face. */
static const double FLAT = 1e-3, SMOOTH_FLAT = 1e-13;
static const double HIDDEN = 1e-24; /* the share of r z that rounding hides */
static const double EXACT = 0.1;    /* the share of r z that may be left if there are no signs; less near the optimum */

/* Finds the columns on the face and their pull. */
static hawser_status begin(hw_linear_search *search, const hw_linear_round *round, const uint32_t *list, size_t count,
                           hawser_error *error)
{
    const hw_linear_columns *columns = round->columns;
    HAWSER_TRY(reserve(search, columns->X.rows, count, error));
    search->count = 0;
    search->power = search->length = search->size = search->first = 0.0;
    for (size_t k = 0; k < count; k++) {
        uint32_t j = list != NULL ? list[k] : (uint32_t)k;
        hw_linear_term term = hw_linear_term_at(columns, j, round->lambda);
        double curve = columns->norm[j] + term.l2, x = round->alpha[j];
        if (!hw_linear_on_face(x, term) || !(curve > 0.0))
            continue;
        size_t f = search->count++;
        search->columns[f] = j;
        search->curve[f] = curve;
        search->pull[f] =
            hw_linear_dot(columns, j, round->residual, round->sum) / columns->total - copysign(term.l1, x) - term.l2 * x;
        search->step[f] = search->direction[f] = search->bend[f] = 0.0;
    }
    return HAWSER_OK;
}

/* Computes z = r / curve and this block's sums of it. */
static void scale(hw_linear_search *search, const hw_linear_round *round, double sums[HW_LINEAR_SEARCH_SUMS])
{
    const hw_linear_columns *columns = round->columns;
    memset(sums, 0, HW_LINEAR_SEARCH_SUMS * sizeof *sums);
    for (size_t f = 0; f < search->count; f++) {
        uint32_t j = search->columns[f];
        double z = search->pull[f] / search->curve[f];
        search->scaled[f] = z;
        sums[POWER] += search->pull[f] * z;
        sums[RIDGE] += round->lambda * columns->l2[j] * z * z;
        sums[MEAN] += columns->mean[j] * z;
    }
}

/* Adds up the images X z and the sums of all blocks. Keeps this block's image. */
static hawser_status add(hw_linear_search *search, const hw_linear_round *round, const double *z, const double *sums,
                         hawser_error *error)
{
    size_t n = search->rows;
    memset(search->share, 0, n * sizeof *search->share);
    hawser_combine(&round->columns->X, search->columns, z, search->count, search->share);
    memcpy(search->sum, search->share, n * sizeof *search->sum);
    memcpy(search->sum + n, sums, HW_LINEAR_SEARCH_SUMS * sizeof *sums);
    return hw_linear_sum(round->part, search->sum, n + HW_LINEAR_SEARCH_SUMS, error);
}

/* Returns the square over W of the centred image of all blocks. Stores w times that image, unless `image` is NULL. */
static double centre(const hw_linear_search *search, const hw_linear_columns *columns, double *image)
{
    size_t n = search->rows;
    double mean = columns->centred ? search->sum[n + MEAN] : 0.0, square = 0.0;
    for (size_t i = 0; i < n; i++) {
        double weight = columns->weights != NULL ? columns->weights[i] : 1.0, u = search->sum[i] - mean;
        square += weight * u * u;
        if (image != NULL)
            image[i] = weight * u;
    }
    return square / columns->total;
}

/* Returns true if little of r z is left: without signs less near the optimum, else so little that rounding hides it. */
static bool exact_enough(hw_linear_search *search, double power)
{
    search->first = search->first > 0.0 ? search->first : power;
    if (!search->smooth)
        return power <= HIDDEN * search->first;
    search->reference = search->reference > search->first ? search->reference : search->first;
    double near = sqrt(search->first / search->reference);
    return power <= (near < EXACT ? near : EXACT) * search->first;
}

/* Takes the step along the next direction: p = z + turn p, and H p = H z + turn H p. Returns false at the end of the search,
 * also if the objective is nearly flat, because signs change long before the end of such a step. */
static bool advance(hw_linear_search *search, const hw_linear_round *round)
{
    const hw_linear_columns *columns = round->columns;
    const double *sums = search->sum + search->rows;
    double power = sums[POWER], bent = centre(search, columns, search->share) + sums[RIDGE];
    double turn = search->power > 0.0 ? power / search->power : 0.0;
    double bend = bent - (turn > 0.0 ? turn * power / search->length : 0.0);
    search->size = power + turn * turn * search->size;
    if (!(bend > (search->smooth ? SMOOTH_FLAT : FLAT) * search->size) || !(power > 0.0) || exact_enough(search, power))
        return false;
    search->power = power;
    search->length = power / bend;
    for (size_t f = 0; f < search->count; f++) {
        uint32_t j = search->columns[f];
        double bent_here = hawser_column_dot(&columns->X, j, search->share) / columns->total +
                           round->lambda * columns->l2[j] * search->scaled[f];
        search->direction[f] = search->scaled[f] + turn * search->direction[f];
        search->bend[f] = bent_here + turn * search->bend[f];
        search->step[f] += search->length * search->direction[f];
        search->pull[f] -= search->length * search->bend[f];
    }
    return true;
}

/* Cuts the step off at zero and at the bounds. Stores the end points in `direction`. */
static void cut(hw_linear_search *search, const hw_linear_round *round, double sums[HW_LINEAR_SEARCH_SUMS])
{
    memset(sums, 0, HW_LINEAR_SEARCH_SUMS * sizeof *sums);
    for (size_t f = 0; f < search->count; f++) {
        uint32_t j = search->columns[f];
        hw_linear_term term = hw_linear_term_at(round->columns, j, round->lambda);
        double x = round->alpha[j], end = hw_linear_face_stop(x, search->step[f], term);
        sums[GROWTH] += hw_linear_penalty(end, term) - hw_linear_penalty(x, term);
        search->direction[f] = end;
        search->step[f] = end - x;
        sums[MEAN] += round->columns->mean[j] * search->step[f];
    }
}

/* Returns the share of the cut step, in [0, 1], with the largest guaranteed decrease: convexity bounds the penalty along the
 * step. */
static double reach(const hw_linear_search *search, const hw_linear_round *round)
{
    const hw_linear_columns *columns = round->columns;
    const double *sums = search->sum + search->rows;
    double square = centre(search, columns, NULL), mean = columns->centred ? sums[MEAN] : 0.0;
    double fall =
        (hawser_dot(search->rows, search->sum, round->residual, NULL) - mean * round->sum) / columns->total - sums[GROWTH];
    if (!(fall > 0.0))
        return 0.0;
    return fall < square ? fall / square : 1.0;
}

hawser_status hw_linear_search_run(hw_linear_search *search, const hw_linear_round *round, const uint32_t *list,
                                   size_t count, size_t iterations, hawser_error *error)
{
    double sums[HW_LINEAR_SEARCH_SUMS];
    HAWSER_TRY(begin(search, round, list, count, error));
    for (size_t k = 0; k < iterations && !hw_linear_stopping(round->stop); k++) {
        scale(search, round, sums);
        HAWSER_TRY(add(search, round, search->scaled, sums, error));
        if (!advance(search, round))
            break;
    }
    cut(search, round, sums);
    HAWSER_TRY(add(search, round, search->step, sums, error));
    search->reach = reach(search, round);
    for (size_t f = 0; f < search->count; f++) {
        double *x = &round->alpha[search->columns[f]];
        *x = search->reach == 1.0 ? search->direction[f] : *x + search->reach * search->step[f];
    }
    return HAWSER_OK;
}

void hw_linear_search_move(const hw_linear_search *search, double gain, double *image)
{
    for (size_t i = 0; i < search->rows; i++)
        image[i] += gain * search->reach * search->share[i];
}
