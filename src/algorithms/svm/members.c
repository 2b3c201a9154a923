/*
 * members.c - a model starts from that of a smaller C: the primal from its coefficients, and dual variables grow as C does, so that those at an end
 * stay there. The first model of a fold starts from zero.
 */
#include "algorithms/svm/members.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/svm/model.h"
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
    size_t k = b->svm->problems;
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

hawser_status hw_svm_next_member(hawser_context *context, hw_svm_block *b)
{
    double before = b->C;
    if (!hw_row_go_on(&b->svm->path, &b->turn, b->iteration))
        return HAWSER_OK;
    b->C = hw_svm_cost(b->svm, b->turn.member);
    b->iteration = 0;
    double factor = b->turn.member > 0 ? b->C / before : 0.0;
    for (size_t p = 0; p < b->svm->problems; p++) {
        hw_svm_memory *m = &b->memory[p];
        *m = (hw_svm_memory){.sum = factor * m->sum,
                             .centre = factor > 0.0 ? m->centre : 0.0,
                             .low = -INFINITY,
                             .high = INFINITY,
                             .gap = INFINITY};
    }
    start_from_last(b, factor);
    return b->newton ? hw_svm_primal_begin(context, b) : hw_svm_begin(context, b);
}

/* ---- the end of a model ---- */

/* Returns a number of the best model, for shifted rows. */
static double own_at(const hw_svm_block *b, size_t column, size_t problem)
{
    return b->newton ? b->primal.best[column * b->svm->problems + problem] : b->best[problem * b->width + column];
}

/* Returns a number of the best model, for rows as they are. */
static double best_at(const hw_svm_block *b, size_t column, size_t problem)
{
    double own = own_at(b, column, problem);
    const double *first = b->newton ? b->primal.best + problem : b->best + problem * b->width;
    if (column < b->X.cols || !b->svm->intercept)
        return own;
    return hw_centre_undo(&b->svm->centre, own, 0.0, first, b->newton ? b->svm->problems : 1);
}

static void find_fields(const hw_svm_block *b, const hw_svm_total *total, double fields[HW_ROW_FIELDS])
{
    fields[HW_ROW_DONE] = 1.0;
    fields[HW_ROW_PARAMETER] = b->C;
    fields[HW_ROW_OBJECTIVE] = total->objective;
    fields[HW_ROW_GAP] = total->gap;
    fields[HW_ROW_ROUNDING] = total->rounding;
}

void hw_svm_keep(hawser_context *context, const hw_svm_block *b, const hw_svm_total *total)
{
    double fields[HW_ROW_FIELDS] = {0};
    size_t first = 0, count = hawser_part(context, "models", &first);
    double *share = count > 0 ? hawser_local(context, "models") : NULL;
    for (size_t e = first; b->turn.fold == 0 && e < first + count; e++)
        share[e - first] = best_at(b, e % b->width, e / b->width);
    find_fields(b, total, fields);
    if (hw_row_keeps_lowest(&b->svm->path))
        hw_row_keep(context, &b->svm->path, &b->turn, fields);
}

/* Computes the error of the best models on the validation data, on node 0. */
static hawser_status find_error(const hw_svm_block *b, double *wrong, hawser_error *error)
{
    size_t k = b->svm->problems, all = k * b->width;
    double *models = calloc(all, sizeof *models);
    if (models == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu models of %zu columns", k, b->X.cols);
    for (size_t e = 0; e < all; e++)
        models[e] = best_at(b, e / k, e % k);
    hawser_status status = hw_svm_validation_error(b->svm, models, wrong, error);
    free(models);
    return status;
}

hawser_status hw_svm_validate(hawser_context *context, hw_svm_block *b, bool *keep)
{
    const hw_svm *svm = b->svm;
    double wrong = INFINITY;
    hawser_error error = {0};
    *keep = true;
    if (!hw_row_validates(&svm->path, &b->turn))
        return HAWSER_OK;
    if (hawser_block(context) == 0 && find_error(b, &wrong, &error) != HAWSER_OK)
        return hawser_unit_fail(context, error.status, "%s", error.text);
    HAWSER_TRY(hw_row_take_error(context, &svm->path, &b->turn, wrong, keep));
    wrong = b->turn.early.error;
    HAWSER_TRY(hawser_report(context, hw_svm_validation_name(svm), svm->regression ? wrong : 1.0 - wrong));
    return hawser_report(context, "evaluations", (double)b->turn.early.evaluations);
}

/* Returns the error of a row with these margins of shifted rows (--cv-metric). */
static double error_of(const hw_svm_block *b, const double *margins, double target, double weight)
{
    const hw_svm *svm = b->svm;
    double over = svm->regression ? margins[0] - (target - svm->centre.target) : 0.0;
    const char *metric = svm->path.choice.metric;
    double sum = 0.0;
    if (strcmp(metric, "accuracy") == 0)
        return hw_svm_decide(svm->labels, svm->problems, margins) != target;
    if (strcmp(metric, "mae") == 0)
        return fabs(over);
    if (strcmp(metric, "mse") == 0)
        return over * over;
    for (size_t p = 0; p < svm->problems; p++) {
        hw_svm_row row = hw_svm_row_of(svm, b->C, p, target, weight, NULL);
        sum += hw_svm_loss(svm, &row, margins[p]);
    }
    return sum;
}

/* Adds up weights and weighted errors of the held-out rows of the block's own view of the data. `models` is by problem, then by column, for shifted
 * rows. */
static hawser_status add_held_out(hawser_context *context, hw_svm_block *b, const double *models, double *margins,
                                  double sums[2])
{
    const hawser_matrix *X = &b->tiles.X;
    hawser_beside beside;
    hawser_error error = {0};
    if (hawser_dataset_beside(b->svm->data, X->first, X->rows, &beside, &error) != HAWSER_OK)
        return hawser_unit_fail(context, error.status, "%s", error.text);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);)
        for (size_t i = 0; i < t.count; i++) {
            size_t row = t.begin + i;
            double weight = beside.weights != NULL ? beside.weights[row] : 1.0;
            if (!(weight > 0.0) || !hw_row_out(&b->svm->path, &b->turn, X->first + row))
                continue;
            for (size_t p = 0; p < b->svm->problems; p++)
                margins[p] = hawser_row_dot(&t.X, i, models + p * b->width) + models[(p + 1) * b->width - 1];
            sums[0] += weight;
            sums[1] += weight * error_of(b, margins, beside.target[row], weight);
        }
    return HAWSER_OK;
}

hawser_status hw_svm_end_member(hawser_context *context, hw_svm_block *b, const hw_svm_total *total, hw_row_end *ended)
{
    size_t k = b->svm->problems, d = b->X.cols, all = k * b->width;
    double fields[HW_ROW_FIELDS] = {0};
    double *models = calloc(2 * all + k, sizeof *models), *by_column = models + all, sums[2] = {0.0, 0.0};
    hawser_status status = HAWSER_OK;
    if (models == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for %zu models of %zu columns", k, d);
    find_fields(b, total, fields);
    for (size_t e = 0; e < all; e++) {
        by_column[e] = best_at(b, e / k, e % k);
        models[e % k * b->width + e / k] = own_at(b, e / k, e % k);
    }
    if (b->turn.fold > 0) {
        status = add_held_out(context, b, models, by_column + all, sums);
        if (status == HAWSER_OK)
            status = hawser_allreduce(context, sums, 2, HAWSER_SUM);
        fields[HW_ROW_WEIGHT] = sums[0];
        fields[HW_ROW_ERROR] = sums[1] / sums[0];
    }
    if (status == HAWSER_OK)
        *ended = hw_row_finish(context, &b->svm->path, &b->turn, by_column, fields, *ended);
    free(models);
    return status;
}
