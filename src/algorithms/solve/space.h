/*
 * space.h - where a descent keeps the image of its coefficients x, so that it can tell the pull on each of them:
 * Gram space keeps q = G (x - start), by slot: a look costs nothing, a step costs an axpy as long as the set;
 * residual space keeps w r - sigma' w X (x - start), by row: looks and steps cost the entries of a column.
 * Both are linear, so a product (the image of a direction) can be taken once and be gone along as far as one likes.
 *
 * Of what a product costs, each of several blocks that solve one problem together (part.h) computes a part: it sums over its own rows, or
 * makes its own slots. The sums are the same on all.
 */
#ifndef HW_ALGORITHMS_SOLVE_SPACE_H
#define HW_ALGORITHMS_SOLVE_SPACE_H

#include "algorithms/solve/gram.h"
#include "algorithms/solve/packed.h"
#include "algorithms/solve/part.h"
#include "algorithms/solve/solver.h"

/* Members are numbered 0 .. count; arrays by member. */
typedef struct hw_linear_members {
    uint32_t *columns;
    hw_linear_term *terms;
    double *gradient; /* g at start */
    double *start;    /* coefficients at the round's start */
    double *x;        /* coefficients now */
    double *blend;    /* scratch: a candidate, then a list of steps */
    double *scratch;  /* five more, each `capacity` long */
    size_t count, capacity;
    double *memory;
    hw_linear_packed packed; /* their entries by row, where a descent has wanted that */
} hw_linear_members;

typedef struct hw_linear_space {
    const hw_linear_members *members;
    const hw_linear_round *round;
    const hw_linear_gram *gram; /* NULL: residual space */
    const hw_linear_part *part; /* NULL: this block does all */
    hw_linear_packed *packed;   /* the entries that it sums over, in residual space on sparse data; else NULL */
    size_t length;              /* of an image */
} hw_linear_space;

/* Centred columns are dense; their dense part is one number, so that values stay sparse sums. */
typedef struct hw_linear_image {
    double *values;
    double drift; /* residual space: values + drift * w are meant */
} hw_linear_image;

/* Gradient of the smooth part, negated, at member k: the correlation with the local residual. */
static inline double hw_linear_space_pull(const hw_linear_space *space, size_t k, const hw_linear_image *image)
{
    const hw_linear_round *round = space->round;
    uint32_t j = space->members->columns[k];
    if (space->gram != NULL)
        return space->members->gradient[k] - round->gain * image->values[space->gram->slot[j]];
    return hw_linear_dot(round->columns, j, image->values, round->sum) / round->columns->total +
           image->drift * round->columns->mean[j];
}

/* The image of x[k] + step, given that of x. */
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

/* Where in a product's matrix member k is: for the list that hw_linear_space_product takes. */
static inline uint32_t hw_linear_space_place(const hw_linear_space *space, size_t k)
{
    uint32_t j = space->members->columns[k];
    return space->gram != NULL ? space->gram->slot[j] : j;
}

/* Where its part is in the part's view. */
static inline uint32_t hw_linear_space_part_place(const hw_linear_space *space, size_t k)
{
    return space->packed != NULL ? (uint32_t)k : hw_linear_space_place(space, k);
}

/* product = the image of a direction over the listed places, before sigma'. */
void hw_linear_space_product(const hw_linear_space *space, const uint32_t *places, const double *direction, size_t count,
                             hw_linear_image *product);
/* bend[f] = sigma' G direction at the f-th of the listed places; `parts` are these in the part's view, `product` is scratch. Of the products
 * each block computes its part. */
hawser_status hw_linear_space_bend(const hw_linear_space *space, const uint32_t *parts, const uint32_t *places,
                                   const double *direction, size_t listed, hw_linear_image *product, double *bend,
                                   hawser_error *error) HAWSER_MUST_USE;
/* In residual space: product = the image of a direction before sigma', of which each block computes its rows. */
hawser_status hw_linear_space_image(const hw_linear_space *space, const uint32_t *parts, const uint32_t *places,
                                    const double *direction, size_t listed, hw_linear_image *product,
                                    hawser_error *error) HAWSER_MUST_USE;
/* to = the image of x + length * direction, given that of x in `from` (which may be `to`). */
void hw_linear_space_go(const hw_linear_space *space, double length, const hw_linear_image *product,
                        const hw_linear_image *from, hw_linear_image *to);
/* ||residual||^2 / (sigma' W) of the local problem at coefficients x with their image. */
double hw_linear_space_square(const hw_linear_space *space, const double *x, const hw_linear_image *image);

#endif
