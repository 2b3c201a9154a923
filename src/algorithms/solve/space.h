/*
 * space.h - the image of a descent's coefficients x, from which it computes the pull on each of them, in one of two spaces.
 * Gram space has q = G (x - start), by slot: a pull costs one read, and a step an axpy as long as the set. Residual space
 * has w r - sigma' w X (x - start), by row: pulls and steps cost the entries of a column. Both are linear, so the image of a
 * direction serves steps of any length.
 *
 * Blocks that solve one problem together (part.h) share the cost of products: each sums over its own rows or computes its
 * own slots. The sums are the same on all of them.
 */
#ifndef HW_ALGORITHMS_SOLVE_SPACE_H
#define HW_ALGORITHMS_SOLVE_SPACE_H

#include "algorithms/solve/gram.h"
#include "algorithms/solve/packed.h"
#include "algorithms/solve/part.h"
#include "algorithms/solve/solver.h"

/* The members of a working set; arrays are by member, 0 .. count - 1. */
typedef struct hw_linear_members {
    uint32_t *columns;
    hw_linear_term *terms;
    double *gradient; /* g at start */
    double *start;    /* coefficients at the round's start */
    double *x;        /* current coefficients */
    double *blend;    /* scratch: a candidate, then a list of steps */
    double *scratch;  /* six more arrays, each `capacity` long */
    size_t count, capacity;
    double *memory;
    hw_linear_packed packed; /* the members' entries by row, if a descent has packed them */
} hw_linear_members;

typedef struct hw_linear_space {
    const hw_linear_members *members;
    const hw_linear_round *round;
    const hw_linear_gram *gram; /* NULL: residual space */
    const hw_linear_part *part; /* NULL: this block computes whole products */
    hw_linear_packed *packed;   /* the entries that this block sums over, in residual space on sparse data; else NULL */
    size_t length;              /* of an image */
} hw_linear_space;

/* An image. Centred columns are dense, and their dense part is the single number `drift`, so that `values` are sums of
 * sparse columns. */
typedef struct hw_linear_image {
    double *values;
    double drift; /* residual space: the image is values + drift * w */
} hw_linear_image;

/* Returns the negative gradient of the smooth part at member k, its correlation with the local residual. */
static inline double hw_linear_space_pull(const hw_linear_space *space, size_t k, const hw_linear_image *image)
{
    const hw_linear_round *round = space->round;
    uint32_t j = space->members->columns[k];
    if (space->gram != NULL)
        return space->members->gradient[k] - round->gain * image->values[space->gram->slot[j]];
    return hw_linear_dot(round->columns, j, image->values, round->sum) / round->columns->total +
           image->drift * round->columns->mean[j];
}

/* Updates the image of x for x[k] + step. */
static inline void hw_linear_space_step(const hw_linear_space *space, size_t k, double step, hw_linear_image *image)
{
    const hw_linear_round *round = space->round;
    uint32_t j = space->members->columns[k];
    if (space->gram != NULL) {
        hawser_column_axpy(&space->gram->view, space->gram->slot[j], step, image->values);
        return;
    }
    hw_linear_axpy(round->columns, j, -round->gain * step, image->values);
    image->drift += round->gain * step * round->columns->mean[j];
}

/* Returns the place of member k in the matrix of products, for the list of hw_linear_space_product. */
static inline uint32_t hw_linear_space_place(const hw_linear_space *space, size_t k)
{
    uint32_t j = space->members->columns[k];
    return space->gram != NULL ? space->gram->slot[j] : j;
}

/* Returns the place of member k in this block's part of the matrix. */
static inline uint32_t hw_linear_space_part_place(const hw_linear_space *space, size_t k)
{
    return space->packed != NULL ? (uint32_t)k : hw_linear_space_place(space, k);
}

/* Computes the image of a direction over the listed places, without the factor sigma'. */
void hw_linear_space_product(const hw_linear_space *space, const uint32_t *places, const double *direction, size_t count,
                             hw_linear_image *product);
/* Computes bend[f] = sigma' G direction at the f-th of the listed places. `parts` are the places in this block's part, and
 * `product` is scratch. Each block computes its part of the products. Collective over the blocks of space->part. */
hawser_status hw_linear_space_bend(const hw_linear_space *space, const uint32_t *parts, const uint32_t *places,
                                   const double *direction, size_t listed, hw_linear_image *product, double *bend,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Computes the image of a direction in residual space, without the factor sigma'. Each block computes its rows. Collective
 * over the blocks of space->part. */
hawser_status hw_linear_space_image(const hw_linear_space *space, const uint32_t *parts, const uint32_t *places,
                                    const double *direction, size_t listed, hw_linear_image *product,
                                    hawser_error *error) HAWSER_MUST_USE;
/* Computes in `to` the image of x + length * direction, given the image of x in `from` (which may be `to`) and that of the
 * direction. */
void hw_linear_space_go(const hw_linear_space *space, double length, const hw_linear_image *product,
                        const hw_linear_image *from, hw_linear_image *to);
/* Returns ||residual||^2 / (sigma' W) of the local problem at coefficients x with their image. */
double hw_linear_space_square(const hw_linear_space *space, const double *x, const hw_linear_image *image);

#endif
