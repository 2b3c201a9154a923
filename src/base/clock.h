/* clock.h - time. Only runtime, cli, the readers and the transports read clocks; protocol steps get the time as an
 * argument. */
#ifndef HW_BASE_CLOCK_H
#define HW_BASE_CLOCK_H

#include <time.h>

/* Returns seconds of the monotonic clock, from an arbitrary point. */
double hw_seconds(void);
/* Returns the same clock as of the kernel's last tick, some milliseconds old at most. It is cheap enough for every
 * message. */
double hw_seconds_lately(void);
/* Returns seconds since the machine was started, including suspended time. */
double hw_boot_seconds(void);
/* Returns seconds since 1970 by the system's clock. */
double hw_wall_seconds(void);
/* Returns the CPU seconds of the calling thread. */
double hw_thread_cpu_seconds(void);

/* Converts seconds, a length or a time, for the system. Not negative. */
struct timespec hw_timespec(double seconds);
/* Converts seconds to a timeout of poll, in milliseconds rounded up: 0 if no time is left, -1 for infinity. */
int hw_poll_milliseconds(double seconds);

#endif
