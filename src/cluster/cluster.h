/*
 * cluster.h - the members of a job: who is there, where, and who was lost.
 *
 * Node 0 is the manager; it runs on the driver's node. Joining: every node makes its net, node 0 publishes its address, the others dial
 * it; when all are there the manager sends the member list (number, name and address of everybody), each member dials those with smaller
 * numbers, says "ready", and all go on together. Membership is one view, number 1, for the whole job: a lost node ends it.
 */
#ifndef HW_CLUSTER_CLUSTER_H
#define HW_CLUSTER_CLUSTER_H

#include "base/memory.h"
#include "cluster/place.h"

typedef struct hw_cluster hw_cluster;

typedef struct hw_cluster_options {
    const char *build; /* version and build id */
    const char *interface;
    uint16_t port_low, port_high;
    hw_net_way way; /* within a host */
    bool trust_fabric;
    double failure_timeout, join_timeout;
    uint64_t rate;
    uint32_t processors; /* that this process may use */
    double patience;     /* seconds that an alltoall waits for one node, however much it lives; 0: no limit */
    /* Called on the manager, on a thread of the net, with one line about a rejected connection. May be NULL. */
    void (*warn)(const char *text);
} hw_cluster_options;

typedef struct hw_member {
    uint32_t node;
    uint32_t host;       /* number of its host: members of one host share it */
    uint32_t processors; /* that it may use; members of one host share them */
    uint64_t incarnation;
    char name[HW_NET_NAME];
    char address[HW_NET_ADDRESS];
} hw_member;

enum { HW_LOSS_OWN = 2 };
/* Payload of HW_MESSAGE_LOST. */
typedef struct hw_loss {
    uint32_t node; /* who */
    uint32_t
        told; /* 1: somebody has said so, in the words of `why`, which are all that is to be said; HW_LOSS_OWN: this node */
    double silent; /* seconds since its last sign of life, when it was seen */
    char name[HW_NET_NAME];
    char why[480];
} hw_loss;

/* Joins the job that `place` names; the place must outlive the cluster. Blocks until everybody is there: HAWSER_TIMEOUT names who is
 * missing, HAWSER_PEER_LOST whom we lost meanwhile. */
hawser_status hw_cluster_join(hw_place *place, const hw_cluster_options *options, hw_cluster **cluster,
                              hawser_error *error) HAWSER_MUST_USE;
/* What the others are told if this node leaves before they expect it. */
void hw_cluster_words(hw_cluster *cluster, const char *words);
/* What the job is at between runs, for the texts of losses: "reading the input"; a literal. */
void hw_cluster_doing(hw_cluster *cluster, const char *what);
/* Returns the node that was lost first, or HW_NET_ANY. */
uint32_t hw_cluster_lost_node(hw_cluster *cluster);
/* Appends the other lost nodes to a text about a loss: "; lost too: node 3 (name)". Waits a moment, since nodes that die together are noticed
 * one after the other; so it must not run on the net's thread. */
void hw_cluster_name_lost(hw_cluster *cluster, hawser_error *error);
/* Notifies the other nodes why this node leaves, and ends the links, within `seconds`. Frees nothing, so other threads may still use the
 * cluster; their calls fail. For a process that ends next. */
void hw_cluster_farewell(hw_cluster *cluster, const char *words, double seconds);
/* Notifies the other nodes, and the blocks on this node, that this node has failed during a run. The blocks end. Any thread. */
void hw_cluster_give_up(hw_cluster *cluster, const char *words);
/* Says goodbye and frees. */
void hw_cluster_leave(hw_cluster *cluster);

uint32_t hw_cluster_self(const hw_cluster *cluster);
uint32_t hw_cluster_nodes(const hw_cluster *cluster);
const hw_member *hw_cluster_member(const hw_cluster *cluster, uint32_t node); /* NULL past the last */
uint64_t hw_cluster_shared_bytes(const hw_cluster *cluster);                  /* of memory, with other nodes of this host */
uint32_t hw_cluster_host_members(const hw_cluster *cluster, uint32_t host);   /* how many share it */
uint32_t hw_cluster_processors(const hw_cluster *cluster);                    /* of all hosts */
hw_net *hw_cluster_net(hw_cluster *cluster);

/* The transport of the next run; set it up, then attach it. From then on a lost node puts HW_MESSAGE_LOST into every local
 * inbox, and a loss that a member sees is told to the driver (endpoint `driver`). HAWSER_PEER_LOST: somebody is lost
 * already. */
hawser_status hw_cluster_begin(hw_cluster *cluster, uint32_t endpoints, uint32_t blocks, const uint32_t *home,
                               hw_transport **transport, hawser_error *error) HAWSER_MUST_USE;
/* Who answers HW_MESSAGE_WANT of the run that begins: called on the net's thread, since blocks may compute for long; takes the message
 * and must not block. */
void hw_cluster_serve(hw_cluster *cluster, hawser_status (*serve)(void *argument, hw_message *message, hawser_error *error),
                      void *argument);
hawser_status hw_cluster_attach(hw_cluster *cluster, hawser_error *error) HAWSER_MUST_USE;
/* What stands beside the runs: messages of a store (HW_MESSAGE_ASK, HW_MESSAGE_ANSWER), on the net's thread, from the node that its link has
 * proved; and the first loss of a node. Takes the messages. */
typedef struct hw_channel {
    void *argument;
    void (*arrived)(void *argument, uint32_t node, hw_message *message);
    void (*lost)(void *argument, const hawser_error *error); /* at each loss, in words about all so far */
    /* As in hw_net_events. May be NULL, both. */
    void *(*borrow)(void *argument, uint32_t node, const hw_message *message);
    void (*give_back)(void *argument);
} hw_channel;
/* Opens it, or closes it (NULL): when that returns, nobody is in it. HAWSER_PEER_LOST: somebody is lost already. All nodes have opened theirs
 * before one sends: what comes without a channel is dropped. */
hawser_status hw_cluster_channel(hw_cluster *cluster, const hw_channel *channel, hawser_error *error) HAWSER_MUST_USE;
/* Sends to another node's channel. Takes the message. HAWSER_PEER_LOST tells who has failed first; to who is gone without anybody knowing why, yet,
 * nothing goes: the channel hears of the loss. */
hawser_status hw_cluster_tell(hw_cluster *cluster, uint32_t node, hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* Drops this node's updates of the run in progress that wait to be sent. Any thread. */
void hw_cluster_drop_updates(hw_cluster *cluster);
/* Ends the run and frees its transport; late messages are dropped. */
void hw_cluster_end(hw_cluster *cluster);

/* Sends out[d] to node d and receives in[s] from node s, for all nodes including the own. Collective. `in` has one entry per node; the caller
 * frees its data, which is from malloc. Blocks until all data have arrived. Returns HAWSER_TIMEOUT if one node does not answer for
 * options->patience although its heartbeats arrive. With one node, or cluster NULL, it copies. Not during a run. */
hawser_status hw_cluster_alltoall(hw_cluster *cluster, const hw_bytes *out, hw_bytes *in,
                                  hawser_error *error) HAWSER_MUST_USE;
/* Like hw_cluster_alltoall, for large data: frees each out[i].data (from malloc) once it is sent. After a failure the caller frees the rest. */
hawser_status hw_cluster_hand_over(hw_cluster *cluster, hw_bytes *out, hw_bytes *in, hawser_error *error) HAWSER_MUST_USE;
/* Sends `own` to all nodes and receives theirs. Collective, as hw_cluster_alltoall. */
hawser_status hw_cluster_allgather(hw_cluster *cluster, hw_bytes own, hw_bytes *in, hawser_error *error) HAWSER_MUST_USE;
/* The status that all nodes agree on: the first one's, by number, that is not HAWSER_OK, with its text. For steps that may fail on one
 * node and must then fail on all. */
hawser_status hw_cluster_agree(hw_cluster *cluster, hawser_status own, hawser_error *error) HAWSER_MUST_USE;

/* How what waits for others ends after a loss. */
hawser_status hw_loss_status(const hw_loss *loss);
/* Words for a loss, as far as the cluster knows: "node 2 (name) was lost: its connection was closed; last heard 0.3 s ago". */
void hw_loss_text(const hw_loss *loss, char *text, size_t size);

#endif
