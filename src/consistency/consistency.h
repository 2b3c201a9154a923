/*
 * consistency.h - who may go on: predicates over clocks. Pure; everything that waits, waits on these.
 *
 * Clocks here are own iterations of one loop, from 0. "Done" counts complete clocks: done = 3 means clocks 0, 1, 2 are in.
 */
#ifndef HW_CONSISTENCY_CONSISTENCY_H
#define HW_CONSISTENCY_CONSISTENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/policies.h"
#include "hawser/status.h"

/* The policy in force. Bounded delay and data-centric are for stored states alone: the exchange knows the first three. */
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
    uint32_t own; /* >= blocks: a reader that updates nothing itself */
} hw_clock_table;

/* A policy's row (base/policies.h). */
typedef struct hw_policy_row {
    const char *word;
    const char *varies; /* why a training under it may give other bits each time; NULL: it does not */
    uint32_t record;    /* its number in histories */
    bool zero_is_bsp, stored_only;
    bool (*reads)(hw_policy policy, const hw_clock_table *table, uint64_t clock);
    uint64_t (*window)(hw_policy policy);
    uint64_t (*lag)(hw_policy policy);
} hw_policy_row;
/* Returns NULL if there is no such policy. */
const hw_policy_row *hw_policy_row_of(unsigned kind);
/* Whether its word takes a number: ssp:N. */
bool hw_policy_counts(hw_policy_kind kind);

hawser_status hw_clock_table_new(uint32_t blocks, uint32_t own, hw_clock_table *table, hawser_error *error) HAWSER_MUST_USE;
void hw_clock_table_free(hw_clock_table *table);
void hw_clock_table_reset(hw_clock_table *table);
/* Records that all updates of `block` with clock < done are applied here. Clocks never run back: false, unchanged, if so. */
bool hw_clock_table_advance(hw_clock_table *table, uint32_t block, uint64_t done) HAWSER_MUST_USE;
uint64_t hw_clock_table_least(const hw_clock_table *table);
uint64_t hw_clock_table_most(const hw_clock_table *table);

/* May a unit of the table's block read state for clock `clock`?  BSP, SSP(s): all updates with clock <= clock - s - 1 are in
 * (Ho et al. 2013; PET section 2.3); under BSP exactly those, so a later one is parked. TAP: always. */
bool hw_admit_read(hw_policy policy, const hw_clock_table *table, uint64_t clock);
/* May an update of clock `clock`, of another block or the own, be applied while the reader is about to run `reader_clock`? BSP: only clocks before
 * it. SSP, TAP: at once. */
bool hw_admit_write(hw_policy policy, uint64_t clock, uint64_t reader_clock);
/* May clock `clock` start under `credit` (number of clocks that may run)? */
bool hw_admit_clock(uint64_t credit, uint64_t clock);
/* Data-centric synchronisation (Goel et al. 2015, section 7.1): iterations count from 0, "written" and "read" are how many of a chunk's are
 * done. A read in iteration a needs the write of iteration a - 1 - delay; a write in iteration a needs all reads of iteration a - delay.
 * Delay 0 is the sequential computation (theorem 5), HW_DELAY_NONE no order at all. */
#define HW_DELAY_NONE UINT64_MAX
bool hw_admit_chunk_read(uint64_t delay, uint64_t written, uint64_t iteration);
bool hw_admit_chunk_write(uint64_t delay, uint64_t least_read, uint64_t iteration);
/* That delay under a policy. */
uint64_t hw_chunk_delay(hw_policy policy);
/* Smallest and default credit window W for a policy: a block may run to t + W, t the last clock whose test said go on. W = s + 1 under
 * BSP and SSP; T under DELAY, where one clock is read ahead. */
uint64_t hw_credit_window(hw_policy policy);

/* The guarantees of SSP as predicates for a block that runs `clock`, asserted in debug builds and by the exhaustive tests: what
 * admit_read asked for is in, own clocks are all in (read-my-writes), and no block is more than s + 1 clocks done ahead of this
 * one (bounded difference). */
bool hw_ssp_holds(hw_policy policy, const hw_clock_table *table, uint64_t clock);

#endif
