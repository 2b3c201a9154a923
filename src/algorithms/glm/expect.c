#include "algorithms/glm/expect.h"
#include "algorithms/choice/results.h"
#include "hawser/advanced.h"

#include <math.h>

size_t hw_linear_expected(const hw_linear *linear)
{
    if (linear->image != NULL) /* certificates use the products of all columns */
        return linear->problem.X->cols;
    size_t least = linear->problem.X->rows < linear->problem.X->cols ? linear->problem.X->rows : linear->problem.X->cols;
    return least < HW_LINEAR_EXPECTED ? least : HW_LINEAR_EXPECTED;
}

size_t hw_linear_expected_sets(const hw_linear *linear, size_t fields)
{
    enum { PAGE = 512 };
    return hw_linear_expected(linear) * fields + linear->choices.blocks * (size_t)PAGE;
}

/* A record has the products of the members, without places for more, and some numbers of each. Tests remember the lambdas,
 * the errors of folds, and notes. */
static void expect_record(hawser_program *program, const hw_linear *linear, const hw_linear_needs *needs, double members)
{
    enum { OF_A_MEMBER = 6 };
    const hawser_matrix *X = linear->problem.X;
    const hw_linear_choices *choices = &linear->choices;
    const double size = sizeof(double), n = (double)X->rows, p = (double)X->cols, gram = size * members * members,
                 blocks = (double)choices->blocks;
    double once = sizeof(hawser_training) + (double)choices->lambda_count * (sizeof(hw_member_row) + size) +
                  (double)choices->lambda_count * choices->settings.choice.folds * size;
    if (needs->shared_gram)
        once += gram + 2.0 * size * p;
    double each = size * (needs->kept_rows * n + OF_A_MEMBER * members) + (needs->gram && needs->kept_gram ? gram : 0.0);
    double block = each + size * needs->kept_columns * (double)choices->widest,
           all = each * blocks + size * needs->kept_columns * p;
    hawser_record_expect(program, (uint64_t)block, (uint64_t)all, (uint64_t)once);
}

void hw_linear_expect(hawser_program *program, const hw_linear *linear, const hw_linear_needs *needs)
{
    const hawser_matrix *X = linear->problem.X;
    double n = (double)X->rows, p = (double)X->cols, size = sizeof(double);
    double members = (double)hw_linear_expected(linear);
    if (linear->choices.route != HW_LINEAR_JOINT &&
        linear->choices.blocks > 1) /* a block's set also has columns that the sets of other blocks make unnecessary */
        members = fmin(members, 32.0 + 2.0 * members / linear->choices.blocks);
    double capacity = 1.25 * members + 32.0; /* as a Gram matrix grows */
    double outputs = (double)linear->problem.outputs;
    double block = size * (needs->rows * n + needs->columns * (double)linear->choices.widest) + needs->all * p +
                   needs->entries * (double)X->stored / linear->choices.blocks;
    double gram = size * (capacity * capacity + 16.0 * members);
    if (needs->gram)
        block += gram;
    block += size * fmin(needs->summed, members * members / 2.0);
    /* the target, and predictions in the end; alpha, the best coefficients, the result, and the written model */
    double node = size * ((needs->node_rows + 5.0) * n + 5.0 * p) * outputs;
    if (linear->finished != NULL) /* a page for a column's coefficients */
        node += fmax(4096.0, size * (double)linear->finished->members) * fmin(members * outputs, p * outputs);
    if (needs->shared_gram)
        node += gram + (2.0 * size + sizeof(uint32_t)) * p; /* and means, norms and slots of the columns */
    expect_record(program, linear, needs, members);
    hawser_scratch_expect(program, (uint64_t)block, (uint64_t)node + linear->problem.held);
}
