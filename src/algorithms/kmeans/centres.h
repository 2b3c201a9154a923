/* centres.h - centres in the forms that distances need, and the rows beside them.
 *
 * A row's nearest centre is defined by hawser_row_distance (or its float form): the centre with the least value, and of
 * equal ones the centre with the smallest number. All shortcuts below must lead to that centre, so they use bounds of all
 * rounding errors. */
#ifndef HW_ALGORITHMS_KMEANS_CENTRES_H
#define HW_ALGORITHMS_KMEANS_CENTRES_H

#include "algorithms/model/arrays.h"
#include "hawser/algorithm.h"
#include "hawser/row_kernels.h"

enum { HW_KMEANS_TILE = 256 }; /* rows that are compared with centres together */

/* Rows, their squares, and how exact distances from them are. */
typedef struct hw_kmeans_points {
    const hawser_matrix *X;
    bool single;
    double *squares; /* one per row, as the arithmetic has them */
    float *squares_f;
    double share;    /* error of a squared distance by product, per unit of the squares of row and centre */
    double relative; /* relative error of a squared distance from differences, and of its root */
    double tiny;     /* error where numbers are too small for a relative one */
} hw_kmeans_points;

/* Computes the squares of the rows of X, which must outlive the points. Squares may overflow (hw_kmeans_points_check). */
hawser_status hw_kmeans_points_new(hw_kmeans_points *points, const hawser_matrix *X, bool single,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Returns HAWSER_NOT_FINITE if the squares of a row overflow: such a row has no distances. */
hawser_status hw_kmeans_points_check(const hw_kmeans_points *points, hawser_error *error) HAWSER_MUST_USE;
void hw_kmeans_points_free(hw_kmeans_points *points);

/* Centres stand in groups of neighbours: place p of the columns has centre order[p], and group g has the places [g * width,
 * ...). */
typedef struct hw_kmeans_centres {
    size_t clusters, columns, width, groups;
    bool single, grouped;
    double *values; /* clusters x columns, rounded to float if the arithmetic is single */
    float *values_f;
    double *table; /* columns x clusters, by place; NULL if single */
    float *table_f;
    double *squares; /* by place */
    float *squares_f;
    double largest; /* of the squares */
    uint32_t *order, *place;
    hw_arrays arrays;
} hw_kmeans_centres;

hawser_status hw_kmeans_centres_new(hw_kmeans_centres *centres, size_t clusters, size_t columns, size_t groups, bool single,
                                    hawser_error *error) HAWSER_MUST_USE;
void hw_kmeans_centres_free(hw_kmeans_centres *centres);
/* Sets the centres. The first call also makes the groups. HAWSER_NOT_FINITE: the squares of a centre overflow. */
hawser_status hw_kmeans_centres_set(hw_kmeans_centres *centres, const double *values, hawser_error *error) HAWSER_MUST_USE;

/* Returns the squared distance for the inertia: from differences if rows are dense, else by a product, where digits do not
 * cancel. */
double hw_kmeans_square(const hw_kmeans_points *points, const hw_kmeans_centres *centres, size_t row, uint32_t cluster);
/* Computes hw_kmeans_square of rows [begin, end), at most HW_KMEANS_TILE, to the clusters labels[0, end - begin). */
void hw_kmeans_squares(const hw_kmeans_points *points, const hw_kmeans_centres *centres, size_t begin, size_t end,
                       const uint32_t *labels, double *squares);
/* Returns the squared distance in double whatever the arithmetic is, for the inertia of a result. */
double hw_kmeans_final(const hw_kmeans_points *points, const hw_kmeans_centres *centres, size_t row, uint32_t cluster);
/* Returns a bound of the error of distances by product from a row to any centre, against the true distance and that of
 * differences. */
static inline double hw_kmeans_error(const hw_kmeans_points *points, const hw_kmeans_centres *centres, size_t row)
{
    return points->share * (points->squares[row] + centres->largest) + points->tiny;
}
/* Computes distances by product of the rows of A, with their squares, to `count` places from `first` on. out has `ld`
 * numbers per row; `floats` has space for as many if the arithmetic is single. */
void hw_kmeans_products(const hw_kmeans_centres *centres, const hawser_matrix *A, const double *squares,
                        const float *squares_f, size_t first, size_t count, double *out, size_t ld, float *floats);

/* Returns the nearest centre of a row, by distances that are computed from differences. Candidates are `own` (UINT32_MAX:
 * none), and in groups for which `seen` is true (NULL: all) the centres for which `products`, by place, is at most
 * `limit`. */
uint32_t hw_kmeans_decide(const hw_kmeans_points *points, const hw_kmeans_centres *centres, size_t row,
                          const double *products, const bool *seen, uint32_t own, double limit);
/* Returns the nearest centre of a row among those of all groups for which `seen` is true, and the centre `own` (UINT32_MAX:
 * none) at distance `distance` by product. `products` are the row's distances by place. first[g] receives the least of each
 * seen group. */
uint32_t hw_kmeans_choose(const hw_kmeans_points *points, const hw_kmeans_centres *centres, size_t row,
                          const double *products, const bool *seen, uint32_t own, double distance, double *first);
/* Returns the least of the products of a place's group without this place. */
double hw_kmeans_second(const hw_kmeans_centres *centres, const double *products, size_t place);

/* Finds the nearest centres of all rows: labels and squared distances (either may be NULL). */
hawser_status hw_kmeans_nearest(const hw_kmeans_points *points, const hw_kmeans_centres *centres, uint32_t *labels,
                                double *distances, hawser_error *error) HAWSER_MUST_USE;

#endif
