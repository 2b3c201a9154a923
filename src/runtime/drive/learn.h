/* learn.h - what the decisions on a loop take from earlier runs, and leave for later ones. */
#ifndef HW_RUNTIME_LEARN_H
#define HW_RUNTIME_LEARN_H

#include "adapt/earlier.h"
#include "runtime/drive/driver.h"

/* Gives a new decider what the nearest earlier run has decided. Does nothing without --learn, and in a run that goes on from
 * a checkpoint. The error is that of the driver. */
hawser_status hw_learn_begin(hw_driver *driver, const hawser_operator *loop, hw_decider *decider) HAWSER_MUST_USE;
/* Adds what has been decided to the file, if a window of clocks was judged or a setting was tried. A failure is a warning,
 * since the run has its result. */
void hw_learn_end(const hw_driver *driver, const hawser_operator *loop, const hw_decider *decider);

#endif
