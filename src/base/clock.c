#include "base/clock.h"

#include <math.h>

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

double hw_boot_seconds(void)
{
    return read_clock(CLOCK_BOOTTIME);
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

struct timespec hw_timespec(double seconds)
{
    time_t whole = (time_t)seconds;
    return (struct timespec){.tv_sec = whole, .tv_nsec = (long)((seconds - (double)whole) * 1e9)};
}

int hw_poll_milliseconds(double seconds)
{
    if (isinf(seconds) && seconds > 0)
        return -1;
    return seconds > 0 ? (int)(seconds < 1e6 ? seconds * 1000 + 1 : 1e9) : 0;
}
