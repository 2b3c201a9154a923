/* problem.c - from the input of a training to the problem that blocks share. */
#include "algorithms/glm/problem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/best.h"
#include "algorithms/glm/fold.h"
#include "algorithms/glm/model.h"
#include "algorithms/solve/shared.h"

enum {
    MOST_FREE_COLUMNS = 256,
    WORTH_A_WORKER = 1 << 20 /* stored entries: ten passes over them take about as long as a run's waking and waiting */
};

hawser_status hw_linear_new_doubles(double **out, size_t count, hawser_error *error)
{
    *out = calloc(count + 1, sizeof **out);
    return *out != NULL ? HAWSER_OK : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu numbers", count);
}

static const double LARGEST = 1e100, SMALLEST = 1e-100;

hawser_status hw_linear_check_target(const double *target, size_t count, hawser_error *error)
{
    double most = 0.0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(target[i]));
    if (most == 0.0 || (most >= SMALLEST && most <= LARGEST))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_NOT_FINITE,
                       "the target's largest value is %g, and squares of it leave the range of numbers: scale the target so "
                       "that it lies between %g and %g",
                       most, SMALLEST, LARGEST);
}

hawser_status hw_linear_check_weights(double total, hawser_error *error)
{
    if (total == 0.0 || (total >= SMALLEST && total <= LARGEST))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_NOT_FINITE, "the example weights sum to %g; scale them so that they sum to %g to %g",
                       total, SMALLEST, LARGEST);
}

hawser_status hw_linear_check_square(double mean_square, size_t column, hawser_error *error)
{
    if (mean_square <= LARGEST * LARGEST)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_NOT_FINITE,
                       "squares of the values of column %zu (counted from 0) leave the range of numbers: their mean is %g; "
                       "scale the column so that its values lie below %g",
                       column, mean_square, LARGEST);
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
        double value = 0;
        line[strcspn(line, "\r\n")] = '\0';
        const char *end = hawser_read_number(line, &value);
        if (end == NULL || end[strspn(end, " \t")] != '\0' || value != value)
            status = hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: '%.60s' is not a number; the file has one a line", path,
                                 at + 1, line);
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

/* The bound of column j, which stands in line j + 1 of a file, or is that of all columns. */
static hawser_status excludes_zero(const char *key, const char *path, double sign, size_t j, double bound,
                                   hawser_error *error)
{
    const char *side = sign < 0.0 ? "at most" : "at least";
    if (path == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--%s %g excludes zero, where weights begin: it must be %s 0", key,
                           bound, side);
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "%s:%zu: %g for column %zu excludes zero, where weights begin: --%s must be %s 0", path, j + 1, bound,
                       j, key, side);
}

/* --lower, --upper: a number for all columns or a file; `sign` is that of an allowed bound. */
static hawser_status read_bound(const hawser_options *options, const char *key, double sign, size_t columns, double **out,
                                hawser_error *error)
{
    const char *text = hawser_options_text(options, key);
    if (text == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_linear_new_doubles(out, columns, error));
    double number = 0;
    const char *end = hawser_read_number(text, &number);
    bool all = end != NULL && *end == '\0';
    if (all)
        for (size_t j = 0; j < columns; j++)
            (*out)[j] = number;
    else
        HAWSER_TRY(read_column_file(key, text, columns, *out, error));
    for (size_t j = 0; j < columns; j++)
        if (!((*out)[j] * sign >= 0.0))
            return excludes_zero(key, all ? NULL : text, sign, j, (*out)[j], error);
    return HAWSER_OK;
}

static hawser_status read_penalties(hw_linear *linear, const hawser_options *options, hawser_error *error)
{
    size_t p = linear->X->cols;
    HAWSER_TRY(read_bound(options, "lower", -1.0, p, &linear->lower, error));
    HAWSER_TRY(read_bound(options, "upper", 1.0, p, &linear->upper, error));
    const char *path = hawser_options_text(options, "penalty-factors");
    if (path == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_linear_new_doubles(&linear->factor, p, error));
    HAWSER_TRY(read_column_file("penalty-factors", path, p, linear->factor, error));
    for (size_t j = 0; j < p; j++)
        if (!(linear->factor[j] >= 0.0) || isinf(linear->factor[j]))
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: a penalty factor must be >= 0 and finite, not %g", path,
                               j + 1, linear->factor[j]);
    return HAWSER_OK;
}

/* Lists the columns that have no penalty and on some side no bound, then, where the kind asks for them, those of penalty factor 0 that have
 * both bounds. Of the latter there may be any number, and only lambda_max is about them: they are left out where they are too many. */
static hawser_status list_free(hw_linear *linear, hawser_error *error)
{
    uint32_t boxes[MOST_FREE_COLUMNS];
    bool all = linear->settings.lambda == 0.0;
    size_t bounded = 0;
    linear->free_list = calloc(2 * MOST_FREE_COLUMNS, sizeof *linear->free_list);
    if (linear->free_list == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for columns without a penalty");
    for (size_t j = 0; j < linear->X->cols; j++) {
        bool box = linear->lower != NULL && linear->upper != NULL && !isinf(linear->lower[j]) && !isinf(linear->upper[j]);
        if (!all && linear->factor[j] > 0.0)
            continue;
        if (box && linear->kind->boxes && linear->factor != NULL && linear->factor[j] == 0.0 &&
            bounded++ < MOST_FREE_COLUMNS)
            boxes[bounded - 1] = (uint32_t)j;
        if (box)
            continue;
        if (linear->free_count == MOST_FREE_COLUMNS)
            return hawser_fail(error, HAWSER_BAD_INPUT, "more than %d columns have no penalty; give them a small %s",
                               MOST_FREE_COLUMNS, all ? "--lambda" : "one with --penalty-factors");
        linear->free_list[linear->free_count++] = (uint32_t)j;
    }
    linear->box_count = bounded <= MOST_FREE_COLUMNS ? bounded : 0;
    memcpy(linear->free_list + linear->free_count, boxes, linear->box_count * sizeof *boxes);
    return HAWSER_OK;
}

/* Copies them, dense: certificates need their span. */
static hawser_status free_columns(hw_linear *linear, hawser_job *job, hawser_error *error)
{
    if (linear->factor == NULL && linear->settings.lambda != 0.0)
        return HAWSER_OK;
    HAWSER_TRY(list_free(linear, error));
    size_t n = linear->X->rows, count = linear->free_count + linear->box_count;
    const uint32_t *list = linear->free_list;
    if (count == 0)
        return HAWSER_OK;
    HAWSER_TRY(hw_linear_new_doubles(&linear->free_columns, n * count, error));
    linear->free_side = calloc(count, sizeof *linear->free_side);
    if (linear->free_side == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu columns without a penalty", count);
    HAWSER_TRY(hawser_job_fetch(job, linear->X, list, count, error));
    for (size_t k = 0; k < count; k++) {
        bool below = linear->lower == NULL || isinf(linear->lower[list[k]]);
        bool above = linear->upper == NULL || isinf(linear->upper[list[k]]);
        linear->free_side[k] = below == above ? 0 : above ? 1 : -1;
        hawser_column_axpy(linear->X, list[k], 1.0, linear->free_columns + k * n);
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
static hawser_status deal_folds(hw_linear *linear, uint64_t seed, hawser_error *error)
{
    const hw_linear_settings *settings = &linear->settings;
    size_t n = linear->X->rows;
    if (settings->folds == 0 && settings->validation_fraction <= 0.0)
        return HAWSER_OK;
    if (settings->folds > n)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--cv %u: there are only %zu rows", settings->folds, n);
    uint64_t *keys = malloc((n + 1) * 2 * sizeof *keys);
    linear->fold = calloc(n + 1, sizeof *linear->fold);
    if (keys == NULL || linear->fold == NULL) {
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
        linear->fold[keys[2 * k + 1]] = settings->folds > 0 ? 1 + (uint32_t)(k % settings->folds)
                                        : k < kept          ? HW_LINEAR_ALWAYS_OUT
                                                            : 0;
    free(keys);
    if (settings->folds == 0 && (kept == 0 || kept == n))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--validation-fraction %g leaves %zu of %zu rows",
                           settings->validation_fraction, kept, n);
    return HAWSER_OK;
}

static hawser_status take_target(hw_linear *linear, const hawser_training_input *input, hawser_error *error)
{
    size_t n = linear->X->rows;
    if (hawser_dataset_target(input->data) == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the input has no target; say which column it is with --target");
    HAWSER_TRY(hw_linear_new_doubles(&linear->target, n, error));
    linear->weights = hawser_dataset_weights(input->data);
    for (size_t i = 0; linear->weights != NULL && i < n; i++)
        if (!(linear->weights[i] >= 0.0))
            return hawser_fail(error, HAWSER_BAD_INPUT, "row %zu: the example weight %g is negative", i + 1,
                               linear->weights[i]);
    return linear->kind->take_target(linear, input, error);
}

/* X alpha needs the columns of the start, wherever they are. */
static hawser_status fetch_start(const hw_linear *linear, hawser_job *job, hawser_error *error)
{
    size_t count = 0;
    uint32_t *list = calloc(linear->X->cols + 1, sizeof *list);
    if (list == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the columns of the start");
    for (size_t j = 0; j < linear->X->cols; j++)
        if (linear->alpha[j] != 0.0)
            list[count++] = (uint32_t)j;
    hawser_status status = hawser_job_fetch(job, linear->X, list, count, error);
    free(list);
    return status;
}

static hawser_status take_start(hw_linear *linear, hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    size_t n = linear->X->rows, p = linear->X->cols;
    if (input->init == NULL) /* states begin at zero, and cost nothing before they are used */
        return HAWSER_OK;
    HAWSER_TRY(hw_linear_new_doubles(&linear->alpha, p, error));
    HAWSER_TRY(hw_linear_new_doubles(&linear->image, n, error));
    HAWSER_TRY(hw_linear_model_start(input->init, input->data, linear->alpha, error));
    for (size_t j = 0; j < p; j++) { /* the start has to be feasible */
        if (linear->lower != NULL && linear->alpha[j] < linear->lower[j])
            linear->alpha[j] = linear->lower[j];
        if (linear->upper != NULL && linear->alpha[j] > linear->upper[j])
            linear->alpha[j] = linear->upper[j];
    }
    HAWSER_TRY(fetch_start(linear, job, error));
    for (size_t j = 0; j < p; j++)
        if (linear->alpha[j] != 0.0)
            hawser_column_axpy(linear->X, j, linear->alpha[j], linear->image);
    return HAWSER_OK;
}

/* sigma' = gamma K is safe in step, gamma K (s + 1) with s + 1 rounds in flight (Ma et al. 2015). Clocks grow with sigma', and columns of
 * different blocks are seldom so alike that the second is needed: it begins at the first, and the safeguard raises it (driver.c). One
 * block has nobody to be careful about. */
static void take_rule(hw_linear *linear, hawser_job *job)
{
    linear->blocks = hawser_job_workers(job);
    linear->seed = hawser_job_seed(job);
    linear->sync = hawser_job_sync(job);
    linear->form = hawser_job_encoding(job);
    linear->damping = hawser_job_damping(job);
    linear->flights = linear->sync.tightness == HAWSER_TAP ? 2.0 : linear->sync.staleness + 1.0;
    linear->gain = linear->blocks == 1 ? 1.0 : linear->damping * linear->blocks;
    if (linear->settings.sigma > 0.0)
        linear->gain = linear->settings.sigma;
    bool free = linear->blocks > 1 && linear->settings.exchange_every <= 0.0 && linear->settings.certify_every == 0;
    linear->accelerated = free && linear->sync.tightness == HAWSER_BSP;
    linear->strided = free && !linear->accelerated;
    linear->searched = free && !linear->settings.filtered;
    linear->joint =
        linear->accelerated && linear->damping == 1.0 && linear->settings.sigma <= 0.0 && !linear->settings.filtered;
}

size_t hw_linear_room(const hw_linear *linear)
{
    size_t room = HW_LINEAR_JOINT_MOST / (linear->blocks < 4 ? linear->blocks : 4), columns = linear->X->cols;
    if (linear->widest != 0 && linear->widest < columns)
        columns = linear->widest;
    return columns < room || linear->blocks == 1 ? columns : room;
}

size_t hw_linear_most_members(const hw_linear *linear)
{
    size_t room = linear->blocks * hw_linear_room(linear);
    return linear->X->cols < room ? linear->X->cols : room;
}

/* As the plan will split them: joint working sets are never split by costs. */
static hawser_status measure_blocks(hw_linear *linear, hawser_error *error)
{
    size_t *bounds = malloc((linear->blocks + (size_t)1) * sizeof *bounds);
    if (bounds == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the bounds of %u blocks", linear->blocks);
    hawser_balance(linear->X, linear->blocks, bounds);
    for (uint32_t b = 0; b < linear->blocks; b++)
        if (bounds[b + 1] - bounds[b] > linear->widest)
            linear->widest = bounds[b + 1] - bounds[b];
    free(bounds);
    return HAWSER_OK;
}

static hawser_status new_record(hw_linear *linear, hawser_error *error)
{
    size_t count = hw_linear_grid_size(&linear->settings), folds = linear->settings.folds;
    linear->lambda_count = count;
    HAWSER_TRY(hw_linear_new_doubles(&linear->lambdas, count, error));
    HAWSER_TRY(hw_linear_new_doubles(&linear->errors, count * folds, error));
    HAWSER_TRY(hw_linear_new_doubles(&linear->fold_weights, folds, error));
    linear->rows = calloc(count, sizeof *linear->rows);
    return linear->rows != NULL ? HAWSER_OK
                                : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a path of %zu lambdas", count);
}

static hawser_status check_sync(hawser_sync sync, const char *named, const hw_linear_settings *settings, hawser_error *error)
{
    bool delay = sync.tightness == HAWSER_DELAY, centric = sync.tightness == HAWSER_CENTRIC;
    bool stale = sync.tightness != HAWSER_BSP && !(centric && sync.staleness == 0);
    if ((delay || centric) && !settings->stored)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--sync %s is for weights that a parameter server keeps, and here workers have copies of "
                           "them; use bsp, ssp:N or tap",
                           named);
    if (stale && settings->batch > 0 && settings->products)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--exchange products with batches of rows takes --sync bsp or dc:0: an older product is one of "
                           "other rows");
    return HAWSER_OK;
}

hawser_status hw_linear_new(hw_linear *linear, const hw_linear_kind *kind, hawser_job *job,
                            const hawser_training_input *input, hawser_error *error)
{
    memset(linear, 0, sizeof *linear);
    linear->kind = kind;
    HAWSER_TRY(hw_linear_settings_read(input->options, &linear->settings, error));
    HAWSER_TRY(check_sync(hawser_job_sync(job), hawser_options_text(input->options, "sync"), &linear->settings, error));
    linear->X = hawser_dataset_matrix(input->data);
    if (linear->X->rows == 0 || linear->X->cols == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the input has %zu rows and %zu columns", linear->X->rows,
                           linear->X->cols);
    HAWSER_TRY(take_target(linear, input, error));
    HAWSER_TRY(read_penalties(linear, input->options, error));
    HAWSER_TRY(free_columns(linear, job, error));
    HAWSER_TRY(deal_folds(linear, hawser_job_seed(job), error));
    linear->total = hw_linear_weigh(linear, 0, NULL);
    HAWSER_TRY(hw_linear_check_weights(linear->total, error));
    HAWSER_TRY(take_start(linear, job, input, error));
    hawser_job_fit(job, linear->X->stored, WORTH_A_WORKER);
    take_rule(linear, job);
    HAWSER_TRY(measure_blocks(linear, error));
    HAWSER_TRY(new_record(linear, error));
    HAWSER_TRY(hw_linear_best_new(linear, error));
    HAWSER_TRY(hw_linear_shared_new(&linear->shared, hawser_job_nodes(job) == 1, error));
    bool own = linear->strided && hawser_job_nodes(job) == 1 && kind->costs != NULL; /* each block its own subproblems */
    return own ? kind->costs(linear, &linear->costs, error) : HAWSER_OK;
}

void hw_linear_free(hw_linear *linear)
{
    hw_linear_best_free(linear);
    hw_linear_shared_free(linear->shared);
    void *all[] = {linear->settings.path_list,
                   linear->own_weights,
                   linear->target,
                   linear->fold,
                   linear->factor,
                   linear->lower,
                   linear->upper,
                   linear->alpha,
                   linear->image,
                   linear->lambdas,
                   linear->rows,
                   linear->costs,
                   linear->errors,
                   linear->fold_weights,
                   linear->free_columns,
                   linear->free_side,
                   linear->free_list};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
    memset(linear, 0, sizeof *linear);
}
