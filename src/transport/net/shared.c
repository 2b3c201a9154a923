#include "transport/net/shared.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"

enum { CONTROL = 4096 /* bytes before the first ring, with both controls */ };

_Static_assert(2 * sizeof(hw_ring_control) <= CONTROL, "the rings begin after their controls");

/* Assigns the rings. The dialler writes to the first one. */
static void lay_out(hw_shared *shared, bool dials)
{
    unsigned char *data = shared->mapping.data;
    size_t size = (shared->mapping.size - CONTROL) / 2;
    hw_ring_control *controls = (hw_ring_control *)(void *)data;
    hw_shared_ring *rings[] = {dials ? &shared->out : &shared->in, dials ? &shared->in : &shared->out};
    for (int i = 0; i < 2; i++)
        *rings[i] = (hw_shared_ring){.control = &controls[i], .bytes = data + CONTROL + (size_t)i * size, .size = size};
}

hawser_status hw_shared_new(size_t size, hw_shared **out, int *fd, hawser_error *error)
{
    *out = NULL;
    *fd = -1;
    hw_shared *made = NULL;
    if (size < HW_RING_LEAST || size > HW_RING_MOST || (size & (size - 1)) != 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a ring of %zu bytes: a power of two from %d to %d", size,
                           HW_RING_LEAST, HW_RING_MOST);
    HAWSER_TRY(HW_NEW(&made, 1, "a link by shared memory", error));
    hawser_status status = hw_mapping_new(CONTROL + 2 * size, &made->mapping, fd, error);
    if (status != HAWSER_OK) {
        free(made);
        return status;
    }
    lay_out(made, true);
    *out = made;
    return HAWSER_OK;
}

hawser_status hw_shared_open(int fd, hw_shared **out, hawser_error *error)
{
    *out = NULL;
    hw_shared *made = NULL;
    HAWSER_TRY(HW_NEW(&made, 1, "a link by shared memory", error));
    const size_t least = CONTROL + 2 * (size_t)HW_RING_LEAST, most = CONTROL + 2 * (size_t)HW_RING_MOST;
    hawser_status status = hw_mapping_open(fd, least, most, &made->mapping, error);
    size_t rings = status == HAWSER_OK ? made->mapping.size - CONTROL : 0;
    if (status == HAWSER_OK && (rings & (rings - 1)) != 0)
        status =
            hawser_fail(error, HAWSER_BAD_INPUT,
                        "received shared memory of %zu bytes, which is not the size of a pair of rings", made->mapping.size);
    if (status != HAWSER_OK) {
        hw_shared_free(made);
        return status;
    }
    lay_out(made, false);
    *out = made;
    return HAWSER_OK;
}

void hw_shared_free(hw_shared *shared)
{
    if (shared == NULL)
        return;
    hw_mapping_free(&shared->mapping);
    free(shared);
}

bool hw_shared_presses(const hw_shared *shared)
{
    return hw_ring_readable(&shared->in) || (atomic_load(&shared->waits) && hw_ring_writable(&shared->out));
}

bool hw_shared_poll_space(hw_shared *shared)
{
    enum { PAUSES = 16, PENALTY_MOST = 1024 };
    const double spin_time = 50e-6;
    if (shared->unlooked > 0) {
        shared->unlooked--;
        return false;
    }
    double until = hw_seconds() + spin_time;
    while (!hw_ring_writable(&shared->out) && hw_seconds() < until)
        for (int i = 0; i < PAUSES; i++)
            hw_thread_pause();
    bool found = hw_ring_writable(&shared->out);
    shared->penalty = found ? 1 : shared->penalty < PENALTY_MOST ? 2 * shared->penalty + 1 : PENALTY_MOST;
    shared->unlooked = found ? 0 : shared->penalty;
    return found;
}

bool hw_shared_await_space(hw_shared *shared)
{
    atomic_store(&shared->waits, true);
    hw_ring_ask_writer(&shared->out);
    return hw_ring_writable(&shared->out);
}

void hw_shared_arm(hw_shared *shared)
{
    if (!shared->asked)
        hw_ring_ask_reader(&shared->in);
    shared->asked = true;
}

void hw_shared_disarm(hw_shared *shared)
{
    if (shared->asked)
        hw_ring_unask_reader(&shared->in);
    shared->asked = false;
}

void hw_shared_send_heartbeat(hw_shared *shared, double now)
{
    atomic_store_explicit(&shared->out.control->alive, (uint64_t)(now * 1e9), memory_order_relaxed);
}

bool hw_shared_receive_heartbeat(hw_shared *shared, double *said)
{
    uint64_t alive = atomic_load_explicit(&shared->in.control->alive, memory_order_relaxed);
    bool new = alive != shared->alive;
    shared->alive = alive;
    *said = 1e-9 * (double)alive;
    return new;
}
