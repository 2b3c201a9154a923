/*
 * net.h - a mesh of processes ("nodes"): authenticated links, ordered messages, heartbeats.
 *
 * A net lives as long as a job; the transports of its runs (transport.h) send through it. It owns two threads. The reactor
 * serves the links (epoll: reads, queued writes, heartbeats). The acceptor shakes hands with connecting peers, so that
 * half-open connections never delay a link. Nodes have numbers; 0 is the manager. Messages from one node to another arrive
 * exactly once and in the order sent, or the link is reported lost. A lost link stays lost (the next incarnation of a node
 * is another node).
 *
 * Every link has proved the job's key in both directions before its first message: by TLS 1.3 with an external PSK if the
 * link is encrypted, otherwise by an HMAC over both sides' nonces and names. The source of a message is the node that its
 * link has proved.
 */
#ifndef HW_TRANSPORT_NET_NET_H
#define HW_TRANSPORT_NET_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/net/options.h"
#include "transport/transport.h"

typedef struct hw_net hw_net;

/* Events of the net. The net calls them on its own threads, one at a time for each node. They must not block, and may call
 * hw_net_send. All except `arrived` may be NULL. */
typedef struct hw_net_events {
    void *argument;
    /* A peer has proved the key to the acceptor. Sets *number (hello->node unless that is HW_NET_ANY). Any status except
     * HAWSER_OK rejects the peer with the error's text, which the peer receives. HAWSER_STOP rejects it for now: the peer
     * tries again until its time is over, and the rejection is neither counted nor reported. */
    hawser_status (*admit)(void *argument, const hw_net_hello *hello, uint32_t *number, hawser_error *error);
    /* A link is up, dialled or accepted. */
    void (*up)(void *argument, uint32_t node, const hw_net_hello *hello);
    /* Takes the message; envelope.session and .destination name its receiver. `node` is the node that the link proved; for a
     * message that was spread over relays, the node that they name as its origin. */
    void (*arrived)(void *argument, uint32_t node, hw_message *message);
    /* Returns the memory for the rest of an HW_MESSAGE_ANSWER after its first HW_ANSWER_HEAD bytes, chosen by the envelope
     * and those bytes. Called anew for each read, which does not block; until `release` the net may write there. If the
     * first call returns NULL, the message arrives as usual. If a later one returns NULL or other memory, the rest is
     * discarded and the message never arrives. Not called for small, spread or multi-frame messages or those with a
     * checksum. */
    void *(*acquire)(void *argument, uint32_t node, const hw_message *message);
    void (*release)(void *argument);
    /* A message was dropped: its incarnation is not that of the node where it began, or it is of another view than this
     * net's. */
    void (*foreign)(void *argument, uint32_t node, const hw_envelope *envelope);
    /* The link is lost; called once. It was closed without goodbye or reset, sent garbage, or was silent for the failure
     * timeout. `why` is a clause ("its connection was closed"), `silent` the seconds since its last heartbeat. */
    void (*lost)(void *argument, uint32_t node, const char *why, double silent);
    /* There is no memory for a message of the node, and the link ends. Called instead of `lost`, which is called if this is
     * NULL. */
    void (*starved)(void *argument, uint32_t node);
    /* The link has ended after a GOODBYE of the peer or our own. */
    void (*left)(void *argument, uint32_t node);
    /* The acceptor has rejected a connection: its address, the reason, and the number of further rejections since the last
     * call. Called at most once in HW_NET_REFUSED_SECONDS. */
    void (*refused)(void *argument, const char *from, const char *why, uint64_t more);
} hw_net_events;

#define HW_NET_DIALLING "dialling"
/* The figures of a link, for --json and --log-view. */
typedef struct hw_net_path {
    char transport[24]; /* "shm", "ucx", "unix", "tcp", "tcp+tls"; HW_NET_DIALLING: not known yet */
    char peer[HW_NET_ADDRESS];
    uint64_t messages_sent, messages_received;
    uint64_t bytes_sent, bytes_received; /* on the link, headers and heartbeats included, before encryption */
    uint64_t queued;                     /* bytes in the queue now */
    double busy;                         /* seconds in which bytes waited for the rate limit, or over TCP for the network */
    uint64_t shared;                     /* bytes of memory that both ends share for this link */
} hw_net_path;

/* Counters of the acceptor. */
typedef struct hw_net_accept_figures {
    uint64_t accepted, refused_key, refused_hello, timed_out, crowded_out;
    char last_refused[HW_NET_ADDRESS + 128]; /* where from, and why */
} hw_net_accept_figures;

/* Listens and starts the threads. HAWSER_IO names the interface and port on which it cannot listen. */
hawser_status hw_net_new(const hw_net_options *options, const hw_net_events *events, hw_net **net,
                         hawser_error *error) HAWSER_MUST_USE;
/* Returns the own address: "unix:PATH@HOSTID,tcp:ADDRESS:PORT", IPv6 in brackets. HOSTID (boot id) lets peers check whether
 * the path is on their host. */
const char *hw_net_address(const hw_net *net);
/* Returns the TCP addresses on which the net listens, for messages: "192.0.2.7:7000, 127.0.0.1:7000". */
const char *hw_net_listening(const hw_net *net);

/* Connects to an address or plain HOST:PORT; one of two nodes dials, not both. Tries the Unix path first if it is on this
 * host, and tries again until `seconds` have passed, because the peer may not listen yet. `node`: the expected number, or
 * HW_NET_ANY. *number: own number as the peer reports it. Returns HAWSER_PEER_LOST if no peer answers or it rejects this
 * node (with its reason), or HAWSER_TIMEOUT. Blocks; any thread but the net's own. */
hawser_status hw_net_dial(hw_net *net, const char *address, uint32_t node, double seconds, uint32_t *number,
                          hawser_error *error) HAWSER_MUST_USE;

/* Ends the dials in progress, within 0.3 s, and those to come: each fails after its first try. Never blocks; any thread. */
void hw_net_stop_dials(hw_net *net);

/* Sets options.ring for links that are dialled from now on. Only the dialling thread. */
void hw_net_set_ring(hw_net *net, size_t bytes);

/* Describes a known node: its incarnation, name and address, and not its number. Any thread, which may hold locks of the
 * owner, so it takes none. An empty address: the node cannot be dialled. */
typedef void (*hw_net_describe)(void *argument, uint32_t node, hw_net_hello *hello);
/* Makes the nodes below `nodes` known. From then on the first message to one of them that has no link makes the link, which
 * the acceptor's thread dials; messages queue on it meanwhile. If no try succeeds within the failure timeout, the link is
 * lost with the reason of the last one. A known node may also dial this one: of two connections that two nodes make at once,
 * that of the higher number counts. `describe` gets the argument of the events. Once, after the own number is known. */
hawser_status hw_net_know(hw_net *net, uint32_t nodes, hw_net_describe describe, hawser_error *error) HAWSER_MUST_USE;
/* Reports to the net that a known node has left (`why` is "") or is lost, as others have learned: its link is no longer
 * dialled and ends, and none is made any more. A link that is up is left alone: it ends by itself. Never blocks; any
 * thread. */
void hw_net_gone(hw_net *net, uint32_t node, const char *why);
/* Makes no further links. Connections of nodes that the net itself is dialling are still taken. Never blocks; any thread. */
void hw_net_close_to_new(hw_net *net);

/* Takes the message, also on failure, and queues it. A tail is written from its memory if it can be written at once,
 * otherwise copied; this is the fastest way to send large messages. Small messages to one peer are coalesced into one write.
 * Returns HAWSER_PEER_LOST if there is no link and the node is not known (hw_net_know). Never blocks; any thread. */
hawser_status hw_net_send(hw_net *net, uint32_t node, hw_message *message, hawser_error *error) HAWSER_MUST_USE;

/* Returns the seconds for which this process did not run until just now, because it was stopped or its machine slept: peers
 * may have lost it meanwhile. Returns 0 if it ran. Any thread. */
double hw_net_paused(const hw_net *net);
/* Returns whether this thread runs the net's events. Such a thread must not wait for another event. */
bool hw_net_is_own_thread(const hw_net *net);

/* Adds to the bytes that this node is expected to send to a peer: the replies to its requests, and what they hold until then
 * (options.unread_most). No effect if the link is gone. Any thread. */
void hw_net_account(hw_net *net, uint32_t node, int64_t bytes);

/* Sets the routes of updates from blocks of node `origin`: those that arrive here are forwarded to `children`; with origin
 * == own number, hw_net_spread starts there. Copied. Only while no run is in progress. */
hawser_status hw_net_route(hw_net *net, uint32_t origin, const uint32_t *children, uint32_t count,
                           hawser_error *error) HAWSER_MUST_USE;
/* Removes all routes. Only while no run is in progress. */
void hw_net_clear_routes(hw_net *net);
/* Sends to all other nodes by the routes of this node, or directly to each (linked or known) if there are none. */
hawser_status hw_net_spread(hw_net *net, hw_message *message, hawser_error *error) HAWSER_MUST_USE;

/* Ends one link: sends what is queued, then goodbye. If the peer does not close within the failure timeout, the link is
 * closed. */
void hw_net_dismiss(hw_net *net, uint32_t node);
/* Frees the record of a link that was lost or left, so that its number can be used again. The owner ensures that no thread
 * sends there any more. For nets without routes and runs, whose peers may connect and leave. */
void hw_net_forget(hw_net *net, uint32_t node);

uint32_t hw_net_number(const hw_net *net);
uint64_t hw_net_incarnation(const hw_net *net); /* random; tells a process from one that has had its number before */
/* The incarnation in 32 bits, never 0, as in envelopes. */
static inline uint32_t hw_net_short_incarnation(uint64_t incarnation)
{
    uint32_t folded = (uint32_t)(incarnation ^ incarnation >> 32);
    return folded != 0 ? folded : 1;
}
/* Sets the view that the net writes into messages and expects in them; HW_VIEW_FIRST at first. Any thread. */
void hw_net_set_view(hw_net *net, uint32_t view);
bool hw_net_linked(const hw_net *net, uint32_t node);               /* true also for a link that is being dialled */
bool hw_net_path_of(hw_net *net, uint32_t node, hw_net_path *path); /* returns false if there never was such a link */
/* Return the bytes in the queues of all links, and in that of the link to a node (0: there is none). */
uint64_t hw_net_pending(const hw_net *net);
uint64_t hw_net_pending_to(hw_net *net, uint32_t node);
/* Returns the seconds since the last heartbeat of a node; 0 for the own node, infinity for one that was never linked. */
double hw_net_silence(hw_net *net, uint32_t node);
void hw_net_accepts(hw_net *net, hw_net_accept_figures *figures);

/* Drops queued and future updates (HW_MESSAGE_UPDATE, _ADDEND, _COMBINED, _SHARE) of runs up to `session`. The rest of an
 * update that was sent in part is sent at once, whatever the rate limit. Other messages are unaffected. Does not block; any
 * thread. */
void hw_net_drop_updates(hw_net *net, uint32_t session);
/* Ends what hw_net_drop_updates has begun for a store: its messages wait for the rate limit again. */
void hw_net_pace_again(hw_net *net);

/* Sends what is queued, says goodbye, and closes the links; a link that closes after a goodbye is not lost. Has no fixed
 * deadline, but gives up when nothing has moved for `seconds`. Afterwards only the figures may be read. Idempotent. Not from
 * the net's own threads. */
void hw_net_stop(hw_net *net, double seconds);
void hw_net_free(hw_net *net); /* stops at once if necessary */

/* Makes the transport of one run over a net. Endpoints whose home is this node are local, the others remote. `session` is in
 * every message, so that the owner can separate the runs of a job: it passes arriving messages to hw_net_transport_arrived.
 * home: `endpoints` entries, copied. Free the transport before the net. */
hawser_status hw_net_transport_new(hw_net *net, uint32_t session, uint32_t endpoints, uint32_t blocks, const uint32_t *home,
                                   hw_transport **transport, hawser_error *error) HAWSER_MUST_USE;
/* Takes the message and delivers it to the local endpoint in its envelope (HW_TO_BLOCKS: every local block). Returns
 * HAWSER_BAD_INPUT, the peer's fault, if the endpoint is not local or the source's home is not `node`. A message that is
 * made here, such as HW_MESSAGE_LOST, has the own number as `node` and may name any source. */
hawser_status hw_net_transport_arrived(hw_transport *transport, uint32_t node, hw_message *message,
                                       hawser_error *error) HAWSER_MUST_USE;

#endif
