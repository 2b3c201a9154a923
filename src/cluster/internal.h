/* internal.h - the inside of a cluster, shared by its files: members, losses, runs, and how they join. */
#ifndef HW_CLUSTER_INTERNAL_H
#define HW_CLUSTER_INTERNAL_H

#include <pthread.h>

#include "cluster/cluster.h"
#include "cluster/lifeline.h"

enum { HW_CLUSTER_NODES_MOST = 4096 };

#define HW_WARN_SECONDS 10.0 /* of waiting for one node, doubled after each warning; less if --timeout is short: */

/* A member, and its progress while the cluster forms. */
typedef struct hw_joiner {
    hw_member member;
    char host_id[64];
    bool taken;      /* the manager has assigned this number */
    bool linked;     /* our link to it is up */
    bool registered; /* the manager has its address */
    bool ready;
    hw_message *data, *data_last; /* received blocks of alltoalls, in order */
    bool lost;
    bool left;       /* it has sent a goodbye, after `runs` runs */
    uint32_t ends;   /* 1 + the last job that it has ended, after as many runs; 0: none */
    uint32_t closes; /* 1 + the last job that it has closed: it sends nothing more of it */
    uint32_t runs;
    char words[400];    /* its reason, or empty */
    uint32_t words_job; /* the job that it gave the reason for */
} hw_joiner;

struct hw_cluster {
    hw_place *place;
    hw_net *net;
    hw_lifeline lifeline;
    bool formed; /* all nodes have joined */
    uint32_t self, nodes, nodes_most;
    pthread_mutex_t mutex; /* guards the next fields */
    pthread_cond_t changed;
    hw_joiner *members;   /* nodes_most entries */
    bool has_members, go; /* the manager has sent the member list; all may go on */
    bool is_lost;
    bool loss_stays;     /* a node is gone; else the loss is over with the job */
    bool leaving;        /* the others were sent a goodbye */
    bool gave_up;        /* the last run has not ended on this node */
    bool blamed;         /* the launcher has received whose failure ends this node */
    hw_loss loss;        /* the first one, */
    double lost_at;      /* the time at which it was noticed, */
    const char *lost_in; /* and the phase */
    const char *doing;   /* the phase of the job outside of runs */
    char words[400];     /* the own reason, for the goodbye */
    char refusal[400];   /* the manager's reason if the cluster does not form */
    uint32_t job;        /* number of the present job, or of the last one; 0: the only one, or none yet */
    uint32_t rounds;     /* alltoalls begun in it */
    const hawser_cancellation *cancellation; /* of the call in progress; NULL: none */
    bool cancelled;                          /* it has ended an alltoall of the job, and no other can follow */
    double alltoall_timeout;                 /* timeout of an alltoall; infinity: none */
    double reason_timeout;                   /* seconds within which the reason of an ended link arrives */
    hawser_messages *messages;
    /* The run: */
    uint32_t session;        /* number of the present run, or of the last one */
    hw_transport *begun;     /* the run's */
    hw_transport *transport; /* the same, once it is attached */
    hawser_status (*serve)(void *argument, hw_message *message, hawser_error *error);
    void *server;
    uint32_t endpoints, blocks;
    hw_message **loss_messages; /* by endpoint, for local ones: preallocated loss messages */
    hw_message *early, *early_last;
    pthread_rwlock_t beside; /* guards the channels; a thread that uses one holds it for reading */
    hw_channel channels[HW_CHANNELS];
};

/* Events of the net. */
void hw_cluster_arrived(void *argument, uint32_t node, hw_message *message);
void hw_cluster_lost(void *argument, uint32_t node, const char *why, double silent);
/* The link has ended after a goodbye. This is a loss if the node had not announced that it leaves. */
void hw_cluster_left(void *argument, uint32_t node);
/* There was no memory for a node's message: this node fails. */
void hw_cluster_starved(void *argument, uint32_t node);
void hw_cluster_note_loss(hw_cluster *cluster, const hw_loss *loss);
/* Likewise, of a node that has only ended the present job: the next job can have it again. */
void hw_cluster_note_end(hw_cluster *cluster, const hw_loss *loss);
/* Sends the goodbye. */
void hw_cluster_say_leave(hw_cluster *cluster);
/* join.c: handles a message between manager and member. */
void hw_cluster_receive_join(hw_cluster *cluster, uint32_t node, hw_message *message);
/* Returns whether a node takes part in nothing more of the present job. The mutex is held. */
bool hw_cluster_gone(const hw_cluster *cluster, uint32_t node);
/* alltoall.c: keeps a received block until it is requested. */
void hw_cluster_keep_data(hw_cluster *cluster, uint32_t node, hw_message *message);
void hw_cluster_drop_data(hw_cluster *cluster);
/* Drops the blocks of jobs before the present one. The mutex is held. */
void hw_cluster_drop_old_data(hw_cluster *cluster);
/* runs.c: drops the messages that have arrived for runs to come. The mutex is held. */
void hw_cluster_drop_early(hw_cluster *cluster);
/* channel.c: handles a message that belongs to no run; reports the recorded loss to the channels. */
void hw_cluster_beside(hw_cluster *cluster, uint32_t node, hw_message *message);
void hw_cluster_notify_channel(hw_cluster *cluster);
/* Events of the net. The channel cannot be closed between the two. */
void *hw_cluster_acquire(void *cluster, uint32_t node, const hw_message *message);
void hw_cluster_release(void *cluster);
/* Waits until ready(cluster, node); the mutex is held. HAWSER_PEER_LOST: a node was lost, or this node has left. HAWSER_TIMEOUT:
 * `seconds` have passed (may be infinity). warns: warns now and then which node it waits for. */
hawser_status hw_cluster_wait(hw_cluster *cluster, bool (*ready)(const hw_cluster *cluster, uint32_t node), uint32_t node,
                              double seconds, bool warns, hawser_error *error) HAWSER_MUST_USE;
/* Waits until a moment after the first loss, or until no node is left; the mutex is held. Not on the net thread, which receives the
 * losses. */
void hw_cluster_await_losses(hw_cluster *cluster);
/* Returns the node that a leaving node's text is about: itself, or the node that it names as failed. */
uint32_t hw_cluster_about(const hw_cluster *cluster, uint32_t node, const char *words);
/* Fails with HAWSER_PEER_LOST, the lost node and the phase of the job. */
hawser_status hw_cluster_fail_lost(const hw_cluster *cluster, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_cluster_has_left(hw_cluster *cluster, uint32_t node, hawser_error *error) HAWSER_MUST_USE;
/* Reports to the launcher, once, whose failure will end this node. The mutex is held. */
void hw_cluster_blame(hw_cluster *cluster, uint32_t node, const char *why);
/* host.c: writes a text that is equal for processes that share memory and clock. */
void hw_cluster_host_id(char *text, size_t size);

#endif
