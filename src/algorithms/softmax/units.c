#include "algorithms/softmax/units.h"

#include <math.h>
#include <string.h>

#include "algorithms/softmax/block.h"
#include "algorithms/softmax/certificate.h"
#include "algorithms/softmax/newton.h"
#include "algorithms/softmax/path.h"
#include "algorithms/softmax/start.h"
#include "algorithms/softmax/validation.h"

enum { IDLE_MOST = 8 };

/* Writes the block's share of the model of all rows, with intercepts that add up to zero, and of its fields if it may be the result. */
static void write_share(hawser_context *context, hw_softmax_block *b)
{
    size_t first = 0, count = hawser_part(context, "model", &first);
    double *share = hawser_local(context, "model");
    const double *model = b->memory.turn.fold == 0 ? hw_softmax_result_model(b) : NULL;
    if (model != NULL && count > 0)
        memcpy(share, model + first, count * sizeof *share);
    if (hw_row_keeps_lowest(&b->softmax->path))
        hw_softmax_keep(context, b);
}

static hawser_status report(hawser_context *context, const hw_softmax_block *b, hw_row_end ended)
{
    const hw_softmax_memory *memory = &b->memory;
    double nonzero = 0.0;
    for (size_t e = 0; e < b->X.cols * b->softmax->classes; e++)
        nonzero += b->W[e] != 0.0;
    if (!isfinite(memory->objective))
        return hawser_unit_fail(
            context, HAWSER_NOT_FINITE,
            "the objective is not finite: the data have numbers that are too large; scale their columns");
    HAWSER_TRY(hawser_report(context, "objective", memory->objective));
    HAWSER_TRY(hawser_report(context, "gap", hw_softmax_gap(b)));
    HAWSER_TRY(hawser_report(context, "rounding", memory->error + memory->bound_error));
    HAWSER_TRY(hawser_report(context, "zero_objective", memory->zero));
    HAWSER_TRY(hawser_report(context, "nonzero", nonzero));
    HAWSER_TRY(hawser_report(context, "lambda", memory->lambda));
    HAWSER_TRY(hawser_report(context, "iterations", (double)(memory->turn.before + memory->iteration)));
    HAWSER_TRY(hawser_report(context, "products", (double)memory->products));
    if (b->softmax->path.choice.folds > 0)
        HAWSER_TRY(hawser_report(context, "fold", (double)memory->turn.fold));
    HAWSER_TRY(hawser_report(context, "fits_left", hw_row_models_left(&b->softmax->path, &memory->turn)));
    HAWSER_TRY(hawser_report(context, "lambda_max", memory->lambda_max));
    HAWSER_TRY(hawser_report(context, "penalty", memory->objective - memory->loss));
    return hawser_report(context, "ended", ended);
}

static bool is_certified(const hw_softmax_block *b)
{
    const hw_softmax_memory *m = &b->memory;
    return m->objective - m->bound + m->error + m->bound_error <= b->softmax->tolerance * m->zero;
}

/* Returns whether no step lowers the objective. Some steps may improve it by less than rounding hides before one does by more. */
static bool is_stuck(const hw_softmax_block *b, bool moved)
{
    return !moved || b->memory.idle >= IDLE_MOST;
}

hawser_status hw_softmax_prepare(hawser_context *context)
{
    hw_softmax_block *b;
    bool keep = true;
    HAWSER_TRY(hw_softmax_block_open(context, &b));
    b->memory.turn.early = hw_early_begin();
    HAWSER_TRY(hw_row_path_check(context, &b->softmax->path, b->softmax->data, b->softmax->labels, b->softmax->classes));
    HAWSER_TRY(hw_softmax_begin_fold(context, b));
    HAWSER_TRY(hw_softmax_validate(context, b, &keep));
    write_share(context, b);
    return report(context, b, HW_END_GOES_ON);
}

hawser_status hw_softmax_step(hawser_context *context)
{
    hw_softmax_block *b;
    bool moved = false, keep = true;
    HAWSER_TRY(hw_softmax_block_open(context, &b));
    HAWSER_TRY(hw_softmax_next_member(context, b));
    if (!is_certified(b)) {
        double before = b->memory.objective;
        HAWSER_TRY(hw_softmax_newton(context, b, &moved));
        b->memory.iteration++;
        b->memory.idle = before - b->memory.objective > b->memory.error ? 0 : b->memory.idle + 1;
    }
    if (moved)
        hw_softmax_certify(b);
    HAWSER_TRY(hw_softmax_validate(context, b, &keep));
    if (keep)
        write_share(context, b);
    hw_row_end ended = is_certified(b)                                         ? HW_END_GAP
                       : is_stuck(b, moved) && !hawser_stopping(context)       ? HW_END_PRECISION
                       : b->memory.iteration >= b->softmax->iterations         ? HW_END_ITERATIONS
                       : hw_row_ends_early(&b->softmax->path, &b->memory.turn) ? HW_END_EARLY
                                                                               : HW_END_GOES_ON;
    if (ended != HW_END_GOES_ON)
        HAWSER_TRY(hw_softmax_end_member(context, b, &ended));
    return report(context, b, ended);
}
