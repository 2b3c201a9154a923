/*
 * problem.h - what is asked of a penalised linear model (the settings, the rows and their folds), shared by all blocks and read-only
 * while units run; and the driver's record of what came out.
 *
 * A model predicts from margins x w + b + offset. What the algorithms on it differ in is a kind: a handful of functions.
 */
#ifndef HW_ALGORITHMS_GLM_PROBLEM_H
#define HW_ALGORITHMS_GLM_PROBLEM_H

#include "algorithms/solve/solver.h"
#include "hawser/algorithm.h"

/* The fold of a row that is kept for validation. */
#define HW_LINEAR_ALWAYS_OUT UINT32_MAX

/* Columns on the board where working sets of all blocks are solved as one; at least a quarter of it any block may fill. */
enum { HW_LINEAR_JOINT_MOST = 131072 };

typedef struct hw_linear_settings {
    double lambda, lambda_ratio; /* lambda < 0: the ratio counts */
    double cost;                 /* C, > 0: lambda is 1 / (C total) */
    double *path_list;           /* lambdas, as given; NULL: a grid */
    size_t path_count;           /* 0: one lambda */
    double lambda_min_ratio;     /* <= 0: as glmnet chooses */
    double l1_ratio, tolerance;
    bool intercept, standardize, one_standard_error;
    bool filtered;  /* updates may be held back or rounded */
    uint32_t folds; /* of cross-validation, 0: none */
    double validation_fraction;
    double sigma;           /* 0: by the rule */
    double exchange_every;  /* H; 0: until the local subproblem is solved */
    uint64_t certify_every; /* clocks; 0: as needed */
    bool stored;            /* what blocks share is kept by a parameter server: the solvers below */
    size_t groups;          /* --solver dbpg: of a block's columns */
    bool kkt;               /* --solver dbpg: columns that will likely stay zero are left out */
    bool steps;             /* --solver gd, sgd, minibatch */
    size_t batch;           /* with that: rows of a step; 0: all */
    bool weights, products; /* with that: what travels, if said */
    double rate, epochs;    /* with that; a rate of 0: by the rule */
    const hw_linear_solver *solver;
} hw_linear_settings;

/* One lambda's line in the table of a path. */
typedef struct hw_linear_row {
    double lambda, objective, gap, penalty, nonzeros, intercept, error, standard_error;
    bool precision, spent, done;
} hw_linear_row;

/* What the driver found that more work does not mend; published as metric "failure". */
typedef enum hw_linear_failure {
    HW_LINEAR_SOUND,
    HW_LINEAR_DIVERGED, /* ended far above the start */
    HW_LINEAR_STALLED   /* a gap that rounding does not explain, and no progress */
} hw_linear_failure;

struct hw_linear;
typedef double hw_linear_metric(const void *source, const char *name);

/* What tells one algorithm from another. */
typedef struct hw_linear_kind {
    const char *name;                      /* of the algorithm */
    const char *cv_name, *validation_name; /* of what is measured on rows that are held out: "cv_mse" */
    bool centres;                          /* the best intercept leaves residuals of mean zero */
    bool boxes;                            /* lambda_max is exact beside columns that have no penalty, but both bounds */
    const char *fit_name;                  /* of the share of the loss at zero that the model takes away: "r2" */
    /* Makes linear->target and linear->weights. */
    hawser_status (*take_target)(struct hw_linear *linear, const hawser_training_input *input, hawser_error *error);
    /* What is lost on one row for a margin, offset included unless the target carries it. */
    double (*row_error)(double target, double margin);
    /* What the kind makes of a value of the input's target (less the offset), NAN where it has no use for it; NULL: itself. */
    double (*target_of)(const struct hw_linear *linear, double value);
    /* Objective and gap from what units reported. */
    void (*certificate)(hw_linear_metric *metric, const void *source, double zero_objective, double *objective, double *gap);
    /* What each column is likely to cost its block besides scans, where blocks solve subproblems of their own; may be NULL. */
    hawser_status (*costs)(struct hw_linear *linear, double **costs, hawser_error *error);
    /* What only this kind's models say; may be NULL. */
    hawser_status (*model_facts)(const struct hw_linear *linear, hawser_model *model, hawser_error *error);
} hw_linear_kind;

typedef struct hw_linear {
    const hw_linear_kind *kind;
    hw_linear_settings settings;
    const hawser_matrix *X;
    const double *weights; /* or NULL */
    double *own_weights;   /* the memory of weights that are not the input's; or NULL */
    double *target;        /* y - offset, or what the kind makes of y */
    const double *offset;  /* where the target does not carry it; or NULL */
    double labels[2];      /* the target's values of class -1 and class 1, where there are classes */
    double class_weights[2];
    double total;   /* weight of all rows that are not kept for validation */
    uint32_t *fold; /* by row: the fold (from 1) in which the row is held out, 0: never; NULL: no row ever is */
    double *factor, *lower, *upper; /* by column, or NULL */
    double *alpha, *image;          /* where to start, and X times that; NULL: zeros */
    double *free_columns;           /* rows x (free_count + box_count): columns without penalty, dense */
    int *free_side;                 /* of each: 0 free on both sides, 1 above its lower bound, -1 below its upper one */
    uint32_t *free_list;            /* their numbers */
    size_t free_count;              /* of those that have no bound on some side, */
    size_t box_count;               /* behind them, of factor 0 and bounded on both; 0: too many, or not asked for */
    hawser_sync sync;
    hawser_form form; /* in which moves of v travel */
    uint32_t blocks;
    uint64_t seed;
    double gain, damping;
    double flights;                  /* rounds under way at once, as far as the policy bounds them */
    double *costs;                   /* by column: what the kind has said of it; or NULL */
    bool joint;                      /* working sets are solved as one: in step, nothing held back or averaged */
    struct hw_linear_shared *shared; /* what the blocks of this process have in common when they solve it (shared.h) */
    bool accelerated;                /* rounds are extrapolated over: possible where all blocks see the same residuals */
    bool strided;  /* whole sprints are extrapolated over: under SSP and TAP residuals agree only where a loop has ended */
    size_t widest; /* columns of the block that has most of them; 0: not known */
    /* Where rounds make little progress, conjugate gradients over all blocks help: nothing may be held back */
    bool searched;

    /* the driver's record; units never look at it */
    double *lambdas;
    size_t lambda_count, at; /* `at` counts lambdas done in this fold */
    uint32_t fold_at;
    hw_linear_row *rows;
    double *errors;       /* held-out mean error by (fold - 1) * lambda_count + lambda */
    double *fold_weights; /* of the rows held out, by fold - 1 */
    double lambda_max, whole_zero_objective, zero_objective, objective, best_objective, gap, best_gap, last_gap;
    unsigned stale_certificates, doublings; /* of sigma', or of the caution of stored margins */
    uint64_t work_most,
        work_done;      /* how often there may be work between two certificates of a lambda, and was; 0: no limit */
    uint32_t curved;    /* the last fold whose curvature was measured, from 1 on */
    hw_linear_row rest; /* certificate of what a run left behind that did not end by its tests */
    double rest_lambda;
    const double *rest_alpha; /* its coefficients */
    bool begun, certified, at_precision, at_limit;
    double start_objective; /* at the first certificate of a lambda */
    bool restoring;         /* the next work is to go back to the best certified point */
    unsigned restores;      /* in a row */
    hw_linear_failure failure;
    double failed_lambda, failed_objective, failed_gap;
    hawser_training *training;     /* for notes */
    const hawser_options *options; /* for these */
    double watched_gap;            /* when `watched` certificates were counted from, */
    uint64_t watched_clock;        /* and the clock then */
    unsigned watched;
    bool crawled; /* said already */

    double *best; /* the best certified coefficients (best.h): blocks write them, each its own columns */
    double *
        kept_path; /* of a path, the coefficients of its finished lambdas, as the run's state "path" has them; NULL: there is no path */
    bool brings_path; /* a program after a failed run brings them to node 0 */
    double *kept;     /* by block: the number of the certificate that they are of; 0: none yet */
    /* Node 0: that number, the certificate, and whether work preceded it. */
    double keeps;
    hw_linear_row kept_row;
    bool kept_worked;
    bool handed_in; /* `rest` was not certified: time was up */
    double last_intercept;
} hw_linear;

/* Reads the options that rows.h has, and what an algorithm may have besides. */
hawser_status hw_linear_settings_read(const hawser_options *options, hw_linear_settings *settings,
                                      hawser_error *error) HAWSER_MUST_USE;
/* Makes target, folds, factors, bounds, start. Released by hw_linear_free also after a failure. */
hawser_status hw_linear_new(hw_linear *linear, const hw_linear_kind *kind, hawser_job *job,
                            const hawser_training_input *input, hawser_error *error) HAWSER_MUST_USE;
void hw_linear_free(hw_linear *linear);
/* HAWSER_NOT_FINITE for values of which squares, or sums of squares over all rows, would leave the range of numbers. */
hawser_status hw_linear_check_target(const double *target, size_t count, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_linear_check_weights(double total, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_linear_check_square(double mean_square, size_t column, hawser_error *error) HAWSER_MUST_USE;
/* Zeros, released by free(); one more than asked for, so that none is no failure. */
hawser_status hw_linear_new_doubles(double **out, size_t count, hawser_error *error) HAWSER_MUST_USE;

/* The driver's tests (driver.c). `user` is the hw_linear. */
bool hw_linear_begin_path(hawser_progress *progress, void *user);   /* branch: chooses the lambdas */
bool hw_linear_open(hawser_progress *progress, void *user);         /* branch: is the gap still above the tolerance? */
bool hw_linear_restoring(hawser_progress *progress, void *user);    /* branch: back to the best certified point? */
bool hw_linear_uncurved(hawser_progress *progress, void *user);     /* branch: is the curvature of this fold unknown? */
bool hw_linear_small(hawser_progress *progress, void *user);        /* branch: do the working sets fit on the board? */
bool hw_linear_sprints_done(hawser_progress *progress, void *user); /* ends the loop of extrapolated rounds */
bool hw_linear_slow(hawser_progress *progress, void *user);      /* branch: did the last rounds bring the gap down little? */
bool hw_linear_certified(hawser_progress *progress, void *user); /* ends the loop of certificates */
bool hw_linear_rounds_done(hawser_progress *progress, void *user); /* ends the loop of rounds */
bool hw_linear_next_lambda(hawser_progress *progress, void *user); /* ends the path */
bool hw_linear_next_fold(hawser_progress *progress, void *user);   /* ends the folds */
bool hw_linear_set_rest(hawser_progress *progress, void *user);    /* branch: publishes rest_lambda */

double hw_linear_current_lambda(const hw_linear *linear); /* node 0 only */
/* Whether an objective is so much above that of the best point that it must not be what a training ends with. */
bool hw_linear_is_worse(const hw_linear *linear, double objective, double best, double zero_objective);
/* Whether steps led far above `start`, the objective where they began, and above weights of zero. */
bool hw_linear_is_far(const hw_linear *linear, double objective, double start, double zero_objective);

/* Lambdas from high to low (path.c). */
void hw_linear_grid(hw_linear *linear, double lambda_max);
double hw_linear_one_lambda(const hw_linear *linear, double lambda_max);
size_t hw_linear_grid_size(const hw_linear_settings *settings);
/* Members that a block's share of the board has room for, where working sets are solved as one; and that all shares have together. */
size_t hw_linear_room(const hw_linear *linear);
size_t hw_linear_most_members(const hw_linear *linear);
/* Fills error and standard error of the rows from the folds and says which lambda to take. */
size_t hw_linear_select(hw_linear *linear);
bool hw_linear_folds_done(const hw_linear *linear);

#endif
