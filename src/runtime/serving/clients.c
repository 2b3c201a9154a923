/* clients.c - accepts and drops clients, receives their messages, and replies to them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/place.h"
#include "runtime/serving/client_listener_inner.h"
#include "runtime/store/remote.h"

enum {
    NUMBERS_MOST =
        1 << 21, /* server 0 gives numbers below this one; others, for clients that only locate the servers, from here on */
    ASKING_MOST = 16 /* control messages of a client that may wait: a client sends one at a time, and may give up waiting */
};

void hw_control_queue_put(hw_control_queue *to, hw_message *message)
{
    message->next = NULL;
    *to->end = message;
    to->end = &message->next;
}

hw_message *hw_control_queue_take(hw_control_queue *from)
{
    hw_message *message = from->first;
    if (message == NULL)
        return NULL;
    from->first = message->next;
    if (from->first == NULL)
        from->end = &from->first;
    return message;
}

hw_remote_client *hw_client_listener_find(hw_client_listener *listener, uint32_t number)
{
    hw_remote_client *one = listener->clients[number % HW_CLIENT_BUCKETS];
    while (one != NULL && one->number != number)
        one = one->next;
    return one;
}

/* ---------------------------------------------------------------------------------------------------------- replies ---- */

void hw_client_listener_send(hw_client_listener *listener, uint32_t to, hw_control_message word, uint64_t clock,
                             hawser_status status, const void *data, size_t length)
{
    hw_message *message = NULL;
    hawser_error ignored;
    if (hw_message_new(length, &message, &ignored) != HAWSER_OK)
        return;
    if (length > 0)
        memcpy(message->payload, data, length);
    message->envelope.kind = HW_MESSAGE_CLIENT;
    message->envelope.part = word;
    message->envelope.clock = clock;
    message->envelope.state = (uint32_t)status;
    (void)!hw_net_send(listener->net, to, message, &ignored);
}

static bool waits(const hw_message *asked)
{
    hw_control_message word = (hw_control_message)asked->envelope.part;
    return word != HW_CONTROL_LOCATE && word != HW_CONTROL_STAT;
}

void hw_client_listener_answer(hw_client_listener *listener, hw_message *asked, hawser_status status, const void *data,
                               size_t length, const hawser_error *error)
{
    if (status != HAWSER_OK) {
        data = error->text;
        length = strlen(error->text);
    }
    pthread_mutex_lock(&listener->mutex); /* also held when the links of clients that have left are removed */
    hw_remote_client *one = hw_client_listener_find(listener, asked->origin);
    if (one != NULL) {
        hw_client_listener_send(listener, asked->origin, HW_CONTROL_REPLY, asked->envelope.clock, status, data, length);
        one->asking -= waits(asked);
    }
    pthread_mutex_unlock(&listener->mutex);
    hw_message_free(asked);
}

void hw_client_listener_reply(hw_client_listener *listener, uint32_t number, hw_message *message)
{
    hawser_error ignored;
    message->envelope.kind = HW_MESSAGE_ANSWER;
    (void)!hw_net_send(listener->net, number, message, &ignored);
}

void hw_client_listener_account(hw_client_listener *listener, uint32_t number, int64_t bytes)
{
    hw_net_account(listener->net, number, bytes);
}

hw_message *hw_client_listener_wait(hw_client_listener *listener, double seconds)
{
    struct timespec until = hw_timespec(hw_seconds() + seconds);
    pthread_mutex_lock(&listener->mutex);
    if (listener->common.first == NULL)
        pthread_cond_timedwait(&listener->common_filled, &listener->mutex, &until);
    hw_message *message = hw_control_queue_take(&listener->common);
    pthread_mutex_unlock(&listener->mutex);
    return message;
}

/* ------------------------------------------------------------------------------------------------- joining, leaving ---- */

static hawser_status admit(void *argument, const hw_net_hello *hello, uint32_t *number, hawser_error *error)
{
    hw_client_listener *listener = argument;
    const hawser_store *store = listener->store;
    hawser_status status = HAWSER_OK;
    pthread_mutex_lock(&listener->mutex);
    *number = hello->node;
    uint32_t first = store->self == 0 ? store->servers : NUMBERS_MOST,
             end = store->self == 0 ? NUMBERS_MOST : 2 * NUMBERS_MOST;
    if (listener->over) {
        status = hawser_fail(error, HAWSER_PEER_LOST, "the servers are about to end");
    } else if (!listener->open) {
        status = hawser_fail(error, HAWSER_STOP, "the tables of the servers are not open yet");
    } else if (hello->node == HW_NET_ANY) {
        do
            listener->next_number =
                listener->next_number < first || listener->next_number + 1 >= end ? first : listener->next_number + 1;
        while (hw_client_listener_find(listener, listener->next_number) != NULL);
        *number = listener->next_number;
    } else if (hello->node < store->servers || hello->node >= NUMBERS_MOST ||
               hw_client_listener_find(listener, hello->node) != NULL) {
        status = hawser_fail(error, HAWSER_PEER_LOST, "client %u (%.60s) is not a number that server 0 has assigned",
                             hello->node, hello->name);
    }
    pthread_mutex_unlock(&listener->mutex);
    return status;
}

static void up(void *argument, uint32_t node, const hw_net_hello *hello)
{
    hw_client_listener *listener = argument;
    hw_remote_client *one = calloc(1, sizeof *one);
    if (one == NULL) {
        hw_net_dismiss(listener->net, node);
        return;
    }
    one->number = node;
    memcpy(one->name, hello->name, sizeof one->name);
    pthread_mutex_lock(&listener->mutex);
    one->next = listener->clients[node % HW_CLIENT_BUCKETS];
    listener->clients[node % HW_CLIENT_BUCKETS] = one;
    listener->client_count++;
    pthread_mutex_unlock(&listener->mutex);
}

/* Closes a group: no request of it is received any more, and its other clients are sent the reason. Needs the mutex. */
void hw_group_connection_close(hw_client_listener *listener, hw_group_connection *of, const char *why)
{
    if (of->closed)
        return;
    of->closed = true;
    snprintf(of->why, sizeof of->why, "%s", why);
    for (uint32_t b = 0; b < HW_CLIENT_BUCKETS; b++)
        for (const hw_remote_client *one = listener->clients[b]; one != NULL; one = one->next)
            if (one->connection == of && !one->gone && !one->dropped)
                hw_client_listener_send(listener, one->number, HW_CONTROL_ENDED, 0, HAWSER_PEER_LOST, of->why,
                                        strlen(of->why));
    listener->stirred = true;
    pthread_cond_signal(&listener->local_filled);
}

static void warn(const hw_client_listener *listener, const char *text)
{
    if (listener->warn != NULL)
        listener->warn(listener->argument, text);
}

/* Ends a client's session, and with it its group, whose clocks cannot advance without the client. Needs the mutex. */
static void end_session(hw_client_listener *listener, const hw_remote_client *one, const char *why)
{
    if (one->connection != NULL)
        hw_group_connection_close(listener, one->connection, why);
}

/* The connection to a client has ended. Its session ends with it, because no client connects again. Returns false if the
 * client was not known, or had been dropped. */
static bool end_connection(hw_client_listener *listener, uint32_t node, const char *why)
{
    char text[300];
    pthread_mutex_lock(&listener->mutex);
    hw_remote_client *one = hw_client_listener_find(listener, node);
    bool known = one != NULL && !one->dropped;
    if (one != NULL) {
        one->gone = true;
        snprintf(text, sizeof text, "this group has ended: its node %u (%s) %s", one->node, one->name, why);
        end_session(listener, one, text);
        listener->stirred = true;
        pthread_cond_signal(&listener->local_filled);
    }
    pthread_mutex_unlock(&listener->mutex);
    return known;
}

static void lost(void *argument, uint32_t node, const char *why, double silent)
{
    char text[200], line[300];
    (void)silent;
    snprintf(text, sizeof text, "was lost: %.180s", why);
    snprintf(line, sizeof line, "client %u %s", node, text);
    if (end_connection(argument, node, text))
        warn(argument, line);
}

static void left(void *argument, uint32_t node)
{
    (void)end_connection(argument, node, "has left");
}

/* Disconnects a client that breaks the protocol and ends its group; whatever it still sends is discarded. */
static void drop(hw_client_listener *listener, uint32_t node, const char *what)
{
    char text[500];
    pthread_mutex_lock(&listener->mutex);
    hw_remote_client *one = hw_client_listener_find(listener, node);
    bool fresh = one != NULL && !one->gone && !one->dropped;
    if (fresh) {
        one->dropped = true;
        snprintf(text, sizeof text, "client %u (%s) was disconnected: it %.300s", node, one->name, what);
        hw_client_listener_send(listener, node, HW_CONTROL_ENDED, 0, HAWSER_PEER_LOST, text, strlen(text));
        end_session(listener, one, text);
        hw_net_dismiss(listener->net, node);
    }
    pthread_mutex_unlock(&listener->mutex);
    if (fresh)
        warn(listener, text);
}

static void refused(void *argument, const char *from, const char *why, uint64_t more)
{
    const hw_client_listener *listener = argument;
    char text[600], others[80] = "";
    if (more != 0)
        snprintf(others, sizeof others, " (and %llu more since the last report)", (unsigned long long)more);
    snprintf(text, sizeof text, "rejected %.200s: %.300s%s", from, why, others);
    warn(listener, text);
}

/* ------------------------------------------------------------------------------------------------- control messages ---- */

static void send_addresses(hw_client_listener *listener, hw_message *asked)
{
    const hw_locate_wire reply = {.servers = listener->store->servers, .self = listener->store->self};
    size_t length = sizeof reply + reply.servers * sizeof *listener->addresses;
    unsigned char *text = malloc(length);
    hawser_error error = {.text = "the server has no memory left"};
    if (text != NULL) {
        memcpy(text, &reply, sizeof reply);
        memcpy(text + sizeof reply, listener->addresses, length - sizeof reply);
    }
    hw_client_listener_answer(listener, asked, text != NULL ? HAWSER_OK : HAWSER_NO_MEMORY, text, length, &error);
    free(text);
}

static void send_stat(hw_client_listener *listener, hw_message *asked)
{
    hawser_store *store = listener->store;
    hw_server_figures figures;
    uint32_t tables = 0;
    hawser_error error = {.text = "the server has no memory left"};
    while (hw_server_table_at(store->server, tables) != NULL)
        tables++;
    size_t length = sizeof(hw_stat_wire) + tables * sizeof(hw_count_wire);
    unsigned char *text = calloc(1, length);
    hw_server_figures_of(store->server, &figures);
    hw_stat_wire reply = {
        .servers = store->servers,
        .self = store->self,
        .requests = figures.requests,
        .refused = figures.refused,
        .deferred = figures.deferred,
        .bytes_in = figures.bytes_in,
        .bytes_out = figures.bytes_out,
        .keys = figures.keys,
        .bytes = figures.bytes,
        .counted = figures.quota_used,
        .limit = figures.quota,
    };
    snprintf(reply.name, sizeof reply.name, "%s", store->job->place.name);
    pthread_mutex_lock(&listener->mutex);
    reply.groups = listener->group_count;
    reply.clients = listener->client_count;
    pthread_mutex_unlock(&listener->mutex);
    for (uint32_t t = 0; text != NULL && t < tables; t++) {
        hw_count_wire count;
        hw_table_pack(hw_server_table_at(store->server, t), &count.table);
        hw_server_table_figures(store->server, t, &count.keys, &count.bytes);
        memcpy(text + sizeof reply + t * sizeof count, &count, sizeof count);
    }
    if (text != NULL)
        memcpy(text, &reply, sizeof reply);
    hw_client_listener_answer(listener, asked, text != NULL ? HAWSER_OK : HAWSER_NO_MEMORY, text, length, &error);
    free(text);
}

/* For the control thread, or for all servers. */
static void put_down(hw_client_listener *listener, hw_message *asked)
{
    bool common = asked->envelope.part != HW_CONTROL_REGISTER && asked->envelope.part != HW_CONTROL_KEYS;
    uint32_t node = asked->origin;
    pthread_mutex_lock(&listener->mutex);
    hw_remote_client *one = hw_client_listener_find(listener, node);
    bool known = one != NULL && !one->dropped, too_many = known && one->asking >= ASKING_MOST;
    if (known && !too_many) {
        one->asking++;
        hw_control_queue_put(common ? &listener->common : &listener->local, asked);
        pthread_cond_signal(common ? &listener->common_filled : &listener->local_filled);
    }
    pthread_mutex_unlock(&listener->mutex);
    if (!known || too_many)
        hw_message_free(asked);
    if (too_many)
        drop(listener, node, "sends requests without waiting for replies");
}

static void receive_control(hw_client_listener *listener, uint32_t node, hw_message *message)
{
    char what[100];
    message->origin = node;
    switch ((hw_control_message)message->envelope.part) {
    case HW_CONTROL_LOCATE: send_addresses(listener, message); return;
    case HW_CONTROL_STAT: send_stat(listener, message); return;
    case HW_CONTROL_REGISTER:
    case HW_CONTROL_KEYS: put_down(listener, message); return;
    case HW_CONTROL_TABLE:
    case HW_CONTROL_SAVE:
    case HW_CONTROL_LOAD:
        if (listener->store->self != 0)
            break;
        put_down(listener, message);
        return;
    case HW_CONTROL_REPLY:
    case HW_CONTROL_ENDED: break;
    }
    snprintf(what, sizeof what, "sent command %u, which server %u does not have", message->envelope.part,
             listener->store->self);
    hw_message_free(message);
    drop(listener, node, what);
}

/* Checks the number of a request, which follows that of the request before it. Returns false with a text for `drop`. */
static bool count_request(hw_remote_client *one, const hw_message *message, char *what, size_t size)
{
    char name[2 * HW_STORE_SESSION + 1];
    if (message->envelope.sequence == one->requests + 1) {
        one->requests++;
        return true;
    }
    hw_key_text(one->session_name, sizeof one->session_name, name);
    snprintf(what, size, "sent request %llu of session %s, and %llu was expected",
             (unsigned long long)message->envelope.sequence, name, (unsigned long long)one->requests + 1);
    return false;
}

/* Finds the session of a registered client; its group stays while its request is worked on. NULL with a text: the request is
 * not in order. */
static hw_client_session *session_of(hw_client_listener *listener, uint32_t node, const hw_message *message,
                                     hw_group_connection **of, char *what, size_t size)
{
    pthread_mutex_lock(&listener->mutex);
    hw_remote_client *one = hw_client_listener_find(listener, node);
    *of = one != NULL ? one->connection : NULL;
    if (one != NULL && !one->registered)
        snprintf(what, size, "asked for numbers before it had a session");
    hw_client_session *session = *of != NULL && !(*of)->closed && !one->dropped ? one->session : NULL;
    if (session != NULL && !count_request(one, message, what, size))
        session = NULL;
    if (session != NULL)
        atomic_fetch_add(&(*of)->receiving, 1);
    pthread_mutex_unlock(&listener->mutex);
    return session;
}

static void receive_request(hw_client_listener *listener, uint32_t node, hw_message *message)
{
    hawser_error error = {0};
    hw_group_connection *of = NULL;
    char what[200] = "";
    hw_client_session *session = session_of(listener, node, message, &of, what, sizeof what);
    if (session == NULL) { /* without a text its group is over, and it has received that or will */
        hw_message_free(message);
        if (what[0] != '\0')
            drop(listener, node, what);
        return;
    }
    hawser_status status = hw_client_session_receive(session, message, &error);
    if (status == HAWSER_BAD_INPUT)
        drop(listener, node, error.text);
    if (status != HAWSER_OK) {
        pthread_mutex_lock(&listener->mutex);
        hw_group_connection_close(listener, of, error.text);
        pthread_mutex_unlock(&listener->mutex);
    }
    atomic_fetch_sub(&of->receiving, 1);
}

static void arrived(void *argument, uint32_t node, hw_message *message)
{
    hw_client_listener *listener = argument;
    uint16_t kind = message->envelope.kind;
    char what[100];
    if (kind == HW_MESSAGE_ASK) {
        receive_request(listener, node, message);
    } else if (kind == HW_MESSAGE_CLIENT) {
        receive_control(listener, node, message);
    } else {
        snprintf(what, sizeof what, "sent a message of kind %u, which clients do not send", kind);
        hw_message_free(message);
        drop(listener, node, what);
    }
}

hw_net_events hw_client_listener_events(hw_client_listener *listener)
{
    return (hw_net_events){
        .argument = listener, .admit = admit, .up = up, .arrived = arrived, .lost = lost, .left = left, .refused = refused};
}
