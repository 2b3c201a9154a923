#include "algorithms/glm/best.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Copies this block's coefficients if the driver has just found their error on validation data to be the least ("valid_keep"). Called before they
 * change. */
static void keep_valid(hawser_context *context)
{
    const hw_linear_best *best = &((const hw_linear *)hawser_user(context))->best;
    if (best->valid == NULL)
        return;
    double number = hawser_metric(context, "valid_keep"), *kept = &best->valid_kept[hawser_block(context)];
    size_t first = 0, count = hawser_part(context, "alpha", &first);
    if (!(number > 0.0) || number == *kept)
        return;
    memcpy(best->valid + first, hawser_local(context, "alpha"), count * sizeof *best->valid);
    *kept = number;
}

void hw_linear_keep(hawser_context *context)
{
    const hw_linear *linear = hawser_user(context);
    size_t first = 0, count = hawser_part(context, "alpha", &first);
    keep_valid(context);
    if (!(hawser_metric(context, "keep") > 0.0))
        return;
    memcpy(linear->best.alpha + first, hawser_local(context, "alpha"), count * sizeof *linear->best.alpha);
    linear->best.kept[hawser_block(context)] = hawser_metric(context, "keep");
}

void hw_linear_add_path(const hw_linear *linear, hawser_program *program, hawser_state *X)
{
    if (linear->best.path != NULL)
        hawser_result_expect(hawser_local_state(program, "path", X, linear->choices.lambda_count * linear->problem.outputs,
                                                linear->best.path));
}

bool hw_linear_has_best(const hw_linear *linear)
{
    for (uint32_t b = 0; b < linear->choices.blocks; b++)
        if (linear->best.kept[b] > 0.0)
            return true;
    return false;
}

/* Moves this block's coefficients to values[0], values[stride] ... Under averaging, the cut takes only the damping's share of a change, so the
 * change is divided by it. */
static hawser_status move(hawser_context *context, const double *values, size_t stride)
{
    double *alpha = hawser_local(context, "alpha"), damping = hawser_damping(context, "v");
    size_t first = 0, count = hawser_part(context, "alpha", &first);
    for (size_t j = 0; j < count; j++)
        alpha[j] = damping == 1.0 ? values[j * stride] : alpha[j] + (values[j * stride] - alpha[j]) / damping;
    return hawser_touch(context, "v", 0, 0);
}

hawser_status hw_linear_restore(hawser_context *context)
{
    const hw_linear *linear = hawser_user(context);
    size_t first = 0;
    (void)hawser_part(context, "alpha", &first);
    keep_valid(context);
    return move(context, linear->best.alpha + first, 1);
}

hawser_status hw_linear_resume(hawser_context *context)
{
    const hw_linear *linear = hawser_user(context);
    size_t lambda = (size_t)hawser_metric(context, "lambda_number");
    return move(context, hawser_local(context, "path") + lambda, linear->choices.lambda_count);
}

hawser_status hw_linear_return(hawser_context *context)
{
    size_t first = 0;
    (void)hawser_part(context, "alpha", &first);
    return move(context, ((const hw_linear *)hawser_user(context))->best.valid + first, 1);
}
