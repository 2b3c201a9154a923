/* ended.c - the queue of ended tasks, which the user's own threads read: a host language may hold a lock for seconds, and no
 * thread of the net may wait for it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/store/hub.h"

hawser_status hw_ended_open(hawser_store *store, hawser_error *error)
{
    if (!store->options.queue)
        return HAWSER_OK;
    store->ended_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return store->ended_descriptor >= 0
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_IO, "cannot make a descriptor for ended tasks: %s", strerror(errno));
}

void hw_ended_close(hawser_store *store)
{
    for (hw_completion *next; store->ended != NULL; store->ended = next) {
        next = store->ended->next;
        free(store->ended);
    }
    if (store->ended_descriptor >= 0)
        (void)close(store->ended_descriptor);
}

/* After a change from or to an empty queue. A counter of 0 or 1 never blocks. */
static void set_readable(const hawser_store *store, bool readable)
{
    uint64_t one = 1;
    ssize_t ignored =
        readable ? write(store->ended_descriptor, &one, sizeof one) : read(store->ended_descriptor, &one, sizeof one);
    (void)ignored;
}

void hw_ended_put(hawser_store *store, hw_completion *completion)
{
    if (store->ended == NULL)
        set_readable(store, true);
    completion->next = NULL;
    *store->ended_end = completion;
    store->ended_end = &completion->next;
}

static hw_completion *take(hawser_store *store, hawser_error *error)
{
    pthread_mutex_lock(&store->mutex);
    hw_completion *first = store->ended;
    if (first != NULL) {
        store->ended = first->next;
        if (store->ended == NULL) {
            store->ended_end = &store->ended;
            set_readable(store, false);
        }
        if (first->status != HAWSER_OK)
            (void)!hw_ask_failure(store, first->task, error);
    }
    pthread_mutex_unlock(&store->mutex);
    return first;
}

bool hawser_store_ended(hawser_store *store, hawser_ended *record, hawser_error *error)
{
    if (store == NULL || record == NULL)
        return false;
    if (!hw_is_origin(&store->job->origin)) {
        (void)!hw_not_origin(store->job->origin.process, __func__, "store", error);
        return false;
    }
    hw_completion *first = take(store, error);
    if (first == NULL)
        return false;
    *record = (hawser_ended){.kind = HAWSER_ENDED_TASK, .status = first->status, .task = first->task, .user = first->user};
    if (first->done != NULL)
        first->done(first->user, first->task, first->status);
    free(first);
    return true;
}

int hawser_store_descriptor(const hawser_store *store)
{
    return store != NULL ? store->ended_descriptor : -1;
}
