#include "algorithms/logistic/share.h"

#include "algorithms/glm/expect.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORTH_SHARING = 1 << 18
}; /* stored entries of the members, from which on half a product costs more than an exchange */

size_t hw_logistic_share_sums(const hw_linear *linear)
{
    return hw_linear_reduction_size(hw_logistic_newton_sums(hw_linear_most_members(linear), linear->X->rows));
}

bool hw_logistic_share_expected(const hw_linear *linear)
{
    const hawser_matrix *X = linear->X;
    size_t members = hw_linear_expected(linear);
    double entries = (double)members * (double)X->stored / (double)X->cols;
    return entries >= WORTH_SHARING && !hw_logistic_quadratic_on_gram(X, entries, members);
}

size_t hw_logistic_share_expected_sums(const hw_linear *linear)
{
    if (!hw_logistic_share_expected(linear))
        return 1;
    return hw_linear_reduction_size(hw_logistic_newton_sums(hw_linear_expected(linear), linear->X->rows));
}

void hw_logistic_share_free(hw_logistic_share *share)
{
    if (share == NULL)
        return;
    hw_logistic_newton_free(share->newton);
    hw_linear_reduction_free(&share->reduction);
    free(share->solution);
    free(share);
}

static hawser_status make(hw_logistic_block *block, hawser_error *error)
{
    size_t most = hw_linear_most_members(block->linear);
    hw_logistic_share *share = block->share = calloc(1, sizeof *share);
    if (share != NULL)
        share->solution = calloc(most + 1, sizeof *share->solution);
    if (share == NULL || share->solution == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a share of a joint working set");
    return hw_linear_reduction_new(&share->reduction, hw_logistic_newton_sums(most, block->linear->X->rows), error);
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
static void agree(hw_logistic_block *block)
{
    const hw_logistic_share *share = block->share;
    if (share->taught)
        block->whole.learned = share->learned;
    else
        hw_logistic_quadratic_forget(&block->whole, block->linear->seed);
}

hawser_status hw_logistic_share_begin(hw_logistic_block *block, const double *board, const double *v, double lambda,
                                      const hw_logistic_effort *effort, uint32_t own, hawser_error *error)
{
    hw_logistic_share *share = block->share;
    hw_logistic_newton newton;
    const hawser_matrix *X = &block->whole.columns.X;
    uint32_t blocks = block->linear->blocks;
    HAWSER_TRY(hw_logistic_board_take(block, board, v, lambda, effort, &newton, error));
    share->count = block->whole.members.count;
    agree(block);
    hw_logistic_block_rows(block, own, &share->part.begin, &share->part.end);
    if (X->layout == HAWSER_DENSE)
        share->part.view = hawser_matrix_rows(X, share->part.begin, share->part.end);
    newton.stop = (hw_linear_stop){agreed, share};
    newton.crew = (hw_logistic_crew){&share->part, own, blocks};
    return hw_logistic_newton_new(&newton, &block->whole, &block->rows, block->whole_v, &block->point, &share->newton,
                                  error);
}

hawser_status hw_logistic_share_step(hw_logistic_block *block, hw_linear_stop stop, uint32_t own, double *sums,
                                     size_t *changed, hawser_error *error)
{
    hw_logistic_share *share = block->share;
    uint32_t blocks = block->linear->blocks;
    bool wanted = true;
    if (share->begun) {
        share->stopping = hw_linear_reduction_hear(&share->reduction, sums) || share->stopping;
        hw_logistic_newton_hear(share->newton, share->reduction.sums);
    }
    share->begun = true;
    HAWSER_TRY(hw_logistic_newton_go(share->newton, &wanted, error));
    if (wanted) {
        *changed = hw_linear_reduction_put(&share->reduction, hw_logistic_newton_share(share->newton),
                                           hw_linear_stopping(stop), own, blocks, sums);
        return HAWSER_OK;
    }
    *changed = hw_linear_reduction_put(&share->reduction, (hw_linear_share){0}, false, own, blocks, sums);
    hw_logistic_board_solution(block, share->count, share->solution);
    hw_logistic_newton_free(share->newton);
    share->newton = NULL;
    share->learned = block->whole.learned;
    share->taught = true;
    share->solved = true;
    return HAWSER_OK;
}
