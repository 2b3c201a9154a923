/* memory.c - the visit of a block. Weights, moments and penalties are computed anew from the data, and every round computes
 * the residuals anew. A round also computes the members' gradients anew, with the same bits, if it does not know that the
 * last scan's are fresh. */
#include "algorithms/multitask/parts.h"

#include "algorithms/multitask/joint.h"
#include "algorithms/solve/memory.h"
#include "hawser/job_data.h"

static void visit_members(hawser_record *record, hw_multitask_block *block)
{
    HW_LINEAR_REMEMBER(record, block->member_count);
    hawser_record_array(record, (void **)&block->members, sizeof *block->members, block->member_count, 0);
    if (hawser_record_reads(record))
        block->member_capacity = block->member_count;
    HW_LINEAR_REMEMBER(record, block->use_gram);
    hw_linear_gram_visit(record, &block->gram, block->columns.X.cols);
}

/* The union's members are posted anew for each solution; its Gram matrix and the solution are kept. */
static void visit_joint(hawser_record *record, hawser_context *context, hw_multitask_block *block)
{
    bool exists = block->joint != NULL;
    hawser_error error = {0};
    HW_LINEAR_REMEMBER(record, exists);
    if (!exists)
        return;
    if (hawser_record_reads(record)) {
        const hawser_matrix *whole;
        if (hawser_data_fetch(context, "whole", NULL, 0) != HAWSER_OK || hawser_read(context, "whole", &whole) != HAWSER_OK)
            return;
        if (hw_multitask_joint_new(block, whole, &error) != HAWSER_OK) {
            hawser_record_fail(record, error.status, error.text);
            return;
        }
    }
    hw_linear_gram_visit(record, &block->joint->gram, block->joint->columns.X.cols);
    HW_LINEAR_REMEMBER(record, block->solved);
    hawser_record_array(record, (void **)&block->solution, sizeof *block->solution, block->solved * block->outputs, 0);
}

static hawser_status prepare(hawser_context *context, uint32_t fold, hawser_error *error)
{
    HAWSER_READ(context, hawser_matrix, X);
    return hw_multitask_prepare(hawser_scratch(context), hawser_user(context), X, fold, error);
}

void hw_multitask_visit(hawser_record *record, hawser_context *context)
{
    hw_multitask_block *block = hawser_scratch(context);
    if (!hw_linear_prepared_visit(record, context, block->linear != NULL, &block->fold, prepare))
        return;
    size_t p = block->columns.X.cols, q = block->outputs;
    hawser_record_bytes(record, block->intercept, q * sizeof *block->intercept);
    hawser_record_bytes(record, block->gradient, p * q * sizeof *block->gradient);
    for (size_t j = 0; j < p && hawser_record_reads(record); j++)
        hw_multitask_measure_gradient(block, j);
    visit_members(record, block);
    visit_joint(record, context, block);
}
