/*
 * program.h - the common parts of the programs of linear models: the frame (folds around a path of lambdas around
 * certificates), the search over all blocks, and common units.
 */
#ifndef HW_ALGORITHMS_GLM_PROGRAM_H
#define HW_ALGORITHMS_GLM_PROGRAM_H

#include "algorithms/glm/driver.h"
#include "algorithms/model/unit.h"
#include "algorithms/solve/scan.h"
#include "algorithms/solve/search.h"
#include "hawser/advanced.h"

struct hw_linear_frame;

/* An algorithm's own parts of the frame. */
typedef struct hw_linear_units {
    const hw_linear_kind *kind;
    size_t scratch; /* bytes of a block */
    void (*release)(void *scratch);
    hawser_scratch_visit *visit;
    void (*declare)(hawser_program *program);         /* declares further metrics */
    hawser_unit_function *prepare;                    /* prepares a fold */
    hawser_unit_function *measure, *bound;            /* make a certificate */
    hawser_unit_function *choose;                     /* chooses the columns of the next work */
    const double *(*intercepts)(const void *scratch); /* returns those of the last certificate, by output */
    /* Adds the work between two certificates, and the memory that all units are expected to take. */
    void (*work)(const struct hw_linear_frame *frame);
} hw_linear_units;

typedef struct hw_linear_frame {
    hw_linear_driver *driver; /* `user` of its tests */
    hawser_program *program;
    hawser_state *X, *v, *alpha;
    hawser_state *means;    /* of the columns; NULL: no intercept follows from them */
    hawser_operator *again; /* the branch with `work`, or with the way back to a point before it */
    hawser_operator *work;  /* the sequence for the work between two certificates */
    hawser_operator *rest;  /* the sequence after the training: certifies what an early end has left */
    hawser_state *path;     /* of coefficients; NULL: one lambda */
} hw_linear_frame;

/* Makes the program of a training. */
hawser_program *hw_linear_program(hw_linear_driver *driver, const hw_linear_units *units);
/* Ends work on another state than alpha: `settle` copies that state's weights to alpha, and v is derived from them. A run
 * that is being ended has no more clocks, but keeps its progress since the last certificate. */
void hw_linear_settle_work(const hw_linear_frame *frame, hawser_state *weights, hawser_unit_function *settle);
/* Adds the loop of CoCoA rounds. It ends after `clocks` clocks, or if that is 0 by hw_linear_rounds_done. */
void hw_linear_rounds_work(const hw_linear_frame *frame, hawser_operator *work, uint64_t clocks,
                           hawser_unit_function *sweep);
/* Adds a branch that derives v from alpha where `test` holds. */
void hw_linear_derive_work(hawser_operator *work, const hw_linear_frame *frame, const char *name,
                           bool (*test)(hawser_progress *progress, void *user));
/* Adds a unit that searches over all blocks (search.h), from the point where all of them are, if the choices allow it. It
 * runs where `slow` holds. Every sum has a number per row. */
void hw_linear_search_work(const hw_linear_frame *frame, hawser_operator *work,
                           bool (*slow)(hawser_progress *progress, void *user), hawser_unit_function *search);

/* Chooses the columns that the next rounds work on, for `choose`. The published certificate, at the dual point of this
 * `scale` and within `radius`, does not prove them to be zero. The most promising columns come first. The sets of all blocks
 * together at most double the support or grow by `least`, and joint sets fit their share. Reports "working_set",
 * "largest_set" and "screened". `solver` is the block's state of the solver. */
hawser_status hw_linear_choose(hawser_context *context, hw_linear_scan *scan, const hw_linear_columns *columns, void *solver,
                               double scale, double radius, double least) HAWSER_MUST_USE;

/* Writes the state of the columns' means, if the program has one (hw_linear_has_means). */
hawser_status hw_linear_record_means(hawser_context *context, const double *mean) HAWSER_MUST_USE;
/* Reports what `prepare` finds of a fold: the objective of zero, the lambda at which all coefficients are zero, and the
 * reach of the columns. */
hawser_status hw_linear_report_fold(hawser_context *context, double zero_objective, const hw_linear_columns *columns,
                                    double lambda_max) HAWSER_MUST_USE;

/* Reports a number that may have overflowed: infinity instead of NaN, which would fail the run before the driver can restore
 * a point. */
hawser_status hw_linear_report(hawser_context *context, const char *metric, double value) HAWSER_MUST_USE;
uint32_t hw_linear_fold_of(const hawser_context *context); /* 0: all rows that train */
bool hw_linear_must_stop(void *context);                   /* of a hw_linear_stop */

/* Returns X alpha in *image: v, or where v stays zero, computed from the rows in linear->image, or that of the last joint
 * solution. The unit reads X, v and alpha. */
hawser_status hw_linear_read_image(hawser_context *context, const double **image) HAWSER_MUST_USE;

/* Returns what a unit reduces that adds up this many numbers of all blocks: more than one reduction has are added up in
 * several. */
size_t hw_linear_adds(size_t most);
/* Returns a part of a block that adds up the numbers of all blocks. */
hw_linear_part hw_linear_part_of(hawser_context *context);

#endif
