/*
 * transport.h - two services between numbered endpoints: ordered, reliable messages, and puts into memory of the receiver.
 *
 * One contract for every way there is. Endpoint e < blocks belongs to block e, endpoint `blocks` to the driver, those behind it to
 * the nodes' agents, one each. Messages from one endpoint to another arrive once and in the order sent. A put (segment/segment.h) is one-sided:
 * the receiver's threads have no part in it, and later puts overwrite earlier ones. The transport never looks into a payload.
 *
 * No entry blocks or waits, but free, which ends threads where there are any; so there is no deadline here. Who waits does so for messages,
 * and what it waits for is said to it as one: the answer to a fence, the loss of a node. Locks are the transport's own, held for
 * no longer than it takes to queue a message, and never while a callback runs.
 */
#ifndef HW_TRANSPORT_TRANSPORT_H
#define HW_TRANSPORT_TRANSPORT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/view.h"
#include "hawser/status.h"

/* segment/segment.h */
typedef struct hw_segment hw_segment;
typedef struct hw_segment_shape hw_segment_shape;

/* What a message is about. */
typedef enum hw_message_kind {
    HW_MESSAGE_TRIGGER = 1, /* driver -> block: run an operator */
    HW_MESSAGE_DONE,        /* block -> driver: an operator has ended here */
    HW_MESSAGE_REPORT,      /* block -> driver: a clock of a shipped loop has ended here, with metrics */
    HW_MESSAGE_CREDIT,      /* driver -> block: clocks up to a limit may run; metrics, policy */
    HW_MESSAGE_PAUSE,       /* driver -> block: tell your clock and wait for HW_MESSAGE_CREDIT with a final limit */
    HW_MESSAGE_ABORT,       /* driver -> block: the job ends now */
    HW_MESSAGE_UPDATE,      /* block -> block: a part of a clock's update of a state */
    HW_MESSAGE_LOST,        /* put into every local inbox when a node is lost, and told to the driver; payload: hw_loss */
    HW_MESSAGE_PROGRAM,     /* agent -> driver: what this node is about to run, as text */
    HW_MESSAGE_INTERRUPT,   /* agent -> driver: hw_asked; this node was asked to end the run; to agents: the run is to end */
    HW_MESSAGE_WANT,        /* block -> agent: columns of a data state that are needed there */
    HW_MESSAGE_COLUMNS,     /* agent -> block: their entries */
    HW_MESSAGE_GATHER,      /* agent -> driver: results and figures of a node's blocks */
    HW_MESSAGE_RESULT,      /* driver -> agent: how the run ended, and the results of all */
    HW_MESSAGE_JOIN,        /* between managers and members, below any run: see cluster */
    HW_MESSAGE_DATA,        /* agent -> agent: a part of the input on its way to the node that needs it */
    HW_MESSAGE_PUT,         /* bytes on their way into a segment; never seen by an endpoint */
    HW_MESSAGE_FLAG,        /* something put there is worth a look; the sender's own words */
    HW_MESSAGE_FENCE,       /* asks how far puts have come; never seen by an endpoint */
    HW_MESSAGE_FENCED,      /* the answer: see hw_transport_ops.fence */
    HW_MESSAGE_ASK,         /* client -> server of a store; belongs to no run */
    HW_MESSAGE_ANSWER,      /* server -> client */
    HW_MESSAGE_ADDEND,      /* block -> block: an update on its way to where it is added to others */
    HW_MESSAGE_CLIENT,      /* between a store's servers and who has come to them: see runtime/store/control.h */
    HW_MESSAGE_SHARE /* block -> block: a share of a reduction within a unit; last: how many the block made in a clock */
} hw_message_kind;
enum { HW_MESSAGE_KINDS = HW_MESSAGE_SHARE + 1 };

/* Bytes of what an HW_MESSAGE_ANSWER says of itself; what it brings follows them. */
enum { HW_ANSWER_HEAD = 48 };

/* Destination of a message to every block of a node. */
#define HW_TO_BLOCKS UINT32_MAX

enum { HW_INCARNATION_FIRST = 1 };

/* How an update's payload is to be read (forms), and how it is packed (encodings; all lossless). */
typedef enum hw_form { HW_FORM_DELTA = 1, HW_FORM_VALUES } hw_form;
typedef enum hw_encoding { HW_DENSE = 1, HW_SPARSE, HW_PACKED } hw_encoding;

/* The envelope. Fixed-width fields; it is what a network transport will put on the wire, little-endian, and what byte counts
 * include. */
typedef struct hw_envelope {
    uint16_t kind;        /* hw_message_kind */
    uint8_t form;         /* hw_form, updates only */
    uint8_t encoding;     /* hw_encoding, updates only */
    uint32_t source;      /* endpoint; for updates the block */
    uint32_t destination; /* endpoint, or HW_TO_BLOCKS */
    uint32_t session;     /* which of the job's runs */
    uint32_t incarnation; /* of the source; HW_INCARNATION_FIRST, as nothing is begun anew yet */
    uint32_t view;        /* the source's (base/view.h) */
    uint32_t state;       /* state number in the plan */
    uint32_t loop;        /* operator number of the loop or unit */
    uint64_t epoch;       /* how many times the driver has entered operators: the enclosing loops' iterations, flattened */
    uint64_t clock;       /* own iteration */
    uint32_t part;        /* number of this part, or of the reduction, within the clock */
    uint32_t last;        /* 1: the clock's updates of this state by this source are complete with this part */
    uint32_t span;        /* clocks before `clock` that this update covers too (coalesced under SSP and TAP); 0: none */
    uint32_t first;       /* updates: the blocks whose deltas this is the canonical sum of begin here, */
    uint32_t covers;      /* and are so many; 0: the source's alone, as if first = source and covers = 1 */
    uint32_t range;       /* updates: 1 + number of the range of the state that this is about; 0: all of it */
    uint64_t sequence;    /* per (source, destination) */
    uint64_t count;       /* entries in the payload */
    uint64_t length;      /* payload bytes */
    uint64_t checksum;    /* of the payload; 0 where the channel needs none */
} hw_envelope;

/* Writes which run the message is of, and its source's incarnation and view. */
static inline void hw_envelope_stamp(hw_envelope *envelope, uint32_t session)
{
    envelope->session = session;
    envelope->incarnation = HW_INCARNATION_FIRST;
    envelope->view = HW_VIEW_FIRST;
}
/* Refuses a message from `node` whose source has another incarnation or view than this node knows of. */
hawser_status hw_envelope_check(const hw_envelope *envelope, uint32_t node, hawser_error *error) HAWSER_MUST_USE;

/* A message. Immutable once sent, so that one buffer serves every receiver. */
typedef struct hw_message {
    struct hw_message *next; /* of whichever list holds it; the transport's while in flight */
    atomic_uint *shared;     /* references to `payload`; NULL when the payload is NULL */
    void *payload;
    /* The payload's last bytes, where they are somebody else's: of one for hw_net_send, which is done with them when it returns, or of one that
     * was received. NULL: none. */
    const void *tail;
    size_t tail_length;
    bool
        tail_received; /* its tail was read to where somebody wanted it (hw_net_events), and is for nobody else to look at */
    bool quiet;        /* the receiver need not wake for it: something that it waits for will follow */
    bool more;         /* it may stay until the next message to the same node, which follows at once */
    bool
        patient; /* others are under way: where the net's own thread is awake, that may write it, with what comes meanwhile */
    /* The net's, while it travels: */
    uint32_t origin;        /* node where a spread message began */
    uint32_t spread;        /* 1 if it is one */
    uint64_t offset, chunk; /* the part of the payload that one frame carries; chunk 0: all */
    hw_envelope envelope;
} hw_message;

/* A message with `length` payload bytes (0: none), 64-byte aligned, uninitialised. The caller owns it. */
hawser_status hw_message_new(size_t length, hw_message **message, hawser_error *error) HAWSER_MUST_USE;
/* Another message over the same payload, with its own envelope; `message` has no tail. */
hawser_status hw_message_share(const hw_message *message, hw_message **copy, hawser_error *error) HAWSER_MUST_USE;
/* Drops it; the payload goes with its last reference. NULL is allowed. */
void hw_message_free(hw_message *message);
/* All messages of a list by `next`; NULL: none. */
void hw_messages_free(hw_message *first);

typedef struct hw_transport hw_transport;

typedef struct hw_transport_ops {
    const char *name;
    /* Takes `message` (success or not) and queues it for `destination`; never blocks, never drops. envelope.destination,
     * .sequence and .length are set here. Any thread may send for its own endpoint; wakes the receiver. What `source` has put there before is
     * visible when the message arrives: HW_MESSAGE_FLAG says so. HAWSER_PEER_LOST: that endpoint is closed. */
    hawser_status (*send)(hw_transport *transport, uint32_t source, uint32_t destination, hw_message *message,
                          hawser_error *error);
    /* The same to every block of the other nodes: one message a node, whatever the number of its blocks. Blocks of this node get
     * theirs by send. Nothing where there is one node. */
    hawser_status (*spread)(hw_transport *transport, uint32_t source, hw_message *message, hawser_error *error);
    /* Takes the oldest message for `endpoint`, or NULL when there is none; never blocks. Only the endpoint's owner calls it. */
    hw_message *(*receive)(hw_transport *transport, uint32_t endpoint);
    /* Bytes that wait on their way out of this process, as far as is known without looking far; 0 where nothing ever does. Any thread;
     * cheap enough to be asked at every clock. */
    uint64_t (*pending)(hw_transport *transport);
    /* Calls `wake(argument)` on the sender's thread after each delivery to `endpoint`; it must not block. Set before use. */
    void (*on_delivery)(hw_transport *transport, uint32_t endpoint, void (*wake)(void *), void *argument);
    /* Exposes memory of `endpoint` to puts, from now on until hw_segment_retire. The transport owns it. HAWSER_BAD_ARGUMENT: a shape that cannot
     * be, the number is exposed already, or the generation is not above that of the last that had it. The endpoint's owner's. */
    hawser_status (*expose)(hw_transport *transport, uint32_t endpoint, const hw_segment_shape *shape, hw_segment **segment,
                            hawser_error *error);
    /* Takes `message` (success or not) and writes its payload into `source`'s slot of a segment of `destination`: envelope.state says which
     * segment, .epoch its generation, .clock the put's sequence, from 1 and growing (the sender's count for that segment). Where the
     * segment is retired or of another generation the put has no effect and is counted there. Ordered behind what `source` has sent or put to
     * `destination` before. HAWSER_BAD_ARGUMENT: longer than a slot, or `source` has none there; where that is seen on another node, this one
     * breaks the rules and is lost to it. HAWSER_PEER_LOST: no way there. Not held back by a rate limit. */
    hawser_status (*put)(hw_transport *transport, uint32_t source, uint32_t destination, hw_message *message,
                         hawser_error *error);
    /* Asks `destination`'s node how far `source`'s puts have come; the answer is HW_MESSAGE_FENCED in `source`'s inbox, with the `ticket` in
     * envelope.clock: every put before the fence is visible to readers there or will never be. .state is the segment, .epoch its
     * generation (0: it is retired or was never exposed), .count the sequence of the last put from `source` that it took. Where the node is
     * lost no answer comes, but word of the loss. */
    hawser_status (*fence)(hw_transport *transport, uint32_t source, uint32_t destination, uint32_t segment, uint64_t ticket,
                           hawser_error *error);
    /* Endpoint takes no more messages; what is queued stays readable, and its segments stay as they are. Idempotent. */
    void (*close)(hw_transport *transport, uint32_t endpoint);
    /* Frees everything, undelivered messages and segments too. No call may be in progress. */
    void (*free)(hw_transport *transport);
} hw_transport_ops;

struct hw_transport {
    const hw_transport_ops *ops;
};

/* Queues in this process's memory; payloads are passed by reference. */
hawser_status hw_inproc_new(uint32_t endpoints, hw_transport **transport, hawser_error *error) HAWSER_MUST_USE;

#endif
