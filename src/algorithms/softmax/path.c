#include "algorithms/softmax/path.h"

#include <math.h>
#include <string.h>

#include "algorithms/model/add.h"
#include "algorithms/newton/exponential.h"
#include "algorithms/softmax/certificate.h"
#include "algorithms/softmax/newton.h"
#include "algorithms/softmax/pass.h"
#include "algorithms/softmax/start.h"

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
    const hw_choice *choice = &b->softmax->path.choice;
    double most = b->memory.lambda_max > 0.0 ? b->memory.lambda_max : 1.0, least = choice->lambda_min_ratio;
    if (choice->path_count == 0)
        return one_lambda(b);
    if (choice->path_list != NULL)
        return choice->path_list[member];
    if (member == 0)
        return most;
    if (least <= 0.0) /* glmnet's choice */
        least = b->memory.counted < (double)b->softmax->path.X->cols ? 1e-2 : 1e-4;
    return most * hw_exponential(hw_logarithm(least) * ((double)member / (double)(b->softmax->path.members - 1)));
}

/* ---- the numbers of a model ---- */

/* Makes the coefficients of a column add up to zero over the classes, which changes no probability, unless that raises the
 * penalty. */
static void balance(const hw_softmax_block *b, size_t j, double *column)
{
    size_t k = b->softmax->path.classes;
    double mean = 0.0, before[2] = {0}, after[2] = {0};
    for (size_t c = 0; c < k; c++)
        mean += column[c] / (double)k;
    for (size_t c = 0; c < k; c++) {
        double to = column[c] - mean;
        before[0] += fabs(column[c]);
        before[1] += column[c] * column[c];
        after[0] += fabs(to);
        after[1] += to * to;
    }
    double l1 = hw_softmax_l1(b, j), half = 0.5 * hw_softmax_l2(b, j), most = l1 * before[0] + half * before[1];
    for (size_t c = 0; c < k && l1 * after[0] + half * after[1] <= most * (1.0 + 1e-14); c++)
        column[c] -= mean;
}

void hw_softmax_model(void *block, double *model)
{
    hw_softmax_block *b = block;
    const hw_centre *centre = &b->softmax->path.centre;
    size_t k = b->softmax->path.classes, d = b->X.cols;
    double mean = 0.0;
    memcpy(model, b->W, (d + 1) * k * sizeof *model);
    for (size_t j = 0; j < d; j++)
        if (!hw_softmax_no_coefficient(b, model, j))
            balance(b, j, model + j * k);
    hw_softmax_uncentre(b, model);
    for (size_t c = 0; c < k; c++)
        mean += hw_centre_undo(centre, b->intercepts[c], 0.0, model + c, k) / (double)k;
    for (size_t c = 0; c < k; c++)
        model[d * k + c] = hw_centre_undo(centre, b->intercepts[c], mean, model + c, k);
}

/* ---- from one model to the next ---- */

/* Looks at block->W for the first time with these rows and this lambda. */
static hawser_status begin_member(hawser_context *context, hw_softmax_block *b, bool rows)
{
    b->memory.lambda = lambda_of(b, b->own.turn.member);
    b->memory.slope = 0.0;
    b->memory.others = 0;
    b->memory.idle = 0;
    b->memory.trusted = false;
    if (rows) {
        HAWSER_TRY(hw_softmax_evaluate(context, b, b->W, &b->memory));
        memcpy(b->gradient, b->reduced, b->softmax->path.width * sizeof *b->gradient);
        b->fresh = true;
    } else
        b->memory.objective = b->memory.loss + hw_softmax_penalty(b, b->W);
    b->memory.bound = -INFINITY;
    hw_softmax_certify(b);
    return HAWSER_OK;
}

static void start_from(hw_softmax_block *b, const double *given)
{
    size_t k = b->softmax->path.classes, d = b->X.cols;
    const hw_centre *centre = &b->softmax->path.centre;
    memcpy(b->W, given, b->softmax->path.width * sizeof *b->W);
    double mean = 0.0; /* what all classes share changes no probability, but hides digits */
    for (size_t c = 0; c < k && centre->count > 0; c++)
        mean += hw_centre_apply(centre, given[d * k + c], 0.0, given + c, k) / (double)k;
    for (size_t c = 0; c < k; c++)
        b->W[d * k + c] = hw_centre_apply(centre, given[d * k + c], mean, given + c, k);
    for (size_t e = 0; e < d * k; e++)
        if (centre->count > 0 && centre->equal[e / k])
            b->W[e] = 0.0;
    for (size_t e = 0; e < d * k; e++)
        b->W[d * k + e % k] += b->means[e / k] * b->W[e];
    hw_softmax_shift(b, b->W);
}

/* Begins a fold with its first lambda: measures its rows, makes the first model and looks at it. */
static hawser_status begin_fold(hawser_context *context, hw_softmax_block *b)
{
    HAWSER_TRY(hw_softmax_measure(context, b));
    memset(b->W, 0, b->softmax->path.width * sizeof *b->W);
    double largest = hw_softmax_start(b);
    if (b->own.turn.fold == 0)
        b->memory.lambda_max = largest / fmax(b->softmax->share, 1e-3);
    if (b->own.turn.fold == 0 && b->softmax->path.given != NULL)
        start_from(b, b->softmax->path.given);
    return begin_member(context, b, true);
}

hawser_status hw_softmax_prepare(hawser_context *context, void *block, bool *changed)
{
    *changed = true;
    return begin_fold(context, block);
}

hawser_status hw_softmax_begin(hawser_context *context, void *block)
{
    hw_softmax_block *b = block;
    const hw_row_turn *turn = &b->own.turn;
    const hw_row_path *path = &b->softmax->path;
    if (path->abreast) {
        hw_softmax_keep_fold(b, turn->fold > 0 ? turn->fold - 1 : path->choice.folds, false);
        if (turn->member > 0)
            hw_softmax_keep_fold(b, turn->fold, true);
    }
    return turn->member > 0 ? begin_member(context, b, false) : begin_fold(context, b);
}

void hw_softmax_fields(const void *block, double fields[HW_ROW_FIELDS])
{
    const hw_softmax_memory *memory = &((const hw_softmax_block *)block)->memory;
    fields[HW_ROW_PARAMETER] = memory->lambda;
    fields[HW_ROW_OBJECTIVE] = memory->objective;
    fields[HW_ROW_GAP] = fmax(0.0, memory->objective - memory->bound);
    fields[HW_ROW_ROUNDING] = memory->error + memory->bound_error;
    fields[HW_ROW_PENALTY] = memory->objective - memory->loss;
}
