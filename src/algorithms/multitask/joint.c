#include "algorithms/multitask/joint.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/sets.h"

/* The fields of a member: these, then its coefficients, then its gradient. */
enum { COLUMN, MEAN, NORM, L1, L2, FIRST };

size_t hw_multitask_joint_fields(const hw_linear *linear)
{
    return FIRST + 2 * linear->problem.outputs;
}

size_t hw_multitask_joint_post(const hw_multitask_block *block, const double *alpha, double *share)
{
    const hw_linear_columns *columns = &block->columns;
    size_t q = block->outputs, most = hw_linear_most_of_share(block->linear), fields = FIRST + 2 * q;
    share[0] = (double)block->member_count;
    for (size_t k = 0; k < block->member_count && k < most; k++) {
        size_t j = block->members[k];
        double *to = share + 1 + k * fields;
        to[COLUMN] = (double)(columns->X.first + j);
        to[MEAN] = columns->mean[j];
        to[NORM] = columns->norm[j];
        to[L1] = columns->l1[j];
        to[L2] = columns->l2[j];
        memcpy(to + FIRST, alpha + j * q, q * sizeof *to);
        memcpy(to + FIRST + q, block->gradient + j * q, q * sizeof *to);
    }
    return 1 + (block->member_count < most ? block->member_count : most) * fields;
}

hawser_status hw_multitask_joint_new(hw_multitask_block *block, const hawser_matrix *whole, hawser_error *error)
{
    hw_multitask_block *joint = calloc(1, sizeof *joint);
    if (joint == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a joint working set");
    block->joint = joint;
    joint->linear = block->linear;
    joint->outputs = block->outputs;
    HAWSER_TRY(hw_multitask_allocate(joint, whole, error));
    return hw_linear_new_doubles(&block->joint_alpha, whole->cols * block->outputs, error);
}

static void take_member(hw_multitask_block *joint, double *alpha, const double *fields)
{
    size_t j = (size_t)fields[COLUMN], q = joint->outputs;
    joint->columns.mean[j] = fields[MEAN];
    joint->columns.norm[j] = fields[NORM];
    joint->columns.l1[j] = fields[L1];
    joint->columns.l2[j] = fields[L2];
    joint->columns.lower[j] = -INFINITY;
    joint->columns.upper[j] = INFINITY;
    memcpy(alpha + j * q, fields + FIRST, q * sizeof *alpha);
    memcpy(joint->gradient + j * q, fields + FIRST + q, q * sizeof *alpha);
    joint->members[joint->member_count++] = (uint32_t)j;
}

hawser_status hw_multitask_joint_union(hw_multitask_block *block, const hawser_matrix *whole, const double *sets,
                                       hawser_error *error)
{
    const hw_linear *linear = block->linear;
    hw_linear_sets members = hw_linear_sets_of(linear, hw_multitask_joint_fields(linear), sets);
    if (block->joint == NULL)
        HAWSER_TRY(hw_multitask_joint_new(block, whole, error));
    hw_multitask_block *joint = block->joint;
    joint->columns.X = *whole;
    joint->columns.weights = block->row_weights;
    joint->columns.total = block->columns.total;
    joint->columns.centred = block->columns.centred;
    joint->fresh = linear->problem.free_count == 0; /* else the gradients are those of projected residuals */
    joint->member_count = 0;
    HAWSER_TRY(hw_multitask_reserve(joint, hw_linear_sets_count(&members), error));
    for (const double *fields = hw_linear_sets_next(&members); fields != NULL; fields = hw_linear_sets_next(&members))
        take_member(joint, block->joint_alpha, fields);
    return HAWSER_OK;
}

hawser_status hw_multitask_joint_solve(hw_multitask_block *block, const hw_multitask_round *round, hawser_error *error)
{
    hw_multitask_block *joint = block->joint;
    size_t n = block->columns.X.rows, q = block->outputs, first = block->columns.X.first;
    hw_multitask_round together = *round;
    together.alpha = block->joint_alpha;
    together.image = NULL;
    together.gain = 1.0;
    joint->use_gram =
        hw_linear_gram_pays(&joint->gram, &joint->columns, joint->members, joint->member_count, HW_LINEAR_LARGEST_GRAM);
    memcpy(joint->residual, block->residual, n * q * sizeof *joint->residual);
    memcpy(joint->sum, block->sum, q * sizeof *joint->sum);
    joint->square = block->square;
    HAWSER_TRY(hw_multitask_descend(joint, &together, error));
    double *solution = realloc(block->solution, (block->member_count * q + 1) * sizeof *solution);
    if (solution == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu coefficients", block->member_count * q);
    block->solution = solution;
    block->solved = block->member_count;
    for (size_t k = 0; k < block->member_count; k++)
        memcpy(solution + k * q, block->joint_alpha + (first + block->members[k]) * q, q * sizeof *solution);
    return HAWSER_OK;
}
