/*
 * newton.c - the step is found by conjugate gradients with a diagonal preconditioner, for the coefficients that are free:
 * those that are not zero, and those whose zero is not optimal now. Within the orthant of their signs the L1 norm is linear.
 * The line search keeps to this orthant: what would cross zero becomes zero (Andrew and Gao 2007; Byrd, Chin, Nocedal, Wu
 * 2012).
 */
#include "algorithms/softmax/newton.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/model/numbers.h"
#include "algorithms/softmax/pass.h"
#include "algorithms/softmax/start.h"
#include "algorithms/softmax/working_set.h"
#include "algorithms/solve/conjugate.h"

enum { CONJUGATE_LEAST = 5, CONJUGATE_MOST = 250, SEARCH_MOST = 40 };

static double sign_of(double x)
{
    return (double)((x > 0.0) - (x < 0.0));
}

double hw_softmax_penalty(const hw_softmax_block *b, const double *model)
{
    size_t k = b->softmax->path.classes;
    double sum = 0.0;
    for (size_t j = 0; j < b->X.cols; j++) {
        double one = 0.0, two = 0.0;
        if (hw_softmax_no_coefficient(b, model, j))
            continue;
        for (size_t c = 0; c < k; c++) {
            double w = model[j * k + c];
            one += fabs(w);
            two += w * w;
        }
        sum += hw_softmax_l1(b, j) * one + 0.5 * hw_softmax_l2(b, j) * two;
    }
    return sum;
}

hawser_status hw_softmax_evaluate(hawser_context *context, hw_softmax_block *b, const double *model,
                                  hw_softmax_memory *memory)
{
    size_t m = b->softmax->path.width;
    hw_softmax_look(b, model);
    HAWSER_TRY(hw_softmax_add(context, b, "the derivatives", m + 2));
    memory->products++;
    memory->loss = b->reduced[m];
    memory->entropy = b->reduced[m + 1];
    memory->objective = memory->loss + hw_softmax_penalty(b, model);
    return HAWSER_OK;
}

/* Computes the objective's derivatives at a model with this gradient of the loss, of least size where it has a kink. Those
 * of coefficients that are not free are 0. */
static void find_slopes(const hw_softmax_block *b, const double *model, const double *gradient, double *slopes)
{
    size_t k = b->softmax->path.classes, d = b->X.cols;
    for (size_t j = 0; j < d; j++) {
        double l1 = hw_softmax_l1(b, j), l2 = hw_softmax_l2(b, j);
        for (size_t e = j * k; e < (j + 1) * k; e++) {
            double g = gradient[e] + l2 * model[e];
            if (model[e] != 0.0 || l1 == 0.0)
                slopes[e] = g + l1 * sign_of(model[e]);
            else
                slopes[e] = g > l1 ? g - l1 : g < -l1 ? g + l1 : 0.0;
        }
    }
    for (size_t e = d * k; e < (d + 1) * k; e++)
        slopes[e] = b->softmax->path.intercept ? gradient[e] : 0.0;
}

static bool is_free(const hw_softmax_block *b, size_t e)
{
    return e < b->X.cols * b->softmax->path.classes ? b->slopes[e] != 0.0 || b->W[e] != 0.0 : b->softmax->path.intercept;
}

/* Computes the inverse diagonal of an estimate of the second derivative: mean squares of columns times mean variances of
 * classes. */
static hawser_status find_conditions(hawser_context *context, hw_softmax_block *b)
{
    size_t k = b->softmax->path.classes, d = b->X.cols;
    memset(b->rank, 0, k * sizeof *b->rank);
    for (size_t i = 0; i < b->X.rows; i++) {
        double weight = hw_softmax_weight(b, i) / b->memory.total;
        const double *p = b->probabilities + i * k;
        for (size_t c = 0; c < k; c++)
            b->rank[c] += weight * p[c] * (1.0 - p[c]);
    }
    HAWSER_TRY(hawser_allreduce(context, b->rank, k, HAWSER_SUM));
    for (size_t j = 0; j <= d; j++)
        for (size_t c = 0; c < k; c++) {
            double bend = (j < d ? hw_softmax_variance(b, j) : 1.0) * b->rank[c] + (j < d ? hw_softmax_l2(b, j) : 0.0);
            b->conditioned[j * k + c] = bend > 1e-300 ? 1.0 / bend : 0.0;
        }
    return HAWSER_OK;
}

/* Multiplies block->direction by the objective's second derivative, in block->reduced. */
static hawser_status bend(hawser_context *context, hw_softmax_block *b)
{
    size_t k = b->softmax->path.classes, m = b->softmax->path.width;
    hw_softmax_bend(b, b->direction);
    HAWSER_TRY(hw_softmax_add(context, b, "the derivatives", m));
    b->memory.products++;
    for (size_t j = 0; j < b->X.cols; j++)
        for (size_t e = j * k; e < (j + 1) * k; e++)
            b->reduced[e] += hw_softmax_l2(b, j) * b->direction[e];
    for (size_t e = 0; e < m; e++)
        if (!is_free(b, e))
            b->reduced[e] = 0.0;
    return HAWSER_OK;
}

/* Multiplies the pull by the inverse diagonal. Returns the product of both. */
static double condition(const hw_softmax_block *b, const hw_conjugate *search)
{
    double power = 0.0;
    for (size_t e = 0; e < search->count; e++) {
        search->bent[e] = search->pull[e] * b->conditioned[e];
        power += search->pull[e] * search->pull[e] * b->conditioned[e];
    }
    return power;
}

/* Finds the step by conjugate gradients, as exactly as the slopes are small. */
static hawser_status find_step(hawser_context *context, hw_softmax_block *b, double slope)
{
    size_t m = b->softmax->path.width;
    hw_conjugate search = {.count = m, .step = b->step, .pull = b->residual, .direction = b->direction, .bent = b->reduced};
    double power = 0.0;
    memset(b->step, 0, m * sizeof *b->step);
    for (size_t e = 0; e < m; e++) {
        b->residual[e] = -b->slopes[e];
        b->reduced[e] = b->residual[e] * b->conditioned[e];
        power += b->residual[e] * b->reduced[e];
    }
    hw_conjugate_begin(&search);
    const double left = fmin(0.1, sqrt(slope / b->memory.slope)) * sqrt(power);
    for (size_t k = 0; k < b->memory.conjugate && sqrt(power) > left && !hawser_stopping(context); k++) {
        hw_conjugate_turn(&search, power);
        HAWSER_TRY(bend(context, b));
        double curvature = hawser_dot(m, b->direction, b->reduced, NULL);
        if (!(curvature > 0.0)) { /* flat, as where the loss does not depend on the direction */
            if (k == 0)
                memcpy(b->step, b->direction, m * sizeof *b->step);
            break;
        }
        hw_conjugate_go(&search, power / curvature);
        power = condition(b, &search);
    }
    return HAWSER_OK;
}

/* Stores the point at a length of the step, within the orthant of W and of the steepest descent. Returns the slope along the
 * way there, and in *cut how many coefficients would have crossed zero. */
static double make_trial(hw_softmax_block *b, double length, size_t *cut)
{
    size_t k = b->softmax->path.classes, m = b->softmax->path.width;
    double along = 0.0;
    *cut = 0;
    for (size_t e = 0; e < m; e++) {
        bool kinked = e < b->X.cols * k && hw_softmax_l1(b, e / k) > 0.0;
        double side = b->W[e] != 0.0 ? sign_of(b->W[e]) : -sign_of(b->slopes[e]), to = b->W[e] + length * b->step[e];
        bool crosses = kinked && to != 0.0 && sign_of(to) != side;
        *cut += crosses;
        b->trial[e] = crosses ? 0.0 : to;
        along += b->slopes[e] * (b->trial[e] - b->W[e]);
    }
    return along;
}

/* Returns the t with the least l1 sum |w - t| + l2 / 2 sum (w - t)^2; of several, the one nearest to 0, but without a
 * penalty the mean, as the model has it. */
static double best_shift(hw_softmax_block *b, const double *own, double l1, double l2)
{
    size_t k = b->softmax->path.classes;
    double sum = 0.0, *w = b->rank;
    if (l1 <= 0.0) {
        for (size_t c = 0; c < k; c++)
            sum += own[c];
        return sum / (double)k;
    }
    memcpy(w, own, k * sizeof *own);
    qsort(w, k, sizeof *w, hw_smaller_first);
    if (l2 <= 0.0) /* from the lower to the upper median */
        return fmin(fmax(0.0, w[(k - 1) / 2]), w[k / 2]);
    for (size_t c = 0; c < k; c++)
        sum += w[c];
    for (size_t c = 0; c < k; c++) { /* slopes just below and just above w[c] */
        double smooth = l2 * ((double)k * w[c] - sum), below = 2.0 * (double)c - (double)k;
        if (l1 * below + smooth > 0.0)
            return (sum - l1 / l2 * below) / (double)k;
        if (l1 * (below + 2.0) + smooth >= 0.0)
            return w[c];
    }
    return w[k - 1];
}

void hw_softmax_shift(hw_softmax_block *b, double *model)
{
    size_t k = b->softmax->path.classes;
    for (size_t j = 0; j < b->X.cols; j++) {
        double *own = model + j * k;
        if (hw_softmax_no_coefficient(b, model, j))
            continue;
        double shift = best_shift(b, own, hw_softmax_l1(b, j), hw_softmax_l2(b, j));
        for (size_t c = 0; c < k; c++)
            own[c] -= shift;
    }
}

static void accept(hw_softmax_block *b, const hw_softmax_memory *memory)
{
    double *model = b->W, *gradient = b->gradient;
    b->memory = *memory;
    b->W = b->trial;
    b->trial = model;
    b->gradient = b->reduced;
    b->reduced = gradient;
    b->fresh = true;
}

/* Chooses how many steps of conjugate gradients the next step is worth: more while steps stay in their orthant. */
static void choose_conjugate(hw_softmax_block *b, bool leaves)
{
    uint64_t *most = &b->memory.conjugate;
    *most = leaves ? *most / 2 : *most * 2;
    *most = *most < CONJUGATE_LEAST ? CONJUGATE_LEAST : *most > CONJUGATE_MOST ? CONJUGATE_MOST : *most;
}

/* Returns whether the trial is an improvement that rounding hides: the objective is the same but for its rounding error, and
 * the derivatives are at most half as large. The gradient of the trial is in block->reduced. */
static bool is_steadier(hw_softmax_block *b, double objective)
{
    double before = 0.0, after = 0.0;
    if (!(fabs(objective - b->memory.objective) <= fmax(b->memory.error, 1e-14 * fabs(objective))))
        return false;
    find_slopes(b, b->trial, b->reduced, b->residual);
    for (size_t e = 0; e < b->softmax->path.width; e++) {
        before += b->slopes[e] * b->slopes[e] * b->conditioned[e];
        after += b->residual[e] * b->residual[e] * b->conditioned[e];
    }
    return after <= 0.25 * before;
}

/* Stores the point at a length of the step. Returns the bound of the slope along the way there, given that of the whole
 * step. */
static double make_straight(hw_softmax_block *b, double length, double whole)
{
    for (size_t e = 0; e < b->softmax->path.width; e++)
        b->trial[e] = b->W[e] + length * b->step[e];
    return length * whole;
}

/* Finds a length of the step at which the objective falls. `whole`: the slope of a step that may change signs; NULL: signs
 * stay. */
static hawser_status search(hawser_context *context, hw_softmax_block *b, const double *whole, bool *moved)
{
    double length = 1.0;
    size_t cut = 0;
    *moved = false;
    for (size_t k = 0; k < SEARCH_MOST && !hawser_stopping(context); k++, length *= 0.5) {
        hw_softmax_memory memory = b->memory;
        double along = whole != NULL ? make_straight(b, length, *whole) : make_trial(b, length, &cut);
        if (!(along < 0.0))
            continue;
        b->fresh = false;
        hw_softmax_shift(b, b->trial);
        HAWSER_TRY(hw_softmax_evaluate(context, b, b->trial, &memory));
        b->memory.products = memory.products;
        if (memory.objective <= b->memory.objective + 1e-4 * along || is_steadier(b, memory.objective)) {
            accept(b, &memory);
            choose_conjugate(b, cut > 0 || k > 0);
            *moved = true;
            return HAWSER_OK;
        }
    }
    return HAWSER_OK;
}

/* Goes a step on a working set if that pays, else in the orthant of the signs. */
static hawser_status step(hawser_context *context, hw_softmax_block *b, double slope, bool *moved)
{
    hw_softmax_memory *memory = &b->memory;
    uint64_t before = memory->products;
    double whole;
    if (b->softmax->share > 0.0 && hw_softmax_set_pays(b)) {
        HAWSER_TRY(hw_softmax_set_step(context, b, fmin(0.1, slope / memory->slope), &whole));
        HAWSER_TRY(search(context, b, &whole, moved));
        memory->trusted = b->set.large && b->set.holds && memory->products == before + 1;
        memory->others = 0;
        return HAWSER_OK;
    }
    HAWSER_TRY(find_step(context, b, slope));
    HAWSER_TRY(search(context, b, NULL, moved));
    memory->others += memory->products - before;
    return HAWSER_OK;
}

hawser_status hw_softmax_newton(hawser_context *context, hw_softmax_block *b, bool *moved)
{
    find_slopes(b, b->W, b->gradient, b->slopes);
    double slope = sqrt(hawser_dot(b->softmax->path.width, b->slopes, b->slopes, NULL));
    *moved = false;
    if (!b->fresh)
        hw_softmax_refresh(b);
    if (slope == 0.0)
        return HAWSER_OK;
    if (b->memory.slope == 0.0) {
        b->memory.slope = slope;
        b->memory.conjugate = b->softmax->share > 0.0 ? 4 * CONJUGATE_LEAST : CONJUGATE_MOST;
    }
    HAWSER_TRY(find_conditions(context, b));
    HAWSER_TRY(step(context, b, slope, moved));
    if (*moved || hawser_stopping(context))
        return HAWSER_OK;
    /* What the orthant cuts from the step may leave none downhill; the steepest one has the signs of the orthant. */
    for (size_t e = 0; e < b->softmax->path.width; e++)
        b->step[e] = -b->slopes[e] * b->conditioned[e];
    return search(context, b, NULL, moved);
}
