#include "base/cancellation.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/memory.h"

hawser_status hawser_cancellation_new(hawser_cancellation **cancellation, hawser_error *error)
{
    HW_GIVEN(cancellation);
    *cancellation = NULL;
    HAWSER_TRY(HW_NEW(cancellation, 1, "a cancellation", error));
    atomic_init(&(*cancellation)->cancelled, false);
    return HAWSER_OK;
}

/* Returns what poll finds at once: 0 if the descriptor cannot be read. */
static short look(int descriptor)
{
    struct pollfd wait = {.fd = descriptor, .events = POLLIN};
    return poll(&wait, 1, 0) > 0 ? wait.revents : 0;
}

hawser_status hawser_cancellation_watch(hawser_cancellation *cancellation, int descriptor, hawser_error *error)
{
    HW_GIVEN(cancellation);
    if (descriptor < 0 || (look(descriptor) & POLLNVAL) != 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_cancellation_watch: descriptor %d is not open", descriptor);
    if (cancellation->watched == NULL)
        HAWSER_TRY(HW_NEW(&cancellation->watched, 1, "a watched descriptor", error));
    cancellation->watched->descriptor = descriptor;
    atomic_init(&cancellation->watched->readable, false);
    atomic_init(&cancellation->watched->due, 0.0);
    return HAWSER_OK;
}

bool hw_descriptor_readable(hw_watched_descriptor *watched)
{
    if (atomic_load_explicit(&watched->readable, memory_order_acquire))
        return true;
    double now = hw_seconds_lately();
    if (now < atomic_load_explicit(&watched->due, memory_order_relaxed))
        return false;
    atomic_store_explicit(&watched->due, now + HW_CANCELLATION_MS / 1000.0, memory_order_relaxed);
    if (look(watched->descriptor) == 0)
        return false;
    atomic_store_explicit(&watched->readable, true, memory_order_release);
    return true;
}

void hawser_cancel(hawser_cancellation *cancellation)
{
    if (cancellation != NULL)
        atomic_store_explicit(&cancellation->cancelled, true, memory_order_release);
}

void hawser_cancellation_reset(hawser_cancellation *cancellation)
{
    if (cancellation == NULL)
        return;
    atomic_store_explicit(&cancellation->cancelled, false, memory_order_release);
    if (cancellation->watched != NULL)
        atomic_store_explicit(&cancellation->watched->readable, false, memory_order_release);
}

void hawser_cancellation_free(hawser_cancellation *cancellation)
{
    if (cancellation != NULL)
        free(cancellation->watched);
    free(cancellation);
}

hawser_status hw_cancellation_check(const hawser_cancellation *cancellation, hawser_error *error)
{
    return hw_cancelled(cancellation) ? hawser_fail(error, HAWSER_STOP, "the call was cancelled") : HAWSER_OK;
}

double hw_cancellation_slice(const hawser_cancellation *cancellation, double deadline)
{
    return cancellation != NULL ? fmin(deadline, hw_seconds() + HW_CANCELLATION_MS / 1000.0) : deadline;
}

hawser_status hw_cancellation_poll(const hawser_cancellation *cancellation, int fd, hawser_error *error)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int ready = cancellation != NULL ? 0 : 1;
    HAWSER_TRY(hw_cancellation_check(cancellation, error));
    while (ready == 0 || (ready < 0 && errno == EINTR)) {
        ready = poll(&wait, 1, HW_CANCELLATION_MS);
        HAWSER_TRY(hw_cancellation_check(cancellation, error));
    }
    return HAWSER_OK; /* what cannot be polled is read */
}
