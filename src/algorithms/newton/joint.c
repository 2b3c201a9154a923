#include "algorithms/newton/joint.h"

#include <string.h>

#include "algorithms/glm/expect.h"
#include "algorithms/glm/sets.h"
#include "algorithms/solve/entries.h"

enum { COLUMN, COEFFICIENT, L1, L2 }; /* fields of a member */

enum {
    WORTH_DIVIDING = 1 << 18, /* stored entries from which on half a product costs more than a reduction */
    IMAGES = 4,               /* steps and products that one solution is expected to take */
    PRODUCTS = 60,
    MOST_REPEATED = 8 /* blocks that each repeat passes over the rows; more of them leave the solution to one block */
};

size_t hw_newton_joint_post(const hw_newton_block *block, const double *alpha, double *share, double *members,
                            double *entries)
{
    const hw_linear *linear = block->linear;
    size_t count = 0, most = hw_linear_most_of_share(linear);
    const uint32_t *list = linear->choices.settings.solver->members(block->solver, &count);
    count = count < most ? count : most;
    share[0] = *members = (double)count;
    *entries = 0.0;
    for (size_t k = 0; k < count; k++) {
        double *fields = share + 1 + k * HW_NEWTON_JOINT_FIELDS;
        uint32_t j = list[k];
        fields[COLUMN] = (double)(block->columns.X.first + j);
        fields[COEFFICIENT] = alpha[j];
        fields[L1] = block->columns.l1[j];
        fields[L2] = block->columns.l2[j];
        *entries += hw_linear_entry_count(&block->columns.X, j);
    }
    return 1 + count * HW_NEWTON_JOINT_FIELDS;
}

bool hw_newton_joint_divides(const hw_linear *linear, double entries, size_t members)
{
    return linear->choices.blocks <= MOST_REPEATED && entries >= WORTH_DIVIDING &&
           !hw_newton_quadratic_on_gram(linear->problem.X, entries, members);
}

bool hw_newton_joint_expected(const hw_linear *linear)
{
    const hawser_matrix *X = linear->problem.X;
    size_t members = hw_linear_expected(linear);
    return hw_newton_joint_divides(linear, (double)members * (double)X->stored / (double)X->cols, members);
}

size_t hw_newton_joint_sums(const hw_linear *linear)
{
    return hw_newton_sums(hw_linear_most_members(linear), linear->problem.X->rows);
}

void hw_newton_joint_expect(hawser_operator *unit, const hw_linear *linear)
{
    size_t members = hw_linear_expected(linear), rows = linear->problem.X->rows;
    bool expected = hw_newton_joint_expected(linear);
    hawser_reduces_expect(unit, expected ? hw_newton_sums(members, rows) : 1,
                          expected ? IMAGES * rows + PRODUCTS * members : 1);
}

size_t hw_newton_joint_list(hw_newton_block *block, const double *sets)
{
    hw_linear_sets gathered = hw_linear_sets_of(block->linear, HW_NEWTON_JOINT_FIELDS, sets);
    size_t count = 0;
    for (const double *fields; (fields = hw_linear_sets_next(&gathered)) != NULL;)
        block->whole_list[count++] = (uint32_t)fields[COLUMN];
    return count;
}

/* Makes block->whole the problem over the gathered sets. */
static hawser_status take(hw_newton_block *block, const double *sets, size_t count, double lambda, hawser_error *error)
{
    const hw_linear *linear = block->linear;
    hw_newton_quadratic *whole = &block->whole;
    HAWSER_TRY(hw_newton_quadratic_take(whole, block->whole_list, count, error));
    hw_linear_sets gathered = hw_linear_sets_of(linear, HW_NEWTON_JOINT_FIELDS, sets);
    size_t at = 0;
    for (const double *fields; (fields = hw_linear_sets_next(&gathered)) != NULL; at++) {
        size_t j = (size_t)fields[COLUMN];
        whole->members.x[at] = fields[COEFFICIENT];
        whole->terms[at] = (hw_linear_term){lambda * fields[L1], lambda * fields[L2], hw_linear_lower(&linear->problem, j),
                                            hw_linear_upper(&linear->problem, j)};
    }
    return HAWSER_OK;
}

/* The rows over which this block sums. */
static void take_rows(const hw_newton_block *block, hw_linear_part *part)
{
    const hawser_matrix *X = &block->whole.columns.X;
    hw_newton_block_rows(block, part->block, &part->begin, &part->end);
    if (X->layout == HAWSER_DENSE)
        part->view = hawser_matrix_rows(X, part->begin, part->end);
}

hawser_status hw_newton_joint_solve(hw_newton_block *block, const double *sets, size_t count, const double *v, double lambda,
                                    const hw_newton_effort *effort, hw_linear_part *part, hawser_error *error)
{
    hw_newton_quadratic *whole = &block->whole;
    hw_newton newton = {.tolerance = effort->tolerance,
                        .gap = effort->gap,
                        .move = block->whole_move,
                        .there = block->whole_there,
                        .stop = effort->stop,
                        .part = part};
    HAWSER_TRY(take(block, sets, count, lambda, error));
    memcpy(block->whole_v, v, block->rows.count * sizeof *v);
    if (part != NULL) {
        take_rows(block, part);
        whole->learned = block->learned_together; /* what the block has learned alone the others do not know */
    }
    HAWSER_TRY(hw_newton_run(&newton, whole, &block->rows, block->whole_v, &block->point, error));
    if (part != NULL)
        block->learned_together = whole->learned;
    return HAWSER_OK;
}

void hw_newton_joint_solution(const hw_newton_block *block, size_t count, double *solution)
{
    const hw_newton_quadratic *whole = &block->whole;
    memset(solution, 0, count * sizeof *solution);
    for (size_t k = 0; k < whole->members.count; k++)
        solution[whole->at[k]] = whole->members.x[k];
}

void hw_newton_joint_take(const hw_newton_block *block, size_t count, double *alpha)
{
    const hw_linear_members *members = &block->whole.members;
    size_t first = block->columns.X.first, cols = block->columns.X.cols;
    for (size_t k = 0; k < count; k++) {
        size_t j = block->whole_list[k];
        if (j >= first && j < first + cols)
            alpha[j - first] = 0.0;
    }
    for (size_t k = 0; k < members->count; k++) {
        size_t j = members->columns[k];
        if (j >= first && j < first + cols)
            alpha[j - first] = members->x[k];
    }
}

void hw_newton_joint_move(const hw_newton_block *block, const double *sets, const double *solution, double *alpha)
{
    size_t first = block->columns.X.first, at = 0;
    hw_linear_sets gathered = hw_linear_sets_of(block->linear, HW_NEWTON_JOINT_FIELDS, sets);
    for (const double *fields; (fields = hw_linear_sets_next(&gathered)) != NULL; at++) {
        size_t j = (size_t)fields[COLUMN];
        if (j >= first && j < first + block->columns.X.cols)
            alpha[j - first] = solution[at];
    }
}
