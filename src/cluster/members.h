/*
 * members.h - the members of a cluster: their view, the process that has each number, and the losses, as events.
 *
 * A loss is noted once for each node. It becomes an event with a number, and every subscriber receives each event once, in
 * the order of the numbers. Nothing here decides what follows from a loss: subscribers do, each for what depends on the lost
 * node.
 *
 * The thread that notes a loss calls the subscribers, unless another thread is calling them: then that one goes on with the
 * new event. No lock of the members is held during a call, so a subscriber may subscribe, unsubscribe and note losses.
 */
#ifndef HW_CLUSTER_MEMBERS_H
#define HW_CLUSTER_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "hawser/status.h"
#include "transport/net/net.h"

typedef struct hw_members hw_members;

typedef struct hw_member {
    uint32_t node;
    uint32_t host;       /* number of its host: members of one host share it */
    uint32_t processors; /* usable by it; members of one host share them */
    uint64_t incarnation;
    char name[HW_NET_NAME];
    char address[HW_NET_ADDRESS];
} hw_member;

enum { HW_LOSS_OWN = 2 };
/* Payload of HW_MESSAGE_LOST. */
typedef struct hw_loss {
    uint32_t node;     /* the lost node; HW_NET_ANY: the launcher */
    uint32_t reported; /* 1: another node has reported it, and `why` is the whole text; HW_LOSS_OWN: this node */
    double silent;     /* seconds since its last heartbeat, when the loss was noticed */
    char name[HW_NET_NAME];
    char why[480];
} hw_loss;

/* A loss, as subscribers receive it. */
typedef struct hw_member_event {
    uint64_t number;      /* from 1, in the order in which the losses were noted */
    uint32_t view;        /* the view that has lost the node */
    uint64_t incarnation; /* of the lost process; 0: not known */
    bool stays;           /* the process is gone; false: it has ended the present job only */
    double at;            /* hw_seconds() when it was noted */
    const char *during;   /* the phase of the job at that time */
    hw_loss loss;
} hw_member_event;

/* Who receives events. The caller owns it and sets the first two fields. */
typedef struct hw_subscriber {
    void (*changed)(void *argument, const hw_member_event *event); /* on any thread; must not block for long */
    void *argument;
    uint64_t seen; /* the other fields are the members' */
    struct hw_subscriber *next;
} hw_subscriber;

/* Makes the list of up to `most` members, all unknown, in the first view. */
hawser_status hw_members_new(uint32_t most, hw_members **members, hawser_error *error) HAWSER_MUST_USE;
/* Frees it. No subscriber is left. */
void hw_members_free(hw_members *members);

/* Returns a member's record. It changes only while the cluster forms; until then the caller holds a lock over this call and
 * the next. */
const hw_member *hw_members_at(const hw_members *members, uint32_t node);
/* Takes a message whose payload is a record for each of the first nodes, in order. hw_members_at returns these from then
 * on, and records that are set for them have no effect. Once; the caller holds the lock. */
void hw_members_adopt(hw_members *members, hw_message *list);
/* Stores the record of member->node. Any thread, as all that follow. */
void hw_members_set(hw_members *members, const hw_member *member);
/* Returns the number of the view. */
uint32_t hw_members_view(hw_members *members);

/* Adds a subscriber. It receives the losses of the present job that were noted before, and then each later one. */
void hw_members_subscribe(hw_members *members, hw_subscriber *subscriber);
/* Removes it, if it was added. When this returns no thread calls it any more, except that a call which removes its own
 * subscriber goes on. The caller holds no lock that the subscriber takes. */
void hw_members_unsubscribe(hw_members *members, hw_subscriber *subscriber);

/* Notes a loss, with the phase of the job (a literal), and calls the subscribers. Returns false if the loss of this node is
 * noted already; if it stays now, it stays. Never fails: without memory for the reason the event has a text that says so. */
bool hw_members_lose(hw_members *members, const hw_loss *loss, bool stays, const char *during);
/* Returns whether the loss of a node is noted. */
bool hw_members_is_lost(hw_members *members, uint32_t node);
/* Stores the loss with this place among the losses of the present job, from 0. Returns false if there are not that many. */
bool hw_members_loss(hw_members *members, uint32_t place, hw_member_event *event);
/* Stores the loss of a node. Returns false if there is none. */
bool hw_members_loss_of(hw_members *members, uint32_t node, hw_member_event *event);
/* Forgets the losses that were those of the job before alone. Numbers of events go on. */
void hw_members_begin_job(hw_members *members);

#endif
