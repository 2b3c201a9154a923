#include "algorithms/glm/record.h"

#include <math.h>
#include <stdlib.h>

/* The fields after the arrays, which the visit copies as bytes. */
#define NUMBERS offsetof(hw_linear_record, most)

hawser_status hw_linear_record_new(hw_linear_record *record, const hw_linear_choices *choices, hawser_error *error)
{
    size_t count = choices->lambda_count, folds = choices->settings.folds;
    *record = (hw_linear_record){.most = count,
                                 .lambda_count = choices->lambda_first,
                                 .folds = choices->settings.folds,
                                 .sync = choices->sync,
                                 .gain = choices->gain,
                                 .error = NAN,
                                 .least_error = INFINITY,
                                 .lambdas = calloc(count + 1, sizeof *record->lambdas),
                                 .rows = calloc(count + 1, sizeof *record->rows),
                                 .errors = calloc(count * folds + 1, sizeof *record->errors),
                                 .fold_weights = calloc(folds + 1, sizeof *record->fold_weights)};
    if (record->lambdas == NULL || record->rows == NULL || record->errors == NULL || record->fold_weights == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a path of %zu lambdas", count);
    return HAWSER_OK;
}

void hw_linear_record_cut(hw_linear_record *record)
{
    bool done = record->fold_at == record->folds && record->at == record->lambda_count - record->first;
    if (record->first == 0 || done)
        return;
    record->lambda_count = record->at = record->first;
    record->first = 0;
    record->fold_at = record->folds;
}

void hw_linear_record_free(hw_linear_record *record)
{
    free(record->lambdas);
    free(record->rows);
    free(record->errors);
    free(record->fold_weights);
    *record = (hw_linear_record){0};
}

void hw_linear_record_visit(hawser_record *bytes, void *object)
{
    hw_linear_record *record = object;
    hawser_record_bytes(bytes, (char *)record + NUMBERS, sizeof *record - NUMBERS);
    size_t count = record->most, folds = record->folds;
    hawser_record_array(bytes, (void **)&record->lambdas, sizeof *record->lambdas, count, 0);
    hawser_record_array(bytes, (void **)&record->rows, sizeof *record->rows, count, 0);
    hawser_record_array(bytes, (void **)&record->errors, sizeof *record->errors, count * folds, 0);
    hawser_record_array(bytes, (void **)&record->fold_weights, sizeof *record->fold_weights, folds, 0);
}
