/* folds.h - the fold of each row, in which cross-validation holds the row out. */
#ifndef HW_ALGORITHMS_CHOICE_FOLDS_H
#define HW_ALGORITHMS_CHOICE_FOLDS_H

#include "algorithms/choice/choice.h"

/* The rows that are divided. */
typedef struct hw_fold_deal {
    size_t rows;
    uint64_t seed;         /* of the order in which they are dealt */
    const double *classes; /* by row, equal for rows of one class; NULL: there are no classes */
    const double *groups;  /* by row, equal for rows that stay together; NULL: there are no groups */
    const double *given;   /* hawser_training_input.folds */
    bool dropped;          /* the input has more rows, which were dropped */
} hw_fold_deal;

/* Fills the fold of each row, from 1 on, as --cv and --folds require. */
hawser_status hw_deal_folds(const hw_fold_deal *deal, const hw_choice *choice, uint32_t *fold,
                            hawser_error *error) HAWSER_MUST_USE;
/* Fills `kept`, chosen by the seed, for a fraction of the rows, and 0 for the others. */
hawser_status hw_deal_part(const hw_fold_deal *deal, double fraction, uint32_t kept, uint32_t *fold,
                           hawser_error *error) HAWSER_MUST_USE;

#endif
