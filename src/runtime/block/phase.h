/* phase.h - a phase: what a block does from a trigger to its end, be it one unit or a shipped loop of many clocks. */
#ifndef HW_RUNTIME_PHASE_H
#define HW_RUNTIME_PHASE_H

#include "runtime/block/worker.h"

/* Runs the phase that the waiting trigger announces. */
hawser_status hw_phase_run(hw_worker *worker) HAWSER_MUST_USE;
/* Takes over what a trigger or credit says: limit, metrics, gains. */
void hw_worker_obey(hw_worker *worker, const hw_message *message);

#endif
