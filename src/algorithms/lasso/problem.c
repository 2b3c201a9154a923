/* problem.c - from the input of a training to the problem that blocks share. */
#include "algorithms/lasso/problem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/lasso/model.h"

enum {
    MOST_FREE_COLUMNS = 256,
    WORTH_A_WORKER = 1 << 20 /* stored entries: ten passes over them take about as long as a run's waking and waiting */
};

static hawser_status new_doubles(double **out, size_t count, hawser_error *error)
{
    *out = calloc(count + 1, sizeof **out);
    return *out != NULL ? HAWSER_OK : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu numbers", count);
}

/* Exactly `count` numbers, one a line. */
static hawser_status read_column_file(const char *key, const char *path, size_t count, double *values, hawser_error *error)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return hawser_fail(error, HAWSER_IO, "--%s %s: %s", key, path, strerror(errno));
    char line[256];
    size_t at = 0;
    hawser_status status = HAWSER_OK;
    while (status == HAWSER_OK && fgets(line, sizeof line, file) != NULL) {
        char *end = NULL;
        double value = strtod(line, &end);
        size_t rest = strspn(end, " \t\r\n");
        if (end == line || end[rest] != '\0' || value != value)
            status = hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: '%.60s' is not a number", path, at + 1, line);
        else if (at == count)
            status = hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: more lines than the data have columns (%zu)", path,
                                 at + 1, count);
        else
            values[at++] = value;
    }
    if (status == HAWSER_OK && ferror(file))
        status = hawser_fail(error, HAWSER_IO, "--%s %s: %s", key, path, strerror(errno));
    fclose(file);
    if (status == HAWSER_OK && at < count)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: %zu lines, but the data have %zu columns", path, at, count);
    return status;
}

/* --lower, --upper: a number for all columns or a file; `sign` is that of an allowed bound. */
static hawser_status read_bound(const hawser_options *options, const char *key, double sign, size_t columns, double **out,
                                hawser_error *error)
{
    const char *text = hawser_options_text(options, key);
    if (text == NULL)
        return HAWSER_OK;
    HAWSER_TRY(new_doubles(out, columns, error));
    char *end = NULL;
    double number = strtod(text, &end);
    if (end != text && *end == '\0')
        for (size_t j = 0; j < columns; j++)
            (*out)[j] = number;
    else
        HAWSER_TRY(read_column_file(key, text, columns, *out, error));
    for (size_t j = 0; j < columns; j++)
        if (!((*out)[j] * sign >= 0.0))
            return hawser_fail(error, HAWSER_BAD_OPTION, "--%s: %g for column %zu excludes zero", key, (*out)[j], j);
    return HAWSER_OK;
}

static hawser_status read_penalties(hw_lasso *lasso, const hawser_options *options, hawser_error *error)
{
    size_t p = lasso->X->cols;
    HAWSER_TRY(read_bound(options, "lower", -1.0, p, &lasso->lower, error));
    HAWSER_TRY(read_bound(options, "upper", 1.0, p, &lasso->upper, error));
    const char *path = hawser_options_text(options, "penalty-factors");
    if (path == NULL)
        return HAWSER_OK;
    HAWSER_TRY(new_doubles(&lasso->factor, p, error));
    HAWSER_TRY(read_column_file("penalty-factors", path, p, lasso->factor, error));
    for (size_t j = 0; j < p; j++)
        if (!(lasso->factor[j] >= 0.0) || isinf(lasso->factor[j]))
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: a penalty factor must be >= 0 and finite, not %g", path,
                               j + 1, lasso->factor[j]);
    return HAWSER_OK;
}

/* Copies, dense, the columns that have no penalty and on some side no bound: certificates need their span. */
static hawser_status free_columns(hw_lasso *lasso, hawser_job *job, hawser_error *error)
{
    size_t n = lasso->X->rows, count = 0;
    uint32_t list[MOST_FREE_COLUMNS];
    bool all = lasso->settings.lambda == 0.0;
    for (size_t j = 0; (all || lasso->factor != NULL) && j < lasso->X->cols; j++) {
        bool bounded = lasso->lower != NULL && lasso->upper != NULL && !isinf(lasso->lower[j]) && !isinf(lasso->upper[j]);
        if ((!all && lasso->factor[j] > 0.0) || bounded)
            continue;
        if (count == MOST_FREE_COLUMNS)
            return hawser_fail(error, HAWSER_BAD_INPUT, "more than %d columns have no penalty; give them a small %s",
                               MOST_FREE_COLUMNS, all ? "--lambda" : "one with --penalty-factors");
        list[count++] = (uint32_t)j;
    }
    if (count == 0)
        return HAWSER_OK;
    HAWSER_TRY(new_doubles(&lasso->free_columns, n * count, error));
    lasso->free_side = calloc(count, sizeof *lasso->free_side);
    if (lasso->free_side == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu columns without a penalty", count);
    lasso->free_count = count;
    HAWSER_TRY(hawser_job_fetch(job, lasso->X, list, count, error));
    for (size_t k = 0; k < count; k++) {
        bool below = lasso->lower == NULL || isinf(lasso->lower[list[k]]);
        bool above = lasso->upper == NULL || isinf(lasso->upper[list[k]]);
        lasso->free_side[k] = below && above ? 0 : above ? 1 : -1;
        hawser_column_axpy(lasso->X, list[k], 1.0, lasso->free_columns + k * n);
    }
    return HAWSER_OK;
}

/* A number in [0, bound) from (seed, row): the same whatever runs. */
static uint64_t mix(uint64_t seed, uint64_t row)
{
    uint64_t z = seed * UINT64_C(0x9e3779b97f4a7c15) + row + UINT64_C(0x632be59bd9b4e019);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int by_key(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] < b[1] ? -1 : a[1] > b[1];
}

/* Deals the rows, shuffled by the seed, to equal folds; or keeps a fraction out. */
static hawser_status deal_folds(hw_lasso *lasso, uint64_t seed, hawser_error *error)
{
    const hw_lasso_settings *settings = &lasso->settings;
    size_t n = lasso->X->rows;
    if (settings->folds == 0 && settings->validation_fraction <= 0.0)
        return HAWSER_OK;
    if (settings->folds > n)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--cv %u: there are only %zu rows", settings->folds, n);
    uint64_t *keys = malloc((n + 1) * 2 * sizeof *keys);
    lasso->fold = calloc(n + 1, sizeof *lasso->fold);
    if (keys == NULL || lasso->fold == NULL) {
        free(keys);
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the folds of %zu rows", n);
    }
    for (size_t i = 0; i < n; i++) {
        keys[2 * i] = mix(seed, i);
        keys[2 * i + 1] = i;
    }
    qsort(keys, n, 2 * sizeof *keys, by_key);
    size_t kept = (size_t)(settings->validation_fraction * (double)n + 0.5);
    for (size_t k = 0; k < n; k++)
        lasso->fold[keys[2 * k + 1]] = settings->folds > 0 ? 1 + (uint32_t)(k % settings->folds)
                                       : k < kept          ? HW_LASSO_ALWAYS_OUT
                                                           : 0;
    free(keys);
    if (settings->folds == 0 && (kept == 0 || kept == n))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--validation-fraction %g leaves %zu of %zu rows",
                           settings->validation_fraction, kept, n);
    return HAWSER_OK;
}

static hawser_status take_target(hw_lasso *lasso, const hawser_dataset *data, hawser_error *error)
{
    size_t n = lasso->X->rows;
    const double *target = hawser_dataset_target(data), *offset = hawser_dataset_offset(data);
    if (target == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the input has no target; say which column it is with --target");
    HAWSER_TRY(new_doubles(&lasso->target, n, error));
    for (size_t i = 0; i < n; i++)
        lasso->target[i] = target[i] - (offset != NULL ? offset[i] : 0.0);
    lasso->weights = hawser_dataset_weights(data);
    for (size_t i = 0; lasso->weights != NULL && i < n; i++)
        if (!(lasso->weights[i] >= 0.0))
            return hawser_fail(error, HAWSER_BAD_INPUT, "row %zu: the example weight %g is negative", i + 1,
                               lasso->weights[i]);
    return HAWSER_OK;
}

/* X alpha needs the columns of the start, wherever they are. */
static hawser_status fetch_start(const hw_lasso *lasso, hawser_job *job, hawser_error *error)
{
    size_t count = 0;
    uint32_t *list = calloc(lasso->X->cols + 1, sizeof *list);
    if (list == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the columns of the start");
    for (size_t j = 0; j < lasso->X->cols; j++)
        if (lasso->alpha[j] != 0.0)
            list[count++] = (uint32_t)j;
    hawser_status status = hawser_job_fetch(job, lasso->X, list, count, error);
    free(list);
    return status;
}

static hawser_status take_start(hw_lasso *lasso, hawser_job *job, const hawser_model *init, hawser_error *error)
{
    size_t n = lasso->X->rows, p = lasso->X->cols;
    HAWSER_TRY(new_doubles(&lasso->alpha, p, error));
    HAWSER_TRY(new_doubles(&lasso->image, n, error));
    if (init == NULL)
        return HAWSER_OK;
    double intercept = 0.0;
    HAWSER_TRY(hw_lasso_model_coefficients(init, p, lasso->alpha, &intercept, error));
    for (size_t j = 0; j < p; j++) { /* the start has to be feasible */
        if (lasso->lower != NULL && lasso->alpha[j] < lasso->lower[j])
            lasso->alpha[j] = lasso->lower[j];
        if (lasso->upper != NULL && lasso->alpha[j] > lasso->upper[j])
            lasso->alpha[j] = lasso->upper[j];
    }
    HAWSER_TRY(fetch_start(lasso, job, error));
    for (size_t j = 0; j < p; j++)
        if (lasso->alpha[j] != 0.0)
            hawser_column_axpy(lasso->X, j, lasso->alpha[j], lasso->image);
    return HAWSER_OK;
}

/* sigma' = gamma K (s + 1) (Ma et al. 2015, with s + 1 rounds in flight); one block has nobody to be careful about. */
static void take_rule(hw_lasso *lasso, hawser_job *job)
{
    lasso->blocks = hawser_job_workers(job);
    lasso->sync = hawser_job_sync(job);
    lasso->form = hawser_job_encoding(job);
    lasso->damping = lasso->settings.average ? 1.0 / lasso->blocks : 1.0;
    double flights = lasso->sync.tightness == HAWSER_TAP ? 2.0 : lasso->sync.staleness + 1.0;
    lasso->gain = lasso->blocks == 1 ? 1.0 : lasso->damping * lasso->blocks * flights;
    if (lasso->settings.sigma > 0.0)
        lasso->gain = lasso->settings.sigma;
    bool free = lasso->blocks > 1 && lasso->settings.exchange_every <= 0.0 && lasso->settings.certify_every == 0;
    lasso->accelerated = free && lasso->sync.tightness == HAWSER_BSP;
    lasso->strided = free && !lasso->accelerated;
    lasso->searched = free && !lasso->settings.filtered;
    lasso->joint =
        lasso->accelerated && !lasso->settings.average && lasso->settings.sigma <= 0.0 && !lasso->settings.filtered;
}

static hawser_status new_record(hw_lasso *lasso, hawser_error *error)
{
    size_t count = hw_lasso_grid_size(&lasso->settings), folds = lasso->settings.folds;
    lasso->lambda_count = count;
    HAWSER_TRY(new_doubles(&lasso->lambdas, count, error));
    HAWSER_TRY(new_doubles(&lasso->errors, count * folds, error));
    HAWSER_TRY(new_doubles(&lasso->fold_weights, folds, error));
    lasso->rows = calloc(count, sizeof *lasso->rows);
    return lasso->rows != NULL ? HAWSER_OK
                               : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a path of %zu lambdas", count);
}

hawser_status hw_lasso_new(hw_lasso *lasso, hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    memset(lasso, 0, sizeof *lasso);
    HAWSER_TRY(hw_lasso_settings_read(input->options, &lasso->settings, error));
    lasso->X = hawser_dataset_matrix(input->data);
    if (lasso->X->rows == 0 || lasso->X->cols == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the input has %zu rows and %zu columns", lasso->X->rows,
                           lasso->X->cols);
    HAWSER_TRY(take_target(lasso, input->data, error));
    HAWSER_TRY(read_penalties(lasso, input->options, error));
    HAWSER_TRY(free_columns(lasso, job, error));
    HAWSER_TRY(deal_folds(lasso, hawser_job_seed(job), error));
    HAWSER_TRY(take_start(lasso, job, input->init, error));
    hawser_job_fit(job, lasso->X->stored, WORTH_A_WORKER);
    take_rule(lasso, job);
    return new_record(lasso, error);
}

void hw_lasso_free(hw_lasso *lasso)
{
    void *all[] = {lasso->settings.path_list,
                   lasso->target,
                   lasso->fold,
                   lasso->factor,
                   lasso->lower,
                   lasso->upper,
                   lasso->alpha,
                   lasso->image,
                   lasso->lambdas,
                   lasso->rows,
                   lasso->errors,
                   lasso->fold_weights,
                   lasso->free_columns,
                   lasso->free_side};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
    memset(lasso, 0, sizeof *lasso);
}
