#include "algorithms/logistic/board.h"

#include <string.h>

#include "algorithms/glm/board.h"

enum { COLUMN, COEFFICIENT, L1, L2, FIELDS };

size_t hw_logistic_board_share(const hw_linear *linear)
{
    return hw_linear_board_share(linear, FIELDS);
}

size_t hw_logistic_board_post(const hw_logistic_block *block, const double *alpha, double *share)
{
    const hw_linear *linear = block->linear;
    size_t count = 0, room = hw_linear_room(linear);
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
    return 1 + (count < room ? count : room) * FIELDS;
}

size_t hw_logistic_board_list(hw_logistic_block *block, const double *values)
{
    hw_linear_board board = hw_linear_board_look(block->linear, FIELDS, values);
    size_t count = 0;
    for (const double *fields; (fields = hw_linear_board_next(&board)) != NULL;)
        block->whole_list[count++] = (uint32_t)fields[COLUMN];
    return count;
}

double hw_logistic_board_entries(const hw_logistic_block *block, const double *values, size_t *count)
{
    const hawser_matrix *X = block->linear->X;
    hw_linear_board board = hw_linear_board_look(block->linear, FIELDS, values);
    double entries = 0.0;
    *count = hw_linear_board_count(&board);
    for (const double *fields; (fields = hw_linear_board_next(&board)) != NULL;) {
        size_t j = (size_t)fields[COLUMN];
        entries += X->layout == HAWSER_DENSE ? (double)X->rows : (double)(X->offsets[j + 1] - X->offsets[j]);
    }
    return entries;
}

static void take_members(hw_logistic_block *block, const double *values, double lambda)
{
    const hw_linear *linear = block->linear;
    hw_logistic_quadratic *whole = &block->whole;
    hw_linear_board board = hw_linear_board_look(linear, FIELDS, values);
    size_t at = 0;
    for (const double *fields; (fields = hw_linear_board_next(&board)) != NULL; at++) {
        size_t j = (size_t)fields[COLUMN];
        whole->members.x[at] = fields[COEFFICIENT];
        whole->terms[at] =
            (hw_linear_term){lambda * fields[L1], lambda * fields[L2], linear->lower != NULL ? linear->lower[j] : -INFINITY,
                             linear->upper != NULL ? linear->upper[j] : INFINITY};
    }
}

hawser_status hw_logistic_board_take(hw_logistic_block *block, const double *board, const double *v, double lambda,
                                     const hw_logistic_effort *effort, hw_logistic_newton *newton, hawser_error *error)
{
    size_t count = hw_logistic_board_list(block, board);
    HAWSER_TRY(hw_logistic_quadratic_take(&block->whole, block->whole_list, count, error));
    take_members(block, board, lambda);
    memcpy(block->whole_v, v, block->rows.count * sizeof *v);
    *newton = (hw_logistic_newton){.tolerance = effort->tolerance,
                                   .gap = effort->gap,
                                   .move = block->whole_move,
                                   .there = block->whole_there,
                                   .stop = effort->stop};
    return HAWSER_OK;
}

void hw_logistic_board_solution(const hw_logistic_block *block, size_t count, double *solution)
{
    const hw_logistic_quadratic *whole = &block->whole;
    memset(solution, 0, count * sizeof *solution);
    for (size_t k = 0; k < whole->members.count; k++)
        solution[whole->at[k]] = whole->members.x[k];
}

hawser_status hw_logistic_board_solve(hw_logistic_block *block, const double *board, const double *v, double lambda,
                                      const hw_logistic_effort *effort, double *solution, hawser_error *error)
{
    hw_logistic_newton newton;
    HAWSER_TRY(hw_logistic_board_take(block, board, v, lambda, effort, &newton, error));
    size_t count = block->whole.members.count;
    HAWSER_TRY(hw_logistic_newton_run(&newton, &block->whole, &block->rows, block->whole_v, &block->point, error));
    hw_logistic_board_solution(block, count, solution);
    return HAWSER_OK;
}

void hw_logistic_board_move(const hw_logistic_block *block, const double *values, const double *solution, double *alpha)
{
    size_t first = block->columns.X.first, at = 0;
    hw_linear_board board = hw_linear_board_look(block->linear, FIELDS, values);
    for (const double *fields; (fields = hw_linear_board_next(&board)) != NULL; at++) {
        size_t j = (size_t)fields[COLUMN];
        if (j >= first && j < first + block->columns.X.cols)
            alpha[j - first] = solution[at];
    }
}
