/*
 * program.h - what the programs of linear models have in common: the frame (folds around a path of lambdas around certificates), the
 * search over all blocks, and units that only differ in what they are about.
 */
#ifndef HW_ALGORITHMS_GLM_PROGRAM_H
#define HW_ALGORITHMS_GLM_PROGRAM_H

#include "algorithms/glm/driver.h"
#include "algorithms/solve/scan.h"
#include "algorithms/solve/search.h"

/* An algorithm's own parts of the frame. */
typedef struct hw_linear_units {
    const char *name;
    size_t scratch; /* bytes of a block */
    void (*release)(void *scratch);
    hawser_scratch_visit *visit;
    void (*declare)(hawser_program *program); /* metrics beside those of the frame */
    hawser_unit_function *prepare;            /* once a fold */
    hawser_unit_function *measure, *bound;    /* a certificate */
    hawser_unit_function *choose;             /* what to work on next */
    hawser_unit_function *record;             /* the result of a lambda */
} hw_linear_units;

typedef struct hw_linear_frame {
    hw_linear_driver *driver; /* `user` of its tests */
    hawser_program *program;
    hawser_state *X, *v, *alpha;
    hawser_operator *work; /* where the work between two certificates goes */
    hawser_state *path;    /* of coefficients; NULL: one lambda */
    hawser_operator *lambdas;
} hw_linear_frame;

/* Begins a program; the caller adds the work, then hw_linear_frame_end. */
void hw_linear_frame_begin(hw_linear_frame *frame, hw_linear_driver *driver, const hw_linear_units *units);
hawser_program *hw_linear_frame_end(hw_linear_frame *frame, const hw_linear_units *units);
/* The end of work on another state than alpha: `settle` makes that state's weights alpha, and v is made anew of them. A run that is being
 * ended has no more clocks, but keeps what was reached since the last certificate. */
void hw_linear_settle_work(const hw_linear_frame *frame, hawser_state *weights, hawser_unit_function *settle);
/* A certificate of given coefficients at record->rest_lambda, and nothing else: the data may lie on several nodes. `path`: the kept coefficients of
 * finished lambdas come along. */
hawser_program *hw_linear_certificate_program(hw_linear_driver *driver, const hw_linear_units *units, const double *alpha,
                                              bool path);

/* Adds a unit that searches over all blocks (search.h), from the point where all of them are. Every sum has a number per row. */
void hw_linear_search_work(const hw_linear_frame *frame, hawser_operator *work, hawser_unit_function *search);

/* What `choose` is told to let into a block's working set, such that those of all blocks together at most double the support, or
 * grow by `least`, and on the board where these are solved as one: `bound` reports the grades of a block's columns, `choose` asks for its room. */
hawser_status hw_linear_report_grades(hawser_context *context, hw_linear_scan *scan,
                                      const hw_linear_columns *columns) HAWSER_MUST_USE;
size_t hw_linear_entering_room(hawser_context *context, const hw_linear_scan *scan, const hw_linear_columns *columns,
                               double least);

/* v = X alpha from nothing: what keeps rounding and held-back updates out of certificates. */
hawser_status hw_linear_rebuild(hawser_context *context) HAWSER_MUST_USE;
/* Keeps the coefficients of a lambda; measures them on the rows that this fold holds out. */
hawser_status hw_linear_record_lambda(hawser_context *context, double intercept) HAWSER_MUST_USE;

/* hawser_report of a number that may have overflowed: infinity stands for NaN, which would fail the run before the driver can go back. */
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
