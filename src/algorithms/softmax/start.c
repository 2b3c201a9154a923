#include "algorithms/softmax/start.h"

#include <math.h>
#include <string.h>

#include "algorithms/model/add.h"
#include "algorithms/newton/exponential.h"
#include "algorithms/softmax/pass.h"

/* Finds the means of the columns and the factors of the penalty: standard deviations, or ones. */
static void find_scale(hw_softmax_block *b)
{
    size_t k = b->softmax->path.classes;
    for (size_t j = 0; j < b->X.cols; j++) {
        double mean = 0.0;
        for (size_t c = 0; c < k; c++)
            mean += b->sums[j * k + c];
        double variance = b->squares[j] - mean * mean;
        b->scale[j] = b->softmax->standardize && variance > 1e-12 * b->squares[j] ? sqrt(variance) : 1.0;
        b->means[j] = b->softmax->path.intercept ? mean : 0.0;
    }
    hw_softmax_centre(b, b->sums);
}

hawser_status hw_softmax_add(hawser_context *context, hw_softmax_block *b, const char *values, size_t count)
{
    const hw_addends sums = {values, b->softmax->path.data, b->X.cols,    b->softmax->path.classes,
                             1,      "the losses of rows",  "the columns"};
    return hw_add_up(context, b->reduced, count, &sums);
}

hawser_status hw_softmax_measure(hawser_context *context, hw_softmax_block *b)
{
    const hw_addends squares = {"the weighted squares", b->softmax->path.data, b->X.cols, 1, 1, NULL, NULL};
    size_t m = b->softmax->path.width;
    double sums[2] = {0.0, 0.0};
    for (size_t i = 0; i < b->X.rows; i++) {
        sums[0] += hw_softmax_weight(b, i);
        sums[1] += hw_softmax_example(b, i) > 0.0;
    }
    HAWSER_TRY(hw_add_up(context, sums, 2, &(hw_addends){.rest = "the example weights", .of = "them"}));
    b->memory.total = sums[0];
    b->memory.counted = sums[1];
    hw_softmax_class_sums(b);
    HAWSER_TRY(hw_softmax_add(context, b, "the values", m));
    memcpy(b->sums, b->reduced, m * sizeof *b->sums);
    hw_softmax_squares(b);
    HAWSER_TRY(hw_add_up(context, b->reduced, b->X.cols, &squares));
    memcpy(b->squares, b->reduced, b->X.cols * sizeof *b->squares);
    find_scale(b);
    return HAWSER_OK;
}

double hw_softmax_start(hw_softmax_block *b)
{
    const hw_softmax *s = b->softmax;
    size_t k = s->path.classes, d = b->X.cols;
    const double *share = b->sums + d * k;
    double largest = 0.0, zero = 0.0, size = 0.0;
    for (size_t c = 0; c < k; c++) {
        double log_share = s->path.intercept ? hw_logarithm(share[c]) : -hw_logarithm((double)k);
        b->W[d * k + c] = s->path.intercept ? log_share : 0.0;
        zero -= share[c] * log_share;
    }
    b->memory.zero = zero;
    for (size_t j = 0; j < d; j++) {
        double column = 0.0, most = 0.0;
        for (size_t c = 0; c < k; c++)
            column += b->sums[j * k + c];
        size = fmax(size, sqrt(b->squares[j]) / b->scale[j]);
        for (size_t c = 0; c < k; c++) {
            double p = s->path.intercept ? share[c] : 1.0 / (double)k;
            double slope = fabs(column * p - b->sums[j * k + c]);
            most = slope > most ? slope : most;
        }
        largest = fmax(largest, most / b->scale[j]);
    }
    return largest > 1e-13 * size ? largest : 0.0;
}
