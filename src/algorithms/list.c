/* list.c - the ready algorithms. */
#include <string.h>

#include "algorithms/list.h"

const hawser_algorithm *hawser_algorithm_at(size_t index)
{
    switch (index) {
    case 0: return hw_lasso_algorithm();
    case 1: return hw_logistic_algorithm();
    case 2: return hw_least_squares_algorithm();
    case 3: return hw_poisson_algorithm();
    case 4: return hw_multitask_algorithm();
    case 5: return hw_kmeans_algorithm();
    case 6: return hw_svm_algorithm();
    case 7: return hw_softmax_algorithm();
    case 8: return hw_lda_algorithm();
    default: return NULL;
    }
}

const hawser_algorithm *hawser_algorithm_find(const char *name)
{
    for (size_t k = 0; name != NULL && hawser_algorithm_at(k) != NULL; k++)
        if (strcmp(hawser_algorithm_at(k)->name, name) == 0)
            return hawser_algorithm_at(k);
    return NULL;
}

const hawser_head *hawser_algorithm_head(const hawser_algorithm *algorithm, const char *name)
{
    const hawser_head *head = algorithm != NULL && name != NULL ? algorithm->heads : NULL;
    while (head != NULL && head->name != NULL && strcmp(head->name, name) != 0)
        head++;
    return head != NULL && head->name != NULL ? head : NULL;
}
