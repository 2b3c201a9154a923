/*
 * hawser/vector.h - vectors: a loop that a program has already sends its array to other processes, and takes in what has
 * arrived from them, without a server, a driver or a plan (MALT: Li et al. 2015, section 3).
 *
 * Each process of a job is a *replica*. A vector has a *dataflow*, a graph whose edges say which replica sends to which. A
 * loop of every replica is then:
 *
 *   hawser_vector_open(job, &(hawser_vector_options){.name = "w", .type = HAWSER_F32, .count = n, .dataflow = "halton"},
 *                      &v, &error);
 *   for (uint64_t t = 0; t < steps; t++) {
 *       step(w);
 *       HAWSER_TRY(hawser_vector_scatter(v, &(hawser_scatter){.iteration = t, .values = w}, &error));
 *       HAWSER_TRY(hawser_vector_gather(v, t, HAWSER_GATHER_AVERAGE, NULL, w, &error)); // w is now the mean
 *   }
 *   HAWSER_TRY(hawser_vector_finish(v, w, &error)); // the mean of all replicas, with equal bits on all of them
 *   hawser_vector_close(v);
 *
 * A vector holds *values*, of which the newest counts, or *deltas*, which are added up and of which each counts exactly
 * once. An edge keeps, until its receiver gathers:
 *
 *   tap         values: the newest; one that no replica has gathered is overwritten and counted. Deltas: their sum.
 *   bsp, ssp:S  each iteration by itself, and at most max(3, S + 2) of them; a scatter waits for space.
 *
 * How long a gather of iteration t waits is the vector's sync. *tap* never waits. *bsp* waits for scatter t of each
 * in-neighbour and takes exactly that, so that the bits of every result are fixed. *ssp:S* waits until each in-neighbour has
 * scattered t - S, and takes what has arrived. Under bsp and ssp all replicas begin with the same iteration, iterations
 * count by one, and each scatter is followed by the gather of its iteration. A wait that lasts longer than --timeout ends
 * with HAWSER_TIMEOUT, which names both ends of the edge; a lost node ends every wait with HAWSER_PEER_LOST. The job's
 * cancellation ends waits of scatters and gathers with HAWSER_STOP; what was waited for is not gathered, and the call can be
 * made again.
 *
 * Vectors are for the time between runs of programs, like the store. There may be many at a time, for instance one for each
 * layer of a network. "Collective" means that every node of the job makes the call, for vectors in the same order. Calls of
 * several threads on one vector are serialised; hawser_vector_close must be the last one.
 *
 * scatter, gather, barrier and finish may return HAWSER_VIEW_CHANGED in later versions, when a vector outlives the loss of a
 * node. Today its generation is 1, and a lost node ends the job.
 */
#ifndef HAWSER_VECTOR_H
#define HAWSER_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/hawser.h"
#include "hawser/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hawser_vector hawser_vector;

/** What the numbers of a vector are. */
typedef enum hawser_vector_content {
    HAWSER_VECTOR_VALUES = 0, /**< replicas mix them: the newest of each sender counts */
    HAWSER_VECTOR_DELTAS = 1  /**< replicas add them up: each scatter counts exactly once */
} hawser_vector_content;

/** Zero fields mean the default. The texts are used during the opening only. */
typedef struct hawser_vector_options {
    const char *name; /**< 1 to 63 bytes of UTF-8, no control characters; no other open vector of the job has it */
    hawser_type type; /**< HAWSER_F64 (0, the default) or HAWSER_F32 */
    size_t count;     /**< numbers, from 1 to 4 GiB of them */
    hawser_vector_content content;
    /** A scatter has some rows of the array, which it names by keys: row k is the numbers from k * width on. An edge under
     *  tap keeps the newest row of each key (values) or the sum (deltas), so that no row disappears. */
    bool sparse;
    uint32_t width; /**< numbers of a row of a sparse vector; 0 means 1. `count` is a multiple */
    /** Who sends to whom: "all" (NULL), "halton" (MALT's: about log2 N receivers for each of N replicas), "tree" (a binomial
     *  tree, both directions), or "file:PATH", which node 0 reads: a line "FROM TO" for each edge, # begins a comment. Every
     *  replica must reach every other, on a path of edges. At most 256 replicas.
     *
     *  Or "servers", "servers:K": K nodes (all) keep a table of the vector's name in the job's store, which is opened for
     *  the vectors if the program has none, until the last of them has finished. For deltas alone, and without `waits`: a
     *  scatter is a push, and waits until the servers have the one before; a gather is a pull of the whole table, takes from
     *  it what is new of all replicas, and waits for that answer. Differences of the table's sums are rounded like those
     *  sums. Gathers are sums, or under bsp means. The store must not have a queue, nor stand-alone servers. */
    const char *dataflow;
    const char *edges; /**< the edges themselves, as in such a file; `dataflow` is then NULL */
    const char *sync;  /**< "tap" (NULL), "bsp" or "ssp:S" with S from 0 to 1000 */
    /** Under tap: a scatter waits until each of its receivers has gathered the one before it, so that none is overwritten or
     *  added to others. Replicas that do not gather in turn can then block each other until --timeout. */
    bool waits;
    bool any_number; /**< values may be NaN and infinite; else these are refused before they are sent */
    /** The form in which deltas are sent: HAWSER_EXACT (0), HAWSER_AS_BF16, HAWSER_AS_F16, or HAWSER_AS_INT8, which has one
     *  scale for 512 numbers in turn. What rounding leaves out of a number is kept, and added to the next delta of this
     *  number (sparse: of this row) that is sent on the edge. So what a receiver has gathered differs from what was
     *  scattered to it by what the edge keeps: of each number at most 2^-8 (bf16) or 2^-11 (f16) of the last sum that was
     *  rounded, or 2^-25 if that is more (f16), or 1/127 of the largest of its 512 (int8); numbers beyond 65504 (f16) or the
     *  largest of bf16 wait for later deltas. The finish sends what is kept in full, so that nothing is lost: the total is
     *  that of the deltas, up to the rounding of sums in the vector's type. Not for values, nor over servers. */
    hawser_form rounding;
} hawser_vector_options;

/** Opens a vector. Collective. Returns HAWSER_BAD_ARGUMENT if nodes differ in its options, HAWSER_BAD_INPUT for a dataflow
 *  in which a replica cannot reach another one (both are named), and HAWSER_NO_MEMORY if what the edges may keep exceeds
 *  --memory-limit, besides other open vectors. The caller closes it with hawser_vector_close, before the job. */
HAWSER_API hawser_status hawser_vector_open(hawser_job *job, const hawser_vector_options *options, hawser_vector **vector,
                                            hawser_error *error) HAWSER_MUST_USE;

/** Numbers to send. */
typedef struct hawser_scatter {
    uint64_t iteration; /**< ascending */
    const void *values; /**< `count` numbers of the vector's type, or the rows of `keys`; copied */
    /** Sparse vectors: ascending numbers of rows, whose numbers are in `values`, row after row. May be NULL for no keys. */
    const uint64_t *keys;
    size_t key_count;
    /** The receivers, out-neighbours of this replica; NULL: all of them. The others get the iteration alone, for their
     *  waits. */
    const uint32_t *to;
    size_t to_count;
} hawser_scatter;

/** Sends numbers to the out-neighbours. Waits under bsp and ssp for space, and with `waits` for the scatter before; never
 *  otherwise. Returns HAWSER_NOT_FINITE for NaN and infinities, and if a sum of deltas that waits for a receiver would
 *  become infinite; HAWSER_BAD_ARGUMENT for an iteration that does not ascend. After a failure within the sending (no
 *  memory, a lost node, an infinite sum) the vector can only be closed. */
HAWSER_API hawser_status hawser_vector_scatter(hawser_vector *vector, const hawser_scatter *scatter,
                                               hawser_error *error) HAWSER_MUST_USE;

/** How a gather changes the caller's array. It adds in the vector's type, in the order of replicas, the own array at the own
 *  place. */
typedef enum hawser_gather_how {
    /** The mean of the own array and the new one of each in-neighbour. Sparse values: of each row, over the own array and
     *  the in-neighbours that have a new one. Deltas: the sum of the own array (the own delta) and of all new ones, divided
     *  by 1 + the scatters that are in it; a row that a sparse delta does not name is zero in it. */
    HAWSER_GATHER_AVERAGE = 0,
    HAWSER_GATHER_SUM = 1,     /**< the sum of the own array and all new ones */
    HAWSER_GATHER_REPLACE = 2, /**< the new one (sparse: of each row) of the last in-neighbour that has it; for values */
    HAWSER_GATHER_FUNCTION = 3 /**< a function of the user changes the array */
} hawser_gather_how;

/** What has arrived from one in-neighbour. */
typedef struct hawser_arrival {
    uint32_t replica;   /**< the sender */
    uint64_t iteration; /**< of its newest scatter in it */
    uint64_t scatters;  /**< number of scatters in it: 1, or more for a sum of deltas, and for sparse values */
    const void *values; /**< `count` numbers of the vector's type, until the function returns */
    size_t count;
    const uint64_t *keys; /**< sparse vectors: the rows that `values` has; NULL if the vector is dense, or there are none */
    size_t key_count;
} hawser_arrival;

/** A function of the user. `apply` is called for each arrival, in the order of replicas and of iterations, on the thread
 *  that gathers. It may change `array`, and must not call the vector. If it does not return HAWSER_OK, the gather ends with
 *  that status, and the vector can only be closed. */
typedef struct hawser_gather_function {
    hawser_status (*apply)(void *user, void *array, const hawser_arrival *arrival);
    void *user;
} hawser_gather_function;

/** Takes in what is new, after the own scatter of this iteration, and waits for it as the sync says. `array` has `count`
 *  numbers of the vector's type. `function` is for HAWSER_GATHER_FUNCTION, else NULL. Under tap an iteration may be gathered
 *  again, for instance after a barrier. Returns HAWSER_BAD_ARGUMENT for a gather before the own scatter of its iteration, or
 *  of an earlier iteration. Then, and if the wait ends early, the array is unchanged. */
HAWSER_API hawser_status hawser_vector_gather(hawser_vector *vector, uint64_t iteration, hawser_gather_how how,
                                              const hawser_gather_function *function, void *array,
                                              hawser_error *error) HAWSER_MUST_USE;

/** Waits until all replicas have called it. What they scattered before can be gathered after it, by one gather. Collective.
 *  The replicas have the same number of it before their finish. */
HAWSER_API hawser_status hawser_vector_barrier(hawser_vector *vector, hawser_error *error) HAWSER_MUST_USE;

/** Ends the vector's loop: waits until all replicas have called it. Collective. Afterwards nothing is in flight. Deltas that
 *  were not gathered, and what rounding has kept, are added to the array. Arrays of values become their mean over all
 *  replicas, added in the order of replicas, with equal bits on all; sparse ones row by row over the replicas that hold the
 *  row, which means that they have scattered or gathered it. Rows that no replica holds stay as they are. A replica that
 *  waits here stalls no other: gathers of iterations that it has not scattered leave it out, and what is sent to it is kept
 *  for its array (deltas) or dropped (values). So loops of different length end, under bsp too. Afterwards the vector can
 *  only be closed. */
HAWSER_API hawser_status hawser_vector_finish(hawser_vector *vector, void *array, hawser_error *error) HAWSER_MUST_USE;

/** What a vector is, and what it has done so far. The vector owns the arrays. */
typedef struct hawser_vector_facts {
    uint32_t generation; /**< of its members and edges; 1 */
    uint32_t replica, replicas;
    const uint32_t *sources; /**< the in-neighbours, ascending */
    size_t source_count;
    const uint32_t *receivers; /**< the out-neighbours, ascending */
    size_t receiver_count;
    uint64_t sent;        /**< messages with numbers that this replica has sent */
    uint64_t sent_bytes;  /**< of numbers and keys in them */
    uint64_t overwritten; /**< values that a newer one has replaced before they were gathered, here or on their way */
    uint64_t added;       /**< scatters that were added to others, or merged with them by key, before they were sent */
    uint64_t memory;      /**< bytes that its edges may keep, counted against --memory-limit */
} hawser_vector_facts;

/** Stores facts about the vector. */
HAWSER_API hawser_status hawser_vector_describe(hawser_vector *vector, hawser_vector_facts *facts,
                                                hawser_error *error) HAWSER_MUST_USE;

/** Frees the vector. Does not wait. If it is closed before its finish, scatters and gathers of other replicas that wait for
 *  this one end with HAWSER_PEER_LOST, and their barriers and finishes when this one makes another collective call or
 *  leaves the job, or after --timeout. NULL is allowed. */
HAWSER_API void hawser_vector_close(hawser_vector *vector);

#ifdef __cplusplus
}
#endif
#endif
