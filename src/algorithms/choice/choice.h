/* choice.h - the options that choose the lambda (or C) of a model: one, a path, and the folds of a cross-validation. */
#ifndef HW_ALGORITHMS_CHOICE_CHOICE_H
#define HW_ALGORITHMS_CHOICE_CHOICE_H

#include "hawser/algorithm.h"

typedef struct hw_choice {
    double lambda, lambda_ratio; /* lambda < 0: the ratio counts */
    bool assumed;                /* the user has said nothing of lambda */
    double cost;                 /* C, > 0: lambda is 1 / (C total) */
    double *path_list;           /* the listed lambdas, from high to low; NULL: a grid */
    size_t path_count;           /* 0: one lambda */
    double lambda_min_ratio;     /* <= 0: glmnet's choice */
    bool one_standard_error;
    uint32_t folds;          /* of cross-validation, 0: none */
    const char *fold_source; /* the options' text: "stratified", "by:COLUMN" or the path of a file; NULL: by chance */
    const char *metric;      /* the error of cross-validation, the options' word */
} hw_choice;

/* Reads the options. Fails if they exclude each other, or one of the command line has no effect. The caller frees
 * choice->path_list, also after a failure. */
hawser_status hw_choice_read(hawser_job *job, const hawser_options *options, hw_choice *choice,
                             hawser_error *error) HAWSER_MUST_USE;
/* Fails if there are validation data besides folds or kept rows. `validated` is the same on each node. */
hawser_status hw_choice_check_validation(const hawser_options *options, bool validated, hawser_error *error) HAWSER_MUST_USE;
/* Returns whether --path lists its lambdas, and is no number of lambdas. */
bool hw_choice_lists(const hawser_options *options);

#endif
