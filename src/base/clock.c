#include "base/clock.h"

#include <time.h>

static double read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double hw_seconds(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double hw_seconds_lately(void)
{
    return read_clock(CLOCK_MONOTONIC_COARSE);
}

double hw_thread_cpu_seconds(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

double hw_wall_seconds(void)
{
    return read_clock(CLOCK_REALTIME);
}
