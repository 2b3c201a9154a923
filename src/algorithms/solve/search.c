#include "algorithms/solve/search.h"

#include <stdlib.h>
#include <string.h>

void hw_linear_search_free(hw_linear_search *search)
{
    free(search->columns);
    free(search->memory);
    free(search->share);
    free(search->image);
    memset(search, 0, sizeof *search);
}

static hawser_status reserve(hw_linear_search *search, size_t rows, size_t count, hawser_error *error)
{
    if (search->share == NULL) {
        search->rows = rows;
        search->share = calloc(rows + HW_LINEAR_SEARCH_SUMS, sizeof *search->share);
        search->image = calloc(rows + HW_LINEAR_SEARCH_SUMS, sizeof *search->image);
    }
    if (count > search->capacity || search->columns == NULL) {
        free(search->columns);
        free(search->memory);
        search->capacity = count + count / 2 + 16;
        search->columns = malloc(search->capacity * sizeof *search->columns);
        search->memory = malloc(6 * search->capacity * sizeof *search->memory);
    }
    if (search->share == NULL || search->image == NULL || search->columns == NULL || search->memory == NULL) {
        hw_linear_search_free(search);
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory to search over %zu rows and %zu columns", rows, count);
    }
    double **parts[6] = {&search->curve, &search->pull, &search->scaled, &search->step, &search->direction, &search->bend};
    for (size_t k = 0; k < 6; k++)
        *parts[k] = search->memory + k * search->capacity;
    return HAWSER_OK;
}

/* Curvature along a direction, beside that along its coordinates, below which going on leads out of the face. */
static const double FLAT = 1e-3, SMOOTH_FLAT = 1e-13;
static const double EXACT = 0.1; /* of r z may be left where there are no signs: at most, less near the optimum */

hawser_status hw_linear_search_begin(hw_linear_search *search, const hw_linear_columns *columns, const uint32_t *list,
                                     size_t count, const double *alpha, double lambda, const double *residual, double sum,
                                     hawser_error *error)
{
    HAWSER_TRY(reserve(search, columns->X.rows, count, error));
    search->count = 0;
    search->power = search->length = search->size = search->first = 0.0;
    search->ended = false;
    for (size_t k = 0; k < count; k++) {
        uint32_t j = list != NULL ? list[k] : (uint32_t)k;
        hw_linear_term term = hw_linear_term_at(columns, j, lambda);
        double curve = columns->norm[j] + term.l2;
        if ((alpha[j] == 0.0 && term.l1 > 0.0) || !(alpha[j] > term.lower && alpha[j] < term.upper) || !(curve > 0.0))
            continue;
        size_t f = search->count++;
        search->columns[f] = j;
        search->curve[f] = curve;
        search->pull[f] =
            hw_linear_dot(columns, j, residual, sum) / columns->total - copysign(term.l1, alpha[j]) - term.l2 * alpha[j];
        search->step[f] = search->direction[f] = search->bend[f] = 0.0;
    }
    return HAWSER_OK;
}

/* Puts X z, and the sums, in the place of what this block has among the shares. */
static void put_share(hw_linear_search *search, const hw_linear_columns *columns, const double *z,
                      const double sums[HW_LINEAR_SEARCH_SUMS], double *shares)
{
    size_t n = search->rows;
    double *fresh = search->image;
    memset(fresh, 0, n * sizeof *fresh);
    memcpy(fresh + n, sums, HW_LINEAR_SEARCH_SUMS * sizeof *fresh);
    hawser_combine(&columns->X, search->columns, z, search->count, fresh);
    for (size_t i = 0; i < n + HW_LINEAR_SEARCH_SUMS; i++)
        shares[i] += fresh[i] - search->share[i];
    search->image = search->share;
    search->share = fresh;
}

/* w (X z) centred, into image; returns its square over W. */
static double centre(const hw_linear_search *search, const hw_linear_columns *columns, const double *shares)
{
    size_t n = search->rows;
    double mean = columns->centred ? shares[n + 2] : 0.0, square = 0.0;
    for (size_t i = 0; i < n; i++) {
        double weight = columns->weights != NULL ? columns->weights[i] : 1.0, u = shares[i] - mean;
        search->image[i] = weight * u;
        square += weight * u * u;
    }
    return square / columns->total;
}

/* Without signs a search goes on until little is left: the less, the nearer the optimum is. */
static bool exact_enough(hw_linear_search *search, double power)
{
    if (!search->smooth)
        return false;
    search->first = search->first > 0.0 ? search->first : power;
    search->reference = search->reference > search->first ? search->reference : search->first;
    double near = sqrt(search->first / search->reference);
    return power <= (near < EXACT ? near : EXACT) * search->first;
}

/* What the answer to z says: the length along the next direction. */
static void hear(hw_linear_search *search, const hw_linear_columns *columns, double lambda, const double *shares)
{
    size_t n = search->rows;
    double power = shares[n], bent = centre(search, columns, shares) + shares[n + 1];
    double turn = search->power > 0.0 ? power / search->power : 0.0;
    double bend = bent - (turn > 0.0 ? turn * power / search->length : 0.0);
    search->size = power + turn * turn * search->size;
    double flat = search->smooth ? SMOOTH_FLAT : FLAT;
    if (!(bend > flat * search->size) || !(power > 0.0) ||
        exact_enough(search, power)) { /* nearly flat: signs change long before its end; or there already */
        search->ended = true;
        return;
    }
    search->power = power;
    search->length = power / bend;
    for (size_t f = 0; f < search->count; f++) {
        uint32_t j = search->columns[f];
        double bent_here =
            hawser_column_dot(&columns->X, j, search->image) / columns->total + lambda * columns->l2[j] * search->scaled[f];
        search->direction[f] = search->scaled[f] + turn * search->direction[f];
        search->bend[f] = bent_here + turn * search->bend[f];
        search->step[f] += search->length * search->direction[f];
        search->pull[f] -= search->length * search->bend[f];
    }
}

void hw_linear_search_advance(hw_linear_search *search, const hw_linear_columns *columns, double lambda, bool first,
                              double *shares)
{
    double sums[HW_LINEAR_SEARCH_SUMS] = {0};
    if (!first && !search->ended)
        hear(search, columns, lambda, shares);
    if (search->ended)
        return;
    for (size_t f = 0; f < search->count; f++) {
        uint32_t j = search->columns[f];
        double z = search->pull[f] / search->curve[f];
        search->scaled[f] = z;
        sums[0] += search->pull[f] * z;
        sums[1] += lambda * columns->l2[j] * z * z;
        sums[2] += columns->mean[j] * z;
    }
    put_share(search, columns, search->scaled, sums, shares);
}

void hw_linear_search_aim(hw_linear_search *search, const hw_linear_columns *columns, double lambda, const double *alpha,
                          double *shares, double *now, double *then)
{
    double sums[HW_LINEAR_SEARCH_SUMS] = {0};
    *now = *then = 0.0;
    for (size_t f = 0; f < search->count; f++) {
        uint32_t j = search->columns[f];
        hw_linear_term term = hw_linear_term_at(columns, j, lambda);
        double end = alpha[j] + search->step[f];
        if (term.l1 > 0.0 && (alpha[j] > 0.0) != (end > 0.0))
            end = 0.0;
        end = end < term.lower ? term.lower : end > term.upper ? term.upper : end;
        *now += hw_linear_penalty(alpha[j], term);
        *then += hw_linear_penalty(end, term);
        search->direction[f] = end;
        search->step[f] = end - alpha[j];
        sums[2] += columns->mean[j] * search->step[f];
    }
    put_share(search, columns, search->step, sums, shares);
}

double hw_linear_search_reach(const hw_linear_search *search, const hw_linear_columns *columns, const double *shares,
                              const double *residual, double sum, double now, double then)
{
    double square = centre(search, columns, shares), mean = columns->centred ? shares[search->rows + 2] : 0.0;
    double fall = (hawser_dot(search->rows, shares, residual, NULL) - mean * sum) / columns->total - (then - now);
    if (!(fall > 0.0))
        return 0.0;
    return fall < square ? fall / square : 1.0;
}

void hw_linear_search_go(const hw_linear_search *search, double reach, double gain, double *alpha, double *image)
{
    for (size_t f = 0; f < search->count; f++) {
        uint32_t j = search->columns[f];
        alpha[j] = reach == 1.0 ? search->direction[f] : alpha[j] + reach * search->step[f];
    }
    for (size_t i = 0; i < search->rows; i++)
        image[i] += gain * reach * search->share[i];
}
