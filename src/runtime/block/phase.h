/* phase.h - a phase: the work of a block from a trigger to its end, either one unit or a shipped loop of many clocks. */
#ifndef HW_RUNTIME_PHASE_H
#define HW_RUNTIME_PHASE_H

#include "runtime/block/worker.h"

/* Runs the phase of the waiting trigger. */
hawser_status hw_phase_run(hw_worker *worker) HAWSER_MUST_USE;
/* Takes limit, metrics and gains from a trigger or credit. */
void hw_worker_obey(hw_worker *worker, const hw_message *message);

#endif
