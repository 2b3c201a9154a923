/*
 * Misuse beyond single arguments (tests/misuse has those): units that return what is no status, clocks that go back, arrays
 * that are promised and not given.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "hawser/store.h"
#include "job.h"

static hawser_status return_number(hawser_context *context)
{
    return (hawser_status) * (const int *)hawser_user(context);
}

static hawser_status fail_with_number(hawser_context *context)
{
    return hawser_unit_fail(context, (hawser_status) * (const int *)hawser_user(context), "words of its own");
}

static hawser_status rebuild_with_number(hawser_context *context)
{
    return return_number(context);
}

static hawser_status add_one(hawser_context *context)
{
    HAWSER_WRITE(context, double, v);
    v[0] += 1;
    return HAWSER_OK;
}

static hawser_status run_unit(hawser_unit_function *unit, hawser_unit_function *rebuild, int number, hawser_error *error)
{
    test_job test = OPEN_JOB("workers", "2");
    hawser_program *program = hawser_program_new("number", &number);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 3, .derive = rebuild);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 2}, hawser_bsp());
    HAWSER_UNIT(loop, "unit", unit, .updates = {v});
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(test.job, program, &run, error);
    assert_true((run != NULL) == (status >= HAWSER_OK));
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
    return status;
}

/* Callers take what is not below zero for success. */
static void a_unit_returns_a_status(void **state)
{
    (void)state;
    static const int numbers[] = {77, 3, -12, -1000};
    char expected[20];
    for (int i = 0; i < 4; i++) {
        hawser_error error = {0};
        snprintf(expected, sizeof expected, "returned %d,", numbers[i]);
        assert_int_equal(run_unit(return_number, NULL, numbers[i], &error), HAWSER_BAD_PROGRAM);
        if (strstr(error.text, expected) == NULL || strstr(error.text, "unit 'unit', block ") == NULL)
            fail_msg("%s", error.text);
        assert_int_equal(run_unit(add_one, rebuild_with_number, numbers[i], &error), HAWSER_BAD_PROGRAM);
        assert_non_null(strstr(error.text, expected));
        assert_int_equal(run_unit(fail_with_number, NULL, numbers[i], &error), HAWSER_BAD_PROGRAM);
        assert_non_null(strstr(error.text, "words of its own"));
    }
    hawser_error error = {0};
    for (int number = HAWSER_INTERNAL; number < 0; number++)
        assert_int_equal(run_unit(return_number, NULL, number, &error), number);
    assert_int_equal(run_unit(return_number, NULL, 0, &error), HAWSER_OK);
    /* An error that no call has returned to the unit: */
    assert_int_equal(run_unit(return_number, NULL, HAWSER_STOP, &error), HAWSER_BAD_PROGRAM);
    assert_int_equal(run_unit(return_number, NULL, HAWSER_VIEW_CHANGED, &error), HAWSER_BAD_PROGRAM);
}

/* Units that get HAWSER_VIEW_CHANGED and go on. */
static hawser_status go_on_to_the_end(hawser_context *context)
{
    double one = 1;
    hawser_status ignored = hawser_allreduce(context, &one, 1, HAWSER_SUM);
    (void)ignored;
    HAWSER_WRITE(context, double, v);
    v[0] += one;
    return HAWSER_OK;
}

static hawser_status call_again(hawser_context *context)
{
    double one = 1;
    if (hawser_allreduce(context, &one, 1, HAWSER_SUM) != HAWSER_OK)
        assert_int_equal(hawser_allreduce(context, &one, 1, HAWSER_SUM), HAWSER_VIEW_CHANGED);
    return HAWSER_OK;
}

static hawser_status take_it_for_an_error(hawser_context *context)
{
    double one = 1;
    return hawser_allreduce(context, &one, 1, HAWSER_SUM) == HAWSER_OK ? HAWSER_OK : HAWSER_IO;
}

static void a_unit_returns_when_the_view_changes(void **state)
{
    (void)state;
    hawser_unit_function *const units[] = {go_on_to_the_end, call_again, take_it_for_an_error};
    for (size_t u = 0; u < 3; u++) {
        hawser_error error = {0};
        hawser_run *run = NULL;
        test_job test = OPEN_JOB("workers", "2");
        hw_job_change_view(test.job, 1, 1);
        hawser_program *program = hawser_program_new("deaf", NULL);
        hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 3);
        hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 2}, hawser_bsp());
        HAWSER_UNIT(loop, "unit", units[u], .updates = {v}, .reduces = 1);
        assert_int_equal(hawser_run_program(test.job, program, &run, &error), HAWSER_BAD_PROGRAM);
        if (strstr(error.text, "unit 'unit', block ") == NULL || strstr(error.text, "returned 'view changed', but") == NULL)
            fail_msg("%s", error.text);
        hawser_program_free(program);
        close_job(test);
    }
}

static void clocks_of_the_store_only_go_on(void **state)
{
    (void)state;
    hawser_error error = {0};
    test_job test = OPEN_JOB("workers", "1");
    hawser_store *store = NULL;
    uint32_t table, sparse;
    assert_int_equal(hawser_store_open(test.job, &(hawser_store_options){.workers = 2}, &store, &error), HAWSER_OK);
    assert_int_equal(hawser_store_table(store, &(hawser_table){.name = "t", .first = 10, .last = 99}, &table, &error), 0);
    assert_int_equal(hawser_store_table(store, &(hawser_table){.name = "s", .sparse = true}, &sparse, &error), 0);
    assert_int_equal(hawser_store_clock(store, table, 0, 4, 20, 29, &error), HAWSER_OK);
    assert_int_equal(hawser_store_clock(store, table, 0, 4, 20, 29, &error), HAWSER_OK); /* said again */
    assert_int_equal(hawser_store_clock(store, table, 0, 3, 10, 99, &error), HAWSER_BAD_ARGUMENT);
    if (strstr(error.text, "worker 0 has ended clock 4 on key 20") == NULL || strstr(error.text, "clock 3") == NULL)
        fail_msg("%s", error.text);
    assert_int_equal(hawser_store_clock(store, table, 0, 3, 29, 29, &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_store_clock(store, table, 0, 3, 10, 19, &error), HAWSER_OK); /* other keys, */
    assert_int_equal(hawser_store_clock(store, table, 1, 0, 10, 99, &error), HAWSER_OK); /* another worker, */
    assert_int_equal(hawser_store_clock(store, sparse, 0, 0, 0, UINT64_MAX, &error), HAWSER_OK);
    assert_int_equal(hawser_store_clock(store, table, 0, 5, 10, 99, &error), HAWSER_OK); /* a later clock */
    assert_int_equal(hawser_store_clock(store, table, 0, 4, 10, 10, &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_store_clock(store, sparse, 0, 7, 0, UINT64_MAX, &error), HAWSER_OK);
    assert_int_equal(hawser_store_clock(store, sparse, 0, 6, 0, UINT64_MAX, &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_store_clock(store, table, 0, 9, 5, 20, &error), HAWSER_BAD_ARGUMENT); /* keys that it has not */
    assert_int_equal(hawser_store_clock(store, table, 0, 9, 10, 99, &error), HAWSER_OK);
    hawser_store_close(store);
    close_job(test);
}

static void promised_arrays_are_given(void **state)
{
    (void)state;
    hawser_error error = {0};
    test_job test = OPEN_JOB("workers", "1");
    hawser_store *store = NULL;
    uint32_t table;
    uint64_t task = 0;
    const double value = 1;
    assert_int_equal(hawser_store_open(test.job, &(hawser_store_options){.function_count = 1}, &store, &error),
                     HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_store_open(test.job, &(hawser_store_options){.filter_count = 1}, &store, &error),
                     HAWSER_BAD_ARGUMENT);
    assert_null(store);
    assert_int_equal(hawser_store_open(test.job, NULL, &store, &error), HAWSER_OK);
    assert_int_equal(hawser_store_table(store, &(hawser_table){.name = "t"}, &table, &error), HAWSER_OK);
    assert_int_equal(
        hawser_push(store, &(hawser_request){.table = table, .values = &value, .after_count = 2}, &task, &error),
        HAWSER_BAD_ARGUMENT);
    assert_int_equal(task, 0);
    hawser_store_close(store);
    const char *const none[] = {NULL};
    hawser_dataset *data = NULL;
    assert_int_equal(hawser_dataset_load(none, 1, &(hawser_load){0}, &data, &error), HAWSER_BAD_ARGUMENT);
    assert_null(data);
    close_job(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_returns_a_status), cmocka_unit_test(a_unit_returns_when_the_view_changes),
        cmocka_unit_test(clocks_of_the_store_only_go_on), cmocka_unit_test(promised_arrays_are_given)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
