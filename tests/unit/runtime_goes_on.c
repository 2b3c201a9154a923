/* A program of one process that was stopped goes on with the same data in memory, and not with other data. Before a time
 * limit ends it, a checkpoint begins early. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "directory.h"
#include "job.h"
#include "runtime/job/checkpoints.h"

enum { CLOCKS = 12 };

static double numbers[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const hawser_matrix matrix = {.rows = 3, .cols = 4, .stored = 12, .values = numbers, .stride = 3};
static hawser_job *stopped; /* after a few clocks; NULL: it runs to its end */

/* Adds what the block has of the data. */
static hawser_status add(hawser_context *context)
{
    const hawser_matrix *own;
    HAWSER_TRY(hawser_read(context, "data", &own));
    HAWSER_WRITE(context, double, sum);
    for (size_t i = 0; i < own->cols; i++)
        sum[0] += ((const double *)own->values)[i * own->stride];
    return HAWSER_OK;
}

/* Interrupts the job after a few clocks, as a signal would. */
static bool interrupt(hawser_progress *progress, void *user)
{
    (void)user;
    if (stopped != NULL && hawser_progress_clock(progress) == 3)
        hawser_interrupt(stopped);
    return false;
}

/* Runs the program with checkpoints. Returns its status, and the sum if it has ended. */
static hawser_status run_it(bool stops, double *result, hawser_error *error)
{
    test_job test = OPEN_JOB("workers", "2", "checkpoint", "ck", "checkpoint-every", "0");
    hawser_program *program = hawser_program_new("adds", NULL);
    hawser_run *run = NULL;
    hawser_state *data = HAWSER_STATE(program, "data", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    hawser_state *sum = HAWSER_STATE(program, "sum", HAWSER_REPLICATED, .rows = 1);
    hawser_operator *loop =
        hawser_loop(hawser_root(program), "rounds", (hawser_until){.clocks = CLOCKS, .test = interrupt}, hawser_bsp());
    HAWSER_UNIT(loop, "add", add, .reads = {data}, .updates = {sum});
    stopped = stops ? test.job : NULL;
    hawser_status status = hawser_run_program(test.job, program, &run, error);
    if (run != NULL)
        *result = *RESULT(double, run, "sum", NULL);
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
    return status;
}

static void data_in_memory_are_compared(void **state)
{
    (void)state;
    hawser_error error = {0};
    double whole = 0, partly = 0, again = 0;
    if (run_it(false, &whole, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_true(whole == CLOCKS * (1 + 4 + 7 + 10));
    (void)run_it(true, &partly, &error);
    assert_true(partly < whole);
    numbers[3] = 5;
    assert_int_equal(run_it(false, &again, &error), HAWSER_BAD_OPTION);
    assert_non_null(strstr(error.text, "data of state 'data' = digest"));
    numbers[3] = 4;
    assert_int_equal(run_it(false, &again, &error), HAWSER_OK);
    assert_true(again == whole);
}

/* Sleeps a little, and makes the job believe that its last checkpoint took some seconds. */
static hawser_status slow(hawser_context *context)
{
    const double *took = hawser_user(context);
    HAWSER_WRITE(context, double, sum);
    (void)usleep(1000);
    sum[0] += 1;
    if (*took > 0 && hawser_block(context) == 0)
        atomic_store(&stopped->checkpoints->took, *took);
    return HAWSER_OK;
}

static bool never(hawser_progress *progress, void *user)
{
    (void)progress, (void)user;
    return false;
}

/* Returns how many checkpoints a run takes that a time limit ends. */
static uint64_t count_before_end(double took)
{
    test_job test =
        OPEN_JOB("workers", "2", "checkpoint", "limited", "checkpoint-every", "1000", "time-limit", "1.5", "fresh", "yes");
    hawser_program *program = hawser_program_new("limited", &took);
    hawser_run *run = NULL;
    hawser_error error = {0};
    hawser_state *sum = HAWSER_STATE(program, "sum", HAWSER_REPLICATED, .rows = 1);
    hawser_operator *loop = hawser_loop(hawser_root(program), "rounds", (hawser_until){.test = never}, hawser_bsp());
    HAWSER_UNIT(loop, "slow", slow, .updates = {sum});
    stopped = test.job;
    if (hawser_run_program(test.job, program, &run, &error) != HAWSER_STOP)
        fail_msg("%s", error.text);
    assert_string_equal(hawser_run_figures(run)->stop_reason, "time-limit");
    uint64_t count = hawser_run_figures(run)->checkpoints;
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
    stopped = NULL;
    return count;
}

/* One is taken at the limit; one more begins before it, by twice what the last one took. */
static void a_checkpoint_begins_before_a_known_end(void **state)
{
    (void)state;
    assert_int_equal(count_before_end(0), 1);
    assert_int_equal(count_before_end(0.6), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(data_in_memory_are_compared, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_checkpoint_begins_before_a_known_end, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
