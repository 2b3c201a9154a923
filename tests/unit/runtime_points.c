/*
 * runtime_points.c - kept points: whatever ends a run early or makes it fail, its results are the point that a test kept, in
 * every kind of state, on any number of blocks and nodes; a return goes on from there. The numbers of k clocks follow from k
 * alone, so every result is compared with the formula.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hawser/kept_points.h"
#include "hawser/stored.h"
#include "nodes.h"
#include "sanitized.h"

enum { ROWS = 3, COLUMNS = 11, ENTRIES = 7, MOST = 9 };

typedef enum ending { BY_CLOCKS, BY_OVERFLOW, BY_SUM, BY_DIVERGENCE, BY_INPUT, BY_TEST, BY_PATIENCE, BY_GRACE } ending;
typedef enum form { SHIPPED, STAGED, STEPPED, SHAPES } form;

typedef struct trial {
    form shape;
    ending ending;
    int keep[2];        /* clocks after which the test keeps point 0; -1: none */
    int back;           /* the clock after which it returns, -1: none */
    int end;            /* the clock that ends the run, or in which it fails */
    bool stored;        /* with stored states, which no unit uses after a return */
    const char *filter; /* of w */
    double expected;    /* clocks that the results are of; -1: there are none */
} trial;

/* ---- the program ---- */

static const trial *of(const hawser_context *context)
{
    return hawser_user(context);
}

static hawser_status change_locals(hawser_context *context)
{
    size_t first = 0, count = hawser_part(context, "x", &first);
    HAWSER_WRITE(context, double, x);
    HAWSER_WRITE(context, double, v);
    for (size_t j = 0; j < count; j++) {
        x[j] += (double)(first + j + 1);
        v[(first + j) % ENTRIES] += (double)(first + j + 1);
    }
    HAWSER_WRITE(context, float, q);
    for (size_t e = hawser_part(context, "q", NULL); e > 0; e--)
        q[e - 1] += 1.0f;
    HAWSER_WRITE(context, int64_t, n);
    *n += 1;
    if (!of(context)->stored)
        return HAWSER_OK;
    HAWSER_WRITE(context, double, s);
    for (size_t e = hawser_part(context, "s", NULL); e > 0; e--)
        s[e - 1] += 1.0;
    static const uint64_t keys[] = {0, 1, 2, 3, 4};
    static const double ones[] = {1.0, 2.0, 3.0, 4.0, 5.0};
    return hawser_inc(context, "a", keys, ones, 5);
}

static hawser_status change_w(hawser_context *context)
{
    const trial *t = of(context);
    HAWSER_WRITE(context, double, w);
    HAWSER_WRITE(context, double, loose);
    bool last = hawser_block(context) + 1 == hawser_blocks(context), now = (int)hawser_metric(context, "at") + 1 == t->end;
    now = now || (t->end == 0 && isnan(hawser_metric(context, "at")));
    for (size_t e = 0; e < ENTRIES; e++)
        w[e] += hawser_block(context) + 1.0;
    loose[0] += 1.0;
    if (now && last && t->ending == BY_OVERFLOW)
        loose[1] = INFINITY;
    if (now && t->ending == BY_SUM) /* each block's change is finite; their sum is found to overflow when it is merged */
        loose[1] = hawser_blocks(context) > 1 ? 1.7e308 : INFINITY;
    if (now && last && t->ending == BY_GRACE) /* it does not return when the run is to end */
        usleep(1200000);
    if (now && last && t->ending == BY_DIVERGENCE)
        return hawser_unit_fail(context, HAWSER_DIVERGED, "no step is short enough");
    if (now && last && t->ending == BY_INPUT)
        return hawser_unit_fail(context, HAWSER_BAD_INPUT, "wrong input");
    return hawser_report(context, "at", isnan(hawser_metric(context, "at")) ? 0.0 : hawser_metric(context, "at") + 1.0);
}

static hawser_status rebuild(hawser_context *context)
{
    size_t first = 0, count = hawser_part(context, "x", &first);
    HAWSER_WRITE(context, double, v);
    HAWSER_READ(context, double, x);
    for (size_t j = 0; j < count; j++)
        v[(first + j) % ENTRIES] += x[j];
    return HAWSER_OK;
}

/* In a second stage, which reads w. */
static hawser_status look(hawser_context *context)
{
    HAWSER_WRITE(context, double, late);
    HAWSER_READ(context, double, w);
    late[0] += w[0] > 0.0 && hawser_block(context) == 0;
    return HAWSER_OK;
}

static bool test(hawser_progress *progress, void *user)
{
    const trial *t = user;
    int clock = (int)hawser_progress_metric(progress, "at");
    for (int k = 0; k < 2; k++)
        if (t->keep[k] == clock)
            hawser_progress_keep(progress, 0);
    if (t->back == clock)
        hawser_progress_return(progress, 0);
    hawser_progress_set(progress, "loss", fabs((double)clock - t->keep[0]));
    return t->ending == BY_TEST && clock == t->end;
}

static hawser_program *build(const trial *t, const hawser_matrix *matrix)
{
    hawser_program *p = hawser_program_new("points", (void *)t);
    hawser_state *X = HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = matrix, .split = HAWSER_BY_COLUMN);
    hawser_state *w = HAWSER_STATE(p, "w", HAWSER_REPLICATED, .rows = ENTRIES, .filter = t->filter,
                                   .quota = t->filter != NULL ? 16 : 0, .max_held = t->filter != NULL ? 3 : 0);
    hawser_state *v = HAWSER_STATE(p, "v", HAWSER_REPLICATED, .rows = ENTRIES, .derive = rebuild);
    hawser_state *x = HAWSER_STATE(p, "x", HAWSER_LOCAL, .along = X, .tie = v);
    hawser_state *q = HAWSER_STATE(p, "q", HAWSER_PARTITIONED, HAWSER_F32, .rows = ENTRIES, .keep = true);
    hawser_state *n = HAWSER_STATE(p, "n", HAWSER_LOCAL, .type = HAWSER_I64, .each = true, .rows = 1);
    hawser_state *late = HAWSER_STATE(p, "late", HAWSER_REPLICATED, .rows = 1);
    hawser_state *loose = HAWSER_STATE(p, "loose", HAWSER_REPLICATED, .rows = 2); /* is not marked */
    hawser_state *s = t->stored ? HAWSER_STATE(p, "s", HAWSER_STORED, .rows = COLUMNS, .along = X) : NULL;
    hawser_state *a = t->stored ? HAWSER_STATE(p, "a", HAWSER_STORED, .rows = 5, .function = "add") : NULL;
    hawser_state *const marked[] = {w, v, x, n, late, s, a};
    for (size_t k = 0; k < sizeof marked / sizeof *marked; k++)
        hawser_state_keep(marked[k]);
    hawser_metric_declare(p, "at", HAWSER_MAX);
    hawser_metric_declare(p, "loss", HAWSER_MAX);
    hawser_until until = {.test = test, .user = (void *)t, .clocks = 40};
    if (t->ending == BY_PATIENCE) {
        until.metric = "loss";
        until.patience = 3;
    }
    hawser_operator *loop = hawser_loop(hawser_root(p), "outer", until, hawser_bsp());
    if (t->shape == STEPPED)
        loop = hawser_loop(hawser_sequence(loop), "inner", (hawser_until){.clocks = 1}, hawser_bsp());
    HAWSER_UNIT(loop, "locals", change_locals, .reads = {X}, .updates = {v, x, q, n, s, a});
    HAWSER_UNIT(loop, "w", change_w, .updates = {w, loose});
    if (t->shape == STAGED)
        HAWSER_UNIT(loop, "look", look, .reads = {w}, .updates = {late});
    return p;
}

/* ---- what a run must have left ---- */

static void check_states(const trial *t, const hawser_run *run, double clocks, uint32_t blocks)
{
    double sums[ENTRIES] = {0};
    size_t count = 0;
    const double *w = RESULT(double, run, "w", NULL), *v = RESULT(double, run, "v", NULL),
                 *x = RESULT(double, run, "x", NULL);
    const float *q = RESULT(float, run, "q", NULL);
    const int64_t *n = RESULT(int64_t, run, "n", &count);
    assert_true(w != NULL && v != NULL && x != NULL && q != NULL && n != NULL && count == blocks);
    for (size_t j = 0; j < COLUMNS; j++) {
        assert_true(x[j] == clocks * (double)(j + 1));
        sums[j % ENTRIES] += x[j];
    }
    for (size_t e = 0; e < ENTRIES; e++) {
        assert_true(w[e] == clocks * blocks * (blocks + 1) / 2);
        assert_true(v[e] == sums[e]);
        assert_true(q[e] == (float)clocks);
    }
    for (uint32_t b = 0; b < blocks; b++)
        assert_true(n[b] == (int64_t)clocks);
    if (t->shape == STAGED)
        assert_true(RESULT(double, run, "late", NULL)[0] == clocks);
    for (size_t j = 0; t->stored && j < COLUMNS; j++)
        assert_true(RESULT(double, run, "s", NULL)[j] == clocks);
    for (size_t e = 0; t->stored && e < 5; e++)
        assert_true(RESULT(double, run, "a", NULL)[e] == clocks * blocks * (double)(e + 1));
}

static hawser_status expected_status(ending by)
{
    switch (by) {
    case BY_GRACE:
    case BY_CLOCKS: return HAWSER_STOP;
    case BY_OVERFLOW:
    case BY_SUM: return HAWSER_NOT_FINITE;
    case BY_DIVERGENCE: return HAWSER_DIVERGED;
    case BY_INPUT: return HAWSER_BAD_INPUT;
    default: return HAWSER_OK;
    }
}

static void run_trial(const trial *t, hawser_job *job)
{
    double entries[ROWS * COLUMNS] = {0};
    hawser_matrix matrix = {.rows = ROWS, .cols = COLUMNS, .stored = ROWS * COLUMNS, .values = entries, .stride = ROWS};
    hawser_program *p = build(t, &matrix);
    hawser_run *run = NULL;
    hawser_error error = {0};
    hawser_status status = hawser_run_program(job, p, &run, &error);
    if (status != expected_status(t->ending))
        fail_msg("status %d: %s", status, error.text);
    if (t->expected < 0)
        assert_null(run);
    else {
        assert_non_null(run);
        bool point = status != HAWSER_OK;
        assert_true(hawser_run_kept(run) == point);
        check_states(t, run, t->expected, hawser_job_workers(job));
        if (point) /* the metrics are those of the point */
            assert_true(hawser_result_metric(run, "at") + 1 == t->expected);
    }
    hawser_run_free(run);
    hawser_program_free(p);
}

static const trial trials[] = {
    {.ending = BY_CLOCKS, .keep = {3, -1}, .back = -1, .end = 7, .expected = 4},
    {.ending = BY_CLOCKS, .keep = {0, 5}, .back = -1, .end = 7, .expected = 6},
    {.ending = BY_CLOCKS, .keep = {6, -1}, .back = -1, .end = 6, .expected = 7}, /* in the last clock */
    {.ending = BY_OVERFLOW, .keep = {2, -1}, .back = -1, .end = 6, .expected = 3},
    {.ending = BY_OVERFLOW, .keep = {2, 4}, .back = -1, .end = 5, .expected = 5}, /* in the very next clock */
    {.ending = BY_OVERFLOW, .keep = {-1, -1}, .back = -1, .end = 2, .expected = -1},
    {.ending = BY_OVERFLOW, .keep = {-1, -1}, .back = -1, .end = 0, .expected = -1},
    {.ending = BY_SUM, .keep = {1, -1}, .back = -1, .end = 4, .expected = 2},
    {.ending = BY_SUM,
     .keep = {1, 4},
     .back = -1,
     .end = 4,
     .expected = 2}, /* the sums of the clock that it wanted to keep overflow */
    {.ending = BY_DIVERGENCE, .keep = {1, 2}, .back = -1, .end = 4, .expected = 3},
    {.ending = BY_INPUT, .keep = {1, -1}, .back = -1, .end = 4, .expected = -1},
    {.ending = BY_TEST, .keep = {1, -1}, .back = 4, .end = 4, .expected = 2},
    {.ending = BY_TEST, .keep = {1, -1}, .back = 4, .end = 7, .expected = 5}, /* three clocks after the return */
    {.ending = BY_TEST, .keep = {1, 6}, .back = -1, .end = 8, .expected = 9}, /* a run that ends well has its last values */
    {.ending = BY_OVERFLOW, .keep = {1, -1}, .back = 3, .end = 6, .expected = 2},
    {.ending = BY_PATIENCE, .keep = {2, -1}, .back = -1, .end = 40, .expected = 3},
};
enum { TRIALS = sizeof trials / sizeof *trials };

static const char *text(char out[24], int number)
{
    snprintf(out, 24, "%d", number);
    return out;
}

static void results_are_the_kept_point(void **state)
{
    (void)state;
    static const char *const workers[] = {"1", "2", "5"};
    for (size_t w = 0; w < 3; w++)
        for (size_t k = 0; k < TRIALS; k++)
            for (int shape = 0; shape < SHAPES; shape++)
                for (int more = 0; more < 3; more++) {
                    trial t = trials[k];
                    char most[24];
                    t.shape = (enum form)shape;
                    t.stored = more == 1 && (t.back < 0 || t.back == t.end);
                    t.filter = more == 2 && w > 0 ? "absolute" : NULL;
                    test_job job =
                        OPEN_JOB("workers", workers[w], "max-clocks", text(most, t.ending == BY_CLOCKS ? t.end + 1 : 0));
                    run_trial(&t, job.job);
                    close_job(job);
                }
}

/* Blocks as fibers, in drawn orders. */
static void schedules_do_not_matter(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= schedules_of(60); seed++) {
        trial t = trials[seed * 7 % TRIALS];
        char most[24];
        t.shape = (form)(seed % SHAPES);
        t.filter = seed % 4 == 0 ? "absolute" : NULL;
        test_job job =
            OPEN_JOB("workers", "3", "max-clocks", text(most, t.ending == BY_CLOCKS ? t.end + 1 : 0), "timeout", "20");
        hw_job_use_fibers(job.job, seed);
        run_trial(&t, job.job);
        close_job(job);
    }
}

/* A block computes on until the run is abandoned: the point that all had kept before is the result. */
static void abandoned_run_has_the_kept_point(void **state)
{
    (void)state;
    trial t = {.ending = BY_GRACE, .keep = {1, 2}, .back = -1, .end = 5, .expected = 3};
    test_job job = OPEN_JOB("workers", "3", "time-limit", "0.2", "grace", "1.2");
    run_trial(&t, job.job);
    close_job(job);
}

static void run_node(test_node *node)
{
    run_trial(node->user, node->job);
}

static void nodes_have_the_kept_point(void **state)
{
    (void)state;
    for (uint32_t nodes = 2; nodes <= 3; nodes++)
        for (size_t k = nodes; k < TRIALS; k += 2) {
            trial t = trials[k];
            char most[24];
            test_node all[NODES_MOST];
            t.shape = (form)(k % SHAPES);
            t.stored = k % 3 == 0 && (t.back < 0 || t.back == t.end);
            const char *const pairs[] = {
                "workers",  k % 2 == 0 ? "4" : "3",     "max-clocks", text(most, t.ending == BY_CLOCKS ? t.end + 1 : 0),
                "topology", k % 4 < 2 ? "all" : "tree", NULL};
            run_nodes(all, nodes, pairs, run_node, &t);
        }
}

/* ---- where no point can be kept ---- */

typedef struct misuse {
    hawser_sync sync;
    uint32_t point;
    bool returns, unmarked, observes, twice, after;
    const char *text;
} misuse;

static bool test_wrongly(hawser_progress *progress, void *user)
{
    const misuse *m = user;
    if (m->observes)
        return false;
    if (m->twice) { /* a point that is kept before the return to another cannot be the one to return to */
        if (!hawser_progress_has(progress, 0)) {
            hawser_progress_keep(progress, 0);
            return false;
        }
        hawser_progress_keep(progress, 1);
        hawser_progress_return(progress, 0);
        hawser_progress_return(progress, 1);
        return false;
    }
    if (m->after) { /* nor can one be kept that the test has returned to, once it is at another */
        for (uint32_t k = 0; k < 2; k++)
            (hawser_progress_has(progress, k) ? hawser_progress_return : hawser_progress_keep)(progress, k);
        if (hawser_progress_clock(progress) > 0)
            hawser_progress_keep(progress, 0);
        return false;
    }
    (m->returns ? hawser_progress_return : hawser_progress_keep)(progress, m->point);
    return hawser_progress_clock(progress) > 2;
}

static void observe(const hawser_progress *progress, void *user)
{
    hawser_progress *same = NULL;
    memcpy(&same, &progress, sizeof same);
    if (((const misuse *)user)->observes)
        hawser_progress_keep(same, 0);
}

static hawser_status add(hawser_context *context)
{
    HAWSER_WRITE(context, double, w);
    w[0] += 1.0;
    return HAWSER_OK;
}

static void wrong_calls_fail_the_run(void **state)
{
    (void)state;
    const misuse wrong[] = {
        {.sync = hawser_ssp(2), .text = "hawser_progress_keep, in 'loop': under ssp:2 blocks are at different clocks"},
        {.sync = hawser_tap(), .text = "under tap blocks are at different clocks"},
        {.point = 2, .text = "there is no point 2; hawser_kept_points has 2"},
        {.returns = true, .point = 1, .text = "hawser_progress_return, in 'loop': point 1 was not kept"},
        {.unmarked = true, .text = "the program marks no state; call hawser_state_keep"},
        {.observes = true, .text = "only stop tests of loops and tests of branches"},
        {.twice = true, .text = "the same test has kept point 1 before it returned to another point"},
        {.after = true, .text = "the same test has returned to point 0 before it returned to another point"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        test_job job = OPEN_JOB("workers", "2");
        hawser_program *p = hawser_program_new("wrong", NULL);
        hawser_state *w = HAWSER_STATE(p, "w", HAWSER_REPLICATED, .rows = 1);
        hawser_until until = {.clocks = 5, .test = test_wrongly, .user = (void *)&wrong[k]};
        HAWSER_UNIT(hawser_loop(hawser_root(p), "loop", until, wrong[k].sync), "add", add, .updates = {w});
        if (!wrong[k].unmarked)
            hawser_state_keep(w);
        hawser_kept_points(p, 2);
        hawser_observe(job.job, observe, (void *)&wrong[k]);
        hawser_run *run = NULL;
        hawser_error error = {0};
        assert_int_equal(hawser_run_program(job.job, p, &run, &error), HAWSER_BAD_PROGRAM);
        if (strstr(error.text, wrong[k].text) == NULL)
            fail_msg("'%s' is not in '%s'", wrong[k].text, error.text);
        assert_null(run);
        hawser_program_free(p);
        close_job(job);
    }
}

/* A block that waits for the values of servers, which it keeps, receives the orders of the next test. */
static hawser_status push(hawser_context *context)
{
    static const uint64_t keys[] = {0, 1, 2};
    static const double ones[] = {1, 1, 1};
    return hawser_inc(context, "a", keys, ones, 3);
}

static bool keep_in(hawser_progress *progress, void *user)
{
    hawser_progress_keep(progress, *(const uint32_t *)user);
    return false;
}

static void orders_come_while_others_are_carried_out(void **state)
{
    (void)state;
    uint32_t numbers[] = {0, 1};
    test_job job = OPEN_JOB("workers", "3");
    hawser_program *p = hawser_program_new("nest", NULL);
    hawser_state *a = HAWSER_STATE(p, "a", HAWSER_STORED, .rows = 3, .function = "add");
    hawser_state_keep(a);
    hawser_kept_points(p, 2);
    hawser_operator *outer =
        HAWSER_LOOP(hawser_root(p), "outer", hawser_bsp(), .clocks = 60, .test = keep_in, .user = &numbers[1]);
    hawser_operator *inner =
        HAWSER_LOOP(hawser_sequence(outer), "inner", hawser_bsp(), .clocks = 1, .test = keep_in, .user = &numbers[0]);
    HAWSER_UNIT(inner, "push", push, .updates = {a});
    hawser_run *run = NULL;
    hawser_error error = {0};
    if (hawser_run_program(job.job, p, &run, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_float_equal(RESULT(double, run, "a", NULL)[2], 180, 0);
    hawser_run_free(run);
    hawser_program_free(p);
    close_job(job);
}

static void programs_that_cannot_keep_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"'d' is a data state, which no kept point has",
                                        "state 'x' is tied to 'w', and only one of both"};
    double entries[4] = {0};
    hawser_matrix matrix = {.rows = 2, .cols = 2, .stored = 4, .values = entries, .stride = 2};
    for (int k = 0; k < 2; k++) {
        test_job job = OPEN_JOB("workers", "2");
        hawser_program *p = hawser_program_new("wrong", NULL);
        hawser_state *d = HAWSER_STATE(p, "d", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
        hawser_state *w = HAWSER_STATE(p, "w", HAWSER_REPLICATED, .rows = 1);
        hawser_state *x = HAWSER_STATE(p, "x", HAWSER_LOCAL, .along = d, .tie = k == 1 ? w : NULL);
        hawser_operator *loop = hawser_loop(hawser_root(p), "loop", (hawser_until){.clocks = 2}, hawser_bsp());
        HAWSER_UNIT(loop, "add", add, .updates = {w, x});
        hawser_state_keep(k == 0 ? d : w);
        hawser_run *run = NULL;
        hawser_error error = {0};
        assert_int_equal(hawser_run_program(job.job, p, &run, &error), HAWSER_BAD_PROGRAM);
        if (strstr(error.text, texts[k]) == NULL)
            fail_msg("'%s' is not in '%s'", texts[k], error.text);
        hawser_program_free(p);
        close_job(job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_the_kept_point),
        cmocka_unit_test(schedules_do_not_matter),
        cmocka_unit_test(abandoned_run_has_the_kept_point),
        cmocka_unit_test(nodes_have_the_kept_point),
        cmocka_unit_test(orders_come_while_others_are_carried_out),
        cmocka_unit_test(wrong_calls_fail_the_run),
        cmocka_unit_test(programs_that_cannot_keep_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
