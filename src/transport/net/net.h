/*
 * net.h - a mesh of processes ("nodes"): authenticated links, ordered messages, signs of life.
 *
 * A net lives as long as a job; the transports of its runs (transport.h) send through it. It owns two threads: one serves the links
 * (epoll: reads, queued writes, heartbeats), one, the acceptor, shakes hands with whoever connects, so that half-open connections never hold up a
 * link. Nodes have numbers; 0 is the manager's. Messages from one node to another arrive once and in the order sent, or the link is
 * reported lost; a lost link stays lost (the next incarnation of a node is another node).
 *
 * Every link has proved the job's key in both directions before its first message: by TLS 1.3 with an external PSK where the link
 * is encrypted, else by an HMAC over both sides' nonces and names. What a message claims to come from is what the link proved.
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
    /* A peer has proved the key to the acceptor. Sets *number (hello->node unless that is HW_NET_ANY). Any status except HAWSER_OK
     * rejects the peer with the error's text, which the peer receives. HAWSER_STOP rejects it for now: the peer tries again until its
     * time is over, and the rejection is neither counted nor reported. */
    hawser_status (*admit)(void *argument, const hw_net_hello *hello, uint32_t *number, hawser_error *error);
    /* A link is up, dialled or accepted. */
    void (*up)(void *argument, uint32_t node, const hw_net_hello *hello);
    /* Takes the message; envelope.session and .destination say where to. `node` is the one that the link proved, and for a message that
     * was spread over relays the one where these say that it began. */
    void (*arrived)(void *argument, uint32_t node, hw_message *message);
    /* Where the end of an HW_MESSAGE_ANSWER, what follows its first HW_ANSWER_HEAD bytes, is to be put by one read, which does not block: by
     * the envelope and those bytes, and anew for each read. Until `release` the memory is the net's to write to. NULL at first: the message
     * comes like any other. NULL, or another place, later: what is left of it is thrown away, and it never arrives. Not asked of what is
     * small, spread, in parts or has a checksum. */
    void *(*acquire)(void *argument, uint32_t node, const hw_message *message);
    void (*release)(void *argument);
    /* The link is gone, once: closed without goodbye, reset, garbage, or silent for the failure timeout. `why` is a clause ("its
     * connection was closed"), `silent` the seconds since its last sign of life. */
    void (*lost)(void *argument, uint32_t node, const char *why, double silent);
    /* There is no memory for a message of the node, and the link ends. Called instead of `lost`, which is called if this is NULL. */
    void (*starved)(void *argument, uint32_t node);
    /* The link has ended after a GOODBYE of the peer or our own. */
    void (*left)(void *argument, uint32_t node);
    /* The acceptor has rejected a connection: its address, the reason, and the number of further rejections since the last call. Called at most
     * once in HW_NET_REFUSED_SECONDS. */
    void (*refused)(void *argument, const char *from, const char *why, uint64_t more);
} hw_net_events;

/* What became of a link, for --json and --log-view. */
typedef struct hw_net_path {
    char transport[24]; /* "shm", "ucx", "unix", "tcp", "tcp+tls" */
    char peer[HW_NET_ADDRESS];
    uint64_t messages_sent, messages_received;
    uint64_t bytes_sent, bytes_received; /* on the link, headers and heartbeats included, before encryption */
    uint64_t queued;                     /* bytes that wait to be sent now */
    uint64_t shared;                     /* bytes of memory that both ends have, for this link alone */
} hw_net_path;

/* Counters of the acceptor. */
typedef struct hw_net_accept_figures {
    uint64_t accepted, refused_key, refused_hello, timed_out, crowded_out;
    char last_refused[HW_NET_ADDRESS + 128]; /* from where and why */
} hw_net_accept_figures;

/* Listens and starts the threads. HAWSER_IO names interface and port that could not be had. */
hawser_status hw_net_new(const hw_net_options *options, const hw_net_events *events, hw_net **net,
                         hawser_error *error) HAWSER_MUST_USE;
/* Own address: "unix:PATH@HOSTID,tcp:ADDRESS:PORT", IPv6 in brackets. HOSTID (boot id) tells peers whether the path is theirs too. */
const char *hw_net_address(const hw_net *net);
/* The TCP addresses on which it listens, for people: "192.0.2.7:7000, 127.0.0.1:7000". */
const char *hw_net_listening(const hw_net *net);

/* One of two nodes dials, not both. Connects to an address or plain HOST:PORT, the Unix path first where it is ours, trying
 * again until `seconds` have passed: a peer may not be listening yet. `node`: whom to expect, or HW_NET_ANY. *number: own
 * number as the peer says it. Blocks; any thread but the net's own. HAWSER_PEER_LOST: nobody there, or refused, with the
 * peer's words; HAWSER_TIMEOUT. */
hawser_status hw_net_dial(hw_net *net, const char *address, uint32_t node, double seconds, uint32_t *number,
                          hawser_error *error) HAWSER_MUST_USE;

/* options.ring of links that are dialled from now on. By the thread that dials. */
void hw_net_set_ring(hw_net *net, size_t bytes);

/* Takes the message (success or not) and queues it; never blocks; any thread. A tail is written from where it is, as far as it can be at once,
 * and copied else; large messages in a row go fastest so. Small messages to one peer are coalesced into one write.
 * HAWSER_PEER_LOST: no link. */
hawser_status hw_net_send(hw_net *net, uint32_t node, hw_message *message, hawser_error *error) HAWSER_MUST_USE;

/* Returns the seconds for which this process did not run until just now, because it was stopped or its machine slept: peers may have lost it
 * meanwhile. Returns 0 if it ran. Any thread. */
double hw_net_paused(const hw_net *net);
/* Is this the thread that hears and tells the events? It must not wait for what another event would say. */
bool hw_net_is_own_thread(const hw_net *net);

/* So many more bytes, or fewer, will be sent to this node: what it has asked for, and what that holds until then. For options.unread_most. Any
 * thread; of a link that is gone it does nothing. */
void hw_net_account(hw_net *net, uint32_t node, int64_t bytes);

/* What is forwarded: updates from blocks of node `origin` that arrive here go on to `children`; with origin == own number, where
 * hw_net_spread begins. Copied. Set while no run is under way. */
hawser_status hw_net_route(hw_net *net, uint32_t origin, const uint32_t *children, uint32_t count,
                           hawser_error *error) HAWSER_MUST_USE;
/* Sends to all other nodes by the routes of this node; without any, to each directly. */
hawser_status hw_net_spread(hw_net *net, hw_message *message, hawser_error *error) HAWSER_MUST_USE;

/* Ends one link: what is queued is sent, then goodbye. A peer that does not go within the failure timeout is left. */
void hw_net_dismiss(hw_net *net, uint32_t node);
/* Frees what is kept of a link that has been lost or left, so that its number may come again. The owner sees to it that nobody sends there from
 * now on. For nets without routes and runs, whose peers come and go. */
void hw_net_forget(hw_net *net, uint32_t node);

uint32_t hw_net_number(const hw_net *net);
bool hw_net_linked(const hw_net *net, uint32_t node);
bool hw_net_path_of(hw_net *net, uint32_t node, hw_net_path *path); /* false: no such link ever */
/* Bytes that wait to be sent on all links together. */
uint64_t hw_net_pending(const hw_net *net);
/* The last sign of life of a node, seconds ago; 0 for oneself, infinity for a node that never was linked. */
double hw_net_silence(hw_net *net, uint32_t node);
void hw_net_accepts(hw_net *net, hw_net_accept_figures *figures);

/* Drops updates (HW_MESSAGE_UPDATE, HW_MESSAGE_ADDEND, HW_MESSAGE_SHARE) of runs up to `session` that wait to be sent, or will; of one that has gone in part the
 * rest goes at once, whatever the rate limit. All else goes on as before. Does not block; any thread. */
void hw_net_drop_updates(hw_net *net, uint32_t session);

/* Sends what is queued, says goodbye, and closes the links; a link that closes after a goodbye is not lost. Takes as long as it takes, but
 * gives up once nothing has moved for `seconds`. Afterwards only the figures can be asked for. Idempotent. Not from the net's own threads. */
void hw_net_stop(hw_net *net, double seconds);
void hw_net_free(hw_net *net); /* stops at once if need be */

/* The transport of one run over a net: endpoints whose home is this node are served here, others there. `session` stands in every
 * message, so that the owner can keep the runs of one job apart: it hands in what arrives by hw_net_transport_arrived. home: endpoints
 * entries, copied. Free it before the net. */
hawser_status hw_net_transport_new(hw_net *net, uint32_t session, uint32_t endpoints, uint32_t blocks, const uint32_t *home,
                                   hw_transport **transport, hawser_error *error) HAWSER_MUST_USE;
/* Delivers to the local endpoint that the envelope names (HW_TO_BLOCKS: every local block). Takes the message. An endpoint that is not
 * here, and a source that is not at home at `node`, is HAWSER_BAD_INPUT: the peer's fault. A message that is made here, such as
 * HW_MESSAGE_LOST, comes from the own number and may name any source. */
hawser_status hw_net_transport_arrived(hw_transport *transport, uint32_t node, hw_message *message,
                                       hawser_error *error) HAWSER_MUST_USE;

#endif
