#include "algorithms/softmax/units.h"

#include <math.h>

#include "algorithms/softmax/certificate.h"
#include "algorithms/softmax/newton.h"
#include "algorithms/softmax/pass.h"

enum { IDLE_MOST = 8 };

static bool is_certified(const hw_softmax_block *b)
{
    const hw_softmax_memory *m = &b->memory;
    return m->objective - m->bound + m->error + m->bound_error <= b->softmax->path.tolerance * m->zero;
}

hawser_status hw_softmax_step(hawser_context *context, void *block, hw_member_step *step)
{
    hw_softmax_block *b = block;
    bool moved = false;
    if (!is_certified(b)) {
        double before = b->memory.objective;
        HAWSER_TRY(hw_softmax_newton(context, b, &moved));
        b->own.turn.iteration++;
        b->memory.idle = before - b->memory.objective > b->memory.error ? 0 : b->memory.idle + 1;
    }
    if (moved)
        hw_softmax_certify(b);
    step->changed = true;
    step->done = is_certified(b);
    step->stuck = !moved || b->memory.idle >= IDLE_MOST; /* some steps may improve it by less than rounding hides */
    return HAWSER_OK;
}

hawser_status hw_softmax_held_out(hawser_context *context, void *block, double sums[2])
{
    (void)context;
    hw_softmax_add_held_out(block, sums);
    return HAWSER_OK;
}

const char *const hw_softmax_reported[] = {"zero_objective", "nonzero", "products", "lambda_max", NULL};

hawser_status hw_softmax_report(hawser_context *context, const void *block)
{
    const hw_softmax_block *b = block;
    double nonzero = 0.0;
    for (size_t e = 0; e < b->X.cols * b->softmax->path.classes; e++)
        nonzero += b->W[e] != 0.0;
    if (!isfinite(b->memory.objective))
        return hawser_unit_fail(
            context, HAWSER_NOT_FINITE,
            "the objective is not finite: the data have numbers that are too large; scale their columns");
    HAWSER_TRY(hawser_report(context, "zero_objective", b->memory.zero));
    HAWSER_TRY(hawser_report(context, "nonzero", nonzero));
    HAWSER_TRY(hawser_report(context, "products", (double)b->memory.products));
    return hawser_report(context, "lambda_max", b->memory.lambda_max);
}
