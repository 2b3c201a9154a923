#include "algorithms/kmeans/centres.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { TILE = HW_KMEANS_TILE, LEAST_WIDTH = 8 };

/* The error of a squared distance by product, in units of a rounding of row_squares + squares: a sum of `terms` products,
 * twice; the squares of row and centre, and the distance from differences that it is compared with, which are summed in 16
 * lanes; and the last operations. */
static double roundings(double terms, double columns)
{
    return 2.0 * terms + columns / 4.0 + 64.0;
}

static double most_terms(const hawser_matrix *X)
{
    uint64_t most = 0;
    if (X->layout != HAWSER_CSR)
        return (double)X->cols;
    for (size_t i = 0; i < X->rows; i++)
        most = X->offsets[i + 1] - X->offsets[i] > most ? X->offsets[i + 1] - X->offsets[i] : most;
    return (double)most;
}

hawser_status hw_kmeans_points_new(hw_kmeans_points *points, const hawser_matrix *X, bool single, hawser_error *error)
{
    double unit = single ? FLT_EPSILON / 2 : DBL_EPSILON / 2, columns = (double)X->cols;
    *points = (hw_kmeans_points){.X = X,
                                 .single = single,
                                 .share = roundings(most_terms(X), columns) * unit,
                                 .relative = (columns / 16.0 + 32.0) * unit,
                                 .tiny = roundings(columns, columns) * (single ? (double)FLT_MIN : DBL_MIN)};
    points->squares = calloc(X->rows + 1, sizeof *points->squares);
    points->squares_f = single ? calloc(X->rows + 1, sizeof *points->squares_f) : NULL;
    if (points->squares == NULL || (single && points->squares_f == NULL))
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the squares of %zu rows", X->rows);
    if (single)
        hawser_row_squares_f32(X, points->squares_f);
    else
        hawser_row_squares(X, points->squares);
    for (size_t i = 0; i < X->rows && single; i++)
        points->squares[i] = (double)points->squares_f[i];
    return HAWSER_OK;
}

hawser_status hw_kmeans_points_check(const hw_kmeans_points *points, hawser_error *error)
{
    for (size_t i = 0; i < points->X->rows; i++)
        if (!isfinite(points->squares[i]))
            return hawser_fail(error, HAWSER_NOT_FINITE,
                               "row %zu: its numbers are too large for squares in %s; scale the columns%s",
                               points->X->first + i + 1, points->single ? "float" : "double",
                               points->single ? " or use --arithmetic f64" : "");
    return HAWSER_OK;
}

void hw_kmeans_points_free(hw_kmeans_points *points)
{
    free(points->squares);
    free(points->squares_f);
    *points = (hw_kmeans_points){0};
}

/* --------------------------------------------------------------------------------------------------------- centres ---- */

hawser_status hw_kmeans_centres_new(hw_kmeans_centres *centres, size_t clusters, size_t columns, size_t groups, bool single,
                                    hawser_error *error)
{
    size_t lines = (clusters + LEAST_WIDTH - 1) / LEAST_WIDTH, most = groups > 0 ? groups : 1;
    size_t width = (lines + most - 1) / most * LEAST_WIDTH, count = clusters * columns;
    *centres = (hw_kmeans_centres){.clusters = clusters,
                                   .columns = columns,
                                   .width = width,
                                   .groups = (clusters + width - 1) / width,
                                   .single = single};
    centres->values = hw_array_new(&centres->arrays, count + 1, sizeof *centres->values);
    centres->squares = hw_array_new(&centres->arrays, clusters, sizeof *centres->squares);
    centres->order = hw_array_new(&centres->arrays, clusters, sizeof *centres->order);
    centres->place = hw_array_new(&centres->arrays, clusters, sizeof *centres->place);
    if (single) {
        centres->values_f = hw_array_new(&centres->arrays, count + 1, sizeof *centres->values_f);
        centres->table_f = hw_array_new(&centres->arrays, count + 1, sizeof *centres->table_f);
        centres->squares_f = hw_array_new(&centres->arrays, clusters, sizeof *centres->squares_f);
    } else {
        centres->table = hw_array_new(&centres->arrays, count + 1, sizeof *centres->table);
    }
    if (centres->arrays.failed)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu centres of %zu columns", clusters, columns);
    return HAWSER_OK;
}

void hw_kmeans_centres_free(hw_kmeans_centres *centres)
{
    hw_arrays_free(&centres->arrays);
    *centres = (hw_kmeans_centres){0};
}

static double between(const hw_kmeans_centres *centres, uint32_t a, uint32_t b)
{
    const double *x = centres->values + a * centres->columns, *y = centres->values + b * centres->columns;
    double sum = 0.0;
    for (size_t j = 0; j < centres->columns; j++)
        sum += (x[j] - y[j]) * (x[j] - y[j]);
    return sum;
}

static uint32_t farthest(const hw_kmeans_centres *centres, const uint32_t *members, size_t count, uint32_t from)
{
    uint32_t at = members[0];
    double most = -1.0;
    for (size_t k = 0; k < count; k++) {
        double distance = between(centres, members[k], from);
        if (distance > most) {
            most = distance;
            at = members[k];
        }
    }
    return at;
}

typedef struct keyed {
    double key;
    uint32_t cluster;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->cluster < y->cluster ? -1 : x->cluster > y->cluster;
}

/* Sorts some centres along the line between two that are far apart, then each half alike, down to whole groups. Which
 * centres share a group decides how often bounds help, and not what is found. */
static void split(const hw_kmeans_centres *centres, uint32_t *members, size_t count, keyed *sorted)
{
    if (count <= centres->width)
        return;
    uint32_t a = farthest(centres, members, count, members[0]), b = farthest(centres, members, count, a);
    for (size_t k = 0; k < count; k++)
        sorted[k] = (keyed){between(centres, members[k], a) - between(centres, members[k], b), members[k]};
    qsort(sorted, count, sizeof *sorted, by_key);
    for (size_t k = 0; k < count; k++)
        members[k] = sorted[k].cluster;
    size_t half = (count / centres->width + 1) / 2 * centres->width;
    half = half < count ? half : count - 1;
    split(centres, members, half, sorted);
    split(centres, members + half, count - half, sorted);
}

static hawser_status make_groups(hw_kmeans_centres *centres, hawser_error *error)
{
    keyed *sorted = calloc(centres->clusters, sizeof *sorted);
    if (sorted == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for groups of %zu centres", centres->clusters);
    for (size_t c = 0; c < centres->clusters; c++)
        centres->order[c] = (uint32_t)c;
    split(centres, centres->order, centres->clusters, sorted);
    free(sorted);
    for (size_t p = 0; p < centres->clusters; p++)
        centres->place[centres->order[p]] = (uint32_t)p;
    centres->grouped = true;
    return HAWSER_OK;
}

hawser_status hw_kmeans_centres_set(hw_kmeans_centres *centres, const double *values, hawser_error *error)
{
    size_t k = centres->clusters, d = centres->columns;
    for (size_t e = 0; e < k * d; e++) {
        centres->values[e] = centres->single ? (double)(float)values[e] : values[e];
        if (centres->single)
            centres->values_f[e] = (float)values[e];
    }
    if (!centres->grouped)
        HAWSER_TRY(make_groups(centres, error));
    centres->largest = 0.0;
    for (size_t p = 0; p < k; p++) {
        const double *c = centres->values + centres->order[p] * d;
        double square = hawser_dot(d, c, c, NULL);
        if (!isfinite(square) || (centres->single && !(square <= (double)FLT_MAX)))
            return hawser_fail(error, HAWSER_NOT_FINITE,
                               "centre %u is too far from 0 for squares in %s; scale the columns%s", centres->order[p],
                               centres->single ? "float" : "double", centres->single ? " or use --arithmetic f64" : "");
        centres->squares[p] = square;
        centres->largest = square > centres->largest ? square : centres->largest;
        if (centres->single)
            centres->squares_f[p] = (float)square;
        for (size_t j = 0; j < d; j++)
            if (centres->single)
                centres->table_f[j * k + p] = (float)c[j];
            else
                centres->table[j * k + p] = c[j];
    }
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------- distances ---- */

/* Returns the distance that decides which centre is the nearest. */
static double kmeans_exact(const hw_kmeans_points *points, const hw_kmeans_centres *centres, size_t row, uint32_t cluster)
{
    size_t at = cluster * centres->columns;
    return centres->single ? (double)hawser_row_distance_f32(points->X, row, centres->values_f + at)
                           : hawser_row_distance(points->X, row, centres->values + at);
}

double hw_kmeans_square(const hw_kmeans_points *points, const hw_kmeans_centres *centres, size_t row, uint32_t cluster)
{
    static const double LOST = 1e4; /* below this many errors the product has lost too many digits */
    if (points->X->layout != HAWSER_CSR)
        return kmeans_exact(points, centres, row, cluster);
    size_t at = cluster * centres->columns, p = centres->place[cluster];
    double product = centres->single ? (double)hawser_row_dot_f32(points->X, row, centres->values_f + at)
                                     : hawser_row_dot(points->X, row, centres->values + at);
    double square = points->squares[row] - 2.0 * product + centres->squares[p];
    return square > LOST * hw_kmeans_error(points, centres, row) ? square : kmeans_exact(points, centres, row, cluster);
}

void hw_kmeans_squares(const hw_kmeans_points *points, const hw_kmeans_centres *centres, size_t begin, size_t end,
                       const uint32_t *labels, double *squares)
{
    hawser_matrix A = hawser_matrix_rows(points->X, begin, end);
    if (A.layout == HAWSER_CSR) {
        for (size_t i = begin; i < end; i++)
            squares[i - begin] = hw_kmeans_square(points, centres, i, labels[i - begin]);
    } else if (centres->single) {
        float floats[TILE];
        hawser_row_distances_f32(&A, centres->values_f, labels, floats);
        for (size_t r = 0; r < A.rows; r++)
            squares[r] = (double)floats[r];
    } else {
        hawser_row_distances(&A, centres->values, labels, squares);
    }
}

double hw_kmeans_final(const hw_kmeans_points *points, const hw_kmeans_centres *centres, size_t row, uint32_t cluster)
{
    return centres->single ? hawser_row_distance(points->X, row, centres->values + cluster * centres->columns)
                           : hw_kmeans_square(points, centres, row, cluster);
}

void hw_kmeans_products(const hw_kmeans_centres *centres, const hawser_matrix *A, const double *squares,
                        const float *squares_f, size_t first, size_t count, double *out, size_t ld, float *floats)
{
    if (!centres->single) {
        hawser_distances(A, squares, centres->table + first, centres->clusters, centres->squares + first, count, out, ld);
        return;
    }
    hawser_distances_f32(A, squares_f, centres->table_f + first, centres->clusters, centres->squares_f + first, count,
                         floats, ld);
    for (size_t i = 0; i < A->rows; i++)
        for (size_t c = 0; c < count; c++)
            out[i * ld + c] = (double)floats[i * ld + c];
}

uint32_t hw_kmeans_decide(const hw_kmeans_points *points, const hw_kmeans_centres *centres, size_t row,
                          const double *products, const bool *seen, uint32_t own, double limit)
{
    uint32_t nearest = own;
    double least = own != UINT32_MAX ? kmeans_exact(points, centres, row, own) : INFINITY;
    for (size_t p = 0; p < centres->clusters; p++) {
        uint32_t cluster = centres->order[p];
        if ((seen != NULL && !seen[p / centres->width]) || cluster == own || products[p] > limit)
            continue;
        double distance = kmeans_exact(points, centres, row, cluster);
        if (distance < least || (distance == least && cluster < nearest)) {
            least = distance;
            nearest = cluster;
        }
    }
    return nearest;
}

static inline double lesser(double a, double b)
{
    return a < b ? a : b;
}

/* Returns the least of some numbers. Groups of eight are the rule: four chains do not wait for each other. */
static double least_of(const double *values, size_t count)
{
    if (count == LEAST_WIDTH)
        return lesser(lesser(lesser(values[0], values[1]), lesser(values[2], values[3])),
                      lesser(lesser(values[4], values[5]), lesser(values[6], values[7])));
    double least = INFINITY;
    for (size_t k = 0; k < count; k++)
        least = lesser(values[k], least);
    return least;
}

static size_t width_of(const hw_kmeans_centres *centres, size_t group)
{
    size_t rest = centres->clusters - group * centres->width;
    return rest < centres->width ? rest : centres->width;
}

double hw_kmeans_second(const hw_kmeans_centres *centres, const double *products, size_t place)
{
    size_t group = place / centres->width, begin = group * centres->width, end = begin + width_of(centres, group);
    return lesser(least_of(products + begin, place - begin), least_of(products + place + 1, end - place - 1));
}

uint32_t hw_kmeans_choose(const hw_kmeans_points *points, const hw_kmeans_centres *centres, size_t row,
                          const double *products, const bool *seen, uint32_t own, double distance, double *first)
{
    double least = INFINITY, next = INFINITY; /* next: of the other groups */
    size_t group = 0;
    for (size_t g = 0; g < centres->groups; g++) {
        if (!seen[g])
            continue;
        double one = first[g] = least_of(products + g * centres->width, width_of(centres, g));
        next = lesser(one < least ? least : one, next);
        group = one < least ? g : group;
        least = lesser(one, least);
    }
    size_t place = group * centres->width, end = place + width_of(centres, group);
    while (place + 1 < end && products[place] != least)
        place++;
    next = lesser(next, hw_kmeans_second(centres, products, place));
    uint32_t nearest = centres->order[place];
    if (own != UINT32_MAX && !seen[centres->place[own] / centres->width]) {
        next = lesser(distance < least ? least : distance, next);
        nearest = distance < least ? own : nearest;
        least = lesser(distance, least);
    }
    double limit = least + 2.0 * hw_kmeans_error(points, centres, row);
    return next > limit ? nearest : hw_kmeans_decide(points, centres, row, products, seen, own, limit);
}

hawser_status hw_kmeans_nearest(const hw_kmeans_points *points, const hw_kmeans_centres *centres, uint32_t *labels,
                                double *distances, hawser_error *error)
{
    size_t k = centres->clusters, groups = centres->groups;
    double *products = malloc((TILE * k + groups) * sizeof *products), *first = products + TILE * k;
    float *floats = centres->single ? malloc(TILE * k * sizeof *floats) : NULL;
    bool *seen = malloc(groups * sizeof *seen);
    hawser_status status = HAWSER_OK;
    if (products == NULL || seen == NULL || (centres->single && floats == NULL))
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the distances to %zu centres", k);
    for (size_t g = 0; status == HAWSER_OK && g < groups; g++)
        seen[g] = true;
    for (size_t begin = 0; status == HAWSER_OK && begin < points->X->rows; begin += TILE) {
        size_t end = begin + TILE < points->X->rows ? begin + TILE : points->X->rows;
        hawser_matrix A = hawser_matrix_rows(points->X, begin, end);
        hw_kmeans_products(centres, &A, points->squares + begin, centres->single ? points->squares_f + begin : NULL, 0, k,
                           products, k, floats);
        for (size_t i = begin; i < end; i++) {
            bool known = isfinite(points->squares[i]);
            uint32_t nearest =
                !known ? 0 : hw_kmeans_choose(points, centres, i, products + (i - begin) * k, seen, UINT32_MAX, 0.0, first);
            if (labels != NULL)
                labels[i] = nearest;
            if (distances != NULL)
                distances[i] = known ? hw_kmeans_square(points, centres, i, nearest) : NAN;
        }
    }
    free(products);
    free(floats);
    free(seen);
    return status;
}
