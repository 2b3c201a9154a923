#include "algorithms/sgd/exchange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/chunks.h"
#include "hawser/job_data.h"
#include "hawser/stored.h"

enum { POWERS = 30 };

/* -------------------------------------------------------------------------------------------------- products of all ---- */

hawser_status hw_descent_take_products(hawser_context *context, hw_descent_block *block, const char *state, size_t count)
{
    return hw_linear_sum_chunks(context, state, count, block->margins);
}

hawser_status hw_descent_make_products(hawser_context *context, hw_descent_block *block, const char *state,
                                       hw_row_batch batch)
{
    memset(block->part, 0, hawser_blocks(context) * sizeof *block->part);
    for (hawser_chunk chunk;;) {
        HAWSER_TRY(hawser_next_chunk(context, state, &chunk));
        if (chunk.block == UINT32_MAX)
            break;
        double *part = block->parts + chunk.block * batch.count;
        double shift = -hawser_dot(chunk.count, block->whole_mean + chunk.first, chunk.values, NULL);
        hw_rows_product(&block->whole, batch, chunk.first, chunk.count, chunk.values, shift, part);
        block->part[chunk.block] = part;
    }
    hw_descent_add_up(block, batch.count);
    return HAWSER_OK;
}

hawser_status hw_descent_fetch_all(hawser_context *context, size_t columns)
{
    uint32_t *all = calloc(columns + 1, sizeof *all);
    if (all == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for a list of %zu columns", columns);
    for (size_t j = 0; j < columns; j++)
        all[j] = (uint32_t)j;
    hawser_status status = hawser_data_fetch(context, "whole", all, columns);
    free(all);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- curvature ---- */

hawser_status hw_descent_point(hawser_context *context, hw_descent_block *block)
{
    HAWSER_WRITE(context, double, row_parts);
    const hw_descent *descent = block->descent;
    double most = 0.0, usual = descent->total / (double)descent->X->rows;
    HAWSER_TRY(hw_descent_take_products(context, block, "row_parts", descent->X->rows));
    for (size_t i = 0; i < descent->X->rows; i++)
        most = fmax(most, block->margins[i] * (descent->weights != NULL ? descent->weights[i] / usual : 1.0));
    for (size_t j = 0; j < block->own.X.cols; j++)
        block->direction[j] = (hawser_random_uniform(context) - 0.5) * sqrt(block->inverse[j]);
    hw_descent_product(block, hw_descent_all(block), block->direction, row_parts);
    return hawser_report(context, "row_square", most);
}

hawser_status hw_descent_power(hawser_context *context, hw_descent_block *block)
{
    HAWSER_WRITE(context, double, row_parts);
    const hw_descent *descent = block->descent;
    hw_row_batch all = hw_descent_all(block);
    double scale = hawser_clock(context) > 0 ? hawser_metric(context, "curvature") : 1.0, squares = 0.0;
    HAWSER_TRY(hw_descent_take_products(context, block, "row_parts", all.count));
    for (size_t i = 0; i < all.count; i++)
        block->margins[i] *= descent->weights != NULL ? descent->weights[i] : 1.0;
    (void)hw_descent_gradient(block, all);
    scale = scale > 0.0 ? 1.0 / (scale * descent->total) : 0.0;
    for (size_t j = 0; j < block->own.X.cols; j++) {
        block->direction[j] = block->gradient[j] * block->inverse[j] * scale;
        if (block->inverse[j] > 0.0)
            squares += block->direction[j] * block->direction[j] / block->inverse[j];
    }
    hw_descent_product(block, all, block->direction, row_parts);
    return hawser_report(context, "squares", squares);
}

/* Each direction is divided by the length of the one before, so its own length is an estimate of the eigenvalue. */
bool hw_descent_powers_done(hawser_progress *progress, void *user)
{
    (void)user;
    hawser_progress_set(progress, "curvature", sqrt(hawser_progress_metric(progress, "squares")));
    return hawser_progress_clock(progress) + 1 >= POWERS;
}
