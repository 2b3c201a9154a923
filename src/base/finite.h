/* finite.h - NaN and infinities among many numbers, at the speed at which memory is read. */
#ifndef HW_BASE_FINITE_H
#define HW_BASE_FINITE_H

#include <stdbool.h>
#include <stddef.h>

/* Number of the first that is NaN or infinite, or `count`. The numbers need not be aligned. */
size_t hw_first_not_finite_f32(const void *values, size_t count);
size_t hw_first_not_finite_f64(const void *values, size_t count);

/* Whether all are finite: the forms that this machine has, the quickest last; NULL past them. For tests. */
typedef bool (*hw_finite_form)(const void *values, size_t count);
hw_finite_form hw_finite_f32_variant(size_t index);
hw_finite_form hw_finite_f64_variant(size_t index);

#endif
