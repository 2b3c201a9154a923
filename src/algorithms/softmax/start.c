#include "algorithms/softmax/start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/newton/exponential.h"
#include "algorithms/softmax/pass.h"

/* ---- folds ---- */

/* Fails for the first fold that cannot be held out. `weights` has the weight of each class in each fold. */
static hawser_status judge_folds(hawser_context *context, const hw_softmax *s, const double *weights)
{
    size_t folds = s->choice.folds, k = s->classes, words = 0;
    const char *const *names = hawser_schema_target(hawser_dataset_schema(s->data), &words);
    for (size_t f = 0; f < folds; f++) {
        double own = 0.0;
        for (size_t c = 0; c < k; c++)
            own += weights[f * k + c];
        if (!(own > 0.0))
            return hawser_unit_fail(context, HAWSER_BAD_INPUT,
                                    "--cv %zu: fold %zu (from 1) has no row with a weight above 0; use fewer folds", folds,
                                    f + 1);
        for (size_t c = 0; c < k; c++) {
            double others = 0.0;
            char label[80];
            for (size_t g = 0; g < folds; g++)
                others += g != f ? weights[g * k + c] : 0.0;
            if (others > 0.0)
                continue;
            if (names != NULL && (size_t)s->labels[c] < words)
                (void)snprintf(label, sizeof label, "%.70s", names[(size_t)s->labels[c]]);
            else
                (void)hawser_print_number(label, sizeof label, s->labels[c]);
            return hawser_unit_fail(context, HAWSER_BAD_INPUT,
                                    "--cv %zu: all rows of class %s are in fold %zu (from 1), so the training without this "
                                    "fold has none of them; use --folds stratified, other folds or no such class",
                                    folds, label, f + 1);
        }
    }
    return HAWSER_OK;
}

hawser_status hw_softmax_check_folds(hawser_context *context, hw_softmax_block *b)
{
    const hw_softmax *s = b->softmax;
    size_t count = s->choice.folds * s->classes;
    if (count == 0)
        return HAWSER_OK;
    double *weights = calloc(count, sizeof *weights);
    if (weights == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for %u folds of %zu classes", s->choice.folds,
                                s->classes);
    for (size_t i = 0; i < b->X.rows; i++)
        if (b->classes[i] != UINT32_MAX)
            weights[(s->fold[b->X.first + i] - 1) * s->classes + b->classes[i]] += hw_softmax_example(b, i);
    hawser_status status = hawser_allreduce(context, weights, count, HAWSER_SUM);
    if (status == HAWSER_OK)
        status = judge_folds(context, s, weights);
    free(weights);
    return status;
}

/* ---- rows ---- */

/* Finds the factors of the penalty: standard deviations, or ones. */
static void find_scale(hw_softmax_block *b)
{
    size_t k = b->softmax->classes;
    for (size_t j = 0; j < b->X.cols; j++) {
        double mean = 0.0;
        for (size_t c = 0; c < k; c++)
            mean += b->sums[j * k + c];
        double variance = b->squares[j] - mean * mean;
        b->scale[j] = b->softmax->standardize && variance > 1e-12 * b->squares[j] ? sqrt(variance) : 1.0;
    }
}

hawser_status hw_softmax_measure(hawser_context *context, hw_softmax_block *b)
{
    size_t m = b->softmax->width;
    double total = 0.0;
    for (size_t i = 0; i < b->X.rows; i++)
        total += hw_softmax_weight(b, i);
    HAWSER_TRY(hawser_allreduce(context, &total, 1, HAWSER_SUM));
    b->memory.total = total;
    hw_softmax_class_sums(b);
    HAWSER_TRY(hawser_allreduce(context, b->reduced, m, HAWSER_SUM));
    memcpy(b->sums, b->reduced, m * sizeof *b->sums);
    hw_softmax_squares(b);
    HAWSER_TRY(hawser_allreduce(context, b->reduced, b->X.cols, HAWSER_SUM));
    memcpy(b->squares, b->reduced, b->X.cols * sizeof *b->squares);
    find_scale(b);
    return HAWSER_OK;
}

double hw_softmax_start(hw_softmax_block *b)
{
    const hw_softmax *s = b->softmax;
    size_t k = s->classes, d = b->X.cols;
    const double *share = b->sums + d * k;
    double largest = 0.0, zero = 0.0, size = 0.0;
    for (size_t c = 0; c < k; c++) {
        double log_share = s->intercept ? hw_logarithm(share[c]) : -hw_logarithm((double)k);
        b->W[d * k + c] = s->intercept ? log_share : 0.0;
        zero -= share[c] * log_share;
    }
    b->memory.zero = zero;
    for (size_t j = 0; j < d; j++) {
        double column = 0.0;
        for (size_t c = 0; c < k; c++)
            column += b->sums[j * k + c];
        size = fmax(size, sqrt(b->squares[j]) / b->scale[j]);
        for (size_t c = 0; c < k; c++) {
            double p = s->intercept ? share[c] : 1.0 / (double)k;
            largest = fmax(largest, fabs(column * p - b->sums[j * k + c]) / b->scale[j]);
        }
    }
    return largest > 1e-13 * size ? largest : 0.0;
}
