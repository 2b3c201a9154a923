/* The solution of quadratic models with an L1 norm against the best over all signs, each of which is a system of
 * equations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "algorithms/softmax/quadratic.h"

enum { MOST = 6, CASES = 400 };

typedef struct model {
    size_t count;
    double matrix[MOST][MOST], l1[MOST], slope[MOST], start[MOST];
} model;

static double drawn(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 33) / 4294967296.0 * 2.0 - 0.5; /* from -0.5 to 0.5 */
}

/* Draws a model whose matrix is that of rows with a common part, which makes it badly conditioned, and with few of them is
 * singular. */
static model draw(uint64_t *state, size_t count, size_t rows, double common)
{
    model m = {.count = count};
    for (size_t i = 0; i < rows; i++) {
        double row[MOST];
        for (size_t e = 0; e < count; e++)
            row[e] = common + drawn(state);
        for (size_t e = 0; e < count; e++)
            for (size_t f = 0; f < count; f++)
                m.matrix[e][f] += row[e] * row[f];
    }
    for (size_t e = 0; e < count; e++) {
        m.slope[e] = 0.0;
        m.l1[e] = 0.2 + 0.1 * drawn(state);
        m.start[e] = e % 3 == 0 ? 0.0 : drawn(state);
    }
    for (size_t e = 0; e < count; e++) /* a slope in the range of the matrix: the model has a minimum */
        for (size_t f = 0; f < count; f++)
            m.slope[e] += m.matrix[e][f] * (f % 2 == 0 ? 1.0 : -0.7);
    return m;
}

static double value(const model *m, const double *x)
{
    double sum = 0.0;
    for (size_t e = 0; e < m->count; e++) {
        double image = 0.0;
        for (size_t f = 0; f < m->count; f++)
            image += m->matrix[e][f] * (x[f] - m->start[f]);
        sum += (x[e] - m->start[e]) * (m->slope[e] + 0.5 * image) + m->l1[e] * fabs(x[e]);
    }
    return sum;
}

/* Solves A x = b by elimination with pivots. Returns false if A is nearly singular. */
static bool solve(size_t n, double A[MOST][MOST], double *b)
{
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < n; i++)
            best = fabs(A[i][k]) > fabs(A[best][k]) ? i : best;
        if (!(fabs(A[best][k]) > 1e-9))
            return false;
        for (size_t c = 0; c < n; c++) {
            double other = A[k][c];
            A[k][c] = A[best][c];
            A[best][c] = other;
        }
        double other = b[k];
        b[k] = b[best];
        b[best] = other;
        for (size_t i = 0; i < n; i++) {
            double factor = i == k ? 0.0 : A[i][k] / A[k][k];
            for (size_t c = k; c < n; c++)
                A[i][c] -= factor * A[k][c];
            b[i] -= factor * b[k];
        }
    }
    for (size_t k = 0; k < n; k++)
        b[k] /= A[k][k];
    return true;
}

/* Returns the least value over the minima for all signs: the optimum has signs of which it is the minimum. */
static double least(const model *m)
{
    double best = INFINITY;
    size_t signs = 1;
    for (size_t e = 0; e < m->count; e++)
        signs *= 3;
    for (size_t s = 0; s < signs; s++) {
        double A[MOST][MOST], b[MOST], x[MOST] = {0};
        size_t face[MOST], n = 0, rest = s;
        for (size_t e = 0; e < m->count; e++, rest /= 3)
            if (rest % 3 != 0) {
                face[n] = e;
                b[n] = -m->slope[e] - (rest % 3 == 1 ? m->l1[e] : -m->l1[e]);
                for (size_t f = 0; f < m->count; f++)
                    b[n] += m->matrix[e][f] * m->start[f];
                n++;
            }
        for (size_t k = 0; k < n; k++)
            for (size_t l = 0; l < n; l++)
                A[k][l] = m->matrix[face[k]][face[l]];
        if (!solve(n, A, b))
            continue;
        for (size_t k = 0; k < n; k++)
            x[face[k]] = b[k];
        best = fmin(best, value(m, x));
    }
    return best;
}

static void check(size_t rows, double common)
{
    uint64_t state = rows * 77 + (uint64_t)common;
    hw_softmax_quadratic q = {0};
    for (size_t k = 0; k < CASES; k++) {
        model m = draw(&state, 1 + k % MOST, rows, common);
        assert_true(hw_softmax_quadratic_reserve(&q, m.count));
        for (size_t e = 0; e < m.count; e++)
            for (size_t f = 0; f < m.count; f++)
                q.matrix[e * m.count + f] = m.matrix[e][f];
        memcpy(q.l1, m.l1, m.count * sizeof *q.l1);
        memcpy(q.slope, m.slope, m.count * sizeof *q.slope);
        memcpy(q.x, m.start, m.count * sizeof *q.x);
        hw_softmax_quadratic_solve(&q, 1e-9);
        double got = value(&m, q.x), wanted = least(&m);
        if (!(fabs(got - wanted) <= 1e-7 * (1.0 + fabs(wanted))))
            fail_msg("case %zu of %zu rows, common part %g: %.17g instead of %.17g", k, rows, common, got, wanted);
    }
    hw_softmax_quadratic_free(&q);
}

static void solution_is_the_best_of_all_signs(void **state)
{
    (void)state;
    check(9, 0.0);
    check(9, 100.0);
}

static void solution_of_a_singular_model_is_the_best_of_all_signs(void **state)
{
    (void)state;
    check(2, 0.0);
    check(3, 10.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solution_is_the_best_of_all_signs),
        cmocka_unit_test(solution_of_a_singular_model_is_the_best_of_all_signs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
