#include "algorithms/narrow.h"

#include <stdlib.h>

#include "algorithms/model/facts.h"
#include "hawser/job_data.h"

/* columns without entries that are worth a second numbering, as in hawser_balance, which leaves the same out: blocks are
 * those of the other columns side by side */
enum { FEWEST = 1 << 16, EACH = 8 /* entries for each of them that are too many */ };

/* Returns whether an option names a file with a number per column. */
static bool has_file(const hawser_options *options, const char *key)
{
    double number;
    const char *text = hawser_options_has(options, key) ? hawser_options_text(options, key) : NULL;
    return text != NULL && !hawser_read_number(text, &number);
}

/* Returns whether the input has numbers by column besides the data. */
static bool has_numbers_by_column(const hawser_training_input *input)
{
    static const char *const keys[] = {"lower", "upper", "penalty-factors", "init", "centres"};
    bool found = input->init != NULL || input->lower != NULL || input->upper != NULL || input->penalty_factors != NULL;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        found = found || has_file(input->options, keys[k]);
    return found;
}

/* Returns whether `empty` columns, of at least 64 bytes each in any training, take more memory than the new numbers of all
 * entries: 4 bytes each, and once more to copy them. */
static bool saves(const hawser_matrix *A, size_t empty)
{
    return empty >= FEWEST && A->stored / EACH < empty;
}

/* Returns whether data are sparse, and their columns have numbers only. */
static bool is_plain(const hawser_dataset *data)
{
    const hawser_matrix *A = hawser_dataset_matrix(data);
    return (A->layout == HAWSER_CSR || A->layout == HAWSER_CSC) && hawser_dataset_schema(data) == NULL &&
           hawser_dataset_column(data, 0) == NULL && hawser_dataset_numbers(data) == NULL;
}

/* Returns whether it can pay to count the columns that have entries. The same on all nodes. */
static bool may_narrow(const hawser_algorithm *algorithm, const hawser_training_input *input)
{
    const hawser_matrix *A = hawser_dataset_matrix(input->data);
    if (algorithm != hawser_algorithm_find(algorithm->name)) /* a program's own, whose model nobody here can widen */
        return false;
    return !algorithm->all_columns && saves(A, A->cols) && !has_numbers_by_column(input) && is_plain(input->data) &&
           (input->validation == NULL || is_plain(input->validation));
}

/* Makes the data of the columns. */
static hawser_status select_both(hawser_training_input *input, hw_narrow *narrow, hawser_error *error)
{
    HAWSER_TRY(hawser_dataset_select(input->data, narrow->columns, narrow->count, &narrow->data, error));
    if (input->validation == NULL)
        return HAWSER_OK;
    return hawser_dataset_select(input->validation, narrow->columns, narrow->count, &narrow->validation, error);
}

hawser_status hw_narrow_input(const hawser_algorithm *algorithm, hawser_job *job, hawser_training_input *input,
                              hw_narrow *narrow, hawser_error *error)
{
    const hawser_matrix *A = hawser_dataset_matrix(input->data);
    bool may = may_narrow(algorithm, input);
    *narrow = (hw_narrow){.width = A->cols};
    if (hawser_job_nodes(job) > 1 && saves(A, A->cols)) /* node 0 alone may have validation data that are not sparse */
        HAWSER_TRY(hawser_job_broadcast(job, &may, sizeof may, error));
    if (!may)
        return HAWSER_OK;
    const hawser_status found = hawser_job_occurring(job, input->data, &narrow->columns, &narrow->count, error);
    HAWSER_TRY(hawser_job_agree(job, found, error));
    if (narrow->count == 0 || !saves(A, A->cols - narrow->count)) {
        free(narrow->columns);
        narrow->columns = NULL;
        return HAWSER_OK;
    }
    HAWSER_TRY(hawser_job_agree(job, select_both(input, narrow, error), error));
    input->data = narrow->data;
    input->validation = narrow->validation;
    return HAWSER_OK;
}

/* Replaces the numbers of columns in a tensor by those of all columns. */
static hawser_status renumber(const hw_narrow *narrow, hawser_model *model, const char *name, hawser_error *error)
{
    size_t dims[2];
    hawser_type type;
    const int64_t *from = hawser_model_get(model, name, &type, dims);
    if (from == NULL || type != HAWSER_I64 || dims[0] == 0)
        return HAWSER_OK;
    int64_t *to = malloc(dims[0] * sizeof *to);
    if (to == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu numbers of columns", dims[0]);
    for (size_t k = 0; k < dims[0]; k++)
        to[k] = narrow->columns[from[k]];
    hawser_model_remove(model, name);
    hawser_status status = hawser_model_tensor(model, name, HAWSER_I64, dims, to, error);
    free(to);
    return status;
}

hawser_status hw_narrow_widen(const hw_narrow *narrow, hawser_model *model, hawser_error *error)
{
    static const char *const lines[] = {"coefficients", "centres"}, *const numbers[] = {"coefficients.index", "path.index"};
    if (narrow->columns == NULL || model == NULL)
        return HAWSER_OK;
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
        if (hawser_model_get(model, lines[k], NULL, NULL) != NULL)
            HAWSER_TRY(hawser_model_spread(model, lines[k], narrow->columns, narrow->count, narrow->width, error));
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        HAWSER_TRY(renumber(narrow, model, numbers[k], error));
    hawser_model_remove(model, "column_numbers");
    return hw_model_number_fact(model, "columns", (double)narrow->width, error);
}

uint64_t hw_narrow_bytes(hawser_job *job, const hawser_dataset *data)
{
    const hawser_matrix *A = hawser_dataset_matrix(data);
    if (A->layout == HAWSER_CSC)
        return (A->cols + 1) * sizeof *A->offsets;
    return A->stored * sizeof *A->indices / (A->residence != NULL ? hawser_job_nodes(job) : 1);
}

void hw_narrow_free(hw_narrow *narrow)
{
    hawser_dataset_free(narrow->data);
    hawser_dataset_free(narrow->validation);
    free(narrow->columns);
    *narrow = (hw_narrow){0};
}
