#include "algorithms/logistic/board.h"

#include <string.h>

enum { COLUMN, COEFFICIENT, L1, L2, FIELDS };

size_t hw_logistic_board_share(size_t columns, uint32_t blocks)
{
    return 1 + hw_linear_room(columns, blocks) * FIELDS;
}

static size_t share_of(const hw_linear *linear)
{
    return hw_logistic_board_share(linear->X->cols, linear->blocks);
}

void hw_logistic_board_post(const hw_logistic_block *block, const double *alpha, double *share)
{
    const hw_linear *linear = block->linear;
    size_t count = 0, room = hw_linear_room(linear->X->cols, linear->blocks);
    const uint32_t *members = linear->settings.solver->members(block->solver, &count);
    share[0] = (double)count;
    for (size_t k = 0; k < count && k < room; k++) {
        double *fields = share + 1 + k * FIELDS;
        uint32_t j = members[k];
        fields[COLUMN] = (double)(block->columns.X.first + j);
        fields[COEFFICIENT] = alpha[j];
        fields[L1] = block->columns.l1[j];
        fields[L2] = block->columns.l2[j];
    }
}

size_t hw_logistic_board_list(hw_logistic_block *block, const double *board)
{
    const hw_linear *linear = block->linear;
    size_t count = 0;
    for (uint32_t b = 0; b < linear->blocks; b++) {
        const double *share = board + b * share_of(linear);
        for (size_t k = 0; k < (size_t)share[0]; k++)
            block->whole_list[count++] = (uint32_t)share[1 + k * FIELDS + COLUMN];
    }
    return count;
}

static void take_members(hw_logistic_block *block, const double *board, double lambda)
{
    const hw_linear *linear = block->linear;
    hw_logistic_quadratic *whole = &block->whole;
    size_t at = 0;
    for (uint32_t b = 0; b < linear->blocks; b++) {
        const double *share = board + b * share_of(linear);
        for (size_t k = 0; k < (size_t)share[0]; k++, at++) {
            const double *fields = share + 1 + k * FIELDS;
            size_t j = (size_t)fields[COLUMN];
            whole->members.x[at] = fields[COEFFICIENT];
            whole->terms[at] = (hw_linear_term){lambda * fields[L1], lambda * fields[L2],
                                                linear->lower != NULL ? linear->lower[j] : -INFINITY,
                                                linear->upper != NULL ? linear->upper[j] : INFINITY};
        }
    }
}

hawser_status hw_logistic_board_solve(hw_logistic_block *block, const double *board, const double *v, double lambda,
                                      const hw_logistic_effort *effort, double *solution, hawser_error *error)
{
    hw_logistic_quadratic *whole = &block->whole;
    size_t count = hw_logistic_board_list(block, board);
    memset(solution, 0, count * sizeof *solution); /* what is left out on the way is zero */
    HAWSER_TRY(hw_logistic_quadratic_take(whole, block->whole_list, count, error));
    take_members(block, board, lambda);
    memcpy(block->whole_v, v, block->rows.count * sizeof *v);
    hw_logistic_newton newton = {
        .tolerance = effort->tolerance, .gap = effort->gap, .move = block->whole_move, .there = block->whole_there};
    HAWSER_TRY(hw_logistic_newton_run(&newton, whole, &block->rows, block->whole_v, &block->point, effort->stop, error));
    for (size_t k = 0; k < whole->members.count; k++)
        solution[whole->at[k]] = whole->members.x[k];
    return HAWSER_OK;
}

void hw_logistic_board_move(const hw_logistic_block *block, const double *board, const double *solution, double *alpha)
{
    const hw_linear *linear = block->linear;
    size_t first = block->columns.X.first, at = 0;
    for (uint32_t b = 0; b < linear->blocks; b++) {
        const double *share = board + b * share_of(linear);
        for (size_t k = 0; k < (size_t)share[0]; k++, at++) {
            size_t j = (size_t)share[1 + k * FIELDS + COLUMN];
            if (j >= first && j < first + block->columns.X.cols)
                alpha[j - first] = solution[at];
        }
    }
}
