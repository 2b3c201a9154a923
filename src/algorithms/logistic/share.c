#include "algorithms/logistic/share.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORTH_SHARING = 1 << 18
}; /* stored entries of the members, from which on half a product costs more than an exchange */

static size_t most_members(size_t columns, uint32_t blocks)
{
    size_t room = blocks * hw_linear_room(columns, blocks);
    return columns < room ? columns : room;
}

size_t hw_logistic_share_sums(size_t columns, uint32_t blocks)
{
    return 1 + hw_logistic_newton_sums(most_members(columns, blocks));
}

void hw_logistic_share_free(hw_logistic_share *share)
{
    if (share == NULL)
        return;
    hw_logistic_newton_free(share->newton);
    free(share->last);
    free(share->solution);
    free(share);
}

static hawser_status make(hw_logistic_block *block, hawser_error *error)
{
    const hw_linear *linear = block->linear;
    hw_logistic_share *share = block->share = calloc(1, sizeof *share);
    if (share != NULL) {
        share->last = calloc(hw_logistic_share_sums(linear->X->cols, linear->blocks), sizeof *share->last);
        share->solution = calloc(most_members(linear->X->cols, linear->blocks) + 1, sizeof *share->solution);
    }
    if (share == NULL || share->last == NULL || share->solution == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a share of a joint working set");
    return HAWSER_OK;
}

hawser_status hw_logistic_share_weigh(hw_logistic_block *block, const double *board, hawser_error *error)
{
    if (block->share == NULL)
        HAWSER_TRY(make(block, error));
    hw_logistic_share *share = block->share;
    hw_logistic_newton_free(share->newton);
    share->newton = NULL;
    share->begun = share->solved = share->stopping = false;
    size_t count = 0;
    double entries = hw_logistic_board_entries(block, board, &count);
    share->shared = entries >= WORTH_SHARING && !hw_logistic_quadratic_on_gram(block->linear->X, entries, count);
    return HAWSER_OK;
}

static bool agreed(void *opaque)
{
    return ((const hw_logistic_share *)opaque)->stopping;
}

/* What has to be the same on all blocks, whatever each has solved alone before. */
static void agree(hw_logistic_block *block, double intercept)
{
    const hw_logistic_share *share = block->share;
    if (share->least > 0.0) {
        block->whole.least = share->least;
        block->whole.random = share->random;
    } else {
        hw_logistic_quadratic_forget(&block->whole, block->linear->seed);
    }
    block->point.intercept = intercept;
    hw_logistic_settle(&block->rows, block->whole_v, 1e-18, &block->point);
}

hawser_status hw_logistic_share_begin(hw_logistic_block *block, const double *board, const double *v, double intercept,
                                      double lambda, const hw_logistic_effort *effort, uint32_t own, hawser_error *error)
{
    hw_logistic_share *share = block->share;
    hw_logistic_newton newton;
    const hawser_matrix *X = &block->whole.columns.X;
    uint32_t blocks = block->linear->blocks;
    HAWSER_TRY(hw_logistic_board_take(block, board, v, lambda, effort, &newton, error));
    share->count = block->whole.members.count;
    agree(block, intercept);
    share->part.begin = X->rows / blocks * own + X->rows % blocks * own / blocks;
    share->part.end = X->rows / blocks * (own + 1) + X->rows % blocks * (own + 1) / blocks;
    if (X->layout == HAWSER_DENSE)
        share->part.view = hawser_matrix_rows(X, share->part.begin, share->part.end);
    newton.stop = (hw_linear_stop){agreed, share};
    newton.part = &share->part;
    newton.own = own;
    newton.blocks = blocks;
    newton.room = most_members(X->cols, blocks);
    return hw_logistic_newton_new(&newton, &block->whole, &block->rows, block->whole_v, &block->point, &share->newton,
                                  error);
}

/* Puts what begins at `low` in the place of the last share. */
static void put(hw_logistic_share *share, const double *fresh, size_t low, size_t high, double *sums)
{
    for (size_t i = share->low; i < share->high; i++)
        if (i < low || i >= high) {
            sums[i] -= share->last[i];
            share->last[i] = 0.0;
        }
    for (size_t i = low; i < high; i++) {
        sums[i] += fresh[i - low] - share->last[i];
        share->last[i] = fresh[i - low];
    }
    share->low = low;
    share->high = high;
}

hawser_status hw_logistic_share_step(hw_logistic_block *block, hw_linear_stop stop, double *sums, size_t *first,
                                     size_t *count, hawser_error *error)
{
    hw_logistic_share *share = block->share;
    bool wanted = true;
    size_t begin, length, low = share->low, high = share->high;
    if (share->begun) {
        share->stopping = share->stopping || sums[0] > 0.0;
        hw_logistic_newton_hear(share->newton, sums + 1);
    }
    share->begun = true;
    HAWSER_TRY(hw_logistic_newton_go(share->newton, &wanted, error));
    if (!wanted) {
        hw_logistic_board_solution(block, share->count, share->solution);
        hw_logistic_newton_free(share->newton);
        share->newton = NULL;
        share->least = block->whole.least;
        share->random = block->whole.random;
        share->solved = true;
        return HAWSER_OK;
    }
    const double *fresh = hw_logistic_newton_share(share->newton, &begin, &length);
    put(share, fresh, 1 + begin, 1 + begin + length, sums);
    *first = low < high && low < share->low ? low : share->low;
    *count = (low < high && high > share->high ? high : share->high) - *first;
    double asked = hw_linear_stopping(stop) ? 1.0 : 0.0; /* seen by one, heard by all at the same clock */
    sums[0] += asked - share->last[0];
    share->last[0] = asked;
    return HAWSER_OK;
}
