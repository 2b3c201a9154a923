/*
 * mesh.h - nets of a world, their links, and what is on its way between them.
 *
 * A net has one thread, which runs its events. What arrives on a link is processed in the order in which it was sent, a
 * goodbye and the end of a connection included. A link has two ends; each belongs to one net and stays until the world is
 * closed, because items in flight point to it. Heartbeats are not sent: a peer is silent while its process is stopped or
 * what it sends is cut off.
 */
#ifndef HW_SIM_MESH_H
#define HW_SIM_MESH_H

#include <pthread.h>

#include "sim/network.h"
#include "sim/pace.h"
#include "sim/world.h"
#include "transport/net/net.h"
#include "transport/wire.h"

enum { SIM_PORT = 7000 }; /* of the first net; each has the next one, unless it chooses */
typedef enum sim_kind { SIM_UP, SIM_MESSAGE, SIM_GOODBYE, SIM_CLOSED, SIM_SILENT, SIM_HELLO, SIM_USED, SIM_FAILED } sim_kind;
typedef enum sim_link_state { SIM_LINK_NEW, SIM_LINK_UP, SIM_LINK_LEFT, SIM_LINK_LOST } sim_link_state;

typedef struct sim_net sim_net;
typedef struct sim_link sim_link;
typedef struct sim_dialling sim_dialling;
typedef struct sim_first sim_first;

typedef struct sim_parcel {
    sim_item item;
    sim_kind kind;
    sim_link *to;
    hw_message *message;
    sim_dialling *dialling;
    struct sim_parcel *next; /* among what has arrived */
} sim_parcel;

/* What waits at a link of a net with a limit, of its rate or of what is unread. */
typedef struct sim_waiting {
    sim_pace pace;
    sim_parcel *first, *last; /* arrived while reading is paused */
    uint64_t accounted;       /* bytes that the owner has received and not yet processed */
} sim_waiting;

/* What an end has while it is being dialled at its first use (first_use.h). */
struct sim_first {
    hw_message *pending, *last;
    double deadline;
    bool left;     /* the peer has left the job */
    int absent;    /* tries in a row at a process that has ended */
    char why[200]; /* why the last try has failed */
};

/* One end of a link. Large worlds have millions of them, so what few of them need is made when they need it. */
struct sim_link {
    sim_net *net;
    sim_link *next; /* of the net */
    uint32_t node;
    uint8_t state;                                /* sim_link_state */
    bool second;                                  /* the second end of its pair */
    bool announced, bidding, bid, closed, paused; /* bid: the goodbye was sent */
    union {
        sim_dialling *dialling; /* of a new link */
        char *why;              /* of a lost one, from malloc */
    };
    sim_first *first; /* NULL: it is not being dialled at its first use */
    sim_channel out;
    sim_waiting *waiting; /* NULL: the net has no limit */
    uint32_t messages_sent, messages_received;
    uint64_t bytes_sent, bytes_received, queued;
    double last_received;
};

typedef struct sim_pair {
    sim_link ends[2];
    struct sim_pair *next;
} sim_pair;

/* A call of hw_net_dial. */
struct sim_dialling {
    sim_net *from, *to;
    sim_list waits;
    bool answered, given_up;
    hawser_status status;
    hawser_error error;
    uint32_t expected, number;
};

struct sim_net {
    sim_net *next;
    sim_net *next_of_process;
    sim_process *process;
    hw_net_events events;
    hw_net_hello self;
    char job[HW_NET_NAME], build[HW_WIRE_BUILD], key[HW_NET_KEY_MOST + 1];
    uint32_t view;
    double failure_timeout, resumed;
    uint32_t known; /* the nodes below are known */
    hw_net_describe describe;
    unsigned char *gone;           /* by known node */
    uint64_t unread_most, dropped; /* dropped: updates of runs before this one are not sent */
    const hawser_cancellation *cancellation;
    bool direct, listens, stopping, closed_to_new, dials_end, ends, over;
    bool chosen; /* its port is of a range that its process has given */
    size_t port;
    sim_link **links, *all; /* by node; in a list */
    size_t capacity;
    uint32_t open;
    uint64_t moved, queued, flying; /* flying: items on the way from it */
    uint32_t **routes;              /* by origin: the number of children, and the children; NULL: none */
    size_t route_capacity;
    pthread_t thread;
    sim_parcel *arrived, *arrived_last;
    sim_dialling *judged; /* the peer that it is about to admit */
    sim_list idle, changed;
    sim_bucket bucket;
    hw_net_accept_figures figures;
};

/* All nets and link ends of the world. */
typedef struct sim_nets {
    sim_net *nets, **by_port; /* by_port: those that have not chosen theirs, from SIM_PORT on */
    sim_pair *pairs;
    struct sim_break *breaks;       /* cuts between hosts, for links to come */
    size_t count, capacity, chosen; /* of by_port; number of nets that have chosen their port */
} sim_nets;

sim_nets *sim_all_nets(void);
/* Returns zeroed memory; the simulator ends if there is none. */
void *sim_made(size_t size);
sim_link *sim_link_to(const sim_net *net, uint32_t node); /* NULL: there is none */
sim_link *sim_peer(const sim_link *link);                 /* its other end */
bool sim_net_runs(const sim_net *net);

/* Gives a parcel to a net as if it had arrived. */
void sim_receive(sim_net *net, sim_parcel *parcel);
/* The same for a new parcel of this kind, to an end of a link. */
void sim_tell(sim_link *to, sim_kind kind);
void sim_free_parcel(sim_parcel *parcel);
/* Before a goodbye: waits while much is on the way from the net, as long as something arrives. All nodes end at about one
 * time, and their goodbyes to all others need not be in memory at once. */
void sim_slow_down(const sim_net *net);
/* Sends a copy of the parcel to the other end. */
void sim_ship(sim_link *from, sim_parcel parcel);
/* first_use.c: stores the link to a node. If it is known and has none, makes one, which is dialled. */
hawser_status sim_reach(sim_net *net, uint32_t node, sim_link **link, hawser_error *error);
/* Frees what an end has kept while it was dialled. */
void sim_free_first(sim_link *link);
/* Sends a message now, or keeps it while the link is being dialled. Takes it. */
void sim_transmit(void *link, hw_message *message);
/* Takes the message. Returns false if the link is not up; sim_gone then says why. */
bool sim_send_by(sim_link *link, hw_message *message);
hawser_status sim_gone(const sim_link *link, hawser_error *error);
/* Sends a message by the routes of its origin. The caller keeps the message. */
hawser_status sim_forward(sim_net *net, uint32_t origin, const hw_message *message, hawser_error *error);
const uint32_t *sim_route_of(const sim_net *net, uint32_t origin);
/* Sends a message to a node, as one that began at `origin`. Of several failures the first is reported. */
void sim_pass_on(sim_net *net, uint32_t node, uint32_t origin, const hw_message *message, hawser_status *status,
                 hawser_error *error);
/* Drops the updates of runs before net->dropped. */
void sim_drop_updates(sim_net *net);
/* Sends what the rate limit allows. Returns the time at which it must be called again. */
uint64_t sim_send_paced(sim_net *net);

/* Processes a message that has arrived. Only on the net's thread, as the next two. */
void sim_take_message(sim_link *link, hw_message *message);
void sim_announce(sim_link *link);
/* Ends a link. `why` is empty after a goodbye of either side. */
void sim_end_link(sim_link *link, const char *why);
/* No message follows: a goodbye is sent when nothing waits for the rate limit any more. */
void sim_bid(sim_link *link);
/* Goes on with links that were paused, and says goodbyes. */
void sim_tend(sim_net *net);
/* Ends the links of a net whose process has ended. */
void sim_end_net(sim_net *net);
/* Returns when a link went silent, or SIM_NEVER. */
uint64_t sim_silent_since(const sim_link *link);
/* Ends a link that is silent for the failure timeout, now or then. An event. */
void sim_check_silence(void *link, uint64_t unused);

/* A dialler does not take the link to it. */
void sim_refuse_link(sim_link *link);
/* A dialler gets its answer, or its connection ends before: then it may try again. */
void sim_answer(sim_dialling *dialling);
void sim_hang_up(sim_dialling *dialling);

#endif
