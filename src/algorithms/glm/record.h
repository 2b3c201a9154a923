/*
 * record.h - the driver's record: what its tests (driver.h) keep from one certificate to the next, and the results of the
 * lambdas. Only the driver has it, on node 0; units do not see it. It has numbers and arrays of numbers, and no pointer to
 * anything else, so that it can be written between any two tests and read back anywhere.
 */
#ifndef HW_ALGORITHMS_GLM_RECORD_H
#define HW_ALGORITHMS_GLM_RECORD_H

#include "algorithms/choice/results.h"
#include "algorithms/glm/choices.h"
#include "algorithms/model/early.h"
#include "hawser/record.h"

/* A failure that more work does not repair; published as metric "failure". */
typedef enum hw_linear_failure {
    HW_LINEAR_SOUND,
    HW_LINEAR_DIVERGED, /* ended far above the start */
    HW_LINEAR_STALLED   /* a gap that rounding does not explain, and no progress */
} hw_linear_failure;

typedef struct hw_linear_record {
    double *lambdas;
    hw_results results;
    /* The visit copies the fields from results.most on as bytes: numbers only. */
    size_t first; /* of the group that is in progress: lambdas [first, results.count), each by all folds */
    uint32_t fold_at;
    size_t at;        /* lambdas of the group done in this fold */
    double began;     /* seconds of the run at which the fit of this lambda began */
    hawser_sync sync; /* of the rounds: the safeguard may change it, */
    double gain;      /* and sigma' */
    double lambda_max, whole_zero_objective, zero_objective, objective, best_objective, gap, best_gap, last_gap;
    double rounding;                        /* the gap that rounding of the targets alone may leave */
    double reach, gap_rounding;             /* of the columns (solve/columns.h); a bound of the gap's rounding error */
    double start_objective;                 /* at the first certificate of a lambda */
    unsigned stale_certificates, doublings; /* of sigma', or of the caution of stored margins */
    uint64_t work_done;                     /* times of work between two certificates of a lambda */
    uint32_t curved;                        /* the last fold whose curvature was measured, from 1 on */
    unsigned restores;                      /* in a row */
    hw_member_row rest;                     /* of a run that ended early or failed: the certificate of its result */
    hw_linear_failure failure;
    double failed_lambda, failed_objective, failed_gap;
    uint64_t certified_at, rounds_planned; /* clocks at the last certificate, and rounds from it to the next one */
    double watched_gap;                    /* when `watched` certificates were counted from, */
    uint64_t watched_clock;                /* and the clock then */
    unsigned watched;
    hw_member_row kept_row; /* the best certificate of this lambda, */
    bool kept_worked;       /* and whether work preceded it */
    bool begun, certified, at_precision, at_limit;
    bool restoring; /* the next work returns to the best certified point */
    bool apart;     /* X alpha is that of the last joint solution, not in v; published as metric "apart" */
    bool crawled;   /* the note about slow rounds has been added */
    bool rested;    /* `rest` is known; else time was up */
    double last_intercept;
    /* On validation data: the errors of certificates, or those of lambdas, that --early-stopping compares; whether the last
     * certificate is the best, and the best one's row; and whether the training ended by it. */
    hw_early_count early;
    bool valid_last; /* that is the last one; valid_row.done: there is one */
    hw_member_row valid_row;
    bool stopped, returned;
} hw_linear_record;

/* Makes the record of a training that has not begun. The caller calls hw_linear_record_free, also after a failure. */
hawser_status hw_linear_record_new(hw_linear_record *record, const hw_linear_choices *choices,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Returns how many folds have tried all lambdas of the group. */
uint32_t hw_linear_folds_done(const hw_linear_record *record);
/* Leaves out a group that not all folds have finished, if there is one before it. */
void hw_linear_record_cut(hw_linear_record *record);
void hw_linear_record_free(hw_linear_record *record);
/* A hawser_record_function: visits a hw_linear_record, which is zeros when it is read. */
void hw_linear_record_visit(hawser_record *bytes, void *record);

#endif
