/* control.c - the listener's control thread: registrations, keys of tables, the ends of groups. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/order.h"
#include "base/thread.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/serving/client_listener_inner.h"

enum {
    LATER_MILLISECONDS = 20, /* between two checks whether a group is over, or a table can be read */
    KEYS_MOST = 1 << 20      /* in one reply */
};

/* Finds the group of a registration; its first client makes it. */
static hawser_status connection_of(hw_client_listener *listener, const hw_register_wire *request, hw_group_connection **of,
                                   hawser_error *error)
{
    pthread_mutex_lock(&listener->mutex);
    for (*of = listener->groups; *of != NULL && (*of)->registration.group != request->group;)
        *of = (*of)->next;
    bool closed = *of != NULL && (*of)->closed;
    pthread_mutex_unlock(&listener->mutex);
    if (closed)
        return hawser_fail(error, HAWSER_PEER_LOST, "%s", (*of)->why);
    if (*of != NULL && ((*of)->registration.nodes != request->nodes || (*of)->registration.workers != request->workers))
        return hawser_fail(error, HAWSER_BAD_INPUT, "nodes of a group differ in how many nodes or workers it has");
    if (*of != NULL)
        return HAWSER_OK;
    hw_group_connection *made = NULL;
    HAWSER_TRY(HW_NEW(&made, 1, "a group of clients", error));
    made->registration = *request;
    hawser_status status = hw_group_new(listener->store->server, request->nodes * request->workers, &made->group, error);
    if (status != HAWSER_OK) {
        free(made);
        return status;
    }
    pthread_mutex_lock(&listener->mutex);
    made->next = listener->groups;
    listener->groups = made;
    listener->group_count++;
    pthread_mutex_unlock(&listener->mutex);
    *of = made;
    return HAWSER_OK;
}

/* Checks that the client may register as this node of this group. Needs the mutex. */
static hawser_status check_client(hw_client_listener *listener, const hw_remote_client *one, const hw_message *asked,
                                  const hw_register_wire *request, hawser_error *error)
{
    if (one == NULL || one->gone || one->dropped)
        return hawser_fail(error, HAWSER_PEER_LOST, "client %u has gone, or there was no memory for it", asked->origin);
    if (one->registered)
        return hawser_fail(error, HAWSER_BAD_INPUT, "client %u has a session already", asked->origin);
    for (uint32_t b = 0; b < HW_CLIENT_BUCKETS; b++)
        for (const hw_remote_client *other = listener->clients[b]; other != NULL; other = other->next) {
            if (other->registered && memcmp(other->session_name, request->session, sizeof request->session) == 0)
                return hawser_fail(error, HAWSER_BAD_INPUT, "client %u has the session of client %u", asked->origin,
                                   other->number);
            if (other->connection != NULL && other->connection->registration.group == request->group &&
                other->node == request->node)
                return hawser_fail(error, HAWSER_BAD_INPUT, "node %u of group %u has joined already", request->node,
                                   request->group);
        }
    return HAWSER_OK;
}

static hawser_status register_client(hw_client_listener *listener, const hw_message *asked, hawser_error *error)
{
    hw_register_wire request;
    hw_group_connection *of = NULL;
    hw_client_session *session = NULL;
    if (asked->envelope.length != sizeof request)
        return hawser_fail(error, HAWSER_BAD_INPUT, "a client has not registered");
    memcpy(&request, asked->payload, sizeof request);
    if (request.node >= request.nodes || request.nodes > HW_STORE_WORKERS_MOST || request.workers == 0 ||
        request.workers > HW_STORE_WORKERS_MOST / request.nodes)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "node %u of %u with %u workers each: a group has 1 to %d workers",
                           request.node, request.nodes, request.workers, HW_STORE_WORKERS_MOST);
    pthread_mutex_lock(&listener->mutex);
    hw_remote_client *one = hw_client_listener_find(listener, asked->origin); /* only this thread removes clients */
    hawser_status status = check_client(listener, one, asked, &request, error);
    pthread_mutex_unlock(&listener->mutex);
    HAWSER_TRY(status);
    HAWSER_TRY(connection_of(listener, &request, &of, error));
    status = hw_client_session_new(of->group, asked->origin, &session, error);
    pthread_mutex_lock(&listener->mutex);
    if (status == HAWSER_OK) {
        one->connection = of;
        one->registered = true;
        one->session = session;
        memcpy(one->session_name, request.session, sizeof one->session_name);
        one->node = request.node;
        of->registered++;
    }
    if (one->gone || one->dropped || of->registered == 0)
        hw_group_connection_close(listener, of, "this group has ended: one of its nodes left at once");
    pthread_mutex_unlock(&listener->mutex);
    return status;
}

/* Lists keys of a sparse table from first to last, the least `most` of them. *later: the table is being loaded. */
static hawser_status list_keys(hw_client_listener *listener, const hw_message *asked, uint64_t **keys, size_t *count,
                               bool *later, hawser_error *error)
{
    hawser_store *store = listener->store;
    hw_keys_wire request = {0};
    if (asked->envelope.length == sizeof request)
        memcpy(&request, asked->payload, sizeof request);
    const hw_table_spec *spec = hw_server_table_at(store->server, request.table);
    if (asked->envelope.length != sizeof request || spec == NULL || !spec->sparse)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no sparse table %u to list keys of", request.table);
    *later = !hw_store_hold(store, request.table, false);
    if (*later)
        return HAWSER_OK;
    size_t rows = (size_t)hw_server_rows(store->server, request.table);
    hw_cursor cursor = {0};
    hawser_status status = HW_NEW(keys, rows + 1, "the keys of a table", error);
    if (status == HAWSER_OK)
        rows = hw_server_take_rows(store->server, request.table, &cursor, rows, HW_PART_KEYS, (unsigned char *)*keys);
    hw_store_release(store, request.table);
    HAWSER_TRY(status);
    *count = 0;
    for (size_t i = 0; i < rows; i++)
        if ((*keys)[i] >= request.first && (*keys)[i] <= request.last)
            (*keys)[(*count)++] = (*keys)[i];
    qsort(*keys, *count, sizeof **keys, hw_ascending);
    uint64_t most = request.most < KEYS_MOST ? request.most : KEYS_MOST;
    if (*count > most)
        *count = (size_t)most;
    return HAWSER_OK;
}

/* Works on a control message; false: not possible yet. */
static bool do_word(hw_client_listener *listener, hw_message *asked)
{
    hawser_error error = {0};
    hawser_status status = HAWSER_OK;
    uint64_t *keys = NULL;
    size_t count = 0;
    bool later = false;
    if (asked->envelope.part == HW_CONTROL_REGISTER) {
        pthread_mutex_lock(&listener->store->making);
        status = register_client(listener, asked, &error);
        pthread_mutex_unlock(&listener->store->making);
    } else {
        status = list_keys(listener, asked, &keys, &count, &later, &error);
    }
    if (!later)
        hw_client_listener_answer(listener, asked, status, keys, count * sizeof *keys, &error);
    free(keys);
    return !later;
}

/* Frees clients that have left and have no group any more. Needs the mutex. */
static void forget_gone(hw_client_listener *listener)
{
    for (uint32_t b = 0; b < HW_CLIENT_BUCKETS; b++)
        for (hw_remote_client **at = &listener->clients[b]; *at != NULL;) {
            hw_remote_client *one = *at;
            if (!one->gone || one->connection != NULL) {
                at = &one->next;
                continue;
            }
            *at = one->next;
            hw_net_forget(listener->net, one->number);
            listener->client_count--;
            free(one);
        }
}

/* Unlinks a group that is over; NULL: none is. Needs the mutex. */
static hw_group_connection *take_over(hw_client_listener *listener)
{
    hw_group_connection **at = &listener->groups;
    while (*at != NULL && !((*at)->ended && hw_group_over((*at)->group)))
        at = &(*at)->next;
    hw_group_connection *of = *at;
    if (of == NULL)
        return NULL;
    *at = of->next;
    listener->group_count--;
    for (uint32_t b = 0; b < HW_CLIENT_BUCKETS; b++)
        for (hw_remote_client *one = listener->clients[b]; one != NULL; one = one->next)
            if (one->connection == of) {
                one->connection = NULL;
                one->session = NULL;
            }
    return of;
}

/* Returns whether no thread receives a request of the closed group any more. */
static bool may_end(hw_group_connection *of)
{
    return of->closed && !of->ended && atomic_load(&of->receiving) == 0;
}

/* Ends closed groups and frees ended ones; true: some have not ended yet. */
static bool look_after(hw_client_listener *listener)
{
    bool ending = false;
    for (;;) {
        hw_group_connection *of;
        pthread_mutex_lock(&listener->mutex);
        for (of = listener->groups; of != NULL && !may_end(of);)
            of = of->next;
        bool fresh = of != NULL;
        if (of == NULL)
            of = take_over(listener);
        if (of == NULL) {
            forget_gone(listener);
            for (const hw_group_connection *one = listener->groups; one != NULL; one = one->next)
                ending |= one->closed;
        }
        pthread_mutex_unlock(&listener->mutex);
        if (of == NULL)
            return ending;
        pthread_mutex_lock(&listener->store->making);
        if (fresh)
            hw_group_end(of->group);
        else
            hw_group_free(of->group);
        pthread_mutex_unlock(&listener->store->making);
        of->ended = true;
        if (!fresh)
            free(of);
    }
}

/* Works on queued control messages, in order; those that are not possible yet stay queued. */
static void do_words(hw_client_listener *listener, hw_control_queue *waiting)
{
    hw_control_queue now = *waiting;
    if (now.first == NULL)
        return;
    *waiting = (hw_control_queue){.end = &waiting->first};
    while (now.first != NULL) {
        hw_message *asked = hw_control_queue_take(&now);
        if (!do_word(listener, asked))
            hw_control_queue_put(waiting, asked);
    }
}

static void sleep_shortly(hw_client_listener *listener)
{
    struct timespec until = hw_timespec(hw_seconds() + 1e-3 * LATER_MILLISECONDS);
    pthread_cond_timedwait(&listener->local_filled, &listener->mutex, &until);
}

static void *control_main(void *argument)
{
    hw_client_listener *listener = argument;
    hw_control_queue waiting = {.end = &waiting.first};
    pthread_mutex_lock(&listener->mutex);
    while (!listener->over) {
        hw_message *asked = hw_control_queue_take(&listener->local);
        listener->stirred = false;
        pthread_mutex_unlock(&listener->mutex);
        do_words(listener, &waiting);
        if (asked != NULL && !do_word(listener, asked))
            hw_control_queue_put(&waiting, asked);
        bool ending = look_after(listener);
        pthread_mutex_lock(&listener->mutex);
        bool idle = !listener->stirred && listener->local.first == NULL && !listener->over;
        if (idle && (ending || waiting.first != NULL))
            sleep_shortly(listener);
        else if (idle)
            pthread_cond_wait(&listener->local_filled, &listener->mutex);
    }
    pthread_mutex_unlock(&listener->mutex);
    hw_messages_free(waiting.first);
    return NULL;
}

hawser_status hw_control_start(hw_client_listener *listener, hawser_error *error)
{
    int failure = hw_thread_start(&listener->control, control_main, listener);
    if (failure != 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot start a thread of the server: %s", strerror(failure));
    listener->control_runs = true;
    return HAWSER_OK;
}

void hw_control_stop(hw_client_listener *listener)
{
    if (listener->control_runs)
        pthread_join(listener->control, NULL);
    listener->control_runs = false;
}
