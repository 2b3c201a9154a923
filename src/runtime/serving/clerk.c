/* clerk.c - a door's thread that does what concerns this server alone and may take time: seats, keys of tables, the ends of groups. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/order.h"
#include "base/thread.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/serving/door_inner.h"

enum {
    LATER_MILLISECONDS = 20, /* between two looks whether a group is over, or a table there to be read */
    KEYS_MOST = 1 << 20      /* in one answer */
};

/* The group of a seat, which its first guest here brings into being. */
static hawser_status party_of(hw_door *door, const hw_told_seat *told, hw_party **of, hawser_error *error)
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
    hw_party *made = NULL;
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

/* May this guest sit down as who it says it is? The mutex is held. */
static hawser_status check_guest(hw_door *door, const hw_guest *one, const hw_message *asked, const hw_told_seat *told,
                                 hawser_error *error)
{
    if (one == NULL || one->gone || one->dropped)
        return hawser_fail(error, HAWSER_PEER_LOST, "guest %u has gone, or there was no memory for it", asked->origin);
    if (one->sat)
        return hawser_fail(error, HAWSER_BAD_INPUT, "guest %u has a seat already", asked->origin);
    for (uint32_t b = 0; b < HW_DOOR_BUCKETS; b++)
        for (const hw_guest *other = door->guests[b]; other != NULL; other = other->next)
            if (other->party != NULL && other->party->told.group == told->group && other->node == told->node)
                return hawser_fail(error, HAWSER_BAD_INPUT, "node %u of group %u is here already", told->node, told->group);
    return HAWSER_OK;
}

static hawser_status take_seat(hw_door *door, const hw_message *asked, hawser_error *error)
{
    hw_told_seat told;
    hw_party *of = NULL;
    hw_seat *seat = NULL;
    if (asked->envelope.length != sizeof told)
        return hawser_fail(error, HAWSER_BAD_INPUT, "a guest has not said who it is");
    memcpy(&told, asked->payload, sizeof told);
    if (told.node >= told.nodes || told.nodes > HW_STORE_WORKERS_MOST || told.workers == 0 ||
        told.workers > HW_STORE_WORKERS_MOST / told.nodes)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "node %u of %u with %u workers each: a group has 1 to %d workers",
                           told.node, told.nodes, told.workers, HW_STORE_WORKERS_MOST);
    pthread_mutex_lock(&door->mutex);
    hw_guest *one = hw_door_find(door, asked->origin); /* the clerk alone removes guests */
    hawser_status status = check_guest(door, one, asked, &told, error);
    pthread_mutex_unlock(&door->mutex);
    HAWSER_TRY(status);
    HAWSER_TRY(party_of(door, &told, &of, error));
    status = hw_seat_new(of->group, asked->origin, &seat, error);
    pthread_mutex_lock(&door->mutex);
    if (status == HAWSER_OK) {
        one->party = of;
        one->sat = true;
        one->seat = seat;
        one->node = told.node;
        of->seated++;
    }
    if (one->gone || one->dropped || of->seated == 0)
        hw_party_close(door, of, "this group is over: one of its nodes went at once");
    pthread_mutex_unlock(&door->mutex);
    return status;
}

/* Keys of a sparse table from first to last, the least `most` of them. *later: it is being loaded. */
static hawser_status list_keys(hw_door *door, const hw_message *asked, uint64_t **keys, size_t *count, bool *later,
                               hawser_error *error)
{
    hawser_store *store = door->store;
    hw_told_keys told = {0};
    if (asked->envelope.length == sizeof told)
        memcpy(&told, asked->payload, sizeof told);
    const hw_table_spec *spec = hw_server_table_at(store->server, told.table);
    if (asked->envelope.length != sizeof told || spec == NULL || !spec->sparse)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "there is no sparse table %u to list keys of", told.table);
    *later = !hw_store_hold(store, told.table, false);
    if (*later)
        return HAWSER_OK;
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
    qsort(*keys, *count, sizeof **keys, hw_ascending);
    uint64_t most = told.most < KEYS_MOST ? told.most : KEYS_MOST;
    if (*count > most)
        *count = (size_t)most;
    return HAWSER_OK;
}

/* False: it cannot be done yet. */
static bool do_word(hw_door *door, hw_message *asked)
{
    hawser_error error = {0};
    hawser_status status = HAWSER_OK;
    uint64_t *keys = NULL;
    size_t count = 0;
    bool later = false;
    if (asked->envelope.part == HW_WORD_SEAT) {
        pthread_mutex_lock(&door->store->making);
        status = take_seat(door, asked, &error);
        pthread_mutex_unlock(&door->store->making);
    } else {
        status = list_keys(door, asked, &keys, &count, &later, &error);
    }
    if (!later)
        hw_door_answer(door, asked, status, keys, count * sizeof *keys, &error);
    free(keys);
    return !later;
}

/* Guests that are gone and have no group any more; the mutex is held. */
static void forget_gone(hw_door *door)
{
    for (uint32_t b = 0; b < HW_DOOR_BUCKETS; b++)
        for (hw_guest **at = &door->guests[b]; *at != NULL;) {
            hw_guest *one = *at;
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
static hw_party *take_over(hw_door *door)
{
    hw_party **at = &door->parties;
    while (*at != NULL && !((*at)->ended && hw_group_over((*at)->group)))
        at = &(*at)->next;
    hw_party *of = *at;
    if (of == NULL)
        return NULL;
    *at = of->next;
    door->group_count--;
    for (uint32_t b = 0; b < HW_DOOR_BUCKETS; b++)
        for (hw_guest *one = door->guests[b]; one != NULL; one = one->next)
            if (one->party == of) {
                one->party = NULL;
                one->seat = NULL;
            }
    return of;
}

/* Somebody may still be hearing a request of a group that has just been closed. */
static bool may_end(hw_party *of)
{
    return of->closed && !of->ended && atomic_load(&of->hearing) == 0;
}

/* Ends what is to be ended, frees what has. True: something is still on its way. */
static bool look_after(hw_door *door)
{
    bool ending = false;
    for (;;) {
        hw_party *of;
        pthread_mutex_lock(&door->mutex);
        for (of = door->parties; of != NULL && !may_end(of);)
            of = of->next;
        bool fresh = of != NULL;
        if (of == NULL)
            of = take_over(door);
        if (of == NULL) {
            forget_gone(door);
            for (const hw_party *one = door->parties; one != NULL; one = one->next)
                ending |= one->closed;
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

/* Words that may be done by now, in order; what may not stays. */
static void do_words(hw_door *door, hw_desk *waiting)
{
    hw_desk now = *waiting;
    if (now.first == NULL)
        return;
    *waiting = (hw_desk){.end = &waiting->first};
    while (now.first != NULL) {
        hw_message *asked = hw_desk_take(&now);
        if (!do_word(door, asked))
            hw_desk_put(waiting, asked);
    }
}

static void sleep_shortly(hw_door *door)
{
    struct timespec until = hw_timespec(hw_seconds() + 1e-3 * LATER_MILLISECONDS);
    pthread_cond_timedwait(&door->local_filled, &door->mutex, &until);
}

static void *clerk_main(void *argument)
{
    hw_door *door = argument;
    hw_desk waiting = {.end = &waiting.first};
    pthread_mutex_lock(&door->mutex);
    while (!door->over) {
        hw_message *asked = hw_desk_take(&door->local);
        door->stirred = false;
        pthread_mutex_unlock(&door->mutex);
        do_words(door, &waiting);
        if (asked != NULL && !do_word(door, asked))
            hw_desk_put(&waiting, asked);
        bool ending = look_after(door);
        pthread_mutex_lock(&door->mutex);
        bool idle = !door->stirred && door->local.first == NULL && !door->over;
        if (idle && (ending || waiting.first != NULL))
            sleep_shortly(door);
        else if (idle)
            pthread_cond_wait(&door->local_filled, &door->mutex);
    }
    pthread_mutex_unlock(&door->mutex);
    hw_messages_free(waiting.first);
    return NULL;
}

hawser_status hw_clerk_start(hw_door *door, hawser_error *error)
{
    int failure = hw_thread_start(&door->clerk, clerk_main, door);
    if (failure != 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot start a thread of the server: %s", strerror(failure));
    door->clerk_runs = true;
    return HAWSER_OK;
}

void hw_clerk_stop(hw_door *door)
{
    if (door->clerk_runs)
        pthread_join(door->clerk, NULL);
    door->clerk_runs = false;
}
