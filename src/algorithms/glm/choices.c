#include "algorithms/glm/choices.h"

#include <math.h>
#include <stdlib.h>

/* Paths of more columns end at 100 lambdas: the coefficients of 100 more would take over 512 MiB. */
enum { MOST_GOING_ON = (512 << 20) / 100 / sizeof(double) };

enum { MOST_LAG = 60 }; /* clocks in flight by row: reads in progress */

/* Returns whether workers can take the sums of a clock a fixed number of clocks later. */
static bool sums_by_clock(hawser_sync sync)
{
    return sync.tightness == HAWSER_BSP ||
           ((sync.tightness == HAWSER_SSP || sync.tightness == HAWSER_DELAY) && sync.staleness <= MOST_LAG);
}

hawser_status hw_linear_check_sync(hawser_sync sync, const char *named, const hw_linear_settings *settings,
                                   hawser_error *error)
{
    bool delay = sync.tightness == HAWSER_DELAY, centric = sync.tightness == HAWSER_CENTRIC;
    bool stale = sync.tightness != HAWSER_BSP && !(centric && sync.staleness == 0);
    if ((delay || centric) && !settings->stored)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--sync %s is for weights that a parameter server keeps, and here workers have copies of "
                           "them; use bsp, ssp:N or tap",
                           named);
    if (settings->split == HW_LINEAR_BY_ROW && !sums_by_clock(sync))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--split row sums the gradients of a clock over all workers, so it needs --sync bsp, ssp:N or "
                           "delay:N with N up to %d, and not --sync %s; or use --split column",
                           MOST_LAG, named);
    if (stale && settings->batch > 0 && settings->products)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--exchange products with batches of rows needs --sync bsp or dc:0: stale products are those of "
                           "other rows");
    return HAWSER_OK;
}

/* In a clock blocks send and receive a number for each column of a group, or for each row. */
static bool goes_by_row(const hw_linear_choices *choices, const hawser_matrix *X)
{
    const hw_linear_settings *settings = &choices->settings;
    if (!settings->stored || settings->steps || settings->split != HW_LINEAR_BY_EITHER)
        return settings->split == HW_LINEAR_BY_ROW;
    return sums_by_clock(choices->sync) && X->cols / settings->groups < X->rows;
}

static hw_linear_route route_of(const hw_linear_choices *choices)
{
    const hw_linear_settings *settings = &choices->settings;
    if (settings->stored)
        return HW_LINEAR_SERVER;
    if (settings->exchange_every > 0.0 || settings->certify_every > 0)
        return HW_LINEAR_ROUNDS;
    if (choices->blocks == 1)
        return HW_LINEAR_SINGLE;
    if (choices->sync.tightness != HAWSER_BSP)
        return HW_LINEAR_ASYNCHRONOUS;
    bool as_one = choices->damping == 1.0 && settings->sigma <= 0.0 && !settings->filtered;
    return as_one ? HW_LINEAR_JOINT : HW_LINEAR_ACCELERATED;
}

/* Sets the certificates between batches: one per epoch, unless the user has set their distance, until the epochs are
 * over. */
static void count_batches(hw_linear_choices *choices, double rows)
{
    const hw_linear_settings *settings = &choices->settings;
    if (settings->batch == 0)
        return;
    double epoch = ceil(rows / (double)settings->batch);
    double all = fmax(1.0, ceil(settings->epochs * rows / (double)settings->batch));
    double every = settings->certify_every > 0 ? (double)settings->certify_every : epoch;
    choices->work_most = (uint64_t)ceil(all / every);
    choices->step_clocks = (uint64_t)ceil(all / (double)choices->work_most);
}

/* Finds the widest block by the split that the plan will make. Joint working sets are never split by costs. */
static hawser_status measure_blocks(hw_linear_choices *choices, const hawser_matrix *X, hawser_error *error)
{
    size_t *bounds = malloc((choices->blocks + (size_t)1) * sizeof *bounds);
    if (bounds == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the bounds of %u blocks", choices->blocks);
    hawser_balance(X, choices->blocks, bounds);
    for (uint32_t b = 0; b < choices->blocks; b++)
        if (bounds[b + 1] - bounds[b] > choices->widest)
            choices->widest = bounds[b + 1] - bounds[b];
    free(bounds);
    return HAWSER_OK;
}

/* sigma' = gamma K is safe in step, and gamma K (s + 1) with s + 1 rounds in flight (Ma et al. 2015). The number of clocks
 * grows with sigma', and columns of different blocks are rarely so similar that the second is needed. So sigma' begins at
 * the first, and the safeguard raises it (driver.c). A single block needs none. */
hawser_status hw_linear_choose_route(hw_linear_choices *choices, const hawser_job *job, const hawser_matrix *X,
                                     hawser_error *error)
{
    const hw_linear_settings *settings = &choices->settings;
    choices->blocks = hawser_job_workers(job);
    choices->seed = hawser_job_seed(job);
    choices->sync = hawser_job_sync(job);
    choices->form = hawser_job_encoding(job);
    choices->damping = hawser_job_damping(job);
    choices->flights = choices->sync.tightness == HAWSER_TAP ? 2.0 : choices->sync.staleness + 1.0;
    choices->gain = choices->blocks == 1 ? 1.0 : choices->damping * choices->blocks;
    if (settings->sigma > 0.0)
        choices->gain = settings->sigma;
    choices->lambda_first = settings->choice.path_count > 0 ? settings->choice.path_count : 1;
    choices->lambda_count = choices->lambda_first;
    if (settings->goes_on && X->cols <= MOST_GOING_ON)
        choices->lambda_count *= 2;
    choices->route = route_of(choices);
    choices->by_row = goes_by_row(choices, X);
    count_batches(choices, (double)X->rows);
    return measure_blocks(choices, X, error);
}

uint64_t hw_linear_round_steps(const hw_linear_choices *choices, size_t columns, double work)
{
    double every = choices->route == HW_LINEAR_ASYNCHRONOUS ? 1.0 : choices->settings.exchange_every;
    return every > 0.0 ? (uint64_t)ceil(every * work * (double)columns) : UINT64_MAX;
}

bool hw_linear_adapts_gain(const hw_linear_choices *choices)
{
    return choices->settings.adapts && choices->route == HW_LINEAR_ROUNDS && choices->sync.tightness == HAWSER_BSP &&
           choices->settings.sigma <= 0.0 && choices->blocks > 1;
}

void hw_linear_choices_free(hw_linear_choices *choices)
{
    free(choices->settings.choice.path_list);
    free(choices->costs);
    *choices = (hw_linear_choices){0};
}
