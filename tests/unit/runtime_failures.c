/* Runs of a program with the n-th allocation failing: each ends with a status on threads and on fibers, hangs no block and leaks nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "failing.h"
#include "job.h"

static double numbers[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const hawser_matrix matrix = {.rows = 3, .cols = 4, .stored = 12, .values = numbers, .stride = 3};

static hawser_status add(hawser_context *context)
{
    const hawser_matrix *part = hawser_data_view(context, "data");
    double *v = hawser_cache(context, "v"), *alpha = hawser_local(context, "alpha");
    for (size_t j = 0; j < part->cols; j++) {
        hawser_column_axpy(part, j, 0.1, v);
        alpha[j] += 0.1;
    }
    HAWSER_TRY(hawser_yield(context));
    return hawser_report(context, "sum", hawser_view(context, "p")[0]);
}

static hawser_status rebuild(hawser_context *context)
{
    const hawser_matrix *part = hawser_data_view(context, "data");
    for (size_t j = 0; j < part->cols; j++)
        hawser_column_axpy(part, j, hawser_local(context, "alpha")[j], hawser_cache(context, "v"));
    return HAWSER_OK;
}

static hawser_status own(hawser_context *context)
{
    hawser_local(context, "p")[0] += 1;
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
    hawser_state *data = hawser_data_state(program, "data", &matrix, HAWSER_BY_COLUMN);
    hawser_state *v = hawser_replicated_state(program, "v", 3, 1, NULL, (hawser_rule){0});
    hawser_state *alpha = hawser_local_state(program, "alpha", data, 1, NULL);
    hawser_state *p = hawser_partitioned_state(program, "p", 8, data, NULL);
    hawser_scratch_size(program, 100, NULL);
    hawser_scratch_expect(program, 100, 100);
    hawser_scratch_record(program, visit);
    hawser_tie(alpha, v);
    hawser_derive(v, rebuild);
    hawser_metric_declare(program, "sum", HAWSER_SUM);
    hawser_unit(hawser_root(program), "own", own, HAWSER_READS(data), HAWSER_UPDATES(p));
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.test = third}, sync);
    hawser_unit(loop, "add", add, HAWSER_READS(data, p), HAWSER_UPDATES(v, alpha));
    hawser_status status = hawser_run_program(job, program, run, error);
    hawser_program_free(program);
    return status;
}

static void fail_each(bool fibers, hawser_sync sync)
{
    test_job test = OPEN_JOB("workers", "3", "filter", "random", "quota", "16");
    hawser_run *first = NULL;
    assert_int_equal(train(test.job, sync, &first, NULL), HAWSER_OK); /* a job remembers the names of states */
    hawser_run_free(first);
    for (long n = 1;; n++) {
        long before = atomic_load(&live);
        hawser_run *run = NULL;
        hawser_error error = {0};
        if (fibers)
            hw_job_use_fibers(test.job, (uint64_t)n);
        atomic_store(&countdown, n);
        hawser_status status = train(test.job, sync, &run, &error);
        bool happened = atomic_load(&countdown) <= 0;
        atomic_store(&countdown, 0);
        assert_true((status == HAWSER_OK) == (run != NULL));
        if (status == HAWSER_OK)
            assert_true(hawser_result(run, "v", NULL)[0] > 0);
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
    fail_each(true, hawser_bsp());
    fail_each(true, hawser_tap());
}

static void on_threads(void **state)
{
    (void)state;
    fail_each(false, hawser_ssp(1));
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
