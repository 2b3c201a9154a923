#include "algorithms/softmax/units.h"

#include <math.h>
#include <string.h>

#include "algorithms/newton/exponential.h"
#include "algorithms/softmax/block.h"
#include "algorithms/softmax/certificate.h"
#include "algorithms/softmax/newton.h"
#include "algorithms/softmax/pass.h"

/* ---- before the steps ---- */

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

static hawser_status measure_rows(hawser_context *context, hw_softmax_block *b)
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

/* Makes the model without coefficients, stores its objective, and returns the largest derivative by a coefficient; 0 where it is but rounding. */
static double start_at_zero(hw_softmax_block *b)
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

static double lambda_of(const hw_softmax *softmax, double total, double largest)
{
    double most = largest / fmax(softmax->share, 1e-3);
    if (!isnan(softmax->lambda))
        return softmax->lambda;
    if (!isnan(softmax->C))
        return 1.0 / (softmax->C * total);
    return most > 0.0 ? softmax->ratio * most : softmax->ratio;
}

/* ---- the certificate and the report ---- */

/* Writes the block's share of the model, with intercepts that add up to zero. */
static void write_share(hawser_context *context, hw_softmax_block *b)
{
    size_t first = 0, count = hawser_part(context, "model", &first), k = b->softmax->classes, last = b->X.cols * k;
    double *share = hawser_local(context, "model"), mean = 0.0;
    for (size_t c = 0; c < k; c++)
        mean += b->W[last + c] / (double)k;
    for (size_t e = 0; e < count; e++)
        share[e] = b->W[first + e] - (first + e >= last ? mean : 0.0);
}

static hawser_status report(hawser_context *context, const hw_softmax_block *b, hw_softmax_end ended)
{
    const hw_softmax_memory *memory = &b->memory;
    double nonzero = 0.0, gap = fmax(0.0, memory->objective - memory->bound) / memory->zero;
    for (size_t e = 0; e < b->X.cols * b->softmax->classes; e++)
        nonzero += b->W[e] != 0.0;
    if (!isfinite(memory->objective))
        return hawser_unit_fail(
            context, HAWSER_NOT_FINITE,
            "the objective is not finite: the data have numbers that are too large; scale their columns");
    HAWSER_TRY(hawser_report(context, "objective", memory->objective));
    HAWSER_TRY(hawser_report(context, "gap", gap));
    HAWSER_TRY(hawser_report(context, "nonzero", nonzero));
    HAWSER_TRY(hawser_report(context, "lambda", memory->lambda));
    HAWSER_TRY(hawser_report(context, "iterations", (double)memory->iteration));
    HAWSER_TRY(hawser_report(context, "products", (double)memory->products));
    HAWSER_TRY(hawser_report(context, "penalty", memory->objective - memory->loss));
    return hawser_report(context, "ended", ended);
}

static bool is_certified(const hw_softmax_block *b)
{
    return b->memory.objective - b->memory.bound <= b->softmax->tolerance * b->memory.zero;
}

hawser_status hw_softmax_prepare(hawser_context *context)
{
    hw_softmax_block *b;
    HAWSER_TRY(hw_softmax_block_open(context, &b));
    HAWSER_TRY(measure_rows(context, b));
    b->memory.lambda = lambda_of(b->softmax, b->memory.total, start_at_zero(b));
    if (b->softmax->given != NULL)
        memcpy(b->W, b->softmax->given, b->softmax->width * sizeof *b->W);
    HAWSER_TRY(hw_softmax_evaluate(context, b, b->W, &b->memory));
    memcpy(b->gradient, b->reduced, b->softmax->width * sizeof *b->gradient);
    b->fresh = true;
    b->memory.bound = hw_softmax_bound(b);
    write_share(context, b);
    return report(context, b, is_certified(b) ? HW_SOFTMAX_GAP : HW_SOFTMAX_GOES_ON);
}

hawser_status hw_softmax_step(hawser_context *context)
{
    hw_softmax_block *b;
    bool moved = false;
    HAWSER_TRY(hw_softmax_block_open(context, &b));
    if (!is_certified(b)) {
        HAWSER_TRY(hw_softmax_newton(context, b, &moved));
        b->memory.iteration++;
    }
    if (moved)
        b->memory.bound = fmax(b->memory.bound, hw_softmax_bound(b));
    write_share(context, b);
    hw_softmax_end ended = is_certified(b)                                 ? HW_SOFTMAX_GAP
                           : !moved && !hawser_stopping(context)           ? HW_SOFTMAX_PRECISION
                           : b->memory.iteration >= b->softmax->iterations ? HW_SOFTMAX_ITERATIONS
                                                                           : HW_SOFTMAX_GOES_ON;
    return report(context, b, ended);
}
