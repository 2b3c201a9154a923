#include "algorithms/choice/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/model/facts.h"

static hawser_status facts(hawser_model *model, const hw_fit *fit, const char *algorithm, double l1_ratio,
                           const hawser_training_input *input, hawser_error *error)
{
    const hw_member_row *row = &fit->results->rows[fit->selection.chosen];
    HAWSER_TRY(hw_model_data_facts(model, algorithm, input->data, error));
    HAWSER_TRY(hw_model_number_fact(model, "lambda", row->lambda, error));
    HAWSER_TRY(hw_model_number_fact(model, "l1_ratio", l1_ratio, error));
    HAWSER_TRY(hw_model_number_fact(model, "objective", row->objective, error));
    HAWSER_TRY(hw_model_number_fact(model, "gap", row->gap, error));
    HAWSER_TRY(hw_model_number_fact(model, "penalty", row->penalty, error));
    HAWSER_TRY(hw_model_number_fact(model, "nonzeros", row->nonzeros, error));
    return hw_model_option_facts(model, input->options, error);
}

static hawser_status vector(hawser_model *model, const char *name, hawser_type type, const void *values, size_t count,
                            hawser_error *error)
{
    return hawser_model_tensor(model, name, type, (const size_t[2]){count, 0}, values, error);
}

hawser_status hw_model_outputs(hawser_model *model, const char *name, const double *values, size_t outputs, size_t count,
                               hawser_error *error)
{
    return hawser_model_tensor(model, name, HAWSER_F64, count > 0 ? (const size_t[2]){outputs, count} : (const size_t[2]){0},
                               values, error);
}

/* Coefficients by column, then by output. `stride` is the distance of two of them, which is not 1 in a path. */
typedef struct weights {
    const double *values;
    size_t stride, outputs, columns;
} weights;

static double weight_at(const weights *from, size_t column, size_t output)
{
    return from->values[(column * from->outputs + output) * from->stride];
}

/* Returns true if a column has a coefficient for any output. */
static bool has(const weights *from, size_t column)
{
    bool any = false;
    for (size_t o = 0; o < from->outputs; o++)
        any |= weight_at(from, column, o) != 0.0;
    return any;
}

static size_t count_of(const weights *from)
{
    size_t count = 0;
    for (size_t j = 0; j < from->columns; j++)
        count += has(from, j);
    return count;
}

/* Stores the columns that have coefficients, from place `at` on, and these, `places` per output. Returns the next place. */
static size_t store(const weights *from, int64_t *index, double *values, size_t at, size_t places)
{
    for (size_t j = 0; j < from->columns; j++)
        if (has(from, j)) {
            for (size_t o = 0; o < from->outputs; o++)
                values[o * places + at] = weight_at(from, j, o);
            index[at++] = (int64_t)j;
        }
    return at;
}

static hawser_status new_places(size_t places, size_t outputs, int64_t **index, double **values, hawser_error *error)
{
    *index = calloc(places + 1, sizeof **index);
    *values = calloc(places * outputs + 1, sizeof **values);
    return *index != NULL && *values != NULL
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu coefficients", places * outputs);
}

static hawser_status put_coefficients(hawser_model *model, const weights *from, hawser_error *error)
{
    size_t count = count_of(from);
    int64_t *index;
    double *values;
    hawser_status status = new_places(count, from->outputs, &index, &values, error);
    if (status == HAWSER_OK) {
        (void)store(from, index, values, 0, count);
        status = vector(model, "coefficients.index", HAWSER_I64, index, count, error);
    }
    HAWSER_THEN(status, hw_model_outputs(model, "coefficients.value", values, from->outputs, count, error));
    free(index);
    free(values);
    return status;
}

const char *hw_fit_parameter(const hw_fit *fit)
{
    return fit->parameter != NULL ? fit->parameter : "lambda";
}

static hawser_status put_table(hawser_model *model, const hw_fit *fit, size_t done, hawser_error *error)
{
    const char *const names[] = {strcmp(hw_fit_parameter(fit), "C") == 0 ? "path.C" : "path.lambda",
                                 "path.objective",
                                 "path.gap",
                                 "path.nonzeros",
                                 "path.intercept",
                                 "path.penalty",
                                 "path.error",
                                 "path.standard_error"};
    double *column = calloc(done + 1, sizeof *column);
    hawser_status status = column != NULL ? HAWSER_OK : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a path's table");
    for (size_t k = 0; k < 8 && status == HAWSER_OK; k++) {
        bool measured =
            (k < 4 || (k == 4 && fit->intercepts == NULL) || (k == 5 && !isnan(fit->results->rows[0].penalty))) ||
            (k == 6 && !isnan(fit->results->rows[0].error)) || (k == 7 && fit->selection.crossed);
        for (size_t l = 0; l < done; l++) {
            const hw_member_row *row = &fit->results->rows[l];
            const double fields[] = {row->lambda,    row->objective, row->gap,   row->nonzeros,
                                     row->intercept, row->penalty,   row->error, row->standard_error};
            column[l] = fields[k];
        }
        if (measured)
            status = vector(model, names[k], HAWSER_F64, column, done, error);
    }
    free(column);
    return status;
}

/* Adds all coefficients of the path, compressed by lambda. */
static hawser_status put_path(hawser_model *model, const hw_fit *fit, const weights *first, size_t done, hawser_error *error)
{
    size_t stored = 0, at = 0;
    int64_t *offsets = calloc(done + 1, sizeof *offsets), *index = NULL;
    double *values = NULL;
    weights from = *first;
    hawser_status status = HAWSER_OK;
    if (offsets == NULL)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a path of %zu lambdas", done);
    for (size_t l = 0; l < done; l++, from.values++)
        stored += count_of(&from);
    HAWSER_THEN(status, new_places(stored, from.outputs, &index, &values, error));
    from.values = fit->path;
    for (size_t l = 0; l < done && status == HAWSER_OK; l++, from.values++)
        offsets[l + 1] = (int64_t)(at = store(&from, index, values, at, stored));
    HAWSER_THEN(status, vector(model, "path.offsets", HAWSER_I64, offsets, done + 1, error));
    HAWSER_THEN(status, vector(model, "path.index", HAWSER_I64, index, at, error));
    HAWSER_THEN(status, hw_model_outputs(model, "path.value", values, from.outputs, at, error));
    free(offsets);
    free(index);
    free(values);
    return status;
}

static weights all_weights(const hw_fit *fit, size_t columns)
{
    return (weights){.values = fit->path != NULL ? fit->path : fit->alpha,
                     .stride = fit->path != NULL ? fit->results->most : 1,
                     .outputs = fit->outputs > 0 ? fit->outputs : 1,
                     .columns = columns};
}

hawser_status hw_fit_put_path(const hw_fit *fit, size_t columns, hawser_model *model, hawser_error *error)
{
    size_t done = hw_results_finished(fit->results);
    weights all = all_weights(fit, columns);
    if (done < fit->planned) {
        HAWSER_TRY(hw_model_number_fact(model, "path.planned", (double)fit->planned, error));
        HAWSER_TRY(hawser_model_fact(model, "path.ended", fit->ended, error));
    }
    if (fit->intercepts != NULL)
        HAWSER_TRY(hawser_model_tensor(model, "path.intercept", HAWSER_F64, (const size_t[2]){done, all.outputs},
                                       fit->intercepts, error));
    HAWSER_TRY(put_table(model, fit, done, error));
    return put_path(model, fit, &all, done, error);
}

hawser_status hw_fit_make(const hw_fit *fit, const char *algorithm, double l1_ratio, const hawser_training_input *input,
                          hawser_model **model, hawser_error *error)
{
    size_t columns = hawser_dataset_matrix(input->data)->cols, at = fit->selection.chosen;
    weights chosen = all_weights(fit, columns);
    chosen.values += fit->path != NULL ? at : 0;
    const double *intercepts =
        fit->intercepts != NULL ? fit->intercepts + at * chosen.outputs : &fit->results->rows[at].intercept;
    HAWSER_TRY(hawser_model_new(model, error));
    hawser_status status = facts(*model, fit, algorithm, l1_ratio, input, error);
    HAWSER_THEN(status, put_coefficients(*model, &chosen, error));
    HAWSER_THEN(status, vector(*model, "intercept", HAWSER_F64, intercepts, chosen.outputs, error));
    if (status == HAWSER_OK && fit->path != NULL)
        status = hw_fit_put_path(fit, columns, *model, error);
    if (status != HAWSER_OK) {
        hawser_model_free(*model);
        *model = NULL;
    }
    return status;
}
