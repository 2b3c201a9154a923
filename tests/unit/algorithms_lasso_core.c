/* The lasso's arithmetic without a runtime: blocks are played in turn, and everything is compared with a slow coordinate
 * descent that works on an explicitly centred dense copy and shares no code with the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algorithms/solve/pivot.h"
#include "algorithms_lasso_problem.h"

/* ---- the blocks, played in turn under BSP ---- */

typedef struct play {
    hw_lasso_block blocks[MOST_BLOCKS];
    hawser_matrix parts[MOST_BLOCKS];
    double *v, *images; /* v, and each block's image of it */
    uint32_t count;
    double gain, gap, objective;
    size_t certificates, kept, taken;
} play;

static void certify(play *game, const problem *q)
{
    hw_linear_sums sums = {0};
    double conjugate = 0.0, plain = 0.0;
    for (uint32_t b = 0; b < game->count; b++) {
        hw_linear_sums own;
        const double *alpha = q->lasso.problem.alpha + game->parts[b].first;
        hw_lasso_block_residual(&game->blocks[b], game->v, true);
        hw_lasso_block_scan(&game->blocks[b], alpha, q->lambda);
        hw_lasso_block_sums(&game->blocks[b], alpha, q->lambda, &own);
        sums.penalty += own.penalty;
        sums.curved += own.curved;
        sums.ratio = fmax(sums.ratio, own.ratio);
        sums.loss = own.loss, sums.square = own.square, sums.target = own.target;
    }
    double scale = hw_linear_scale(&sums);
    for (uint32_t b = 0; b < game->count; b++) {
        double own = 0.0, own_plain = 0.0;
        hw_linear_scan_conjugate(&game->blocks[b].scan, &game->blocks[b].columns, q->lambda, scale, &own, &own_plain);
        conjugate += own;
        plain += own_plain;
    }
    game->gap = hw_linear_gap(&sums, conjugate, plain, game->blocks[0].zero_objective);
    game->objective = hw_linear_primal(&sums);
    for (uint32_t b = 0; b < game->count; b++)
        hw_linear_scan_screen(&game->blocks[b].scan, &game->blocks[b].columns, q->lasso.problem.alpha + game->parts[b].first,
                              q->lambda, scale, sqrt(2.0 * game->gap));
}

static void round_of_all(play *game, problem *q, uint64_t *seed, bool fresh)
{
    size_t n = q->n;
    for (uint32_t b = 0; b < game->count; b++) {
        hw_lasso_block *block = &game->blocks[b];
        double *image = game->images + b * n;
        memcpy(image, game->v, n * sizeof(double));
        hw_lasso_block_residual(block, image, false);
        hw_linear_round round = {.columns = &block->columns,
                                 .lambda = q->lambda,
                                 .gain = game->gain,
                                 .residual = block->residual,
                                 .sum = block->sum,
                                 .square = block->square,
                                 .gradient = block->scan.gradient,
                                 .fresh = fresh,
                                 .alpha = q->lasso.problem.alpha + game->parts[b].first,
                                 .image = image,
                                 .gap = game->gap,
                                 .tolerance = 0.1 * q->lasso.choices.settings.tolerance * block->zero_objective,
                                 .steps = q->lasso.choices.settings.solver == hw_linear_coordinate() ? block->columns.X.cols
                                                                                                     : UINT64_MAX,
                                 .draw = draw,
                                 .source = seed};
        assert_int_equal(q->lasso.choices.settings.solver->solve(block->solver, &round, NULL), HAWSER_OK);
    }
    double *old = malloc(n * sizeof(double));
    memcpy(old, game->v, n * sizeof(double));
    for (uint32_t b = 0; b < game->count; b++)
        for (size_t i = 0; i < n; i++)
            game->v[i] += (game->images[b * n + i] - old[i]) / game->gain;
    free(old);
}

/* Extrapolates over the rounds just played; the step is taken when the objective falls. */
static void accelerate(play *game, problem *q, bool done)
{
    double before = 0.0, after = 0.0;
    for (uint32_t b = 0; b < game->count; b++) {
        hw_lasso_block *block = &game->blocks[b];
        const double *alpha = q->lasso.problem.alpha + game->parts[b].first;
        size_t count = 0;
        const uint32_t *members = q->lasso.choices.settings.solver->members(block->solver, &count);
        double now = 0.0;
        hw_lasso_block_residual(block, game->v, false);
        assert_int_equal(hw_linear_accelerator_keep(&block->accelerator, &block->columns, members, count, game->kept,
                                                    block->residual, alpha, NULL),
                         HAWSER_OK);
        if (!done)
            continue;
        after += hw_linear_accelerator_propose(&block->accelerator, &block->columns, members, q->lambda, alpha, &now);
        before += now;
    }
    game->kept++;
    if (!done || !(after + game->blocks[0].accelerator.loss < before + game->blocks[0].loss))
        return;
    for (uint32_t b = 0; b < game->count; b++) {
        hw_lasso_block *block = &game->blocks[b];
        size_t count = 0;
        const uint32_t *members = q->lasso.choices.settings.solver->members(block->solver, &count);
        hw_linear_accelerator_take(&block->accelerator, &block->columns, members, 1.0,
                                   q->lasso.problem.alpha + game->parts[b].first, game->v);
    }
    game->taken++;
}

/* Solves with `count` blocks; checks on the way that the gap never promises too much. Returns the objective. */
static double solve(problem *q, uint32_t count, size_t rounds, double optimum)
{
    play *game = calloc(1, sizeof *game);
    game->count = count;
    game->gain = count;
    game->v = calloc(q->n, sizeof(double));
    game->images = calloc(q->n * count, sizeof(double));
    uint64_t seed = 5;
    memset(q->lasso.problem.alpha, 0, q->p * sizeof(double));
    for (uint32_t b = 0; b < count; b++) {
        game->parts[b] = hawser_matrix_columns(&q->matrix, q->p * b / count, q->p * (b + 1) / count);
        assert_int_equal(hw_lasso_block_prepare(&game->blocks[b], &q->lasso, &game->parts[b], 0, NULL), HAWSER_OK);
    }
    double enough = q->lasso.choices.settings.tolerance * game->blocks[0].zero_objective;
    for (certify(game, q); game->gap > enough && game->certificates < 5000; certify(game, q), game->certificates++) {
        assert_true(game->gap >= game->objective - optimum - 1e-13 * fabs(optimum));
        for (uint32_t b = 0; b < count; b++) {
            hw_lasso_block *block = &game->blocks[b];
            hw_linear_candidates candidates =
                hw_linear_scan_candidates(&block->scan, q->lasso.problem.alpha + game->parts[b].first);
            assert_int_equal(
                q->lasso.choices.settings.solver->choose(block->solver, &block->columns, q->lambda, &candidates, 100, NULL),
                HAWSER_OK);
        }
        bool extrapolate = count > 1 && q->lasso.choices.settings.solver != hw_linear_coordinate();
        game->kept = 0;
        for (size_t k = 0; k < rounds; k++) {
            if (extrapolate)
                accelerate(game, q, false);
            round_of_all(game, q, &seed, k == 0 && q->lasso.problem.free_count == 0);
        }
        if (extrapolate)
            accelerate(game, q, true);
    }
    assert_true(game->gap <= enough);
    assert_true(game->gap >= game->objective - optimum - 1e-13 * fabs(optimum));
    double objective = reference_objective(q, q->lasso.problem.alpha);
    /* v is not derived anew here, so columns of 1e6 leave rounding errors in it. */
    assert_true(fabs(objective - game->objective) <= 5e-11 * objective);
    for (uint32_t b = 0; b < count; b++)
        hw_lasso_block_release(&game->blocks[b]);
    free(game->v);
    free(game->images);
    free(game);
    return objective;
}

/* Both solvers, and one and several blocks, reach the reference's optimum. */
static void check(problem *q)
{
    double *alpha = calloc(q->p, sizeof(double)), optimum = reference(q, alpha);
    static const uint32_t counts[] = {1, 2, 3, 8};
    for (size_t k = 0; k < 4; k++) {
        q->lasso.choices.settings.solver = hw_linear_working_set();
        double found = solve(q, counts[k], counts[k] == 1 ? 1 : 5, optimum);
        assert_true(found - optimum <= 1.01e-9 * found + 1e-9 * reference_objective(q, (double[512]){0}));
        assert_true(found >= optimum * (1.0 - 1e-12));
    }
    q->lasso.choices.settings.solver = hw_linear_coordinate();
    double found = solve(q, 2, 20, optimum);
    assert_true(found - optimum <= 1e-8 * reference_objective(q, (double[512]){0}));
    free(alpha);
}

static void plain_lasso(void **unused)
{
    (void)unused;
    static const double densities[] = {1.0, 0.2};
    static const double fractions[] = {0.5, 0.05, 0.005};
    for (size_t d = 0; d < 2; d++)
        for (size_t f = 0; f < 3; f++)
            for (int intercept = 0; intercept < 2; intercept++) {
                problem q;
                make(&q, 80, 40, 0.3, densities[d], 11 + d);
                q.lasso.choices.settings.intercept = intercept;
                at_fraction(&q, fractions[f]);
                check(&q);
                drop(&q);
            }
}

static void more_columns_than_rows(void **unused)
{
    (void)unused;
    problem q;
    make(&q, 30, 300, 0.2, 0.5, 3);
    at_fraction(&q, 0.1);
    check(&q);
    drop(&q);
}

static void correlated_columns(void **unused)
{
    (void)unused;
    problem q;
    make(&q, 100, 48, 0.95, 1.0, 7);
    at_fraction(&q, 0.02);
    check(&q);
    drop(&q);
}

static void elastic_net_and_ridge(void **unused)
{
    (void)unused;
    static const double ratios[] = {0.9, 0.3, 0.0};
    for (size_t k = 0; k < 3; k++) {
        problem q;
        make(&q, 60, 50, 0.4, k == 1 ? 0.3 : 1.0, 17);
        at_fraction(&q, 0.05);
        q.lasso.choices.settings.l1_ratio = ratios[k];
        check(&q);
        drop(&q);
    }
}

static void weights_standardised(void **unused)
{
    (void)unused;
    problem q;
    make(&q, 90, 30, 0.3, 0.4, 23);
    uint64_t seed = 4;
    double *weights = calloc(q.n, sizeof(double));
    for (size_t i = 0; i < q.n; i++)
        weights[i] = i % 9 == 0 ? 0.0 : 1.5 + uniform(&seed);
    q.lasso.problem.weights = weights;
    q.lasso.choices.settings.standardize = true;
    at_fraction(&q, 0.03);
    check(&q);
    q.lasso.choices.settings.intercept = false;
    check(&q);
    drop(&q);
}

static void bounds_and_factors(void **unused)
{
    (void)unused;
    problem q;
    make(&q, 70, 28, 0.3, 1.0, 29);
    q.lasso.problem.lower = calloc(q.p, sizeof(double));
    q.lasso.problem.upper = calloc(q.p, sizeof(double));
    q.lasso.problem.factor = calloc(q.p, sizeof(double));
    for (size_t j = 0; j < q.p; j++) {
        q.lasso.problem.lower[j] = j % 2 ? 0.0 : -0.4;
        q.lasso.problem.upper[j] = j % 4 == 1 ? INFINITY : 0.5;
        q.lasso.problem.factor[j] = 0.5 + (double)(j % 4);
    }
    at_fraction(&q, 0.05);
    check(&q);
    drop(&q);
}

/* Says which columns have no penalty, as the library does for its own input. */
static void list_free(problem *q, const uint32_t *list, size_t count)
{
    q->lasso.problem.free_columns = calloc(count * q->n, sizeof(double));
    q->lasso.problem.free_side = calloc(count, sizeof *q->lasso.problem.free_side);
    q->lasso.problem.free_list = calloc(count, sizeof *q->lasso.problem.free_list);
    q->lasso.problem.free_count = count;
    for (size_t k = 0; k < count; k++) {
        bool below = q->lasso.problem.lower == NULL || isinf(q->lasso.problem.lower[list[k]]);
        bool above = q->lasso.problem.upper == NULL || isinf(q->lasso.problem.upper[list[k]]);
        memcpy(q->lasso.problem.free_columns + k * q->n, q->dense + list[k] * q->n, q->n * sizeof(double));
        q->lasso.problem.free_list[k] = list[k];
        q->lasso.problem.free_side[k] = below && above ? 0 : above ? 1 : -1;
    }
}

/* Columns without a penalty: the dual point has to be orthogonal to them, or the gap would be infinite. */
static void free_columns(void **unused)
{
    (void)unused;
    problem q;
    make(&q, 70, 24, 0.5, 1.0, 31);
    q.lasso.problem.factor = calloc(q.p, sizeof(double));
    for (size_t j = 0; j < q.p; j++)
        q.lasso.problem.factor[j] = j == 3 || j == 20 ? 0.0 : 1.0;
    list_free(&q, (const uint32_t[]){3, 20}, 2);
    at_fraction(&q, 0.2);
    check(&q);
    drop(&q);
}

/* Above which lambda nothing but one bounded column moves, in closed form: its own coefficient is the unbounded one, or a
 * bound. */
static void lambda_max_beside_a_bounded_column(void **unused)
{
    (void)unused;
    const double bounds[] = {INFINITY, 100.0, 1e-3, 0.0};
    for (size_t k = 0; k < 2 * sizeof bounds / sizeof *bounds; k++) {
        problem q;
        make(&q, 60, 12, 0.5, 1.0, 77);
        q.lasso.choices.settings.intercept = false;
        q.lasso.problem.factor = calloc(q.p, sizeof(double));
        q.lasso.problem.lower = calloc(q.p, sizeof(double));
        q.lasso.problem.upper = calloc(q.p, sizeof(double));
        double square = 0.0, pull = 0.0, most = 0.0;
        for (size_t j = 0; j < q.p; j++) {
            q.lasso.problem.factor[j] = j == 5 ? 0.0 : 1.0;
            q.lasso.problem.lower[j] = j == 5 && k % 2 == 1 ? -bounds[k / 2] : -INFINITY;
            q.lasso.problem.upper[j] = j == 5 ? bounds[k / 2] : INFINITY;
        }
        list_free(&q, (const uint32_t[]){5}, 1);
        q.lasso.problem.box_count = k % 2 == 1 && !isinf(bounds[k / 2]);
        q.lasso.problem.free_count = 1 - q.lasso.problem.box_count;
        const double *free = q.dense + 5 * q.n, *y = q.lasso.problem.target;
        for (size_t i = 0; i < q.n; i++) {
            square += free[i] * free[i];
            pull += free[i] * y[i];
        }
        double w = fmin(fmax(pull / square, q.lasso.problem.lower[5]), q.lasso.problem.upper[5]);
        for (size_t j = 0; j < q.p; j++) {
            double dot = 0.0;
            for (size_t i = 0; i < q.n; i++)
                dot += q.dense[j * q.n + i] * (y[i] - w * free[i]) / (double)q.n;
            most = j != 5 ? fmax(most, fabs(dot)) : most;
        }
        at_fraction(&q, 1.0);
        assert_true(fabs(q.lambda - most) <= 1e-12 * most);
        drop(&q);
    }
}

/* lambda_max where the first `count` columns are free; what is left of the target is no larger than it and orthogonal to all
 * of them. */
static double lambda_max_beside(problem *q, size_t count)
{
    uint32_t list[100] = {0};
    hw_lasso_block block = {0};
    double most, target = hawser_dot(q->n, q->lasso.problem.target, q->lasso.problem.target, NULL);
    for (size_t j = 0; j < q->p; j++)
        q->lasso.problem.factor[j] = j < count ? 0.0 : 1.0;
    for (size_t j = 0; j < count; j++)
        list[j] = (uint32_t)j;
    list_free(q, list, count);
    assert_int_equal(hw_lasso_block_prepare(&block, &q->lasso, &q->matrix, 0, NULL), HAWSER_OK);
    assert_int_equal(hw_lasso_block_lambda_max(&block, &most, NULL), HAWSER_OK);
    assert_true(hawser_dot(q->n, block.residual, block.residual, NULL) <= target);
    for (size_t j = 0; j < count; j++) {
        const double *x = q->dense + j * q->n;
        double pull = hw_linear_dot(&block.columns, j, block.residual, block.sum);
        assert_true(fabs(pull) <= 1e-10 * sqrt(hawser_dot(q->n, x, x, NULL) * target));
    }
    hw_lasso_block_release(&block);
    free(q->lasso.problem.free_columns);
    free(q->lasso.problem.free_side);
    free(q->lasso.problem.free_list);
    return most;
}

/* Columns without a penalty that depend on each other: lambda_max is that of ten which do not, whatever their scales; where
 * they are alike but for a billionth, what is left is orthogonal to all; where there are more of them than rows, nothing is
 * left. */
static void lambda_max_beside_dependent_columns(void **unused)
{
    (void)unused;
    enum { SUMS, SCALED, CLOSE, FULL, CASES };
    for (int k = 0; k < 2 * CASES; k++) {
        int kind = k / 2;
        uint64_t seed = 5;
        problem q;
        make(&q, 40, 110, 0.5, 1.0, 91);
        q.lasso.choices.settings.intercept = k % 2;
        q.lasso.problem.factor = calloc(q.p, sizeof(double));
        for (size_t at = 0; kind != FULL && at < 10 * q.n; at++) {
            double x = q.dense[at], next_x = q.dense[(at + q.n) % (10 * q.n)];
            q.dense[10 * q.n + at] = kind == CLOSE ? x * (1.0 + 1e-9 * uniform(&seed)) : x - next_x;
        }
        for (size_t at = 0; kind == SCALED && at < 20 * q.n; at++)
            q.dense[at] *= at / q.n % 3 == 0 ? 1e6 : at / q.n % 3 == 1 ? 1e-6 : 1.0;
        double most = lambda_max_beside(&q, kind == FULL ? 100 : 20);
        if (kind == FULL)
            assert_true(most <= 1e-9);
        else if (kind != CLOSE)
            assert_true(most > 0.01 && fabs(most - lambda_max_beside(&q, 10)) <= 1e-9 * most);
        q.lasso.problem.free_columns = NULL, q.lasso.problem.free_side = NULL, q.lasso.problem.free_list = NULL;
        drop(&q);
    }
}

static size_t at_bounds(const problem *q, const uint32_t *list, size_t count)
{
    size_t at = 0;
    for (size_t k = 0; k < count; k++)
        at += q->lasso.problem.alpha[list[k]] == q->lasso.problem.lower[list[k]] ||
              q->lasso.problem.alpha[list[k]] == q->lasso.problem.upper[list[k]];
    return at;
}

/* Columns without a penalty that are bounded on one side only: some end on the bound, some do not, and the gap closes all
 * the same; with all columns like that it is non-negative least squares. */
static void one_sided_free_columns(void **unused)
{
    (void)unused;
    for (int all = 0; all < 2; all++) {
        problem q;
        uint32_t list[24];
        size_t count = 0, ends;
        make(&q, 90, 24, 0.4, all ? 0.5 : 1.0, 43);
        q.lasso.problem.factor = calloc(q.p, sizeof(double));
        q.lasso.problem.lower = calloc(q.p, sizeof(double));
        q.lasso.problem.upper = calloc(q.p, sizeof(double));
        for (size_t j = 0; j < q.p; j++) {
            bool is_free = all || j % 3 == 0;
            q.lasso.problem.factor[j] = is_free ? 0.0 : 1.0;
            q.lasso.problem.lower[j] = j % 4 == 3 ? -INFINITY : j % 8 == 0 ? -0.1 : 0.0;
            q.lasso.problem.upper[j] = j % 4 == 3 ? 0.0 : INFINITY;
            if (!all && j % 12 == 6)
                q.lasso.problem.lower[j] = -INFINITY;
            if (is_free)
                list[count++] = (uint32_t)j;
        }
        list_free(&q, list, count);
        q.lambda = 0.02;
        check(&q);
        ends = at_bounds(&q, list, count);
        assert_true(ends > 0 && ends < count);
        drop(&q);
    }
}

/* One round in Gram space, in residual space or of plain descent, cut short at that look; returns the objective that it
 * leaves. */
static double cut_round(int kind, size_t looks)
{
    problem q;
    make(&q, 400, 500, 0.4, kind == 1 ? 0.02 : 1.0, 47);
    q.lasso.choices.settings.solver = kind == 2 ? hw_linear_coordinate() : hw_linear_working_set();
    at_fraction(&q, 0.01);
    hw_lasso_block block = {0};
    double *v = calloc(q.n, sizeof(double));
    uint64_t seed = 3;
    assert_int_equal(hw_lasso_block_prepare(&block, &q.lasso, &q.matrix, 0, NULL), HAWSER_OK);
    hw_lasso_block_residual(&block, v, true);
    hw_lasso_block_scan(&block, q.lasso.problem.alpha, q.lambda);
    hw_linear_candidates candidates = hw_linear_scan_candidates(&block.scan, q.lasso.problem.alpha);
    assert_int_equal(q.lasso.choices.settings.solver->choose(block.solver, &block.columns, q.lambda, &candidates, 400, NULL),
                     HAWSER_OK);
    hw_linear_round round = {.columns = &block.columns,
                             .lambda = q.lambda,
                             .gain = 1.0,
                             .residual = block.residual,
                             .sum = block.sum,
                             .square = block.square,
                             .gradient = block.scan.gradient,
                             .fresh = true,
                             .alpha = q.lasso.problem.alpha,
                             .image = v,
                             .steps = 1u << 20,
                             .draw = draw,
                             .source = &seed,
                             .stop = {asked_at_last, &looks}};
    assert_int_equal(q.lasso.choices.settings.solver->solve(block.solver, &round, NULL), HAWSER_OK);
    assert_int_equal(looks, 0);
    for (size_t i = 0; i < q.n; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < q.p; j++)
            sum += q.dense[j * q.n + i] * q.lasso.problem.alpha[j];
        assert_true(fabs(sum - v[i]) <= 1e-9 * (1.0 + fabs(sum)));
    }
    double objective = reference_objective(&q, q.lasso.problem.alpha);
    free(v);
    hw_lasso_block_release(&block);
    drop(&q);
    return objective;
}

/* Wherever a round is cut short, its image is that of the coefficients that it leaves (cut_round), and it does look: later
 * cuts leave more done. */
static void stops_within_a_round(void **unused)
{
    (void)unused;
    for (int kind = 0; kind < 3; kind++) {
        double first = cut_round(kind, 1), last = first;
        for (size_t looks = 4; looks < 40; looks += 3) {
            last = cut_round(kind, looks);
            assert_true(last <= first * (1.0 + 1e-12));
        }
        assert_true(last < 0.9 * first);
    }
}

static void large_means(void **unused)
{
    (void)unused;
    problem q;
    make(&q, 60, 20, 0.3, 1.0, 37);
    for (size_t k = 0; k < q.n * q.p; k++)
        q.dense[k] += 1e6;
    q.lasso.choices.settings.tolerance = 1e-7;
    at_fraction(&q, 0.05);
    double *alpha = calloc(q.p, sizeof(double)), optimum = reference(&q, alpha);
    hw_lasso_block block = {0};
    assert_int_equal(hw_lasso_block_prepare(&block, &q.lasso, &q.matrix, 0, NULL), HAWSER_OK);
    double zero = block.zero_objective;
    hw_lasso_block_release(&block);
    assert_true(solve(&q, 1, 1, optimum + 1e-9 * zero) - optimum <= 1e-6 * zero);
    free(alpha);
    drop(&q);
}

/* A warm start at another lambda, where the second scan may skip columns, is certified as truly as a cold one. */
static void lazy_scan_is_an_upper_bound(void **unused)
{
    (void)unused;
    problem q;
    make(&q, 200, 120, 0.1, 0.3, 41);
    at_fraction(&q, 0.2);
    hw_lasso_block lazy = {0}, full = {0};
    assert_int_equal(hw_lasso_block_prepare(&lazy, &q.lasso, &q.matrix, 0, NULL), HAWSER_OK);
    assert_int_equal(hw_lasso_block_prepare(&full, &q.lasso, &q.matrix, 0, NULL), HAWSER_OK);
    double *v = calloc(q.n, sizeof(double));
    uint64_t seed = 9;
    for (int step = 0; step < 40; step++) {
        for (size_t i = 0; i < q.n; i++)
            v[i] += (step % 4 == 0 ? 0.3 : 0.001) * uniform(&seed);
        full.scan.referenced = false;
        hw_lasso_block_residual(&lazy, v, true);
        hw_lasso_block_residual(&full, v, true);
        hw_lasso_block_scan(&lazy, q.lasso.problem.alpha, q.lambda);
        hw_lasso_block_scan(&full, q.lasso.problem.alpha, q.lambda);
        for (size_t j = 0; j < q.p; j++) {
            double a = fabs(lazy.scan.gradient[j]), b = fabs(full.scan.gradient[j]), edge = q.lambda * full.columns.l1[j];
            assert_true(a >= b * (1.0 - 1e-12) - 1e-15);
            assert_true(a <= edge || fabs(a - b) <= 1e-12 * b);
        }
    }
    free(v);
    hw_lasso_block_release(&lazy);
    hw_lasso_block_release(&full);
    drop(&q);
}

/* A pivot is for columns far from zero that are not constant; their shares of it leave what they differ by. */
static void columns_lose_their_shares_of_a_pivot(void **unused)
{
    enum { EXAMPLES = 7, FEATURES = 3 };
    const uint32_t list[FEATURES] = {0, 1, 2};
    double values[FEATURES * EXAMPLES], memory[2 * EXAMPLES], *scratch[] = {memory, memory + EXAMPLES}, share[FEATURES],
                                                              left[FEATURES];
    long double mean = 0.0L, square = 0.0L;
    (void)unused;
    for (size_t i = 0; i < EXAMPLES; i++) {
        values[i] = 1.0;
        values[EXAMPLES + i] = 1e6 + (double)(i * i);
        values[2 * EXAMPLES + i] = (double)i - 3.0;
        mean += (long double)(i * i) / EXAMPLES;
    }
    for (size_t i = 0; i < EXAMPLES; i++)
        square += ((long double)(i * i) - mean) * ((long double)(i * i) - mean) / EXAMPLES;
    hw_linear_columns columns = {.X = {.rows = EXAMPLES,
                                       .cols = FEATURES,
                                       .stored = EXAMPLES * FEATURES,
                                       .layout = HAWSER_DENSE,
                                       .type = HAWSER_F64,
                                       .values = values,
                                       .stride = EXAMPLES},
                                 .total = EXAMPLES};
    assert_true(hw_linear_is_constant(&columns, 0));
    assert_false(hw_linear_is_constant(&columns, 1) || hw_linear_is_constant(&columns, 2));
    assert_int_equal(hw_linear_pivot_find(&columns, list, FEATURES), FEATURES);
    columns.far = true;
    assert_int_equal(hw_linear_pivot_find(&columns, list, FEATURES), 0);
    assert_int_equal(hw_linear_pivot_find(&columns, list + 1, FEATURES - 1), 0); /* column 1 */
    hw_linear_pivot_shares(&columns, list, FEATURES, 0, scratch, share, left);
    assert_true(fabsl((long double)share[1] - (1e6L + mean)) < 1e-8L && fabs(share[2]) < 1e-14);
    assert_true(fabsl((long double)left[1] - square) < 1e-6L && fabs(left[2] - 4.0) < 1e-12 && left[0] == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plain_lasso),
                                       cmocka_unit_test(columns_lose_their_shares_of_a_pivot),
                                       cmocka_unit_test(more_columns_than_rows),
                                       cmocka_unit_test(correlated_columns),
                                       cmocka_unit_test(elastic_net_and_ridge),
                                       cmocka_unit_test(weights_standardised),
                                       cmocka_unit_test(bounds_and_factors),
                                       cmocka_unit_test(free_columns),
                                       cmocka_unit_test(lambda_max_beside_a_bounded_column),
                                       cmocka_unit_test(lambda_max_beside_dependent_columns),
                                       cmocka_unit_test(one_sided_free_columns),
                                       cmocka_unit_test(stops_within_a_round),
                                       cmocka_unit_test(large_means),
                                       cmocka_unit_test(lazy_scan_is_an_upper_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
