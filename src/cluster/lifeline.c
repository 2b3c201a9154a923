#include "cluster/lifeline.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"

static void *watch(void *argument)
{
    hw_lifeline *lifeline = argument;
    struct pollfd set[2] = {{.fd = lifeline->descriptor, .events = POLLIN}, {.fd = lifeline->wake[0], .events = POLLIN}};
    char bytes[256];
    for (;;) {
        if (poll(set, 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (set[1].revents != 0)
            return NULL;
        if (set[0].revents == 0)
            continue;
        ssize_t got = read(lifeline->descriptor, bytes, sizeof bytes);
        if (got > 0 && lifeline->events.arrived != NULL)
            lifeline->events.arrived(lifeline->argument, bytes, (size_t)got);
        if (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN)))
            continue;
        lifeline->events.gone(lifeline->argument);
        return NULL;
    }
}

hawser_status hw_lifeline_begin(hw_lifeline *lifeline, int descriptor, const hw_lifeline_events *events, void *argument,
                                hawser_error *error)
{
    *lifeline = (hw_lifeline){.descriptor = descriptor, .wake = {-1, -1}, .events = *events, .argument = argument};
    if (descriptor < 0)
        return HAWSER_OK;
    if (pipe2(lifeline->wake, O_CLOEXEC) != 0)
        return hawser_fail(error, HAWSER_IO, "cannot make a pipe: %s", strerror(errno));
    int failed = hw_thread_start(&lifeline->thread, watch, lifeline);
    lifeline->started = failed == 0;
    if (failed == 0)
        return HAWSER_OK;
    hw_lifeline_end(lifeline);
    return hawser_fail(error, HAWSER_NO_MEMORY, "cannot start a thread: %s", strerror(failed));
}

void hw_lifeline_end(hw_lifeline *lifeline)
{
    if (lifeline->started) {
        close(lifeline->wake[1]);
        pthread_join(lifeline->thread, NULL);
        close(lifeline->wake[0]);
        lifeline->started = false;
    } else if (lifeline->events.gone != NULL && lifeline->wake[0] >= 0) {
        close(lifeline->wake[0]);
        close(lifeline->wake[1]);
    }
    lifeline->wake[0] = lifeline->wake[1] = -1;
}
