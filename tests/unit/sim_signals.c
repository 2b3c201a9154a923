/*
 * SIGTERM in a simulated cluster: a node that waits for it ends its run at an agreed clock, as all others do; a second one,
 * or one for which no thread waits, kills the node alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "job.h"
#include "sim/cluster.h"

enum { NODES = 3, CLOCKS = 50, STOPPED = 2 };
#define UNIT_SECONDS 10. /* a second signal within 3 s is an echo of the first one */

static double sums[NODES];
static hawser_status ended[NODES];
static char texts[NODES][sizeof((hawser_error *)NULL)->text];

static hawser_status add(hawser_context *context)
{
    HAWSER_WRITE(context, double, x);
    x[0] += 1;
    return HAWSER_OK;
}

static hawser_status run_program(hawser_job *job, double *sum, hawser_error *error)
{
    hawser_program *program = hawser_program_new("sums", NULL);
    hawser_state *state = HAWSER_STATE(program, "x", HAWSER_REPLICATED, .rows = 1);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = CLOCKS}, hawser_bsp());
    HAWSER_UNIT(loop, "add", add, .updates = {state});
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(job, program, &run, error);
    if (status >= HAWSER_OK)
        *sum = RESULT(double, run, "x", NULL)[0];
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static int run_node(void *user, uint32_t node)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_error error = {0};
    (void)user;
    hawser_status status = hawser_options_new(tables, &options, &error);
    HAWSER_THEN(status, hawser_options_set(options, "workers", "3", HAWSER_FROM_PROGRAM, "test", &error));
    /* A clock takes ten seconds and drawn pauses: less would abandon some runs, whose nodes keep what they have. */
    HAWSER_THEN(status, hawser_options_set(options, "grace", "100", HAWSER_FROM_PROGRAM, "test", &error));
    HAWSER_THEN(status, hawser_open_options(options, &job, &error));
    HAWSER_THEN(status, run_program(job, &sums[node], &error));
    hawser_close(job);
    hawser_options_free(options);
    ended[node] = status;
    (void)snprintf(texts[node], sizeof texts[node], "%s", status == HAWSER_OK ? "" : error.text);
    return status == HAWSER_OK ? 0 : status == HAWSER_STOP ? STOPPED : 1;
}

static void run(const char *lines, uint64_t seed, int codes[NODES])
{
    hawser_error error = {0};
    sim_faults faults = {0};
    memset(sums, 0, sizeof sums);
    assert_int_equal(sim_faults_read("test", lines, NODES, 1, &faults, &error), HAWSER_OK);
    const sim_cluster cluster = {.seed = seed,
                                 .nodes = NODES,
                                 .rates = {.latency = 1e-4, .nearby = 1e-5},
                                 .costs = {.call = UNIT_SECONDS},
                                 .limit = 10000,
                                 .faults = &faults,
                                 .main = run_node};
    assert_int_equal(sim_cluster_run(&cluster, codes).end, SIM_DONE);
    sim_faults_free(&faults);
}

static void a_signal_ends_a_run_at_an_agreed_clock(void **state)
{
    int codes[NODES];
    (void)state;
    for (uint64_t seed = 0; seed < 5; seed++) {
        run("t=55 term 1; t=56 term 1", seed, codes); /* the second one is an echo */
        for (int n = 0; n < NODES; n++) {
            assert_int_equal(codes[n], STOPPED);
            assert_true(sums[n] == sums[0]);
        }
        assert_true(sums[0] >= 5 * NODES && sums[0] < 10 * NODES); /* 3 blocks, in the sixth clock or soon after */
    }
    run("", 0, codes);
    assert_true(codes[0] == 0 && sums[0] == CLOCKS * NODES);
}

static void assert_lost(const int *codes, uint32_t lost)
{
    char name[20];
    (void)snprintf(name, sizeof name, "node %u", lost);
    for (uint32_t n = 0; n < NODES; n++) {
        assert_int_equal(codes[n], n == lost ? -1 : 1);
        if (n != lost) {
            assert_int_equal(ended[n], HAWSER_PEER_LOST);
            assert_non_null(strstr(texts[n], name));
        }
    }
}

static void a_second_signal_kills_the_node_alone(void **state)
{
    int codes[NODES];
    (void)state;
    run("t=55 term 1; t=59 term 1", 0, codes);
    assert_lost(codes, 1);
}

static void a_signal_kills_a_node_that_does_not_wait_for_it(void **state)
{
    int codes[NODES];
    (void)state;
    run("t=0.0001 term 2", 0, codes); /* the nodes are joining */
    assert_lost(codes, 2);
}

static void a_stopped_node_takes_the_signal_when_it_goes_on(void **state)
{
    int codes[NODES];
    (void)state;
    run("t=52 stop 1; t=53 term 1; t=54 continue 1", 0, codes);
    for (int n = 0; n < NODES; n++)
        assert_int_equal(codes[n], STOPPED);
    assert_true(sums[0] >= 5 * NODES && sums[0] < 10 * NODES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_ends_a_run_at_an_agreed_clock),
        cmocka_unit_test(a_second_signal_kills_the_node_alone),
        cmocka_unit_test(a_signal_kills_a_node_that_does_not_wait_for_it),
        cmocka_unit_test(a_stopped_node_takes_the_signal_when_it_goes_on),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fflush(NULL);
    _exit(failed); /* so that the leak checker does not see what killed nodes leave */
}
