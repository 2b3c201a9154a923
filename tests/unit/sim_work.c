/* A unit's own count of its work takes virtual time, and changes nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "hawser/advanced.h"
#include "job.h"
#include "sim/cluster.h"

enum { CLOCKS = 5, ENTRIES = 1000 };
#define ENTRY 1e-6 /* seconds */

static hawser_status add(hawser_context *context)
{
    HAWSER_WRITE(context, double, x);
    x[0]++;
    hawser_simulated_work(context, *(const uint64_t *)hawser_user(context));
    return HAWSER_OK;
}

/* Runs the program on this node; returns the sum. */
static double run_program(uint64_t *entries)
{
    hawser_error error = {0};
    hawser_run *run = NULL;
    test_job test = OPEN_JOB("workers", "1");
    hawser_program *program = hawser_program_new("sums", entries);
    hawser_state *x = HAWSER_STATE(program, "x", HAWSER_REPLICATED, .rows = 1);
    hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "loop", hawser_bsp(), .clocks = CLOCKS);
    HAWSER_UNIT(loop, "add", add, .updates = {x});
    double sum = hawser_run_program(test.job, program, &run, &error) == HAWSER_OK ? *RESULT(double, run, "x", NULL) : -1;
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
    return sum;
}

static int node_main(void *user, uint32_t node)
{
    (void)node;
    return run_program(user) == CLOCKS ? 0 : 1;
}

static double seconds_of(uint64_t entries)
{
    int code = -1;
    sim_cluster cluster = {.nodes = 1, .costs = {.entry = ENTRY}, .limit = 1000, .main = node_main, .user = &entries};
    sim_outcome outcome = sim_cluster_run(&cluster, &code);
    assert_int_equal(outcome.end, SIM_DONE);
    assert_int_equal(code, 0);
    return outcome.seconds;
}

static void counted_entries_take_virtual_time(void **state)
{
    (void)state;
    double least = CLOCKS * ENTRIES * ENTRY, taken = seconds_of(ENTRIES) - seconds_of(0);
    assert_true(taken > 0.99 * least && taken < 1.01 * least);
}

static void a_real_job_ignores_the_count(void **state)
{
    uint64_t entries = UINT64_MAX;
    (void)state;
    assert_true(run_program(&entries) == CLOCKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted_entries_take_virtual_time),
        cmocka_unit_test(a_real_job_ignores_the_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
