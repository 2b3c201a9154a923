/*
 * door_inner.h - what door.c (links, words, who comes and goes) and clerk.c (seats, keys, groups that have ended) share.
 *
 * The net's thread alone hears requests; the clerk alone makes and frees groups and forgets guests. A group that is closed is ended once nobody
 * hears a request of it any more.
 */
#ifndef HW_RUNTIME_SERVING_DOOR_INNER_H
#define HW_RUNTIME_SERVING_DOOR_INNER_H

#include "runtime/serving/door.h"

enum { HW_DOOR_BUCKETS = 256 }; /* of guests, by number */

/* A group. */
typedef struct hw_party {
    struct hw_party *next;
    hw_told_seat told; /* of its first seat here; .group is its number */
    hw_group *group;
    uint32_t seated;
    atomic_uint hearing; /* requests that are being heard: raised under the mutex while it is not closed */
    bool closed, ended;  /* nothing of it is heard; the server has been told */
    char why[300];
} hw_party;

typedef struct hw_guest {
    struct hw_guest *next;
    uint32_t number, node;
    char name[HW_NET_NAME];
    hw_party *party; /* NULL: it has no seat, */
    bool sat;        /* or has none any more */
    hw_seat *seat;
    uint32_t asking; /* words of its that wait */
    bool gone, dropped;
} hw_guest;

/* Words that wait. */
typedef struct hw_desk {
    hw_message *first, **end;
} hw_desk;

struct hw_door {
    hawser_store *store;
    hw_net *net;
    void (*warn)(void *argument, const char *text);
    void *argument; /* of warn */
    char (*cards)[HW_NET_ADDRESS];
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t common_filled, local_filled;
    hw_desk common, local; /* for all servers; for the clerk */
    hw_guest *guests[HW_DOOR_BUCKETS];
    hw_party *parties;
    uint32_t next_number, guest_count, group_count;
    bool open, over;
    bool stirred; /* somebody has gone, or is to go, since the clerk last looked */
    pthread_t clerk;
    bool clerk_runs;
};

/* With the mutex held. */
void hw_desk_put(hw_desk *to, hw_message *message);
hw_message *hw_desk_take(hw_desk *from); /* NULL: it is empty */
hw_guest *hw_door_find(hw_door *door, uint32_t number);
/* Nothing of the group is heard any more; its other guests learn why. */
void hw_party_close(hw_door *door, hw_party *of, const char *why);

hawser_status hw_clerk_start(hw_door *door, hawser_error *error) HAWSER_MUST_USE;
void hw_clerk_stop(hw_door *door); /* door->over is set */

#endif
