/* Pure parts of Poisson regression: the loss in long double, the best intercept, feasible dual points and the distance to
 * the best of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "algorithms/poisson/loss.h"
#include "data/exposure.h"

enum { ROWS = 60, COLUMNS = 2 };

static double uniform(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*seed >> 11) * 0x1p-53;
}

static long double exact(double y, long double margin)
{
    long double d = y > 0.0 ? margin - logl((long double)y) : margin;
    return y > 0.0 ? (long double)y * (expm1l(d) - d) : expl(margin);
}

static void test_loss(void **state)
{
    (void)state;
    static const double counts[] = {0.0, 1e-20, 0.3, 1.0, 7.0, 1234.5, 1e9};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        double y = counts[k], log_y = hw_poisson_log(y);
        assert_true(y == 0.0 || fabsl(log_y - logl((long double)y)) <= DBL_EPSILON * fabs(log_y));
        for (double margin = -80.0; margin < 80.0; margin += 0.0371) {
            long double loss = exact(y, margin), d = y > 0.0 ? margin - logl((long double)y) : 0.0L;
            /* log y is rounded; the loss changes by its slope times that */
            long double slack = fabsl((long double)y * expm1l(d)) * DBL_EPSILON * (fabs(margin) + fabs(log_y));
            assert_true(fabsl(hw_poisson_loss(y, log_y, margin) - loss) <= 40.0L * DBL_EPSILON * loss + slack);
            assert_true(fabsl(hw_poisson_mean(margin) - expl(margin)) <= 4.0L * DBL_EPSILON * expl(margin));
        }
        for (double shift = 1e-9; shift < 0.6; shift *= 3.0) /* near the count */
            assert_true(y == 0.0 || fabsl(hw_poisson_loss(y, log_y, log_y + shift) / exact(y, log_y + (long double)shift) -
                                          1.0L) < 1e-5L + 8.0L * DBL_EPSILON * fabs(log_y) / shift);
    }
    assert_true(hw_poisson_loss(0.0, 0.0, 1e4) == INFINITY && hw_poisson_loss(3.0, log(3.0), 1e4) == INFINITY);
    assert_true(isnan(hw_poisson_loss(0.0, 0.0, NAN)) && isnan(hw_poisson_loss(2.0, log(2.0), NAN)));
    assert_true(isnan(hw_poisson_loss(0.0, 0.0, -INFINITY))); /* a margin that has overflowed */
    for (double x = 1e-300; x < 1e300; x *= 1.7)
        assert_true(fabsl(hw_exposure_log(x) - logl((long double)x)) <=
                    2.0L * DBL_EPSILON * fmaxl(1e-3L, fabsl(logl((long double)x))));
    assert_true(hw_exposure_log(1.0) == 0.0);
}

typedef struct problem {
    hw_newton_rows rows;
    hw_newton_point point;
    double x[COLUMNS][ROWS], target[ROWS], logs[ROWS], weights[ROWS], offset[ROWS], v[ROWS], pull[ROWS], curve[ROWS];
} problem;

static void make(problem *p, uint64_t seed, bool intercept)
{
    double level = pow(10.0, 4.0 * uniform(&seed) - 1.0);
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < ROWS; i++) {
        p->target[i] = i > 0 && uniform(&seed) < 0.4 ? 0.0 : floor(1.0 + level * uniform(&seed));
        p->logs[i] = hw_poisson_log(p->target[i]);
        p->weights[i] = i > 2 && uniform(&seed) < 0.2 ? 0.0 : 0.1 + uniform(&seed);
        p->offset[i] = uniform(&seed) - 0.5;
        p->v[i] = 3.0 * (uniform(&seed) - 0.5);
        for (size_t j = 0; j < COLUMNS; j++)
            p->x[j][i] = uniform(&seed) - 0.4;
        p->rows.total += p->weights[i];
    }
    p->rows = (hw_newton_rows){.loss = &hw_poisson_losses,
                               .count = ROWS,
                               .target = p->target,
                               .target_log = p->logs,
                               .weights = p->weights,
                               .offset = p->offset,
                               .total = p->rows.total,
                               .intercept = intercept};
    p->point = (hw_newton_point){.pull = p->pull, .curve = p->curve};
}

static long double exact_loss(const problem *p, const double *v, double intercept)
{
    long double sum = 0.0L;
    for (size_t i = 0; i < ROWS; i++)
        sum += p->weights[i] * exact(p->target[i], (long double)v[i] + intercept + p->offset[i]);
    return sum / p->rows.total;
}

static void test_look(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 60; seed++) {
        problem p;
        make(&p, seed, true);
        p.point.intercept = 0.3;
        hw_poisson_losses.look(&p.rows, p.v, &p.point);
        long double loss = exact_loss(&p, p.v, 0.3);
        assert_true(fabsl(p.point.loss - loss) <= 1e-14L * loss + p.point.rounding && p.point.rounding > 0.0);
        for (size_t i = 0; i < ROWS; i++) {
            double mean = exp(p.v[i] + 0.3 + p.offset[i]), size = p.target[i] + mean;
            assert_true(fabs(p.pull[i] - p.weights[i] * (p.target[i] - mean)) <= 1e-14 * size);
            assert_true(fabs(p.curve[i] - p.weights[i] * fmax(mean, 1e-4 * fabs(p.target[i] - mean))) <= 1e-14 * size);
        }
        /* The best intercept, from a near one, from one at which all means are zero, and from one at which they are
         * infinite. */
        static const double from[] = {0.0, -2000.0, 2000.0, NAN};
        for (size_t k = 0; k < 4; k++) {
            p.point.intercept = from[k];
            hw_poisson_losses.settle(&p.rows, p.v, 1.0, &p.point);
            long double best = exact_loss(&p, p.v, p.point.intercept);
            for (double step = -1e-4; step < 2e-4; step += 2e-4)
                assert_true(best < exact_loss(&p, p.v, p.point.intercept + step));
        }
        p.v[3] = seed % 2 == 0 ? NAN : -INFINITY;
        p.weights[3] = 1.0;
        hw_poisson_losses.settle(&p.rows, p.v, 1.0, &p.point);
        assert_false(isfinite(p.point.loss));
    }
}

/* Returns the loss's part of the dual at means t, in long double; pulls of means that sum to the counts need no
 * intercept. */
static long double exact_dual(const problem *p, const double *theta, double scale)
{
    long double sum = 0.0L;
    for (size_t i = 0; i < ROWS; i++) {
        long double y = p->target[i], t = y - (long double)scale * theta[i];
        long double one = (t > 0.0L ? t * logl(t) : 0.0L) - t - (y > 0.0L ? y * logl(y) : 0.0L) + y;
        sum -= p->weights[i] * (one + (long double)scale * theta[i] * p->offset[i]);
    }
    return sum / p->rows.total;
}

/* Dual points are feasible up to rounding, and below the loss at every intercept, whatever v is. */
static void test_dual(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 80; seed++) {
        problem p;
        double theta[ROWS], pull[ROWS], sum = 0.0, size = 0.0;
        make(&p, seed, seed % 2 == 0);
        hw_poisson_losses.settle(&p.rows, p.v, 1.0, &p.point);
        assert_true(hw_poisson_losses.theta(&p.rows, p.pull, theta));
        if (p.rows.intercept)
            hw_poisson_losses.balance(&p.rows, theta);
        (void)hw_poisson_losses.pull(&p.rows, theta, pull);
        for (size_t i = 0; i < ROWS; i++) {
            assert_true(theta[i] <= p.target[i] && fabs(pull[i] - p.weights[i] * theta[i]) <= 1e-16 * fabs(pull[i]));
            sum += pull[i];
            size += p.weights[i] * p.target[i];
        }
        assert_true(!p.rows.intercept || fabs(sum) <= 1e-14 * size);
        for (double scale = 1.0; scale > 0.0; scale -= 0.25) {
            double parts = hw_poisson_losses.dual(&p.rows, theta, scale, p.point.intercept, 0, 23) +
                           hw_poisson_losses.dual(&p.rows, theta, scale, p.point.intercept, 23, ROWS);
            long double bound = exact_dual(&p, theta, scale), linear = 0.0L;
            assert_true(fabsl(parts - bound) <= 1e-13L * (fabsl(bound) + size / p.rows.total));
            for (size_t i = 0; i < ROWS; i++) /* Fenchel and Young: loss(v) >= dual + the pulls' product with v */
                linear += (long double)scale * pull[i] * p.v[i] / p.rows.total;
            for (int trial = 0; trial < 10; trial++) {
                double b = p.rows.intercept ? 6.0 * uniform(&seed) - 3.0 : 0.0;
                assert_true(exact_loss(&p, p.v, b) + linear >= bound - 1e-12L * (fabsl(bound) + size));
            }
        }
        double far[ROWS];
        memset(far, 0, sizeof far);
        for (size_t i = 0; i < ROWS; i++)
            far[i] = i == 1 ? p.weights[i] * (p.target[i] + 1.0) : 0.0;
        assert_false(hw_poisson_losses.theta(&p.rows, far, theta));
        assert_true(theta[1] == p.target[1]);
    }
}

/* Minimises the loss plus bend/2 times the squares of two weights. Returns the objective. */
static double solve_ridge(problem *p, double bend, double *w)
{
    double objective = INFINITY;
    w[0] = w[1] = 0.0;
    for (int step = 0; step < 200; step++) {
        double slope[2], h[2][2] = {{bend, 0.0}, {0.0, bend}}, mean[2] = {0.0}, all = 0.0;
        for (size_t i = 0; i < ROWS; i++)
            p->v[i] = w[0] * p->x[0][i] + w[1] * p->x[1][i];
        hw_poisson_losses.settle(&p->rows, p->v, 1.0, &p->point);
        objective = p->point.loss + 0.5 * bend * (w[0] * w[0] + w[1] * w[1]);
        for (size_t i = 0; i < ROWS; i++) {
            all += p->curve[i];
            for (size_t j = 0; j < 2; j++)
                mean[j] += p->curve[i] * p->x[j][i];
        }
        for (size_t j = 0; j < 2; j++) {
            slope[j] = -bend * w[j];
            for (size_t i = 0; i < ROWS; i++)
                slope[j] += p->pull[i] * p->x[j][i] / p->rows.total;
            for (size_t k = 0; k < 2; k++)
                for (size_t i = 0; i < ROWS; i++)
                    h[j][k] += p->curve[i] * (p->x[j][i] - mean[j] / all) * (p->x[k][i] - mean[k] / all) / p->rows.total;
        }
        double det = h[0][0] * h[1][1] - h[0][1] * h[1][0], damp = step < 20 ? 0.5 : 1.0;
        w[0] += damp * (h[1][1] * slope[0] - h[0][1] * slope[1]) / det;
        w[1] += damp * (h[0][0] * slope[1] - h[1][0] * slope[0]) / det;
    }
    return objective;
}

/* The best dual point is within the radius of every other one, given that one's distance to the optimum. */
static void test_radius(void **state)
{
    (void)state;
    double nearest = INFINITY;
    for (uint64_t seed = 1; seed < 40; seed++) {
        problem p;
        double w[2], best[ROWS], theta[ROWS], pull[ROWS];
        make(&p, seed, true);
        double bend = p.target[0] * 0.01 + 0.01, optimum = solve_ridge(&p, bend, w);
        assert_true(hw_poisson_losses.theta(&p.rows, p.pull, best));
        for (int trial = 0; trial < 20; trial++) {
            double size = pow(10.0, -4.0 * uniform(&seed)), scale = 0.5 + 0.5 * uniform(&seed), conjugate = 0.0, far = 0.0;
            for (size_t i = 0; i < ROWS; i++)
                p.v[i] = w[0] * p.x[0][i] + w[1] * p.x[1][i] + size * (uniform(&seed) - 0.5);
            hw_poisson_losses.settle(&p.rows, p.v, 1.0, &p.point);
            assert_true(hw_poisson_losses.theta(&p.rows, p.pull, theta));
            hw_poisson_losses.balance(&p.rows, theta);
            (void)hw_poisson_losses.pull(&p.rows, theta, pull);
            scale = trial % 2 == 0 ? 1.0 : scale;
            for (size_t j = 0; j < 2; j++) {
                double g = 0.0;
                for (size_t i = 0; i < ROWS; i++)
                    g += scale * pull[i] * p.x[j][i] / p.rows.total;
                conjugate += g * g / (2.0 * bend);
            }
            double gap = optimum - hw_poisson_losses.dual(&p.rows, theta, scale, p.point.intercept, 0, ROWS) + conjugate;
            assert_true(gap > -1e-12 * (1.0 + optimum));
            for (size_t i = 0; i < ROWS; i++)
                far += p.weights[i] * (scale * theta[i] - best[i]) * (scale * theta[i] - best[i]) / p.rows.total;
            double radius = hw_poisson_losses.radius(&p.rows, theta, scale, fmax(gap, 0.0));
            if (gap < 1e-9 * (1.0 + optimum)) /* only rounding is left */
                continue;
            assert_true(sqrt(far) <= radius * (1.0 + 1e-6));
            nearest = fmin(nearest, radius / sqrt(far));
        }
    }
    assert_true(nearest < 4.0); /* the radius is not far larger than it must be */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loss), cmocka_unit_test(test_look), cmocka_unit_test(test_dual),
                                       cmocka_unit_test(test_radius)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
