#include "algorithms/softmax/pass.h"

#include <string.h>

#include "algorithms/learner/row_tiles.h"
#include "algorithms/newton/exponential.h"
#include "algorithms/newton/row_squares.h"

void hw_softmax_uncentre(hw_softmax_block *b, const double *model)
{
    size_t k = b->softmax->path.classes, d = b->X.cols;
    memcpy(b->intercepts, model + d * k, k * sizeof *b->intercepts);
    for (size_t j = 0; j < d; j++)
        for (size_t c = 0; c < k && b->means[j] != 0.0; c++)
            b->intercepts[c] -= b->means[j] * model[j * k + c];
}

void hw_softmax_centre(const hw_softmax_block *b, double *sums)
{
    size_t k = b->softmax->path.classes, d = b->X.cols;
    for (size_t j = 0; j < d; j++)
        for (size_t c = 0; c < k && b->means[j] != 0.0; c++)
            sums[j * k + c] -= b->means[j] * sums[d * k + c];
}

/* Replaces the linear predictors z of a row by probabilities. Returns log(sum exp(z)), and stores its difference to the mean
 * of z under these probabilities, which is their entropy. */
static double to_probabilities(size_t k, double *z, double *p, double *entropy)
{
    double most = z[0], sum = 0.0, mean = 0.0;
    for (size_t c = 1; c < k; c++)
        most = z[c] > most ? z[c] : most;
    for (size_t c = 0; c < k; c++) {
        p[c] = hw_exponential(z[c] - most);
        sum += p[c];
    }
    for (size_t c = 0; c < k; c++) {
        p[c] /= sum;
        mean += p[c] * (z[c] - most);
    }
    double rest = hw_logarithm(sum);
    *entropy = rest - mean;
    return most + rest;
}

void hw_softmax_look(hw_softmax_block *b, const double *model)
{
    size_t k = b->softmax->path.classes;
    double loss = 0.0, entropies = 0.0, entropy;
    memset(b->reduced, 0, (b->softmax->path.width + 2) * sizeof *b->reduced);
    hw_softmax_uncentre(b, model);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);) {
        hw_row_tile_multiply(&t, model, b->intercepts, k, b->tile);
        for (size_t i = 0; i < t.count; i++) {
            double *z = b->tile + i * k, *p = b->probabilities + (t.begin + i) * k;
            uint32_t own = hw_softmax_own(b, t.begin + i);
            double weight = hw_softmax_weight(b, t.begin + i) / b->memory.total, at = own != UINT32_MAX ? z[own] : 0.0;
            double all = to_probabilities(k, z, p, &entropy);
            for (size_t c = 0; c < k; c++)
                z[c] = own != UINT32_MAX ? weight * p[c] : 0.0;
            if (own == UINT32_MAX)
                continue;
            z[own] -= weight;
            loss += weight * (all - at);
            entropies += weight * entropy;
        }
        hw_row_tile_accumulate(&t, b->tile, k, b->reduced);
    }
    hw_softmax_centre(b, b->reduced);
    b->reduced[b->softmax->path.width] = loss;
    b->reduced[b->softmax->path.width + 1] = entropies;
}

void hw_softmax_refresh(hw_softmax_block *b)
{
    size_t k = b->softmax->path.classes;
    double ignored;
    hw_softmax_uncentre(b, b->W);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);) {
        hw_row_tile_multiply(&t, b->W, b->intercepts, k, b->tile);
        for (size_t i = 0; i < t.count; i++)
            (void)to_probabilities(k, b->tile + i * k, b->probabilities + (t.begin + i) * k, &ignored);
    }
    b->fresh = true;
}

void hw_softmax_bend(hw_softmax_block *b, const double *direction)
{
    size_t k = b->softmax->path.classes;
    memset(b->reduced, 0, b->softmax->path.width * sizeof *b->reduced);
    hw_softmax_uncentre(b, direction);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);) {
        hw_row_tile_multiply(&t, direction, b->intercepts, k, b->tile);
        for (size_t i = 0; i < t.count; i++) {
            double *u = b->tile + i * k, mean = 0.0;
            const double *p = b->probabilities + (t.begin + i) * k;
            double weight = hw_softmax_weight(b, t.begin + i) / b->memory.total;
            for (size_t c = 0; c < k; c++)
                mean += p[c] * u[c];
            for (size_t c = 0; c < k; c++)
                u[c] = weight * p[c] * (u[c] - mean);
        }
        hw_row_tile_accumulate(&t, b->tile, k, b->reduced);
    }
    hw_softmax_centre(b, b->reduced);
}

void hw_softmax_class_sums(hw_softmax_block *b)
{
    size_t k = b->softmax->path.classes;
    memset(b->reduced, 0, b->softmax->path.width * sizeof *b->reduced);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);) {
        memset(b->tile, 0, t.count * k * sizeof *b->tile);
        for (size_t i = 0; i < t.count; i++)
            if (hw_softmax_own(b, t.begin + i) != UINT32_MAX)
                b->tile[i * k + b->classes[t.begin + i]] = hw_softmax_weight(b, t.begin + i) / b->memory.total;
        hw_row_tile_accumulate(&t, b->tile, k, b->reduced);
    }
}

void hw_softmax_squares(hw_softmax_block *b)
{
    memset(b->reduced, 0, b->X.cols * sizeof *b->reduced);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);)
        for (size_t i = 0; i < t.count; i++)
            if (hw_softmax_own(b, t.begin + i) != UINT32_MAX)
                hw_add_row_squares(&t.X, i, hw_softmax_weight(b, t.begin + i) / b->memory.total, b->reduced);
}

/* Returns the place of the largest of a row's linear predictors, the first of equal ones. */
static size_t largest(const double *z, size_t k)
{
    size_t best = 0;
    for (size_t c = 1; c < k; c++)
        best = z[c] > z[best] ? c : best;
    return best;
}

void hw_softmax_add_held_out(hw_softmax_block *b, double sums[2])
{
    size_t k = b->softmax->path.classes;
    bool wrong = strcmp(b->softmax->path.choice.metric, "accuracy") == 0;
    double ignored;
    sums[0] = sums[1] = 0.0;
    hw_softmax_uncentre(b, b->W);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);) {
        hw_row_tile_multiply(&t, b->W, b->intercepts, k, b->tile);
        for (size_t i = 0; i < t.count; i++) {
            size_t row = t.begin + i;
            const double *z = b->tile + i * k;
            if (!hw_softmax_out(b, row) || b->classes[row] == UINT32_MAX)
                continue;
            double weight = hw_softmax_example(b, row), of_own = z[b->classes[row]];
            sums[0] += weight;
            if (wrong)
                sums[1] += largest(z, k) != b->classes[row] ? weight : 0.0;
            else
                sums[1] += weight * (to_probabilities(k, b->tile + i * k, b->rank, &ignored) - of_own);
        }
    }
}
