#include "algorithms/linear/best.h"

#include <stdlib.h>
#include <string.h>

hawser_status hw_linear_best_new(hw_linear *linear, hawser_error *error)
{
    HAWSER_TRY(hw_linear_new_doubles(&linear->best, linear->X->cols, error));
    linear->has_best = calloc(linear->blocks, sizeof *linear->has_best);
    return linear->has_best != NULL
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the best model of %u blocks", linear->blocks);
}

void hw_linear_best_free(hw_linear *linear)
{
    free(linear->best);
    free(linear->has_best);
}

void hw_linear_keep(hawser_context *context)
{
    const hw_linear *linear = hawser_user(context);
    size_t first = 0, count = hawser_part(context, "alpha", &first);
    if (!(hawser_metric(context, "keep") > 0.0))
        return;
    memcpy(linear->best + first, hawser_local(context, "alpha"), count * sizeof *linear->best);
    linear->has_best[hawser_block(context)] = true;
}

bool hw_linear_has_best(const hw_linear *linear)
{
    for (uint32_t b = 0; b < linear->blocks; b++)
        if (linear->has_best[b])
            return true;
    return false;
}

/* Where updates are averaged, the cut takes only that share of what changes. */
hawser_status hw_linear_restore(hawser_context *context)
{
    const hw_linear *linear = hawser_user(context);
    double *alpha = hawser_local(context, "alpha"), damping = hawser_damping(context, "v");
    size_t first = 0, count = hawser_part(context, "alpha", &first);
    for (size_t j = 0; j < count; j++)
        alpha[j] = damping == 1.0 ? linear->best[first + j] : alpha[j] + (linear->best[first + j] - alpha[j]) / damping;
    return hawser_touch(context, "v", 0, 0);
}
