/*
 * transport.h - two services between numbered endpoints: ordered, reliable messages, and puts into memory of the receiver.
 *
 * All transports have one contract. Endpoint e < blocks belongs to block e, endpoint `blocks` to the driver, and the ones
 * after it to the nodes' agents, one each. Messages from one endpoint to another arrive exactly once and in the order sent.
 * A put (segment/segment.h) is one-sided: the receiver's threads take no part in it, and later puts overwrite earlier ones.
 * The transport never reads a payload.
 *
 * No function blocks or waits, except free, which ends the transport's threads. So there is no deadline here. A caller waits
 * for messages only. A transport holds its locks only while it queues a message, and never while a callback runs.
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

/* The kind of a message. */
typedef enum hw_message_kind {
    HW_MESSAGE_TRIGGER = 1, /* driver -> block: run an operator */
    HW_MESSAGE_DONE,        /* block -> driver: an operator has ended here */
    HW_MESSAGE_REPORT,      /* block -> driver: a clock of a shipped loop has ended here, with metrics */
    HW_MESSAGE_CREDIT,      /* driver -> block: clocks up to a limit may run; metrics, policy */
    HW_MESSAGE_PAUSE,       /* driver -> block: report your clock and wait for HW_MESSAGE_CREDIT with a final limit */
    HW_MESSAGE_ABORT,       /* driver -> block: the job ends now */
    HW_MESSAGE_UPDATE,      /* block -> block: a part of a clock's update of a state */
    HW_MESSAGE_LOST,        /* delivered to every local inbox and to the driver when a node is lost; payload: hw_loss */
    HW_MESSAGE_PROGRAM,     /* agent -> driver: what this node is about to run, as text */
    HW_MESSAGE_INTERRUPT,   /* agent -> driver: hw_asked; this node was asked to end the run; to agents: the run is to end */
    HW_MESSAGE_FETCH,       /* block -> agent: columns of a data state that are needed there */
    HW_MESSAGE_COLUMNS,     /* agent -> block: their entries */
    HW_MESSAGE_GATHER,      /* agent -> driver: results and figures of a node's blocks */
    HW_MESSAGE_RESULT,      /* driver -> agent: how the run ended, and the results of all nodes */
    HW_MESSAGE_JOIN,        /* between managers and members, outside of runs: see cluster */
    HW_MESSAGE_DATA,        /* agent -> agent: a part of the input for the node that needs it */
    HW_MESSAGE_PUT,         /* bytes for a segment; never delivered to an endpoint */
    HW_MESSAGE_ASK,         /* client -> server of a store; belongs to no run */
    HW_MESSAGE_ANSWER,      /* server -> client */
    HW_MESSAGE_ADDEND,      /* block -> block: an update that the receiver adds to others */
    HW_MESSAGE_CLIENT,      /* between a store's servers and their clients: see runtime/store/control.h */
    /* block -> block: a share of a reduction within a unit; last: number of the block's reductions in the clock */
    HW_MESSAGE_SHARE,
    HW_MESSAGE_KEPT, /* between nodes, outside of runs: results of local and stored states; see runtime/job/kept_results.h */
    HW_MESSAGE_POINT,     /* driver -> block: keep points of the model, or return to one; the reply: it has done so */
    HW_MESSAGE_COMBINED,  /* block -> blocks of one node: a sum of updates with their list, see exchange/combined.h */
    HW_MESSAGE_PART,      /* block -> block: a part of a moving state, for its next use */
    HW_MESSAGE_VECTOR,    /* between replicas of a vector, outside of runs: see runtime/vector/vector.h */
    HW_MESSAGE_RECORD,    /* driver -> block: write a record before a clock; the reply: it is written */
    HW_MESSAGE_CHECKPOINT /* between nodes, beside runs: parts of checkpoints; see runtime/job/checkpoints.h */
} hw_message_kind;
enum { HW_MESSAGE_KINDS = HW_MESSAGE_CHECKPOINT + 1 };

/* Bytes of the head of an HW_MESSAGE_ANSWER; its data follow. */
enum { HW_ANSWER_HEAD = 48 };

/* Destination of a message to every block of a node. */
#define HW_TO_BLOCKS UINT32_MAX

/* The meaning of an update's payload (form), and how it is packed (encoding; all are lossless). */
typedef enum hw_form { HW_FORM_DELTA = 1, HW_FORM_VALUES } hw_form;
typedef enum hw_encoding { HW_DENSE = 1, HW_SPARSE, HW_PACKED } hw_encoding;

/* The envelope, of fixed-width fields. A network transport writes it on the wire, little-endian, and byte counts include
 * it. */
typedef struct hw_envelope {
    uint8_t kind;         /* hw_message_kind */
    uint8_t type;         /* hawser_type of the entries, updates only */
    uint8_t form;         /* hw_form, updates only */
    uint8_t encoding;     /* hw_encoding, of updates and of deltas that vectors round */
    uint32_t source;      /* endpoint; for updates the block */
    uint32_t destination; /* endpoint, or HW_TO_BLOCKS */
    uint32_t session;     /* number of the run, or of the job: see hw_scope */
    uint32_t incarnation; /* of the node where the message began; the net writes it, and checks it on arrival, */
    uint32_t view;        /* and the view of that node (base/view.h) */
    uint32_t state;       /* state number in the plan */
    uint32_t loop;        /* operator number of the loop or unit */
    uint64_t epoch;       /* number of operators that the driver has entered: the enclosing loops' iterations, flattened */
    uint64_t clock;       /* own iteration */
    uint32_t part;        /* number of this part, or of the reduction, within the clock */
    uint32_t last;        /* 1: the clock's updates of this state by this source are complete with this part */
    uint32_t span;        /* number of clocks before `clock` that this update also covers (coalesced under SSP and TAP) */
    uint32_t first;       /* updates: first of the blocks whose deltas this canonical sum adds, */
    uint32_t covers;      /* and their number; 0: the source's delta alone, as if first = source and covers = 1.
                           * HW_MESSAGE_COMBINED: number of updates in the list */
    uint32_t range;       /* updates: 1 + number of the range of the state; 0: the whole state */
    uint64_t sequence;    /* of a request to stand-alone servers; 0 in other messages, which transports keep in order */
    uint64_t count;       /* entries in the payload */
    uint64_t length;      /* payload bytes */
    uint64_t checksum;    /* of the payload; 0 if the channel needs none */
} hw_envelope;

/* What a message belongs to, and so what its envelope's session counts. */
typedef enum hw_scope {
    HW_SCOPE_CLUSTER, /* the membership itself: belongs to no view, and its session is the sender's own business */
    HW_SCOPE_JOB,     /* a job of the cluster: collective calls */
    HW_SCOPE_CHANNEL, /* likewise, beside runs: a message of a channel */
    HW_SCOPE_RUN      /* a run: a message for its transport */
} hw_scope;
hw_scope hw_message_scope(uint8_t kind);

/* A message. Immutable once sent, so that one buffer serves every receiver. */
typedef struct hw_message {
    struct hw_message *next; /* link of the list that holds it; the transport uses it in flight */
    atomic_uint *shared;     /* references to `payload`; NULL when the payload is NULL */
    void *payload;
    /* The payload's last bytes, in memory that the message does not own. In a message for hw_net_send: used until that call
     * returns. In a received message: the memory of a direct receive. NULL: none. */
    const void *tail;
    size_t tail_length;
    /* the tail is in memory that hw_net_events.acquire returned; no other code may read it */
    bool tail_received;
    bool quiet;        /* the receiver need not wake for it, because a message that it waits for will follow */
    bool more;         /* it may stay queued until the next message to the same node, which follows at once */
    bool may_coalesce; /* other messages follow: if the net thread is awake, it may write this one with them */
    /* For the net, in flight: */
    uint32_t origin;        /* node where a spread message began */
    uint32_t spread;        /* 1 if it is a spread message */
    uint64_t offset, chunk; /* the part of the payload that one frame carries; chunk 0: all */
    hw_envelope envelope;
} hw_message;

/* Makes a message with `length` payload bytes (0: none), 64-byte aligned and uninitialised. The caller owns it. */
hawser_status hw_message_new(size_t length, hw_message **message, hawser_error *error) HAWSER_MUST_USE;
/* Makes another message over the same payload, with its own envelope; `message` must have no tail. */
hawser_status hw_message_share(const hw_message *message, hw_message **copy, hawser_error *error) HAWSER_MUST_USE;
/* Frees the message, and the payload with its last reference. NULL is allowed. */
void hw_message_free(hw_message *message);
/* Frees all messages of a list linked by `next`; NULL is allowed. */
void hw_messages_free(hw_message *first);

typedef struct hw_transport hw_transport;

typedef struct hw_transport_ops {
    const char *name;
    /* Takes `message`, also on failure, and queues it for `destination`. Sets envelope.destination and .length, and
     * wakes the receiver. Puts that `source` has sent there before are visible when the message arrives. Returns
     * HAWSER_PEER_LOST if the endpoint is closed. Never blocks, never drops. Any thread may send for its own endpoint. */
    hawser_status (*send)(hw_transport *transport, uint32_t source, uint32_t destination, hw_message *message,
                          hawser_error *error);
    /* Like send, but to every block of the other nodes: one message per node, however many blocks it has. Blocks of this
     * node get theirs by send. With one node nothing is sent. */
    hawser_status (*spread)(hw_transport *transport, uint32_t source, hw_message *message, hawser_error *error);
    /* Like send, but to every block of one other node: one message. With one node nothing is sent. */
    hawser_status (*send_to_node)(hw_transport *transport, uint32_t source, uint32_t node, hw_message *message,
                                  hawser_error *error);
    /* Takes the oldest message for `endpoint`, or NULL when there is none; never blocks. Only the endpoint's owner calls
     * it. */
    hw_message *(*receive)(hw_transport *transport, uint32_t endpoint);
    /* Returns an estimate of the bytes that wait to leave this process; 0 if none ever do. Any thread; cheap enough for
     * every clock. */
    uint64_t (*pending)(hw_transport *transport);
    /* Returns an estimate of those that wait to leave for another node. */
    uint64_t (*pending_to)(hw_transport *transport, uint32_t node);
    /* Calls `wake(argument)` on the sender's thread after each delivery to `endpoint`; it must not block. Set before use. */
    void (*on_delivery)(hw_transport *transport, uint32_t endpoint, void (*wake)(void *), void *argument);
    /* Exposes memory of `endpoint` to puts until hw_segment_retire. The transport owns the memory. Returns
     * HAWSER_BAD_ARGUMENT if the shape is impossible, the number is exposed already, or the generation is not above the last
     * one of this number. Only for the endpoint's owner. */
    hawser_status (*expose)(hw_transport *transport, uint32_t endpoint, const hw_segment_shape *shape, hw_segment **segment,
                            hawser_error *error);
    /* Takes `message`, also on failure, and writes its payload into `source`'s slot of a segment of `destination`.
     * envelope.state is the segment, .epoch its generation, .clock the put's sequence (from 1, growing per sender and
     * segment). If the segment is retired or of another generation, the put has no effect and is counted there. The put is
     * ordered after what `source` has sent or put to `destination` before; a rate limit does not delay it. Returns
     * HAWSER_BAD_ARGUMENT if the payload is longer than a slot or `source` has no slot there; if another node finds that, it
     * treats this node as lost. Returns HAWSER_PEER_LOST if there is no link. */
    hawser_status (*put)(hw_transport *transport, uint32_t source, uint32_t destination, hw_message *message,
                         hawser_error *error);
    /* Closes an endpoint to new messages. Queued messages stay readable, and its segments stay as they are. Idempotent. */
    void (*close)(hw_transport *transport, uint32_t endpoint);
    /* Frees everything, undelivered messages and segments too. No call may be in progress. */
    void (*free)(hw_transport *transport);
} hw_transport_ops;

struct hw_transport {
    const hw_transport_ops *ops;
};

/* Makes a transport of queues in this process's memory. Payloads are passed by reference. */
hawser_status hw_inproc_new(uint32_t endpoints, hw_transport **transport, hawser_error *error) HAWSER_MUST_USE;

#endif
