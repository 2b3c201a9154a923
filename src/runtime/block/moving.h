/* moving.h - what units and results need of a block's moving states (part_moving.c). */
#ifndef HW_RUNTIME_BLOCK_MOVING_H
#define HW_RUNTIME_BLOCK_MOVING_H

#include "hawser/moving.h"
#include "runtime/block/worker.h"

/* Stores the next part that the block has in this clock, and waits until it is there. Leaves *out as it is if there are no
 * more. `updates`: the unit may change it. */
hawser_status hw_moving_next(hw_worker *worker, hw_state_part *part, bool updates, hawser_moving_part *out) HAWSER_MUST_USE;
/* Returns the number of a part that the running unit has changed although it only reads the state; UINT32_MAX: none is
 * found. */
uint32_t hw_moving_written(const hw_worker *worker, const hw_state_part *part);
/* After the last phase: moves the parts that the block has to `values`, by number, and stores which blocks have which parts,
 * the same on all blocks. */
hawser_status hw_moving_take(hw_worker *worker, hw_state_part *part, hw_message **values, const uint32_t **owners,
                             hawser_error *error) HAWSER_MUST_USE;

#endif
