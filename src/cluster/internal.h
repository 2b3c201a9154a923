/* internal.h - the inside of a cluster, shared by cluster.c (runs, messages, losses) and join.c (how it came to be). */
#ifndef HW_CLUSTER_INTERNAL_H
#define HW_CLUSTER_INTERNAL_H

#include <pthread.h>

#include "cluster/cluster.h"
#include "cluster/lifeline.h"

enum { HW_CLUSTER_NODES_MOST = 4096 };

/* A member, and how far it has come while the cluster forms. */
typedef struct hw_joiner {
    hw_member member;
    char host_id[64];
    bool taken;  /* the manager has given this number away */
    bool linked; /* our link to it is up */
    bool told;   /* the manager has its address */
    bool ready;
    hw_message *parcels, *parcels_last; /* of alltoalls, in order */
    bool lost;
    bool left; /* it has said so, after `runs` runs */
    uint32_t runs;
    char words[400]; /* why, if it said */
} hw_joiner;

struct hw_cluster {
    hw_place *place;
    hw_net *net;
    hw_lifeline lifeline;
    bool formed; /* all nodes have joined */
    uint32_t self, nodes, nodes_most;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    hw_joiner *members;   /* nodes_most */
    bool has_members, go; /* the manager has sent them */
    bool is_lost;
    bool leaving;      /* the others are told so */
    bool gave_up;      /* the last run has not ended here */
    bool blamed;       /* the launcher has been told whose failure ends this node */
    hw_loss loss;      /* the first one, */
    double lost_at;    /* and when it was noted */
    const char *doing; /* what the job is at outside runs */
    char words[400];   /* own, for when we leave */
    char refusal[400]; /* the manager's, when the cluster does not come to be */
    uint64_t rounds;   /* alltoalls begun */
    double patience;   /* of an alltoall; infinity: no limit */
    double farewell;   /* seconds within which we hear why a link is gone */
    void (*warn)(const char *text);
    /* The run: */
    uint32_t session;        /* the present or last one */
    hw_transport *begun;     /* the run's */
    hw_transport *transport; /* the same once it is attached */
    hawser_status (*serve)(void *argument, hw_message *message, hawser_error *error);
    void *server;
    uint32_t endpoints, blocks;
    hw_message **farewells; /* by endpoint, for local ones */
    hw_message *early, *early_last;
    pthread_rwlock_t beside; /* guards the channel; whoever is in it reads */
    hw_channel channel;
};

/* The net's events. */
void hw_cluster_arrived(void *argument, uint32_t node, hw_message *message);
void hw_cluster_lost(void *argument, uint32_t node, const char *why, double silent);
/* The link has ended after a goodbye: a loss where nobody has said that he leaves. */
void hw_cluster_left(void *argument, uint32_t node);
/* A node's message found no memory: it is this node that fails. */
void hw_cluster_starved(void *argument, uint32_t node);
void hw_cluster_note_loss(hw_cluster *cluster, const hw_loss *loss);
/* join.c: takes a message between manager and member. */
void hw_cluster_receive_join(hw_cluster *cluster, uint32_t node, hw_message *message);
/* alltoall.c: keeps a parcel until it is asked for. */
void hw_cluster_keep_parcel(hw_cluster *cluster, uint32_t node, hw_message *message);
void hw_cluster_drop_parcels(hw_cluster *cluster);
/* channel.c: takes a message that belongs to no run; tells of the loss that has been noted. */
void hw_cluster_beside(hw_cluster *cluster, uint32_t node, hw_message *message);
void hw_cluster_tell_channel(hw_cluster *cluster);
/* Events of the net; between the two nobody closes the channel. */
void *hw_cluster_borrow(void *cluster, uint32_t node, const hw_message *message);
void hw_cluster_give_back(void *cluster);
/* Waits, the mutex held, until ready(cluster, node); HAWSER_PEER_LOST when somebody is lost or that node has left; HAWSER_TIMEOUT after
 * so many seconds (may be infinity). Tells: once in a while it is said who is waited for. */
hawser_status hw_cluster_wait(hw_cluster *cluster, bool (*ready)(const hw_cluster *cluster, uint32_t node), uint32_t node,
                              double seconds, bool tells, hawser_error *error) HAWSER_MUST_USE;
/* Waits, the mutex held, until a moment has passed since the first loss, or there is nobody left to be lost; not on the net's thread, on which
 * they are heard of. */
void hw_cluster_await_losses(hw_cluster *cluster);
/* Whom the words of a node that leaves are about: itself, or who it says has failed before. */
uint32_t hw_cluster_about(const hw_cluster *cluster, uint32_t node, const char *words);
/* HAWSER_PEER_LOST in words: whom, and what the job was at. */
hawser_status hw_cluster_fail_lost(const hw_cluster *cluster, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_cluster_has_left(hw_cluster *cluster, uint32_t node, hawser_error *error) HAWSER_MUST_USE;
/* Tells the launcher, once, whose failure this node will end for. The mutex is held. */
void hw_cluster_blame(hw_cluster *cluster, uint32_t node, const char *why);
/* join.c: tells the others that this node takes part in no more runs than there were. */
void hw_cluster_say_leave(hw_cluster *cluster);
/* host.c: what tells hosts apart: equal for processes that share memory and clock. */
void hw_cluster_host_id(char *text, size_t size);

#endif
