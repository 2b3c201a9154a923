/*
 * consistency.h - predicates over clocks that decide whether a block may go on. Pure. Every wait of a block waits for one of
 * them.
 *
 * Clocks are iterations of one loop, from 0. "Done" counts complete clocks: done = 3 means that clocks 0, 1 and 2 are
 * complete.
 */
#ifndef HW_CONSISTENCY_CONSISTENCY_H
#define HW_CONSISTENCY_CONSISTENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/policies.h"
#include "hawser/status.h"

/* The current policy. Bounded delay and data-centric are for stored states only; the exchange has the first three. */
#define HW_POLICY_KIND(id, ...) HW_POLICY_##id,
typedef enum hw_policy_kind { HW_POLICIES(HW_POLICY_KIND) } hw_policy_kind;
enum { HW_POLICY_COUNT = HW_ROWS_COUNT(HW_POLICIES) };
typedef struct hw_policy {
    hw_policy_kind kind;
    uint64_t staleness; /* s, tau, delta; 0 for BSP, ignored for TAP */
} hw_policy;

/* For one block: how many clocks of every block's updates have been applied here (own included), in (block) order. */
typedef struct hw_clock_table {
    uint64_t *done;
    uint32_t blocks;
    uint32_t own; /* >= blocks: a reader that updates no state */
} hw_clock_table;

/* A policy's row (base/policies.h). */
typedef struct hw_policy_row {
    const char *word;
    const char *varies; /* why two trainings under it may give different bits; NULL: they give the same */
    uint32_t record;    /* its number in histories */
    bool zero_is_bsp, stored_only;
    bool (*reads)(hw_policy policy, const hw_clock_table *table, uint64_t clock);
    uint64_t (*window)(hw_policy policy);
    uint64_t (*lag)(hw_policy policy);
} hw_policy_row;
/* Returns NULL if there is no such policy. */
const hw_policy_row *hw_policy_row_of(unsigned kind);
/* Returns true if the word of the policy has a number, as ssp:N. */
bool hw_policy_counts(hw_policy_kind kind);

/* Returns the one of two policies for replicas that waits for more updates. */
hw_policy hw_policy_stricter(hw_policy a, hw_policy b);

hawser_status hw_clock_table_new(uint32_t blocks, uint32_t own, hw_clock_table *table, hawser_error *error) HAWSER_MUST_USE;
void hw_clock_table_free(hw_clock_table *table);
void hw_clock_table_reset(hw_clock_table *table);
/* Records that all updates of `block` with clock < done are applied here. Returns false, without a change, if `done` is less
 * than before. */
bool hw_clock_table_advance(hw_clock_table *table, uint32_t block, uint64_t done) HAWSER_MUST_USE;
uint64_t hw_clock_table_least(const hw_clock_table *table);
/* Returns the first block with the least clocks. */
uint32_t hw_clock_table_slowest(const hw_clock_table *table);
uint64_t hw_clock_table_most(const hw_clock_table *table);

/* Returns true if a unit of the table's block may read states for `clock`. Under BSP and SSP(s) all updates of clocks <=
 * clock - s - 1 must have arrived (Ho et al. 2013; PET section 2.3). Under BSP the unit reads only those, so later updates
 * are parked. Under TAP it is always true. */
bool hw_admit_read(hw_policy policy, const hw_clock_table *table, uint64_t clock);
/* Returns true if an update of `clock`, own or of another block, may be applied before the reader runs `reader_clock`: under
 * BSP if it is of an earlier clock, else always. */
bool hw_admit_write(hw_policy policy, uint64_t clock, uint64_t reader_clock);
/* Returns true if `clock` may start under `credit`, the number of clocks that may run. */
bool hw_admit_clock(uint64_t credit, uint64_t clock);
/* Data-centric synchronisation (Goel et al. 2015, section 7.1). Iterations count from 0; "written" and "read" are the
 * numbers of complete writes and reads of a chunk. A read in iteration a needs the write of iteration a - 1 - delay; a write
 * in iteration a needs all reads of iteration a - delay. Delay 0 is the sequential computation (theorem 5), and
 * HW_DELAY_NONE has no order. */
#define HW_DELAY_NONE UINT64_MAX
bool hw_admit_chunk_read(uint64_t delay, uint64_t written, uint64_t iteration);
bool hw_admit_chunk_write(uint64_t delay, uint64_t least_read, uint64_t iteration);
/* Returns the delay under a policy. */
uint64_t hw_chunk_delay(hw_policy policy);
/* Returns the credit window W of a policy: a block may run to t + W, where t is the last clock whose test did not end the
 * loop. W is s + 1 under BSP and SSP. Under DELAY it is the staleness, because a clock is read ahead. */
uint64_t hw_credit_window(hw_policy policy);

/* Returns true if the guarantees of SSP hold for a block that runs `clock`; debug builds and exhaustive tests assert it. The
 * updates that hw_admit_read requires have arrived, all own clocks have (read-my-writes), and no block has done more than s
 * + 1 clocks more than this one (bounded difference). */
bool hw_ssp_holds(hw_policy policy, const hw_clock_table *table, uint64_t clock);

#endif
