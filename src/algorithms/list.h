/* list.h - one function an algorithm. */
#ifndef HW_ALGORITHMS_LIST_H
#define HW_ALGORITHMS_LIST_H

#include "hawser/algorithm.h"

const hawser_algorithm *hw_lasso_algorithm(void);
const hawser_algorithm *hw_logistic_algorithm(void);
const hawser_algorithm *hw_least_squares_algorithm(void);
const hawser_algorithm *hw_poisson_algorithm(void);
const hawser_algorithm *hw_multitask_algorithm(void);
const hawser_algorithm *hw_kmeans_algorithm(void);
const hawser_algorithm *hw_svm_algorithm(void);
const hawser_algorithm *hw_softmax_algorithm(void);
const hawser_algorithm *hw_lda_algorithm(void);

#endif
