/*
 * primal.c - the generalised second derivative of a squared loss is that of the rows with loss, so Newton's method ends
 * after some steps. Its equations are solved by conjugate gradients with a diagonal preconditioner, on the matrix where
 * columns are few (hessian.h). The length of a step is exact (Keerthi and DeCoste 2005),
 * unless a squared loss takes the whole step.
 *
 * The other losses have kinks. The augmented Lagrangian rounds each by a quadratic piece that is `width` wide, around a
 * centre of the row's dual variable (Yan and Li 2020). Once Newton's method has nearly found the optimum, the dual variables
 * become the centres, and the width shrinks. If no row has a dual variable, or some steps were in vain, the width is far
 * below what small dual variables need, and grows: between pieces that narrow, steps go to and fro.
 *
 * The certificate takes the dual variables from the losses' derivatives. A free intercept makes them add up to zero: the
 * heavier side is scaled.
 */
#include "algorithms/svm/primal.h"

#include <string.h>

#include "algorithms/model/add.h"
#include "algorithms/model/rounding.h"
#include "algorithms/newton/row_squares.h"
#include "algorithms/svm/hessian.h"
#include "algorithms/svm/pass.h"

enum { CONJUGATE_MOST = 250, SEARCH_MOST = 40 };
/* The width grows after so many iterations without a smaller gap, and again after each further IDLE_GROWS: sooner, it would
 * grow while steps are still short. */
enum { IDLE_FIRST = 8, IDLE_GROWS = 32 };
/* Iterations without a smaller gap after which a problem ends: if rounding may be the gap, and if not. */
enum { IDLE_MOST = 50, IDLE_LAST = 1000 };

/* Factors of the width. With a smaller one for shrinking there are fewer steps, each of more conjugate gradients. */
static const double shrinking = 0.7, growing = 16.0;
/* Shares of the slope at the start that may be left after a step, and after a whole step for a squared loss that does not
 * raise the objective. Any other length takes one more product with the rows there. */
static const double exact = 1e-3, whole = 0.35;

/* ---- the model's objective and bound ---- */

/* A lower bound of the optimum: the dual objective of the dual variables of one sign, then of the other, times factors. */
typedef struct low_bound {
    double value, factor[2];
} low_bound;

/* What the dual objective of a problem is made of: per side, the linear part, and the square without that of the model. */
typedef struct dual_parts {
    const double *sums; /* of the model, by column: of one side, and `count` numbers behind it of the other */
    size_t columns, count;
    double linear[2], square[2];
    bool squared;
} dual_parts;

/* Finds the best common factor of both sides in addition to these factors, and the objective. */
static low_bound bound_at(const dual_parts *of, double first, double second)
{
    double linear = first * of->linear[0] + second * of->linear[1];
    double square = first * first * of->square[0] + second * second * of->square[1];
    for (size_t j = 0; j < of->columns; j++) {
        double w = first * of->sums[j * 2 * of->count] + second * of->sums[j * 2 * of->count + of->count];
        square += w * w;
    }
    if (!(linear > 0.0 && (square > 0.0 || !of->squared)))
        return (low_bound){0.0, {0.0, 0.0}};
    double common = of->squared || square > linear ? linear / square : 1.0; /* not past an end */
    return (low_bound){common * linear - 0.5 * common * common * square, {common * first, common * second}};
}

/* Finds the bound with the best factor of each side, where neither end nor constraint limits them. Rounding errors of the
 * products make the factors worse, and not the bound. */
static low_bound bound_by_sides(const dual_parts *of)
{
    double own[2] = {of->square[0], of->square[1]}, both = 0.0;
    for (size_t j = 0; j < of->columns; j++) {
        double first = of->sums[j * 2 * of->count], second = of->sums[j * 2 * of->count + of->count];
        own[0] += first * first;
        own[1] += second * second;
        both += first * second;
    }
    double det = own[0] * own[1] - both * both, first = of->linear[0] * own[1] - of->linear[1] * both,
           second = of->linear[1] * own[0] - of->linear[0] * both;
    if (!(det > 0.0 && first > 0.0 && second > 0.0 && isfinite(first / det) && isfinite(second / det)))
        return (low_bound){0.0, {0.0, 0.0}};
    return bound_at(of, first / det, second / det);
}

/* Returns the better bound from the sums in block->primal.reduced, for problem `s` of `count`. A free intercept balances the
 * sides. */
static low_bound bound_of(const hw_svm_block *b, size_t s, size_t count)
{
    const double *sums = b->primal.reduced + s, *scalars = b->primal.reduced + b->width * 2 * count + s * HW_SVM_SCALARS;
    double sides[2] = {sums[b->X.cols * 2 * count], -sums[b->X.cols * 2 * count + count]}, factor[2] = {1.0, 1.0};
    dual_parts of = {.sums = sums, .columns = b->X.cols, .count = count, .squared = b->svm->squared};
    size_t heavier = sides[1] > sides[0];
    if (b->svm->path.intercept && sides[heavier] > 0.0)
        factor[heavier] = sides[!heavier] / sides[heavier];
    for (size_t k = 0; k < 2; k++) {
        of.linear[k] = scalars[HW_SVM_TARGET + k] - b->svm->epsilon * sides[k];
        of.square[k] = scalars[HW_SVM_SQUARE + k];
    }
    low_bound common = bound_at(&of, factor[0], factor[1]);
    low_bound apart = b->svm->squared && !b->svm->path.intercept ? bound_by_sides(&of) : common;
    return apart.value > common.value ? apart : common;
}

/* Bounds the rounding errors of a problem's objective and of its bound. The objective has margins, which are sums over
 * columns, times the slopes a_i of the losses. The bound has sums over rows of dual variables, for which a_i stands here
 * too. And sum_i a_i |x_ij| is at most the root of sum_i a_i^2 / c_i times sum_i c_i x_ij^2. */
static hw_svm_errors errors_of(const hw_svm_block *b, size_t s, size_t count, size_t problem, const low_bound *of)
{
    const hw_svm_primal *q = &b->primal;
    const double *sums = q->reduced + s, *scalars = q->reduced + b->width * 2 * count + s * HW_SVM_SCALARS;
    const double *of_classes = hw_row_class_weights(&b->svm->path, &b->own.turn);
    size_t k = b->svm->path.outputs, d = b->X.cols;
    double class = 1.0, size = b->svm->regression ? sqrt(q->squares[d]) : 0.0, slopes = scalars[HW_SVM_SLOPES];
    double betas = sums[d * 2 * count] - sums[d * 2 * count + count];
    double square = 2.0 * (scalars[HW_SVM_SQUARE] + scalars[HW_SVM_SQUARE + 1]), rest = 1.0 + b->svm->epsilon;
    double most = fmax(1.0, fmax(of->factor[0], of->factor[1]));
    for (size_t c = 0; of_classes != NULL && c < b->svm->path.classes; c++)
        class = fmax(class, of_classes[c]);
    for (size_t j = 0; j < d; j++) {
        double first = sums[j * 2 * count], second = sums[j * 2 * count + count], w = fabs(q->W[j * k + problem]);
        double dual = fmax(fabs(first + second), fabs(of->factor[0] * first + of->factor[1] * second));
        size += fmax(w, dual) * sqrt(q->squares[j]);
    }
    size *= sqrt(b->C * class * b->memory[problem].weight);
    double of_columns = hw_rounding((double)d + 4.0), of_rows = hw_rounding((double)b->svm->path.X->rows + 8.0);
    double primal = size * sqrt(b->svm->squared ? square : slopes) + slopes * (rest + fabs(q->W[d * k + problem]));
    double dual = size * sqrt(b->svm->squared ? square : betas) + betas * rest + square;
    return (hw_svm_errors){of_columns * primal + of_rows * scalars[HW_SVM_LOSS],
                           most * most * (of_rows + of_columns) * dual};
}

/* Stores the gradient of a problem. Returns the objective. */
static double take_gradient(hw_svm_block *b, size_t s, size_t count, size_t problem)
{
    hw_svm_primal *q = &b->primal;
    size_t k = b->svm->path.outputs, d = b->X.cols;
    double half = 0.0;
    for (size_t j = 0; j <= d; j++) {
        const double *sums = q->reduced + j * 2 * count + s;
        double w = j < d ? q->W[j * k + problem] : 0.0;
        q->gradient[j * k + problem] = w - sums[0] - sums[count];
        half += 0.5 * w * w;
    }
    if (!b->svm->path.intercept)
        q->gradient[d * k + problem] = 0.0;
    return half + q->reduced[b->width * 2 * count + s * HW_SVM_SCALARS + HW_SVM_LOSS];
}

/* Notes the objective and the bound of W, with these rounding errors, and whether there is more to do. */
static void judge(hw_svm_block *b, size_t problem, double objective, double low, hw_svm_errors errors)
{
    hw_svm_memory *m = &b->memory[problem];
    bool risen = objective > m->high * (1.0 + 1e-14) || (objective >= m->high && !(low > m->low));
    if (hw_svm_lower(m, objective, errors.objective))
        for (size_t e = problem; e < b->width * b->svm->path.outputs; e += b->svm->path.outputs)
            b->primal.best[e] = b->primal.W[e];
    hw_svm_raise(m, low, errors.bound);
    m->done = hw_svm_is_done(m, b->svm->path.tolerance);
    m->idle = m->high - m->low < 0.999 * m->gap && m->gap > 0.0 ? 0 : m->idle + 1;
    if (m->idle == 0)
        m->gap = m->high - m->low;
    m->stuck = b->svm->squared ? risen : m->idle >= (m->gap <= hw_svm_rounding(m) ? IDLE_MOST : IDLE_LAST);
}

/* Returns whether W is near enough to the optimum for these centres. */
static bool is_settled(const hw_svm_block *b, size_t s, size_t count, size_t problem)
{
    size_t k = b->svm->path.outputs, d = b->X.cols;
    const double *last = b->primal.reduced + d * 2 * count + s;
    double square = 0.0, sum = b->primal.gradient[d * k + problem], sides = last[0] - last[count];
    double moved = b->primal.reduced[b->width * 2 * count + s * HW_SVM_SCALARS + HW_SVM_MOVED];
    for (size_t e = problem; e < d * k; e += k)
        square += b->primal.gradient[e] * b->primal.gradient[e];
    return square <= moved && (sum * sum <= moved * b->primal.lines[problem].bends || fabs(sum) <= 1e-12 * sides);
}

static hawser_status sum_up(hawser_context *context, hw_svm_block *b, const size_t *list, size_t count)
{
    static const hw_addends derivatives = {.rest = "the losses of rows and their derivatives",
                                           .of = "columns, target or weights"};
    if (!b->primal.looked)
        hw_svm_look(b, list, count);
    b->primal.looked = false;
    return hw_add_up(context, b->primal.reduced, (b->width * 2 + HW_SVM_SCALARS) * count, &derivatives);
}

/* Returns whether the width is too small: no row has a dual variable that is not 0, or steps are in vain. */
static bool is_narrow(const hw_svm_block *b, size_t s, size_t count, size_t problem)
{
    const double *last = b->primal.reduced + b->X.cols * 2 * count + s;
    const uint64_t idle = b->memory[problem].idle;
    return (last[0] == 0.0 && last[count] == 0.0) || idle % IDLE_GROWS == IDLE_FIRST;
}

/* Gives the first `settled` of these problems new centres, and all new widths, and computes their gradients. */
static hawser_status renew(hawser_context *context, hw_svm_block *b, const size_t *list, size_t settled, size_t count)
{
    if (count == 0)
        return HAWSER_OK;
    if (settled > 0)
        hw_svm_recentre(b, list, settled);
    for (size_t s = 0; s < count; s++)
        b->memory[list[s]].width *= s < settled ? shrinking : growing;
    HAWSER_TRY(sum_up(context, b, list, count));
    for (size_t s = 0; s < count; s++)
        take_gradient(b, s, count, list[s]);
    return HAWSER_OK;
}

/* Looks at the step, or at the first model. */
static hawser_status look(hawser_context *context, hw_svm_block *b, size_t count)
{
    hw_svm_primal *q = &b->primal;
    size_t settled = 0, narrow = 0;
    HAWSER_TRY(sum_up(context, b, q->open, count));
    for (size_t s = 0; s < count; s++) {
        size_t problem = q->open[s];
        low_bound found = bound_of(b, s, count);
        double objective = take_gradient(b, s, count, problem);
        if (!isfinite(objective))
            return hawser_unit_fail(
                context, HAWSER_NOT_FINITE,
                "the objective is not finite: the data have numbers that are too large; scale their columns");
        judge(b, problem, objective, found.value, errors_of(b, s, count, problem, &found));
        if (b->svm->squared || b->memory[problem].done)
            continue;
        if (is_settled(b, s, count, problem))
            q->running[settled++] = problem;
        else if (is_narrow(b, s, count, problem))
            q->running[count - ++narrow] = problem;
    }
    memmove(q->running + settled, q->running + count - narrow, narrow * sizeof *q->running);
    return renew(context, b, q->running, settled, settled + narrow);
}

/* ---- the step ---- */

static size_t list_open(hw_svm_block *b)
{
    size_t count = 0;
    for (size_t p = 0; p < b->svm->path.outputs; p++)
        if (!b->memory[p].done && !b->memory[p].stuck)
            b->primal.open[count++] = p;
    return count;
}

/* Computes the inverse diagonal of an estimate of the second derivative: mean squares of columns times the sum of the
 * losses' bends. */
static hawser_status find_conditions(hawser_context *context, hw_svm_block *b, size_t count)
{
    hw_svm_primal *q = &b->primal;
    size_t k = b->svm->path.outputs, d = b->X.cols;
    hw_svm_bends(b, q->open, count);
    HAWSER_TRY(hawser_allreduce(context, q->reduced, count, HAWSER_SUM));
    for (size_t s = 0; s < count; s++)
        q->lines[q->open[s]].bends = q->reduced[s];
    for (size_t j = 0; j <= d; j++)
        for (size_t s = 0; s < count; s++) {
            double bend = j < d ? 1.0 + q->squares[j] * q->reduced[s] : q->reduced[s];
            q->conditioned[j * k + q->open[s]] = bend > 0.0 ? 1.0 / bend : 1.0;
        }
    return HAWSER_OK;
}

/* Makes the larger part of the gradient the step: without a bend an intercept has no second derivative, and its best value
 * may be far away. */
static void step_without_bend(hw_svm_block *b, size_t problem)
{
    hw_svm_primal *q = &b->primal;
    size_t k = b->svm->path.outputs, last = b->X.cols * k + problem;
    double square = 0.0, own = q->gradient[last] * q->gradient[last];
    for (size_t e = problem; e < last; e += k)
        square += q->gradient[e] * q->gradient[e];
    for (size_t e = problem; e <= last; e += k)
        q->step[e] = (e == last) == (own > square) ? -q->gradient[e] : 0.0;
}

/* Returns the share of the gradient that conjugate gradients may leave. It falls with the gradient, so that steps converge
 * quickly, but the last step need not do more than the tolerance asks for: where the second derivative hardly changes, the
 * gap falls by the square of the share. */
static double share_of(const hw_svm_block *b, const hw_svm_memory *m, double slope)
{
    if (!b->svm->squared)
        return 0.1;
    if (b->primal.by_matrix)
        return 1e-3;
    double enough = sqrt(b->svm->path.tolerance * m->high / (m->high - m->low));
    return fmin(0.1, fmax(sqrt(slope / m->slope), enough));
}

/* Starts conjugate gradients of a problem. Returns whether there is a step to find. */
static bool start(hw_svm_block *b, size_t problem)
{
    hw_svm_primal *q = &b->primal;
    hw_svm_line *line = &q->lines[problem];
    size_t k = b->svm->path.outputs;
    hw_svm_memory *m = &b->memory[problem];
    double slope = 0.0, rate = 0.0;
    if (!(line->bends > 0.0)) {
        step_without_bend(b, problem);
        return false;
    }
    for (size_t e = problem; e < b->width * k; e += k) {
        double g = q->gradient[e];
        q->step[e] = 0.0;
        q->residual[e] = -g;
        q->direction[e] = -g * q->conditioned[e];
        slope += g * g;
        rate += g * g * q->conditioned[e];
    }
    slope = sqrt(slope);
    if (m->slope == 0.0)
        m->slope = slope;
    *line = (hw_svm_line){.bends = line->bends, .rate = rate, .first = rate, .share = share_of(b, m, slope)};
    return rate > 0.0;
}

/* Goes one step of conjugate gradients, with the product in block->primal.reduced. Returns whether there is more to do. */
static bool go(hw_svm_block *b, size_t s, size_t count)
{
    hw_svm_primal *q = &b->primal;
    size_t k = b->svm->path.outputs, d = b->X.cols, problem = q->running[s];
    hw_svm_line *line = &q->lines[problem];
    double curvature = 0.0, next = 0.0;
    for (size_t j = 0; j <= d; j++) {
        double p = q->direction[j * k + problem], *product = &q->reduced[j * count + s];
        if (j < d)
            *product += p;
        curvature += p * *product;
    }
    if (!(curvature > 0.0))
        return false;
    double length = line->rate / curvature;
    for (size_t j = 0; j <= d; j++) {
        size_t e = j * k + problem;
        if (j == d && !b->svm->path.intercept)
            break;
        q->step[e] += length * q->direction[e];
        q->residual[e] -= length * q->reduced[j * count + s];
        next += q->residual[e] * q->residual[e] * q->conditioned[e];
    }
    if (!(next > line->share * line->share * line->first))
        return false;
    for (size_t e = problem; e < b->width * k; e += k)
        q->direction[e] = q->residual[e] * q->conditioned[e] + next / line->rate * q->direction[e];
    line->rate = next;
    return true;
}

/* Makes the matrices of second derivatives, in sums of as many numbers as others have. Their diagonals are the
 * conditions. */
static hawser_status make_matrices(hawser_context *context, hw_svm_block *b, size_t count)
{
    hw_svm_primal *q = &b->primal;
    size_t size = hw_svm_hessian_size(b->width), most = hw_svm_primal_reduces(b->svm), k = b->svm->path.outputs;
    for (size_t s = 0; s < count; s++) {
        size_t problem = q->open[s];
        double *H = hw_svm_hessian_of(b, problem), factor = hw_svm_hessian_factor(b, problem);
        hw_svm_hessian_update(b, problem);
        if (q->share != q->hessian)
            memcpy(H, q->share + problem * size, size * sizeof *H);
        for (size_t at = 0; at < size && q->share != q->hessian; at += most)
            HAWSER_TRY(hawser_allreduce(context, H + at, size - at < most ? size - at : most, HAWSER_SUM));
        for (size_t j = 0, at = 0; j < b->width; at += ++j + 1) {
            double bend = (j < b->X.cols ? 1.0 : 0.0) + factor * H[at];
            q->conditioned[j * k + problem] = bend > 0.0 ? 1.0 / bend : 1.0;
        }
    }
    return HAWSER_OK;
}

/* Computes the products of the running problems' directions. */
static hawser_status multiply(hawser_context *context, hw_svm_block *b, size_t count)
{
    for (size_t s = 0; s < count && b->primal.by_matrix; s++)
        hw_svm_hessian_product(b, b->primal.running[s], s, count);
    if (b->primal.by_matrix)
        return HAWSER_OK;
    hw_svm_bend(b, b->primal.running, count);
    return hawser_allreduce(context, b->primal.reduced, b->width * count, HAWSER_SUM);
}

static hawser_status find_step(hawser_context *context, hw_svm_block *b, size_t open)
{
    hw_svm_primal *q = &b->primal;
    size_t count = 0, round = 0;
    q->by_matrix = hw_svm_hessian_pays(b);
    if (q->by_matrix)
        HAWSER_TRY(make_matrices(context, b, open));
    for (size_t s = 0; s < open; s++)
        if (start(b, q->open[s]))
            q->running[count++] = q->open[s];
    for (; round < CONJUGATE_MOST && count > 0 && !hawser_stopping(context); round++) {
        size_t left = 0, before = count;
        HAWSER_TRY(multiply(context, b, count));
        for (size_t s = 0; s < before; s++)
            if (go(b, s, before))
                q->running[left++] = q->running[s];
        count = left;
    }
    b->memory[0].products = round;
    return HAWSER_OK;
}

/* ---- its length ---- */

/* Improves the length by the derivatives there. `lower`: a whole step for a squared loss does not raise the objective.
 * Returns whether it is not good enough yet. */
static bool improve(hw_svm_line *line, const double along[HW_SVM_ALONG], bool lower)
{
    double slope = along[0] + line->along + line->length * line->square, bend = along[1] + line->square;
    if (fabs(slope) <= (lower ? whole : exact) * line->first)
        return false;
    *(slope < 0.0 ? &line->low : &line->high) = line->length;
    double to = bend > 0.0 ? line->length - slope / bend : INFINITY;
    if (!(to > line->low && to < line->high))
        to = isinf(line->high) ? 2.0 * line->low + 1.0 : 0.5 * (line->low + line->high);
    line->length = to;
    return true;
}

/* Starts at the whole step. For a squared loss block->primal.direction becomes the model after it; for the others it
 * becomes the step, because a difference of margins has too few digits for their narrow pieces. */
static void start_line(hw_svm_block *b, size_t problem)
{
    hw_svm_primal *q = &b->primal;
    hw_svm_line *line = &q->lines[problem];
    size_t k = b->svm->path.outputs;
    *line = (hw_svm_line){.bends = line->bends, .length = 1.0, .high = INFINITY};
    for (size_t e = problem; e < b->width * k; e += k) {
        double step = q->step[e], own = e / k < b->X.cols ? step : 0.0;
        q->direction[e] = b->svm->squared ? q->W[e] + step : step;
        line->first -= step * q->gradient[e];
        line->along += own * q->W[e];
        line->square += own * own;
        line->half += 0.5 * (own + q->W[e]) * (own + q->W[e]) * (e / k < b->X.cols);
    }
    line->first = fabs(line->first);
}

static hawser_status find_lengths(hawser_context *context, hw_svm_block *b, size_t open)
{
    hw_svm_primal *q = &b->primal;
    size_t count = open;
    double *along = q->along;
    for (size_t s = 0; s < open; s++)
        start_line(b, q->open[s]);
    if (b->svm->squared)
        hw_svm_look_ahead(b, q->open, open, along);
    else
        hw_svm_move(b, q->open, open);
    memcpy(q->running, q->open, open * sizeof *q->running);
    for (size_t round = 0; round < SEARCH_MOST && count > 0; round++) {
        size_t left = 0, before = count;
        bool ahead = b->svm->squared && round == 0;
        if (!ahead)
            hw_svm_slope(b, q->running, count, along);
        HAWSER_TRY(hawser_allreduce(context, along, HW_SVM_ALONG * count, HAWSER_SUM));
        for (size_t s = 0; s < before; s++) {
            const double *own = along + HW_SVM_ALONG * s;
            size_t problem = q->running[s];
            bool lower = ahead && own[2] + q->lines[problem].half <= b->memory[problem].high * (1.0 + 1e-14);
            if (improve(&q->lines[problem], own, lower))
                q->running[left++] = problem;
        }
        count = left;
        q->looked = ahead && count == 0; /* the whole steps are taken */
    }
    return HAWSER_OK;
}

/* Takes the steps. Computes the margins, except where a squared loss takes the whole step. */
static void take_steps(hw_svm_block *b, size_t open)
{
    hw_svm_primal *q = &b->primal;
    size_t k = b->svm->path.outputs, count = 0;
    for (size_t s = 0; s < open; s++) {
        size_t problem = q->open[s];
        double length = q->lines[problem].length;
        for (size_t e = problem; e < b->width * k; e += k)
            q->W[e] += length * q->step[e];
        if (length == 1.0 && b->svm->squared)
            hw_svm_arrive(b, problem);
        else
            q->running[count++] = problem;
    }
    if (count > 0)
        hw_svm_refresh(b, q->running, count);
}

static hawser_status step(hawser_context *context, hw_svm_block *b)
{
    hw_svm_primal *q = &b->primal;
    size_t count = list_open(b);
    if (count == 0)
        return HAWSER_OK;
    if (!q->fresh) {
        hw_svm_price(b);
        hw_svm_refresh(b, q->open, count);
    }
    HAWSER_TRY(find_conditions(context, b, count));
    HAWSER_TRY(find_step(context, b, count));
    HAWSER_TRY(find_lengths(context, b, count));
    take_steps(b, count);
    return look(context, b, count);
}

/* ---- a start from some of the rows ---- */

/* A model that starts from zero first makes steps on some of the rows, each on twice as many as the step before: one tile in
 * SAMPLED_TILES at first, or more where these would be fewer rows than SAMPLED_ROWS for each number of the model. */
enum { SAMPLED_TILES = 16, SAMPLED_ROWS = 8 };

/* Returns one tile in how many the first step is to visit; 1 if there is to be no such step. Several blocks would have to
 * exchange as much for it as for a step on all rows. */
static size_t first_sample(const hw_svm_block *b)
{
    size_t every = SAMPLED_TILES, tiles = b->X.rows / HW_ROW_TILE;
    if (!b->svm->squared || b->svm->path.blocks > 1 || b->primal.hessian == NULL || b->primal.by_matrix)
        return 1;
    for (size_t e = 0; e < b->width * b->svm->path.outputs; e++)
        if (b->primal.W[e] != 0.0)
            return 1;
    while (every > 1 && tiles / every * HW_ROW_TILE < SAMPLED_ROWS * b->width)
        every /= 2;
    return every;
}

/* Makes a whole step on the visited tiles. Returns false if a number is not finite. */
static bool step_on_sample(hawser_context *context, hw_svm_block *b, size_t count, hawser_status *status)
{
    hw_svm_primal *q = &b->primal;
    size_t k = b->svm->path.outputs;
    hw_svm_refresh(b, q->open, count);
    hw_svm_look(b, q->open, count);
    for (size_t s = 0; s < count; s++)
        if (!isfinite(take_gradient(b, s, count, q->open[s])))
            return false;
    *status = find_conditions(context, b, count);
    HAWSER_THEN(*status, find_step(context, b, count));
    for (size_t e = 0; e < b->width * k; e++)
        if (q->lines[e % k].bends > 0.0 && !isfinite(q->W[e] += q->step[e]))
            return false;
    return true;
}

/* Finds a first model. A smaller width weighs the rows as much as all of them together; it is that of a squared loss, which
 * never changes. */
static hawser_status start_on_sample(hawser_context *context, hw_svm_block *b)
{
    hw_svm_primal *q = &b->primal;
    size_t count = list_open(b), k = b->svm->path.outputs;
    hawser_status status = HAWSER_OK;
    bool finite = true;
    for (b->tiles.every = first_sample(b); b->tiles.every > 1 && status == HAWSER_OK && finite; b->tiles.every /= 2) {
        for (size_t p = 0; p < k; p++)
            b->memory[p].width = 0.5 / (double)b->tiles.every;
        finite = step_on_sample(context, b, count, &status);
    }
    b->tiles.every = 1;
    for (size_t p = 0; p < k; p++) {
        b->memory[p].width = b->svm->squared ? 0.5 : b->memory[p].width;
        b->memory[p].slope = 0.0;
    }
    if (!finite)
        memset(q->W, 0, b->width * k * sizeof *q->W);
    return status;
}

/* ---- the unit, and an iteration ---- */

/* Returns how wide the rounded kinks are at first: of the order of the margins. */
static double first_width(const hw_svm_block *b, double weight, double sum, double square)
{
    double mean = sum / weight, deviation = sqrt(fmax(0.0, square / weight - mean * mean));
    return b->svm->squared ? 0.5 : b->svm->regression && deviation > 0.0 ? deviation : 1.0;
}

void hw_svm_primal_start(hw_svm_block *b, const double *given)
{
    const hw_centre *centre = &b->svm->path.centre;
    size_t k = b->svm->path.outputs, d = b->X.cols;
    memcpy(b->primal.W, given, b->width * k * sizeof *given);
    for (size_t p = 0; p < k && b->svm->path.intercept; p++)
        b->primal.W[d * k + p] = hw_centre_apply(centre, given[d * k + p], 0.0, given + p, k);
    for (size_t e = 0; e < d * k; e++)
        if (centre->count > 0 && centre->equal[e / k])
            b->primal.W[e] = 0.0;
}

hawser_status hw_svm_primal_begin(hawser_context *context, hw_svm_block *b)
{
    double *sums = b->primal.reduced;
    double *weight = sums + b->X.cols;
    memset(sums, 0, (b->width + 2) * sizeof *sums);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);)
        for (size_t i = 0; i < t.count; i++) {
            double own = hw_svm_weight(b, t.begin + i), y = b->beside.target[t.begin + i] - b->svm->path.centre.target;
            hw_add_row_squares(&t.X, i, own, sums);
            weight[0] += own;
            weight[1] += own * y;
            weight[2] += own * y * y;
        }
    HAWSER_TRY(hawser_allreduce(context, sums, b->width + 2, HAWSER_SUM));
    if (!(weight[0] > 0.0))
        return hawser_unit_fail(context, HAWSER_BAD_INPUT, "all example weights are 0: no row counts");
    for (size_t j = 0; j < b->X.cols; j++)
        b->primal.squares[j] = sums[j] / weight[0];
    b->primal.squares[b->X.cols] = weight[2] / weight[0];
    for (size_t p = 0; p < b->svm->path.outputs; p++) {
        b->memory[p].weight = weight[0];
        b->memory[p].width = first_width(b, weight[0], weight[1], weight[2]);
    }
    hw_svm_price(b);
    HAWSER_TRY(start_on_sample(context, b));
    size_t count = list_open(b);
    hw_svm_refresh(b, b->primal.open, count);
    return look(context, b, count);
}

hawser_status hw_svm_primal_step(hawser_context *context, hw_svm_block *b)
{
    HAWSER_TRY(step(context, b));
    b->own.turn.iteration++;
    return HAWSER_OK;
}
