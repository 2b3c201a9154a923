/* clock.h - time. Only runtime, cli, the readers and the transports ask for it; protocol steps are told. */
#ifndef HW_BASE_CLOCK_H
#define HW_BASE_CLOCK_H

#include <time.h>

/* Seconds of the monotonic clock since an arbitrary point. */
double hw_seconds(void);
/* The same as it stood at the kernel's last tick, some milliseconds ago at most: for what is asked with every message. */
double hw_seconds_lately(void);
/* Seconds since the machine was started, those included for which it slept. */
double hw_boot_seconds(void);
/* Seconds since 1970, as the system's clock has it. */
double hw_wall_seconds(void);
/* CPU seconds of the calling thread. */
double hw_thread_cpu_seconds(void);

/* Seconds, a length or a time, as the system takes them. Not negative. */
struct timespec hw_timespec(double seconds);
/* For poll: milliseconds after which no less than so many seconds have passed; 0 where none is left, -1 for infinity. */
int hw_poll_milliseconds(double seconds);

#endif
