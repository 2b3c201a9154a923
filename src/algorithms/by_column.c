#include "algorithms/by_column.h"
#include "hawser/job_data.h"

#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 4, FOLDS = 3 };

static const char *const keys[ARRAYS] = {"lower", "upper", "penalty-factors", "folds"};

static const double *array_of(const hawser_training_input *input, int k)
{
    const double *const arrays[ARRAYS] = {input->lower, input->upper, input->penalty_factors, input->folds};
    return arrays[k];
}

/* Returns how many numbers an array has. */
static size_t count_of(const hawser_training_input *input, int k)
{
    const hawser_matrix *X = hawser_dataset_matrix(input->data);
    return k == FOLDS ? X->rows : X->cols;
}

static bool has_option(const hawser_algorithm *algorithm, const char *key)
{
    const hawser_option *row = algorithm->rows;
    while (row != NULL && row->key != NULL && strcmp(row->key, key) != 0)
        row++;
    return row != NULL && row->key != NULL;
}

static hawser_status check_own(const hawser_algorithm *algorithm, const hawser_training_input *input, hawser_error *error)
{
    for (int k = 0; k < ARRAYS; k++) {
        if (array_of(input, k) == NULL)
            continue;
        if (!has_option(algorithm, keys[k]))
            return hawser_fail(error, HAWSER_BAD_ARGUMENT, "an array for %s is given, and %s has no such option", keys[k],
                               algorithm->name);
        if (hawser_options_has(input->options, keys[k]))
            return hawser_fail(error, HAWSER_BAD_OPTION, "both an array and the option are given for %s; give one of them",
                               keys[k]);
    }
    if (input->folds != NULL && !hawser_options_has(input->options, "cv"))
        return hawser_fail(error, HAWSER_BAD_OPTION, "an array for folds is given, and there is no cv that uses it");
    return HAWSER_OK;
}

/* Compares an array with that of node 0. */
static hawser_status compare(hawser_job *job, const char *key, const double *own, size_t count, hawser_error *error)
{
    double *first = calloc(count > 0 ? count : 1, sizeof *first);
    hawser_status status =
        first != NULL ? HAWSER_OK : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for an array of %zu numbers", count);
    status = hawser_job_agree(job, status, error);
    if (status == HAWSER_OK) {
        memcpy(first, own, count * sizeof *first);
        status = hawser_job_broadcast(job, first, count * sizeof *first, error);
    }
    if (status == HAWSER_OK && memcmp(first, own, count * sizeof *first) != 0)
        status = hawser_fail(error, HAWSER_BAD_ARGUMENT,
                             "node %u has other numbers in the array for %s than node 0; give the same on all nodes",
                             hawser_job_node(job), key);
    free(first);
    return status;
}

static hawser_status compare_all(hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    unsigned char given[ARRAYS], first[ARRAYS];
    for (int k = 0; k < ARRAYS; k++)
        first[k] = given[k] = array_of(input, k) != NULL;
    HAWSER_TRY(hawser_job_broadcast(job, first, sizeof first, error));
    for (int k = 0; k < ARRAYS && status == HAWSER_OK; k++)
        if (first[k] != given[k])
            status = hawser_fail(error, HAWSER_BAD_ARGUMENT,
                                 "only one of node 0 and node %u has an array for %s; give it on all nodes",
                                 hawser_job_node(job), keys[k]);
    HAWSER_TRY(hawser_job_agree(job, status, error));
    for (int k = 0; k < ARRAYS; k++)
        if (given[k]) {
            status = compare(job, keys[k], array_of(input, k), count_of(input, k), error);
            HAWSER_TRY(hawser_job_agree(job, status, error));
        }
    return HAWSER_OK;
}

hawser_status hw_by_column_check(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                                 hawser_error *error)
{
    HAWSER_TRY(hawser_job_agree(job, check_own(algorithm, input, error), error));
    if (hawser_job_nodes(job) > 1)
        HAWSER_TRY(compare_all(job, input, error));
    for (int k = 0; k < ARRAYS; k++)
        if (array_of(input, k) != NULL)
            HAWSER_TRY(hawser_job_depends(job, keys[k], array_of(input, k), count_of(input, k) * sizeof(double), error));
    return HAWSER_OK;
}
