/* With one block every sync is bsp: the clocks, the bits and what a run says of itself are the same, and what several blocks
 * refuse is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hawser/cocoa.h"
#include "job.h"

/* Goes half of the way to the numbers of its own, and a random step. */
static hawser_status step(hawser_context *context)
{
    HAWSER_WRITE(context, double, w);
    double far = 0;
    for (size_t e = 0; e < 5; e++) {
        w[e] += ((double)e - w[e]) / 2 + 1e-3 * hawser_random_uniform(context) * hawser_gain(context, "w");
        far += ((double)e - w[e]) * ((double)e - w[e]);
    }
    return hawser_report(context, "far", far);
}

static hawser_status look(hawser_context *context)
{
    HAWSER_READ(context, double, w);
    HAWSER_WRITE(context, double, seen);
    double far = hawser_metric(context, "far"); /* NaN before the first clock has ended */
    seen[0] += w[4] * (far > 0 ? far : 1);
    return HAWSER_OK;
}

typedef struct outcome {
    double w[5], seen;
    uint64_t clocks;
    bool repeatable;
} outcome;

static outcome run(hawser_sync sync, const char *word, bool nested, bool own_sync)
{
    test_job test = OPEN_JOB("workers", "1", "sync", word);
    hawser_program *program = hawser_program_new("one", NULL);
    hawser_rule rule = hawser_cocoa_rule(test.job, 1, sync);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = 5, .damping = rule.damping, .gain = rule.gain);
    hawser_state *seen = HAWSER_STATE(program, "seen", HAWSER_REPLICATED, .rows = 1);
    hawser_metric_declare(program, "far", HAWSER_SUM);
    hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "loop", sync, .clocks = 1000, .metric = "far", .change = 1e-3);
    hawser_operator *around = nested ? HAWSER_LOOP(loop, "inner", sync, .clocks = 3) : loop;
    const hawser_sync bsp = hawser_bsp();
    HAWSER_UNIT(around, "step", step, .updates = {w});
    HAWSER_UNIT(loop, "look", look, .reads = {w}, .updates = {seen}, .sync = own_sync ? &bsp : NULL);
    hawser_error error = {0};
    hawser_run *result = NULL;
    if (hawser_run_program(test.job, program, &result, &error) != HAWSER_OK)
        fail_msg("%s: %s", word, error.text);
    outcome out = {.clocks = hawser_run_figures(result)->clocks,
                   .repeatable = hawser_run_figures(result)->repeatable == NULL};
    memcpy(out.w, RESULT(double, result, "w", NULL), sizeof out.w);
    out.seen = RESULT(double, result, "seen", NULL)[0];
    hawser_run_free(result);
    hawser_program_free(program);
    close_job(test);
    return out;
}

static void every_sync_is_bsp(void **state)
{
    (void)state;
    for (int nested = 0; nested < 2; nested++) {
        outcome bsp = run(hawser_bsp(), "bsp", nested, false);
        assert_true(bsp.repeatable && bsp.clocks > 3 && bsp.seen != 0);
        for (int own_sync = 0; own_sync < 2; own_sync++) {
            outcome ssp = run(hawser_ssp(3), "ssp:3", nested, own_sync), tap = run(hawser_tap(), "tap", nested, own_sync);
            assert_memory_equal(&ssp.w, &bsp.w, sizeof bsp.w);
            assert_memory_equal(&tap.w, &bsp.w, sizeof bsp.w);
            assert_float_equal(ssp.seen, bsp.seen, 0);
            assert_float_equal(tap.seen, bsp.seen, 0);
            assert_int_equal(ssp.clocks, bsp.clocks);
            assert_int_equal(tap.clocks, bsp.clocks);
            assert_true(ssp.repeatable && tap.repeatable);
        }
    }
}

static void the_rule_of_cocoa_is_that_of_bsp(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "1", "sync", "ssp:4");
    assert_int_equal(hawser_job_sync(test.job).tightness, HAWSER_BSP);
    assert_float_equal(hawser_cocoa_rule(test.job, 1, hawser_tap()).gain, 1, 0);
    close_job(test);
    test = OPEN_JOB("workers", "2", "sync", "ssp:4");
    assert_int_equal(hawser_job_sync(test.job).tightness, HAWSER_SSP);
    assert_float_equal(hawser_cocoa_rule(test.job, 1, hawser_ssp(4)).gain, 10, 0);
    close_job(test);
}

static bool never(hawser_progress *progress, void *user)
{
    (void)progress;
    (void)user;
    return false;
}

/* A program that is written with one block must run with more. */
static void what_several_blocks_refuse_is_refused(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "1");
    hawser_program *program = hawser_program_new("one", NULL);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = 5);
    hawser_metric_declare(program, "far", HAWSER_SUM);
    hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "loop", hawser_tap(), .clocks = 10);
    HAWSER_UNIT(hawser_branch(loop, "which", never, NULL), "step", step, .updates = {w});
    hawser_error error = {0};
    hawser_run *result = NULL;
    assert_int_equal(hawser_run_program(test.job, program, &result, &error), HAWSER_BAD_PROGRAM);
    assert_non_null(strstr(error.text, "branch 'which' is in loop 'loop' under tap"));
    hawser_program_free(program);
    close_job(test);
}

static hawser_status read_absent(hawser_context *context)
{
    (void)hawser_metric(context, "absent");
    return HAWSER_OK;
}

static void an_undeclared_metric_is_an_error(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "2");
    hawser_program *program = hawser_program_new("one", NULL);
    HAWSER_UNIT(hawser_root(program), "u", read_absent, .reads = {NULL});
    hawser_error error = {0};
    hawser_run *result = NULL;
    assert_int_equal(hawser_run_program(test.job, program, &result, &error), HAWSER_BAD_PROGRAM);
    assert_non_null(strstr(error.text, "hawser_metric: the program declares no metric 'absent'"));
    hawser_program_free(program);
    close_job(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sync_is_bsp),
        cmocka_unit_test(the_rule_of_cocoa_is_that_of_bsp),
        cmocka_unit_test(what_several_blocks_refuse_is_refused),
        cmocka_unit_test(an_undeclared_metric_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
