/* Times as the system takes them, and conditions that wait for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "base/thread.h"

static void seconds_are_split(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        long long whole, rest;
    } cases[] = {{0, 0, 0}, {0.5, 0, 500000000}, {7, 7, 0}, {1000000.25, 1000000, 250000000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct timespec got = hw_timespec(cases[i].seconds);
        assert_true(got.tv_sec == cases[i].whole && got.tv_nsec == cases[i].rest);
    }
    for (double seconds = 1e-9; seconds < 1e7; seconds *= 1.7) { /* never a nanosecond too many */
        struct timespec got = hw_timespec(seconds);
        assert_true(got.tv_nsec >= 0 && got.tv_nsec < 1000000000);
        assert_true(fabs((double)got.tv_sec + 1e-9 * (double)got.tv_nsec - seconds) < 2e-9);
    }
}

static void poll_never_waits_too_short(void **state)
{
    (void)state;
    assert_int_equal(hw_poll_milliseconds(-1), 0);
    assert_int_equal(hw_poll_milliseconds(-INFINITY), 0);
    assert_int_equal(hw_poll_milliseconds(0), 0);
    assert_int_equal(hw_poll_milliseconds(1e-9), 1);
    assert_int_equal(hw_poll_milliseconds(2.0005), 2001);
    assert_int_equal(hw_poll_milliseconds(1e300), 1000000000);
    assert_int_equal(hw_poll_milliseconds(INFINITY), -1);
}

/* A condition of another clock would take this for a time long past, or far away. */
static void a_condition_waits_until_its_time(void **state)
{
    (void)state;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition;
    assert_int_equal(hw_thread_condition(&condition), 0);
    double deadline = hw_seconds() + 0.05;
    struct timespec until = hw_timespec(deadline + 2e-9);
    int result = 0;
    pthread_mutex_lock(&mutex);
    while (result == 0)
        result = pthread_cond_timedwait(&condition, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    assert_int_equal(result, ETIMEDOUT);
    assert_true(hw_seconds() >= deadline);
    pthread_cond_destroy(&condition);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds_are_split),
        cmocka_unit_test(poll_never_waits_too_short),
        cmocka_unit_test(a_condition_waits_until_its_time),
    };
    return cmocka_run_group_tests_name("base clock", tests, NULL, NULL);
}
