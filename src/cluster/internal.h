/* internal.h - the inside of a cluster, shared by its files: members, losses, runs, and how they join. */
#ifndef HW_CLUSTER_INTERNAL_H
#define HW_CLUSTER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "cluster/cluster.h"
#include "cluster/lifeline.h"

#define HW_WARN_SECONDS 10.0 /* of waiting for one node, doubled after each warning; less if --timeout is short: */

typedef struct hw_open_channel {
    const hw_channel *channel; /* NULL: this place is free */
    void *argument;
    hw_subscriber subscriber; /* if it receives losses */
} hw_open_channel;

/* The kinds of HW_MESSAGE_JOIN, in envelope.part. */
typedef enum hw_join_word {
    HW_JOIN_REQUEST = 1, /* member -> manager: join_request */
    HW_JOIN_MEMBERS,     /* manager -> members: the member list */
    HW_JOIN_READY,       /* member -> manager: it has the list, and a link to its parent in gathering.h */
    HW_JOIN_GO,          /* manager -> members: all are ready */
    HW_JOIN_REFUSED,     /* manager -> members: the cluster will not form; payload: the reason */
    HW_JOIN_LEAVE,       /* to all: this node leaves after envelope.session runs */
    HW_JOIN_END,         /* to all: it takes part in nothing more of job envelope.epoch; last: it has closed it */
    HW_JOIN_LOST         /* to node 0, and from it to all: a node is lost (reports.c) */
} hw_join_word;

/* The kinds of HW_MESSAGE_DATA, in envelope.part. */
typedef enum hw_data_kind {
    HW_DATA_BLOCK,   /* of an alltoall */
    HW_DATA_UP,      /* gathering.h: from a child to its parent, */
    HW_DATA_DOWN,    /* from a parent to its child, */
    HW_DATA_APART,   /* and a large block, from its node to each other */
    HW_DATA_AWAITED, /* from node 0 to all: the others wait for node envelope.count */
    HW_DATA_MARK,    /* of a drain: acknowledged, */
    HW_DATA_MARKED   /* when what was sent before has arrived */
} hw_data_kind;

/* The kinds of collective calls, in envelope.loop of their blocks: a block of one is never read as one of another. */
typedef enum hw_call_kind { HW_CALL_ALLTOALL = 1, HW_CALL_ALLGATHER, HW_CALL_AGREE, HW_CALL_DRAIN } hw_call_kind;

/* What to do with a message whose session is compared with the present one. */
typedef enum hw_when { HW_NOW, HW_EARLY, HW_LATE } hw_when;

enum { HW_REASON = 400 }; /* bytes of a node's reason, including the final zero */

typedef struct hw_host_id {
    char text[64]; /* equal for processes that share memory and clock */
} hw_host_id;

/* What a member has sent about itself: its progress while the cluster forms, its blocks of alltoalls, and its ends of
 * jobs. */
typedef struct hw_joiner {
    bool taken;      /* the manager has assigned this number */
    bool linked;     /* our link to it is up */
    bool registered; /* the manager has its address */
    bool ready;
    bool left;                    /* it has sent a goodbye, after `runs` runs */
    bool reported;                /* this node has reported its loss */
    bool marked;                  /* it has not acknowledged the mark of the drain in progress */
    hw_message *data, *data_last; /* received blocks of alltoalls, in order */
    uint32_t ends;                /* 1 + the last job that it has ended, after as many runs; 0: none */
    uint32_t closes;              /* 1 + the last job that it has closed: it sends nothing more of it */
    uint32_t runs;
    uint32_t goodbyes;             /* number of the newest of its goodbyes that has arrived */
    bool departed;                 /* it sends nothing more at all */
    uint32_t ended_job, completed; /* when it ended: its job, and the collective calls of that job that it had completed */
    char *words;                   /* its reason, at most HW_REASON bytes, from malloc; NULL: none */
    uint32_t words_job;            /* the job that it gave the reason for */
} hw_joiner;

/* An endpoint of a run on this node. */
typedef struct hw_run_endpoint {
    uint32_t number;
    hw_message *loss_message; /* preallocated, for the first loss */
} hw_run_endpoint;

/* A run, as long as its transport exists. */
typedef struct hw_cluster_run {
    struct hw_cluster_run *next;
    hw_cluster *cluster;
    hw_subscriber subscriber; /* from the attachment on */
    uint32_t session;
    hw_transport *transport;
    bool attached;
    hawser_status (*serve)(void *argument, hw_message *message, hawser_error *error);
    void *server;
    uint32_t endpoints, blocks;
    hw_run_endpoint *own; /* those of this node */
    uint32_t own_count;
} hw_cluster_run;

struct hw_cluster {
    hw_place *place;
    hw_net *net;
    hw_lifeline lifeline;
    bool formed; /* all nodes have joined */
    uint32_t self, nodes, nodes_most;
    uint32_t processors;   /* of all hosts, once it is formed */
    pthread_mutex_t mutex; /* guards the next fields */
    pthread_cond_t changed;
    hw_members *members; /* has a lock of its own, which may be taken within this one */
    hw_subscriber own_subscriber;
    hw_joiner *joiners;              /* nodes_most entries; memory only of those that are used */
    hw_host_id *host_ids;            /* by node; node 0 only */
    bool parted;                     /* some node has left, or has ended a job */
    uint32_t met;                    /* number of the first node that a join still waits for */
    bool has_members, go;            /* the manager has sent the member list; all may go on */
    bool leaving;                    /* the others were sent a goodbye */
    bool gave_up;                    /* the last run has not ended on this node */
    bool blamed;                     /* the launcher has received whose failure ends this node */
    const char *doing;               /* the phase of the job outside of runs */
    char words[HW_REASON];           /* the own reason, for the goodbye */
    uint32_t goodbyes;               /* that this node has sent */
    uint32_t closes;                 /* 1 + the last job that it has closed */
    char refusal[400];               /* the manager's reason if the cluster does not form */
    uint32_t job;                    /* number of the present job, or of the last one; 0: the only one, or none yet */
    uint32_t rounds;                 /* collective calls begun in it */
    hw_call_kind call;               /* the kind of the last one */
    uint32_t completed;              /* collective calls that have succeeded in it */
    uint32_t awaited, awaited_round; /* the node that the others wait for in that call, as node 0 has sent it */
    const hawser_cancellation *cancellation; /* of the call in progress; NULL: none */
    hawser_status failed;    /* how a collective call of the job has failed here; no other can follow. HAWSER_OK: none has */
    bool cancelled;          /* the others were sent that by a goodbye */
    double alltoall_timeout; /* timeout of an alltoall; infinity: none */
    double losses_together;  /* seconds within which the losses of nodes that were killed at once are noticed */
    double reason_timeout;   /* seconds within which the reason of an ended link arrives */
    hawser_messages *messages;
    uint32_t session;     /* number of the newest run */
    hw_cluster_run *runs; /* that have begun and not ended, the newest first */
    hw_message *early, *early_last;
    pthread_rwlock_t beside; /* guards the channels; a thread that uses one holds it for reading */
    hw_open_channel channels[HW_CHANNELS_MOST];
    const hw_open_channel *acquired;    /* net thread only: between acquire and release */
    atomic_uint_fast64_t late, foreign; /* see hw_cluster_dropped */
};

/* Returns how many members can have sent something: all of the job once their number is known. */
static inline uint32_t hw_cluster_numbers(const hw_cluster *cluster)
{
    return cluster->nodes != 0 ? cluster->nodes : cluster->nodes_most;
}

/* Returns the reason that a member has sent, or "". */
static inline const char *hw_joiner_words(const hw_joiner *joiner)
{
    return joiner->words != NULL ? joiner->words : "";
}

/* Returns a member's name, or "". */
static inline const char *hw_cluster_name(const hw_cluster *cluster, uint32_t node)
{
    return hw_members_at(cluster->members, node)->name;
}

/* Events of the net. */
void hw_cluster_lost(void *argument, uint32_t node, const char *why, double silent);
/* The net has dropped a message of another incarnation or view. */
void hw_cluster_foreign(void *argument, uint32_t node, const hw_envelope *envelope);
/* There was no memory for a node's message: this node fails. */
void hw_cluster_starved(void *argument, uint32_t node);
void hw_cluster_note_loss(hw_cluster *cluster, const hw_loss *loss);
/* Subscribes the waits and the launcher to losses. */
void hw_cluster_watch_losses(hw_cluster *cluster);
/* The subscriber of a run: passes a loss to the local endpoints and to the driver. */
void hw_cluster_run_lost(void *run, const hw_member_event *event);
/* Returns whether a node is lost to the present job. */
bool hw_cluster_is_lost(const hw_cluster *cluster);
/* reports.c: reports the loss of a node that node `by` has noticed to the nodes that may not notice it, once for each
 * node. */
void hw_cluster_report_loss(hw_cluster *cluster, const hw_loss *loss, uint32_t by);
/* Reports the losses that were noted before the cluster had formed. */
void hw_cluster_report_losses(hw_cluster *cluster);
/* Reads a HW_JOIN_LOST. *news: this node has to note the loss, which it would not notice otherwise. Returns false if it is
 * none that this sender may send. */
bool hw_cluster_read_report(hw_cluster *cluster, uint32_t from, const hw_message *message, hw_loss *loss,
                            bool *news) HAWSER_MUST_USE;
/* facts.c: counts the processors of all hosts. */
hawser_status hw_cluster_count_processors(hw_cluster *cluster, hawser_error *error) HAWSER_MUST_USE;
/* Records that a node has ended the present job only: the next job can have it again. */
void hw_cluster_note_end(hw_cluster *cluster, const hw_loss *loss);
/* goodbye.c: sends the goodbye; reports to the others that this node has closed its job. */
void hw_cluster_say_leave(hw_cluster *cluster);
void hw_cluster_say_closed(hw_cluster *cluster);
/* Returns the node that a HW_JOIN_LEAVE or _END is of; HW_NET_ANY: it is none that this sender may send. */
uint32_t hw_cluster_goodbye_of(const hw_cluster *cluster, uint32_t from, const hw_envelope *envelope);
/* Node 0 sends it to the nodes to which that node has no link. */
void hw_cluster_forward_goodbye(hw_cluster *cluster, uint32_t node, const hw_message *message);
hawser_status hw_cluster_make_word(const hw_cluster *cluster, hw_join_word what, const void *payload, size_t length,
                                   hw_message **message, hawser_error *error) HAWSER_MUST_USE;
/* Returns the node that a node's reason is about: another one, if the text begins with its number and name. */
uint32_t hw_cluster_about(const hw_cluster *cluster, uint32_t node, const char *words);
/* Returns the node that has left the cluster after the fewest jobs: the others left because of it. cluster->nodes: none has
 * left. */
uint32_t hw_cluster_first_to_leave(const hw_cluster *cluster);
/* Returns whether a node takes part in nothing more of the present job. The mutex is held. */
bool hw_cluster_gone(const hw_cluster *cluster, uint32_t node);
/* wait.c, the parts of a wait; the mutex is held. Fails if a node was lost, or has left before it has completed this
 * call. */
hawser_status hw_cluster_check_wait(hw_cluster *cluster, uint32_t node, hawser_error *error) HAWSER_MUST_USE;
/* Fails if the wait is late, or was cancelled. */
hawser_status hw_cluster_check_late(hw_cluster *cluster, uint32_t node, bool late, double seconds,
                                    hawser_error *error) HAWSER_MUST_USE;
/* Returns the seconds until the first warning of a wait of this timeout. */
double hw_cluster_pause(double seconds);
void hw_cluster_warn_of_delay(const hw_cluster *cluster, uint32_t node, double waited, double most);
/* allgather.c: sends `own` to all nodes and receives theirs, over the tree. `call` is the name of the call, or "". */
hawser_status hw_cluster_gather(hw_cluster *cluster, const char *call, hw_bytes own, hw_bytes *in,
                                hawser_error *error) HAWSER_MUST_USE;
/* blocks.c: sends one block in messages of this kind. */
hawser_status hw_cluster_send_block(hw_cluster *cluster, uint32_t node, hw_bytes bytes, hw_data_kind kind,
                                    hawser_error *error) HAWSER_MUST_USE;
/* Returns whether the next block of a node has arrived as a whole. The mutex is held, as for the next. */
bool hw_cluster_block_is_whole(const hw_cluster *cluster, uint32_t node);
/* Takes the messages of that block. */
hw_message *hw_cluster_take_block(hw_cluster *cluster, uint32_t node);
/* Joins them. Fails if they are none of a block of this kind and of this collective call. */
hawser_status hw_cluster_unpack(const hw_cluster *cluster, uint32_t node, hw_data_kind kind, hw_message *list, hw_bytes *in,
                                hawser_error *error) HAWSER_MUST_USE;
/* Fails because this node makes another collective call than that one. A call without a name has "". */
hawser_status hw_cluster_fail_calls(const hw_cluster *cluster, const char *own, uint32_t node, const char *other,
                                    hawser_error *error) HAWSER_MUST_USE;
/* Keeps a received block until it is requested. */
void hw_cluster_keep_data(hw_cluster *cluster, uint32_t node, hw_message *message);
void hw_cluster_drop_data(hw_cluster *cluster);
/* Drops the blocks of jobs before the present one. The mutex is held. */
void hw_cluster_drop_old_data(hw_cluster *cluster);
/* runs.c: gives a message to its run. */
void hw_cluster_pass_to_run(hw_cluster *cluster, uint32_t node, hw_message *message);
/* Frees a run that is not in the list. */
void hw_cluster_free_run(hw_cluster_run *run);
/* runs.c: drops the messages that have arrived for runs to come. The mutex is held. */
void hw_cluster_drop_early(hw_cluster *cluster);
/* sessions.c: returns whether a run is in progress. The mutex is held. */
bool hw_cluster_in_run(const hw_cluster *cluster);
/* sessions.c: returns the number of runs that this node has ended: those before the oldest one that goes on. The mutex is
 * held. */
uint32_t hw_cluster_runs_ended(const hw_cluster *cluster);
/* sessions.c: compares the session of a message with that of the job or run that it belongs to. The caller holds what guards
 * these numbers: the mutex, or for a job `beside`. */
hw_when hw_cluster_when(const hw_cluster *cluster, const hw_envelope *envelope);
/* Frees and counts a message of another session. */
void hw_cluster_drop(hw_cluster *cluster, hw_message *message);
/* channel.c: handles a message that belongs to no run. */
void hw_cluster_beside(hw_cluster *cluster, uint32_t node, hw_message *message);
/* channel.c: notifies the channels that a node sends nothing more of the present job. */
void hw_cluster_notify_left(hw_cluster *cluster, uint32_t node);
/* Events of the net. The channel cannot be closed between the two. */
void *hw_cluster_acquire(void *cluster, uint32_t node, const hw_message *message);
void hw_cluster_release(void *cluster);
/* wait.c: waits until that time or a change; the mutex is held. Returns false at that time. */
bool hw_cluster_wait_until(hw_cluster *cluster, double deadline);
/* Waits until ready(cluster, node); the mutex is held. HAWSER_PEER_LOST: a node was lost, or this node has left.
 * HAWSER_TIMEOUT: `seconds` have passed (may be infinity). warns: warns now and then which node it waits for. */
hawser_status hw_cluster_wait(hw_cluster *cluster, bool (*ready)(const hw_cluster *cluster, uint32_t node), uint32_t node,
                              double seconds, bool warns, hawser_error *error) HAWSER_MUST_USE;
/* Waits until a moment after the first loss, or until no node is left; the mutex is held. Not on the net thread, which
 * receives the losses. */
void hw_cluster_await_losses(hw_cluster *cluster);
/* Fails with HAWSER_PEER_LOST, the first lost node and the phase of the job at that time, and the names of the others. */
hawser_status hw_cluster_fail_lost(const hw_cluster *cluster, hawser_error *error) HAWSER_MUST_USE;
/* alltoall.c: fails as the collective call that this node has left in the middle. */
hawser_status hw_cluster_fail_again(const hw_cluster *cluster, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_cluster_has_left(hw_cluster *cluster, uint32_t node, hawser_error *error) HAWSER_MUST_USE;
/* Reports to the launcher, once, whose failure will end this node. The mutex is held. */
void hw_cluster_blame(hw_cluster *cluster, uint32_t node, const char *why);
/* host.c: writes a text that is equal for processes that share memory and clock. */
void hw_cluster_host_id(char *text, size_t size);

#endif
