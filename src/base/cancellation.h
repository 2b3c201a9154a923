/* cancellation.h - whether a call was cancelled, and how waits find out.
 *
 * A handle is one atomic flag, which a signal handler may set. A handler can signal no condition variable, and a thread or
 * descriptor of each handle would have to survive forks and count against limits. So a wait that has a handle sleeps in
 * short slices and looks at the flag between them; waits without a handle sleep as before. A descriptor of the caller is
 * looked at in the same slices. */
#ifndef HW_BASE_CANCELLATION_H
#define HW_BASE_CANCELLATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "hawser/cancellation.h"

/* A person does not notice a slice, and 20 wakeups per second of waiting cost nothing. */
enum { HW_CANCELLATION_MS = 50 };

/* A descriptor that cancels once it can be read. */
typedef struct hw_watched_descriptor {
    int descriptor;
    atomic_bool readable; /* it was, since the last reset */
    _Atomic double due;   /* when it is looked at again */
} hw_watched_descriptor;

struct hawser_cancellation {
    atomic_bool cancelled;
    hw_watched_descriptor *watched; /* NULL: no descriptor cancels */
};

/* Returns whether the descriptor could be read when it was last looked at. */
bool hw_descriptor_readable(hw_watched_descriptor *watched);

static inline bool hw_cancelled(const hawser_cancellation *cancellation)
{
    return cancellation != NULL && (atomic_load_explicit(&cancellation->cancelled, memory_order_acquire) ||
                                    (cancellation->watched != NULL && hw_descriptor_readable(cancellation->watched)));
}

/* Returns HAWSER_STOP if the call was cancelled. NULL: it cannot be. */
hawser_status hw_cancellation_check(const hawser_cancellation *cancellation, hawser_error *error) HAWSER_MUST_USE;

/* Returns when a sleep that may last until `deadline` must end to look at the cancellation. */
double hw_cancellation_slice(const hawser_cancellation *cancellation, double deadline);

/* Waits until `fd` can be read, or is at its end. Returns HAWSER_STOP if it was cancelled; returns at once without a
 * cancellation. */
hawser_status hw_cancellation_poll(const hawser_cancellation *cancellation, int fd, hawser_error *error) HAWSER_MUST_USE;

#endif
