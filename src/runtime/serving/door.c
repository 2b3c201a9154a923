#include "runtime/serving/door_inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/thread.h"
#include "runtime/store/visit.h"

enum {
    NUMBERS_MOST = 1 << 21, /* server 0 hands out numbers below; others, for who asks the way there, from here on */
    ASKING_MOST = 16        /* words of a guest that may wait: it asks one at a time, and does not wait for ever */
};

void hw_desk_put(hw_desk *to, hw_message *message)
{
    message->next = NULL;
    *to->end = message;
    to->end = &message->next;
}

hw_message *hw_desk_take(hw_desk *from)
{
    hw_message *message = from->first;
    if (message == NULL)
        return NULL;
    from->first = message->next;
    if (from->first == NULL)
        from->end = &from->first;
    return message;
}

hw_guest *hw_door_find(hw_door *door, uint32_t number)
{
    hw_guest *one = door->guests[number % HW_DOOR_BUCKETS];
    while (one != NULL && one->number != number)
        one = one->next;
    return one;
}

/* ----------------------------------------------------------------------------------------------------------- answers ---- */

/* Who has gone needs none. */
static void send_word(hw_door *door, uint32_t to, hw_word word, uint64_t clock, hawser_status status, const void *data,
                      size_t length)
{
    hw_message *message = NULL;
    hawser_error ignored;
    if (hw_message_new(length, &message, &ignored) != HAWSER_OK)
        return;
    if (length > 0)
        memcpy(message->payload, data, length);
    message->envelope.kind = HW_MESSAGE_GUEST;
    message->envelope.part = word;
    message->envelope.clock = clock;
    message->envelope.state = (uint32_t)status;
    (void)!hw_net_send(door->net, to, message, &ignored);
}

static bool waits(const hw_message *asked)
{
    hw_word word = (hw_word)asked->envelope.part;
    return word != HW_WORD_WAY && word != HW_WORD_STAT;
}

void hw_door_answer(hw_door *door, hw_message *asked, hawser_status status, const void *data, size_t length,
                    const hawser_error *error)
{
    if (status != HAWSER_OK) {
        data = error->text;
        length = strlen(error->text);
    }
    pthread_mutex_lock(&door->mutex); /* under which the links of those who have gone are forgotten */
    hw_guest *one = hw_door_find(door, asked->origin);
    if (one != NULL) {
        send_word(door, asked->origin, HW_WORD_ANSWER, asked->envelope.clock, status, data, length);
        one->asking -= waits(asked);
    }
    pthread_mutex_unlock(&door->mutex);
    hw_message_free(asked);
}

void hw_door_reply(hw_door *door, uint32_t number, hw_message *message)
{
    hawser_error ignored;
    message->envelope.kind = HW_MESSAGE_ANSWER;
    (void)!hw_net_send(door->net, number, message, &ignored);
}

void hw_door_owe(hw_door *door, uint32_t number, int64_t bytes)
{
    hw_net_owe(door->net, number, bytes);
}

hw_message *hw_door_wait(hw_door *door, double seconds)
{
    struct timespec until = hw_timespec(hw_seconds() + seconds);
    pthread_mutex_lock(&door->mutex);
    if (door->common.first == NULL)
        pthread_cond_timedwait(&door->common_filled, &door->mutex, &until);
    hw_message *message = hw_desk_take(&door->common);
    pthread_mutex_unlock(&door->mutex);
    return message;
}

/* ------------------------------------------------------------------------------------------------------ coming, going ---- */

static hawser_status admit(void *argument, const hw_net_hello *hello, uint32_t *number, hawser_error *error)
{
    hw_door *door = argument;
    const hawser_store *store = door->store;
    hawser_status status = HAWSER_OK;
    pthread_mutex_lock(&door->mutex);
    *number = hello->node;
    uint32_t first = store->self == 0 ? store->servers : NUMBERS_MOST,
             end = store->self == 0 ? NUMBERS_MOST : 2 * NUMBERS_MOST;
    if (door->over) {
        status = hawser_fail(error, HAWSER_PEER_LOST, "the servers are about to end");
    } else if (!door->open) {
        status = hawser_fail(error, HAWSER_STOP, "the tables of the servers are not open yet");
    } else if (hello->node == HW_NET_ANY) {
        do
            door->next_number = door->next_number < first || door->next_number + 1 >= end ? first : door->next_number + 1;
        while (hw_door_find(door, door->next_number) != NULL);
        *number = door->next_number;
    } else if (hello->node < store->servers || hello->node >= NUMBERS_MOST || hw_door_find(door, hello->node) != NULL) {
        status = hawser_fail(error, HAWSER_PEER_LOST, "guest %u (%.60s) is no number that server 0 has given", hello->node,
                             hello->name);
    }
    pthread_mutex_unlock(&door->mutex);
    return status;
}

static void up(void *argument, uint32_t node, const hw_net_hello *hello)
{
    hw_door *door = argument;
    hw_guest *one = calloc(1, sizeof *one);
    if (one == NULL) {
        hw_net_dismiss(door->net, node);
        return;
    }
    one->number = node;
    memcpy(one->name, hello->name, sizeof one->name);
    pthread_mutex_lock(&door->mutex);
    one->next = door->guests[node % HW_DOOR_BUCKETS];
    door->guests[node % HW_DOOR_BUCKETS] = one;
    door->guest_count++;
    pthread_mutex_unlock(&door->mutex);
}

/* Nothing of the group is heard any more; its other guests learn why. The mutex is held. */
void hw_party_close(hw_door *door, hw_party *of, const char *why)
{
    if (of->closed)
        return;
    of->closed = true;
    snprintf(of->why, sizeof of->why, "%s", why);
    for (uint32_t b = 0; b < HW_DOOR_BUCKETS; b++)
        for (const hw_guest *one = door->guests[b]; one != NULL; one = one->next)
            if (one->party == of && !one->gone && !one->dropped)
                send_word(door, one->number, HW_WORD_ENDED, 0, HAWSER_PEER_LOST, of->why, strlen(of->why));
    door->stirred = true;
    pthread_cond_signal(&door->local_filled);
}

static void warn(const hw_door *door, const char *text)
{
    if (door->warn != NULL)
        door->warn(door->argument, text);
}

/* False: nobody knew of it, or it had been dropped. */
static bool go(hw_door *door, uint32_t node, const char *why)
{
    char text[300];
    pthread_mutex_lock(&door->mutex);
    hw_guest *one = hw_door_find(door, node);
    bool known = one != NULL && !one->dropped;
    if (one != NULL) {
        one->gone = true;
        snprintf(text, sizeof text, "this group is over: its node %u (%s) %s", one->node, one->name, why);
        if (one->party != NULL)
            hw_party_close(door, one->party, text);
        door->stirred = true;
        pthread_cond_signal(&door->local_filled);
    }
    pthread_mutex_unlock(&door->mutex);
    return known;
}

static void lost(void *argument, uint32_t node, const char *why, double silent)
{
    char text[200], line[300];
    (void)silent;
    snprintf(text, sizeof text, "was lost: %.180s", why);
    snprintf(line, sizeof line, "guest %u %s", node, text);
    if (go(argument, node, text))
        warn(argument, line);
}

static void left(void *argument, uint32_t node)
{
    (void)go(argument, node, "has left");
}

/* A guest that does what none does is sent away, and its group is over; whatever it goes on to say, nobody hears it. */
static void drop(hw_door *door, uint32_t node, const char *what)
{
    char text[500];
    pthread_mutex_lock(&door->mutex);
    hw_guest *one = hw_door_find(door, node);
    bool fresh = one != NULL && !one->gone && !one->dropped;
    if (fresh) {
        one->dropped = true;
        snprintf(text, sizeof text, "guest %u (%s) was sent away: it %.300s", node, one->name, what);
        send_word(door, node, HW_WORD_ENDED, 0, HAWSER_PEER_LOST, text, strlen(text));
        if (one->party != NULL)
            hw_party_close(door, one->party, text);
        hw_net_dismiss(door->net, node);
    }
    pthread_mutex_unlock(&door->mutex);
    if (fresh)
        warn(door, text);
}

static void refused(void *argument, const char *from, const char *why, uint64_t more)
{
    const hw_door *door = argument;
    char text[600], others[80] = "";
    if (more != 0)
        snprintf(others, sizeof others, " (and %llu more since this was last said)", (unsigned long long)more);
    snprintf(text, sizeof text, "turned away %.200s: %.300s%s", from, why, others);
    warn(door, text);
}

/* ------------------------------------------------------------------------------------------------------------- words ---- */

static void tell_way(hw_door *door, hw_message *asked)
{
    const hw_told_way told = {.servers = door->store->servers, .self = door->store->self};
    size_t length = sizeof told + told.servers * sizeof *door->cards;
    unsigned char *text = malloc(length);
    hawser_error error = {.text = "the server has no memory left"};
    if (text != NULL) {
        memcpy(text, &told, sizeof told);
        memcpy(text + sizeof told, door->cards, length - sizeof told);
    }
    hw_door_answer(door, asked, text != NULL ? HAWSER_OK : HAWSER_NO_MEMORY, text, length, &error);
    free(text);
}

static void tell_stat(hw_door *door, hw_message *asked)
{
    hawser_store *store = door->store;
    hw_server_figures figures;
    uint32_t tables = 0;
    hawser_error error = {.text = "the server has no memory left"};
    while (hw_server_table_at(store->server, tables) != NULL)
        tables++;
    size_t length = sizeof(hw_told_stat) + tables * sizeof(hw_told_count);
    unsigned char *text = calloc(1, length);
    hw_server_figures_of(store->server, &figures);
    hw_told_stat told = {
        .servers = store->servers,
        .self = store->self,
        .requests = figures.requests,
        .refused = figures.refused,
        .deferred = figures.deferred,
        .bytes_in = figures.bytes_in,
        .bytes_out = figures.bytes_out,
        .keys = figures.keys,
        .bytes = figures.bytes,
        .counted = figures.room_taken,
        .limit = figures.room,
    };
    snprintf(told.name, sizeof told.name, "%s", store->job->place.name);
    pthread_mutex_lock(&door->mutex);
    told.groups = door->group_count;
    told.guests = door->guest_count;
    pthread_mutex_unlock(&door->mutex);
    for (uint32_t t = 0; text != NULL && t < tables; t++) {
        hw_told_count count;
        hw_table_tell(hw_server_table_at(store->server, t), &count.table);
        hw_server_table_figures(store->server, t, &count.keys, &count.bytes);
        memcpy(text + sizeof told + t * sizeof count, &count, sizeof count);
    }
    if (text != NULL)
        memcpy(text, &told, sizeof told);
    hw_door_answer(door, asked, text != NULL ? HAWSER_OK : HAWSER_NO_MEMORY, text, length, &error);
    free(text);
}

/* For the clerk, or for all servers. */
static void put_down(hw_door *door, hw_message *asked)
{
    bool common = asked->envelope.part != HW_WORD_SEAT && asked->envelope.part != HW_WORD_KEYS;
    uint32_t node = asked->origin;
    pthread_mutex_lock(&door->mutex);
    hw_guest *one = hw_door_find(door, node);
    bool heard = one != NULL && !one->dropped, too_many = heard && one->asking >= ASKING_MOST;
    if (heard && !too_many) {
        one->asking++;
        hw_desk_put(common ? &door->common : &door->local, asked);
        pthread_cond_signal(common ? &door->common_filled : &door->local_filled);
    }
    pthread_mutex_unlock(&door->mutex);
    if (!heard || too_many)
        hw_message_free(asked);
    if (too_many)
        drop(door, node, "asks on and on, and does not wait for answers");
}

static void hear_word(hw_door *door, uint32_t node, hw_message *message)
{
    char what[100];
    message->origin = node;
    switch ((hw_word)message->envelope.part) {
    case HW_WORD_WAY: tell_way(door, message); return;
    case HW_WORD_STAT: tell_stat(door, message); return;
    case HW_WORD_SEAT:
    case HW_WORD_KEYS: put_down(door, message); return;
    case HW_WORD_TABLE:
    case HW_WORD_SAVE:
    case HW_WORD_LOAD:
        if (door->store->self != 0)
            break;
        put_down(door, message);
        return;
    case HW_WORD_ANSWER:
    case HW_WORD_ENDED: break;
    }
    snprintf(what, sizeof what, "said word %u, to which server %u has no answer", message->envelope.part, door->store->self);
    hw_message_free(message);
    drop(door, node, what);
}

/* One that has been seated; while its request is heard its group stays. */
static hw_seat *seat_of(hw_door *door, uint32_t node, hw_party **of, bool *stranger)
{
    pthread_mutex_lock(&door->mutex);
    const hw_guest *one = hw_door_find(door, node);
    *of = one != NULL ? one->party : NULL;
    *stranger = one != NULL && !one->sat;
    hw_seat *seat = *of != NULL && !(*of)->closed && !one->dropped ? one->seat : NULL;
    if (seat != NULL)
        atomic_fetch_add(&(*of)->hearing, 1);
    pthread_mutex_unlock(&door->mutex);
    return seat;
}

static void hear_request(hw_door *door, uint32_t node, hw_message *message)
{
    hawser_error error = {0};
    hw_party *of = NULL;
    bool stranger;
    hw_seat *seat = seat_of(door, node, &of, &stranger);
    if (seat == NULL) { /* it is on its way out, and knows it or will */
        hw_message_free(message);
        if (stranger)
            drop(door, node, "asked for numbers before it had a seat");
        return;
    }
    hawser_status status = hw_seat_hear(seat, message, &error);
    if (status == HAWSER_BAD_INPUT)
        drop(door, node, error.text);
    if (status != HAWSER_OK) {
        pthread_mutex_lock(&door->mutex);
        hw_party_close(door, of, error.text);
        pthread_mutex_unlock(&door->mutex);
    }
    atomic_fetch_sub(&of->hearing, 1);
}

static void arrived(void *argument, uint32_t node, hw_message *message)
{
    hw_door *door = argument;
    uint16_t kind = message->envelope.kind;
    char what[100];
    if (kind == HW_MESSAGE_ASK) {
        hear_request(door, node, message);
    } else if (kind == HW_MESSAGE_GUEST) {
        hear_word(door, node, message);
    } else {
        snprintf(what, sizeof what, "sent a message of kind %u, which is none of a guest's", kind);
        hw_message_free(message);
        drop(door, node, what);
    }
}

/* ----------------------------------------------------------------------------------------------------------- the door ---- */

static hawser_status open_net(hw_door *door, const hw_door_options *options, hawser_error *error)
{
    char build[HW_STORE_BUILD];
    hw_store_build(build);
    const hw_net_options net = {
        .job = HW_STORE_JOB,
        .key = options->key,
        .key_length = options->key_length,
        .node = door->store->self,
        .name = door->store->job->place.name,
        .build = build,
        .interface = options->interface,
        .port_low = options->port_low,
        .port_high = options->port_high,
        .directory = "@",
        .ring = HW_STORE_RING,
        .direct = true,
        .unread_most = options->unread_most > 0 ? options->unread_most : HW_STORE_UNREAD,
        .trust_fabric = options->trust_fabric,
        .failure_timeout = options->failure_timeout,
    };
    const hw_net_events events = {
        .argument = door, .admit = admit, .up = up, .arrived = arrived, .lost = lost, .left = left, .refused = refused};
    return hw_net_new(&net, &events, &door->net, error);
}

hawser_status hw_door_open(hawser_store *store, const hw_door_options *options, hw_door **out, hawser_error *error)
{
    enum { LEAST_DESCRIPTORS = 32 };
    hw_door *door = NULL;
    HAWSER_TRY(hw_machine_descriptors(LEAST_DESCRIPTORS, "a server of tables needs", "all", error));
    hw_machine_most_descriptors(); /* how many guests will come is not known */
    HAWSER_TRY(HW_NEW(&door, 1, "a door for guests", error));
    door->store = store;
    door->warn = options->warn;
    door->argument = options->argument;
    door->common.end = &door->common.first;
    door->local.end = &door->local.first;
    pthread_mutex_init(&door->mutex, NULL);
    (void)hw_thread_condition(&door->common_filled);
    (void)hw_thread_condition(&door->local_filled);
    hawser_status status = open_net(door, options, error);
    if (status != HAWSER_OK) {
        hw_door_free(door);
        return status;
    }
    *out = door;
    return HAWSER_OK;
}

const char *hw_door_card(const hw_door *door)
{
    return hw_net_address(door->net);
}

const char *hw_door_listening(const hw_door *door)
{
    return hw_net_listening(door->net);
}

hawser_status hw_door_begin(hw_door *door, const char (*cards)[HW_NET_ADDRESS], hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&door->cards, door->store->servers, "the servers' addresses", error));
    memcpy(door->cards, cards, door->store->servers * sizeof *door->cards);
    HAWSER_TRY(hw_clerk_start(door, error));
    pthread_mutex_lock(&door->mutex);
    door->open = true;
    pthread_mutex_unlock(&door->mutex);
    return HAWSER_OK;
}

void hw_door_end(hw_door *door, const char *words)
{
    enum { FAREWELL_SECONDS = 5 };
    pthread_mutex_lock(&door->mutex);
    door->open = false;
    for (uint32_t b = 0; b < HW_DOOR_BUCKETS; b++)
        for (const hw_guest *one = door->guests[b]; one != NULL; one = one->next)
            if (!one->gone)
                send_word(door, one->number, HW_WORD_ENDED, 0, HAWSER_PEER_LOST, words, strlen(words));
    door->over = true;
    pthread_cond_signal(&door->local_filled);
    pthread_mutex_unlock(&door->mutex);
    hw_clerk_stop(door);
    hw_net_stop(door->net, FAREWELL_SECONDS);
}

void hw_door_free(hw_door *door)
{
    if (door == NULL)
        return;
    hw_net_free(door->net);
    hw_messages_free(door->common.first);
    hw_messages_free(door->local.first);
    for (uint32_t b = 0; b < HW_DOOR_BUCKETS; b++)
        for (hw_guest *one = door->guests[b], *next; one != NULL; one = next) {
            next = one->next;
            free(one);
        }
    for (hw_party *of = door->parties, *next; of != NULL; of = next) {
        next = of->next;
        free(of);
    }
    pthread_cond_destroy(&door->common_filled);
    pthread_cond_destroy(&door->local_filled);
    pthread_mutex_destroy(&door->mutex);
    free(door->cards);
    free(door);
}
