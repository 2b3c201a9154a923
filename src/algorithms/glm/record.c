#include "algorithms/glm/record.h"

#include <math.h>
#include <stdlib.h>

/* The fields after the arrays, which the visit copies as bytes. */
#define NUMBERS offsetof(hw_linear_record, results.most)

hawser_status hw_linear_record_new(hw_linear_record *record, const hw_linear_choices *choices, hawser_error *error)
{
    size_t most = choices->lambda_count;
    *record = (hw_linear_record){.sync = choices->sync,
                                 .gain = choices->gain,
                                 .early = {.error = NAN, .lowest = INFINITY},
                                 .lambdas = calloc(most + 1, sizeof *record->lambdas)};
    HAWSER_TRY(hw_results_new(&record->results, most, choices->lambda_first, choices->settings.choice.folds, error));
    return record->lambdas != NULL ? HAWSER_OK : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu lambdas", most);
}

uint32_t hw_linear_folds_done(const hw_linear_record *record)
{
    bool within = record->fold_at > 0 && record->at < record->results.count - record->first;
    return record->fold_at - within;
}

void hw_linear_record_cut(hw_linear_record *record)
{
    if (record->first == 0 || hw_linear_folds_done(record) == record->results.folds)
        return;
    record->results.count = record->at = record->first;
    record->first = 0;
    record->fold_at = record->results.folds;
}

void hw_linear_record_free(hw_linear_record *record)
{
    free(record->lambdas);
    hw_results_free(&record->results);
    *record = (hw_linear_record){0};
}

void hw_linear_record_visit(hawser_record *bytes, void *object)
{
    hw_linear_record *record = object;
    hawser_record_bytes(bytes, (char *)record + NUMBERS, sizeof *record - NUMBERS);
    hw_results *results = &record->results;
    size_t count = results->most, folds = results->folds;
    hawser_record_array(bytes, (void **)&record->lambdas, sizeof *record->lambdas, count, 0);
    hawser_record_array(bytes, (void **)&results->rows, sizeof *results->rows, count, 0);
    hawser_record_array(bytes, (void **)&results->errors, sizeof *results->errors, count * folds, 0);
    hawser_record_array(bytes, (void **)&results->fold_weights, sizeof *results->fold_weights, folds, 0);
}
