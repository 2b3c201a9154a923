/* machine.h - what this process may use of the machine: affinity mask and cgroup limits, never the whole machine. */
#ifndef HW_BASE_MACHINE_H
#define HW_BASE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "hawser/status.h"

/* Processors: min(affinity mask, cgroup v1/v2 CPU quota rounded up), at least 1. */
uint32_t hw_machine_processors(void);
/* Returns the bytes that this process may still take: min(MemAvailable, cgroup v1/v2 limit less use) divided by `sharers`, the
 * number of processes that are to share them, and at most RLIMIT_AS. */
uint64_t hw_machine_memory(uint32_t sharers);
/* Peak resident set of this process in bytes. */
uint64_t hw_machine_peak_rss(void);

/* Raises this process's soft limit of open descriptors to `wanted` if it is lower. HAWSER_IO: its hard limit forbids that; the text begins with
 * `what`, which has a verb ("a job of 3 nodes needs"), and `where` says in what ("each"). */
hawser_status hw_machine_descriptors(uint64_t wanted, const char *what, const char *where,
                                     hawser_error *error) HAWSER_MUST_USE;
/* As high as the hard limit: for what cannot know how many there will be. */
void hw_machine_most_descriptors(void);
/* What to do about EMFILE and ENFILE, to end a message with; "" of other errors. */
const char *hw_machine_advice(int error_number);

#endif
