/*
 * centre.h - columns that are far from zero, and columns whose values are all equal, for algorithms by rows with a free
 * intercept.
 *
 * A solution does not change if a constant is subtracted from a column. Sums of products of numbers that are far from zero
 * lose the digits in which they differ, so a training works on x - shift, and gives back what the shifts make of its
 * intercepts.
 */
#ifndef HW_ALGORITHMS_MODEL_CENTRE_H
#define HW_ALGORITHMS_MODEL_CENTRE_H

#include "algorithms/model/arrays.h"
#include "hawser/algorithm.h"

typedef struct hw_centre {
    size_t columns;
    double *shift; /* by column: the value of a column of equal values, the mean of one that is far from zero, 0 of others */
    bool *equal;   /* by column: all its values are equal */
    uint32_t *places; /* the columns with a shift, ascending */
    size_t count;     /* of them */
    size_t unequal;   /* columns that are not `equal` */
    bool far;         /* a column with a shift has different values */
    double target;    /* the shift of the target */
    hw_arrays arrays;
} hw_centre;

/* What is measured. HW_CENTRE_VERY_FAR: columns, which are shifted only if the mean of some is 2^20 standard deviations:
 * less harms no sum in double. */
typedef enum hw_centre_of { HW_CENTRE_COLUMNS, HW_CENTRE_VERY_FAR, HW_CENTRE_FITTED, HW_CENTRE_FITTED_TARGET } hw_centre_of;
/* Measures the columns over the rows with a weight above 0, by a short program, and the target too. HAWSER_BAD_INPUT, unless
 * the columns alone are measured: what an intercept is fitted to is so far from zero that the numbers of its type hardly
 * tell its values apart. Collective. The caller calls hw_centre_free, also after a failure. */
hawser_status hw_centre_find(hw_centre *centre, hawser_job *job, const hawser_dataset *data, hw_centre_of what,
                             hawser_error *error) HAWSER_MUST_USE;
/* Refuses, with HAWSER_BAD_INPUT, a column of values that differ by too little beside their size, and one of floats that
 * rounding may have made equal. Targets count as columns behind the last. NULL: data without a dataset are not judged. A
 * deviation of 0 means that all values are equal, and a negative one that it is unknown. */
hawser_status hw_centre_check(const hawser_dataset *data, size_t column, double mean, double deviation,
                              hawser_error *error) HAWSER_MUST_USE;
/* Takes a copy of shifts that are known, one per column. */
hawser_status hw_centre_take(hw_centre *centre, const double *shift, size_t columns, hawser_error *error) HAWSER_MUST_USE;
void hw_centre_free(hw_centre *centre);

/* Returns the intercept for rows as they are from that for shifted rows, less a number, rounded once. Coefficient j is
 * coefficients[j * step]. */
double hw_centre_undo(const hw_centre *centre, double intercept, double less, const double *coefficients, size_t step);
/* Returns the intercept for shifted rows from that for rows as they are, with the same arguments. */
double hw_centre_apply(const hw_centre *centre, double intercept, double less, const double *coefficients, size_t step);

/* Memory for some shifted rows. */
typedef struct hw_centre_rows {
    double *values;
    uint64_t *offsets; /* CSR */
    uint32_t *indices;
    hw_arrays arrays;
} hw_centre_rows;
/* Makes memory for any `most` consecutive rows of X; none if no column has a shift. The caller frees it, also after a
 * failure. */
hawser_status hw_centre_rows_new(hw_centre_rows *rows, const hw_centre *centre, const hawser_matrix *X, size_t most,
                                 hawser_error *error) HAWSER_MUST_USE;
void hw_centre_rows_free(hw_centre_rows *rows);
/* Estimates its bytes. */
uint64_t hw_centre_rows_bytes(const hw_centre *centre, const hawser_matrix *X, size_t most);
/* Stores the rows of a view, shifted, in that memory. Returns a view of them, of doubles: dense ones by rows, or CSR, where
 * a column with a shift has an entry in every row. */
hawser_matrix hw_centre_rows_fill(hw_centre_rows *rows, const hw_centre *centre, const hawser_matrix *X);

#endif
