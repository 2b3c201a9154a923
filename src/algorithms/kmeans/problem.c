#include "algorithms/kmeans/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/kmeans/given.h"
#include "algorithms/model/exact.h"
#include "algorithms/model/given.h"
#include "algorithms/model/numbers.h"
#include "hawser/advanced.h"

enum { GROUPS_MOST = 64 };

/* The finaliser of SplitMix64. */
double hw_kmeans_uniform(const hw_kmeans *kmeans, uint64_t start, uint64_t purpose, uint64_t step, uint64_t number)
{
    uint64_t x =
        hw_scramble(hw_scramble(hw_scramble(hw_scramble(hw_scramble(kmeans->seed) ^ start) ^ purpose) ^ step) ^ number);
    return (double)(x >> 11) * 0x1p-53;
}

/* Refuses what would have no effect, or another one than it says. */
static hawser_status check_options(const hw_kmeans *kmeans, hawser_job *job, const hawser_options *options,
                                   hawser_error *error)
{
    static const char *const of_batch[] = {"epochs", "patience"};
    static const char lloyd[] = "no iteration over all rows raises the inertia, so a start ends by itself; it is about "
                                "mini-batches (--batch)";
    HAWSER_TRY(hw_exact_options(options, hawser_job_sync(job), kmeans->blocks, "k-means", error));
    for (size_t k = 0; k < 2 && kmeans->batch == 0; k++)
        HAWSER_TRY(hawser_job_idle(job, of_batch[k], "it is about mini-batches (--batch)", error));
    if (kmeans->batch > 0)
        return hawser_job_idle(job, "max-iterations", "mini-batches end with --epochs or --patience", error);
    HAWSER_TRY(hawser_job_idle(job, "early-stopping", lloyd, error));
    return hawser_job_idle(job, "early-stopping-min-delta", lloyd, error);
}

static void read_options(hw_kmeans *kmeans, const hawser_options *options)
{
    const char *draw = hawser_options_text(options, "init-method");
    kmeans->clusters = (size_t)hawser_options_integer(options, "clusters");
    kmeans->starts = (size_t)hawser_options_integer(options, "starts");
    kmeans->draw = strcmp(draw, "parallel") == 0 ? HW_KMEANS_PARALLEL
                   : strcmp(draw, "random") == 0 ? HW_KMEANS_RANDOM
                                                 : HW_KMEANS_PLUS;
    kmeans->tolerance = hawser_options_number(options, "tol");
    kmeans->iterations = (uint64_t)hawser_options_integer(options, "max-iterations");
    kmeans->batch = (size_t)hawser_options_integer(options, "batch");
    kmeans->epochs = hawser_options_number(options, "epochs");
    kmeans->patience = (uint64_t)hawser_options_integer(options, "patience");
    kmeans->single = strcmp(hawser_options_text(options, "arithmetic"), "f32") == 0;
}

/* Fails for a centre with a number that has no float. */
static hawser_status check_single(const hw_kmeans *kmeans, const char *key, size_t count, hawser_error *error)
{
    size_t columns = kmeans->X->cols;
    for (size_t e = 0; kmeans->single && e < count * columns; e++)
        if (!isfinite((float)kmeans->given[e]))
            return hawser_fail(
                error, HAWSER_BAD_INPUT,
                "--%s: centre %zu, column %zu: %g is beyond float (--arithmetic f32); scale the columns or use "
                "--arithmetic f64",
                key, e / columns, e % columns, kmeans->given[e]);
    return HAWSER_OK;
}

/* Takes the start from --init or --centres, and with it the number of clusters. */
static hawser_status take_given(hw_kmeans *kmeans, hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    const hawser_options *options = input->options;
    size_t given = 0;
    HAWSER_TRY(hw_kmeans_given(job, input, &kmeans->given, &given, error));
    if (kmeans->given == NULL)
        return HAWSER_OK;
    bool by_file = hawser_options_has(options, "centres");
    const char *key = by_file ? "centres" : "init";
    if (hw_option_given(options, "clusters") && kmeans->clusters != given)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--clusters %zu: --%s has %zu centres; leave --clusters out",
                           kmeans->clusters, key, given);
    if (kmeans->starts > 1)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--starts %zu: each start from --%s would be the same; leave one out",
                           kmeans->starts, key);
    HAWSER_TRY(check_single(kmeans, key, given, error));
    HAWSER_TRY(hawser_job_idle(job, "init-method",
                               by_file ? "the centres are those of --centres" : "the centres are those of --init", error));
    kmeans->clusters = given;
    kmeans->draw = HW_KMEANS_GIVEN;
    return HAWSER_OK;
}

/* Chooses how many bounds a row has: one for about eight centres, or fewer where memory is scarce. */
static size_t groups_of(const hw_kmeans *kmeans, const hawser_options *options, uint32_t nodes)
{
    size_t groups = (kmeans->clusters + 7) / 8;
    uint64_t limit = hawser_options_has(options, "memory-limit") ? hawser_options_bytes(options, "memory-limit") : 0;
    uint64_t bound = sizeof(double) * (kmeans->X->rows / nodes + 1);
    groups = groups < GROUPS_MOST ? groups : GROUPS_MOST;
    if (limit > 0 && groups > limit / 4 / bound)
        groups = (size_t)(limit / 4 / bound);
    return groups > 0 ? groups : 1;
}

size_t hw_kmeans_trials(const hw_kmeans *kmeans)
{
    size_t trials = 2 + (size_t)log((double)kmeans->clusters);
    return trials < HW_KMEANS_TRIALS ? trials : HW_KMEANS_TRIALS;
}

size_t hw_kmeans_start_width(const hw_kmeans *kmeans)
{
    return kmeans->draw == HW_KMEANS_PARALLEL ? HW_KMEANS_FETCH
           : kmeans->draw == HW_KMEANS_RANDOM ? 1
           : kmeans->draw == HW_KMEANS_PLUS   ? hw_kmeans_trials(kmeans)
                                              : 0;
}

static size_t start_reduces(const hw_kmeans *kmeans)
{
    size_t rows = hw_kmeans_trials(kmeans), most = kmeans->blocks;
    if (kmeans->draw == HW_KMEANS_RANDOM && most < kmeans->clusters * kmeans->blocks)
        most = kmeans->clusters * kmeans->blocks;
    if (kmeans->draw == HW_KMEANS_PARALLEL)
        rows = HW_KMEANS_FETCH;
    return most > rows * kmeans->X->cols ? most : rows * kmeans->X->cols;
}

hawser_status hw_kmeans_read(void *own, hawser_job *job, const hawser_training_input *input, hawser_error *error)
{
    hw_kmeans *kmeans = own;
    const hawser_options *options = input->options;
    *kmeans = (hw_kmeans){
        .X = hawser_dataset_matrix(input->data), .data = input->data, .held = input->held, .seed = hawser_job_seed(job)};
    read_options(kmeans, options);
    HAWSER_TRY(take_given(kmeans, job, input, error));
    if (kmeans->X->cols == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have no columns to measure distances by");
    if (kmeans->clusters > kmeans->X->rows)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%zu clusters: the data have only %zu row%s; lower --clusters",
                           kmeans->clusters, kmeans->X->rows, kmeans->X->rows == 1 ? "" : "s");
    hawser_job_fit(job, kmeans->X->stored, kmeans->clusters < 1 << 21 ? (1 << 21) / kmeans->clusters : 1);
    kmeans->blocks = hawser_job_workers(job);
    HAWSER_TRY(check_options(kmeans, job, options, error));
    HAWSER_TRY(
        hw_centre_find(&kmeans->centre, job, input->data, kmeans->single ? HW_CENTRE_COLUMNS : HW_CENTRE_VERY_FAR, error));
    for (size_t e = 0; kmeans->given != NULL && kmeans->centre.count > 0 && e < kmeans->clusters * kmeans->X->cols; e++)
        kmeans->given[e] -= kmeans->centre.shift[e % kmeans->X->cols];
    if (kmeans->batch > 0)
        HAWSER_TRY(hw_early_new(&kmeans->early, job, input, kmeans->X->cols, false, error));
    kmeans->groups = groups_of(kmeans, options, hawser_job_nodes(job));
    size_t step = kmeans->clusters * kmeans->X->cols + 2 * kmeans->clusters + 4, start = start_reduces(kmeans);
    kmeans->reduced = step > start ? step : start;
    return HAWSER_OK;
}

void hw_kmeans_release(void *own)
{
    hw_kmeans *kmeans = own;
    free(kmeans->given);
    hw_centre_free(&kmeans->centre);
}
