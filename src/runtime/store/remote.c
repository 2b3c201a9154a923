#include "runtime/store/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "runtime/job/enter.h"

struct hw_remote {
    hawser_store *store;
    hw_net *net;
    uint32_t servers, met; /* met: the server that was asked for the addresses */
    char (*addresses)[HW_NET_ADDRESS];
    uint64_t *requests;    /* that were sent in this session, by server; used by the one thread that sends requests */
    pthread_mutex_t mutex; /* guards the next fields */
    pthread_cond_t changed;
    char (*names)[HW_NET_NAME]; /* of the servers; NULL until their number is known */
    uint64_t asked;             /* number of the last control message that expects a reply */
    hw_message *answer;
    bool lost, begun;
    hawser_error loss;
};

/* How a client's net is opened: to locate the servers, or for the whole session. */
typedef struct manner {
    unsigned char key[HW_NET_KEY_MOST];
    size_t key_length;
    char build[HW_STORE_BUILD], name[HW_NET_NAME];
    hw_transport_kind transport;
    double join_timeout;
} manner;

/* ----------------------------------------------------------------------------------------------------------- events ---- */

/* Ends the session, and with it the store. The first reason is kept. */
static void end_session(hw_remote *remote, const hawser_error *loss)
{
    pthread_mutex_lock(&remote->mutex);
    bool first = !remote->lost, notify = first && remote->begun;
    remote->lost = true;
    if (first)
        remote->loss = *loss;
    pthread_cond_broadcast(&remote->changed);
    pthread_mutex_unlock(&remote->mutex);
    if (notify)
        hw_hub_end(remote->store, loss);
}

static void name_of(hw_remote *remote, uint32_t server, char text[HW_NET_NAME])
{
    pthread_mutex_lock(&remote->mutex);
    snprintf(text, HW_NET_NAME, "%s", remote->names != NULL && server < remote->servers ? remote->names[server] : "");
    pthread_mutex_unlock(&remote->mutex);
}

/* Returns true and names this client if it was stopped so long that it is the one that was lost; false: this process ran. */
static bool notify_pause(hw_remote *remote, uint32_t server, hawser_error *error)
{
    char name[HW_NET_NAME];
    double paused = hw_net_paused(remote->net);
    name_of(remote, server, name);
    if (paused > 0)
        (void)!hawser_fail(
            error, HAWSER_PEER_LOST,
            "this program did not run for %.1f s (it was stopped, or its machine slept), and server %u of the "
            "store (%s) has ended the connection meanwhile: a client that is silent for the --failure-timeout of "
            "the servers counts as lost",
            paused, server, name);
    return paused > 0;
}

/* The connection to a server has ended. The session ends with it, because servers keep no session without a connection. */
static void end_connection(hw_remote *remote, const hawser_error *loss)
{
    end_session(remote, loss);
}

static void lost(void *argument, uint32_t node, const char *why, double silent)
{
    hw_remote *remote = argument;
    hawser_error error = {0};
    char name[HW_NET_NAME];
    name_of(remote, node, name);
    if (!notify_pause(remote, node, &error))
        (void)!hawser_fail(&error, HAWSER_PEER_LOST, "server %u of the store (%s) was lost: %s; last heard %.1f s ago", node,
                           name, why, silent);
    end_connection(remote, &error);
}

static void left(void *argument, uint32_t node)
{
    hw_remote *remote = argument;
    hawser_error error = {0};
    char name[HW_NET_NAME];
    name_of(remote, node, name);
    (void)!hawser_fail(&error, HAWSER_PEER_LOST, "server %u of the store (%s) has ended", node, name);
    end_connection(remote, &error);
}

static void up(void *argument, uint32_t node, const hw_net_hello *hello)
{
    hw_remote *remote = argument;
    pthread_mutex_lock(&remote->mutex);
    remote->met = node;
    if (remote->names != NULL && node < remote->servers)
        memcpy(remote->names[node], hello->name, sizeof remote->names[node]);
    pthread_mutex_unlock(&remote->mutex);
}

static void keep_answer(hw_remote *remote, hw_message *message)
{
    pthread_mutex_lock(&remote->mutex);
    bool wanted = remote->answer == NULL && message->envelope.clock == remote->asked;
    if (wanted)
        remote->answer = message;
    pthread_cond_broadcast(&remote->changed);
    pthread_mutex_unlock(&remote->mutex);
    if (!wanted) /* its caller has given up */
        hw_message_free(message);
}

/* Returns whether a store exists that can take replies. */
static bool has_begun(hw_remote *remote)
{
    pthread_mutex_lock(&remote->mutex);
    bool begun = remote->begun;
    pthread_mutex_unlock(&remote->mutex);
    return begun;
}

static void arrived(void *argument, uint32_t node, hw_message *message)
{
    hw_remote *remote = argument;
    const hw_envelope *envelope = &message->envelope;
    if (envelope->kind == HW_MESSAGE_ANSWER && has_begun(remote)) {
        hw_hub_arrived(remote->store, node, message);
        return;
    }
    if (envelope->kind == HW_MESSAGE_CLIENT && envelope->part == HW_CONTROL_REPLY) {
        keep_answer(remote, message);
        return;
    }
    if (envelope->kind == HW_MESSAGE_CLIENT && envelope->part == HW_CONTROL_ENDED) {
        hawser_error error = {0};
        (void)!hawser_fail(&error, HAWSER_PEER_LOST, "server %u of the store: %.*s", node,
                           (int)(envelope->length < 600 ? envelope->length : 600), (const char *)message->payload);
        end_session(remote, &error);
    }
    hw_message_free(message);
}

static void *acquire(void *argument, uint32_t node, const hw_message *message)
{
    hw_remote *remote = argument;
    return has_begun(remote) ? hw_hub_acquire(remote->store, node, message) : NULL;
}

static void release(void *argument)
{
    const hw_remote *remote = argument;
    hw_hub_release(remote->store);
}

/* Refuses connections: no node dials a client. */
static hawser_status admit(void *argument, const hw_net_hello *hello, uint32_t *number, hawser_error *error)
{
    (void)argument;
    (void)number;
    return hawser_fail(error, HAWSER_PEER_LOST, "'%.60s' connected to a client of a store, not to a server", hello->name);
}

/* ------------------------------------------------------------------------------------------------------------ words ---- */

/* Sends to a server. Of a lost one the error is the loss as others are told of it; if that is not known yet, it says that it
 * is a server's. */
hawser_status hw_remote_send(hw_remote *remote, uint32_t server, hw_message *message, hawser_error *error)
{
    hawser_error own = {0};
    if (message->envelope.kind == HW_MESSAGE_ASK)
        message->envelope.sequence = ++remote->requests[server];
    hawser_status status = hw_net_send(remote->net, server, message, &own);
    if (status == HAWSER_OK)
        return HAWSER_OK;
    pthread_mutex_lock(&remote->mutex);
    bool known = remote->lost;
    if (known)
        own = remote->loss;
    pthread_mutex_unlock(&remote->mutex);
    if (known || status != HAWSER_PEER_LOST)
        return hawser_fail(error, own.status, "%s", own.text);
    return notify_pause(remote, server, error)
               ? status
               : hawser_fail(error, status, "server %u of the store: %.600s", server, own.text);
}

static hawser_status await_answer(hw_remote *remote, hw_message **answer, hawser_error *error)
{
    double deadline = hw_hub_deadline(remote->store);
    const hawser_cancellation *cancellation = hw_hub_cancellation(remote->store);
    pthread_mutex_lock(&remote->mutex);
    while (remote->answer == NULL && !remote->lost && !hw_cancelled(cancellation) && hw_seconds() < deadline) {
        const struct timespec until = hw_timespec(hw_cancellation_slice(cancellation, deadline));
        (void)pthread_cond_timedwait(&remote->changed, &remote->mutex, &until);
    }
    *answer = remote->answer;
    remote->answer = NULL;
    remote->asked++; /* a later reply belongs to no caller */
    hawser_error loss = remote->loss;
    bool is_lost = remote->lost;
    pthread_mutex_unlock(&remote->mutex);
    if (*answer != NULL)
        return HAWSER_OK;
    if (is_lost)
        return hawser_fail(error, loss.status, "%s", loss.text);
    HAWSER_TRY(hw_hub_check(remote->store, error));
    return hawser_fail(error, HAWSER_TIMEOUT, "the store's server has not answered for %.3g s",
                       remote->store->options.timeout);
}

hawser_status hw_remote_ask(hw_remote *remote, uint32_t server, hw_control_message word, const void *data, size_t length,
                            hw_message **answer, hawser_error *error)
{
    hw_message *message = NULL, *found = NULL;
    *answer = NULL;
    HAWSER_TRY(hw_message_new(length, &message, error));
    if (length > 0)
        memcpy(message->payload, data, length);
    message->envelope.kind = HW_MESSAGE_CLIENT;
    message->envelope.part = word;
    pthread_mutex_lock(&remote->mutex);
    message->envelope.clock = ++remote->asked;
    pthread_mutex_unlock(&remote->mutex);
    HAWSER_TRY(hw_remote_send(remote, server, message, error));
    HAWSER_TRY(await_answer(remote, &found, error));
    hawser_status status = (hawser_status)found->envelope.state;
    if (status != HAWSER_OK) {
        status = hawser_fail(error, status, "%.*s", (int)(found->envelope.length < 900 ? found->envelope.length : 900),
                             found->payload != NULL ? (const char *)found->payload : "");
        hw_message_free(found);
        return status;
    }
    *answer = found;
    return HAWSER_OK;
}

/* ---------------------------------------------------------------------------------------------------------- joining ---- */

/* Finds the servers' key: bytes of the program, a file of the program, or the job's. */
static hawser_status find_key(const hawser_store *store, manner *how, hawser_error *error)
{
    const hawser_store_options *options = &store->options;
    const char *path = options->key_file;
    if (options->key != NULL)
        return path != NULL
                   ? hawser_fail(error, HAWSER_BAD_ARGUMENT,
                                 "the servers' key is given as bytes and as the file %s; leave one of them out", path)
                   : hw_key_copy(options->key, options->key_length, how->key, &how->key_length, error);
    if (path == NULL)
        path = hawser_options_text(store->job->options, "key-file");
    if (path == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "the servers at %s require their key: give the file of 'hawser serve' (--key-file FILE)",
                           options->at);
    return hw_key_read(path, how->key, &how->key_length, error);
}

static hawser_status find_manner(const hawser_store *store, manner *how, hawser_error *error)
{
    const hawser_job *job = store->job;
    HAWSER_TRY(find_key(store, how, error));
    hw_store_build(how->build);
    snprintf(how->name, sizeof how->name, "%.50s/%u", job->place.name, (unsigned)getpid() % 10000000);
    how->transport = hw_transport_option(job->options);
    how->join_timeout = hawser_options_number(job->options, "join-timeout");
    return HAWSER_OK;
}

static hawser_status open_net(hw_remote *remote, const manner *how, hw_transport_kind transport, hawser_error *error)
{
    const hawser_options *options = remote->store->job->options;
    const hw_net_options net = {
        .job = HW_STORE_JOB,
        .key = how->key,
        .key_length = how->key_length,
        .node = HW_NET_ANY,
        .name = how->name,
        .build = how->build,
        .dial_only = true,
        .transport = transport,
        .ring = HW_STORE_RING,
        .trust_fabric = hawser_options_flag(options, "trust-fabric"),
        .failure_timeout = hawser_options_number(options, "failure-timeout"),
        .rate = hawser_options_bytes(options, "rate"),
        .cancellation = hw_hub_cancellation(remote->store),
    };
    const hw_net_events events = {.argument = remote,
                                  .admit = admit,
                                  .up = up,
                                  .arrived = arrived,
                                  .acquire = acquire,
                                  .release = release,
                                  .lost = lost,
                                  .left = left};
    return hw_net_new(&net, &events, &remote->net, error);
}

static void close_net(hw_remote *remote)
{
    enum { GOODBYE_SECONDS = 5 };
    if (remote->net == NULL)
        return;
    hw_net_stop(remote->net, GOODBYE_SECONDS);
    hw_net_free(remote->net);
    remote->net = NULL;
}

/* Takes the reply of one server with the addresses of all. */
static hawser_status take_addresses(hw_remote *remote, const hw_message *answer, hawser_error *error)
{
    hw_locate_wire reply = {0};
    size_t length = (size_t)answer->envelope.length;
    if (length >= sizeof reply)
        memcpy(&reply, answer->payload, sizeof reply);
    if (reply.servers == 0 || length != sizeof reply + reply.servers * (size_t)HW_NET_ADDRESS)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s did not send the addresses of the store's servers",
                           remote->store->options.at);
    HAWSER_TRY(HW_NEW(&remote->addresses, reply.servers, "the servers' addresses", error));
    memcpy(remote->addresses, (const char *)answer->payload + sizeof reply, reply.servers * sizeof *remote->addresses);
    remote->servers = reply.servers;
    for (uint32_t s = 0; s < reply.servers; s++)
        remote->addresses[s][HW_NET_ADDRESS - 1] = '\0';
    return HAWSER_OK;
}

/* Locates the servers over a connection of its own: the lasting links choose the best transport, and a single address does
 * not show it. */
static hawser_status ask_addresses(hw_remote *remote, const manner *how, hawser_error *error)
{
    uint32_t number = 0;
    hw_message *answer = NULL;
    HAWSER_TRY(open_net(remote, how, HW_NET_TCP, error));
    hawser_status status =
        hw_net_dial(remote->net, remote->store->options.at, HW_NET_ANY, how->join_timeout, &number, error);
    HAWSER_THEN(status, hw_remote_ask(remote, remote->met, HW_CONTROL_LOCATE, NULL, 0, &answer, error));
    HAWSER_THEN(status, take_addresses(remote, answer, error));
    hw_message_free(answer);
    close_net(remote);
    remote->lost = false;
    return status;
}

static hawser_status dial_first(hw_remote *remote, const manner *how, uint32_t *number, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&remote->names, remote->servers, "the servers' names", error));
    HAWSER_TRY(HW_NEW(&remote->requests, remote->servers, "numbers of requests", error));
    HAWSER_TRY(open_net(remote, how, how->transport, error));
    return hw_net_dial(remote->net, remote->addresses[0], 0, how->join_timeout, number, error);
}

static hawser_status dial_others(hw_remote *remote, const manner *how, const hw_register_wire *session, hawser_error *error)
{
    for (uint32_t s = 1, number; s < remote->servers; s++)
        HAWSER_TRY(hw_net_dial(remote->net, remote->addresses[s], s, how->join_timeout, &number, error));
    for (uint32_t s = 0; s < remote->servers; s++) {
        hw_message *answer = NULL;
        HAWSER_TRY(hw_remote_ask(remote, s, HW_CONTROL_REGISTER, session, sizeof *session, &answer, error));
        hw_message_free(answer);
    }
    return HAWSER_OK;
}

/* Sends node 0's addresses and group number to all nodes of the group. */
static hawser_status share_addresses(hw_remote *remote, uint32_t *group, hawser_error *error)
{
    const hawser_store *store = remote->store;
    size_t length = sizeof *group + remote->servers * sizeof *remote->addresses;
    hw_bytes *in = NULL;
    unsigned char *own = NULL;
    hawser_status status = HW_NEW(&own, length, "the connection to the servers", error);
    HAWSER_THEN(status, HW_NEW(&in, store->nodes, "the connection to the servers", error));
    if (status == HAWSER_OK) {
        memcpy(own, group, sizeof *group);
        if (remote->servers > 0)
            memcpy(own + sizeof *group, remote->addresses, length - sizeof *group);
    }
    status = hw_cluster_agree(store->job->cluster, status, error);
    HAWSER_THEN(status, hw_cluster_allgather(store->job->cluster, (hw_bytes){own, length}, in, error));
    if (status == HAWSER_OK && store->self > 0) {
        remote->servers = (uint32_t)((in[0].length - sizeof *group) / sizeof *remote->addresses);
        memcpy(group, in[0].data, sizeof *group);
        status = HW_NEW(&remote->addresses, remote->servers, "the servers' addresses", error);
        if (status == HAWSER_OK)
            memcpy(remote->addresses, (char *)in[0].data + sizeof *group, remote->servers * sizeof *remote->addresses);
    }
    hw_bytes_free(in, store->nodes);
    free(own);
    return status;
}

static hawser_status join(hw_remote *remote, const manner *how, hawser_error *error)
{
    hawser_store *store = remote->store;
    uint32_t number = 0;
    hawser_status status = HAWSER_OK;
    if (store->self == 0) {
        status = ask_addresses(remote, how, error);
        HAWSER_THEN(status, dial_first(remote, how, &number, error));
    }
    HAWSER_TRY(hw_cluster_agree(store->job->cluster, status, error));
    hw_register_wire session = {
        .group = number, .node = store->self, .nodes = store->nodes, .workers = store->options.workers};
    status = share_addresses(remote, &session.group, error);
    HAWSER_THEN(status, hw_random_bytes(session.session, sizeof session.session, error));
    if (status == HAWSER_OK && store->self > 0)
        status = dial_first(remote, how, &number, error);
    HAWSER_THEN(status, dial_others(remote, how, &session, error));
    return hw_cluster_agree(store->job->cluster, status, error);
}

hawser_status hw_remote_open(hawser_store *store, hw_remote **out, hawser_error *error)
{
    hw_remote *remote = NULL;
    manner how = {0};
    hawser_status status = HW_NEW(&remote, 1, "a connection to the servers", error);
    if (status == HAWSER_OK) {
        remote->store = store;
        pthread_mutex_init(&remote->mutex, NULL);
        (void)hw_thread_condition(&remote->changed);
        status = find_manner(store, &how, error);
    }
    status = hw_cluster_agree(store->job->cluster, status, error);
    HAWSER_THEN(status, join(remote, &how, error));
    explicit_bzero(&how, sizeof how);
    if (status != HAWSER_OK) {
        hw_remote_close(remote);
        return status;
    }
    *out = remote;
    return HAWSER_OK;
}

hawser_status hw_remote_begin(hw_remote *remote, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    pthread_mutex_lock(&remote->mutex);
    remote->begun = true;
    if (remote->lost)
        status = hawser_fail(error, remote->loss.status, "%s", remote->loss.text);
    pthread_mutex_unlock(&remote->mutex);
    return status;
}

void hw_remote_close(hw_remote *remote)
{
    if (remote == NULL)
        return;
    pthread_mutex_lock(&remote->mutex);
    remote->begun = false;
    pthread_mutex_unlock(&remote->mutex);
    close_net(remote);
    hw_message_free(remote->answer);
    pthread_cond_destroy(&remote->changed);
    pthread_mutex_destroy(&remote->mutex);
    free(remote->addresses);
    free(remote->names);
    free(remote->requests);
    free(remote);
}

uint32_t hw_remote_servers(const hw_remote *remote)
{
    return remote->servers;
}
