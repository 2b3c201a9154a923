/*
 * fault.h - a fault within a function of the program, such as the use of NULL, ends the process as without Hawser, but first
 * the function and the block are named in one line.
 */
#ifndef HW_RUNTIME_BLOCK_FAULT_H
#define HW_RUNTIME_BLOCK_FAULT_H

#include <signal.h>
#include <stdbool.h>

#include "runtime/job/watch.h"

enum { HW_FAULTS = 2 };

/* The handlers of a run. They are set only where no other is, so that those of a debugger, a sanitizer or Python's
 * faulthandler stay. */
typedef struct hw_faults {
    bool handled[HW_FAULTS];
    struct sigaction before[HW_FAULTS];
} hw_faults;

void hw_faults_take(hw_faults *faults);
/* Restores what was handled before, unless another handler was set meanwhile. */
void hw_faults_release(const hw_faults *faults);

/* The stack on which a thread handles a fault. */
typedef struct hw_fault_stack hw_fault_stack;

/* Gives the calling thread a stack, on which faults are reported with what `place` calls, and with `refused`, the error of a
 * call that gave NULL, if there is one. Stores NULL if the thread has a stack of another: then a fault has no name. */
hawser_status hw_fault_stack_new(const hw_call_place *place, const hawser_error *refused, hw_fault_stack **stack,
                                 hawser_error *error) HAWSER_MUST_USE;
/* Takes it away from the same thread. */
void hw_fault_stack_free(hw_fault_stack *stack);

#endif
