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

void hawser_cancel(hawser_cancellation *cancellation)
{
    if (cancellation != NULL)
        atomic_store_explicit(&cancellation->cancelled, true, memory_order_release);
}

void hawser_cancellation_reset(hawser_cancellation *cancellation)
{
    if (cancellation != NULL)
        atomic_store_explicit(&cancellation->cancelled, false, memory_order_release);
}

void hawser_cancellation_free(hawser_cancellation *cancellation)
{
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
