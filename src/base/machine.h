/* machine.h - what this process may use of the machine, by its affinity mask and cgroup limits. */
#ifndef HW_BASE_MACHINE_H
#define HW_BASE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "hawser/status.h"

/* Returns the number of processors: min(affinity mask, cgroup v1/v2 CPU quota rounded up), at least 1. */
uint32_t hw_machine_processors(void);
/* Returns the bytes that this process may still take: min(MemAvailable, cgroup v1/v2 limit less use) divided by `sharers`,
 * the number of processes that are to share them, and at most RLIMIT_AS. */
uint64_t hw_machine_memory(uint32_t sharers);
/* Returns the peak resident set of this process in bytes. */
uint64_t hw_machine_peak_rss(void);

/* Raises this process's soft limit of open descriptors to `wanted` if it is lower. Returns HAWSER_IO if its hard limit
 * forbids that; the text begins with `what`, which has a verb ("a job of 3 nodes needs"), and `where` says what holds them
 * ("each"). */
hawser_status hw_machine_descriptors(uint64_t wanted, const char *what, const char *where,
                                     hawser_error *error) HAWSER_MUST_USE;
/* Raises the soft limit of open descriptors to the hard limit, for callers that cannot know how many they need. */
void hw_machine_most_descriptors(void);
/* Returns advice about EMFILE and ENFILE to end a message with; "" for other errors. */
const char *hw_machine_advice(int error_number);

#endif
