#include "runtime/store/door.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "runtime/store/checkpoint.h"
#include "runtime/store/visit.h"

enum {
    BUCKETS = 256,           /* of guests, by number */
    NUMBERS_MOST = 1 << 21,  /* server 0 hands out numbers below; others, for who asks the way there, from here on */
    ENDING_MILLISECONDS = 20 /* between two looks whether a group is over */
};

/* A group. */
typedef struct party {
    struct party *next;
    hw_told_seat told; /* of its first seat here; .group is its number */
    hw_group *group;
    uint32_t seated;
    bool closed, ended; /* nothing of it is heard; the server has been told */
    char why[300];
} party;

typedef struct guest {
    struct guest *next;
    uint32_t number, node;
    char name[HW_NET_NAME];
    party *party; /* NULL: it has no seat */
    hw_seat *seat;
    bool gone;
} guest;

/* Words that wait. */
typedef struct desk {
    hw_message *first, **end;
} desk;

struct hw_door {
    hawser_store *store;
    hw_net *net;
    void (*warn)(const char *text);
    char (*cards)[HW_NET_ADDRESS];
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t common_filled, local_filled;
    desk common, local; /* for all servers; for the clerk */
    guest *guests[BUCKETS];
    party *parties;
    uint32_t next_number, guest_count, group_count;
    bool open, over;
    bool stirred; /* somebody has gone, or is to go, since the clerk last looked */
    pthread_t clerk;
    bool clerk_runs;
};

static void put(desk *to, hw_message *message)
{
    message->next = NULL;
    *to->end = message;
    to->end = &message->next;
}

static hw_message *take(desk *from)
{
    hw_message *message = from->first;
    if (message == NULL)
        return NULL;
    from->first = message->next;
    if (from->first == NULL)
        from->end = &from->first;
    return message;
}

static guest *find(hw_door *door, uint32_t number)
{
    guest *one = door->guests[number % BUCKETS];
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

void hw_door_answer(hw_door *door, hw_message *asked, hawser_status status, const void *data, size_t length,
                    const hawser_error *error)
{
    if (status != HAWSER_OK) {
        data = error->text;
        length = strlen(error->text);
    }
    pthread_mutex_lock(&door->mutex); /* under which the links of those who have gone are forgotten */
    if (find(door, asked->origin) != NULL)
        send_word(door, asked->origin, HW_WORD_ANSWER, asked->envelope.clock, status, data, length);
    pthread_mutex_unlock(&door->mutex);
    hw_message_free(asked);
}

void hw_door_reply(hw_door *door, uint32_t number, hw_message *message)
{
    hawser_error ignored;
    message->envelope.kind = HW_MESSAGE_ANSWER;
    (void)!hw_net_send(door->net, number, message, &ignored);
}

hw_message *hw_door_wait(hw_door *door, double seconds)
{
    double deadline = hw_seconds() + seconds, whole = (double)(time_t)deadline;
    struct timespec until = {(time_t)deadline, (long)((deadline - whole) * 1e9)};
    pthread_mutex_lock(&door->mutex);
    if (door->common.first == NULL)
        pthread_cond_timedwait(&door->common_filled, &door->mutex, &until);
    hw_message *message = take(&door->common);
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
    if (!door->open) {
        status = hawser_fail(error, HAWSER_PEER_LOST, "the store is not open");
    } else if (hello->node == HW_NET_ANY) {
        do
            door->next_number = door->next_number < first || door->next_number + 1 >= end ? first : door->next_number + 1;
        while (find(door, door->next_number) != NULL);
        *number = door->next_number;
    } else if (hello->node < store->servers || hello->node >= NUMBERS_MOST || find(door, hello->node) != NULL) {
        status = hawser_fail(error, HAWSER_PEER_LOST, "guest %u (%.60s) is no number that server 0 has given", hello->node,
                             hello->name);
    }
    pthread_mutex_unlock(&door->mutex);
    return status;
}

static void up(void *argument, uint32_t node, const hw_net_hello *hello)
{
    hw_door *door = argument;
    guest *one = calloc(1, sizeof *one);
    if (one == NULL)
        return; /* it will be told so when it asks for something */
    one->number = node;
    memcpy(one->name, hello->name, sizeof one->name);
    pthread_mutex_lock(&door->mutex);
    one->next = door->guests[node % BUCKETS];
    door->guests[node % BUCKETS] = one;
    door->guest_count++;
    pthread_mutex_unlock(&door->mutex);
}

/* Nothing of the group is heard any more; its other guests learn why. The mutex is held. */
static void close_party(hw_door *door, party *of, const char *why)
{
    if (of->closed)
        return;
    of->closed = true;
    snprintf(of->why, sizeof of->why, "%s", why);
    for (uint32_t b = 0; b < BUCKETS; b++)
        for (const guest *one = door->guests[b]; one != NULL; one = one->next)
            if (one->party == of && !one->gone)
                send_word(door, one->number, HW_WORD_ENDED, 0, HAWSER_PEER_LOST, of->why, strlen(of->why));
    door->stirred = true;
    pthread_cond_signal(&door->local_filled);
}

static void go(hw_door *door, uint32_t node, const char *why)
{
    char text[300];
    pthread_mutex_lock(&door->mutex);
    guest *one = find(door, node);
    if (one != NULL) {
        one->gone = true;
        snprintf(text, sizeof text, "this group is over: its node %u (%s) %s", one->node, one->name, why);
        if (one->party != NULL)
            close_party(door, one->party, text);
        door->stirred = true;
        pthread_cond_signal(&door->local_filled);
    }
    pthread_mutex_unlock(&door->mutex);
}

static void lost(void *argument, uint32_t node, const char *why, double silent)
{
    char text[200];
    (void)silent;
    snprintf(text, sizeof text, "was lost: %.180s", why);
    go(argument, node, text);
}

static void left(void *argument, uint32_t node)
{
    go(argument, node, "has left");
}

static void refused(void *argument, const char *from, const char *why, uint64_t more)
{
    const hw_door *door = argument;
    char text[600], others[80] = "";
    if (door->warn == NULL)
        return;
    if (more != 0)
        snprintf(others, sizeof others, " (and %llu more since this was last said)", (unsigned long long)more);
    snprintf(text, sizeof text, "turned away %.200s: %.300s%s", from, why, others);
    door->warn(text);
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

static void hear_word(hw_door *door, uint32_t node, hw_message *message)
{
    hawser_error error = {0};
    hw_word word = (hw_word)message->envelope.part;
    message->origin = node;
    switch (word) {
    case HW_WORD_WAY: tell_way(door, message); return;
    case HW_WORD_STAT: tell_stat(door, message); return;
    case HW_WORD_SEAT:
    case HW_WORD_KEYS:
        pthread_mutex_lock(&door->mutex);
        put(&door->local, message);
        pthread_cond_signal(&door->local_filled);
        pthread_mutex_unlock(&door->mutex);
        return;
    case HW_WORD_TABLE:
    case HW_WORD_SAVE:
    case HW_WORD_LOAD:
        if (door->store->self != 0)
            break;
        pthread_mutex_lock(&door->mutex);
        put(&door->common, message);
        pthread_cond_signal(&door->common_filled);
        pthread_mutex_unlock(&door->mutex);
        return;
    case HW_WORD_ANSWER:
    case HW_WORD_ENDED: break;
    }
    hawser_status status = hawser_fail(&error, HAWSER_BAD_INPUT, "server %u has no answer to word %u", door->store->self,
                                       message->envelope.part);
    hw_door_answer(door, message, status, NULL, 0, &error);
}

static void hear_request(hw_door *door, uint32_t node, hw_message *message)
{
    hawser_error error = {0};
    pthread_mutex_lock(&door->mutex);
    const guest *one = find(door, node);
    party *of = one != NULL ? one->party : NULL;
    hw_seat *seat = of != NULL && !of->closed ? one->seat : NULL;
    pthread_mutex_unlock(&door->mutex);
    if (seat == NULL) { /* it is on its way out, and knows it or will */
        hw_message_free(message);
        return;
    }
    if (hw_seat_hear(seat, message, &error) == HAWSER_OK)
        return;
    pthread_mutex_lock(&door->mutex);
    close_party(door, of, error.text);
    pthread_mutex_unlock(&door->mutex);
}

static void arrived(void *argument, uint32_t node, hw_message *message)
{
    hw_door *door = argument;
    if (message->envelope.kind == HW_MESSAGE_ASK)
        hear_request(door, node, message);
    else if (message->envelope.kind == HW_MESSAGE_GUEST)
        hear_word(door, node, message);
    else
        hw_message_free(message);
}

/* ------------------------------------------------------------------------------------------------------------- clerk ---- */

/* The group of a seat, which its first guest here brings into being. */
static hawser_status party_of(hw_door *door, const hw_told_seat *told, party **of, hawser_error *error)
{
    pthread_mutex_lock(&door->mutex);
    for (*of = door->parties; *of != NULL && (*of)->told.group != told->group;)
        *of = (*of)->next;
    bool closed = *of != NULL && (*of)->closed;
    pthread_mutex_unlock(&door->mutex);
    if (closed)
        return hawser_fail(error, HAWSER_PEER_LOST, "%s", (*of)->why);
    if (*of != NULL && ((*of)->told.nodes != told->nodes || (*of)->told.workers != told->workers))
        return hawser_fail(error, HAWSER_BAD_INPUT, "nodes of a group differ in how many nodes or workers it has");
    if (*of != NULL)
        return HAWSER_OK;
    party *made = NULL;
    HAWSER_TRY(HW_NEW(&made, 1, "a group of guests", error));
    made->told = *told;
    hawser_status status = hw_group_new(door->store->server, told->nodes * told->workers, &made->group, error);
    if (status != HAWSER_OK) {
        free(made);
        return status;
    }
    pthread_mutex_lock(&door->mutex);
    made->next = door->parties;
    door->parties = made;
    door->group_count++;
    pthread_mutex_unlock(&door->mutex);
    *of = made;
    return HAWSER_OK;
}

static hawser_status take_seat(hw_door *door, const hw_message *asked, hawser_error *error)
{
    hw_told_seat told;
    party *of = NULL;
    hw_seat *seat = NULL;
    if (asked->envelope.length != sizeof told)
        return hawser_fail(error, HAWSER_BAD_INPUT, "a guest has not said who it is");
    memcpy(&told, asked->payload, sizeof told);
    if (told.node >= told.nodes || told.nodes > HW_STORE_WORKERS_MOST || told.workers > HW_STORE_WORKERS_MOST / told.nodes)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "node %u of %u with %u workers each: a group has %d workers at most",
                           told.node, told.nodes, told.workers, HW_STORE_WORKERS_MOST);
    pthread_mutex_lock(&door->mutex);
    guest *one = find(door, asked->origin); /* the clerk alone removes guests */
    bool here = one != NULL && !one->gone, sits = one != NULL && one->party != NULL;
    pthread_mutex_unlock(&door->mutex);
    if (!here)
        return hawser_fail(error, HAWSER_PEER_LOST, "guest %u has gone, or there was no memory for it", asked->origin);
    if (sits)
        return hawser_fail(error, HAWSER_BAD_INPUT, "guest %u has a seat already", asked->origin);
    HAWSER_TRY(party_of(door, &told, &of, error));
    hawser_status status = hw_seat_new(of->group, asked->origin, &seat, error);
    pthread_mutex_lock(&door->mutex);
    if (status == HAWSER_OK) {
        one->party = of;
        one->seat = seat;
        one->node = told.node;
        of->seated++;
    }
    if (one->gone || of->seated == 0)
        close_party(door, of, "this group is over: one of its nodes went at once");
    pthread_mutex_unlock(&door->mutex);
    return status;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Keys of a sparse table from first to last, the least `most` of them. */
static hawser_status list_keys(hw_door *door, const hw_message *asked, uint64_t **keys, size_t *count, hawser_error *error)
{
    hawser_store *store = door->store;
    hw_told_keys told = {0};
    if (asked->envelope.length == sizeof told)
        memcpy(&told, asked->payload, sizeof told);
    const hw_table_spec *spec = hw_server_table_at(store->server, told.table);
    if (asked->envelope.length != sizeof told || spec == NULL || !spec->sparse)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no sparse table %u to list keys of", told.table);
    hw_store_hold(store, told.table);
    size_t rows = (size_t)hw_server_rows(store->server, told.table);
    hw_cursor cursor = {0};
    hawser_status status = HW_NEW(keys, rows + 1, "the keys of a table", error);
    if (status == HAWSER_OK)
        rows = hw_server_take_rows(store->server, told.table, &cursor, rows, HW_PART_KEYS, (unsigned char *)*keys);
    hw_store_release(store, told.table);
    HAWSER_TRY(status);
    *count = 0;
    for (size_t i = 0; i < rows; i++)
        if ((*keys)[i] >= told.first && (*keys)[i] <= told.last)
            (*keys)[(*count)++] = (*keys)[i];
    qsort(*keys, *count, sizeof **keys, ascending);
    if (*count > told.most)
        *count = (size_t)told.most;
    return HAWSER_OK;
}

static void do_word(hw_door *door, hw_message *asked)
{
    hawser_error error = {0};
    hawser_status status = HAWSER_OK;
    uint64_t *keys = NULL;
    size_t count = 0;
    if (asked->envelope.part == HW_WORD_SEAT) {
        pthread_mutex_lock(&door->store->making);
        status = take_seat(door, asked, &error);
        pthread_mutex_unlock(&door->store->making);
    } else {
        status = list_keys(door, asked, &keys, &count, &error);
    }
    hw_door_answer(door, asked, status, keys, count * sizeof *keys, &error);
    free(keys);
}

/* Guests that are gone and have no group any more; the mutex is held. */
static void forget_gone(hw_door *door)
{
    for (uint32_t b = 0; b < BUCKETS; b++)
        for (guest **at = &door->guests[b]; *at != NULL;) {
            guest *one = *at;
            if (!one->gone || one->party != NULL) {
                at = &one->next;
                continue;
            }
            *at = one->next;
            hw_net_forget(door->net, one->number);
            door->guest_count--;
            free(one);
        }
}

/* Takes a group that is over out of the book; NULL: none is. The mutex is held. */
static party *take_over(hw_door *door)
{
    party **at = &door->parties;
    while (*at != NULL && !((*at)->ended && hw_group_over((*at)->group)))
        at = &(*at)->next;
    party *of = *at;
    if (of == NULL)
        return NULL;
    *at = of->next;
    door->group_count--;
    for (uint32_t b = 0; b < BUCKETS; b++)
        for (guest *one = door->guests[b]; one != NULL; one = one->next)
            if (one->party == of) {
                one->party = NULL;
                one->seat = NULL;
            }
    return of;
}

/* Ends what is to be ended, frees what has. True: something is still on its way. */
static bool look_after(hw_door *door)
{
    bool ending = false;
    for (;;) {
        party *of;
        pthread_mutex_lock(&door->mutex);
        for (of = door->parties; of != NULL && !(of->closed && !of->ended);)
            of = of->next;
        bool fresh = of != NULL;
        if (of == NULL)
            of = take_over(door);
        if (of == NULL) {
            forget_gone(door);
            for (const party *one = door->parties; one != NULL; one = one->next)
                ending |= one->ended;
        }
        pthread_mutex_unlock(&door->mutex);
        if (of == NULL)
            return ending;
        pthread_mutex_lock(&door->store->making);
        if (fresh)
            hw_group_end(of->group);
        else
            hw_group_free(of->group);
        pthread_mutex_unlock(&door->store->making);
        of->ended = true;
        if (!fresh)
            free(of);
    }
}

static void *clerk_main(void *argument)
{
    hw_door *door = argument;
    pthread_mutex_lock(&door->mutex);
    while (!door->over) {
        hw_message *asked = take(&door->local);
        door->stirred = false;
        pthread_mutex_unlock(&door->mutex);
        if (asked != NULL)
            do_word(door, asked);
        bool ending = look_after(door);
        pthread_mutex_lock(&door->mutex);
        bool idle = !door->stirred && door->local.first == NULL && !door->over;
        if (idle && ending) {
            struct timespec until;
            clock_gettime(CLOCK_MONOTONIC, &until);
            until.tv_nsec += ENDING_MILLISECONDS * 1000000L;
            until.tv_sec += until.tv_nsec / 1000000000;
            until.tv_nsec %= 1000000000;
            pthread_cond_timedwait(&door->local_filled, &door->mutex, &until);
        } else if (idle) {
            pthread_cond_wait(&door->local_filled, &door->mutex);
        }
    }
    pthread_mutex_unlock(&door->mutex);
    return NULL;
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
        .trust_fabric = options->trust_fabric,
        .failure_timeout = options->failure_timeout,
    };
    const hw_net_events events = {
        .argument = door, .admit = admit, .up = up, .arrived = arrived, .lost = lost, .left = left, .refused = refused};
    return hw_net_new(&net, &events, &door->net, error);
}

hawser_status hw_door_open(hawser_store *store, const hw_door_options *options, hw_door **out, hawser_error *error)
{
    hw_door *door = NULL;
    HAWSER_TRY(HW_NEW(&door, 1, "a door for guests", error));
    door->store = store;
    door->warn = options->warn;
    door->common.end = &door->common.first;
    door->local.end = &door->local.first;
    pthread_mutex_init(&door->mutex, NULL);
    hw_hub_condition(&door->common_filled);
    hw_hub_condition(&door->local_filled);
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

hawser_status hw_door_begin(hw_door *door, const char (*cards)[HW_NET_ADDRESS], hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&door->cards, door->store->servers, "the servers' addresses", error));
    memcpy(door->cards, cards, door->store->servers * sizeof *door->cards);
    int failure = hw_thread_start(&door->clerk, clerk_main, door);
    if (failure != 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot start a thread of the server: %s", strerror(failure));
    door->clerk_runs = true;
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
    for (uint32_t b = 0; b < BUCKETS; b++)
        for (const guest *one = door->guests[b]; one != NULL; one = one->next)
            if (!one->gone)
                send_word(door, one->number, HW_WORD_ENDED, 0, HAWSER_PEER_LOST, words, strlen(words));
    door->over = true;
    pthread_cond_signal(&door->local_filled);
    pthread_mutex_unlock(&door->mutex);
    if (door->clerk_runs)
        pthread_join(door->clerk, NULL);
    door->clerk_runs = false;
    hw_net_stop(door->net, FAREWELL_SECONDS);
}

void hw_door_free(hw_door *door)
{
    if (door == NULL)
        return;
    hw_net_free(door->net);
    for (hw_message *message; (message = take(&door->common)) != NULL || (message = take(&door->local)) != NULL;)
        hw_message_free(message);
    for (uint32_t b = 0; b < BUCKETS; b++)
        for (guest *one = door->guests[b], *next; one != NULL; one = next) {
            next = one->next;
            free(one);
        }
    for (party *of = door->parties, *next; of != NULL; of = next) {
        next = of->next;
        free(of);
    }
    pthread_cond_destroy(&door->common_filled);
    pthread_cond_destroy(&door->local_filled);
    pthread_mutex_destroy(&door->mutex);
    free(door->cards);
    free(door);
}
