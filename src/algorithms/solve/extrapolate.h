/*
 * extrapolate.h - Anderson extrapolation: the affine combination of the last few iterates whose differences nearly cancel.
 * For a descent that has found its support this jumps close to the limit (Massias et al. 2018, Bertrand and Massias 2021).
 */
#ifndef HW_ALGORITHMS_SOLVE_EXTRAPOLATE_H
#define HW_ALGORITHMS_SOLVE_EXTRAPOLATE_H

#include <stdbool.h>
#include <stddef.h>

enum { HW_LINEAR_HISTORY = 5 };

/* Computes weights[0 .. differences) for the iterates 1 .. differences, which add up to 1, from the inner products U[a][b]
 * of the successive differences. Returns false if these are too nearly dependent. */
bool hw_linear_extrapolate(size_t differences, double U[HW_LINEAR_HISTORY][HW_LINEAR_HISTORY], double *weights);

#endif
