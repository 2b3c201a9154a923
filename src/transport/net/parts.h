/* parts.h - what a net is made of; for the files of this folder. */
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
    HW_STAGE = 64 << 10,   /* bytes of heads and small payloads that one write gathers */
    HW_SCRATCH = 64 << 10, /* bytes that one read brings where no payload waits for them */
    HW_PIECES = 64,        /* pieces of one vectored write */
    HW_PAIRS = 64
};

/* Who may write to a link's socket now. */
typedef enum hw_writer {
    HW_WRITER_NONE,   /* nothing is queued, or the reactor has been told */
    HW_WRITER_BUSY,   /* a thread is writing */
    HW_WRITER_BLOCKED /* the socket is full: the reactor waits for room */
} hw_writer;

typedef enum hw_link_state { HW_LINK_UP, HW_LINK_LEFT /* it said goodbye */, HW_LINK_LOST } hw_link_state;

/* Where the payload of what comes in goes. */
typedef enum hw_direct_receive {
    HW_DIRECT_NONE, /* into the message */
    HW_DIRECT_ASKS, /* so does its head; with that the net's owner is asked for the rest */
    HW_DIRECT_TAIL, /* what follows its head goes to its tail, */
    HW_DIRECT_DROPS /* for which there is no place any more */
} hw_direct_receive;

/* First in, first out. */
typedef struct hw_queue {
    hw_message *first, *last;
} hw_queue;

typedef struct hw_link {
    hw_net *net;
    uint32_t node;
    hw_net_hello hello;
    hw_net_channel channel;
    bool by_fabric;          /* all writing is the reactor's */
    bool encrypted, checked; /* checked: payloads carry a checksum, since nothing below guards them */
    char transport[24], peer[HW_NET_ADDRESS];
    uint64_t shared_bytes;        /* of memory; stays when the channel goes */
    struct hw_link *next;         /* in the net's list; set once */
    struct hw_link *todo_next;    /* on the reactor's stack */
    struct hw_link *shared_next;  /* the reactor's: of those by shared memory */
    atomic_bool todo;             /* is on it */
    _Atomic(hw_link_state) state; /* leaves UP once, by the reactor */
    atomic_uint_fast64_t messages_sent, messages_received, bytes_sent, bytes_received, queued;
    _Atomic(double) dismissed;    /* since when it is to go; 0: it is not */
    atomic_uint_fast64_t owed;    /* bytes that the owner is about to send (hw_net_account) */
    atomic_bool held;             /* too much waits for it: it is not read. The reactor's to change */
    double heartbeat;             /* of ours, often enough for the peer's failure timeout, too */
    _Atomic(double) heard, spoke; /* last sign of life from there, last byte written to there */

    pthread_mutex_t mutex; /* guards the next group */
    hw_queue queue;
    hw_writer writer;
    double allowance; /* direct writes that a sender may make before it leaves them to the reactor */
    double allowed_at;
    bool broken;              /* a write failed; the reactor is to find out and say so */
    bool alive_due;           /* a sign of life is to be sent when nothing else is */
    bool bidding;             /* no more sends: goodbye follows what is queued */
    bool bid;                 /* it has been packed */
    bool shut;                /* the socket is to be closed as soon as nobody writes */
    char why[200];            /* it is LOST */
    hw_queue paced;           /* waits for the rate limit; the first of them may have been sent in part */
    uint16_t pairs[HW_PAIRS]; /* how many of (source, destination) wait there, by a hash: what follows them must wait, too */

    /* The writer's: */
    hw_queue taken; /* off the queue, not packed yet */
    unsigned char *stage;
    struct iovec pieces[HW_PIECES];
    int piece, piece_count;
    uint64_t batch;      /* bytes of the messages in the pieces, as `queued` counts them */
    hw_message *written; /* whose payloads the pieces point to */
    const void *tail;    /* a tail that they point to, for as long as its sender's call lasts */
    size_t tail_length;

    /* The reactor's: */
    atomic_bool unbounded;  /* its peer has gone: what it said is read to the end, perhaps a goodbye */
    unsigned char *put_off; /* what had been read when the link was held */
    size_t put_off_size;
    int64_t peer_has; /* while it is held: its bytes, */
    double taken_at;  /* and when these last grew */
    double parting;   /* by_fabric: since when it waits for the peer to have taken our goodbye; 0: it does not */
    unsigned char fabric[HW_WIRE_FABRIC]; /* the peer's address, until the endpoint is open */
    struct hw_link *fabric_next;
    bool closed;           /* set under the net's mutex */
    atomic_bool forgotten; /* nobody wants it any more */
    atomic_bool announced; /* the owner has been told; set under the net's mutex */
    unsigned char head[HW_FRAME_MESSAGE];
    size_t head_have;
    hw_frame frame;
    hw_message *partial; /* comes in several frames; whole ones may come in between */
    uint64_t partial_filled;
    hw_message *incoming; /* of the present frame, `partial` or a whole one: `filled` bytes are there, `chunk` more follow */
    uint64_t filled, chunk;
    hw_direct_receive direct; /* of `incoming` */
    bool bulky;               /* the latest frame was large: so will the next be */
    bool starved;             /* there is no memory for what comes */
} hw_link;

/* Messages of this size or more take a peer some time to produce or to process, so the net thread then polls longer before it sleeps. */
enum { HW_NET_BULK = 8 << 10 };

/* Where what began at a node goes on to. */
typedef struct hw_route {
    uint32_t count;
    uint32_t children[];
} hw_route;

struct hw_net {
    hw_identity self;
    hw_net_events events;
    hw_listeners listeners;
    char host[HW_HOST_ID];
    double failure_timeout, handshake_timeout, heartbeat;
    /* The reactor's, by hw_boot_seconds: when it last looked at all links, when it was to look again; the last pause, and when that was over. */
    _Atomic(double) looked, look_due, paused, paused_until;
    bool direct;                      /* nothing is spread here */
    uint64_t unread_most;             /* bytes that wait for a peer beyond which it is not read; 0: any */
    double rate;                      /* bytes a second in updates; 0: no limit */
    double tokens, paid_at;           /* the reactor's: what may be sent now, and the time up to which it was counted */
    struct hw_link *turn;             /* the reactor's: whose it is */
    struct hw_link *shared;           /* the reactor's: links by shared memory */
    struct hw_link *fabric_links;     /* the reactor's: links by UCX */
    double spin_time, spin_time_most; /* the reactor's: seconds for which it looks on before it sleeps */
    uint32_t missed, due; /* the reactor's: what came right after it had gone to sleep; how many make it patient again */
    bool beat;            /* the reactor's: it is time for a sign of life */
    bool behind;          /* the reactor's: it has read more than it has delivered yet */
    bool warm, stirred;   /* the reactor's: something has gone by memory, or come by a socket, since it slept */
    atomic_bool bulk;     /* something of HW_NET_BULK bytes has gone or come since then */
    bool was_bulk;        /* the reactor's: or had when it went to sleep */
    atomic_uint pacing;   /* links where something waits for the limit */
    atomic_uint dropped;  /* updates of runs before this one are not sent any more */
    _Atomic(hw_link *) *_Atomic pages[HW_LINK_PAGES];
    _Atomic(hw_link *) links; /* all there ever were, but those forgotten */
    pthread_mutex_t mutex;    /* guards adding links, the acceptor's figures, and: */
    pthread_cond_t changed;   /* a link was announced or closed */
    uint32_t open;            /* links that are not closed */
    hw_net_accept_figures figures;

    int reactor_poll, reactor_wakeup, reactor_timer, acceptor_poll, acceptor_wakeup, spare;
    pthread_t reactor, acceptor;
    _Atomic(pthread_t) reactor_self; /* as it says itself, once it runs */
    bool reactor_runs, acceptor_runs;
    atomic_bool acceptor_ends, reactor_ends, stopping;
    _Atomic(hw_link *) todo;  /* links that want the reactor */
    atomic_bool asleep;       /* the reactor is, or is about to be: ring */
    unsigned char *scratch;   /* the reactor's */
    hw_pool *pool;            /* of payloads that arrive */
    pthread_rwlock_t routing; /* guards: */
    hw_route **routes;        /* [origin]; NULL: none */
    uint32_t route_count;
};

/* net.c */
hw_link *hw_net_link(const hw_net *net, uint32_t node); /* or NULL */
/* Makes a link of a channel that has shaken hands; `first`: bytes to send before anything else. Takes the channel on success. HAWSER_PEER_LOST:
 * there is or was a link to that node. */
hawser_status hw_net_add(hw_net *net, hw_shake *shake, uint32_t node, const unsigned char *first, size_t first_size,
                         hawser_error *error) HAWSER_MUST_USE;

/* link.c: writing, on any thread */
void hw_link_free(hw_link *link);
void hw_queue_append(hw_queue *queue, hw_message *message);
uint64_t hw_queued_bytes(const hw_message *message); /* that it counts for in hw_link.queued */
/* Takes the message; false: the link is not up. */
bool hw_link_send(hw_link *link, hw_message *message);
/* Of one that took no message: HAWSER_PEER_LOST, and why as far as it is known yet. */
hawser_status hw_link_gone(hw_link *link, hawser_error *error) HAWSER_MUST_USE;
/* Takes the writer's part if it is free and writes what is queued, as far as the socket takes it. */
void hw_link_drain(hw_link *link);
/* The socket has room again. The reactor's. */
void hw_link_writable(hw_link *link);
/* Closes the socket; false: a thread is writing, and will have the reactor try again. The reactor's. */
bool hw_link_close(hw_link *link);
/* Something is to be said, if only that we live. */
void hw_link_breathe(hw_link *link);
/* Goodbye is the last frame. */
void hw_link_bid(hw_link *link);

/* receive.c: reading, on the reactor */
/* Takes in what has come. NULL: all is well; else why the link is lost; "" after a goodbye. `text` is for the clause. */
const char *hw_link_read(hw_link *link, char *text, size_t size);

/* hold.c */
/* Has so much waiting for it that it should not be read? The next four are the reactor's. */
bool hw_link_crowded(const hw_link *link);
/* Reads no more from it; what has been read, HW_SCRATCH bytes at most, waits. NULL, or why the link is lost. */
const char *hw_link_hold(hw_link *link, const unsigned char *bytes, size_t size);
/* Why a link is lost for which there is no memory here. */
const char *hw_link_starve(hw_link *link);
/* True: it was held, and is to be read again. */
bool hw_link_let_go(hw_link *link);
/* Its peer has gone: nothing more comes, and what is left is read. */
void hw_link_let_end(hw_link *link);
/* Of one that is held: when it last took something. */
double hw_link_taken(hw_link *link, double now);
/* That it takes nothing, as a clause. */
const char *hw_link_untaken(const hw_link *link, char *text, size_t size);
/* Less waits for it now. */
void hw_link_ease(hw_link *link);
/* With the link's mutex held: has the reactor look at its socket for what matters now. */
void hw_link_watch(hw_link *link);

/* pace.c */
/* Whether a message is an update of a run whose updates were dropped, of which nothing has been sent. */
bool hw_pace_drops(const hw_net *net, const hw_message *message);
/* With the link's mutex held: takes the message if the rate limit holds it back. */
bool hw_pace_hold(hw_link *link, hw_message *message);
/* Lets go what may go; seconds until there is more to do, or `most`. The reactor's. */
double hw_pace(hw_net *net, double now, double most);

/* route.c */
/* Sends on what began at `origin`. The message stays the caller's. */
hawser_status hw_route_forward(hw_net *net, uint32_t origin, const hw_message *message, hawser_error *error) HAWSER_MUST_USE;
void hw_route_free(hw_net *net);

/* reactor.c */
hawser_status hw_reactor_start(hw_net *net, hawser_error *error) HAWSER_MUST_USE;
void hw_reactor_end(hw_net *net);
/* Rings. */
void hw_reactor_wake(hw_net *net);
/* Has the reactor look at a link soon. */
void hw_reactor_post(hw_link *link);

/* acceptor.c */
hawser_status hw_acceptor_start(hw_net *net, hawser_error *error) HAWSER_MUST_USE;
void hw_acceptor_end(hw_net *net);

void hw_wakeup_send(int fd);
void hw_wakeup_clear(int fd);

#endif
