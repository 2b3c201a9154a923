/* train.c - hawser_train and hawser_train_plan: an algorithm on data in any layout. */
#include <stdlib.h>
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

static hawser_status check_validation(const char *call, const hawser_dataset *validation, hawser_error *error)
{
    hawser_error why = {0};
    return hawser_matrix_whole(hawser_dataset_matrix(validation), &why) == HAWSER_OK
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_BAD_ARGUMENT,
                             "%s: the validation data are distributed over the nodes; pass all of them on node 0, which "
                             "measures the error, as hawser_dataset_load or hawser_dataset_borrow makes them",
                             call);
}

/* The input of a training in the layout that the algorithm reads. */
typedef struct turned_input {
    hawser_training_input input;
    hawser_dataset *data, *validation; /* turned; NULL: they are read as they are */
} turned_input;

static void free_turned(turned_input *own)
{
    hawser_dataset_free(own->data);
    hawser_dataset_free(own->validation);
}

static hawser_status turn_input(const char *call, const hawser_algorithm *algorithm, const hawser_training_input *input,
                                turned_input *own, hawser_error *error)
{
    if (algorithm->split != HAWSER_BY_ROW && algorithm->split != HAWSER_BY_COLUMN)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s: the algorithm is split neither by row nor by column", call);
    if (input->options == NULL || input->data == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s: the input has no %s", call,
                           input->data == NULL ? "data" : "options");
    if (input->validation != NULL) /* the node that measures the error reads all of them */
        HAWSER_TRY(check_validation(call, input->validation, error));
    *own = (turned_input){.input = *input};
    hawser_status status = turn(algorithm, &own->input.data, &own->data, error);
    if (status == HAWSER_OK)
        status = turn(algorithm, &own->input.validation, &own->validation, error);
    if (status != HAWSER_OK)
        free_turned(own);
    return status;
}

hawser_status hawser_train(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                           hawser_training *training, hawser_error *error)
{
    turned_input own;
    if (algorithm == NULL || algorithm->train == NULL || job == NULL || input == NULL || training == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_train: algorithm, its train, job, input or training is NULL");
    memset(training, 0, sizeof *training);
    HAWSER_TRY(turn_input("hawser_train", algorithm, input, &own, error));
    hawser_status status = algorithm->train(algorithm, job, &own.input, training, error);
    free_turned(&own);
    return status;
}

hawser_status hawser_train_plan(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                                bool physical, bool dot, char **text, hawser_error *error)
{
    turned_input own;
    char *printed = NULL;
    size_t length = 0;
    if (algorithm == NULL || algorithm->plan == NULL || job == NULL || input == NULL || text == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_train_plan: algorithm, its plan, job, input or text is NULL");
    *text = NULL;
    HAWSER_TRY(turn_input("hawser_train_plan", algorithm, input, &own, error));
    FILE *out = open_memstream(&printed, &length);
    hawser_status status = out != NULL ? algorithm->plan(algorithm, job, &own.input, physical, dot, out, error)
                                       : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the text of a plan");
    if (out != NULL && fclose(out) != 0 && status == HAWSER_OK)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the text of a plan");
    free_turned(&own);
    if (status == HAWSER_OK)
        *text = printed;
    else
        free(printed);
    return status;
}
