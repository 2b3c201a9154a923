/* The time that a run has where Slurm ends the job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(slurms_end_shortens_the_limit)};
    return cmocka_run_group_tests_name("runtime enter", tests, NULL, NULL);
}
