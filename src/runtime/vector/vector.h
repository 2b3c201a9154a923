/* vector.h - the inside of the vectors of a job, shared by their files. */
#ifndef HW_RUNTIME_VECTOR_VECTOR_H
#define HW_RUNTIME_VECTOR_VECTOR_H

#include <pthread.h>

#include "codec/narrow.h"
#include "hawser/vector.h"
#include "runtime/job/job.h"
#include "transport/net/mapping.h"
#include "transport/pool.h"
#include "vector/edge.h"
#include "vector/sparse.h"

enum { HW_VECTOR_NAME = 64, HW_VECTOR_REPLICAS = 256, HW_VECTOR_GENERATION = 1 };
#define HW_VECTOR_ITERATIONS (UINT64_C(1) << 62) /* below that over servers */
enum { HW_VECTOR_TOKEN = 16, HW_VECTOR_SLOTS_MOST = 1 << 16 };
enum { HW_VECTOR_PIECE = 4 << 20 }; /* bytes of an array that node 0 adds up at a time */

/* envelope.part of HW_MESSAGE_VECTOR; state is the vector's number, loop its generation, encoding the form of an item */
typedef enum hw_vector_word {
    HW_VECTOR_ITEM = 1, /* sender -> receiver: see vector/edge.h */
    HW_VECTOR_GATHERED, /* receiver -> sender: it has gathered the items up to number epoch, in iteration clock */
    HW_VECTOR_END,      /* to both: this replica has called finish; to a receiver with what its rounding has left */
    HW_VECTOR_CLOSED,   /* to both: it has closed the vector without finish */
    HW_VECTOR_SLOTS,    /* sender -> receiver: where its slots are, see slots.c */
    HW_VECTOR_READS     /* the answer; epoch 1: the receiver reads from them */
} hw_vector_word;

/* What slots.c keeps: memory of the sender that processes of one host read. */
typedef struct hw_vector_slots {
    hw_mapping own; /* of the sender, */
    uint32_t count; /* the slots in it, 0: none */
    int descriptor; /* open until all that were asked have answered; -1: closed */
    uint32_t asked; /* receivers that have not answered; like the next two guarded by the vector's mutex */
    bool *reads;    /* by receiver: it reads from the slots */
    uint64_t *lent; /* by slot and receiver: number of the last item that was sent from there; 0: none */
    hw_mapping *in; /* by source; used by the net's thread and by those that hold its items */
} hw_vector_slots;

/* The open vectors of a job, for its channel. */
typedef struct hw_vectors {
    hawser_job *job;
    pthread_mutex_t mutex; /* guards the list; the net's thread holds it while it handles a message */
    struct hawser_vector *first;
    uint64_t memory;      /* of all of them */
    uint32_t store_users; /* vectors over servers that use a store of their own (hawser_store.of_vectors) */
} hw_vectors;

/*
 * Locks, in the order in which they are taken: calls; the hub's mutex; order; the cluster's own mutex; mutex. No lock but
 * `calls` is held while numbers are copied or added.
 */
struct hawser_vector {
    hawser_job *job;
    hw_vectors *all;
    struct hawser_vector *next;
    char name[HW_VECTOR_NAME];
    uint32_t number, self, nodes;
    hawser_type type;
    size_t count, bytes;
    bool deltas, any_number, sparse;
    hw_sparse_shape shape; /* of a sparse one */
    unsigned char *holds;  /* sparse values: by row, whether this replica has scattered or gathered it; guarded by `calls` */
    hw_edge_rules rules;
    hawser_form form; /* of deltas that are sent */
    hw_width rounding;
    char *
        *left; /* by receiver: what rounding has left out of all items, in an array; NULL: no rounding. Guarded by `calls` */
    uint32_t *sources, *receivers; /* ascending */
    uint32_t source_count, receiver_count;
    uint64_t slot; /* bytes that the largest item has */
    uint64_t memory;
    pthread_mutex_t calls; /* one call of the program at a time; guards the next fields */
    bool scattered, gathered, finished, broken;
    uint64_t iteration, gathered_iteration;  /* the last ones */
    uint64_t pushed, pushed_bytes, replaced; /* pushed: to servers */
    struct hw_vector_servers *servers;       /* NULL: there are edges alone */
    const void **terms;                      /* for all items that a gather may take, and one more; so are the next two */
    hw_sparse_part *parts;                   /* sparse vectors */
    size_t *places;                          /* sparse vectors: in each part */
    hw_message **taken;                      /* by source */
    hw_pool *pool;                           /* dense ones: memory of items that were sent, for later ones */
    uint64_t *numbers;                       /* by source: of the last item taken */
    hw_log *log;                             /* of a history; NULL: none. Guarded by `logging`, the last of all locks */
    pthread_mutex_t logging;
    uint64_t *recorded;    /* by source: number of the last taken item that has a record; guarded by `calls` */
    pthread_mutex_t order; /* held from the choice of an item until it is sent, so that items leave in their order */
    pthread_mutex_t mutex; /* guards the edges, and `closed` */
    hw_edge_in *in;        /* by source */
    hw_edge_out *out;      /* by receiver */
    hw_vector_slots slots; /* of dense ones; `put` is for the thread that scatters */
    bool *closed;          /* by node: it has closed the vector without finish */
};

/* receive.c: the channel's functions. */
void hw_vector_arrived(void *vectors, uint32_t node, hw_message *message);
/* Sends what the edge to a receiver has to send. Any thread. */
hawser_status hw_vector_pump(hawser_vector *vector, uint32_t receiver, hawser_error *error) HAWSER_MUST_USE;
/* Returns HAWSER_PEER_LOST with the name of a neighbour that has closed the vector without finish. */
hawser_status hw_vector_check_closed(hawser_vector *vector, uint32_t node, hawser_error *error) HAWSER_MUST_USE;
/* Sends a word without numbers. */
hawser_status hw_vector_say(hawser_vector *vector, uint32_t node, hw_vector_word word, uint64_t number, uint64_t iteration,
                            hawser_error *error) HAWSER_MUST_USE;
/* Sends a word to all neighbours, each once. */
hawser_status hw_vector_say_all(hawser_vector *vector, hw_vector_word word, hawser_error *error) HAWSER_MUST_USE;

/* wait.c: waits until hw_edge_open of the edges to those receivers, or hw_edge_ready of the edge from a source. */
hawser_status hw_vector_await_open(hawser_vector *vector, uint32_t receiver, double deadline, uint64_t iteration,
                                   hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_vector_await_ready(hawser_vector *vector, uint32_t source, double deadline, uint64_t iteration,
                                    hawser_error *error) HAWSER_MUST_USE;

/* Sends a message of a vector to a neighbour. */
hawser_status hw_vector_send(hawser_vector *vector, uint32_t node, hw_message *message, hawser_error *error) HAWSER_MUST_USE;

/* rounding.c: returns whether an item's length and keys are right, and its form is none or that of the vector. */
bool hw_vector_is_whole(const hawser_vector *vector, const hw_message *item);
/* Puts whole items in place of the rounded ones of a list. After a failure some are still rounded. */
hawser_status hw_vector_widen(const hawser_vector *vector, hw_message **list, hawser_error *error) HAWSER_MUST_USE;
/* Makes a whole item of a pending one and of what rounding has left out of it. */
hawser_status hw_vector_take_back(hawser_vector *vector, uint32_t receiver, const hw_message *pending, hw_message **whole,
                                  hawser_error *error) HAWSER_MUST_USE;
/* Puts a rounded item in place of a whole one, to which it adds what the edge had left; the edge keeps what is left now. On
 * failure *item is NULL. */
hawser_status hw_vector_round(hawser_vector *vector, uint32_t receiver, hw_message **item,
                              hawser_error *error) HAWSER_MUST_USE;
/* Takes what a source has left at its end. Returns false, and does not take it, if it is wrong. */
bool hw_vector_take_rest(hawser_vector *vector, uint32_t source, hw_message *rest);

/* rest.c: says to all neighbours that this replica has called finish, and sends what its edges have left. */
hawser_status hw_vector_say_end(hawser_vector *vector, hawser_error *error) HAWSER_MUST_USE;

/* merge.c: adds a sparse item to another one: their sum (deltas), or of each key the row of the second one. Both are freed,
 * on failure too; *first is then NULL. */
hawser_status hw_vector_merge(const hawser_vector *vector, hw_message **first, hw_message *second,
                              hawser_error *error) HAWSER_MUST_USE;

/* mean.c: what the mean of all replicas needs, from malloc. */
typedef struct hw_vector_mean {
    hw_bytes *out, *in; /* by node */
    char *piece;        /* sparse vectors: flags and rows */
} hw_vector_mean;
hawser_status hw_vector_mean_new(const hawser_vector *vector, hw_vector_mean *mean, hawser_error *error) HAWSER_MUST_USE;
void hw_vector_mean_free(const hawser_vector *vector, hw_vector_mean *mean);
/* Replaces an array by its mean over all replicas, in pieces. Collective. */
hawser_status hw_vector_mean_all(hawser_vector *vector, hw_vector_mean *mean, void *array,
                                 hawser_error *error) HAWSER_MUST_USE;

/* slots.c: returns the bytes that slots would take, 0: none are used. */
uint64_t hw_vector_slots_memory(const hawser_vector *vector);
/* Makes what is needed, with slots of so many bytes in all (0: none). */
hawser_status hw_vector_slots_new(hawser_vector *vector, uint64_t bytes, hawser_error *error) HAWSER_MUST_USE;
void hw_vector_slots_free(hawser_vector *vector);

/* Sends HW_VECTOR_SLOTS to the receivers of this host. */
hawser_status hw_vector_slots_offer(hawser_vector *vector, hawser_error *error) HAWSER_MUST_USE;
/* Maps what a source has offered. Returns false if that is no offer. *reads: the answer. */
bool hw_vector_slots_offered(hawser_vector *vector, uint32_t source, const hw_message *message, bool *reads);
/* A receiver has answered. With the mutex held. */
void hw_vector_slots_answered(hawser_vector *vector, uint32_t receiver, bool reads);

/* Writes an array into a free slot, which becomes the payload of an item without one. Returns false if none is free. For the
 * thread that scatters. */
bool hw_vector_slots_put(hawser_vector *vector, const void *values, hw_message *item);
/* An item that has just got its number leaves for a receiver. With the mutex held. */
void hw_vector_slots_lend(hawser_vector *vector, uint32_t receiver, const hw_message *item);
/* Puts the number of the slot in place of the payload, if it is in one. */
void hw_vector_slots_strip(const hawser_vector *vector, hw_message *item);
/* Finds the payload of a received item that has none. Returns false if there is no such slot. */
bool hw_vector_slots_take(const hawser_vector *vector, uint32_t source, hw_message *item);
/* Copies a received item that is in a slot, so that it can be changed. Unchanged on failure. */
hawser_status hw_vector_slots_own(const hawser_vector *vector, hw_message **item, hawser_error *error) HAWSER_MUST_USE;

/* record.c: writes the history, if one is recorded. taken: a list of items; flags as in GOT. end: `array` is NULL when the
 * finish begins. */
hawser_status hw_vector_record_open(hawser_vector *vector, uint32_t run, hawser_error *error) HAWSER_MUST_USE;
void hw_vector_record_scatter(hawser_vector *vector, const hawser_scatter *scatter);
void hw_vector_record_sent(hawser_vector *vector, uint32_t node, const hw_message *item);
void hw_vector_record_taken(hawser_vector *vector, uint32_t source, const hw_message *items, unsigned flags,
                            uint64_t iteration);
void hw_vector_record_gather(hawser_vector *vector, uint64_t iteration);
void hw_vector_record_end(hawser_vector *vector, const void *array);

/* servers.c: a vector over `servers`. Makes what it needs, on this node. */
hawser_status hw_vector_servers_new(hawser_vector *vector, uint32_t servers, hawser_error *error) HAWSER_MUST_USE;
/* Returns the bytes that it takes on this node. */
double hw_vector_servers_memory(const hawser_vector *vector);
/* Makes its table, in the job's store or in one of the vectors. Collective. */
hawser_status hw_vector_servers_join(hawser_vector *vector, hawser_error *error) HAWSER_MUST_USE;
void hw_vector_servers_close(hawser_vector *vector);
/* Waits until the push before has ended, and refuses what edges alone allow. Nothing is changed. */
hawser_status hw_vector_servers_ready(hawser_vector *vector, const hawser_scatter *scatter,
                                      hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_vector_servers_scatter(hawser_vector *vector, const hawser_scatter *scatter,
                                        hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_vector_servers_gather(hawser_vector *vector, uint64_t iteration, hawser_gather_how how, void *array,
                                       hawser_error *error) HAWSER_MUST_USE;
/* Waits until the servers have what was scattered. */
hawser_status hw_vector_servers_settle(hawser_vector *vector, hawser_error *error) HAWSER_MUST_USE;
/* The finish, in its order: ends all clocks of this replica; when all have done so, takes the rest; when all have done that,
 * leaves the store. */
hawser_status hw_vector_servers_end(hawser_vector *vector, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_vector_servers_rest(hawser_vector *vector, void *array, hawser_error *error) HAWSER_MUST_USE;
void hw_vector_servers_finished(hawser_vector *vector);

/* state.c: makes a word with room for `length` bytes. */
hawser_status hw_vector_word_new(const hawser_vector *vector, hw_vector_word word, size_t length, hw_message **message,
                                 hawser_error *error) HAWSER_MUST_USE;
/* Returns HAWSER_BAD_ARGUMENT within a run of the job. */
hawser_status hw_vector_outside(const hawser_job *job, const char *name, const char *call,
                                hawser_error *error) HAWSER_MUST_USE;
/* Returns HAWSER_BAD_ARGUMENT if the vector is finished or broken, or within a run. */
hawser_status hw_vector_usable(const hawser_vector *vector, const char *call, hawser_error *error) HAWSER_MUST_USE;
/* For the end of a public call: a loss or timeout is the reason that the other nodes receive if this one leaves. `said` has
 * its text, which `error` (may be NULL) gets. */
hawser_status hw_vector_end_call(hawser_vector *vector, hawser_status status, const hawser_error *said, hawser_error *error);
/* Returns HAWSER_NOT_FINITE if the numbers are not finite and must be. */
hawser_status hw_vector_finite(const hawser_vector *vector, const void *values, size_t count, const char *what,
                               hawser_error *error) HAWSER_MUST_USE;

#endif
