/* machine.h - what this process may use of the machine: affinity mask and cgroup limits, never the whole machine. */
#ifndef HW_BASE_MACHINE_H
#define HW_BASE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* Processors: min(affinity mask, cgroup v1/v2 CPU quota rounded up), at least 1. */
uint32_t hw_machine_processors(void);
/* Returns the bytes that this process may still take: min(MemAvailable, cgroup v1/v2 limit less use) divided by `sharers`, the
 * number of processes that are to share them, and at most RLIMIT_AS. */
uint64_t hw_machine_memory(uint32_t sharers);
/* Peak resident set of this process in bytes. */
uint64_t hw_machine_peak_rss(void);

/* Sees to it that this process may have so many descriptors open, by its soft limit; false: its hard limit forbids it, *allowed is set. */
bool hw_machine_descriptors(uint64_t wanted, uint64_t *allowed);

#endif
