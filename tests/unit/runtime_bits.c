/*
 * Under BSP a run's bits depend on program, seed and number of blocks alone: not on threads, not on any schedule. The
 * program has a loop with a stop test, random draws, a tied and a derived state, a yield, a gain that changes, and units
 * around the loop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "sanitized.h"

enum { ROWS = 7, COLS = 23, BLOCKS = 5 };
static double A[ROWS * COLS];
static const hawser_matrix matrix = {.rows = ROWS, .cols = COLS, .stored = ROWS * COLS, .values = A, .stride = ROWS};

static void fill(void)
{
    for (int i = 0; i < ROWS * COLS; i++)
        A[i] = sin(1.7 * i) / (1 + i % 3);
}

static hawser_status sweep(hawser_context *context)
{
    const hawser_matrix *part;
    HAWSER_TRY(hawser_read(context, "A", &part));
    HAWSER_WRITE(context, double, v);
    HAWSER_WRITE(context, double, alpha);
    double seen = hawser_metric(context, "size");
    for (size_t n = 0; n < part->cols; n++) {
        size_t j = hawser_random_below(context, part->cols);
        double step = 0.1 * hawser_random_uniform(context) * (1 - hawser_column_dot(part, j, v)) / hawser_gain(context, "v");
        if (seen > 1)
            step *= 0.5;
        hawser_column_axpy(part, j, step * hawser_gain(context, "v"), v);
        alpha[j] += step;
        if (n == 2)
            HAWSER_TRY(hawser_yield(context));
    }
    return hawser_report(context, "work", hawser_random_uniform(context));
}

static hawser_status rebuild(hawser_context *context)
{
    const hawser_matrix *part;
    HAWSER_TRY(hawser_read(context, "A", &part));
    HAWSER_WRITE(context, double, v);
    HAWSER_READ(context, double, alpha);
    for (size_t j = 0; j < part->cols; j++)
        hawser_column_axpy(part, j, alpha[j], v);
    return HAWSER_OK;
}

static hawser_status measure(hawser_context *context)
{
    const hawser_matrix *part;
    HAWSER_TRY(hawser_read(context, "A", &part));
    HAWSER_READ(context, double, alpha);
    double sum = 0;
    for (size_t j = 0; j < part->cols; j++)
        sum += fabs(alpha[j]);
    return hawser_report(context, "size", sum);
}

static bool enough(hawser_progress *progress, void *user)
{
    (void)user;
    if (hawser_progress_clock(progress) == 2)
        hawser_progress_gain(progress, "v", 3);
    hawser_progress_set(progress, "size", hawser_progress_metric(progress, "work"));
    return hawser_progress_metric(progress, "work") > 3.4 || hawser_progress_clock(progress) >= 11;
}

typedef struct outcome {
    double v[ROWS], alpha[COLS], size;
    uint64_t clocks;
    uint32_t most_lead;
} outcome;

static outcome run_program(test_job test, hawser_rule rule, hawser_sync sync)
{
    hawser_program *program = hawser_program_new("bits", NULL);
    hawser_state *data = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = ROWS, .damping = rule.damping, .gain = rule.gain,
                                   .derive = rebuild, .form = hawser_job_encoding(test.job));
    hawser_state *alpha = HAWSER_STATE(program, "alpha", HAWSER_LOCAL, .along = data, .tie = v);
    hawser_metric_declare(program, "work", HAWSER_SUM);
    hawser_metric_declare(program, "size", HAWSER_SUM);
    hawser_operator *outer = hawser_loop(hawser_root(program), "outer", (hawser_until){.clocks = 3}, hawser_bsp());
    hawser_operator *loop = hawser_loop(outer, "inner", (hawser_until){.test = enough}, sync);
    HAWSER_UNIT(loop, "sweep", sweep, .reads = {data}, .updates = {v, alpha});
    HAWSER_UNIT(outer, "measure", measure, .reads = {data, alpha});
    hawser_run *run = NULL;
    hawser_error error = {0};
    if (hawser_run_program(test.job, program, &run, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    outcome result = {.size = hawser_result_metric(run, "size")};
    memcpy(result.v, RESULT(double, run, "v", NULL), sizeof result.v);
    memcpy(result.alpha, RESULT(double, run, "alpha", NULL), sizeof result.alpha);
    result.clocks = hawser_run_figures(run)->clocks;
    result.most_lead = hawser_run_figures(run)->most_lead;
    for (int i = 0; i < ROWS; i++) {
        double sum = 0, scale = 0;
        for (int j = 0; j < COLS; j++) {
            sum += A[j * ROWS + i] * result.alpha[j];
            scale += fabs(A[j * ROWS + i] * result.alpha[j]);
        }
        assert_true(fabs(sum - result.v[i]) <= 1e-14 * (1 + scale));
    }
    hawser_run_free(run);
    hawser_program_free(program);
    return result;
}

static void threads_and_schedules_do_not_matter(void **state)
{
    (void)state;
    const hawser_rule rules[] = {{.damping = 1, .gain = BLOCKS}, {.damping = 1.0 / BLOCKS}};
    const char *const forms[] = {"exact", "bf16", "f16", "int8"};
    for (size_t r = 0; r < 8; r++) {
        const char *form = forms[r / 2];
        test_job test = OPEN_JOB("workers", "5", "seed", "11", "timeout", "60", "encoding", form);
        outcome first = run_program(test, rules[r % 2], hawser_bsp());
        assert_true(first.clocks > 3 && first.most_lead == 0);
        close_job(test);
        const char *const counts[] = {"1", "2", "3", "4"};
        for (int t = 0; t < 4; t++) {
            test = OPEN_JOB("workers", "5", "seed", "11", "timeout", "60", "threads", counts[t], "encoding", form);
            outcome again = run_program(test, rules[r % 2], hawser_bsp());
            assert_memory_equal(&first, &again, sizeof first);
            close_job(test);
        }
        for (uint64_t seed = 0; seed < schedules_of(r < 2 ? 300 : 50); seed++) {
            test = OPEN_JOB("workers", "5", "seed", "11", "check", "yes", "encoding", form);
            hw_job_use_fibers(test.job, seed);
            outcome again = run_program(test, rules[r % 2], hawser_bsp());
            assert_memory_equal(&first, &again, sizeof first);
            close_job(test);
        }
    }
}

static void another_seed_gives_other_bits(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "5", "seed", "11"), other = OPEN_JOB("workers", "5", "seed", "12");
    outcome one = run_program(test, (hawser_rule){0}, hawser_bsp());
    outcome two = run_program(other, (hawser_rule){0}, hawser_bsp());
    assert_memory_not_equal(one.alpha, two.alpha, sizeof one.alpha);
    close_job(test);
    close_job(other);
}

/* v = A alpha after every sync, filter, merge and encoding, under schedules that differ. run_program asserts it. */
static void the_tie_holds(void **state)
{
    (void)state;
    const hawser_sync syncs[] = {hawser_bsp(), hawser_ssp(2), hawser_tap()};
    const char *const filters[] = {"none", "random", "round-robin", "absolute", "relative", "fifo"};
    const char *const forms[] = {"exact", "bf16", "f16", "int8"};
    uint32_t lead = 0;
    for (int s = 0; s < 3; s++)
        for (int f = 0; f < 6; f++)
            for (uint64_t seed = 0; seed < schedules_of(24); seed++) {
                test_job test = OPEN_JOB("workers", "5", "filter", filters[f], "quota", "40", "check", "yes", "encoding",
                                         forms[seed / 2 % 4]);
                hw_job_use_fibers(test.job, seed);
                outcome result = run_program(test, (hawser_rule){.damping = seed % 2 ? 0.2 : 1, .gain = 15}, syncs[s]);
                if (s == 1)
                    assert_true(result.most_lead <= 2);
                lead = result.most_lead > lead ? result.most_lead : lead;
                close_job(test);
            }
    assert_true(SANITIZED || lead >= 2);
}

enum { CLOCKS = 4 };

/* Keeps what a unit sees of the metric that it reports: clock + 1. */
static hawser_status see(hawser_context *context)
{
    HAWSER_WRITE(context, double, seen);
    seen[hawser_clock(context)] = hawser_metric(context, "clock");
    return hawser_report(context, "clock", (double)hawser_clock(context) + 1);
}

static bool last(hawser_progress *progress, void *user)
{
    (void)user;
    return hawser_progress_clock(progress) == CLOCKS - 1;
}

/* Compares what the units of a loop see, after a unit that has reported 1. */
static void expect_seen(hawser_until until, const double *expected)
{
    test_job test = OPEN_JOB("workers", "3");
    hawser_program *program = hawser_program_new("metrics", NULL);
    hawser_state *seen = HAWSER_STATE(program, "seen", HAWSER_LOCAL, .each = true, .rows = CLOCKS);
    hawser_metric_declare(program, "clock", HAWSER_MAX);
    HAWSER_UNIT(hawser_root(program), "before", see, .updates = {seen});
    HAWSER_UNIT(hawser_loop(hawser_root(program), "loop", until, hawser_bsp()), "see", see, .updates = {seen});
    hawser_run *run = NULL;
    hawser_error error = {0};
    if (hawser_run_program(test.job, program, &run, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    const double *found = RESULT(double, run, "seen", NULL);
    for (int b = 0; b < 3; b++)
        assert_memory_equal(found + b * CLOCKS, expected, CLOCKS * sizeof *found);
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
}

static void metrics_come_with_credit(void **state)
{
    (void)state;
    expect_seen((hawser_until){.test = last}, (const double[]){1, 1, 2, 3});
    expect_seen((hawser_until){.clocks = CLOCKS}, (const double[]){1, 1, 1, 1});
}

int main(void)
{
    fill();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_schedules_do_not_matter),
        cmocka_unit_test(another_seed_gives_other_bits),
        cmocka_unit_test(the_tie_holds),
        cmocka_unit_test(metrics_come_with_credit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
