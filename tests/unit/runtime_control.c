/* The driver's control flow: loops in loops, branch, parallel, one and each, every way to end a loop, interrupt and
 * limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "job.h"
#include "sanitized.h"

static double numbers[24];
static const hawser_matrix matrix = {.rows = 2, .cols = 12, .stored = 24, .values = numbers, .stride = 2};

typedef struct trace {
    char text[4000];
    size_t length;
    hawser_job *job;
    uint64_t interrupt_at;
} trace;

/* Names of the operators in the order in which the driver saw them end. */
static void note(const hawser_progress *progress, void *user)
{
    trace *seen = user;
    if (seen->length + 100 < sizeof seen->text)
        seen->length += (size_t)snprintf(seen->text + seen->length, 100, "%s%llu ", hawser_progress_loop(progress),
                                         (unsigned long long)hawser_progress_clock(progress));
    if (seen->interrupt_at != 0 && hawser_progress_clocks(progress) == seen->interrupt_at)
        hawser_interrupt(seen->job);
}

static hawser_status count(hawser_context *context)
{
    HAWSER_WRITE(context, double, n);
    n[0] += 1;
    return hawser_report(context, "clock", (double)hawser_clock(context));
}

static hawser_status idle(hawser_context *context)
{
    (void)context;
    return HAWSER_OK;
}

static hawser_run *run(test_job test, hawser_program *program, hawser_status wanted)
{
    hawser_run *result = NULL;
    hawser_error error = {0};
    hawser_status status = hawser_run_program(test.job, program, &result, &error);
    if (status != wanted)
        fail_msg("%s: %s", hawser_status_name(status), error.text);
    return result;
}

static bool even_clock(hawser_progress *progress, void *user)
{
    (void)user;
    return hawser_progress_clock(progress) % 2 == 0;
}

static void order(void **state)
{
    (void)state;
    trace seen = {0};
    test_job test = OPEN_JOB("workers", "3");
    hawser_observe(test.job, note, &seen);
    hawser_program *program = hawser_program_new("order", NULL);
    hawser_state *n = HAWSER_STATE(program, "n", HAWSER_REPLICATED, .rows = 1);
    hawser_metric_declare(program, "clock", HAWSER_MAX);
    hawser_operator *outer = hawser_loop(hawser_root(program), "outer", (hawser_until){.clocks = 3}, hawser_bsp());
    HAWSER_UNIT(outer, "single", idle, .one = true);
    HAWSER_UNIT(hawser_loop(outer, "inner", (hawser_until){.clocks = 2}, hawser_bsp()), "count", count, .updates = {n});
    hawser_operator *fork = hawser_branch(outer, "fork", even_clock, NULL);
    HAWSER_UNIT(fork, "yes", idle);
    HAWSER_UNIT(fork, "no", idle);
    hawser_operator *both = hawser_parallel(hawser_root(program));
    HAWSER_UNIT(both, "left", idle);
    HAWSER_UNIT(both, "right", idle, .one = true);
    hawser_run *result = run(test, program, HAWSER_OK);
    assert_string_equal(seen.text, "single0 inner0 inner1 yes0 single1 inner0 inner1 no1 single2 inner0 inner1 yes2 "
                                   "left0 right0 ");
    assert_true(RESULT(double, result, "n", NULL)[0] == 3 * 3 * 2);
    assert_true(hawser_result_metric(result, "clock") == 1);
    assert_int_equal(hawser_run_figures(result)->clocks, 6);
    assert_string_equal(hawser_run_figures(result)->stop_reason, "clocks");
    assert_null(hawser_run_figures(result)->repeatable);
    hawser_run_free(result);
    hawser_program_free(program);
    close_job(test);
}

typedef struct meeting {
    atomic_int begun, ended;
    atomic_uint blocks; /* one bit per block that has run a unit */
} meeting;

/* Waits until both units have begun, so it fails if one of them starts when the other has ended. */
static hawser_status meet(hawser_context *context)
{
    meeting *both = hawser_user(context);
    atomic_fetch_or(&both->blocks, 1U << hawser_block(context));
    atomic_fetch_add(&both->begun, 1);
    for (int i = 0; i < 60000 && atomic_load(&both->begun) < 2; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (atomic_load(&both->begun) < 2)
        return HAWSER_TIMEOUT;
    atomic_fetch_add(&both->ended, 1);
    return HAWSER_OK;
}

/* Runs after both units of the parallel, though it stands before them. */
static hawser_status follow(hawser_context *context)
{
    meeting *both = hawser_user(context);
    return atomic_load(&both->ended) == 2 ? HAWSER_OK : HAWSER_INTERNAL;
}

static void one_units_of_a_parallel_run_together(void **state)
{
    (void)state;
    meeting both = {0};
    test_job test = OPEN_JOB("workers", "2");
    hawser_program *program = hawser_program_new("parallel", &both);
    hawser_operator *parallel = hawser_parallel(hawser_root(program));
    HAWSER_UNIT(hawser_sequence(parallel), "after", follow);
    HAWSER_UNIT(parallel, "left", meet, .one = true);
    HAWSER_UNIT(parallel, "right", meet, .one = true);
    hawser_run_free(run(test, program, HAWSER_OK));
    assert_int_equal(atomic_load(&both.blocks), 3);
    hawser_program_free(program);
    close_job(test);
}

/* Notes in each block's digits which unit it runs. */
static hawser_status first_unit(hawser_context *context)
{
    unsigned *seen = hawser_user(context);
    seen[hawser_block(context)] = seen[hawser_block(context)] * 10 + 1;
    return HAWSER_OK;
}

static hawser_status second_unit(hawser_context *context)
{
    unsigned *seen = hawser_user(context);
    seen[hawser_block(context)] = seen[hawser_block(context)] * 10 + 2;
    return HAWSER_OK;
}

static void units_of_a_parallel_keep_their_order_on_a_block(void **state)
{
    (void)state;
    unsigned seen[3] = {0};
    test_job test = OPEN_JOB("workers", "3");
    hawser_program *program = hawser_program_new("parallel", seen);
    hawser_operator *parallel = hawser_parallel(hawser_root(program));
    HAWSER_UNIT(parallel, "first", first_unit);
    HAWSER_UNIT(parallel, "zero", second_unit, .one = true);
    HAWSER_UNIT(parallel, "one", second_unit, .one = true);
    HAWSER_UNIT(parallel, "last", first_unit);
    hawser_run_free(run(test, program, HAWSER_OK));
    assert_int_equal(seen[0], 121);
    assert_int_equal(seen[1], 121);
    assert_int_equal(seen[2], 11);
    hawser_program_free(program);
    close_job(test);
}

/* Falls to 1 at clock 5, stays there, and rises after clock 8. */
static hawser_status fall(hawser_context *context)
{
    uint64_t t = hawser_clock(context);
    double value = t < 5 ? 6.0 - (double)t : t < 9 ? 1 : (double)t;
    return hawser_report(context, "m", value / hawser_blocks(context));
}

static bool at_four(hawser_progress *progress, void *user)
{
    (void)user;
    return hawser_progress_clock(progress) == 4;
}

static void every_end(void **state)
{
    (void)state;
    const struct {
        hawser_until until;
        uint64_t clocks;
        const char *reason;
    } cases[] = {{{.clocks = 4}, 4, "clocks"},
                 {{.metric = "m", .below = 3}, 4, "m"},
                 {{.metric = "m", .change = 1e-6}, 7, "change"},
                 {{.metric = "m", .patience = 2}, 8, "patience"},
                 {{.test = at_four}, 5, "test"},
                 {{.test = at_four, .clocks = 3}, 3, "clocks"},
                 {{.test = at_four, .clocks = 90, .seconds = 1000}, 5, "test"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 0; seed < 1 + schedules_of(19); seed++) {
            test_job test = OPEN_JOB("workers", "4");
            if (seed != 0)
                hw_job_use_fibers(test.job, seed);
            hawser_program *program = hawser_program_new("ends", NULL);
            hawser_metric_declare(program, "m", HAWSER_SUM);
            HAWSER_UNIT(hawser_loop(hawser_root(program), "loop", cases[i].until, hawser_bsp()), "fall", fall);
            hawser_run *result = run(test, program, HAWSER_OK);
            const hawser_figures *figures = hawser_run_figures(result);
            for (uint32_t b = 0; b < 4; b++)
                assert_int_equal(figures->worker[b].clocks, cases[i].clocks);
            assert_string_equal(figures->stop_reason, cases[i].reason);
            hawser_run_free(result);
            hawser_program_free(program);
            close_job(test);
        }
}

/* All blocks end at one clock (under TAP each where it is), and every clock that was run counts once. */
static void assert_same_end(const hawser_run *result, uint32_t blocks, hawser_sync sync)
{
    const hawser_figures *figures = hawser_run_figures(result);
    uint64_t sum = 0;
    for (uint32_t b = 0; b < blocks; b++) {
        sum += figures->worker[b].clocks;
        if (sync.tightness != HAWSER_TAP)
            assert_int_equal(figures->worker[b].clocks, figures->clocks);
    }
    assert_true(RESULT(double, result, "n", NULL)[0] == (double)sum);
}

static void ends_by_time(void **state)
{
    (void)state;
    const hawser_sync syncs[] = {hawser_bsp(), hawser_ssp(2), hawser_tap()};
    for (int s = 0; s < 3; s++)
        for (int whole = 0; whole < 2; whole++) {
            test_job test = OPEN_JOB("workers", "2", "time-limit", whole ? "0.05" : "0");
            hawser_program *program = hawser_program_new("time", NULL);
            hawser_state *n = HAWSER_STATE(program, "n", HAWSER_REPLICATED, .rows = 1);
            hawser_metric_declare(program, "clock", HAWSER_MAX);
            hawser_until until = {.clocks = UINT64_MAX / 2, .seconds = whole ? 0 : 0.05};
            HAWSER_UNIT(hawser_loop(hawser_root(program), "loop", until, syncs[s]), "count", count, .updates = {n});
            hawser_run *result = run(test, program, whole ? HAWSER_STOP : HAWSER_OK);
            const hawser_figures *figures = hawser_run_figures(result);
            assert_string_equal(figures->stop_reason, whole ? "time-limit" : "seconds");
            assert_non_null(figures->repeatable);
            assert_same_end(result, 2, syncs[s]);
            hawser_run_free(result);
            hawser_program_free(program);
            close_job(test);
        }
}

/* Time may run out between two looks at the clock; a loop that has all its credit from the start ends all the same. */
static void ends_by_time_anywhere(void **state)
{
    (void)state;
    for (int i = 0; i < (int)tried_of(60); i++) {
        test_job test = OPEN_JOB("workers", "2");
        hawser_program *program = hawser_program_new("time", NULL);
        hawser_state *n = HAWSER_STATE(program, "n", HAWSER_REPLICATED, .rows = 1);
        hawser_until until = {.clocks = UINT64_MAX / 2, .seconds = 0.001 + 1e-5 * i};
        hawser_metric_declare(program, "clock", HAWSER_MAX);
        HAWSER_UNIT(hawser_loop(hawser_root(program), "loop", until, hawser_bsp()), "count", count, .updates = {n});
        hawser_run *result = run(test, program, HAWSER_OK);
        assert_string_equal(hawser_run_figures(result)->stop_reason, "seconds");
        assert_same_end(result, 2, hawser_bsp());
        hawser_run_free(result);
        hawser_program_free(program);
        close_job(test);
    }
}

/* Computes until the run is asked to end, which in one case the unit itself does from its first block. */
static hawser_status endless(hawser_context *context)
{
    trace *seen = hawser_user(context);
    HAWSER_WRITE(context, double, n);
    n[0] += 1;
    if (hawser_block(context) == 0 && seen->interrupt_at != 0)
        hawser_interrupt(seen->job);
    while (!hawser_stopping(context))
        continue;
    return HAWSER_OK;
}

/* A unit that would compute for ever sees that it is to stop, on every block, and what it changed by then counts. */
static void stops_within_a_clock(void **state)
{
    (void)state;
    for (int by_signal = 0; by_signal < 2; by_signal++) {
        test_job test = OPEN_JOB("workers", "2", "time-limit", by_signal ? "0" : "0.02");
        trace seen = {.job = test.job, .interrupt_at = (uint64_t)by_signal};
        hawser_program *program = hawser_program_new("endless", &seen);
        hawser_state *n = HAWSER_STATE(program, "n", HAWSER_REPLICATED, .rows = 1);
        hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 100}, hawser_bsp());
        HAWSER_UNIT(loop, "endless", endless, .updates = {n});
        hawser_run *result = run(test, program, HAWSER_STOP);
        const hawser_figures *figures = hawser_run_figures(result);
        assert_string_equal(figures->stop_reason, by_signal ? "signal" : "time-limit");
        assert_non_null(figures->repeatable);
        assert_same_end(result, 2, hawser_bsp());
        hawser_run_free(result);
        hawser_program_free(program);
        close_job(test);
    }
}

/* A signal: all blocks end at one clock, the work after the loop still runs, and the result is complete. */
static void interrupt(void **state)
{
    (void)state;
    const hawser_sync syncs[] = {hawser_bsp(), hawser_ssp(3), hawser_tap()};
    for (uint64_t seed = 0; seed < 6 + schedules_of(54); seed++) {
        test_job test = OPEN_JOB("workers", "4");
        trace seen = {.job = test.job, .interrupt_at = 5};
        if (seed >= 6)
            hw_job_use_fibers(test.job, seed);
        hawser_observe(test.job, note, &seen);
        hawser_program *program = hawser_program_new("signal", NULL);
        hawser_state *n = HAWSER_STATE(program, "n", HAWSER_REPLICATED, .rows = 1);
        hawser_metric_declare(program, "clock", HAWSER_MAX);
        hawser_operator *outer = hawser_loop(hawser_root(program), "outer", (hawser_until){.clocks = 1000}, hawser_bsp());
        HAWSER_UNIT(hawser_loop(outer, "loop", (hawser_until){.clocks = 100000}, syncs[seed % 3]), "count", count,
                    .updates = {n});
        HAWSER_UNIT(outer, "certificate", idle);
        hawser_run *result = run(test, program, HAWSER_STOP);
        const hawser_figures *figures = hawser_run_figures(result);
        assert_string_equal(figures->stop_reason, "signal");
        assert_string_equal(figures->repeatable, "a signal ended the run");
        assert_true(figures->clocks >= 5);
        assert_same_end(result, 4, syncs[seed % 3]);
        assert_int_equal(strlen(strstr(seen.text, "certificate")), strlen("certificate0 "));
        hawser_run_free(result);
        hawser_program_free(program);
        close_job(test);
    }
}

static void clock_limit(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "3", "max-clocks", "7");
    hawser_program *program = hawser_program_new("limit", NULL);
    hawser_state *n = HAWSER_STATE(program, "n", HAWSER_REPLICATED, .rows = 1);
    hawser_metric_declare(program, "clock", HAWSER_MAX);
    hawser_operator *outer = hawser_loop(hawser_root(program), "outer", (hawser_until){.clocks = 100}, hawser_bsp());
    HAWSER_UNIT(hawser_loop(outer, "loop", (hawser_until){.clocks = 3}, hawser_ssp(1)), "count", count, .updates = {n});
    hawser_run *result = run(test, program, HAWSER_STOP);
    assert_true(RESULT(double, result, "n", NULL)[0] == 21);
    assert_int_equal(hawser_run_figures(result)->clocks, 7);
    hawser_run_free(result);
    hawser_program_free(program);
    close_job(test);
}

static bool tighten(hawser_progress *progress, void *user)
{
    (void)user;
    if (hawser_progress_clock(progress) == 10)
        hawser_progress_sync(progress, "loop", hawser_bsp());
    return hawser_progress_clock(progress) >= 299;
}

/* A policy changes inside a loop: the loop's own clock goes on, nothing is lost, no clock runs twice. */
static void policy_changes(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < schedules_of(20); seed++) {
        test_job test = OPEN_JOB("workers", "3");
        hw_job_use_fibers(test.job, seed);
        hawser_program *program = hawser_program_new("policy", NULL);
        hawser_state *n = HAWSER_STATE(program, "n", HAWSER_REPLICATED, .rows = 1);
        hawser_metric_declare(program, "clock", HAWSER_MAX);
        HAWSER_UNIT(hawser_loop(hawser_root(program), "loop", (hawser_until){.test = tighten}, hawser_tap()), "count", count,
                    .updates = {n});
        hawser_run *result = run(test, program, HAWSER_OK);
        assert_same_end(result, 3, hawser_tap());
        assert_true(RESULT(double, result, "n", NULL)[0] >= 3 * 300);
        assert_true(hawser_result_metric(result, "clock") == 299);
        hawser_run_free(result);
        hawser_program_free(program);
        close_job(test);
    }
}

static hawser_status bump_own(hawser_context *context)
{
    double *own;
    HAWSER_TRY(hawser_write(context, "p", &own));
    const double *all;
    HAWSER_TRY(hawser_read(context, "p", &all));
    HAWSER_READ(context, hawser_matrix, data);
    for (size_t i = 0; i < data->cols; i++)
        own[i] += 1 + hawser_block(context) + 0 * all[0];
    return HAWSER_OK;
}

static hawser_status look(hawser_context *context)
{
    const double *all;
    HAWSER_TRY(hawser_read(context, "p", &all));
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += all[i];
    return hawser_report(context, "sum", sum);
}

/* Owners' values reach every reader; a local state comes back in global order. */
static void partitioned(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "3");
    double start[12];
    for (int i = 0; i < 12; i++)
        start[i] = i;
    hawser_program *program = hawser_program_new("parts", NULL);
    hawser_state *data = HAWSER_STATE(program, "data", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    hawser_state *p = HAWSER_STATE(program, "p", HAWSER_PARTITIONED, .rows = 12, .along = data, .initial = start);
    HAWSER_STATE(program, "l", HAWSER_LOCAL, .along = data, .initial = start);
    hawser_metric_declare(program, "sum", HAWSER_MIN);
    HAWSER_UNIT(hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 5}, hawser_bsp()), "bump", bump_own,
                .reads = {data}, .updates = {p});
    HAWSER_UNIT(hawser_root(program), "look", look, .reads = {p});
    hawser_run *result = run(test, program, HAWSER_OK);
    const double *values = RESULT(double, result, "p", NULL);
    for (int i = 0; i < 12; i++)
        assert_true(values[i] == i + 5.0 * (1 + i / 4));
    assert_true(hawser_result_metric(result, "sum") == 66 + 5 * 4 * 6);
    size_t size = 0;
    assert_memory_equal(RESULT(double, result, "l", &size), start, sizeof start);
    assert_int_equal(size, 12);
    assert_null(RESULT(double, result, "nonsense", &size));
    assert_int_equal(size, 0);
    hawser_run_free(result);
    hawser_program_free(program);
    close_job(test);
}

static hawser_status halve(hawser_context *context)
{
    const hawser_matrix *part;
    HAWSER_TRY(hawser_read(context, "data", &part));
    double *values = hawser_scratch(context);
    for (size_t j = 0; j < part->cols; j++)
        values[j] = (double)(part->first + j) / 2;
    hawser_matrix other = {.rows = 1, .cols = part->cols, .stored = part->cols, .values = values, .stride = 1};
    return hawser_data_replace(context, "data", &other);
}

static hawser_status add_up(hawser_context *context)
{
    const hawser_matrix *part;
    HAWSER_TRY(hawser_read(context, "data", &part));
    double sum = 0;
    for (size_t j = 0; j < part->cols; j++)
        sum += ((const double *)part->values)[j * part->stride];
    return hawser_report(context, "sum", sum);
}

static void transformed_data(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "5");
    hawser_program *program = hawser_program_new("transform", NULL);
    hawser_scratch_size(program, 12 * sizeof(double), NULL);
    hawser_state *data = HAWSER_STATE(program, "data", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    hawser_metric_declare(program, "sum", HAWSER_SUM);
    HAWSER_UNIT(hawser_root(program), "halve", halve, .updates = {data});
    HAWSER_UNIT(hawser_root(program), "add", add_up, .reads = {data});
    hawser_run *result = run(test, program, HAWSER_OK);
    assert_true(hawser_result_metric(result, "sum") == 33);
    hawser_run_free(result);
    hawser_program_free(program);
    close_job(test);
}

/* Counts its clocks in the block's own part of `alpha`, which is tied to `v`. */
static hawser_status count_own(hawser_context *context)
{
    size_t count = hawser_part(context, "alpha", NULL);
    HAWSER_WRITE(context, double, v);
    v[0] += 1;
    HAWSER_WRITE(context, double, alpha);
    for (size_t j = 0; j < count; j++)
        alpha[j] += 1;
    return HAWSER_OK;
}

/* The same; block 0 asks for the end in clock 4. */
static hawser_status count_and_end(hawser_context *context)
{
    HAWSER_TRY(count_own(context));
    HAWSER_TRY(hawser_yield(context));
    if (hawser_block(context) == 0 && hawser_clock(context) == 4)
        hawser_interrupt(hawser_user(context));
    return HAWSER_OK;
}

/* Without any --grace a run is left where it stands: in step all blocks go back to the last clock that all have done, and
 * averaged parts are committed as they are in a whole run. */
static void abandoned(void **state)
{
    (void)state;
    static const struct {
        hawser_sync sync;
        double damping;
        int stages;
    } cases[] = {{{HAWSER_BSP, 0}, 1.0, 1}, {{HAWSER_BSP, 0}, 0.25, 1}, {{HAWSER_SSP, 2}, 1.0, 1},
                 {{HAWSER_TAP, 0}, 1.0, 1}, {{HAWSER_BSP, 0}, 1.0, 2},  {{HAWSER_BSP, 0}, 0.25, 3},
                 {{HAWSER_SSP, 2}, 1.0, 2}, {{HAWSER_TAP, 0}, 1.0, 2}};
    uint64_t ends[12] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 1; seed <= schedules_of(199); seed++) {
            test_job test = OPEN_JOB("workers", "4", "grace", "0");
            hw_job_use_fibers(test.job, seed);
            hawser_program *program = hawser_program_new("abandoned", test.job);
            hawser_state *X = HAWSER_STATE(program, "X", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
            hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 1, .damping = cases[i].damping);
            hawser_state *alpha = HAWSER_STATE(program, "alpha", HAWSER_LOCAL, .along = X, .tie = v);
            hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 1000}, cases[i].sync);
            for (int s = 0; s < cases[i].stages; s++)
                HAWSER_UNIT(loop, (const char *const[]){"count", "again", "last"}[s], s == 0 ? count_and_end : count_own,
                            .reads = {X}, .updates = {v, alpha});
            hawser_run *result = run(test, program, HAWSER_STOP);
            const hawser_figures *figures = hawser_run_figures(result);
            const double *counts = RESULT(double, result, "alpha", NULL);
            assert_string_equal(figures->stop_reason, "signal");
            for (size_t j = 0; j < 12; j++) {
                bool step = cases[i].sync.tightness == HAWSER_BSP;
                double clocks = counts[j] / cases[i].damping / (step ? cases[i].stages : 1);
                if (clocks != floor(clocks) || (step && counts[j] != counts[0]) || fabs(counts[j] - counts[0]) > 300)
                    fail_msg("case %zu, seed %llu: column %zu has %g, column 0 %g", i, (unsigned long long)seed, j,
                             counts[j], counts[0]);
                if (step)
                    assert_true(clocks >= 4 && clocks <= 7 && figures->worker[j / 3].clocks == (uint64_t)clocks);
            }
            ends[i] += counts[0] != 5 * cases[i].damping * cases[i].stages;
            hawser_run_free(result);
            hawser_program_free(program);
            close_job(test);
        }
    assert_true(SANITIZED || (ends[0] > 0 && ends[4] > 0)); /* not all end where the clock of the request does */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order),
        cmocka_unit_test(one_units_of_a_parallel_run_together),
        cmocka_unit_test(units_of_a_parallel_keep_their_order_on_a_block),
        cmocka_unit_test(every_end),
        cmocka_unit_test(ends_by_time),
        cmocka_unit_test(ends_by_time_anywhere),
        cmocka_unit_test(stops_within_a_clock),
        cmocka_unit_test(interrupt),
        cmocka_unit_test(abandoned),
        cmocka_unit_test(clock_limit),
        cmocka_unit_test(policy_changes),
        cmocka_unit_test(partitioned),
        cmocka_unit_test(transformed_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
