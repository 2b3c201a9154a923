/* Runs of a program with the n-th allocation failing: each ends with a status on threads and on fibers, hangs no block and
 * leaks nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "failing.h"
#include "hawser/kept_points.h"
#include "hawser/moving.h"
#include "job.h"

static double numbers[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const hawser_matrix matrix = {.rows = 3, .cols = 4, .stored = 12, .values = numbers, .stride = 3};

static hawser_status add(hawser_context *context)
{
    const hawser_matrix *part;
    HAWSER_TRY(hawser_read(context, "data", &part));
    HAWSER_WRITE(context, double, v);
    HAWSER_WRITE(context, double, alpha);
    for (size_t j = 0; j < part->cols; j++) {
        hawser_column_axpy(part, j, 0.1, v);
        alpha[j] += 0.1;
    }
    HAWSER_TRY(hawser_yield(context));
    HAWSER_READ(context, double, p);
    return hawser_report(context, "sum", p[0]);
}

static hawser_status rebuild(hawser_context *context)
{
    const hawser_matrix *part;
    HAWSER_TRY(hawser_read(context, "data", &part));
    HAWSER_READ(context, double, alpha);
    HAWSER_WRITE(context, double, v);
    for (size_t j = 0; j < part->cols; j++)
        hawser_column_axpy(part, j, alpha[j], v);
    return HAWSER_OK;
}

static hawser_status own(hawser_context *context)
{
    HAWSER_WRITE(context, double, p);
    p[0] += 1;
    return HAWSER_OK;
}

static void visit(hawser_record *record, hawser_context *context)
{
    hawser_record_bytes(record, hawser_scratch(context), 100);
}

static bool third(hawser_progress *progress, void *user)
{
    (void)user;
    return hawser_progress_clock(progress) == 2;
}

static hawser_status train(hawser_job *job, hawser_sync sync, hawser_run **run, hawser_error *error)
{
    hawser_program *program = hawser_program_new("failing", NULL);
    hawser_state *data = HAWSER_STATE(program, "data", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 3, .derive = rebuild);
    hawser_state *alpha = HAWSER_STATE(program, "alpha", HAWSER_LOCAL, .along = data, .tie = v);
    hawser_state *p = HAWSER_STATE(program, "p", HAWSER_PARTITIONED, .rows = 4, .cols = 2, .along = data);
    hawser_scratch_size(program, 100, NULL);
    hawser_scratch_expect(program, 100, 100);
    hawser_scratch_record(program, visit);
    hawser_metric_declare(program, "sum", HAWSER_SUM);
    HAWSER_UNIT(hawser_root(program), "own", own, .reads = {data}, .updates = {p});
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.test = third}, sync);
    HAWSER_UNIT(loop, "add", add, .reads = {data, p}, .updates = {v, alpha});
    hawser_status status = hawser_run_program(job, program, run, error);
    hawser_program_free(program);
    return status;
}

/* Adds 1 to the parts of the moving state, and to the numbers of the entries state. */
static hawser_status add_to_all(hawser_context *context)
{
    hawser_moving_part part;
    HAWSER_WRITE(context, int32_t, z);
    for (size_t i = 0; i < hawser_part(context, "z", NULL); i++)
        z[i]++;
    for (;;) {
        HAWSER_TRY(hawser_next_part(context, "n", &part));
        if (part.number == UINT32_MAX)
            return HAWSER_OK;
        for (size_t i = 0; i < part.count; i++)
            ((double *)part.values)[i] += 1;
    }
}

static bool keeps_and_returns(hawser_progress *progress, void *user)
{
    (void)user;
    if (hawser_progress_clock(progress) == 1)
        hawser_progress_keep(progress, 0);
    if (hawser_progress_clock(progress) == 3)
        hawser_progress_return(progress, 0);
    return false;
}

/* A program whose parts move, with kept points. */
static hawser_status move(hawser_job *job, hawser_sync sync, hawser_run **run, hawser_error *error)
{
    static const size_t offsets[] = {0, 2, 3, 3, 7}, cut[] = {0, 1, 2, 4};
    static const uint64_t rows[] = {0, 2, 3, 5};
    static const uint32_t columns[] = {0, 1, 2, 0, 3};
    static const hawser_matrix counts = {
        .rows = 3, .cols = 4, .stored = 5, .layout = HAWSER_CSR, .offsets = rows, .indices = columns, .values = numbers};
    hawser_program *program = hawser_program_new("moving", NULL);
    hawser_state *X = HAWSER_STATE(program, "X", HAWSER_DATA, .matrix = &counts, .split = HAWSER_BY_ROW);
    hawser_state *z =
        HAWSER_STATE(program, "z", HAWSER_ENTRIES, .type = HAWSER_I32, .along = X, .by_value = true, .keep = true);
    hawser_state *n =
        HAWSER_STATE(program, "n", HAWSER_MOVING, .lines = 4, .offsets = offsets, .parts = 3, .cut = cut, .keep = true);
    hawser_operator *loop =
        hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 6, .test = keeps_and_returns}, sync);
    HAWSER_UNIT(loop, "add", add_to_all, .reads = {X}, .updates = {n, z});
    hawser_status status = hawser_run_program(job, program, run, error);
    hawser_program_free(program);
    return status;
}

typedef hawser_status run_function(hawser_job *job, hawser_sync sync, hawser_run **run, hawser_error *error);

static void fail_each(run_function *go, const char *result, bool fibers, hawser_sync sync)
{
    test_job test = OPEN_JOB("workers", "3", "filter", "random", "quota", "16");
    hawser_run *first = NULL;
    assert_int_equal(go(test.job, sync, &first, NULL), HAWSER_OK); /* a job remembers the names of states */
    hawser_run_free(first);
    for (long n = 1;; n++) {
        long before = atomic_load(&live);
        hawser_run *run = NULL;
        hawser_error error = {0};
        if (fibers)
            hw_job_use_fibers(test.job, (uint64_t)n);
        atomic_store(&countdown, n);
        hawser_status status = go(test.job, sync, &run, &error);
        bool happened = atomic_load(&countdown) <= 0;
        atomic_store(&countdown, 0);
        assert_true((status == HAWSER_OK) == (run != NULL));
        if (status == HAWSER_OK)
            assert_true(RESULT(double, run, result, NULL)[0] > 0);
        hawser_run_free(run);
        if (atomic_load(&live) != before)
            fail_msg("allocation %ld fails: %ld pieces leak", n, atomic_load(&live) - before);
        if (!happened) {
            assert_int_equal(status, HAWSER_OK);
            assert_true(n > 100);
            break;
        }
        if (status != HAWSER_NO_MEMORY || strlen(error.text) == 0)
            fail_msg("allocation %ld fails: %s, %s", n, hawser_status_name(status), error.text);
    }
    close_job(test);
}

static void on_fibers(void **state)
{
    (void)state;
    fail_each(train, "v", true, hawser_bsp());
    fail_each(train, "v", true, hawser_tap());
    fail_each(move, "n", true, hawser_bsp());
}

static void on_threads(void **state)
{
    (void)state;
    fail_each(train, "v", false, hawser_ssp(1));
    fail_each(move, "n", false, hawser_bsp());
}

static void while_opening(void **state)
{
    (void)state;
    for (long n = 1;; n++) {
        char name[] = "program", workers[] = "--workers=2";
        char *words[] = {name, workers, NULL};
        int count = 2;
        long before = atomic_load(&live);
        hawser_job *job = NULL;
        atomic_store(&countdown, n);
        hawser_status status = hawser_open(&count, words, &job, NULL);
        bool happened = atomic_load(&countdown) <= 0;
        atomic_store(&countdown, 0);
        hawser_close(job);
        assert_int_equal(atomic_load(&live), before);
        if (!happened) {
            assert_int_equal(status, HAWSER_OK);
            assert_int_equal(count, 1);
            return;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_fibers), cmocka_unit_test(on_threads),
                                       cmocka_unit_test(while_opening)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
