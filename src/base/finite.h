/* finite.h - finds NaN and infinities among many numbers, at the speed of reading memory. */
#ifndef HW_BASE_FINITE_H
#define HW_BASE_FINITE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the index of the first number that is NaN or infinite, or `count`. The numbers need not be aligned. */
size_t hw_first_not_finite_f32(const void *values, size_t count);
size_t hw_first_not_finite_f64(const void *values, size_t count);

/* Adds updates to values. A value whose sum would be NaN or infinite keeps its value; returns the index of the first one, or
 * `count`. */
size_t hw_add_finite_f32(float *values, const float *updates, size_t count);
size_t hw_add_finite_f64(double *values, const double *updates, size_t count);

/* Variants of the test whether all numbers are finite, the fastest last; NULL past the last. For tests. */
typedef bool (*hw_finite_form)(const void *values, size_t count);
hw_finite_form hw_finite_f32_variant(size_t index);
hw_finite_form hw_finite_f64_variant(size_t index);
typedef size_t (*hw_add_form_f32)(float *values, const float *updates, size_t count);
typedef size_t (*hw_add_form_f64)(double *values, const double *updates, size_t count);
hw_add_form_f32 hw_add_finite_f32_variant(size_t index);
hw_add_form_f64 hw_add_finite_f64_variant(size_t index);

#endif
