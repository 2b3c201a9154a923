/*
 * program.h - the common parts of the programs of linear models: the frame (folds around a path of lambdas around certificates), the search over
 * all blocks, and common units.
 */
#ifndef HW_ALGORITHMS_GLM_PROGRAM_H
#define HW_ALGORITHMS_GLM_PROGRAM_H

#include "algorithms/glm/driver.h"
#include "algorithms/solve/scan.h"
#include "algorithms/solve/search.h"

struct hw_linear_frame;

/* An algorithm's own parts of the frame. */
typedef struct hw_linear_units {
    const hw_linear_kind *kind;
    size_t scratch; /* bytes of a block */
    void (*release)(void *scratch);
    hawser_scratch_visit *visit;
    void (*declare)(hawser_program *program); /* declares further metrics */
    hawser_unit_function *prepare;            /* prepares a fold */
    hawser_unit_function *measure, *bound;    /* make a certificate */
    hawser_unit_function *validate;           /* calls hw_linear_validate */
    hawser_unit_function *choose;             /* chooses the columns of the next work */
    hawser_unit_function *record;             /* records the result of a lambda */
    /* Adds the work between two certificates, and the memory that all units are expected to take. */
    void (*work)(const struct hw_linear_frame *frame);
} hw_linear_units;

typedef struct hw_linear_frame {
    hw_linear_driver *driver; /* `user` of its tests */
    hawser_program *program;
    hawser_state *X, *v, *alpha;
    hawser_operator *work; /* the sequence for the work between two certificates */
    hawser_state *path;    /* of coefficients; NULL: one lambda */
} hw_linear_frame;

/* Makes the program of a training. */
hawser_program *hw_linear_program(hw_linear_driver *driver, const hw_linear_units *units);
/* Ends work on another state than alpha: `settle` copies that state's weights to alpha, and v is derived from them. A run that is being ended has no
 * more clocks, but keeps its progress since the last certificate. */
void hw_linear_settle_work(const hw_linear_frame *frame, hawser_state *weights, hawser_unit_function *settle);
/* Makes a program that only certifies given coefficients at record->rest_lambda, on all nodes. `path`: it also has the kept coefficients of finished
 * lambdas. */
hawser_program *hw_linear_certificate_program(hw_linear_driver *driver, const hw_linear_units *units, const double *alpha,
                                              bool path);

/* Adds the loop of CoCoA rounds. It ends after `clocks` clocks, or if that is 0 by hw_linear_rounds_done. */
void hw_linear_rounds_work(const hw_linear_frame *frame, hawser_operator *work, uint64_t clocks,
                           hawser_unit_function *sweep);
/* Adds a unit that searches over all blocks (search.h), from the point where all of them are, if the choices allow it. It runs where `slow` holds.
 * Every sum has a number per row. */
void hw_linear_search_work(const hw_linear_frame *frame, hawser_operator *work,
                           bool (*slow)(hawser_progress *progress, void *user), hawser_unit_function *search);

/* Reports the grades of a block's columns, from which hw_linear_choose bounds the working sets of all blocks together. Called by `bound`. */
hawser_status hw_linear_report_grades(hawser_context *context, hw_linear_scan *scan,
                                      const hw_linear_columns *columns) HAWSER_MUST_USE;
/* Chooses the columns that the next rounds work on, for `choose`. The published certificate, at the dual point of this `scale` and within
 * `radius`, does not prove them to be zero. The most promising columns come first. The sets of all blocks together at most double the support or grow by `least`, and joint sets fit
 * their share. Keeps the coefficients if they are the best, and reports "working_set", "largest_set" and "screened". `solver` is the
 * block's state of the solver. */
hawser_status hw_linear_choose(hawser_context *context, hw_linear_scan *scan, const hw_linear_columns *columns, void *solver,
                               double scale, double radius, double least) HAWSER_MUST_USE;

/* Computes v = X alpha from zero, so that certificates contain neither rounding errors nor held updates. */
hawser_status hw_linear_rebuild(hawser_context *context) HAWSER_MUST_USE;
/* Stores the coefficients of a lambda, and measures them on the rows that this fold holds out. There is an intercept per output. */
hawser_status hw_linear_record_lambda(hawser_context *context, const double *intercepts) HAWSER_MUST_USE;

/* The body of a unit that measures the error on validation data of the coefficients "alpha" with these intercepts, one per output. Reports
 * "valid_weight" and "valid_errors". */
hawser_status hw_linear_validate(hawser_context *context, const double *intercepts) HAWSER_MUST_USE;

/* Reports a number that may have overflowed: infinity instead of NaN, which would fail the run before the driver can restore a point. */
hawser_status hw_linear_report(hawser_context *context, const char *metric, double value) HAWSER_MUST_USE;
uint32_t hw_linear_fold_of(const hawser_context *context); /* 0: all rows that train */
hawser_status hw_linear_fail(hawser_context *context, const hawser_error *error) HAWSER_MUST_USE;
bool hw_linear_must_stop(void *context); /* of a hw_linear_stop */

/* Declares that a unit sums over all blocks, at most this many numbers at a time. */
void hw_linear_adds(hawser_operator *unit, size_t most);
/* Returns a part of a block that adds by hw_linear_add. */
hw_linear_part hw_linear_part_of(hawser_context *context);
/* Adds numbers of all blocks; the `add` of a hw_linear_part. `context` is the unit's. The unit must return after a failure (hw_linear_fail). */
hawser_status hw_linear_add(void *context, double *values, size_t count, hawser_error *error) HAWSER_MUST_USE;

#endif
