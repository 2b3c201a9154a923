#include "cluster/members.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/view.h"

/* A noted loss. The reason is on the heap, since most nodes are never lost. */
typedef struct noted {
    uint64_t number;
    uint32_t node, reported;
    bool stays;
    double silent, at;
    const char *during;
    char *why; /* NULL: there was no memory for it */
} noted;

enum {
    LAUNCHER,
    UNKNOWN,
    OTHERS
}; /* what can be lost beside the members: the launcher, and a node whose number is none of the cluster's */

struct hw_members {
    uint32_t most, view;
    hw_member *own;             /* records that were set; unused pages of a large list cost nothing */
    _Atomic(hw_message *) list; /* whose payload has the records of `listed` nodes, if it was adopted */
    uint32_t listed;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t called; /* a call of a subscriber has ended */
    bool *lost;            /* by node, and the others */
    noted *losses;         /* in order */
    uint32_t count;
    uint64_t number;                         /* of the newest event */
    char reserve[sizeof((hw_loss *)0)->why]; /* for one reason, so that lack of memory cannot hide the first */
    hw_subscriber *subscribers;              /* in the order of their subscription */
    hw_subscriber *calling;                  /* the one that is being called */
    bool delivering;
    pthread_t deliverer;
};

hawser_status hw_members_new(uint32_t most, hw_members **out, hawser_error *error)
{
    hw_members *members = NULL;
    *out = NULL;
    HAWSER_TRY(HW_NEW(&members, 1, "the members of a cluster", error));
    members->most = most;
    members->view = HW_VIEW_FIRST;
    pthread_mutex_init(&members->mutex, NULL);
    pthread_cond_init(&members->called, NULL);
    hawser_status status = HW_NEW(&members->own, most, "the members of a cluster", error);
    HAWSER_THEN(status, HW_NEW(&members->lost, (size_t)most + OTHERS, "the members of a cluster", error));
    HAWSER_THEN(status, HW_NEW(&members->losses, (size_t)most + OTHERS, "the members of a cluster", error));
    if (status != HAWSER_OK) {
        hw_members_free(members);
        return status;
    }
    *out = members;
    return HAWSER_OK;
}

static void free_reason(const hw_members *members, char *why)
{
    if (why != members->reserve)
        free(why);
}

void hw_members_free(hw_members *members)
{
    if (members == NULL)
        return;
    for (uint32_t i = 0; i < members->count; i++)
        free_reason(members, members->losses[i].why);
    free(members->losses);
    free(members->lost);
    hw_message_free(atomic_load(&members->list));
    free(members->own);
    pthread_cond_destroy(&members->called);
    pthread_mutex_destroy(&members->mutex);
    free(members);
}

const hw_member *hw_members_at(const hw_members *members, uint32_t node)
{
    const hw_message *list = atomic_load_explicit(&members->list, memory_order_acquire);
    return list != NULL && node < members->listed ? (const hw_member *)list->payload + node : &members->own[node];
}

void hw_members_adopt(hw_members *members, hw_message *list)
{
    members->listed = (uint32_t)(list->envelope.length / sizeof(hw_member));
    atomic_store_explicit(&members->list, list, memory_order_release);
}

void hw_members_set(hw_members *members, const hw_member *member)
{
    pthread_mutex_lock(&members->mutex);
    members->own[member->node] = *member;
    pthread_mutex_unlock(&members->mutex);
}

uint32_t hw_members_view(hw_members *members)
{
    pthread_mutex_lock(&members->mutex);
    uint32_t view = members->view;
    pthread_mutex_unlock(&members->mutex);
    return view;
}

/* -------------------------------------------------------------------------------------------------------- delivery ---- */

static void write_event(const hw_members *members, const noted *loss, hw_member_event *event)
{
    *event = (hw_member_event){.number = loss->number,
                               .view = members->view,
                               .stays = loss->stays,
                               .at = loss->at,
                               .during = loss->during,
                               .loss = {.node = loss->node, .reported = loss->reported, .silent = loss->silent}};
    if (loss->node < members->most) {
        const hw_member *member = hw_members_at(members, loss->node);
        event->incarnation = member->incarnation;
        memcpy(event->loss.name, member->name, sizeof event->loss.name);
    }
    const char *why = loss->why != NULL ? loss->why : "there was no memory for the reason";
    memcpy(event->loss.why, why, strlen(why) + 1);
}

/* Returns the subscriber that is to receive the oldest event which some subscriber has not seen, with that event; NULL: all
 * have seen all. */
static hw_subscriber *behind(const hw_members *members, hw_member_event *event)
{
    for (uint32_t i = 0; i < members->count; i++)
        for (hw_subscriber *s = members->subscribers; s != NULL; s = s->next)
            if (s->seen < members->losses[i].number) {
                write_event(members, &members->losses[i], event);
                return s;
            }
    return NULL;
}

/* Calls all subscribers that have not seen an event. The mutex is held, but not during a call. After a call the subscriber
 * may be gone. */
static void deliver(hw_members *members)
{
    hw_member_event event;
    hw_subscriber *subscriber;
    if (members->delivering)
        return;
    members->delivering = true;
    members->deliverer = pthread_self();
    while ((subscriber = behind(members, &event)) != NULL) {
        subscriber->seen = event.number;
        members->calling = subscriber;
        pthread_mutex_unlock(&members->mutex);
        subscriber->changed(subscriber->argument, &event);
        pthread_mutex_lock(&members->mutex);
        members->calling = NULL;
        pthread_cond_broadcast(&members->called);
    }
    members->delivering = false;
}

void hw_members_subscribe(hw_members *members, hw_subscriber *subscriber)
{
    pthread_mutex_lock(&members->mutex);
    hw_subscriber **at = &members->subscribers;
    while (*at != NULL)
        at = &(*at)->next;
    subscriber->seen = 0;
    subscriber->next = NULL;
    *at = subscriber;
    deliver(members);
    pthread_mutex_unlock(&members->mutex);
}

void hw_members_unsubscribe(hw_members *members, hw_subscriber *subscriber)
{
    pthread_mutex_lock(&members->mutex);
    hw_subscriber **at = &members->subscribers;
    while (*at != NULL && *at != subscriber)
        at = &(*at)->next;
    if (*at != NULL)
        *at = subscriber->next;
    bool within = members->delivering && pthread_equal(members->deliverer, pthread_self()) != 0;
    while (members->calling == subscriber && !within)
        pthread_cond_wait(&members->called, &members->mutex);
    pthread_mutex_unlock(&members->mutex);
}

/* ---------------------------------------------------------------------------------------------------------- losses ---- */

/* Copies a reason to the heap, or else to the reserve if no other is there. */
static char *keep_reason(hw_members *members, const char *why)
{
    size_t length = strnlen(why, sizeof members->reserve - 1);
    char *kept = malloc(length + 1);
    bool is_used = false;
    for (uint32_t i = 0; i < members->count; i++)
        is_used = is_used || members->losses[i].why == members->reserve;
    if (kept == NULL && !is_used)
        kept = members->reserve;
    if (kept != NULL) {
        memcpy(kept, why, length);
        kept[length] = '\0';
    }
    return kept;
}

/* Returns where `lost` has a node. */
static uint32_t place_of(const hw_members *members, uint32_t node)
{
    return node < members->most ? node : members->most + (node == HW_NET_ANY ? LAUNCHER : UNKNOWN);
}

bool hw_members_lose(hw_members *members, const hw_loss *loss, bool stays, const char *during)
{
    uint32_t place = place_of(members, loss->node);
    pthread_mutex_lock(&members->mutex);
    bool is_new = !members->lost[place];
    for (uint32_t i = 0; !is_new && i < members->count; i++)
        if (place_of(members, members->losses[i].node) == place)
            members->losses[i].stays = members->losses[i].stays || stays;
    if (is_new) {
        members->lost[place] = true;
        members->losses[members->count++] = (noted){.number = ++members->number,
                                                    .node = loss->node,
                                                    .reported = loss->reported,
                                                    .stays = stays,
                                                    .silent = loss->silent,
                                                    .at = hw_seconds(),
                                                    .during = during,
                                                    .why = keep_reason(members, loss->why)};
        deliver(members);
    }
    pthread_mutex_unlock(&members->mutex);
    return is_new;
}

bool hw_members_is_lost(hw_members *members, uint32_t node)
{
    uint32_t place = place_of(members, node);
    pthread_mutex_lock(&members->mutex);
    bool lost = members->lost[place];
    pthread_mutex_unlock(&members->mutex);
    return lost;
}

bool hw_members_loss(hw_members *members, uint32_t place, hw_member_event *event)
{
    pthread_mutex_lock(&members->mutex);
    bool is_one = place < members->count;
    if (is_one)
        write_event(members, &members->losses[place], event);
    pthread_mutex_unlock(&members->mutex);
    return is_one;
}

bool hw_members_loss_of(hw_members *members, uint32_t node, hw_member_event *event)
{
    bool found = false;
    pthread_mutex_lock(&members->mutex);
    for (uint32_t i = 0; i < members->count && !found; i++)
        if (members->losses[i].node == node) {
            write_event(members, &members->losses[i], event);
            found = true;
        }
    pthread_mutex_unlock(&members->mutex);
    return found;
}

void hw_members_begin_job(hw_members *members)
{
    uint32_t kept = 0;
    pthread_mutex_lock(&members->mutex);
    for (uint32_t i = 0; i < members->count; i++) {
        noted *loss = &members->losses[i];
        if (loss->stays) {
            members->losses[kept++] = *loss;
            continue;
        }
        members->lost[place_of(members, loss->node)] = false;
        free_reason(members, loss->why);
    }
    members->count = kept;
    pthread_mutex_unlock(&members->mutex);
}
