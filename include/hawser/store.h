/*
 * store.h - the store door: a parameter server. Tables of numbers by 64-bit key, spread over the nodes of a job; push and pull on
 * ranges and lists of keys, asynchronous, in the order that you ask for and no more.
 *
 * The model is the parameter server's (Li et al. 2014) with the clocks of SSP tables (Ho et al. 2013). Every node of the job opens the
 * store alike; the first `servers` of them keep the tables, all of them may ask. In one process it is the same store without a network.
 *
 *   hawser_store_open(job, NULL, &store, &error);
 *   hawser_store_table(store, &(hawser_table){.name = "w", .type = HAWSER_F32, .last = 999999}, &w, &error);
 *   hawser_push(store, &(hawser_request){.table = w, .keys = keys, .count = n, .values = gradient}, &task, &error);
 *   hawser_pull(store, &(hawser_request){.table = w, .keys = keys, .count = n, .out = weights, .after = &task, .after_count = 1}, &task,
 *               &error);
 *   hawser_store_wait(store, task, &error);
 *
 * Servers may also run on their own (hawser serve, hawser_store_serve): `at` and `key_file` of the options say where, and
 * the nodes of the job are then one group of workers among others. Groups come and go, at the same time or one after the
 * other; tables and values are common to all, clocks are of a group: what waits for clocks waits for workers of the own
 * group alone. (Li et al. 2014: worker groups that share a namespace.)
 *
 * All calls but opening, closing, hawser_store_table and hawser_store_find may be made from any thread.
 */
#ifndef HAWSER_STORE_H
#define HAWSER_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/hawser.h"
#include "hawser/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hawser_store hawser_store;

/** What a function is given: `rows` keys' values one after the other, with what was pushed for them. */
typedef struct hawser_applying {
    hawser_type type;
    uint32_t width; /**< numbers a key */
    size_t rows;
    void *values;             /**< rows * width of the type, to be changed in place */
    double *memory;           /**< rows * width * the function's `memory`, zero at first; NULL where it keeps none */
    const void *updates;      /**< rows * width of the type */
    const double *parameters; /**< the table's */
} hawser_applying;

/** A function of your own, for hawser_table's `function` by its name. Servers call `apply` from several threads, for different keys; every
 *  number must be changed by its own update alone, since keys come in any grouping. If a number or its memory becomes NaN or
 *  infinite, both are set back and the push fails. Stays yours, unchanged, until the store is closed. */
typedef struct hawser_function {
    const char *name;    /**< 1 to 63 bytes, and none of Hawser's */
    uint32_t memory;     /**< doubles kept beside each number */
    uint32_t parameters; /**< that it takes, 8 at most */
    /** NULL: all parameters are good. Else it returns NULL, or what is wrong with them. */
    const char *(*check)(const double *parameters);
    void (*apply)(const hawser_applying *applying);
    /** Of values that `apply` takes: 1 << HAWSER_F64 and the like, added up; 0: HAWSER_F64 alone. A table of another type is refused: guests
     *  choose what they ask for. */
    uint32_t types;
} hawser_function;

/** A filter of your own, for hawser_table's `filter` by its name: does this row go now, or is it held for its next update? Called with a lock
 *  held: it must be short, and ask nothing of the store. */
typedef struct hawser_store_filter {
    const char *name; /**< 1 to 63 bytes, and none of Hawser's */
    bool (*pass)(uint64_t key, const void *update, uint32_t width, double level);
} hawser_store_filter;

/** Zero fields mean the default. */
typedef struct hawser_store_options {
    /** Your own, beside those that there are; the same on every node. With `at` they are the servers' (hawser_store_serve), called by name */
    const hawser_function *functions;
    size_t function_count;
    const hawser_store_filter *filters; /**< your own; stay yours, unchanged, until the store is closed */
    size_t filter_count;
    uint32_t servers;  /**< the nodes 0 .. servers - 1 keep the tables; default: all */
    uint32_t threads;  /**< of a server; default: as many as processors that the node may use, 4 at most */
    uint32_t workers;  /**< a node's workers that have clocks, the same on every node; default 1 */
    size_t list_bytes; /**< for lists of keys that are sent by number once known, for each pair of nodes; default 16 MiB */
    /** For rows of a table that its workers have near (hawser_table_get), and again for their increments; default 64 MiB */
    size_t cache_bytes;
    double timeout; /**< seconds that a wait may take; default: the job's --timeout */
    /** HOST:PORT of servers that run on their own, as `hawser serve` says it; NULL: nodes of the job serve. `servers`, `threads` and
     *  `list_bytes` of servers are theirs then. HAWSER_PEER_LOST: nobody there, another key or another release. When one of the servers is
     *  lost or they end, every wait and request ends with HAWSER_PEER_LOST. */
    const char *at;
    const char *key_file; /**< with `at`: the file with the servers' key, mode 0600; default: the job's --key-file */
} hawser_store_options;

/** Opens the job's store; one at a time. Every node calls it alike and with the same options. The store ends before the job is closed. */
HAWSER_API hawser_status hawser_store_open(hawser_job *job, const hawser_store_options *options, hawser_store **store,
                                           hawser_error *error) HAWSER_MUST_USE;
/** Ends what is under way, waits until every node has come this far, and frees. Every node calls it. NULL is allowed. */
HAWSER_API void hawser_store_close(hawser_store *store);

/** What a table is. Dense: keys first..last, all of them zero at first. Sparse: any 64-bit keys; one that was never pushed reads as
 *  zero and takes no memory. */
typedef struct hawser_table {
    const char *name; /**< 1 to 63 bytes of UTF-8, no control characters */
    hawser_type type; /**< HAWSER_F64, HAWSER_F32 or HAWSER_I64 */
    uint32_t width;   /**< numbers a key; 0: 1 */
    bool sparse;
    uint64_t first, last; /**< dense; both included */
    /** How what is pushed changes what is there: "add" (NULL), "assign", "max", "average" (the mean of all that was pushed),
     *  "adagrad" (rate, epsilon), "adam" (rate, beta1, beta2, epsilon), "proximal" (rate, l1, l2, low, high: a proximal gradient
     *  step), or one of the store's options'; with `at`, or one of the servers' */
    const char *function;
    double parameters[8]; /**< of the function */
    /** Data-centric (Goel et al. 2015), dense tables only: requests carry their worker and iteration, and wait for each other key by key, without
     *  a barrier: a pull in iteration a for the pushes of iteration a - 1 - delay to its keys, a push in iteration a for all workers' pulls
     *  of iteration a - delay. With delay 0 and one worker that writes each key, everybody computes what one alone would; UINT64_MAX is no
     *  order at all. hawser_store_clock counts as having pulled what was not. Who pulls keys for the second time in an iteration may find the
     *  next version; a worker that does its iteration over says so (hawser_request's `again`). For that servers keep the version before the
     *  newest where somebody may need it: memory as for the table once more, for every group that writes to it; with UINT64_MAX none. */
    bool data_centric;
    uint64_t delay;
    /** The function sees the updates of a clock once, when all workers have ended it: summed over the workers in the order of their numbers,
     *  so that the same bits come out whoever was first. Pushes name their worker and, in `iteration`, the clock, which it has not
     *  ended yet; they are in a pull with `least` beyond that clock. hawser_store_clock is for all keys. */
    bool summed;
    /** In how many bits a node's pushes go; what rounding leaves is added to the row's next update. int8 has one scale a push. */
    hawser_form rounding;
    /** Which rows of a node's pushes go (Li et al. 2014, section 3.6); a row that is held is added to its next update: "significant" (one of
     *  its numbers is above `level`), "random" (with probability `level`), "kkt" (function "proximal" only: rows that were zero when
     *  this node pulled them last, and whose update is within l1 - level, are left out: they would stay zero), or one of the store's
     *  options'; NULL: all. Rounding and filters are for floats and functions that add up ("add", "adagrad", "adam", "proximal", your
     *  own), for hawser_push and hawser_table_inc. hawser_store_flush sends what is held. Memory: a row for each key that is pushed. */
    const char *filter;
    double level;
    uint64_t staleness; /**< of hawser_table_get: in clock t it has all updates of clocks <= t - staleness - 1 */
} hawser_table;

/** Makes a table, or finds the one of that name, and gives its number. Every node calls it alike, in the same order. HAWSER_BAD_ARGUMENT: among
 *  others for what it would not heed, as a delay without data_centric, a level without a filter, parameters that the function has not. */
HAWSER_API hawser_status hawser_store_table(hawser_store *store, const hawser_table *table, uint32_t *number,
                                            hawser_error *error) HAWSER_MUST_USE;

/** Finds a table by its name: one that this store has made, or, with servers that run on their own, anybody. Its number is for requests; *table,
 *  unless NULL, is what it is, with `name` as its name. Every node calls it alike. HAWSER_BAD_ARGUMENT: there is none. */
HAWSER_API hawser_status hawser_store_find(hawser_store *store, const char *name, hawser_table *table, uint32_t *number,
                                           hawser_error *error) HAWSER_MUST_USE;

/** What is asked for. Memory that it points to stays yours, unchanged (`out`: unread), until the task has ended, also when a wait for it has timed
 *  out. What a task that failed leaves in `out` is some of the old and some of the new. */
typedef struct hawser_request {
    uint32_t table;
    const uint64_t *keys; /**< `count` of them, ascending, each once; NULL: the range first..last of a dense table */
    size_t count;
    uint64_t first, last;
    const void *values; /**< pushes: width numbers of the table's type for every key, key after key; finite */
    void *out;          /**< pulls: the same */
    /** Pulls: wait until every worker has finished that many clocks on these keys (0: wait for nobody). A read in clock t with
     *  staleness s asks for t - s */
    uint64_t least;
    uint32_t worker;    /**< in a data-centric or summed table: of this node, 0 .. workers - 1 */
    uint64_t iteration; /**< and its iteration or clock, from 0 */
    /** Pulls from a data-centric table: the worker does this iteration over, after a failure, or because a step turned out badly. It gets what a
     *  pull of this iteration may see, though all others, or its own push, have gone on: with delay 0 the very values that it got. The last
     *  iteration that it has read on these keys alone (HAWSER_BAD_INPUT for an older one; HAWSER_NO_MEMORY where servers had no room left to
     *  keep it). A push is applied as often as it is made: "assign" may be repeated, what adds up may not */
    bool again;
    uint64_t *oldest;      /**< pulls, or NULL: how many clocks of every worker are in what came, at least */
    const uint64_t *after; /**< tasks that must have ended before this one begins ("execute-after-finish"); copied */
    size_t after_count;
    /** Called once the task has ended, on whichever thread learns of it: one of the store's, or the caller's own within a call on the store.
     *  It must not block; it may ask for more. NULL: nothing. */
    void (*done)(void *user, uint64_t task, hawser_status status);
    void *user;
} hawser_request;

/** Begins a task, or keeps it until those that it names have ended, and gives its number. Returns at once, but where a node has just been lost: then
 *  within 0.2 s, to name others that were lost with it, unless it was called by `done`. What is wrong with the request is
 *  HAWSER_BAD_ARGUMENT or HAWSER_NOT_FINITE, and nothing has begun. A client reads what it wrote: its tasks on one key happen in the order in
 *  which they were begun, but for those that are set aside until clocks or iterations are there. Many keys go in parts: a request is one step
 *  for each key, not for all of them. */
HAWSER_API hawser_status hawser_push(hawser_store *store, const hawser_request *request, uint64_t *task,
                                     hawser_error *error) HAWSER_MUST_USE;
HAWSER_API hawser_status hawser_pull(hawser_store *store, const hawser_request *request, uint64_t *task,
                                     hawser_error *error) HAWSER_MUST_USE;
/** Pushes, and reads what came of it, on each key in one step. */
HAWSER_API hawser_status hawser_push_pull(hawser_store *store, const hawser_request *request, uint64_t *task,
                                          hawser_error *error) HAWSER_MUST_USE;
/** Pushes all that this node holds back of a table, unrounded. */
HAWSER_API hawser_status hawser_store_flush(hawser_store *store, uint32_t table, uint64_t *task,
                                            hawser_error *error) HAWSER_MUST_USE;
/** Says that a worker of this node (0 .. workers - 1) has finished a clock, counted from 0, on keys first..last of a table (sparse: all). What
 *  it pushed before is in by then. HAWSER_BAD_ARGUMENT: it has finished a later clock on one of the keys; the same one may be said again. */
HAWSER_API hawser_status hawser_store_clock(hawser_store *store, uint32_t table, uint32_t worker, uint64_t clock,
                                            uint64_t first, uint64_t last, hawser_error *error) HAWSER_MUST_USE;

/** Waits until a task has ended; its status, which is told once. HAWSER_NOT_FINITE: a push would have made numbers NaN or infinite; these keep their
 *  last values, and the text names the table and a key; the rest of the push is applied. In a summed table this is about the sum of a clock: every
 *  node of the group is told, and its store ends as if a server were lost. HAWSER_TIMEOUT, HAWSER_PEER_LOST; HAWSER_BAD_ARGUMENT: none has begun that has this
 *  number. */
HAWSER_API hawser_status hawser_store_wait(hawser_store *store, uint64_t task, hawser_error *error) HAWSER_MUST_USE;
/** Waits until one of `count` tasks has ended, gives its place in *which, and sets it to 0: chunks are taken as they come. Places with 0 are
 *  passed over; HAWSER_BAD_ARGUMENT when there are only such. */
HAWSER_API hawser_status hawser_store_wait_any(hawser_store *store, uint64_t *tasks, size_t count, size_t *which,
                                               hawser_error *error) HAWSER_MUST_USE;
/** Waits until all tasks of this node have ended; the status of one that failed and was told to nobody yet, if there is one. */
HAWSER_API hawser_status hawser_store_wait_all(hawser_store *store, hawser_error *error) HAWSER_MUST_USE;

/*
 * SSP tables (Ho et al. 2013): for each of its clocks a worker gets rows, increments rows, and ends the clock. The workers of a node share
 * what they have read: a row that is fresh enough for the staleness of its table is served from memory. Calls take keys ascending, each
 * once, and return when they are done; a worker makes one at a time, and none from within a request's `done`. A worker's clocks on
 * a table are told by hawser_table_clock or by hawser_store_clock, always the same of the two; data-centric tables have the latter only.
 */

/** Adds `values` (width numbers a key) to the updates of a worker's clock. They are sent, summed, when the clock ends (or earlier, when
 *  there are too many for cache_bytes). HAWSER_NOT_FINITE: a sum of increments would be infinite, and stays without this one; the rest is added. */
HAWSER_API hawser_status hawser_table_inc(hawser_store *store, uint32_t table, uint32_t worker, const uint64_t *keys,
                                          size_t count, const void *values, hawser_error *error) HAWSER_MUST_USE;
/** Reads rows to `out` (width numbers a key). In clock t all updates of all workers' clocks <= t - staleness - 1 are in; a
 *  slower worker is waited for where that takes it, so that one who reads in each clock leads by `staleness` clocks at most.
 *  With function "add" all own increments are in; with another one, those of clocks that the worker has ended; in a summed
 *  table those of clocks that all have; of what a filter or rounding holds back a row that is read anew knows nothing.
 *  HAWSER_NOT_FINITE: a row would be infinite with the own increments, and is without them. HAWSER_TIMEOUT, HAWSER_PEER_LOST. */
HAWSER_API hawser_status hawser_table_get(hawser_store *store, uint32_t table, uint32_t worker, const uint64_t *keys,
                                          size_t count, void *out, hawser_error *error) HAWSER_MUST_USE;
/** Ends the worker's clock on a table, the first being 0: its increments are on their way. Does not wait for others; a push that fails is told by
 *  hawser_store_wait_all. What was incremented after the last clock is not sent. */
HAWSER_API hawser_status hawser_table_clock(hawser_store *store, uint32_t table, uint32_t worker,
                                            hawser_error *error) HAWSER_MUST_USE;

/** Writes all tables to a safetensors file on node 0, whole or not at all, in bounded memory: a tensor of each table's name,
 *  with .keys beside it where it is sparse and .memory where its function keeps something; the last tensor is a checksum.
 *  Every node calls it alike, when no worker is under way: what was asked for is waited for; what is held back
 *  (hawser_store_flush) or incremented and not clocked is not in. With servers that run on their own, `path` is the name of
 *  a file in the directory of the first one, and other groups wait meanwhile. HAWSER_NOT_FINITE: the tables are saved, but an earlier push has
 *  failed for that reason, and its status had not been returned. */
HAWSER_API hawser_status hawser_store_save(hawser_store *store, const char *path, hawser_error *error) HAWSER_MUST_USE;
/** Puts in what such a file, read by node 0, has, in place of what is there; the store may have other servers than the one that wrote it. The
 *  tables of the file have been made before, of the same type, width, keys and function; parameters may differ. Every node calls it
 *  alike, when no worker is under way; who reads `again` from then on gets what was loaded. HAWSER_NOT_FINITE: all is loaded but rows with numbers that
 *  are NaN or infinite, which are as new; the text names their tables. HAWSER_IO, HAWSER_BAD_INPUT, HAWSER_BAD_ARGUMENT with --record-history, HAWSER_NO_MEMORY where it is for --memory-limit of servers: nothing has changed, unless the text says that tables are there in part. */
HAWSER_API hawser_status hawser_store_load(hawser_store *store, const char *path, hawser_error *error) HAWSER_MUST_USE;

/** How servers serve on their own; zero fields mean the default. */
typedef struct hawser_serving {
    const char *key_file; /**< the key that guests prove, mode 0600; default: the job's --key-file */
    /** Node 0 writes HOST:PORT here once guests may come; what lay there goes at once. NULL: nowhere */
    const char *address_file;
    const char *directory; /**< node 0's, where files lie that guests save and load; default: the present one */
    const char *load;      /**< tables to begin with, read by node 0; NULL: none */
    const char *save;      /**< where node 0 writes all tables in the end; NULL: nowhere */
    /** On node 0, with HOST:PORT, once guests may come; may be NULL */
    void (*ready)(void *argument, const char *address);
    /** One line about a guest that was turned away, sent away or lost; any thread; may be NULL */
    void (*warn)(void *argument, const char *text);
    /** On node 0, with one line that says why, when the tables could not be written in the end (a full disk): whether to try again a moment
     *  later. NULL: no, what failed is returned, and the tables are in the store yet */
    bool (*unsaved)(void *argument, const char *text);
    /** On every node, with the TCP addresses on which it listens for guests ("192.0.2.7:7000, 127.0.0.1:7000"), before `ready`; may be NULL */
    void (*listening)(void *argument, const char *addresses);
    /** On node 0, with one line, when rows of `load` have numbers that are not finite: these rows begin as new, everything else of the file is
     *  loaded. NULL: HAWSER_NOT_FINITE is returned instead, before any guest is served */
    void (*damaged)(void *argument, const char *text);
    void *argument; /**< of all five */
} hawser_serving;

/** Serves the store's tables to whoever comes with the key (`at` of hawser_store_open, `hawser store`), as `hawser serve` does, with the
 *  functions of this program beside Hawser's. Every node of the job calls it alike, with a store that all of them serve and that nobody
 *  uses for anything else. --interface, --port-range, --trust-fabric and --failure-timeout of the job are about the guests too; --memory-limit
 *  is what the tables of a node may take: who would make more of them, or push rows that need more, is refused (default: what the machine leaves).
 *  HAWSER_BAD_ARGUMENT when what is written is the key's file, or the address would go where tables lie; tables may be saved where they came from.
 *  Returns when a node's job is interrupted (hawser_interrupt), or with the failure that ended it: every other server ends with it. */
HAWSER_API hawser_status hawser_store_serve(hawser_store *store, const hawser_serving *serving,
                                            hawser_error *error) HAWSER_MUST_USE;

/** What this node has asked for, and what it has done as a server, since the store was opened. */
typedef struct hawser_store_figures {
    uint64_t tasks, messages, bytes_sent, bytes_received;
    uint64_t rows_held;                 /**< that filters left out of pushes */
    uint64_t bytes_plain;               /**< what was sent, had keys and values gone as they lie */
    uint64_t lists_known;               /**< requests whose keys went as a number */
    uint64_t lists_resent;              /**< of these, whose server had forgotten it */
    uint64_t rows_near, rows_pulled;    /**< of hawser_table_get: served from memory; asked of servers */
    uint64_t rows_evicted, cache_bytes; /**< that had to go; memory of rows now */
    uint64_t served_requests, served_refused, served_deferred; /**< deferred: pulls that waited for clocks */
    uint64_t keys, bytes;                                      /**< kept here; bytes: memory of values */
    uint64_t clock_ranges;                                     /**< ranges of keys for which clocks are kept here */
} hawser_store_figures;
HAWSER_API void hawser_store_figures_of(hawser_store *store, hawser_store_figures *figures);

#ifdef __cplusplus
}
#endif
#endif
