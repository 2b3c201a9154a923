/*
 * intercept.c - the losses as a function of the intercept b are convex, and linear or quadratic between kinks: each row has
 * a kink at y - x w, moved by epsilon, and its loss grows to the left of it, or to the right. The derivative is found at the
 * edges of bins between the outermost kinks, from sums over each bin, then within the bin where it changes its sign, and so
 * on: each round is one pass and one reduction.
 */
#include "algorithms/svm/intercept.h"

#include <string.h>

enum { ROUNDS = 10, SIDE = 2 * (HW_SVM_BINS + 2) };

/* The kinks of a row: where the loss begins to grow to the left and to the right, or infinite. */
static void kinks_of(const hw_svm *svm, const hw_svm_row *row, double margin, double kinks[2])
{
    double at = row->y - margin;
    kinks[0] = svm->regression ? at - svm->epsilon : row->y > 0.0 ? at : -INFINITY;
    kinks[1] = svm->regression ? at + svm->epsilon : row->y < 0.0 ? at : INFINITY;
}

/* Finds the outermost kinks. Returns with *high < *low if there are none. */
static hawser_status span(hawser_context *context, const hw_svm_block *b, size_t problem, double *low, double *high)
{
    double ends[2] = {-INFINITY, -INFINITY};
    for (size_t i = 0; i < b->X.rows; i++) {
        if (!(hw_svm_weight(b, i) > 0.0))
            continue;
        hw_svm_row row = hw_svm_row_at(b, problem, i);
        double kinks[2];
        kinks_of(b->svm, &row, b->margins[i], kinks);
        for (size_t s = 0; s < 2; s++)
            if (!isinf(kinks[s])) {
                ends[0] = fmax(ends[0], -kinks[s]);
                ends[1] = fmax(ends[1], kinks[s]);
            }
    }
    HAWSER_TRY(hw_svm_combine(context, b, ends, 2, HAWSER_MAX));
    *low = -ends[0];
    *high = ends[1];
    return HAWSER_OK;
}

/* Returns the bin of a kink: 0 below the span, HW_SVM_BINS + 1 above it. */
static size_t bin_of(double kink, double low, double high)
{
    if (kink < low)
        return 0;
    if (kink >= high)
        return HW_SVM_BINS + 1;
    double at = (kink - low) / (high - low) * HW_SVM_BINS;
    return 1 + (at < HW_SVM_BINS ? (size_t)at : HW_SVM_BINS - 1);
}

/* Adds up c and c times the kink over the kinks of each bin: sums[side][bin][2]. */
static void add_bins(const hw_svm_block *b, size_t problem, double low, double high, double *sums)
{
    memset(sums, 0, 2 * SIDE * sizeof *sums);
    for (size_t i = 0; i < b->X.rows; i++) {
        if (!(hw_svm_weight(b, i) > 0.0))
            continue;
        hw_svm_row row = hw_svm_row_at(b, problem, i);
        double kinks[2];
        kinks_of(b->svm, &row, b->margins[i], kinks);
        for (size_t s = 0; s < 2; s++)
            if (!isinf(kinks[s])) {
                double *to = sums + s * SIDE + 2 * bin_of(kinks[s], low, high);
                to[0] += row.c;
                to[1] += row.c * kinks[s];
            }
    }
}

/* Stores the derivative at the edges of the bins. */
static void slopes(const hw_svm *svm, const double *sums, double low, double high, double slope[HW_SVM_BINS + 1])
{
    double left[2] = {0}, right[2] = {0};
    for (size_t e = 0; e <= HW_SVM_BINS; e++)
        slope[e] = 0.0;
    for (size_t e = 0; e <= HW_SVM_BINS; e++) { /* to the right of the kinks in bins up to e, and from the other end */
        size_t other = HW_SVM_BINS - e;
        double at = low + (high - low) * ((double)e / HW_SVM_BINS);
        double other_at = low + (high - low) * ((double)other / HW_SVM_BINS);
        for (size_t k = 0; k < 2; k++) {
            right[k] += sums[SIDE + 2 * e + k];
            left[k] += sums[2 * (other + 1) + k];
        }
        slope[e] += svm->squared ? 2.0 * (right[0] * at - right[1]) : right[0];
        slope[other] += svm->squared ? 2.0 * (left[0] * other_at - left[1]) : -left[0];
    }
}

/* Narrows the span to the bin in which the derivative changes its sign. Returns whether the intercept has been found. */
static bool narrow(const hw_svm *svm, const double *sums, double *low, double *high, double *intercept)
{
    double slope[HW_SVM_BINS + 1], from = *low, length = *high - *low;
    slopes(svm, sums, *low, *high, slope);
    size_t e = 0;
    while (e < HW_SVM_BINS - 1 && slope[e + 1] < 0.0)
        e++;
    *low = from + length * ((double)e / HW_SVM_BINS);
    if (e + 1 < HW_SVM_BINS)
        *high = from + length * ((double)(e + 1) / HW_SVM_BINS);
    double rise = slope[e + 1] - slope[e];
    double share = svm->squared && rise > 0.0 ? -slope[e] / rise : 0.5;
    share = fmin(1.0, fmax(0.0, share));
    *intercept = *low + (*high - *low) * share;
    return slope[e + 1] == 0.0 && (*intercept = *high, true);
}

hawser_status hw_svm_intercept(hawser_context *context, const hw_svm_block *b, size_t problem, double *intercept)
{
    double sums[HW_SVM_INTERCEPT_REDUCES], low = 0.0, high = 0.0;
    HAWSER_TRY(span(context, b, problem, &low, &high));
    *intercept = low;
    if (!(high >= low))
        *intercept = 0.0;
    for (size_t round = 0; round < ROUNDS && high - low > 1e-15 * fmax(fabs(low), fabs(high)); round++) {
        add_bins(b, problem, low, high, sums);
        HAWSER_TRY(hw_svm_combine(context, b, sums, HW_SVM_INTERCEPT_REDUCES, HAWSER_SUM));
        if (narrow(b->svm, sums, &low, &high, intercept))
            break;
    }
    return HAWSER_OK;
}
