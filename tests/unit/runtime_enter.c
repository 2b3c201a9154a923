/* The time that a run has where Slurm ends the job, and reports of checkpoints to hawser run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hawser/advanced.h"
#include "runtime/job/enter.h"

static double left(char *variable, double limit, double now)
{
    char *const environment[] = {(char *)"HOME=/", variable, NULL};
    return hw_time_left(limit, environment, now);
}

static void slurms_end_shortens_the_limit(void **state)
{
    (void)state;
    assert_true(left(NULL, 0, 1000) == 0); /* no limit stays none */
    assert_true(left(NULL, 77, 1000) == 77);
    char end[] = "SLURM_JOB_END_TIME=1000100", far_end[] = "SLURM_JOB_END_TIME=1036000",
         nonsense[] = "SLURM_JOB_END_TIME=soon";
    assert_true(left(end, 0, 1000000) == 95); /* a twentieth is for saving */
    assert_true(left(end, 50, 1000000) == 50);
    assert_true(left(end, 99, 1000000) == 95);
    assert_true(left(far_end, 0, 1000000) == 36000 - 30);
    assert_true(left(end, 0, 1000200) == 1); /* over already: end, but by oneself */
    assert_true(left(nonsense, 0, 1000000) == 0);
}

/* A job of one node that `hawser run` has started, by itself and on a cluster. */
static void a_job_reports_its_checkpoints_to_the_launcher(void **state)
{
    (void)state;
    int ends[2];
    char launch[40], text[40] = "";
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    int channel = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
    snprintf(launch, sizeof launch, "fd:%d", channel);
    assert_int_equal(write(ends[0], "key 00\n", 7), 7);
    const char *const variables[][2] = {
        {"HAWSER_LAUNCH", launch}, {"HAWSER_NODE", "0"}, {"HAWSER_NODES", "1"}, {"HAWSER_JOB", "job"}};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        assert_int_equal(setenv(variables[i][0], variables[i][1], 1), 0);
    hawser_error error;
    hawser_options *options = NULL;
    assert_int_equal(hawser_options_new((const hawser_option *const[]){hawser_job_rows(), NULL}, &options, &error),
                     HAWSER_OK);
    for (int on_cluster = 0; on_cluster < 2; on_cluster++) {
        hawser_cluster *cluster = NULL;
        hawser_job *job = NULL;
        if (on_cluster)
            assert_int_equal(hawser_cluster_open(options, NULL, &cluster, &error), HAWSER_OK);
        hawser_opening opening = {.cluster = cluster};
        assert_int_equal(hawser_open_with(options, &opening, &job, &error), HAWSER_OK);
        hw_job_progress(job, 812);
        assert_int_equal(recv(ends[0], text, sizeof text - 1, MSG_DONTWAIT), 13);
        assert_string_equal(text, "progress 812\n");
        hawser_close(job);
        hawser_cluster_close(cluster);
    }
    hawser_options_free(options);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        (void)unsetenv(variables[i][0]);
    (void)close(channel);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(slurms_end_shortens_the_limit),
                                       cmocka_unit_test(a_job_reports_its_checkpoints_to_the_launcher)};
    return cmocka_run_group_tests_name("runtime enter", tests, NULL, NULL);
}
