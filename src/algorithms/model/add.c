#include "algorithms/model/add.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static hawser_status fail(hawser_context *context, double value, size_t at, const hw_addends *sums)
{
    char label[200], range[60] = "numbers";
    if (isfinite(value)) /* only the sum over all blocks could overflow */
        snprintf(range, sizeof range, "sums over %u workers", hawser_blocks(context));
    if (at >= sums->columns * sums->per * sums->models)
        return hawser_unit_fail(context, HAWSER_NOT_FINITE, "%s add up to %g, which is beyond the range of %s; scale %s",
                                sums->rest, value, range, sums->of);
    (void)hawser_dataset_label(sums->data, at / sums->per % sums->columns, label, sizeof label);
    return hawser_unit_fail(
        context, HAWSER_NOT_FINITE,
        "%s of column '%s' add up to %g, which is beyond the range of %s; scale the column or the weights", sums->values,
        label, value, range);
}

hawser_status hw_add_up(hawser_context *context, double *values, size_t count, const hw_addends *sums)
{
    double most = DBL_MAX / (double)hawser_blocks(context);
    for (size_t e = 0; e < count; e++)
        if (!(fabs(values[e]) <= most))
            return fail(context, values[e], e, sums);
    return hawser_allreduce(context, values, count, HAWSER_SUM);
}
