/* phase.h - a phase: the work of a block from a trigger to its end, either one unit or a shipped loop of many clocks. */
#ifndef HW_RUNTIME_PHASE_H
#define HW_RUNTIME_PHASE_H

#include "runtime/block/worker.h"

/* Runs the phase of the waiting trigger. */
hawser_status hw_phase_run(hw_worker *worker) HAWSER_MUST_USE;
/* Takes limit, metrics, gains and choices from a trigger or credit, and the message. */
void hw_worker_obey(hw_worker *worker, hw_message *message);
/* settings.c: hw_settings_record records in the history which settings a trigger or credit changes, and its clocks. */
hawser_status hw_settings_open(hw_worker *worker, hawser_error *error) HAWSER_MUST_USE;
void hw_settings_record(hw_worker *worker, const hw_message *message);
/* Returns how the branches of the loop are chosen in a clock that has credit, one bit each (hw_branch_bit). */
uint64_t hw_worker_choices(const hw_worker *worker, uint64_t clock);

#endif
