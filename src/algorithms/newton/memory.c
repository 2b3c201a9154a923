/*
 * memory.c - the visit of a block. Weights, moments and penalties are computed anew from the data, and so are Gram matrices:
 * each model has its own. The problem over the working sets of all blocks is made and solved within one unit; what the block
 * has learned from its models remains.
 */
#include "algorithms/solve/memory.h"
#include "algorithms/newton/block.h"
#include "algorithms/newton/program.h"
#include "hawser/job_data.h"

static void visit_point(hawser_record *record, hw_newton_point *point, size_t rows)
{
    hawser_record_bytes(record, point->pull, rows * sizeof *point->pull);
    hawser_record_bytes(record, point->curve, rows * sizeof *point->curve);
    HW_LINEAR_REMEMBER(record, point->loss);
    HW_LINEAR_REMEMBER(record, point->sum);
    HW_LINEAR_REMEMBER(record, point->bend);
    HW_LINEAR_REMEMBER(record, point->intercept);
}

/* Visits the model of the rounds. Members, moments and curvature are those of the point at which it was made. */
static void visit_model(hawser_record *record, hw_newton_quadratic *own, const hw_newton_rows *rows)
{
    hw_linear_columns *columns = &own->columns;
    columns->weights = own->curve;
    columns->centred = rows->intercept;
    HW_LINEAR_REMEMBER(record, columns->total);
    HW_LINEAR_REMEMBER(record, own->scale);
    HW_LINEAR_REMEMBER(record, own->use_gram);
    HW_LINEAR_REMEMBER(record, own->learned.least);
    hawser_record_bytes(record, own->curve, rows->count * sizeof *own->curve);
    hawser_record_bytes(record, columns->mean, columns->X.cols * sizeof *columns->mean);
    hawser_record_bytes(record, columns->norm, columns->X.cols * sizeof *columns->norm);
    hw_linear_members_visit(record, &own->members);
}

static void visit_rounds(hawser_record *record, hw_newton_block *block)
{
    size_t n = block->columns.X.rows, p = block->columns.X.cols;
    bool present = block->rounds_memory != NULL;
    hawser_error error = {0};
    HW_LINEAR_REMEMBER(record, present);
    if (!present)
        return;
    if (hawser_record_reads(record) && hw_newton_block_for_rounds(block, &error) != HAWSER_OK) {
        hawser_record_fail(record, error.status, error.text);
        return;
    }
    hawser_record_bytes(record, block->start, n * sizeof *block->start);
    hawser_record_bytes(record, block->start_alpha, p * sizeof *block->start_alpha);
    HW_LINEAR_REMEMBER(record, block->search.reference);
    visit_model(record, &block->own, &block->rows);
}

static void visit_learned(hawser_record *record, hw_newton_learned *learned)
{
    HW_LINEAR_REMEMBER(record, learned->least);
    HW_LINEAR_REMEMBER(record, learned->random);
    HW_LINEAR_REMEMBER(record, learned->settled);
}

static void visit_all(hawser_record *record, hawser_context *context, hw_newton_block *block)
{
    bool present = block->whole_v != NULL;
    hawser_error error = {0};
    HW_LINEAR_REMEMBER(record, present);
    if (!present)
        return;
    if (hawser_record_reads(record)) {
        const hawser_matrix *whole;
        if (hawser_data_fetch(context, "whole", NULL, 0) != HAWSER_OK || hawser_read(context, "whole", &whole) != HAWSER_OK)
            return;
        if (hw_newton_block_for_all(block, whole, hw_linear_most_members(block->linear), &error) != HAWSER_OK) {
            hawser_record_fail(record, error.status, error.text);
            return;
        }
    }
    visit_learned(record, &block->whole.learned);
    visit_learned(record, &block->learned_together);
}

static hawser_status prepare(hawser_context *context, uint32_t fold, hawser_error *error)
{
    HAWSER_READ(context, hawser_matrix, X);
    return hw_newton_block_prepare(hawser_scratch(context), hawser_user(context), X, fold, NULL, error);
}

bool hw_newton_visit(hawser_record *record, hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    const hw_linear *linear = hawser_user(context);
    const hw_linear_solver *solver = linear->choices.settings.solver;
    if (!hw_linear_prepared_visit(record, context, block->linear != NULL, &block->fold, prepare))
        return false;
    visit_point(record, &block->point, block->rows.count);
    hawser_record_bytes(record, block->dual.theta, block->rows.count * sizeof *block->dual.theta);
    hw_linear_scan_visit(record, &block->scan, &block->columns.X);
    visit_rounds(record, block);
    visit_all(record, context, block);
    if (solver->visit != NULL)
        solver->visit(record, block->solver, &block->columns);
    return true;
}
