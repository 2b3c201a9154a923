#include "algorithms/softmax/quadratic.h"

#include <math.h>
#include <string.h>

#include "hawser/matrix.h"

enum { ROUNDS_MOST = 100 };

/* The most multiplications of a solution, some seconds: nothing interrupts it, and an inexact step is good enough. */
static const double work_most = 4e9;

/* The share of a diagonal entry that is added to it, so that directions in which the loss is flat have a finite step. */
static const double damping = 1e-10;

void hw_softmax_quadratic_free(hw_softmax_quadratic *q)
{
    hw_arrays_free(&q->arrays);
    *q = (hw_softmax_quadratic){0};
}

bool hw_softmax_quadratic_reserve(hw_softmax_quadratic *q, size_t count)
{
    q->count = count;
    if (count <= q->capacity)
        return true;
    hw_softmax_quadratic_free(q);
    double **arrays[] = {&q->l1, &q->slope, &q->x, &q->move, &q->image, &q->breaks};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        *arrays[k] = hw_array_new(&q->arrays, count, sizeof(double));
    q->matrix = hw_array_new(&q->arrays, count * count, sizeof *q->matrix);
    q->factor = hw_array_new(&q->arrays, count * (count + 1) / 2, sizeof *q->factor);
    q->face = hw_array_new(&q->arrays, count, sizeof *q->face);
    q->crossing = hw_array_new(&q->arrays, count, sizeof *q->crossing);
    if (q->arrays.failed)
        return false;
    q->capacity = q->count = count;
    return true;
}

/* Returns the derivative at coordinate e, of least size where there is a kink. */
static double least_slope(const hw_softmax_quadratic *q, size_t e)
{
    double g = q->slope[e], l1 = q->l1[e];
    if (q->x[e] != 0.0)
        return g + copysign(l1, q->x[e]);
    return g > l1 ? g - l1 : g < -l1 ? g + l1 : 0.0;
}

static double squared_slopes(const hw_softmax_quadratic *q)
{
    double sum = 0.0;
    for (size_t e = 0; e < q->count; e++) {
        double slope = least_slope(q, e);
        sum += slope * slope / q->matrix[e * q->count + e];
    }
    return sum;
}

/* Minimises along each coordinate in turn. */
static void pass(hw_softmax_quadratic *q)
{
    size_t m = q->count;
    for (size_t e = 0; e < m; e++) {
        const double *row = q->matrix + e * m;
        double to = q->x[e] - q->slope[e] / row[e], cut = q->l1[e] / row[e];
        to = to > cut ? to - cut : to < -cut ? to + cut : 0.0;
        double step = to - q->x[e];
        if (step == 0.0)
            continue;
        q->x[e] = to;
        for (size_t f = 0; f < m; f++)
            q->slope[f] += step * row[f];
    }
}

/* Computes Cholesky's factor for the face. What rounding makes of a pivot that is nearly 0 counts as the damping. */
static void factorise(hw_softmax_quadratic *q, size_t count)
{
    double *row = q->factor;
    for (size_t a = 0; a < count; row += ++a) {
        const double *of = q->matrix + (size_t)q->face[a] * q->count, *other = q->factor;
        for (size_t b = 0; b < a; other += ++b)
            row[b] = (of[q->face[b]] - hawser_dot(b, row, other, NULL)) / other[b];
        double diagonal = of[q->face[a]], pivot = diagonal * (1.0 + damping) - hawser_dot(a, row, row, NULL);
        row[a] = sqrt(fmax(pivot, damping * diagonal));
    }
}

/* Stores in q->move, by place of the face, the step to the minimum for the signs that x has. */
static void solve_face(hw_softmax_quadratic *q, size_t count)
{
    double *move = q->move;
    const double *row = q->factor;
    factorise(q, count);
    for (size_t a = 0; a < count; row += ++a)
        move[a] = (-least_slope(q, q->face[a]) - hawser_dot(a, row, move, NULL)) / row[a];
    for (size_t a = count; a-- > 0;) {
        row -= a + 1;
        move[a] /= row[a];
        for (size_t b = 0; b < a; b++)
            move[b] -= move[a] * row[b];
    }
}

/* Sorts the crossings by their lengths: the first ones are at the top of a heap. */
static void sift(const double *breaks, uint32_t *heap, size_t at, size_t count)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && breaks[heap[child + 1]] < breaks[heap[child]])
            child++;
        if (breaks[heap[at]] <= breaks[heap[child]])
            return;
        uint32_t other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
    }
}

/* Returns the length, at most 1, of the move at which the model is least. Each coefficient that crosses zero on the way
 * makes it steeper. */
static double best_length(hw_softmax_quadratic *q, size_t count, double slope, double bend)
{
    size_t left = 0;
    double at = 0.0;
    for (size_t a = 0; a < count; a++) {
        size_t e = q->face[a];
        q->breaks[a] = -q->x[e] / q->move[a];
        if (q->l1[e] > 0.0 && q->breaks[a] > 0.0 && q->breaks[a] < 1.0)
            q->crossing[left++] = (uint32_t)a;
    }
    for (size_t k = left; k-- > 0;)
        sift(q->breaks, q->crossing, k, left);
    while (left > 0) {
        size_t a = q->crossing[0];
        double next = q->breaks[a];
        if (slope + bend * (next - at) >= 0.0)
            break;
        slope += bend * (next - at) + 2.0 * q->l1[q->face[a]] * fabs(q->move[a]);
        at = next;
        if (slope >= 0.0)
            return at;
        q->crossing[0] = q->crossing[--left];
        sift(q->breaks, q->crossing, 0, left);
    }
    return fmin(1.0, bend > 0.0 ? at - slope / bend : 1.0);
}

/* Moves along the step for the signs of x. Returns whether a coefficient became zero or changed its sign. Adds the
 * multiplications to *work. */
static bool move_on_face(hw_softmax_quadratic *q, double *work)
{
    size_t m = q->count, count = 0;
    double slope = 0.0, bend = 0.0;
    bool crosses = false;
    for (size_t e = 0; e < m; e++)
        if (q->x[e] != 0.0 || q->l1[e] == 0.0)
            q->face[count++] = (uint32_t)e;
    solve_face(q, count);
    memset(q->image, 0, m * sizeof *q->image);
    for (size_t a = 0; a < count; a++) {
        const double *row = q->matrix + (size_t)q->face[a] * m;
        slope += q->move[a] * least_slope(q, q->face[a]);
        for (size_t f = 0; f < m; f++)
            q->image[f] += q->move[a] * row[f];
    }
    for (size_t a = 0; a < count; a++)
        bend += q->move[a] * q->image[q->face[a]];
    *work += (double)count * (double)count * ((double)count / 6.0 + 1.0) + 2.0 * (double)count * (double)m;
    if (!(slope < 0.0))
        return false;
    double length = best_length(q, count, slope, bend);
    for (size_t a = 0; a < count; a++) {
        size_t e = q->face[a];
        double to = q->breaks[a] == length && q->l1[e] > 0.0 ? 0.0 : q->x[e] + length * q->move[a];
        crosses = crosses || (q->l1[e] > 0.0 && (to == 0.0 || (to > 0.0) != (q->x[e] > 0.0)));
        q->x[e] = to;
    }
    for (size_t f = 0; f < m; f++)
        q->slope[f] += length * q->image[f];
    return crosses;
}

void hw_softmax_quadratic_solve(hw_softmax_quadratic *q, double share)
{
    double first = squared_slopes(q), work = 0.0;
    for (size_t round = 0; round < ROUNDS_MOST && work < work_most; round++) {
        pass(q);
        for (size_t k = 0; k < 2 * q->count && work < work_most && move_on_face(q, &work); k++)
            continue;
        if (!(squared_slopes(q) > share * share * first))
            break;
    }
}
