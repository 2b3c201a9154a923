/*
 * members.c - a model starts from that of a smaller C: the primal from its coefficients, and dual variables grow as C does,
 * so that those at an end stay there. The first model of a fold starts from zero.
 */
#include "algorithms/svm/members.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/model/transpose.h"
#include "algorithms/model/unit.h"
#include "algorithms/svm/hessian.h"
#include "algorithms/svm/primal.h"
#include "algorithms/svm/units.h"
#include "hawser/row_kernels.h"

/* ---- the start of a model ---- */

static void scale(double *numbers, size_t count, double factor)
{
    for (size_t e = 0; e < count; e++)
        numbers[e] *= factor;
}

/* Multiplies what a block keeps by `factor`: the dual variables, and what is made of them. */
static void start_from_last(hw_svm_block *b, double factor)
{
    size_t k = b->svm->path.outputs;
    if (b->newton) {
        memcpy(b->primal.W, b->primal.best, b->width * k * sizeof *b->primal.W);
        if (factor == 0.0)
            scale(b->primal.W, b->width * k, 0.0);
        memset(b->primal.lines, 0, k * sizeof *b->primal.lines);
        if (b->primal.centres != NULL)
            scale(b->primal.centres, b->X.rows * k, factor);
        return;
    }
    scale(b->w, b->problems * b->width, factor);
    for (size_t p = b->first; p < b->first + b->problems; p++) {
        double *beta = hw_svm_dual(b, p);
        scale(beta, b->X.rows, factor);
        for (size_t i = 0; factor > 0.0 && i < b->X.rows; i++)
            if (hw_svm_weight(b, i) > 0.0) { /* not past an end by rounding */
                hw_svm_row row = hw_svm_row_at(b, p, i);
                beta[i] = fmin(row.high, fmax(row.low, beta[i]));
            }
    }
}

/* Copies `bytes` of the block to the fold's place in `kept`, or back. */
static void copy(void *own, void *kept, size_t fold, size_t bytes, bool back)
{
    char *place = (char *)kept + fold * bytes;
    memcpy(back ? own : place, back ? place : own, bytes);
}

/* Keeps the fit of a fold, which has ended, or brings it back. */
static void keep_fold(hw_svm_block *b, size_t fold, bool back)
{
    size_t k = b->svm->path.outputs;
    double *dual = b->newton ? b->primal.centres : b->beta;
    copy(b->memory, b->folds.memory, fold, k * sizeof *b->memory, back);
    copy(b->newton ? b->primal.best : b->best, b->folds.best, fold, k * b->width * sizeof(double), back);
    if (dual != NULL)
        copy(dual, b->folds.dual, fold, hw_svm_block_rows(b) * (b->newton ? k : b->problems) * sizeof *dual, back);
    if (!b->newton)
        copy(b->w, b->folds.w, fold, b->problems * b->width * sizeof *b->w, back);
}

/* Goes on to the turn's fold: keeps the fit of the one before, and brings back the last fit of this one. Returns the factor
 * by which C has grown since, or 0 if there is none. */
static double change_fit(hw_svm_block *b)
{
    const hw_row_turn *turn = &b->own.turn;
    const hw_row_path *path = &b->svm->path;
    if (path->abreast) {
        keep_fold(b, turn->fold > 0 ? turn->fold - 1 : path->choice.folds, false);
        if (turn->member > 0)
            keep_fold(b, turn->fold, true);
    }
    if (b->newton && path->abreast && path->class_weights == NULL)
        hw_svm_hessian_leave_out(b);
    else if (b->newton && (path->abreast || turn->member == 0))
        hw_svm_hessian_forget(b);
    return turn->member > 0 ? hw_svm_cost(b->svm, turn->member) / hw_svm_cost(b->svm, turn->member - 1) : 0.0;
}

hawser_status hw_svm_begin(hawser_context *context, void *block)
{
    hw_svm_block *b = block;
    const hw_row_turn *turn = &b->own.turn;
    double factor = change_fit(b);
    b->C = hw_svm_cost(b->svm, turn->member);
    for (size_t p = 0; p < b->svm->path.outputs; p++) {
        hw_svm_memory *m = &b->memory[p];
        *m = (hw_svm_memory){.sum = factor * m->sum,
                             .centre = factor > 0.0 ? m->centre : 0.0,
                             .low = -INFINITY,
                             .high = INFINITY,
                             .gap = INFINITY};
    }
    start_from_last(b, factor);
    return b->newton ? hw_svm_primal_begin(context, b) : hw_svm_dual_begin(context, b);
}

/* ---- the best model ---- */

void hw_svm_model(void *block, double *numbers)
{
    const hw_svm_block *b = block;
    size_t k = b->svm->path.outputs, d = b->X.cols;
    if (b->newton)
        memcpy(numbers, b->primal.best, k * b->width * sizeof *numbers);
    else
        hw_transpose(b->best, k, b->width, numbers);
    for (size_t p = 0; p < k && b->svm->path.intercept; p++)
        numbers[d * k + p] = hw_centre_undo(&b->svm->path.centre, numbers[d * k + p], 0.0, numbers + p, k);
}

void hw_svm_fields(const void *block, double fields[HW_ROW_FIELDS])
{
    const hw_svm_block *b = block;
    fields[HW_ROW_PARAMETER] = b->C;
    for (size_t p = 0; p < b->svm->path.outputs; p++) {
        fields[HW_ROW_OBJECTIVE] += b->memory[p].high;
        fields[HW_ROW_GAP] += fmax(0.0, b->memory[p].high - b->memory[p].low);
        fields[HW_ROW_ROUNDING] += hw_svm_rounding(&b->memory[p]);
    }
}

/* ---- the error on held-out rows ---- */

/* Returns the error of a row with these margins of shifted rows (--cv-metric). */
static double error_of(const hw_svm_block *b, const double *margins, double target, double weight)
{
    const hw_svm *svm = b->svm;
    double over = svm->regression ? margins[0] - (target - svm->path.centre.target) : 0.0;
    const char *metric = svm->path.choice.metric;
    double sum = 0.0;
    if (strcmp(metric, "accuracy") == 0)
        return hw_classed_decide(&(hw_classed){.labels = svm->path.labels, .problems = svm->path.outputs}, margins) !=
               target;
    if (strcmp(metric, "mae") == 0)
        return fabs(over);
    if (strcmp(metric, "mse") == 0)
        return over * over;
    for (size_t p = 0; p < svm->path.outputs; p++) {
        hw_svm_row row = hw_svm_row_of(svm, b->C, p, target, weight, NULL);
        sum += hw_svm_loss(svm, &row, margins[p]);
    }
    return sum;
}

/* Adds up weights and weighted errors of the held-out rows of the block's own view of the data. `models` is by problem, then
 * by column, for shifted rows. */
static hawser_status add_held_out(hawser_context *context, hw_svm_block *b, const double *models, double *margins,
                                  double sums[2])
{
    const hawser_matrix *X = &b->tiles.X;
    hawser_beside beside;
    HW_UNIT_TRY(context, hawser_dataset_beside(b->svm->path.data, X->first, X->rows, &beside, &error));
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);)
        for (size_t i = 0; i < t.count; i++) {
            size_t row = t.begin + i;
            double weight = beside.weights != NULL ? beside.weights[row] : 1.0;
            if (!(weight > 0.0) || !hw_row_out(&b->svm->path, &b->own.turn, X->first + row))
                continue;
            for (size_t p = 0; p < b->svm->path.outputs; p++)
                margins[p] = hawser_row_dot(&t.X, i, models + p * b->width) + models[(p + 1) * b->width - 1];
            sums[0] += weight;
            sums[1] += weight * error_of(b, margins, beside.target[row], weight);
        }
    return HAWSER_OK;
}

hawser_status hw_svm_held_out(hawser_context *context, void *block, double sums[2])
{
    hw_svm_block *b = block;
    size_t k = b->svm->path.outputs, all = k * b->width;
    double *models = calloc(all + k, sizeof *models);
    if (models == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for %zu models of %zu columns", k, b->X.cols);
    if (b->newton)
        hw_transpose(b->primal.best, b->width, k, models);
    hawser_status status = add_held_out(context, b, b->newton ? models : b->best, models + all, sums);
    free(models);
    return status;
}
