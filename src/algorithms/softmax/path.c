#include "algorithms/softmax/path.h"

#include <math.h>
#include <string.h>

#include "algorithms/newton/exponential.h"
#include "algorithms/softmax/certificate.h"
#include "algorithms/softmax/newton.h"
#include "algorithms/softmax/pass.h"
#include "algorithms/softmax/start.h"

size_t hw_softmax_table_size(const hw_softmax *softmax)
{
    return (softmax->choice.folds + (size_t)1) * softmax->members * HW_SOFTMAX_FIELDS;
}

/* ---- lambdas ---- */

/* Returns the lambda of a training without a path. */
static double one_lambda(const hw_softmax_block *b)
{
    const hw_softmax *softmax = b->softmax;
    if (!isnan(softmax->lambda))
        return softmax->lambda;
    if (!isnan(softmax->C))
        return 1.0 / (softmax->C * b->memory.total);
    return b->memory.lambda_max > 0.0 ? softmax->ratio * b->memory.lambda_max : softmax->ratio;
}

/* The logarithms are those of this project, so that every machine has the same lambdas. */
static double lambda_of(const hw_softmax_block *b, uint64_t member)
{
    const hw_linear_settings *choice = &b->softmax->choice;
    double most = b->memory.lambda_max > 0.0 ? b->memory.lambda_max : 1.0, least = choice->lambda_min_ratio;
    if (choice->path_count == 0)
        return one_lambda(b);
    if (choice->path_list != NULL)
        return choice->path_list[member];
    if (member == 0)
        return most;
    if (least <= 0.0) /* glmnet's choice */
        least = b->softmax->X->rows < b->softmax->X->cols ? 1e-2 : 1e-4;
    return most * hw_exponential(hw_logarithm(least) * ((double)member / (double)(b->softmax->members - 1)));
}

void hw_softmax_set_lambda(hw_softmax_block *b)
{
    b->memory.lambda = lambda_of(b, b->memory.member);
}

/* ---- the numbers of a model ---- */

double hw_softmax_level(const hw_softmax_block *b)
{
    size_t k = b->softmax->classes;
    double mean = 0.0;
    for (size_t c = 0; c < k; c++)
        mean += b->W[b->X.cols * k + c] / (double)k;
    return mean;
}

double hw_softmax_gap(const hw_softmax_block *b)
{
    return fmax(0.0, b->memory.objective - b->memory.bound) / b->memory.zero;
}

double hw_softmax_models_left(const hw_softmax_block *b)
{
    double folds = b->softmax->choice.folds, members = (double)b->softmax->members;
    return (folds + 1.0 - (double)b->memory.fold) * members - (double)(b->memory.member + b->memory.finished);
}

/* Writes the block's share of the model of all rows and of its line of the table. */
static void write_member(hawser_context *context, const hw_softmax_block *b, const double fields[HW_SOFTMAX_FIELDS])
{
    size_t members = b->softmax->members, first = 0, last = b->X.cols * b->softmax->classes;
    if (b->memory.fold == 0 && members > 1) {
        size_t count = hawser_part(context, "path", &first), e = (first + members - 1 - b->memory.member) / members;
        double *share = count > 0 ? hawser_local(context, "path") : NULL, level = hw_softmax_level(b);
        for (size_t at; (at = e * members + b->memory.member) < first + count; e++)
            share[at - first] = b->W[e] - (e >= last ? level : 0.0);
    }
    size_t line = (b->memory.fold * members + b->memory.member) * HW_SOFTMAX_FIELDS;
    size_t count = hawser_part(context, "table", &first);
    double *share = count > 0 ? hawser_local(context, "table") : NULL;
    for (size_t k = 0; k < HW_SOFTMAX_FIELDS; k++)
        if (line + k >= first && line + k < first + count)
            share[line + k - first] = fields[k];
}

/* ---- from one model to the next ---- */

/* Looks at block->W, whose rows or lambda are new. */
static hawser_status begin_member(hawser_context *context, hw_softmax_block *b, bool rows)
{
    hw_softmax_set_lambda(b);
    b->memory.slope = 0.0;
    b->memory.iteration = 0;
    if (rows) {
        HAWSER_TRY(hw_softmax_evaluate(context, b, b->W, &b->memory));
        memcpy(b->gradient, b->reduced, b->softmax->width * sizeof *b->gradient);
        b->fresh = true;
    } else
        b->memory.objective = b->memory.loss + hw_softmax_penalty(b, b->W);
    b->memory.bound = hw_softmax_bound(b);
    return HAWSER_OK;
}

hawser_status hw_softmax_begin_fold(hawser_context *context, hw_softmax_block *b)
{
    HAWSER_TRY(hw_softmax_measure(context, b));
    memset(b->W, 0, b->softmax->width * sizeof *b->W);
    double largest = hw_softmax_start(b);
    if (b->memory.fold == 0)
        b->memory.lambda_max = largest / fmax(b->softmax->share, 1e-3);
    if (b->memory.fold == 0 && b->softmax->given != NULL)
        memcpy(b->W, b->softmax->given, b->softmax->width * sizeof *b->W);
    return begin_member(context, b, true);
}

static hawser_status measure_held_out(hawser_context *context, hw_softmax_block *b, double fields[HW_SOFTMAX_FIELDS])
{
    double sums[2] = {0};
    if (b->memory.fold == 0)
        return HAWSER_OK;
    hw_softmax_held_out(b, sums);
    HAWSER_TRY(hawser_allreduce(context, sums, 2, HAWSER_SUM));
    fields[HW_SOFTMAX_WEIGHT] = sums[0];
    fields[HW_SOFTMAX_ERROR] = sums[1] / sums[0];
    return HAWSER_OK;
}

hawser_status hw_softmax_end_member(hawser_context *context, hw_softmax_block *b, hw_softmax_end *ended)
{
    double fields[HW_SOFTMAX_FIELDS] = {[HW_SOFTMAX_DONE] = 1.0,
                                        [HW_SOFTMAX_LAMBDA] = b->memory.lambda,
                                        [HW_SOFTMAX_OBJECTIVE] = b->memory.objective,
                                        [HW_SOFTMAX_GAP_LEFT] = hw_softmax_gap(b),
                                        [HW_SOFTMAX_PENALTY] = b->memory.objective - b->memory.loss};
    HAWSER_TRY(measure_held_out(context, b, fields));
    write_member(context, b, fields);
    b->memory.worst = *ended > b->memory.worst ? *ended : b->memory.worst;
    b->memory.finished = 1;
    *ended = hw_softmax_models_left(b) > 0.0 ? HW_SOFTMAX_GOES_ON : (hw_softmax_end)b->memory.worst;
    return HAWSER_OK;
}

hawser_status hw_softmax_next_member(hawser_context *context, hw_softmax_block *b)
{
    if (b->memory.finished == 0)
        return HAWSER_OK;
    b->memory.finished = 0;
    b->memory.before += b->memory.iteration;
    if (++b->memory.member < b->softmax->members)
        return begin_member(context, b, false);
    b->memory.member = 0;
    b->memory.fold++;
    return hw_softmax_begin_fold(context, b);
}
