/* parts.h - the structs of a net; only for the files of this folder. */
#ifndef HW_TRANSPORT_NET_PARTS_H
#define HW_TRANSPORT_NET_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/thread.h"
#include "transport/net/address.h"
#include "transport/net/net.h"
#include "transport/net/shake.h"
#include "transport/pool.h"

enum {
    HW_LINK_PAGE = 1024, /* links are found by number through pages, without a lock */
    HW_LINK_PAGES = 4096,
    HW_STAGE = 64 << 10,   /* bytes of heads and small payloads in one write */
    HW_SCRATCH = 64 << 10, /* bytes of one read if no payload is expected */
    HW_PIECES = 64,        /* pieces of one vectored write */
    HW_PAIRS = 64
};

/* The thread that may write to a link's socket now. */
typedef enum hw_writer {
    HW_WRITER_NONE,   /* no thread; the queue is empty, or the reactor was notified */
    HW_WRITER_BUSY,   /* a thread is writing */
    HW_WRITER_BLOCKED /* no thread; the socket is full, and the reactor waits for space */
} hw_writer;

typedef enum hw_link_state { HW_LINK_UP, HW_LINK_LEFT /* it has sent a goodbye */, HW_LINK_LOST } hw_link_state;

/* Where the payload of the incoming message is stored. */
typedef enum hw_direct_receive {
    HW_DIRECT_NONE, /* into the message */
    HW_DIRECT_ASKS, /* its head into the message; then the net's owner is asked for memory for the rest */
    HW_DIRECT_TAIL, /* the rest into the tail, in the owner's memory */
    HW_DIRECT_DROPS /* nowhere: the owner has withdrawn the memory */
} hw_direct_receive;

/* A first-in, first-out list. */
typedef struct hw_queue {
    hw_message *first, *last;
} hw_queue;

typedef struct hw_link {
    hw_net *net;
    uint32_t node;
    hw_net_hello hello;
    hw_net_channel channel;
    bool by_fabric;          /* a UCX link: only the reactor writes */
    bool encrypted, checked; /* checked: payloads have a checksum, because no layer below protects them */
    char transport[24], peer[HW_NET_ADDRESS];
    uint64_t shared_bytes;        /* bytes of shared memory; kept after the channel is closed */
    struct hw_link *next;         /* in the net's list; set once */
    struct hw_link *todo_next;    /* in the reactor's list of links to serve */
    struct hw_link *shared_next;  /* reactor only: in the list of links by shared memory that it polls */
    bool polled;                  /* reactor only: is in that list */
    double moved_at;              /* reactor only: when the link last needed service */
    atomic_bool todo;             /* is in that list */
    atomic_bool dialling;         /* it has no connection yet; set to false with the mutexes of net and link held */
    _Atomic(hw_link_state) state; /* the reactor alone changes it, and only once from UP */
    atomic_uint_fast64_t messages_sent, messages_received, bytes_sent, bytes_received, queued;
    _Atomic(double) dismissed;      /* time of hw_net_dismiss; 0: not called */
    atomic_uint_fast64_t accounted; /* bytes that the owner is expected to send (hw_net_account) */
    atomic_bool read_paused;        /* reading is paused because too much waits for the peer; only the reactor changes it */
    double heartbeat;               /* interval of own heartbeats, short enough for the peer's failure timeout */
    _Atomic(double) last_received, last_sent; /* time of the last heartbeat received; time of the last byte sent */

    pthread_mutex_t mutex; /* guards the next group */
    hw_queue queue;
    hw_writer writer;
    double allowance; /* direct writes that a sender may make before it leaves them to the reactor */
    double allowed_at;
    bool uncounted; /* its `queued` counts in the net's no more */
    bool broken;    /* a write failed; the reactor will find and report it */
    bool alive_due; /* a heartbeat must be sent if nothing else is */
    bool bidding;   /* no more messages: a goodbye follows what is queued */
    bool bid;       /* the goodbye was packed */
    bool shut;      /* the socket must be closed as soon as no thread writes */
    char why[200];  /* the reason, if the state is LOST or the link is broken and was never connected */
    hw_queue paced; /* messages that wait for the rate limit; the first of them may have been sent in part */
    /* number of waiting messages per (source, destination), by a hash: later messages of the pair must wait too */
    uint16_t pairs[HW_PAIRS];
    size_t paced_stored;               /* number of waiting messages of a store */
    double paced_since, paced_seconds; /* time since which messages wait for the limit; seconds in which some did, before */
    double tcp_busy;                   /* seconds by the kernel's count, as of the last look (busy.c) */

    /* For the writer: */
    hw_queue taken; /* off the queue, not packed yet */
    unsigned char *stage;
    struct iovec pieces[HW_PIECES];
    int piece, piece_count;
    uint64_t batch;      /* bytes of the messages in the pieces, as counted in `queued` */
    hw_message *written; /* messages whose payloads are in the pieces */
    const void *tail;    /* a tail in the pieces, valid while its sender's call lasts */
    size_t tail_length;

    /* For the reactor: */
    atomic_bool unbounded;  /* the peer has closed: everything that it sent is read, perhaps a goodbye */
    unsigned char *put_off; /* bytes that had been read when reading was paused */
    size_t put_off_size;
    int64_t peer_has; /* while reading is paused: bytes that have reached the peer, */
    double taken_at;  /* and when they last grew */
    double parting;   /* by_fabric: since when it waits until the peer has received the goodbye; 0: it does not wait */
    unsigned char fabric[HW_WIRE_FABRIC]; /* the peer's address, until the endpoint is open */
    struct hw_link *fabric_next;
    bool closed;           /* set under the net's mutex */
    atomic_bool forgotten; /* the owner does not need the link any more */
    atomic_bool announced; /* the owner was notified; set under the net's mutex */
    unsigned char head[HW_FRAME_MESSAGE];
    size_t head_have;
    hw_frame frame;
    hw_message *partial; /* arrives in several frames; whole messages may arrive in between */
    uint64_t partial_filled;
    /* message of the present frame, `partial` or a whole one: `filled` bytes have arrived, `chunk` more follow */
    hw_message *incoming;
    uint64_t filled, chunk;
    hw_direct_receive direct; /* for `incoming` */
    bool bulky;               /* the last frame was large, so the next one probably is */
    bool starved;             /* there is no memory for the incoming message */
} hw_link;

/* Messages of this size or more take a peer some time to produce or to process, so the net thread then polls longer before
 * it sleeps. */
enum { HW_NET_BULK = 8 << 10 };

/* The nodes to which messages that began at a node are forwarded. */
typedef struct hw_route {
    uint32_t count;
    uint32_t children[];
} hw_route;

struct hw_net {
    hw_identity self;
    hw_net_events events;
    hw_listeners listeners;
    char host[HW_HOST_ID];
    uint32_t incarnation; /* of messages that begin here */
    atomic_uint view;     /* of these, and of those that may arrive */
    double failure_timeout, handshake_timeout, heartbeat;
    const hawser_cancellation *cancellation; /* of dialling; NULL: none */
    /* Reactor only, by hw_boot_seconds: time of the last check of all links, time at which the next was due; length of the
     * last pause of the process, and its end. */
    _Atomic(double) looked, look_due, paused, paused_until;
    bool direct;            /* no messages are spread on this net */
    uint64_t unread_most;   /* bytes queued for a peer above which reading from it is paused; 0: no limit */
    double rate;            /* bytes per second in updates and in a store's messages; 0: no limit */
    double tokens, paid_at; /* reactor only: bytes that may be sent now, and the time up to which they were counted */
    struct hw_link *turn;   /* reactor only: the link whose turn it is */
    struct hw_link *shared; /* reactor only: links by shared memory that it polls; the others wake it by their sockets */
    atomic_uint polled;     /* number of these; only the reactor changes it */
    struct hw_link *fabric_links;     /* reactor only: links by UCX */
    double spin_time, spin_time_most; /* reactor only: seconds of polling before it sleeps */
    uint32_t missed, due; /* reactor only: wakeups right after it had gone to sleep; how many of them make it poll again */
    bool beat;            /* reactor only: a heartbeat is due */
    bool behind;          /* reactor only: it has read more than it has delivered yet */
    bool warm, stirred;   /* reactor only: bytes were moved by memory, or received by a socket, since it slept */
    atomic_bool bulk;     /* HW_NET_BULK bytes or more were sent or received since then */
    bool was_bulk;        /* reactor only: `bulk` when it went to sleep */
    atomic_uint pacing;   /* links with messages that wait for the limit */
    atomic_uint_fast64_t queued; /* bytes in the queues of the links that are up */
    atomic_uint dropped;         /* updates of runs before this one are no longer sent */
    atomic_bool hurries;         /* since then, until hw_net_pace_again: a store's messages do not wait for the limit */
    _Atomic(hw_link *) *_Atomic pages[HW_LINK_PAGES];
    _Atomic(hw_link *) links; /* all links since the start, except forgotten ones */
    atomic_uint known;        /* the nodes below are known; set once, after the next two */
    hw_net_describe describe;
    _Atomic(unsigned char) *gone; /* by known node: hw_net_gone, changed under the mutex */
    atomic_uint dialling;         /* links that are being dialled; changed under the mutex */
    pthread_mutex_t mutex;        /* guards the list of links, the acceptor's figures, and: */
    struct hw_dial *dials;        /* that the acceptor has not taken yet */
    atomic_bool closed_to_new;    /* no more links are made; changed under the mutex */
    pthread_cond_t changed;       /* a link was announced or closed */
    uint32_t open;                /* links that are not closed */
    hw_net_accept_figures figures;

    int reactor_poll, reactor_wakeup, reactor_timer, acceptor_poll, acceptor_wakeup, spare;
    pthread_t reactor, acceptor;
    _Atomic(pthread_t) reactor_self; /* the reactor's thread; set by itself once it runs */
    bool reactor_runs, acceptor_runs;
    atomic_bool acceptor_ends, reactor_ends, stopping, dials_end;
    _Atomic(hw_link *) todo;  /* links that the reactor must serve */
    atomic_bool asleep;       /* the reactor sleeps or is about to: send a wakeup */
    unsigned char *scratch;   /* reactor only */
    hw_pool *pool;            /* for arriving payloads */
    pthread_rwlock_t routing; /* guards: */
    hw_route **routes;        /* [origin]; NULL: no route */
    uint32_t route_count;
};

/* open.c: returns the interval of heartbeats that suits a failure timeout. */
double hw_net_heartbeat(double failure_timeout);

/* stamp.c: every message that leaves is stamped here, and every message that arrives is checked here. */
void hw_net_stamp(const hw_net *net, hw_envelope *envelope);
/* Returns whether the message began at this node's present incarnation, in the view of this net. */
bool hw_net_stamp_holds(const hw_net *net, uint32_t origin, const hw_envelope *envelope);

enum { HW_GONE_LEFT = 1, HW_GONE_LOST };

/* links.c */
hw_link *hw_net_link(const hw_net *net, uint32_t node); /* returns NULL if there is none */
/* Stores the link to a node. If it is known and has none, makes one, which is dialled. Returns HAWSER_PEER_LOST if there is
 * none and none can be made. */
hawser_status hw_net_reach(hw_net *net, uint32_t node, hw_link **link, hawser_error *error) HAWSER_MUST_USE;
/* Adds a link to the table. With the net's mutex held. */
hawser_status hw_net_enter(hw_net *net, hw_link *link, hawser_error *error) HAWSER_MUST_USE;
/* Makes a link of a channel that has shaken hands, or gives the channel to the link that is being dialled; `first`: bytes to
 * send before all others. Takes the channel on success. Returns HAWSER_PEER_LOST if there is or was a link to that node, and
 * HAWSER_STOP if this node's own connection counts. */
hawser_status hw_net_add(hw_net *net, hw_shake *shake, uint32_t node, const unsigned char *first, size_t first_size,
                         hawser_error *error) HAWSER_MUST_USE;

/* first_use.c: links that the first message makes; the acceptor's thread, but for the first two. */
/* Makes a link to a known node, which is dialled, unless another thread has made it. */
hawser_status hw_first_use(hw_net *net, uint32_t node, hw_link **link, hawser_error *error) HAWSER_MUST_USE;
/* Checks that a peer is the process that the owner knows by this number. */
hawser_status hw_net_check_peer(const hw_net *net, uint32_t node, uint64_t incarnation, hawser_error *error) HAWSER_MUST_USE;
/* Returns whether the own connection to a node is being made and counts, so that the node's own one is rejected. */
bool hw_net_prefers_own(const hw_net *net, uint32_t node);
/* Begins the dials that are due, ends those that are late, and returns when to call it again. *dials is the list. */
double hw_dials_serve(hw_net *net, struct hw_dial **dials, double now);
/* Continues a dial that has an event. Returns false if `what` is none of the list. */
bool hw_dials_event(struct hw_dial *dials, const void *what);
void hw_dials_free(struct hw_dial *dials);

/* link.c: writing, any thread */
/* Makes a link without a channel, which is in no table. */
hawser_status hw_link_new(hw_net *net, uint32_t node, hw_link **link, hawser_error *error) HAWSER_MUST_USE;
void hw_link_free(hw_link *link);
void hw_queue_append(hw_queue *queue, hw_message *message);
/* busy.c: returns the seconds in which the link had bytes to send that were held back or not yet confirmed. */
double hw_link_busy(hw_link *link);
uint64_t hw_queued_bytes(const hw_message *message); /* bytes that it counts in hw_link.queued */
/* Adds to the link's queued bytes and to the net's. With the link's mutex held, as for the next. */
void hw_link_count(hw_link *link, int64_t bytes);
/* Takes the link's queued bytes from the net's for good: it is not up any more. */
void hw_link_uncount(hw_link *link);
/* Takes the message. Returns false if the link is not up. */
bool hw_link_send(hw_link *link, hw_message *message);
/* For a link that did not take a message: returns HAWSER_PEER_LOST with the reason, as far as it is known. */
hawser_status hw_link_gone(hw_link *link, hawser_error *error) HAWSER_MUST_USE;
/* Becomes the writer if there is none, and writes what is queued, as far as the socket takes it. */
void hw_link_drain(hw_link *link);
/* Continues writing when the socket has space again. Reactor only. */
void hw_link_writable(hw_link *link);
/* Closes the socket. Returns false if a thread is writing; that thread will post the link to the reactor. Reactor only. */
bool hw_link_close(hw_link *link);
/* Sends a heartbeat if nothing else is sent. */
void hw_link_send_heartbeat(hw_link *link);
/* Ends a link that is being dialled; `why` is empty if the node has left. No effect on others. */
void hw_link_fail(hw_link *link, const char *why);
/* Makes a goodbye the last frame. */
void hw_link_bid(hw_link *link);

/* receive.c: reading, reactor only */
/* Reads what has arrived. Returns NULL, or why the link is lost; "" after a goodbye. `text` is space for the clause. */
const char *hw_link_read(hw_link *link, char *text, size_t size);

/* backpressure.c */
/* Returns whether so much waits for the peer that reading from it must be paused. This and the next four: reactor only. */
bool hw_link_must_pause(const hw_link *link);
/* Pauses reading. Keeps what has been read, at most HW_SCRATCH bytes. Returns NULL, or why the link is lost. */
const char *hw_link_pause(hw_link *link, const unsigned char *bytes, size_t size);
/* Returns why the link is lost: there is no memory here. */
const char *hw_link_starve(hw_link *link);
/* Resumes reading if it was paused and can be resumed. Returns whether it did. */
bool hw_link_resume(hw_link *link);
/* Resumes reading for good: the peer has closed, and what is left is read. */
void hw_link_read_to_end(hw_link *link);
/* Returns when the peer of a paused link last received something. */
double hw_link_taken(hw_link *link, double now);
/* Writes a clause: the peer receives nothing. */
const char *hw_link_untaken(const hw_link *link, char *text, size_t size);
/* Called when less waits for the peer: resumes reading if possible. */
void hw_link_ease(hw_link *link);
/* With the link's mutex held: sets the events that epoll watches on its socket. */
void hw_link_watch(hw_link *link);

/* pace.c */
/* Returns whether a message is an update of a run whose updates are dropped, and no part of it was sent. */
bool hw_pace_drops(const hw_net *net, const hw_message *message);
/* With the link's mutex held: takes the message if the rate limit delays it. */
bool hw_pace_delay(hw_link *link, hw_message *message);
/* Sends what the limit allows. Returns the seconds until it must be called again, at most `most`. Reactor only. */
double hw_pace(hw_net *net, double now, double most);

/* route.c */
/* Forwards a message that began at `origin`. The caller keeps the message. */
hawser_status hw_route_forward(hw_net *net, uint32_t origin, const hw_message *message, hawser_error *error) HAWSER_MUST_USE;
void hw_route_free(hw_net *net);

/* reactor.c */
hawser_status hw_reactor_start(hw_net *net, hawser_error *error) HAWSER_MUST_USE;
void hw_reactor_end(hw_net *net);
/* Wakes the reactor if it sleeps. */
void hw_reactor_wake(hw_net *net);
/* Makes the reactor serve a link soon. */
void hw_reactor_post(hw_link *link);

/* acceptor.c */
hawser_status hw_acceptor_start(hw_net *net, hawser_error *error) HAWSER_MUST_USE;
void hw_acceptor_end(hw_net *net);

void hw_wakeup_send(int fd);
void hw_wakeup_clear(int fd);

#endif
