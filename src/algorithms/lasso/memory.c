/*
 * memory.c - the visit of a block. Weights, moments and penalties are computed anew from the data. The joint problem's Gram
 * matrix belongs to the process; a block remembers its step in it. The numbers of a search over all blocks are not needed
 * once its unit has returned.
 */
#include "algorithms/lasso/parts.h"

#include "algorithms/lasso/block.h"
#include "algorithms/lasso/joint.h"
#include "algorithms/solve/memory.h"
#include "hawser/job_data.h"

static void visit_residual(hawser_record *record, hw_lasso_block *block)
{
    if (hawser_record_reads(record))
        hw_lasso_block_own(block);
    hawser_record_bytes(record, block->residual, block->columns.X.rows * sizeof *block->residual);
    HW_LINEAR_REMEMBER(record, block->sum);
    HW_LINEAR_REMEMBER(record, block->square);
    HW_LINEAR_REMEMBER(record, block->intercept);
    HW_LINEAR_REMEMBER(record, block->fresh);
    block->kept = block->kept && !hawser_record_reads(record);
}

/* The union of one unit is solved in a later one. */
static void visit_joint(hawser_record *record, hawser_context *context, hw_lasso_block *block)
{
    hw_lasso_joint *joint = &block->joint;
    hw_linear_members *members = &joint->members;
    HW_LINEAR_REMEMBER(record, joint->step);
    if (joint->step == 0)
        return;
    if (hawser_record_reads(record)) {
        const hawser_matrix *whole;
        if (hawser_data_fetch(context, "whole", NULL, 0) != HAWSER_OK || hawser_read(context, "whole", &whole) != HAWSER_OK)
            return;
        hw_lasso_joint_bind(block, whole);
    }
    hw_linear_members_visit(record, members);
    hawser_record_bytes(record, members->gradient, members->count * sizeof *members->gradient);
    hawser_record_bytes(record, members->start, members->count * sizeof *members->start);
    hawser_record_bytes(record, members->x, members->count * sizeof *members->x);
    HW_LINEAR_REMEMBER(record, joint->plan);
}

static hawser_status prepare(hawser_context *context, uint32_t fold, hawser_error *error)
{
    HAWSER_READ(context, hawser_matrix, X);
    return hw_lasso_block_prepare(hawser_scratch(context), hawser_user(context), X, fold, error);
}

void hw_lasso_visit(hawser_record *record, hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    const hw_linear *lasso = hawser_user(context);
    const hw_linear_solver *solver = lasso->choices.settings.solver;
    if (!hw_linear_prepared_visit(record, context, block->lasso != NULL, &block->fold, prepare))
        return;
    visit_residual(record, block);
    hw_linear_scan_visit(record, &block->scan, &block->columns.X);
    hw_linear_accelerator_visit(record, &block->accelerator);
    HW_LINEAR_REMEMBER(record, block->joint_stale);
    visit_joint(record, context, block);
    if (solver->visit != NULL)
        solver->visit(record, block->solver, &block->columns);
}
