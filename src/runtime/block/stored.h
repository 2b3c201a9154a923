/*
 * stored.h - states that the store keeps, as a block sees them: chunks and numbers that are asked for before they are needed, shares and
 * changes on their way, and what the end of a clock means for both.
 *
 * Iterations of a state go on from phase to phase; its first values are iteration 0. In a state whose chunks have an order (bsp, dc) a pull
 * and a push say in which iteration they are, and the store keeps them apart. Elsewhere credit does: a clock begins when the clocks that
 * it must see count as done, and a clock counts as done when what it pushed is in.
 */
#ifndef HW_RUNTIME_STORED_H
#define HW_RUNTIME_STORED_H

#include "runtime/block/worker.h"

typedef struct hw_stored hw_stored;

hawser_status hw_stored_open(hw_worker *worker, hw_state_part *part, hawser_error *error) HAWSER_MUST_USE;
void hw_stored_close(hw_stored *stored);
void hw_stored_forget(hw_worker *worker); /* what was on its way when the store was closed */

bool hw_stored_ordered(const hawser_state *state);  /* by the store, chunk by chunk */
uint64_t hw_stored_turn(const hw_state_part *part); /* its next iteration */

/* Which states the phase that begins has to do with. */
void hw_stored_begin_phase(hw_worker *worker);

/* What a unit calls. HAWSER_BAD_ARGUMENT: what it asks for is wrong. */
void hw_stored_begin_unit(hw_worker *worker);
hawser_status hw_stored_next(hw_worker *worker, hw_state_part *part, hawser_chunk *chunk) HAWSER_MUST_USE;
hawser_status hw_stored_want(hw_worker *worker, hw_state_part *part, const uint64_t *keys, size_t first,
                             size_t count) HAWSER_MUST_USE;
hawser_status hw_stored_wanted(hw_worker *worker, hw_state_part *part, const double **values) HAWSER_MUST_USE;
hawser_status hw_stored_inc(hw_worker *worker, hw_state_part *part, const uint64_t *keys, const double *values,
                            size_t count) HAWSER_MUST_USE;

/* Shares go out; hollow: no unit has run. */
hawser_status hw_stored_end_clock(hw_worker *worker, bool hollow) HAWSER_MUST_USE;
/* Nothing is on its way any more. */
hawser_status hw_stored_end_phase(hw_worker *worker) HAWSER_MUST_USE;

#endif
