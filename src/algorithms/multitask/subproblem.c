#include "algorithms/multitask/subproblem.h"

#include <stdlib.h>
#include <string.h>

#include "hawser/advanced.h"

enum { CHUNK = 16 }; /* columns that are combined for all outputs while they are in a cache */

/* Divides the memory among the arrays. */
static void set_arrays(hw_multitask_subproblem *p)
{
    size_t count = p->members * p->q, image = (p->length + 1) * p->q;
    double *at = p->memory;
    double **arrays[] = {&p->start,  &p->first, &p->at.x, &p->at.gradient, &p->candidate.x, &p->candidate.gradient,
                         &p->scratch};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++, at += count)
        *arrays[k] = at;
    at = p->scratch + 4 * count + image + 2 * p->q;
    p->candidate.image = (hw_multitask_image){.values = at, .sum = at + p->length * p->q};
    at += image;
    p->at.image = (hw_multitask_image){.values = p->block->use_gram ? at : p->block->residual, .sum = p->block->sum};
}

/* Takes the members' gradients of the last scan, or computes them anew with the bits of a scan. */
static void take_gradients(hw_multitask_subproblem *p)
{
    const hw_multitask_block *block = p->block;
    size_t q = p->q, n = block->columns.X.rows;
    for (size_t k = 0; block->fresh && k < p->members; k++)
        memcpy(p->first + k * q, block->gradient + block->members[k] * q, q * sizeof *p->first);
    for (size_t o = 0; !block->fresh && o < q; o++) {
        hawser_scan_some(&block->columns.X, block->members, p->members, block->residual + o * n, block->scan);
        for (size_t k = 0; k < p->members; k++) {
            size_t j = block->members[k];
            p->first[k * q + o] = (block->scan[j] - block->columns.mean[j] * block->sum[o]) / block->columns.total;
        }
    }
    for (size_t k = 0; block->use_gram && k < p->members; k++)
        for (size_t o = 0; o < q; o++)
            p->at.image.values[o * p->length + p->places[k]] = p->first[k * q + o];
}

hawser_status hw_multitask_subproblem_new(hw_multitask_subproblem *p, hw_multitask_block *block, double lambda, double gain,
                                          const double *alpha, hawser_error *error)
{
    size_t m = block->member_count, q = block->outputs;
    *p = (hw_multitask_subproblem){.block = block,
                                   .gain = gain,
                                   .q = q,
                                   .members = m,
                                   .length = block->use_gram ? block->gram.count : block->columns.X.rows};
    p->terms = malloc((m + 1) * sizeof *p->terms);
    p->places = malloc((m + 1) * sizeof *p->places);
    HAWSER_TRY(hw_linear_new_doubles(&p->memory, 10 * m * q + (3 * (p->length + 1) + 2) * q, error));
    if (p->terms == NULL || p->places == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a working set of %zu columns", m);
    set_arrays(p);
    for (size_t k = 0; k < m; k++) {
        uint32_t j = block->members[k];
        p->terms[k] = hw_linear_term_at(&block->columns, j, lambda);
        p->places[k] = block->use_gram ? block->gram.slot[j] : j;
        memcpy(p->start + k * q, alpha + j * q, q * sizeof *alpha);
    }
    take_gradients(p);
    memcpy(p->at.x, p->start, m * q * sizeof *p->at.x);
    memcpy(p->at.gradient, p->first, m * q * sizeof *p->at.gradient);
    return HAWSER_OK;
}

void hw_multitask_subproblem_free(hw_multitask_subproblem *p)
{
    free(p->terms);
    free(p->places);
    free(p->memory);
}

void hw_multitask_subproblem_step(const hw_multitask_subproblem *p, size_t k, const double *change,
                                  hw_multitask_image *image)
{
    const hw_linear_columns *columns = &p->block->columns;
    for (size_t o = 0; o < p->q; o++) {
        if (change[o] == 0.0)
            continue;
        double step = -p->gain * change[o];
        if (p->block->use_gram) {
            hawser_column_axpy(&p->block->gram.view, p->places[k], step, image->values + o * p->length);
            continue;
        }
        hw_linear_axpy(columns, p->places[k], step, image->values + o * p->length);
        image->sum[o] += step * columns->mean[p->places[k]] * columns->total;
    }
}

/* Multiplies an image by row by -gain and the weights, and computes its sums. */
static void weigh(const hw_multitask_subproblem *p, const uint32_t *places, const double *direction, size_t count,
                  hw_multitask_image *product)
{
    const hw_linear_columns *columns = &p->block->columns;
    for (size_t o = 0; o < p->q; o++) {
        double *values = product->values + o * p->length, sum = 0.0;
        for (size_t i = 0; i < p->length; i++)
            values[i] *= -p->gain * (columns->weights != NULL ? columns->weights[i] : 1.0);
        for (size_t f = 0; f < count; f++)
            sum += direction[o * count + f] * columns->mean[places[f]];
        product->sum[o] = -p->gain * sum * columns->total;
    }
}

void hw_multitask_subproblem_product(const hw_multitask_subproblem *p, const uint32_t *places, const double *direction,
                                     size_t count, hw_multitask_image *product)
{
    bool gram = p->block->use_gram;
    const hawser_matrix *matrix = gram ? &p->block->gram.view : &p->block->columns.X;
    size_t all = p->length * p->q;
    hawser_simulated_work(NULL, gram ? count * all : 0);
    memset(product->values, 0, all * sizeof(double));
    for (size_t f = 0, next; f < count; f = next) {
        next = count - f > CHUNK ? f + CHUNK : count;
        for (size_t o = 0; o < p->q; o++)
            hawser_combine(matrix, places + f, direction + o * count + f, next - f, product->values + o * p->length);
    }
    for (size_t i = 0; gram && i < all; i++)
        product->values[i] *= -p->gain;
    if (!gram)
        weigh(p, places, direction, count, product);
}

void hw_multitask_subproblem_gradients(const hw_multitask_subproblem *p, const uint32_t *places, size_t count,
                                       const hw_multitask_image *image, double *gradient, size_t by_place, size_t by_output)
{
    const hw_linear_columns *columns = &p->block->columns;
    double *scan = p->block->scan;
    for (size_t o = 0; o < p->q; o++) {
        const double *values = image->values + o * p->length;
        double *to = gradient + o * by_output;
        if (!p->block->use_gram)
            hawser_scan_some(&columns->X, places, count, values, scan);
        for (size_t f = 0; f < count; f++) {
            uint32_t j = places[f];
            to[f * by_place] =
                p->block->use_gram ? values[j] : (scan[j] - columns->mean[j] * image->sum[o]) / columns->total;
        }
    }
}

/* Returns R / gain - 2 g.(x - start) + gain ||X (x - start)||^2 / W. The last term equals (first - gradient).(x - start). */
static double square(const hw_multitask_subproblem *p, const hw_multitask_point *point)
{
    double sum = p->block->square / p->gain;
    for (size_t i = 0; i < p->members * p->q; i++)
        sum -= (point->x[i] - p->start[i]) * (p->first[i] + point->gradient[i]);
    return sum;
}

double hw_multitask_subproblem_objective(const hw_multitask_subproblem *p, const hw_multitask_point *point)
{
    double sum = 0.5 * square(p, point);
    for (size_t k = 0; k < p->members; k++)
        sum += hw_linear_penalty(hw_multitask_norm(point->x + k * p->q, p->q), p->terms[k]);
    return sum;
}

/* Adds a member's share of the certificate's sums. */
static void add_sums(const hw_multitask_subproblem *p, size_t k, hw_linear_sums *sums)
{
    const double *x = p->at.x + k * p->q, *g = p->at.gradient + k * p->q;
    hw_linear_term term = p->terms[k];
    double size = hw_multitask_norm(x, p->q), slope = 0.0;
    for (size_t o = 0; o < p->q; o++) {
        sums->target += x[o] * g[o];
        slope += (g[o] - term.l2 * x[o]) * (g[o] - term.l2 * x[o]);
    }
    sums->penalty += hw_linear_penalty(size, term);
    sums->curved += term.l2 * size * size;
    if (term.l1 > 0.0)
        sums->ratio = fmax(sums->ratio, sqrt(slope) / term.l1);
}

double hw_multitask_subproblem_gap(const hw_multitask_subproblem *p)
{
    hw_linear_sums sums = {.square = square(p, &p->at)};
    double conjugate = 0.0, plain = 0.0;
    sums.loss = 0.5 * sums.square;
    sums.target = sums.square;
    for (size_t k = 0; k < p->members; k++)
        add_sums(p, k, &sums);
    double scale = hw_linear_scale(&sums);
    for (size_t k = 0; k < p->members; k++) {
        double norm = hw_multitask_norm(p->at.gradient + k * p->q, p->q);
        conjugate += hw_linear_conjugate(scale * norm, p->terms[k]);
        plain += hw_linear_conjugate(norm, p->terms[k]);
    }
    return hw_linear_gap(&sums, conjugate, plain, 0.0);
}

void hw_multitask_subproblem_take(hw_multitask_subproblem *p)
{
    hw_multitask_point swap = p->at;
    p->at = p->candidate;
    p->candidate = swap;
}
