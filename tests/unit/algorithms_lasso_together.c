/* What the lasso's blocks do together, played without a runtime: searches over a face, and descents on a working set of
 * all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "adding_blocks.h"
#include "algorithms_lasso_problem.h"

#include "algorithms/glm/sets.h"

/* What one block does of a search, and how it ended. */
typedef struct searching {
    problem *q;
    const double *from; /* v before the search */
    size_t steps;
    hawser_status status;
    double reach, *moved; /* by row: what its columns have moved */
} searching;

static void search_one(adding_block *adding)
{
    searching *s = adding->argument;
    problem *q = s->q;
    uint32_t b = adding->number, count = adding->group->blocks;
    hawser_matrix part = hawser_matrix_columns(&q->matrix, q->p * b / count, q->p * (b + 1) / count);
    hw_lasso_block block = {0};
    hw_linear_part adds = adding_part(adding);
    hawser_error error;
    s->status = hw_lasso_block_prepare(&block, &q->lasso, &part, 0, &error);
    hw_lasso_block_residual(&block, s->from, false);
    hw_linear_round round = {.columns = &block.columns,
                             .lambda = q->lambda,
                             .residual = block.residual,
                             .sum = block.sum,
                             .alpha = q->lasso.problem.alpha + part.first,
                             .stop = {adding_stops, adding},
                             .part = &adds};
    if (s->status == HAWSER_OK)
        s->status = hw_linear_search_run(&block.search, &round, NULL, part.cols, s->steps, &error);
    s->reach = block.search.reach;
    hw_linear_search_move(&block.search, 1.0, s->moved);
    hw_lasso_block_release(&block);
}

/* A search by `count` blocks, from the coefficients as they are; v goes along. Returns how many sums it took. */
static size_t play_search(problem *q, uint32_t count, size_t steps, size_t stop_after, double *v)
{
    searching each[MOST_BLOCKS];
    void *arguments[MOST_BLOCKS];
    for (uint32_t b = 0; b < count; b++) {
        each[b] = (searching){.q = q, .from = v, .steps = steps, .moved = calloc(q->n, sizeof(double))};
        arguments[b] = &each[b];
    }
    size_t sums = adding_run(count, stop_after, search_one, arguments);
    for (uint32_t b = 0; b < count; b++) {
        assert_int_equal(each[b].status, HAWSER_OK);
        assert_true(each[b].reach == each[0].reach);
        for (size_t i = 0; i < q->n; i++)
            v[i] += each[b].moved[i];
        free(each[b].moved);
    }
    return sums;
}

static void image_of(const problem *q, double *v)
{
    memset(v, 0, q->n * sizeof(double));
    for (size_t j = 0; j < q->p; j++)
        for (size_t i = 0; i < q->n; i++)
            v[i] += q->dense[j * q->n + i] * q->lasso.problem.alpha[j];
}

/* On the optimum's own face a search over any number of blocks finds the optimum; from elsewhere it never makes things
 * worse, keeps within the bounds and keeps v = X alpha. After a request to stop it takes one more sum. */
static void search_over_blocks(void **unused)
{
    (void)unused;
    enum { STEPS = 60, STOP_AFTER = 3 };
    for (int kind = 0; kind < 4; kind++)
        for (uint32_t count = 1; count <= 8; count = 2 * count + 1) {
            problem q;
            uint64_t seed = 53;
            make(&q, 90, 40, kind == 1 ? 0.95 : 0.4, kind == 2 ? 0.3 : 1.0, 59);
            q.lasso.choices.settings.intercept = kind != 3;
            q.lasso.choices.settings.l1_ratio = kind == 2 ? 0.7 : 1.0;
            q.lasso.problem.lower = calloc(q.p, sizeof(double));
            q.lasso.problem.upper = calloc(q.p, sizeof(double));
            double *weights = calloc(q.n, sizeof(double)), *v = calloc(q.n, sizeof(double)),
                   *again = calloc(q.n, sizeof(double));
            for (size_t i = 0; i < q.n; i++)
                weights[i] = i % 9 == 0 ? 0.0 : 1.0 + (double)(i % 3);
            for (size_t j = 0; j < q.p; j++)
                q.lasso.problem.lower[j] = -2.0, q.lasso.problem.upper[j] = j % 5 == 0 ? 0.3 : INFINITY;
            q.lasso.problem.weights = weights;
            at_fraction(&q, 0.03);
            double optimum = reference(&q, q.lasso.problem.alpha);
            for (int wild = 0; wild < 2; wild++) {
                for (size_t j = 0; j < q.p; j++)
                    if (wild && j % 2 == 0)
                        q.lasso.problem.alpha[j] = fmin(q.lasso.problem.upper[j], uniform(&seed));
                    else if (q.lasso.problem.alpha[j] != q.lasso.problem.upper[j] &&
                             q.lasso.problem.alpha[j] != q.lasso.problem.lower[j])
                        q.lasso.problem.alpha[j] *= 1.0 + 0.05 * uniform(&seed);
                image_of(&q, v);
                double before = reference_objective(&q, q.lasso.problem.alpha);
                size_t sums = play_search(&q, count, STEPS, wild ? STOP_AFTER : 0, v);
                assert_true(wild ? sums <= STOP_AFTER + 1 : sums <= STEPS + 1);
                double after = reference_objective(&q, q.lasso.problem.alpha);
                image_of(&q, again);
                assert_true(wild ? after <= before * (1.0 + 1e-14) : after < before);
                assert_true(wild || after - optimum <= 1e-9 * optimum);
                for (size_t i = 0; i < q.n; i++)
                    assert_true(fabs(v[i] - again[i]) <= 1e-9 * (1.0 + fabs(again[i])));
                for (size_t j = 0; j < q.p; j++)
                    assert_true(q.lasso.problem.alpha[j] >= q.lasso.problem.lower[j] &&
                                q.lasso.problem.alpha[j] <= q.lasso.problem.upper[j]);
            }
            free(v);
            free(again);
            drop(&q);
        }
}

/* Blocks that have posted their working sets and computed their parts of the union's Gram matrix, as the runtime would have
 * it. */
static void enter_joint(problem *q, hw_lasso_block *blocks)
{
    uint32_t count = q->lasso.choices.blocks;
    size_t share = hw_linear_sets_share(&q->lasso, HW_LASSO_JOINT_FIELDS);
    double *sets = calloc(count * share, sizeof *sets), *v = calloc(q->n, sizeof *v);
    image_of(q, v);
    for (uint32_t b = 0; b < count; b++) {
        hawser_matrix part = hawser_matrix_columns(&q->matrix, q->p * b / count, q->p * (b + 1) / count);
        const double *alpha = q->lasso.problem.alpha + part.first;
        hw_lasso_block *block = &blocks[b];
        assert_int_equal(hw_lasso_block_prepare(block, &q->lasso, &part, 0, NULL), HAWSER_OK);
        hw_lasso_block_residual(block, v, true);
        hw_lasso_block_scan(block, alpha, q->lambda);
        block->scan.screened_at = q->lambda;
        hw_linear_candidates candidates = hw_linear_scan_candidates(&block->scan, alpha);
        assert_int_equal(q->lasso.choices.settings.solver->choose(block->solver, &block->columns, q->lambda, &candidates,
                                                                  part.cols, NULL),
                         HAWSER_OK);
        block->fresh = true;
        assert_true(hw_lasso_joint_post(block, alpha, sets + b * share) <= share);
    }
    for (uint32_t b = 0; b < count; b++) {
        assert_int_equal(
            hw_lasso_joint_union(&blocks[b], &q->matrix, hw_linear_sets_of(&q->lasso, HW_LASSO_JOINT_FIELDS, sets), NULL),
            HAWSER_OK);
        assert_int_equal(hw_lasso_joint_products(&blocks[b], b, (hw_linear_stop){0}, NULL), HAWSER_OK);
    }
    free(sets);
    free(v);
}

/* What one block does of a descent, and how it ended. */
typedef struct descent {
    problem *q;
    hw_lasso_block *block;
    hawser_status status;
} descent;

static void solve_one(adding_block *adding)
{
    descent *d = adding->argument;
    hw_linear_part part = adding_part(adding);
    hw_linear_round round = {.lambda = d->q->lambda,
                             .gain = 1.0,
                             .residual = d->block->residual,
                             .sum = d->block->sum,
                             .square = d->block->square,
                             .tolerance = 1e-10 * d->block->zero_objective,
                             .steps = UINT64_MAX,
                             .stop = {adding_stops, adding}};
    hawser_error error;
    d->status = hw_lasso_joint_solve(d->block, &round, &part, d->q->lasso.problem.alpha + d->block->columns.X.first, &error);
}

typedef struct variant {
    bool gram, divided;
    size_t stop_after;
    uint32_t broken; /* the block that did not get all its products; none: UINT32_MAX */
} variant;

/* A working set chosen, solved together in the wanted space, moved to. Returns how many sums that took. */
static size_t descend_together(problem *q, hw_lasso_block *blocks, variant w)
{
    uint32_t count = q->lasso.choices.blocks;
    descent each[MOST_BLOCKS];
    void *arguments[MOST_BLOCKS];
    enter_joint(q, blocks);
    for (uint32_t b = 0; b < count; b++) {
        assert_true(blocks[b].joint.plan.use_gram || !w.gram);
        blocks[b].joint.plan.use_gram = w.gram;
        blocks[b].joint.plan.divided = w.divided;
        blocks[b].joint.plan.broken = w.broken == b;
        each[b] = (descent){.q = q, .block = &blocks[b]};
        arguments[b] = &each[b];
    }
    size_t sums = adding_run(count, w.stop_after, solve_one, arguments);
    assert_true(sums != SIZE_MAX);
    for (uint32_t b = 0; b < count; b++) {
        const hw_linear_members *members = &blocks[b].joint.members;
        assert_int_equal(each[b].status, HAWSER_OK);
        for (size_t k = 0; k < members->count; k++)
            assert_true(members->x[k] == blocks[0].joint.members.x[k]);
    }
    return sums;
}

/* Solves again and again, until the gap is closed; what one block solves alone and what all divide is the same optimum. */
static void reach_optimum(problem *q, hw_lasso_block *blocks, bool gram, bool divided)
{
    double zero = reference_objective(q, (double[512]){0}), *alpha = calloc(q->p, sizeof(double));
    double optimum = reference(q, alpha), found = reference_objective(q, q->lasso.problem.alpha);
    for (int round = 0; round < 300 && found - optimum > 1e-8 * zero; round++) {
        descend_together(q, blocks, (variant){gram, divided, 0, UINT32_MAX});
        double now = reference_objective(q, q->lasso.problem.alpha);
        assert_true(now <= found * (1.0 + 1e-12));
        found = now;
    }
    assert_true(found - optimum <= 1e-8 * zero);
    free(alpha);
}

/* A descent of several blocks finds the optimum in either space, with the same coefficients on every block. After a request
 * to stop all of them end it together, and where one block lacks its products none moves. */
static void descent_over_blocks(void **unused)
{
    (void)unused;
    enum { STOP_AFTER = 5 };
    static const struct {
        size_t n, p;
        double density;
        bool gram;
    } kinds[] = {{300, 60, 1.0, true}, {60, 200, 1.0, false}, {1500, 160, 0.1, true}, {300, 400, 0.05, false}};
    for (size_t kind = 0; kind < 4; kind++)
        for (uint32_t count = 1; count <= 8; count = 2 * count + 1) {
            problem q;
            make(&q, kinds[kind].n, kinds[kind].p, 0.6, kinds[kind].density, 71 + kind);
            double *weights = calloc(q.n, sizeof *weights);
            for (size_t i = 0; i < q.n; i++)
                weights[i] = i % 7 == 0 ? 0.0 : 1.0 + (double)(i % 3);
            q.lasso.problem.weights = weights;
            q.lasso.choices.settings.intercept = count % 2;
            q.lasso.choices.blocks = count;
            assert_int_equal(hw_linear_shared_new(&q.lasso.shared, count % 2 == 0, NULL), HAWSER_OK);
            at_fraction(&q, 0.01);
            hw_lasso_block blocks[MOST_BLOCKS] = {0};
            double zero = reference_objective(&q, (double[512]){0});
            bool gram = kinds[kind].gram;
            assert_int_equal(descend_together(&q, blocks, (variant){gram, true, 0, count - 1}), 1);
            assert_true(reference_objective(&q, q.lasso.problem.alpha) == zero);
            for (uint32_t b = 0; b < count; b++)
                blocks[b].joint_stale = true; /* its products were never added up */
            assert_int_equal(descend_together(&q, blocks, (variant){gram, true, STOP_AFTER, UINT32_MAX}), STOP_AFTER);
            assert_true(reference_objective(&q, q.lasso.problem.alpha) < zero);
            reach_optimum(&q, blocks, gram, true);
            memset(q.lasso.problem.alpha, 0, q.p * sizeof *q.lasso.problem.alpha);
            reach_optimum(&q, blocks, gram, false);
            for (uint32_t b = 0; b < count; b++)
                hw_lasso_block_release(&blocks[b]);
            hw_linear_shared_free(q.lasso.shared);
            drop(&q);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(search_over_blocks), cmocka_unit_test(descent_over_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
