/* rows.h - the option rows that all linear models have. */
#ifndef HW_ALGORITHMS_GLM_ROWS_H
#define HW_ALGORITHMS_GLM_ROWS_H

#include "algorithms/choice/rows.h"
#include "algorithms/model/early.h"

/* clang-format off */
/* The weight of the penalty. `objective`, `zero` and `share` are the ends of sentences. */
#define HW_LINEAR_LAMBDA_ROWS(range, objective, zero) \
    {"lambda", HAWSER_NUMBER, NULL, range, "X", "Weight of the penalty; the objective is " objective, NULL, 'l'}, \
    {"lambda-ratio", HAWSER_NUMBER, "0.05", "(0,1e100]", "R", \
     "The penalty's weight as a fraction of lambda_max, above which all " zero, "Choice of lambda", 0}
#define HW_LINEAR_SHARE_ROW(share) {"l1-ratio", HAWSER_NUMBER, "1", "[0,1]", "A", share, NULL, 0}

/* Options of all linear models, and the bounds of single coefficients. */
#define HW_LINEAR_COMMON_ROWS \
    HW_CHOICE_PATH_ROWS, \
    {"tol", HAWSER_NUMBER, "1e-6", "(0,1)", "T", "Stop at this relative duality gap; it is relative to the objective at zero", NULL, \
     0}, \
    HW_CHOICE_CV_ROWS(", or up to 200 while the error falls"), \
    {"cv-metric", HAWSER_WORD, "loss", "loss|auc|accuracy|mae", "NAME", \
     "Error that --cv compares: the loss, 1 - auc or 1 - accuracy (of classes), or the mean absolute error (of numbers)", \
     "Choice of lambda", 0}, \
    {"validation-fraction", HAWSER_NUMBER, NULL, "(0,1)", "F", \
     "Keep this fraction of the rows, chosen by --seed, to measure the error and to choose lambda on a path", "Choice of lambda", 0}, \
    HW_EARLY_STOPPING_ROWS("one per lambda of a path, or per certificate of one lambda", \
                           "the model is that of the least error"), \
    {"intercept", HAWSER_FLAG, "yes", NULL, NULL, "Fit an intercept, without a penalty", NULL, 0}, \
    {"standardize", HAWSER_FLAG, "no", NULL, NULL, \
     "Penalise as if columns had standard deviation 1; sparse data stay sparse, coefficients are of the columns as given", \
     NULL, 0}, \
    {"penalty-factors", HAWSER_PATH, NULL, NULL, "FILE", \
     "One factor >= 0 per column, by which its penalty is multiplied; 0 leaves a column free", "Penalty by column, bounds", 0}, \
    {"sigma", HAWSER_NUMBER, NULL, "(0,inf)", "S", \
     "sigma', by which a block allows for the changes of other blocks; default gamma K, doubled when the objective rises", \
     "Solver", 0}, \
    {"certify-every", HAWSER_INTEGER, NULL, "[1,inf)", "N", "Clocks between two certificates; default: as needed", "Solver", 0}

#define HW_LINEAR_BOUND_ROWS \
    {"lower", HAWSER_TEXT, NULL, NULL, "X|FILE", \
     "Lower bound of the coefficients (<= 0): a number, or a file with one per column", "Penalty by column, bounds", 0}, \
    {"upper", HAWSER_TEXT, NULL, NULL, "X|FILE", \
     "Upper bound of the coefficients (>= 0): a number, or a file with one per column", "Penalty by column, bounds", 0}

#define HW_LINEAR_ROWS HW_LINEAR_COMMON_ROWS, HW_LINEAR_BOUND_ROWS
/* clang-format on */

#endif
