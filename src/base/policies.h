/* policies.h - the policies of --sync. Columns: enumerator (HAWSER_..., HW_POLICY_...), the word of --sync, what it means,
 * why a training under it may give other bits each time (NULL: it does not), its number in histories (history/record.h),
 * whether N = 0 is bsp, whether it orders stored states and nothing else, and the functions of consistency.c: may a block
 * read, the credit window, and how far chunks of stored states may lag. */
#ifndef HW_BASE_POLICIES_H
#define HW_BASE_POLICIES_H

#include "base/rows.h"

#define HW_POLICIES(ROW)                                                                                                    \
    ROW(BSP, "bsp", "in step: a clock begins when all updates of the clocks before it are in", NULL, HW_EVENT_BSP, false,   \
        false, reads_in_bounds, window_of_clocks, lag_none)                                                                 \
    ROW(SSP, "ssp:N", "stale synchronous parallel: workers are at most N clocks apart", "a loop ran under ssp",             \
        HW_EVENT_SSP, true, false, reads_in_bounds, window_of_clocks, lag_unbounded)                                        \
    ROW(TAP, "tap", "totally asynchronous: no worker waits for another", "a loop ran under tap", HW_EVENT_TAP, false,       \
        false, reads_at_once, window_widest, lag_unbounded)                                                                 \
    ROW(DELAY, "delay:N", "bounded delay: as ssp:N, of what a parameter server keeps, and read a clock ahead",              \
        "a loop ran under bounded delay", HW_EVENT_DELAY, true, true, reads_in_bounds, window_of_delay, lag_unbounded)      \
    ROW(CENTRIC, "dc:N", "data-centric: what a parameter server keeps is ordered chunk by chunk, without a barrier",        \
        "a loop ran data-centric with a delay", HW_EVENT_DC, false, true, reads_at_once, window_of_chunks, lag_of_chunks)

#endif
