/* train.c - hawser_train: an algorithm on data in any layout. */
#include <string.h>

#include "hawser/algorithm.h"

static bool is_by_row(const hawser_matrix *A)
{
    return A->layout == HAWSER_CSR || A->layout == HAWSER_DENSE_ROWS;
}

/* Turns *data if the algorithm does not read them as they are; then *turned is to be freed. */
static hawser_status turn(const hawser_algorithm *algorithm, const hawser_dataset **data, hawser_dataset **turned,
                          hawser_error *error)
{
    const hawser_matrix *A = hawser_dataset_matrix(*data);
    if (A == NULL || is_by_row(A) == (algorithm->split == HAWSER_BY_ROW))
        return HAWSER_OK;
    HAWSER_TRY(hawser_dataset_turn(*data, turned, error));
    *data = *turned;
    return HAWSER_OK;
}

static hawser_status check_validation(const hawser_dataset *validation, hawser_error *error)
{
    hawser_error why = {0};
    return hawser_matrix_whole(hawser_dataset_matrix(validation), &why) == HAWSER_OK
               ? HAWSER_OK
               : hawser_fail(
                     error, HAWSER_BAD_ARGUMENT,
                     "hawser_train: the validation data are distributed over the nodes; pass all of them on node 0, which "
                     "measures the error, as hawser_dataset_load or hawser_dataset_borrow makes them");
}

hawser_status hawser_train(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                           hawser_training *training, hawser_error *error)
{
    if (algorithm == NULL || algorithm->train == NULL || job == NULL || input == NULL || training == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_train: algorithm, its train, job, input or training is NULL");
    if (algorithm->split != HAWSER_BY_ROW && algorithm->split != HAWSER_BY_COLUMN)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_train: the algorithm is split neither by row nor by column");
    if (input->options == NULL || input->data == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_train: the input has no %s",
                           input->data == NULL ? "data" : "options");
    if (input->validation != NULL) /* the node that measures the error reads all of them */
        HAWSER_TRY(check_validation(input->validation, error));
    hawser_training_input own = *input;
    hawser_dataset *turned[2] = {NULL, NULL};
    memset(training, 0, sizeof *training);
    hawser_status status = turn(algorithm, &own.data, &turned[0], error);
    if (status == HAWSER_OK)
        status = turn(algorithm, &own.validation, &turned[1], error);
    if (status == HAWSER_OK)
        status = algorithm->train(algorithm, job, &own, training, error);
    hawser_dataset_free(turned[0]);
    hawser_dataset_free(turned[1]);
    return status;
}
