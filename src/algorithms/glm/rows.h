/* rows.h - the option rows that all linear models have. */
#ifndef HW_ALGORITHMS_GLM_ROWS_H
#define HW_ALGORITHMS_GLM_ROWS_H

/* clang-format off */
#define HW_LINEAR_ROWS \
    {"path", HAWSER_TEXT, NULL, NULL, "N|LIST", \
     "Fit a path of N lambdas from lambda_max down, or the listed lambdas (separated by commas), each from the last one's " \
     "solution", \
     "0.1", 0}, \
    {"lambda-min-ratio", HAWSER_NUMBER, NULL, "(0,1)", "R", \
     "End of a path of N lambdas, as a fraction of lambda_max; default 0.0001, or 0.01 if there are more columns than " \
     "rows", \
     "0.1", 0}, \
    {"tol", HAWSER_NUMBER, "1e-6", "(0,1)", "T", "Stop when the duality gap is below T times the objective at zero", "0.1", \
     0}, \
    {"cv", HAWSER_INTEGER, NULL, "[2,1000]", "K", \
     "Choose lambda on a path (of 100 lambdas unless --path is set) by K-fold cross-validation", "0.1", 0}, \
    {"cv-rule", HAWSER_WORD, "1se", "1se|min", "RULE", \
     "Take the largest lambda whose error is within one standard error of the least (1se), or the one with the least (min)", \
     "0.1", 0}, \
    {"validation-fraction", HAWSER_NUMBER, NULL, "(0,1)", "F", \
     "Keep this fraction of the rows, chosen by --seed, to measure the error and to choose lambda on a path", "0.1", 0}, \
    {"intercept", HAWSER_FLAG, "yes", NULL, NULL, "Fit an intercept, without a penalty", "0.1", 0}, \
    {"standardize", HAWSER_FLAG, "no", NULL, NULL, \
     "Penalise as if every column had standard deviation 1; sparse data stay sparse, coefficients are of the columns as " \
     "given", \
     "0.1", 0}, \
    {"penalty-factors", HAWSER_PATH, NULL, NULL, "FILE", \
     "One factor >= 0 per column, by which its penalty is multiplied; 0 leaves a column free", "0.1", 0}, \
    {"lower", HAWSER_TEXT, NULL, NULL, "X|FILE", \
     "Lower bound of the coefficients (<= 0): a number, or a file with one per column", "0.1", 0}, \
    {"upper", HAWSER_TEXT, NULL, NULL, "X|FILE", \
     "Upper bound of the coefficients (>= 0): a number, or a file with one per column", "0.1", 0}, \
    {"sigma", HAWSER_NUMBER, NULL, "(0,inf)", "S", \
     "sigma', by which a block allows for the changes of other blocks; default gamma K, doubled when the objective rises", \
     "0.1", 0}, \
    {"certify-every", HAWSER_INTEGER, NULL, "[1,inf)", "N", "Clocks between two certificates; default: as needed", "0.1", 0}
/* clang-format on */

#endif
