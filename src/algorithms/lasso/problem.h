/*
 * problem.h - what is asked of a lasso (the settings, the rows and their folds), shared by all blocks and read-only while units
 * run; and the driver's record of what came out.
 */
#ifndef HW_ALGORITHMS_LASSO_PROBLEM_H
#define HW_ALGORITHMS_LASSO_PROBLEM_H

#include "algorithms/lasso/solver.h"
#include "hawser/algorithm.h"

/* The fold of a row that is kept for validation. */
#define HW_LASSO_ALWAYS_OUT UINT32_MAX

typedef struct hw_lasso_settings {
    double lambda, lambda_ratio; /* lambda < 0: the ratio counts */
    double *path_list;           /* lambdas, as given; NULL: a grid */
    size_t path_count;           /* 0: one lambda */
    double lambda_min_ratio;     /* <= 0: as glmnet chooses */
    double l1_ratio, tolerance;
    bool intercept, standardize, one_standard_error, average;
    bool filtered;  /* updates may be held back or rounded */
    uint32_t folds; /* of cross-validation, 0: none */
    double validation_fraction;
    double sigma;           /* 0: by the rule */
    double exchange_every;  /* H; 0: until the local subproblem is solved */
    uint64_t certify_every; /* clocks; 0: as needed */
    const hw_lasso_solver *solver;
} hw_lasso_settings;

/* One lambda's line in the table of a path. */
typedef struct hw_lasso_row {
    double lambda, objective, gap, penalty, nonzeros, intercept, error, standard_error;
    bool precision, done;
} hw_lasso_row;

typedef struct hw_lasso {
    hw_lasso_settings settings;
    const hawser_matrix *X;
    const double *weights; /* or NULL */
    double *target;        /* y - offset */
    uint32_t *fold;        /* by row: the fold (from 1) in which the row is held out, 0: never; NULL: no row ever is */
    double *factor, *lower, *upper; /* by column, or NULL */
    double *alpha, *image;          /* where to start, and X times that */
    double *free_columns;           /* rows x free_count: columns without penalty, dense */
    int *free_side;                 /* of each: 0 free on both sides, 1 above its lower bound, -1 below its upper one */
    size_t free_count;
    hawser_sync sync;
    hawser_form form; /* in which moves of v travel */
    uint32_t blocks;
    double gain, damping;
    bool joint;       /* working sets are solved as one: one machine, step by step, nothing held back */
    bool accelerated; /* rounds are extrapolated over: possible where all blocks see the same residuals */
    bool strided; /* whole sprints are extrapolated over: under SSP and TAP residuals agree only where a loop has ended */
    bool
        searched; /* where rounds make little progress, conjugate gradients over all blocks help: nothing may be held back */

    /* the driver's record; units never look at it */
    double *lambdas;
    size_t lambda_count, at; /* `at` counts lambdas done in this fold */
    uint32_t fold_at;
    hw_lasso_row *rows;
    double *errors;       /* held-out mean squared error by (fold - 1) * lambda_count + lambda */
    double *fold_weights; /* of the rows held out, by fold - 1 */
    double lambda_max, whole_zero_objective, zero_objective, objective, best_objective, gap, best_gap, last_gap;
    unsigned stale_certificates, doublings;
    hw_lasso_row rest; /* certificate of what an early end left behind on several nodes */
    double rest_lambda;
    bool begun, certified, at_precision;
    hawser_training *training; /* for notes */
} hw_lasso;

extern const hawser_option hw_lasso_rows[];
/* Reads the options; needs hawser_job_workers for sigma'. */
hawser_status hw_lasso_settings_read(const hawser_options *options, hw_lasso_settings *settings,
                                     hawser_error *error) HAWSER_MUST_USE;
/* Makes target, folds, factors, bounds, start. Released by hw_lasso_free also after a failure. */
hawser_status hw_lasso_new(hw_lasso *lasso, hawser_job *job, const hawser_training_input *input,
                           hawser_error *error) HAWSER_MUST_USE;
void hw_lasso_free(hw_lasso *lasso);

/* The driver's tests (driver.c). `user` is the hw_lasso. */
bool hw_lasso_begin_path(hawser_progress *progress, void *user);   /* branch: chooses the lambdas */
bool hw_lasso_open(hawser_progress *progress, void *user);         /* branch: is the gap still above the tolerance? */
bool hw_lasso_small(hawser_progress *progress, void *user);        /* branch: do the working sets fit on the board? */
bool hw_lasso_sprints_done(hawser_progress *progress, void *user); /* ends the loop of extrapolated rounds */
bool hw_lasso_slow(hawser_progress *progress, void *user);      /* branch: did the last rounds bring the gap down little? */
bool hw_lasso_certified(hawser_progress *progress, void *user); /* ends the loop of certificates */
bool hw_lasso_rounds_done(hawser_progress *progress, void *user); /* ends the loop of rounds */
bool hw_lasso_next_lambda(hawser_progress *progress, void *user); /* ends the path */
bool hw_lasso_next_fold(hawser_progress *progress, void *user);   /* ends the folds */

/* Lambdas from high to low (path.c). */
void hw_lasso_grid(hw_lasso *lasso, double lambda_max);
size_t hw_lasso_grid_size(const hw_lasso_settings *settings);
/* Fills error and standard error of the rows from the folds and says which lambda to take. */
size_t hw_lasso_select(hw_lasso *lasso);

#endif
