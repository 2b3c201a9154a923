/* Newton's models, solved by one block and by several that divide the work: the same bits on all of these, and the same
 * objective as on one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adding_blocks.h"
#include "algorithms/logistic/loss.h"
#include "algorithms/newton/inexact.h"
#include "algorithms/newton/joint.h"
#include "algorithms/newton/run.h"

enum { ROWS = 240, COLUMNS = 320, MOST = ROWS * COLUMNS, BLOCKS = 3, CERTIFICATES = 8, MOST_SUMS = 2 * COLUMNS };

static const double L1 = 3e-4;

/* Sparse columns with few entries, the first ones with more; or dense columns with fewer rows. */
typedef struct problem {
    hawser_matrix matrix;
    hw_newton_rows rows;
    uint64_t offsets[COLUMNS + 1];
    uint32_t indices[MOST];
    double values[MOST], sign[ROWS];
} problem;

static double uniform(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*seed >> 11) * 0x1p-53;
}

static void make(problem *p, uint64_t seed, bool dense, bool intercept)
{
    size_t n = dense ? ROWS / 12 : ROWS, at = 0;
    for (size_t j = 0; j < COLUMNS; j++) {
        p->offsets[j] = at;
        for (size_t i = 0; i < n; i++) {
            double chance = dense ? 1.0 : j < 3 ? 0.4 : 0.025;
            if (uniform(&seed) >= chance)
                continue;
            p->indices[at] = (uint32_t)i;
            p->values[at++] = uniform(&seed) - 0.3;
        }
    }
    p->offsets[COLUMNS] = at;
    for (size_t i = 0; i < n; i++)
        p->sign[i] = uniform(&seed) < 0.4 ? 1.0 : -1.0;
    p->matrix = (hawser_matrix){.rows = n,
                                .cols = COLUMNS,
                                .stored = at,
                                .layout = dense ? HAWSER_DENSE : HAWSER_CSC,
                                .offsets = p->offsets,
                                .indices = p->indices,
                                .values = p->values,
                                .stride = n};
    p->rows = (hw_newton_rows){
        .loss = &hw_logistic_losses, .count = n, .target = p->sign, .total = (double)n, .intercept = intercept};
}

/* One block's side of a run from zero. */
typedef struct side {
    const problem *problem;
    hw_newton_quadratic q;
    hw_newton_point point;
    hw_linear_part part;
    hw_newton newton;
    unsigned certificates;
    size_t sums, dealt; /* sums so far; those of them in which each number is computed by one side */
    size_t fails_at;    /* the sum that fails; 0: none */
    hawser_status status;
    double v[ROWS], move[ROWS], there[ROWS], pull[ROWS], curve[ROWS], x[COLUMNS];
    adding_block *block;
} side;

/* Counts a sum whose numbers are divided among the sides, and checks that this side computes its part of them. */
static void count_dealt(side *s, const double *own, const double *sums, size_t count)
{
    size_t mine = 0, all = 0, shared = 0;
    for (size_t i = 0; i < count; i++) {
        mine += own[i] != 0.0;
        all += sums[i] != 0.0;
        shared += own[i] != 0.0 && own[i] != sums[i];
    }
    s->dealt += mine > 0 && shared == 0;
    assert_true(shared > 0 || all <= count / 2 || mine >= all / BLOCKS / 4);
}

static hawser_status add(void *source, double *values, size_t count, hawser_error *error)
{
    side *s = source;
    double own[MOST_SUMS];
    assert_true(count <= hw_newton_sums(COLUMNS, s->q.columns.X.rows) && count <= MOST_SUMS);
    memcpy(own, values, count * sizeof *own);
    HAWSER_TRY(adding_add(s->block, values, count, error));
    count_dealt(s, own, values, count);
    return ++s->sums == s->fails_at ? hawser_fail(error, HAWSER_PEER_LOST, "lost") : HAWSER_OK;
}

static void begin(side *s, const problem *p, double l1, bool gram, uint32_t own, uint32_t blocks)
{
    hawser_error error;
    uint32_t list[COLUMNS];
    size_t n = p->matrix.rows;
    memset(s, 0, sizeof *s);
    s->point = (hw_newton_point){.pull = s->pull, .curve = s->curve};
    hw_logistic_settle(&p->rows, s->v, 1e-20, &s->point);
    assert_int_equal(hw_newton_quadratic_new(&s->q, &p->matrix, 5, &error), HAWSER_OK);
    s->q.gram.epochs = gram ? s->q.gram.epochs : 0.0; /* with 0 epochs it never pays */
    for (size_t k = 0; k < COLUMNS; k++)
        list[k] = (uint32_t)k;
    assert_int_equal(hw_newton_quadratic_take(&s->q, list, COLUMNS, &error), HAWSER_OK);
    for (size_t k = 0; k < COLUMNS; k++) { /* the first ones without a penalty */
        s->q.terms[k] =
            (hw_linear_term){k < 3 ? 0.0 : l1, p->matrix.layout == HAWSER_DENSE ? 0.1 : 0.0, -INFINITY, INFINITY};
        s->q.members.x[k] = 0.0;
    }
    s->problem = p;
    s->part = (hw_linear_part){
        .begin = n * own / blocks, .end = n * (own + 1) / blocks, .block = own, .blocks = blocks, .add = add, .source = s};
    if (p->matrix.layout == HAWSER_DENSE)
        s->part.view = hawser_matrix_rows(&p->matrix, s->part.begin, s->part.end);
    s->newton = (hw_newton){
        .tolerance = 1e-12, .gap = 1e-6, .move = s->move, .there = s->there, .part = blocks > 1 ? &s->part : NULL};
}

/* Ends a side: returns the objective, and stores the members' coefficients in s->x. */
static double end(side *s)
{
    double objective = s->point.loss + hw_linear_penalties(s->q.terms, s->q.members.x, s->q.members.count);
    for (size_t k = 0; k < s->q.members.count; k++)
        s->x[s->q.at[k]] = s->q.members.x[k];
    hw_newton_quadratic_free(&s->q);
    return objective;
}

/* Runs one side as often as certificates would. */
static void run_alone(side *s)
{
    hawser_error error;
    s->status = HAWSER_OK;
    for (unsigned c = 0; c < CERTIFICATES && s->status == HAWSER_OK; c++)
        s->status = hw_newton_run(&s->newton, &s->q, &s->problem->rows, s->v, &s->point, &error);
}

static void run_side(adding_block *block)
{
    side *s = block->argument;
    s->block = block;
    s->newton.stop = (hw_linear_stop){adding_stops, block};
    run_alone(s);
}

/* Runs all sides at the same time, as blocks run. Returns the number of sums, which is the same on all of them. */
static size_t run_together(side *sides, size_t stop_after, hawser_status status)
{
    void *arguments[BLOCKS] = {&sides[0], &sides[1], &sides[2]};
    size_t sums = adding_run(BLOCKS, stop_after, run_side, arguments);
    for (uint32_t b = 0; b < BLOCKS; b++) {
        assert_int_equal(sides[b].status, status);
        assert_int_equal(sides[b].sums, sums);
    }
    return sums;
}

static void several_blocks_reach_the_objective_of_one(void **state)
{
    (void)state;
    static side one, sides[BLOCKS];
    problem *p = malloc(sizeof *p);
    assert_non_null(p);
    for (uint64_t seed = 1; seed < 25; seed++) {
        make(p, seed, seed % 3 == 0, seed % 2 == 0);
        begin(&one, p, L1, false, 0, 1);
        run_alone(&one);
        assert_int_equal(one.status, HAWSER_OK);
        for (uint32_t b = 0; b < BLOCKS; b++)
            begin(&sides[b], p, L1, false, b, BLOCKS);
        size_t sums = run_together(sides, 0, HAWSER_OK);
        double objective = end(&one), first = end(&sides[0]);
        assert_true(sums > 50 && sides[0].dealt > 30 && sides[0].dealt < sums); /* moments, pulls and images; and products */
        assert_true(fabs(first - objective) < 1e-9);
        for (uint32_t b = 1; b < BLOCKS; b++) {
            assert_true(end(&sides[b]) == first);
            assert_memory_equal(sides[b].x, sides[0].x, sizeof sides[0].x);
        }
    }
    free(p);
}

/* If a sum fails, whichever it is, the run ends with its status and leaks nothing. */
static void failed_sum_ends_the_run(void **state)
{
    (void)state;
    static side sides[BLOCKS];
    problem *p = malloc(sizeof *p);
    assert_non_null(p);
    for (size_t at = 1; at < 40; at++) {
        make(p, at, at % 3 == 0, at % 2 == 0);
        for (uint32_t b = 0; b < BLOCKS; b++) {
            begin(&sides[b], p, L1, false, b, BLOCKS);
            sides[b].fails_at = at;
        }
        assert_int_equal(run_together(sides, 0, HAWSER_PEER_LOST), at);
        for (uint32_t b = 0; b < BLOCKS; b++)
            (void)end(&sides[b]);
    }
    free(p);
}

/* If a request to stop arrives with a sum, whichever it is, all sides end after the same sum at the same point, not worse
 * than the start. */
static void stop_ends_all_sides_alike(void **state)
{
    (void)state;
    static side sides[BLOCKS];
    problem *p = malloc(sizeof *p);
    assert_non_null(p);
    for (size_t at = 1; at < 60; at++) {
        make(p, at, at % 3 == 0, at % 2 == 0);
        for (uint32_t b = 0; b < BLOCKS; b++)
            begin(&sides[b], p, L1, false, b, BLOCKS);
        double start = sides[0].point.loss;
        size_t sums = run_together(sides, at, HAWSER_OK);
        assert_true(sums >= at && sums <= at + 3); /* one more check, and the image of a step */
        double first = end(&sides[0]);
        assert_true(first <= start);
        for (uint32_t b = 1; b < BLOCKS; b++) {
            assert_true(end(&sides[b]) == first);
            assert_memory_equal(sides[b].x, sides[0].x, sizeof sides[0].x);
        }
    }
    free(p);
}

/* All columns with a penalty leave, so the rest is smooth, and so small that one block would use its Gram matrix. */
static void a_smooth_rest_is_solved_on_rows(void **state)
{
    (void)state;
    static side one, sides[BLOCKS];
    problem *p = malloc(sizeof *p);
    assert_non_null(p);
    for (uint64_t seed = 1; seed < 7; seed++) {
        make(p, seed, false, seed % 2 == 0);
        begin(&one, p, 10.0, true, 0, 1);
        run_alone(&one);
        assert_int_equal(one.status, HAWSER_OK);
        for (uint32_t b = 0; b < BLOCKS; b++)
            begin(&sides[b], p, 10.0, true, b, BLOCKS);
        assert_true(run_together(sides, 0, HAWSER_OK) > 3);
        for (uint32_t b = 0; b < BLOCKS; b++) {
            assert_int_equal(sides[b].q.members.count, 3);
            assert_true(sides[b].q.use_gram && sides[b].q.members.packed.count == 3);
        }
        double objective = end(&one);
        for (uint32_t b = 0; b < BLOCKS; b++)
            assert_true(fabs(end(&sides[b]) - objective) < 1e-9 && memcmp(sides[b].x, sides[0].x, sizeof sides[0].x) == 0);
    }
    free(p);
}

/* Returns the violation of the model's optimality at the members' x, and leaves the residual in q->residual. */
static double violations(side *s, const problem *p)
{
    hw_newton_quadratic *q = &s->q;
    double sum = 0.0, violation = 0.0;
    hw_newton_quadratic_residual(q, &s->point, s->v, s->v, q->residual);
    for (size_t k = 0; k < q->members.count; k++) {
        for (size_t i = 0; i < p->matrix.rows; i++) /* only the mean of a centred column */
            q->residual[i] += q->curve[i] * q->columns.mean[k] * q->members.x[k];
        for (uint64_t e = p->offsets[k]; e < p->offsets[k + 1]; e++)
            q->residual[p->indices[e]] -= q->curve[p->indices[e]] * p->values[e] * q->members.x[k];
    }
    for (size_t i = 0; i < p->matrix.rows; i++)
        sum += q->residual[i];
    for (size_t k = 0; k < q->members.count; k++) {
        double pull = hw_linear_dot(&q->columns, (uint32_t)k, q->residual, sum) / q->columns.total;
        violation += hw_linear_violation(pull, q->members.x[k], q->members.terms[k]) / q->scale;
    }
    return violation;
}

/* If signs have settled, no pass is made, and a point near enough stays; if they have not, passes are made again. */
static void settled_signs_take_no_pass(void **state)
{
    (void)state;
    static side s;
    problem *p = malloc(sizeof *p);
    assert_non_null(p);
    for (uint64_t seed = 1; seed < 9; seed++) {
        hawser_error error;
        double x[COLUMNS];
        make(p, seed, false, seed % 2 == 0);
        begin(&s, p, L1, false, 0, 1);
        assert_int_equal(hw_newton_quadratic_at(&s.q, &p->rows, &s.point, NULL, &error), HAWSER_OK);
        hw_newton_inexact run = {.target = 1e-12};
        double begun = violations(&s, p);
        s.q.learned.settled = true; /* wrong: all coefficients are zero */
        assert_int_equal(hw_newton_inexact_run(&run, &s.q, NULL, s.q.residual, &error), HAWSER_OK);
        assert_true(run.solved && run.passes > 0 && violations(&s, p) < 1e-5 * begun);
        s.q.learned.settled = true;
        for (size_t k = 0; k < COLUMNS; k++)
            s.q.members.x[k] *= 1.01;
        begun = violations(&s, p);
        memcpy(x, s.q.members.x, sizeof x);
        run = (hw_newton_inexact){.target = INFINITY};
        assert_int_equal(hw_newton_inexact_run(&run, &s.q, NULL, s.q.residual, &error), HAWSER_OK);
        assert_true(run.solved && run.passes == 0 && fabs(run.first - begun) < 1e-9 * begun);
        double left = violations(&s, p);
        assert_true(left < 0.5 * begun);
        memcpy(s.q.members.x, x, sizeof x);
        (void)violations(&s, p);
        s.q.learned.settled = true;
        run = (hw_newton_inexact){.target = INFINITY, .missing = 0.005}; /* near the optimum, steps go on to it */
        assert_int_equal(hw_newton_inexact_run(&run, &s.q, NULL, s.q.residual, &error), HAWSER_OK);
        assert_true(run.passes == 0 && violations(&s, p) < 0.2 * left);
        memcpy(s.q.members.x, x, sizeof x);
        begun = violations(&s, p);
        run = (hw_newton_inexact){.target = 0.5 * begun, .reference = 100.0 * begun, .idle = 2.0 * begun};
        assert_int_equal(hw_newton_inexact_run(&run, &s.q, NULL, s.q.residual, &error), HAWSER_OK);
        assert_true(run.solved && run.passes == 0);
        assert_memory_equal(s.q.members.x, x, sizeof x);
        (void)end(&s);
    }
    free(p);
}

/* Blocks that divide products repeat the rest of a solution, so many of them leave it to one. */
static void many_blocks_leave_a_solution_to_one(void **unused)
{
    (void)unused;
    const hawser_matrix X = {.rows = 1 << 20, .cols = 200000, .stored = 1 << 24, .layout = HAWSER_CSC};
    hw_linear linear = {.problem.X = &X};
    const double many = 1 << 22, few = 1 << 10;
    for (uint32_t blocks = 2; blocks <= 64; blocks *= 2) {
        linear.choices.blocks = blocks;
        assert_int_equal(hw_newton_joint_divides(&linear, many, 100000), blocks <= 8);
        assert_false(hw_newton_joint_divides(&linear, few, 100000));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(several_blocks_reach_the_objective_of_one),
                                       cmocka_unit_test(failed_sum_ends_the_run),
                                       cmocka_unit_test(stop_ends_all_sides_alike),
                                       cmocka_unit_test(a_smooth_rest_is_solved_on_rows),
                                       cmocka_unit_test(settled_signs_take_no_pass),
                                       cmocka_unit_test(many_blocks_leave_a_solution_to_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
