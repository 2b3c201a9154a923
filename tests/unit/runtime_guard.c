/*
 * The guard of an adapted loop: a change of the gain that makes steps overshoot is undone once the metric has risen, is
 * infinite or is not a number, its setting is barred, and the states return to those that were kept before. What each clock
 * multiplies the state by is known, so that the end shows which clocks count: those of the change must not.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hawser/kept_points.h"
#include "memory_checkpointer.h"
#include "nodes.h"

enum { WORKERS = 4, CLOCKS = 400, LINES = 3, LOST_MOST = 150 };
static const double STEP = 1.98; /* of a gain of 1: each clock multiplies by -.98; with half of the gain by -2.96 */

typedef enum harm { RISES, INFINITE, NOT_A_NUMBER } harm;

typedef struct guarded {
    harm harm;
    bool tested;      /* a test ends the loop, so that each clock is a point */
    bool turns;       /* workers are slow in turn, so that ssp is tried, which does harm, too */
    bool alone;       /* it is not a number although nothing was changed */
    double at[LINES]; /* the result */
    double clocks;    /* that worker 0 counts in its local state */
    char reason[300]; /* of the undone change */
    uint64_t changes;
} guarded;

static hawser_status begin(hawser_context *context)
{
    HAWSER_WRITE(context, double, w);
    for (size_t j = 0; j < LINES; j++)
        w[j] = (double)(j + 1);
    return HAWSER_OK;
}

static hawser_status step(hawser_context *context)
{
    const guarded *g = hawser_user(context);
    HAWSER_WRITE(context, double, w);
    HAWSER_WRITE(context, double, counted);
    double squares = 0;
    for (size_t j = 0; j < LINES; j++) {
        squares += w[j] * w[j] / WORKERS;
        w[j] -= STEP / WORKERS * w[j];
    }
    counted[0] += 1;
    counted[1] = counted[0] > 1 ? fmin(counted[1], squares) : squares; /* the least so far */
    bool slow = g->turns && hawser_clock(context) % WORKERS == hawser_block(context);
    usleep(slow ? 6000 : 1500);
    if (g->alone && hawser_clock(context) == 7)
        return hawser_report(context, "squares", (double)NAN);
    if (squares > 2 * counted[1] && g->harm != RISES)
        squares = g->harm == INFINITE ? INFINITY : (double)NAN;
    return hawser_report(context, "squares", squares);
}

static double gain_of(double work, uint32_t staleness, void *user)
{
    (void)work, (void)user;
    return staleness > 0 ? 0.5 : 1; /* half of 1 makes steps that are too long */
}

static bool ends(hawser_progress *progress, void *user)
{
    (void)user;
    return hawser_progress_clock(progress) + 1 == CLOCKS;
}

static hawser_program *make(guarded *g)
{
    hawser_program *p = hawser_program_new("guarded", g);
    hawser_state *w = HAWSER_STATE(p, "w", HAWSER_REPLICATED, .rows = LINES);
    hawser_state *counted = HAWSER_STATE(p, "counted", HAWSER_LOCAL, .each = true, .rows = 2);
    hawser_metric_declare(p, "squares", HAWSER_SUM);
    HAWSER_UNIT(hawser_root(p), "begin", begin, .one = true, .updates = {w});
    hawser_until until = {.clocks = g->tested ? 0 : CLOCKS, .test = g->tested ? ends : NULL};
    hawser_operator *loop = hawser_loop(hawser_root(p), "descent", until, hawser_bsp());
    HAWSER_UNIT(loop, "step", step, .updates = {w, counted});
    HAWSER_ADAPT(p, .loop = loop, .metric = "squares", .metric_is_gap = true, .state = w, .gain_of = gain_of,
                 .staleness_most = g->turns ? 1 : 0);
    return p;
}

static void take(guarded *g, const hawser_run *run)
{
    const hawser_figures *figures = hawser_run_figures(run);
    memcpy(g->at, RESULT(double, run, "w", NULL), sizeof g->at);
    g->clocks = RESULT(double, run, "counted", NULL)[0];
    g->changes = figures->change_count;
    for (size_t i = 0; i < figures->change_count; i++)
        if (figures->changes[i].gain[1] > figures->changes[i].gain[0])
            (void)snprintf(g->reason, sizeof g->reason, "%s", figures->changes[i].reason);
    assert_int_equal(figures->clocks, CLOCKS);
    assert_false(hawser_run_kept(run)); /* a point of the guard is no result */
}

/* Returns how many clocks the state went through, by how small it is. */
static double clocks_of(const guarded *g)
{
    const double clocks = log(fabs(g->at[0])) / log(STEP - 1);
    for (size_t j = 1; j < LINES; j++)
        if (fabs(log(fabs(g->at[j]) / (double)(j + 1)) / log(STEP - 1) - clocks) > 1e-6)
            fail_msg("%.17g %.17g %.17g after %g clocks", g->at[0], g->at[1] / 2, g->at[2] / 3, g->clocks);
    return clocks;
}

/* The settings were changed and changed back, and the clocks in between are gone, in each state. */
static void check_returned(const guarded *g)
{
    assert_int_equal(g->changes, 2);
    if (strstr(g->reason, "undone and barred") == NULL || strstr(g->reason, "return") == NULL)
        fail_msg("the reason is '%s'", g->reason);
    const double clocks = clocks_of(g);
    if (fabs(clocks - g->clocks) > 1e-6 || clocks >= CLOCKS || clocks < CLOCKS - LOST_MOST)
        fail_msg("the state went through %.9g clocks, and its worker counts %g of %d", clocks, g->clocks, (int)CLOCKS);
}

static void body(test_node *node)
{
    guarded *g = node->user;
    hawser_run *run = NULL;
    hawser_program *program = make(g);
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    if (node->status == HAWSER_OK && node->node == 0)
        take(g, run);
    hawser_run_free(run);
    hawser_program_free(program);
}

static void run_on_threads(guarded *g, hawser_status expected, const char *text, const char *const *pairs)
{
    test_job test = open_job(pairs);
    hawser_error error = {0};
    hawser_run *run = NULL;
    hawser_program *program = make(g);
    const hawser_status status = hawser_run_program(test.job, program, &run, &error);
    if (status != expected || (text != NULL && strstr(error.text, text) == NULL))
        fail_msg("status %d, not %d: '%s'", (int)status, (int)expected, error.text);
    if (status == HAWSER_OK)
        take(g, run);
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
}

static const char *const adapted[] = {"workers", "4", "auto", "yes", "check", "yes", NULL};

static void states_return_to_before_a_change_that_does_harm(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        guarded g = {.harm = (harm)(i / 2), .tested = i % 2 == 1};
        run_on_threads(&g, HAWSER_OK, NULL, adapted);
        check_returned(&g);
    }
}

/* The gain is tried and undone first, and then ssp. It may also be undone without a return, because progress falls behind,
 * so that clocks under ssp count, too. */
static void states_return_from_ssp(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        guarded g = {.harm = (harm)i, .tested = i == 1, .turns = true};
        run_on_threads(&g, HAWSER_OK, NULL, adapted);
        assert_true(g.changes >= 2 && strstr(g.reason, "undone") != NULL);
        if (!(fabs(g.at[0]) < pow(STEP - 1, CLOCKS - LOST_MOST)))
            fail_msg("the state is %g after %d clocks", g.at[0], (int)CLOCKS);
    }
}

static void states_return_on_all_nodes(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    guarded g = {.harm = NOT_A_NUMBER};
    run_nodes(nodes, 2, adapted, body, &g);
    check_all(nodes, 2, "guard");
    check_returned(&g);
}

/* A run that goes on has the kept states of before, and ends as well. */
static void a_run_that_goes_on_keeps_and_returns(void **state)
{
    (void)state;
    static memory_checkpointer kept;
    memory_open(&kept, 1, 60, 0);
    for (int i = 0; i < 2; i++) {
        guarded g = {.harm = RISES, .tested = true};
        test_job test = open_job(adapted);
        hawser_error error = {0};
        hawser_run *run = NULL;
        hawser_program *program = make(&g);
        test.job->checkpointer = &kept.own;
        if (hawser_run_program(test.job, program, &run, &error) != HAWSER_OK)
            fail_msg("run %d: %s", i, error.text);
        take(&g, run);
        check_returned(&g);
        hawser_run_free(run);
        hawser_program_free(program);
        close_job(test);
        if (i == 0)
            memory_again(&kept, 1, 0);
    }
    memory_close(&kept);
}

/* Without --auto, and before anything was changed, a metric that is not a number ends the run. */
static void a_metric_that_is_no_number_by_itself_ends_the_run(void **state)
{
    (void)state;
    const char *const fixed[] = {"workers", "4", NULL};
    for (int i = 0; i < 4; i++) {
        guarded g = {.alone = true, .tested = i % 2 == 1};
        run_on_threads(&g, HAWSER_NOT_FINITE, "metric 'squares' is not a number in clock 7", i < 2 ? adapted : fixed);
    }
}

/* A copy of the states is a part of the plan. A limit that leaves no memory for it lets nothing change. */
static void without_memory_for_a_copy_nothing_changes(void **state)
{
    (void)state;
    enum { LARGE = 4 << 20 };
    uint64_t needed[2];
    char limit[40];
    hawser_error error = {0};
    for (int i = 0; i < 3; i++) {
        const char *const pairs[] = {"workers", "4", "auto", i > 0 ? "yes" : "no", "memory-limit", i > 1 ? limit : "8g",
                                     NULL};
        test_job test = open_job(pairs);
        hawser_program *p = hawser_program_new("large", NULL);
        hawser_state *w = HAWSER_STATE(p, "w", HAWSER_REPLICATED, .rows = LARGE);
        hawser_metric_declare(p, "squares", HAWSER_SUM);
        hawser_operator *loop = hawser_loop(hawser_root(p), "descent", (hawser_until){.clocks = 5}, hawser_bsp());
        HAWSER_UNIT(loop, "step", step, .updates = {w});
        HAWSER_ADAPT(p, .loop = loop, .metric = "squares", .state = w, .staleness_most = 1);
        hw_plan *plan = NULL;
        if (hw_job_plan(test.job, p, &plan, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        assert_int_equal(plan->guards, i == 1);
        if (i < 2)
            needed[i] = plan->memory_needed;
        else
            assert_int_equal(plan->settings.adapts, 0);
        (void)snprintf(limit, sizeof limit, "%llu", (unsigned long long)(needed[0] + LARGE * sizeof(double) / 2));
        hw_plan_free(plan);
        hawser_program_free(p);
        close_job(test);
    }
    assert_true(needed[1] >= needed[0] + LARGE * sizeof(double));
}

/* A program with one large state, which a run under --auto keeps if there is memory for a copy. */
static hawser_status shrink(hawser_context *context)
{
    HAWSER_WRITE(context, double, w);
    w[0] *= 0.5;
    return hawser_report(context, "squares", w[0]);
}

typedef struct large {
    uint64_t needed;
    bool guards[2]; /* by node */
    bool runs;
} large;

static void run_large(test_node *node)
{
    large *l = node->user;
    hawser_program *p = hawser_program_new("large", NULL);
    hawser_state *w = HAWSER_STATE(p, "w", HAWSER_REPLICATED, .rows = 1 << 18);
    hawser_metric_declare(p, "squares", HAWSER_SUM);
    hawser_operator *loop = hawser_loop(hawser_root(p), "descent", (hawser_until){.clocks = 5}, hawser_bsp());
    HAWSER_UNIT(loop, "shrink", shrink, .updates = {w});
    HAWSER_ADAPT(p, .loop = loop, .metric = "squares", .state = w, .staleness_most = 1);
    hw_plan *plan = NULL;
    hawser_run *run = NULL;
    node->status = hw_job_plan(node->job, p, &plan, &node->error);
    if (node->status == HAWSER_OK) {
        l->guards[node->node] = plan->guards;
        if (node->node == 0)
            l->needed = plan->memory_needed;
    }
    if (node->status == HAWSER_OK && l->runs)
        node->status = hawser_run_program(node->job, p, &run, &node->error);
    hw_plan_free(plan);
    hawser_run_free(run);
    hawser_program_free(p);
}

/* The memory of one node decides for all: nodes that decided each by its own would run different programs. */
static void nodes_with_different_limits_decide_alike(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    large l[2] = {{0}};
    char limit[40];
    for (int i = 0; i < 2; i++) {
        const char *const pairs[] = {"workers",      "4",  "timeout", "60", "auto", i > 0 ? "yes" : "no",
                                     "memory-limit", "8g", NULL};
        run_nodes(nodes, 2, pairs, run_large, &l[i]);
        check_all(nodes, 2, "with much memory");
        assert_true(l[i].guards[0] == (i == 1) && l[i].guards[1] == (i == 1));
    }
    assert_true(l[1].needed > l[0].needed);
    (void)snprintf(limit, sizeof limit, "%llu", (unsigned long long)((l[0].needed + l[1].needed) / 2));
    for (int i = 0; i < 2; i++) {
        const char *const pairs[] = {"workers",      "4",    "timeout",
                                     "60",           "auto", "yes",
                                     "memory-limit", "8g",   i == 0 ? "0:memory-limit" : "1:memory-limit",
                                     limit,          NULL};
        large both = {.runs = true};
        run_nodes(nodes, 2, pairs, run_large, &both);
        check_all(nodes, 2, "one with less memory");
        assert_false(both.guards[0] || both.guards[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_return_to_before_a_change_that_does_harm),
        cmocka_unit_test(states_return_from_ssp),
        cmocka_unit_test(states_return_on_all_nodes),
        cmocka_unit_test(a_run_that_goes_on_keeps_and_returns),
        cmocka_unit_test(a_metric_that_is_no_number_by_itself_ends_the_run),
        cmocka_unit_test(without_memory_for_a_copy_nothing_changes),
        cmocka_unit_test(nodes_with_different_limits_decide_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
