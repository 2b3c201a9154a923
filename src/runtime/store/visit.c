#include "runtime/store/visit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/thread.h"
#include "runtime/job/enter.h"

struct hw_visit {
    hawser_store *store;
    hw_net *net;
    uint32_t servers, met; /* met: who was asked the way */
    char (*cards)[HW_NET_ADDRESS];
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    char (*names)[HW_NET_NAME]; /* of the servers; NULL until there are so many */
    uint64_t asked;             /* number of the last word that wants an answer */
    hw_message *answer;
    bool lost, begun;
    hawser_error loss;
};

/* How a guest's net is made: for the way alone, or to stay. */
typedef struct manner {
    unsigned char key[HW_NET_KEY_MOST];
    size_t key_length;
    char build[HW_STORE_BUILD], name[HW_NET_NAME];
    hw_net_way way;
    double patience;
} manner;

/* ------------------------------------------------------------------------------------------------------------ events ---- */

/* The first loss ends the store. */
static void note_loss(hw_visit *visit, const hawser_error *loss)
{
    pthread_mutex_lock(&visit->mutex);
    bool first = !visit->lost, tell = first && visit->begun;
    visit->lost = true;
    if (first)
        visit->loss = *loss;
    pthread_cond_broadcast(&visit->changed);
    pthread_mutex_unlock(&visit->mutex);
    if (tell)
        hw_hub_lost(visit->store, loss);
}

static void name_of(hw_visit *visit, uint32_t server, char text[HW_NET_NAME])
{
    pthread_mutex_lock(&visit->mutex);
    snprintf(text, HW_NET_NAME, "%s", visit->names != NULL && server < visit->servers ? visit->names[server] : "");
    pthread_mutex_unlock(&visit->mutex);
}

/* A guest that was stopped is the one who was lost. False: this process ran. */
static bool tell_pause(hw_visit *visit, uint32_t server, hawser_error *error)
{
    char name[HW_NET_NAME];
    double paused = hw_net_paused(visit->net);
    name_of(visit, server, name);
    if (paused > 0)
        (void)!hawser_fail(
            error, HAWSER_PEER_LOST,
            "this program did not run for %.1f s (it was stopped, or its machine slept), and server %u of the "
            "store (%s) has ended the connection meanwhile: a guest that is silent for the --failure-timeout of "
            "the servers counts as lost",
            paused, server, name);
    return paused > 0;
}

static void lost(void *argument, uint32_t node, const char *why, double silent)
{
    hw_visit *visit = argument;
    hawser_error error = {0};
    char name[HW_NET_NAME];
    name_of(visit, node, name);
    if (!tell_pause(visit, node, &error))
        (void)!hawser_fail(&error, HAWSER_PEER_LOST, "server %u of the store (%s) was lost: %s; last heard %.1f s ago", node,
                           name, why, silent);
    note_loss(visit, &error);
}

static void left(void *argument, uint32_t node)
{
    hw_visit *visit = argument;
    hawser_error error = {0};
    char name[HW_NET_NAME];
    name_of(visit, node, name);
    (void)!hawser_fail(&error, HAWSER_PEER_LOST, "server %u of the store (%s) has ended", node, name);
    note_loss(visit, &error);
}

static void up(void *argument, uint32_t node, const hw_net_hello *hello)
{
    hw_visit *visit = argument;
    pthread_mutex_lock(&visit->mutex);
    visit->met = node;
    if (visit->names != NULL && node < visit->servers)
        memcpy(visit->names[node], hello->name, sizeof visit->names[node]);
    pthread_mutex_unlock(&visit->mutex);
}

static void keep_answer(hw_visit *visit, hw_message *message)
{
    pthread_mutex_lock(&visit->mutex);
    bool wanted = visit->answer == NULL && message->envelope.clock == visit->asked;
    if (wanted)
        visit->answer = message;
    pthread_cond_broadcast(&visit->changed);
    pthread_mutex_unlock(&visit->mutex);
    if (!wanted) /* its asker has given up */
        hw_message_free(message);
}

/* Is there a store that answers can be for? */
static bool has_begun(hw_visit *visit)
{
    pthread_mutex_lock(&visit->mutex);
    bool begun = visit->begun;
    pthread_mutex_unlock(&visit->mutex);
    return begun;
}

static void arrived(void *argument, uint32_t node, hw_message *message)
{
    hw_visit *visit = argument;
    const hw_envelope *envelope = &message->envelope;
    if (envelope->kind == HW_MESSAGE_ANSWER && has_begun(visit)) {
        hw_hub_arrived(visit->store, node, message);
        return;
    }
    if (envelope->kind == HW_MESSAGE_GUEST && envelope->part == HW_WORD_ANSWER) {
        keep_answer(visit, message);
        return;
    }
    if (envelope->kind == HW_MESSAGE_GUEST && envelope->part == HW_WORD_ENDED) {
        hawser_error error = {0};
        (void)!hawser_fail(&error, HAWSER_PEER_LOST, "server %u of the store: %.*s", node,
                           (int)(envelope->length < 600 ? envelope->length : 600), (const char *)message->payload);
        note_loss(visit, &error);
    }
    hw_message_free(message);
}

static void *borrow(void *argument, uint32_t node, const hw_message *message)
{
    hw_visit *visit = argument;
    return has_begun(visit) ? hw_hub_borrow(visit->store, node, message) : NULL;
}

static void give_back(void *argument)
{
    const hw_visit *visit = argument;
    hw_hub_give_back(visit->store);
}

/* Nobody dials a guest. */
static hawser_status admit(void *argument, const hw_net_hello *hello, uint32_t *number, hawser_error *error)
{
    (void)argument;
    (void)number;
    return hawser_fail(error, HAWSER_PEER_LOST, "'%.60s' has come to a guest of a store, not to a server", hello->name);
}

/* ------------------------------------------------------------------------------------------------------------- words ---- */

hawser_status hw_visit_tell(hw_visit *visit, uint32_t server, hw_message *message, hawser_error *error)
{
    hawser_status status = hw_net_send(visit->net, server, message, error);
    if (status == HAWSER_PEER_LOST)
        (void)tell_pause(visit, server, error);
    return status;
}

static hawser_status await_answer(hw_visit *visit, hw_message **answer, hawser_error *error)
{
    struct timespec until = hw_hub_deadline(visit->store);
    int woken = 0;
    pthread_mutex_lock(&visit->mutex);
    while (visit->answer == NULL && !visit->lost && woken != ETIMEDOUT)
        woken = pthread_cond_timedwait(&visit->changed, &visit->mutex, &until);
    *answer = visit->answer;
    visit->answer = NULL;
    visit->asked++; /* what comes later is for nobody */
    hawser_error loss = visit->loss;
    bool is_lost = visit->lost;
    pthread_mutex_unlock(&visit->mutex);
    if (*answer != NULL)
        return HAWSER_OK;
    if (is_lost)
        return hawser_fail(error, loss.status, "%s", loss.text);
    return hawser_fail(error, HAWSER_TIMEOUT, "the store's server has not answered for %.3g s",
                       visit->store->options.timeout);
}

hawser_status hw_visit_ask(hw_visit *visit, uint32_t server, hw_word word, const void *data, size_t length,
                           hw_message **answer, hawser_error *error)
{
    hw_message *message = NULL, *found = NULL;
    *answer = NULL;
    HAWSER_TRY(hw_message_new(length, &message, error));
    if (length > 0)
        memcpy(message->payload, data, length);
    message->envelope.kind = HW_MESSAGE_GUEST;
    message->envelope.part = word;
    pthread_mutex_lock(&visit->mutex);
    message->envelope.clock = ++visit->asked;
    pthread_mutex_unlock(&visit->mutex);
    hawser_status status = hw_net_send(visit->net, server, message, error);
    if (status != HAWSER_OK) {
        pthread_mutex_lock(&visit->mutex);
        bool known = visit->lost;
        if (known)
            status = hawser_fail(error, visit->loss.status, "%s", visit->loss.text);
        pthread_mutex_unlock(&visit->mutex);
        if (!known && status == HAWSER_PEER_LOST)
            (void)tell_pause(visit, server, error);
        return status;
    }
    HAWSER_TRY(await_answer(visit, &found, error));
    status = (hawser_status)found->envelope.state;
    if (status != HAWSER_OK) {
        status = hawser_fail(error, status, "%.*s", (int)(found->envelope.length < 900 ? found->envelope.length : 900),
                             found->payload != NULL ? (const char *)found->payload : "");
        hw_message_free(found);
        return status;
    }
    *answer = found;
    return HAWSER_OK;
}

/* ----------------------------------------------------------------------------------------------------------- joining ---- */

static hawser_status find_manner(const hawser_store *store, manner *how, hawser_error *error)
{
    const hawser_job *job = store->job;
    const char *path = store->options.key_file;
    if (path == NULL)
        path = hawser_options_text(job->options, "key-file");
    if (path == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "the servers at %s want their key: give the file that 'hawser serve' has (--key-file FILE)",
                           store->options.at);
    HAWSER_TRY(hw_key_read(path, how->key, &how->key_length, error));
    hw_store_build(how->build);
    snprintf(how->name, sizeof how->name, "%.50s/%u", job->place.name, (unsigned)getpid() % 10000000);
    how->way = hw_read_way(job->options);
    how->patience = hawser_options_number(job->options, "join-timeout");
    return HAWSER_OK;
}

static hawser_status open_net(hw_visit *visit, const manner *how, hw_net_way way, hawser_error *error)
{
    const hawser_options *options = visit->store->job->options;
    const hw_net_options net = {
        .job = HW_STORE_JOB,
        .key = how->key,
        .key_length = how->key_length,
        .node = HW_NET_ANY,
        .name = how->name,
        .build = how->build,
        .dial_only = true,
        .way = way,
        .ring = HW_STORE_RING,
        .trust_fabric = hawser_options_flag(options, "trust-fabric"),
        .failure_timeout = hawser_options_number(options, "failure-timeout"),
    };
    const hw_net_events events = {.argument = visit,
                                  .admit = admit,
                                  .up = up,
                                  .arrived = arrived,
                                  .borrow = borrow,
                                  .give_back = give_back,
                                  .lost = lost,
                                  .left = left};
    return hw_net_new(&net, &events, &visit->net, error);
}

static void close_net(hw_visit *visit)
{
    enum { FAREWELL_SECONDS = 5 };
    if (visit->net == NULL)
        return;
    hw_net_stop(visit->net, FAREWELL_SECONDS);
    hw_net_free(visit->net);
    visit->net = NULL;
}

/* One server is asked where all of them are. */
static hawser_status take_way(hw_visit *visit, const hw_message *answer, hawser_error *error)
{
    hw_told_way told = {0};
    size_t length = (size_t)answer->envelope.length;
    if (length >= sizeof told)
        memcpy(&told, answer->payload, sizeof told);
    if (told.servers == 0 || length != sizeof told + told.servers * (size_t)HW_NET_ADDRESS)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s does not say where the store's servers are",
                           visit->store->options.at);
    HAWSER_TRY(HW_NEW(&visit->cards, told.servers, "the servers' addresses", error));
    memcpy(visit->cards, (const char *)answer->payload + sizeof told, told.servers * sizeof *visit->cards);
    visit->servers = told.servers;
    for (uint32_t s = 0; s < told.servers; s++)
        visit->cards[s][HW_NET_ADDRESS - 1] = '\0';
    return HAWSER_OK;
}

/* By a connection of its own: the links that stay take the best way, which an address alone does not tell. */
static hawser_status ask_way(hw_visit *visit, const manner *how, hawser_error *error)
{
    uint32_t number = 0;
    hw_message *answer = NULL;
    HAWSER_TRY(open_net(visit, how, HW_NET_TCP, error));
    hawser_status status = hw_net_dial(visit->net, visit->store->options.at, HW_NET_ANY, how->patience, &number, error);
    if (status == HAWSER_OK)
        status = hw_visit_ask(visit, visit->met, HW_WORD_WAY, NULL, 0, &answer, error);
    if (status == HAWSER_OK)
        status = take_way(visit, answer, error);
    hw_message_free(answer);
    close_net(visit);
    visit->lost = false;
    return status;
}

static hawser_status dial_first(hw_visit *visit, const manner *how, uint32_t *number, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&visit->names, visit->servers, "the servers' names", error));
    HAWSER_TRY(open_net(visit, how, how->way, error));
    return hw_net_dial(visit->net, visit->cards[0], 0, how->patience, number, error);
}

static hawser_status dial_others(hw_visit *visit, const manner *how, const hw_told_seat *seat, hawser_error *error)
{
    for (uint32_t s = 1, number; s < visit->servers; s++)
        HAWSER_TRY(hw_net_dial(visit->net, visit->cards[s], s, how->patience, &number, error));
    for (uint32_t s = 0; s < visit->servers; s++) {
        hw_message *answer = NULL;
        HAWSER_TRY(hw_visit_ask(visit, s, HW_WORD_SEAT, seat, sizeof *seat, &answer, error));
        hw_message_free(answer);
    }
    return HAWSER_OK;
}

/* Node 0's way and number, to all nodes of the group. */
static hawser_status share_way(hw_visit *visit, uint32_t *group, hawser_error *error)
{
    const hawser_store *store = visit->store;
    size_t length = sizeof *group + visit->servers * sizeof *visit->cards;
    hw_bytes *in = NULL;
    unsigned char *own = NULL;
    hawser_status status = HW_NEW(&own, length, "the way to the servers", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&in, store->nodes, "the way to the servers", error);
    if (status == HAWSER_OK) {
        memcpy(own, group, sizeof *group);
        if (visit->servers > 0)
            memcpy(own + sizeof *group, visit->cards, length - sizeof *group);
    }
    status = hw_cluster_agree(store->job->cluster, status, error);
    if (status == HAWSER_OK)
        status = hw_cluster_allgather(store->job->cluster, (hw_bytes){own, length}, in, error);
    if (status == HAWSER_OK && store->self > 0) {
        visit->servers = (uint32_t)((in[0].length - sizeof *group) / sizeof *visit->cards);
        memcpy(group, in[0].data, sizeof *group);
        status = HW_NEW(&visit->cards, visit->servers, "the servers' addresses", error);
        if (status == HAWSER_OK)
            memcpy(visit->cards, (char *)in[0].data + sizeof *group, visit->servers * sizeof *visit->cards);
    }
    hw_bytes_free(in, store->nodes);
    free(own);
    return status;
}

static hawser_status join(hw_visit *visit, const manner *how, hawser_error *error)
{
    hawser_store *store = visit->store;
    uint32_t number = 0;
    hawser_status status = HAWSER_OK;
    if (store->self == 0) {
        status = ask_way(visit, how, error);
        if (status == HAWSER_OK)
            status = dial_first(visit, how, &number, error);
    }
    HAWSER_TRY(hw_cluster_agree(store->job->cluster, status, error));
    hw_told_seat seat = {.group = number, .node = store->self, .nodes = store->nodes, .workers = store->options.workers};
    status = share_way(visit, &seat.group, error);
    if (status == HAWSER_OK && store->self > 0)
        status = dial_first(visit, how, &number, error);
    if (status == HAWSER_OK)
        status = dial_others(visit, how, &seat, error);
    return hw_cluster_agree(store->job->cluster, status, error);
}

hawser_status hw_visit_open(hawser_store *store, hw_visit **out, hawser_error *error)
{
    hw_visit *visit = NULL;
    manner how = {0};
    hawser_status status = HW_NEW(&visit, 1, "a way to the servers", error);
    if (status == HAWSER_OK) {
        visit->store = store;
        pthread_mutex_init(&visit->mutex, NULL);
        (void)hw_thread_condition(&visit->changed);
        status = find_manner(store, &how, error);
    }
    status = hw_cluster_agree(store->job->cluster, status, error);
    if (status == HAWSER_OK)
        status = join(visit, &how, error);
    explicit_bzero(&how, sizeof how);
    if (status != HAWSER_OK) {
        hw_visit_close(visit);
        return status;
    }
    *out = visit;
    return HAWSER_OK;
}

hawser_status hw_visit_begin(hw_visit *visit, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    pthread_mutex_lock(&visit->mutex);
    visit->begun = true;
    if (visit->lost)
        status = hawser_fail(error, visit->loss.status, "%s", visit->loss.text);
    pthread_mutex_unlock(&visit->mutex);
    return status;
}

void hw_visit_close(hw_visit *visit)
{
    if (visit == NULL)
        return;
    pthread_mutex_lock(&visit->mutex);
    visit->begun = false;
    pthread_mutex_unlock(&visit->mutex);
    close_net(visit);
    hw_message_free(visit->answer);
    pthread_cond_destroy(&visit->changed);
    pthread_mutex_destroy(&visit->mutex);
    free(visit->cards);
    free(visit->names);
    free(visit);
}

uint32_t hw_visit_servers(const hw_visit *visit)
{
    return visit->servers;
}
