/*
 * cluster.h - the members of a job, their hosts, and the lost ones.
 *
 * Node 0 is the manager; it runs on the driver's node. Joining: every node makes its net, node 0 publishes its address, the
 * others dial it. When all have joined, the manager sends the member list (number, name and address of each); each member
 * dials those with smaller numbers and sends "ready"; then all continue together. Membership is one view, number 1: a lost
 * node ends the job, and later jobs fail.
 *
 * A cluster serves one job (number 0), or jobs one after another (1, 2, ...). A job has the numbers of its runs, alltoalls
 * and channels for itself: late messages of a job before are dropped, and messages of the next one wait, because every job
 * begins with a meeting of all nodes.
 */
#ifndef HW_CLUSTER_CLUSTER_H
#define HW_CLUSTER_CLUSTER_H

#include "base/cancellation.h"
#include "base/memory.h"
#include "cluster/members.h"
#include "cluster/place.h"

typedef struct hw_cluster hw_cluster;

typedef struct hw_cluster_options {
    const char *build; /* version and build id */
    const char *interface;
    uint16_t port_low, port_high;
    hw_transport_kind transport; /* within a host */
    bool trust_fabric;
    double failure_timeout, join_timeout;
    uint64_t rate;
    uint32_t processors;       /* that this process may use */
    double alltoall_timeout;   /* seconds that an alltoall waits for one node, even if its heartbeats arrive; 0: no limit */
    hawser_messages *messages; /* for warnings, about rejected connections among others; NULL: they are printed */
    const hawser_cancellation *cancellation; /* ends the join with HAWSER_STOP; outlives the cluster; NULL: none */
} hw_cluster_options;

/* Joins the job that `place` names; the place must outlive the cluster. Blocks until all nodes have joined. HAWSER_TIMEOUT
 * names the missing nodes, HAWSER_PEER_LOST the nodes that were lost meanwhile. */
hawser_status hw_cluster_join(hw_place *place, const hw_cluster_options *options, hw_cluster **cluster,
                              hawser_error *error) HAWSER_MUST_USE;
/* Sets what ends this node's alltoalls from now on, with HAWSER_STOP. The other nodes then receive that this node has left,
 * and why. NULL: nothing does. */
void hw_cluster_cancel_by(hw_cluster *cluster, const hawser_cancellation *cancellation);
/* Sets the reason that the other nodes receive if this node leaves before they expect it. */
void hw_cluster_set_reason(hw_cluster *cluster, const char *words);
/* Sets the job's phase between runs, for the texts of losses: "reading the input"; a literal. */
void hw_cluster_set_phase(hw_cluster *cluster, const char *what);
/* Returns the node that was lost first, or HW_NET_ANY. */
uint32_t hw_cluster_lost_node(hw_cluster *cluster);
/* Writes the lost nodes that are known, in the order in which they were lost, and returns their number, which is less than
 * that of the nodes. */
size_t hw_cluster_lost_nodes(hw_cluster *cluster, uint32_t *nodes);
/* Appends the other lost nodes to a text about a loss: "; lost too: node 3 (name)". Waits a moment, since nodes that die
 * together are noticed one after the other; so it must not run on the net's thread. */
void hw_cluster_name_lost(hw_cluster *cluster, hawser_error *error);
/* Notifies the other nodes why this node leaves, and ends the links, within `seconds`. Frees nothing, so other threads may
 * still use the cluster; their calls fail. For a process that ends next. */
void hw_cluster_abort(hw_cluster *cluster, const char *words, double seconds);
/* Notifies the other nodes, and the blocks on this node, that this node has failed during a run. The blocks end. Any
 * thread. */
void hw_cluster_give_up(hw_cluster *cluster, const char *words);
/* Begins the next job, on all nodes. Fails at once if a node was lost or has left. timeout: as options->alltoall_timeout.
 * own: a failure of this node before; then the job is counted, and nothing else is done. Collective. After a failure, too,
 * call hw_cluster_close_job. */
hawser_status hw_cluster_open_job(hw_cluster *cluster, double timeout, hawser_status own,
                                  hawser_error *error) HAWSER_MUST_USE;
/* Tells the other nodes that this node has closed the job, with the reason that was set. Does not wait. */
void hw_cluster_close_job(hw_cluster *cluster);
/* Sends a goodbye to the other nodes, closes the links and frees the cluster. */
void hw_cluster_leave(hw_cluster *cluster);

uint32_t hw_cluster_self(const hw_cluster *cluster);
uint32_t hw_cluster_nodes(const hw_cluster *cluster);
const hw_member *hw_cluster_member(const hw_cluster *cluster, uint32_t node); /* NULL past the last */
uint64_t hw_cluster_shared_bytes(const hw_cluster *cluster); /* of memory shared with other nodes of this host */
/* Returns whether messages to a node go through shared memory, or would once there is a link. */
bool hw_cluster_shares_memory(const hw_cluster *cluster, uint32_t node);
uint32_t hw_cluster_host_members(const hw_cluster *cluster, uint32_t host); /* number of members on it */
uint32_t hw_cluster_processors(const hw_cluster *cluster);                  /* of all hosts */
hw_net *hw_cluster_net(hw_cluster *cluster);
/* Returns the members, for who subscribes to losses beside runs and channels. */
hw_members *hw_cluster_members(hw_cluster *cluster);

/* Makes the transport of the next run; set it up, then attach it, and end it after the run. Several runs may be in progress,
 * each with the number of its session; all nodes begin them in the same order. Routes of spread messages belong to all of
 * them. From the attachment on each lost node puts HW_MESSAGE_LOST into every local inbox, and a loss that a member notices
 * is reported to the driver. hw_cluster_attach returns HAWSER_PEER_LOST if a node is lost already. */
hawser_status hw_cluster_begin(hw_cluster *cluster, uint32_t endpoints, uint32_t blocks, const uint32_t *home,
                               hw_transport **transport, hawser_error *error) HAWSER_MUST_USE;
/* Sets the function that replies to HW_MESSAGE_FETCH of the run. It is called on the net's thread, because blocks may
 * compute for long. It takes the message and must not block. */
void hw_cluster_serve(hw_cluster *cluster, const hw_transport *transport,
                      hawser_status (*serve)(void *argument, hw_message *message, hawser_error *error), void *argument);
hawser_status hw_cluster_attach(hw_cluster *cluster, const hw_transport *transport, hawser_error *error) HAWSER_MUST_USE;
/* A channel beside the runs: a row with the kinds of messages that it receives from the nodes of the job (of
 * HW_SCOPE_CHANNEL), and functions that the net's thread calls. Its user has it as a constant. */
typedef struct hw_channel {
    const char *name;
    uint8_t kinds[4]; /* hw_message_kind; 0 ends them */
    /* Takes the message. */
    void (*arrived)(void *argument, uint32_t node, hw_message *message);
    /* At each loss, as in hw_subscriber. May be NULL. */
    void (*lost)(void *argument, const hw_member_event *event);
    /* At the end of a node's part in the job: it sends nothing more of it. Net thread only. hw_cluster_why_left has the
     * reason. It may be called twice. May be NULL. */
    void (*left)(void *argument, uint32_t node);
    /* As in hw_net_events. May be NULL, both. */
    void *(*acquire)(void *argument, uint32_t node, const hw_message *message);
    void (*release)(void *argument);
} hw_channel;
enum { HW_CHANNELS_MOST = 8 }; /* open at a time */
/* Opens a channel, which outlives it, and subscribes it to losses. All nodes must open theirs before one sends: messages
 * that arrive without a channel are dropped. HAWSER_INTERNAL: another channel receives one of its kinds, or too many are
 * open. */
hawser_status hw_cluster_open_channel(hw_cluster *cluster, const hw_channel *channel, void *argument,
                                      hawser_error *error) HAWSER_MUST_USE;
/* Closes it if it is open; when this returns, no thread calls it any more. */
void hw_cluster_close_channel(hw_cluster *cluster, const hw_channel *channel);
/* Fails with HAWSER_PEER_LOST and the reason for which a node has left the job, which the launcher receives too. */
hawser_status hw_cluster_why_left(hw_cluster *cluster, uint32_t node, hawser_error *error) HAWSER_MUST_USE;
/* Counts of dropped messages: for no open channel or run of their session, mostly those of a job or run before; and of
 * another incarnation or view. */
typedef struct hw_cluster_dropped {
    uint64_t late, foreign;
} hw_cluster_dropped;
hw_cluster_dropped hw_cluster_dropped_messages(hw_cluster *cluster);
/* Waits until ready(argument), which a message for a channel makes true: call hw_cluster_wake then. `node` is the node that
 * sends the message; HW_NET_ANY: any of them, as long as none has left. It may have announced that it leaves, as long as
 * its link is up. Returns HAWSER_PEER_LOST if a node is lost, or if `node` has left. Returns HAWSER_TIMEOUT after
 * `seconds` (may be infinity). warns: prints now and then that this node waits for that one to close the job. */
hawser_status hw_cluster_await(hw_cluster *cluster, bool (*ready)(void *argument), void *argument, uint32_t node,
                               double seconds, bool warns, hawser_error *error) HAWSER_MUST_USE;
void hw_cluster_wake(hw_cluster *cluster);
/* Announces to the other nodes that this node takes part in no further run, and in no collective call. It still sends and
 * receives. */
void hw_cluster_say_end(hw_cluster *cluster);
/* Sends to another node's channel; takes the message. HAWSER_PEER_LOST: this node is lost, or has left. A message to a node
 * whose loss is not reported yet is dropped; the channel receives the loss. */
hawser_status hw_cluster_send(hw_cluster *cluster, uint32_t node, hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* The same for what a node that has left, or is lost, has no need of: it is dropped, and no node is blamed. */
void hw_cluster_tell(hw_cluster *cluster, uint32_t node, hw_message *message);
/* Drops this node's updates of all runs in progress that wait to be sent. Any thread. */
void hw_cluster_drop_updates(hw_cluster *cluster);
/* Ends the run and frees its transport; late messages are dropped. NULL: there is none. */
void hw_cluster_end(hw_cluster *cluster, hw_transport *transport);

/* Sends out[d] to node d and receives in[s] from node s, for all nodes including the own. Collective. `in` has one entry per
 * node; the caller frees its data, which is from malloc. Blocks until all data have arrived. Returns HAWSER_TIMEOUT if one
 * node does not answer for options->alltoall_timeout although its heartbeats arrive. With one node, or cluster NULL, it
 * copies. Not during a run. */
hawser_status hw_cluster_alltoall(hw_cluster *cluster, const hw_bytes *out, hw_bytes *in,
                                  hawser_error *error) HAWSER_MUST_USE;
/* Returns when all that the other nodes have sent to this one before their call has arrived. An agreement goes over a tree,
 * so it may overtake a message on the link between two nodes. Collective, as hw_cluster_alltoall. */
hawser_status hw_cluster_drain(hw_cluster *cluster, hawser_error *error) HAWSER_MUST_USE;
/* Like hw_cluster_alltoall, for large data: frees each out[i].data (from malloc) once it is sent. After a failure the caller
 * frees the rest. */
hawser_status hw_cluster_hand_over(hw_cluster *cluster, hw_bytes *out, hw_bytes *in, hawser_error *error) HAWSER_MUST_USE;
/* Sends `own` to all nodes and receives theirs. Collective, as hw_cluster_alltoall. */
hawser_status hw_cluster_allgather(hw_cluster *cluster, hw_bytes own, hw_bytes *in, hawser_error *error) HAWSER_MUST_USE;
/* Returns the same status on all nodes: that of the first node, by number, that is not HAWSER_OK, with its text. Collective.
 * For steps that may fail on one node and must then fail on all. HAWSER_STOP means that this node was cancelled: it gets its
 * own text, and the others HAWSER_PEER_LOST. */
hawser_status hw_cluster_agree(hw_cluster *cluster, hawser_status own, hawser_error *error) HAWSER_MUST_USE;
/* The same for a call with a name, which all nodes must make: if another node makes another one, both fail with
 * HAWSER_BAD_ARGUMENT and the names. */
enum { HW_CALL_NAME = 96 };
hawser_status hw_cluster_agree_call(hw_cluster *cluster, const char *call, hawser_status own,
                                    hawser_error *error) HAWSER_MUST_USE;
/* Agrees on a status, unless a node has set `mark`: then *marked is true on all nodes, and failures other than a
 * cancellation do not count. */
hawser_status hw_cluster_agree_marked(hw_cluster *cluster, hawser_status own, bool mark, bool *marked,
                                      hawser_error *error) HAWSER_MUST_USE;

/* Fails with the text of a loss and the phase of the job at that time. */
hawser_status hw_cluster_fail_event(const hw_member_event *event, hawser_error *error) HAWSER_MUST_USE;
/* Returns the status with which waits end after a loss. */
hawser_status hw_loss_status(const hw_loss *loss);
/* Writes the text of a loss: "node 2 (name) was lost: its connection was closed; last heard 0.3 s ago". */
void hw_loss_text(const hw_loss *loss, char *text, size_t size);

#endif
