/*
 * stored.h - a block's side of states in the store: chunks and numbers that are requested before they are needed, shares and
 * changes that are being pushed, and the effect of a clock's end on both.
 *
 * Iterations of a state continue from phase to phase; its first values are iteration 0. If the chunks of a state have an
 * order (bsp, dc), a pull and a push name their iteration, and the store keeps versions apart. Otherwise credit does: a
 * clock begins when the clocks that it must see count as ended, and a clock counts as ended when its pushes were applied.
 */
#ifndef HW_RUNTIME_STORED_H
#define HW_RUNTIME_STORED_H

#include "hawser/record.h"
#include "hawser/stored.h"
#include "runtime/block/worker.h"

typedef struct hw_stored hw_stored;

hawser_status hw_stored_open(hw_worker *worker, hw_state_part *part, hawser_error *error) HAWSER_MUST_USE;
void hw_stored_close(hw_stored *stored);
void hw_stored_forget(hw_worker *worker); /* what was in progress when the store was closed */

bool hw_stored_ordered(const hawser_state *state); /* by the store, chunk by chunk */
/* Returns the bytes of this worker's requests to servers in other processes. */
uint64_t hw_stored_bytes(const hw_worker *worker);
/* Returns its next iteration at the end of a phase or, with `within`, after the clocks of the phase so far. */
uint64_t hw_stored_turn(const hw_state_part *part, bool within);

/* Determines how the phase uses a state. HAWSER_BAD_PROGRAM: its values are those of a kept point, which servers do not
 * have. */
hawser_status hw_stored_begin_phase(hw_worker *worker, hw_state_part *part) HAWSER_MUST_USE;

/* Copies a block's share of a state, of which no push is in flight. hw_stored_return makes such a copy the share of the
 * result; no later phase may use the state. hw_stored_returned: it was called. */
hawser_status hw_stored_copy(hw_worker *worker, hw_state_part *part, void *values) HAWSER_MUST_USE;
hawser_status hw_stored_return(hw_worker *worker, hw_state_part *part, const void *values) HAWSER_MUST_USE;
bool hw_stored_returned(const hw_state_part *part);
/* Visits what a block remembers of the iterations of a state, between clocks; overwrites it. */
void hw_stored_visit(hw_stored *stored, hawser_record *record);
void hw_stored_drop(hw_stored *stored);
/* The record for another process, of a block that holds before a clock with nothing in flight: hw_stored_collect gets the
 * share of a state that blocks change, with the memory of its function, and the prefetches that the unit has not taken.
 * hw_stored_remember visits them. hw_stored_restore sets the share on the servers, as of the iterations that have ended. */
hawser_status hw_stored_collect(hw_worker *worker, hw_state_part *part) HAWSER_MUST_USE;
void hw_stored_remember(hw_state_part *part, hawser_record *record);
hawser_status hw_stored_restore(hw_worker *worker, hw_state_part *part) HAWSER_MUST_USE;

/* What a unit calls. HAWSER_BAD_ARGUMENT: a request is wrong. */
void hw_stored_begin_unit(hw_worker *worker, hw_state_part *part);
hawser_status hw_stored_next(hw_worker *worker, hw_state_part *part, hawser_chunk *chunk) HAWSER_MUST_USE;
hawser_status hw_stored_prefetch(hw_worker *worker, hw_state_part *part, const uint64_t *keys, size_t first,
                                 size_t count) HAWSER_MUST_USE;
hawser_status hw_stored_prefetch_wait(hw_worker *worker, hw_state_part *part, const void **values) HAWSER_MUST_USE;
hawser_status hw_stored_inc(hw_worker *worker, hw_state_part *part, const uint64_t *keys, const void *values,
                            size_t count) HAWSER_MUST_USE;

/* Notes which prefetches are in progress when a stage begins; goes back to them, and waits for those that the stage has
 * begun. */
void hw_stored_keep(hw_worker *worker);
hawser_status hw_stored_go_back(hw_worker *worker) HAWSER_MUST_USE;
/* Returns whether the numbers of a prefetch of an earlier clock, which the stage has taken, are still in memory. */
bool hw_stored_repeats(const hw_worker *worker);

/* Pushes a share at the end of a clock; empty: no unit has run. */
hawser_status hw_stored_end_clock(hw_worker *worker, hw_state_part *part, bool empty) HAWSER_MUST_USE;
/* Waits, after the shares of all states were pushed, as the policy says: until all pushes were applied, or not too many are
 * in flight. */
hawser_status hw_stored_settle(hw_worker *worker) HAWSER_MUST_USE;
hawser_status hw_stored_settle_all(hw_worker *worker) HAWSER_MUST_USE; /* until all pushes were applied */
/* Waits until no request is in progress. */
hawser_status hw_stored_end_phase(hw_worker *worker, hw_state_part *part) HAWSER_MUST_USE;

#endif
