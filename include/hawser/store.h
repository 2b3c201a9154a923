/*
 * store.h - the store API: a parameter server. Tables hold numbers by 64-bit key and are spread over the nodes of a job.
 * Pushes and pulls name ranges or lists of keys, are asynchronous, and wait for each other only as the caller asks.
 *
 * The model is the parameter server's (Li et al. 2014) with the clocks of SSP tables (Ho et al. 2013). Opening the store is
 * collective: the first `servers` nodes keep the tables, and all nodes may push and pull. In one process the same store
 * works without a network. Every node runs this; each call returns a status, which HAWSER_TRY passes on:
 *
 *   hawser_store_open(job, NULL, &store, &error);
 *   // f64, zeros, pushes add:
 *   hawser_store_table(store, &(hawser_table){.name = "w", .count = 1000000}, &w, &error);
 *   // this only starts it:
 *   hawser_push(store, &(hawser_request){.table = w, .keys = keys, .count = n, .values = gradient}, &task, &error);
 *   hawser_store_barrier(store, &error); // the pushes of all nodes are in
 *   // without keys, a range from 0:
 *   hawser_pull(store, &(hawser_request){.table = w, .count = 1000000, .out = weights}, &task, &error);
 *   hawser_store_wait(store, task, &error); // `weights` may be read from here on
 *   hawser_store_close(store);
 *
 * A node's own tasks on one key happen in the order in which they were started, so the pull above would see the own push
 * without a wait. `after` is for an order between different keys or tables: if a task must not start before others have
 * ended, it names them. It is also for tasks that wait for clocks, which later tasks overtake.
 *
 * There are three ways to wait for other workers, and each table uses one of them. *Clocks by hand*: a worker ends clock t
 * of a range of keys (hawser_store_clock), and a pull waits until all workers have ended `least` clocks there. *SSP tables*:
 * hawser_table_get, _inc and _clock do this for a worker, with rows that are at most `staleness` clocks old and are kept in
 * a cache. *Iterations* of data-centric tables: each push and pull says its `iteration`, and keys wait for each other one by
 * one, without calls for clocks. Summed tables use the first or the second, and their pushes say in `iteration` the clock
 * that they belong to. All of these count from 0.
 *
 * Stand-alone servers (hawser serve, hawser_store_serve) run apart from the job, which finds them by the options `at` and
 * `key_file`. The nodes of the job are then one group of workers among others. Groups may run at the same time or one after
 * the other. Tables and values are shared by all groups, clocks belong to one: a wait for clocks is a wait for workers of
 * the own group. (Li et al. 2014: worker groups that share a namespace.)
 *
 * All calls may be made from any thread, except opening, closing, hawser_store_table and hawser_store_find.
 *
 * "Collective" means that every node of the job makes the call, with the same arguments and in the same order.
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

/** The argument of a server function: the values of `rows` keys, one key after the other, and the updates pushed for
 *  them. */
typedef struct hawser_applying {
    hawser_type type;
    uint32_t width; /**< numbers per key */
    size_t rows;
    void *values;             /**< rows * width numbers of `type`; the function changes them in place */
    double *memory;           /**< rows * width * the function's `memory` numbers, initially zero; NULL if `memory` is 0 */
    const void *updates;      /**< rows * width numbers of `type` */
    const double *parameters; /**< the parameters of the table */
} hawser_applying;

/** A server function of the user, which a table names in `function`. Servers call `apply` from several threads, for
 *  different keys. `apply` must change each number by its own update only, since keys may be grouped in any way. If a number
 *  or its memory becomes NaN or infinite, both get their last values back and the push fails. The caller owns the struct and
 *  keeps it unchanged until the store is closed. */
typedef struct hawser_function {
    const char *name;    /**< 1 to 63 bytes; not a name of a built-in function */
    uint32_t memory;     /**< doubles kept for each number */
    uint32_t parameters; /**< number of parameters, at most 8 */
    /** Returns NULL if the parameters are valid, else a text about the mistake. A NULL pointer accepts all parameters. */
    const char *(*check)(const double *parameters);
    void (*apply)(const hawser_applying *applying);
    /** The types of values that `apply` handles, as a sum of 1 << HAWSER_F64 and the like; 0 means HAWSER_F64 only. A table
     *  of another type is refused, because clients of stand-alone servers choose the type. */
    uint32_t types;
} hawser_function;

/** A filter of the user, which a table names in `filter`. `pass` returns true if the row is sent now, and false if it is
 *  held and added to the row's next update. It is called with a lock held, so it must be short and must not call the
 *  store. */
typedef struct hawser_store_filter {
    const char *name; /**< 1 to 63 bytes; not a name of a built-in filter */
    bool (*pass)(uint64_t key, const void *update, uint32_t width, double level);
} hawser_store_filter;

/** Zero fields mean the default. */
typedef struct hawser_store_options {
    /** Functions of the user, in addition to the built-in ones; the same on every node. With `at`, the functions are those
     *  of the servers (hawser_store_serve), and tables name them. */
    const hawser_function *functions;
    size_t function_count;
    const hawser_store_filter
        *filters; /**< filters of the user; the caller owns them and keeps them unchanged until the store is closed */
    size_t filter_count;
    uint32_t servers; /**< the nodes 0 .. servers - 1 keep the tables; default: all */
    uint32_t threads; /**< threads of a server; default: the number of processors that the node may use, at most 4 */
    uint32_t workers; /**< workers per node that have clocks, the same on every node; default 1 */
    /** memory, for each pair of nodes, for key lists that are sent by number after the first time; default 16 MiB */
    size_t list_bytes;
    /** Memory of the worker cache, which keeps rows of a table that workers have read (hawser_table_get), and the same
     *  amount for their increments; default 64 MiB */
    size_t cache_bytes;
    double timeout; /**< seconds that a wait may take; default: the job's --timeout */
    /** HOST:PORT of stand-alone servers, as `hawser serve` prints it; NULL: nodes of the job serve. The servers then have
     *  their own `servers`, `threads` and `list_bytes`. Opening returns HAWSER_PEER_LOST if no server answers, or if the key
     *  or the release differs. If a server is lost or the servers end, every wait and request ends with HAWSER_PEER_LOST. */
    const char *at;
    const char *key_file; /**< with `at`: the file with the servers' key, mode 0600; default: the job's --key-file */
    const void *key;      /**< with `at`: the servers' key itself, instead of a file; used during the opening only */
    size_t key_length;    /**< its bytes, from 16 to 64 */
    /** Ended tasks go into a queue that the program reads on a thread of its own (hawser_store_ended), and no thread of the
     *  store calls `done` */
    bool queue;
} hawser_store_options;

/** Opens the job's store. Collective. A job has at most one open store; close it before the job. The caller closes the store
 *  with hawser_store_close. */
HAWSER_API hawser_status hawser_store_open(hawser_job *job, const hawser_store_options *options, hawser_store **store,
                                           hawser_error *error) HAWSER_MUST_USE;
/** Ends the tasks in progress, waits until every node has called it, and frees the store. Collective. NULL is allowed. */
HAWSER_API void hawser_store_close(hawser_store *store);

/** The definition of a table. A dense table has the keys first..last, initially zero. A sparse table has any 64-bit keys; a
 *  key that was never pushed reads as zero and takes no memory. */
typedef struct hawser_table {
    const char *name; /**< 1 to 63 bytes of UTF-8, no control characters */
    hawser_type type; /**< HAWSER_F64 (0, the default), HAWSER_F32 or HAWSER_I64 */
    uint32_t width;   /**< numbers per key; 0 means 1 */
    bool sparse;
    uint64_t first; /**< the first key of a dense table */
    /** The number of its keys. 0: they end at `last`, which is included. If both are given, they must agree. */
    uint64_t count, last;
    /** How a push changes the stored value: "add" (NULL; sums of HAWSER_I64 wrap around, as counters do), "assign", "max",
     *  "average" (the mean of all pushed values), "adagrad" (rate, epsilon), "adam" (rate, beta1, beta2, epsilon),
     *  "proximal" (rate, l1, l2, low, high: a proximal gradient step for l1 |x| + l2/2 x^2 within low..high; both bounds 0:
     *  none), or a function from the store's options; with `at`, a function of the servers. */
    const char *function;
    double parameters[8]; /**< parameters of the function */
    /** Data-centric synchronisation (Goel et al. 2015), for dense tables only. Requests carry their worker and iteration and
     *  wait for each other key by key, without a barrier. A pull in iteration a waits for the pushes of iteration a - 1 -
     *  delay to its keys. A push in iteration a waits for all workers' pulls of iteration a - delay. With delay 0 and one
     *  writer per key, every worker computes what one thread would compute; UINT64_MAX sets no order. hawser_store_clock
     *  counts as a pull of all keys that were not pulled. A second pull of the same keys in an iteration may return the next
     *  version, except with `reread` of hawser_request. For `reread`, servers keep the version before the newest where a
     *  worker may need it: this takes the memory of the table once more for every group that writes to it, and none with
     *  UINT64_MAX. */
    bool data_centric;
    uint64_t delay;
    /** The function gets the updates of a clock once, when all workers have ended it. They are summed over the workers in
     *  the order of their numbers, so the bits do not depend on arrival. Pushes name their worker and, in `iteration`, a
     *  clock that the worker has not ended yet. A pull sees them if its `least` is above that clock. hawser_store_clock must
     *  name all keys. */
    bool summed;
    /** The form in which a node's pushes are sent. The rounding error is added to the row's next update. int8 has one scale
     *  per push. */
    hawser_form rounding;
    /** The rows of a node's pushes that are sent now (Li et al. 2014, section 3.6); a held row is added to its next update.
     *  "significant": one number of the row is above `level`. "random": with probability `level`. "kkt": for function
     *  "proximal" only, drops rows that were zero at this node's last pull and whose update is within l1 - level, because
     *  they would stay zero. Or a filter from the store's options; NULL sends all rows. Rounding and filters apply to
     *  hawser_push and hawser_table_inc on float tables with a function that adds up ("add", "adagrad", "adam", "proximal",
     *  or the user's). hawser_store_flush sends the held rows. Takes the memory of one row per pushed key. */
    const char *filter;
    double level;
    uint64_t staleness; /**< hawser_table_get in clock t sees all updates of clocks <= t - staleness - 1 */
} hawser_table;

/** Creates a table, or finds the table of that name, and stores its number in *number. Collective. Returns
 *  HAWSER_BAD_ARGUMENT for an invalid field, and for a field without effect: a delay without data_centric, a level without a
 *  filter, more parameters than the function has. */
HAWSER_API hawser_status hawser_store_table(hawser_store *store, const hawser_table *table, uint32_t *number,
                                            hawser_error *error) HAWSER_MUST_USE;

/** Finds a table by its name: a table of this store, or, with stand-alone servers, of any group. Stores its number for
 *  requests in *number and, unless `table` is NULL, its definition in *table, whose `name` is then the argument. Collective.
 *  Returns HAWSER_BAD_ARGUMENT if there is no such table. */
HAWSER_API hawser_status hawser_store_find(hawser_store *store, const char *name, hawser_table *table, uint32_t *number,
                                           hawser_error *error) HAWSER_MUST_USE;

/** A push or a pull. The caller owns the memory that it points to and must neither change it nor, for `out`, read it until
 *  the task has ended, even if a wait for the task has timed out. After a failed task `out` holds a mixture of old and new
 *  values. */
typedef struct hawser_request {
    uint32_t table;
    /** `count` keys, ascending and distinct; with a count of 0 the task does nothing. NULL: a range of a dense table, of
     *  `count` keys from `first` on; with a count of 0 it ends at `last`, which is included. If both are given, they must
     *  agree. */
    const uint64_t *keys;
    size_t count;
    uint64_t first, last;
    const void *values; /**< pushes: `width` finite numbers of the table's type for each key, one key after the other */
    void *out;          /**< pulls: receives the values in the same layout */
    /** Pulls: waits until every worker has ended this many clocks on these keys; 0 does not wait. A read in clock t with
     *  staleness s sets t - s */
    uint64_t least;
    uint32_t worker;    /**< data-centric and summed tables: the worker of this node, 0 .. workers - 1 */
    uint64_t iteration; /**< data-centric and summed tables: the worker's iteration or clock, from 0 */
    /** Pulls from a data-centric table: the worker repeats this iteration, for instance after a failure. The pull returns
     *  what a pull of this iteration may see, even if other workers or the own push are further; with delay 0 these are the
     *  same values as before. Only the last iteration that the worker has read on these keys can be repeated. Returns
     *  HAWSER_BAD_INPUT for an older one, and HAWSER_NO_MEMORY if the servers had no memory to keep the version. A push is
     *  applied each time it is made: repeat it with "assign" only */
    bool reread;
    /** pulls: receives the number of clocks of every worker that the values contain at least (UINT64_MAX: there are no
     *  keys); may be NULL */
    uint64_t *oldest;
    /** Tasks that must have ended before this one starts ("execute-after-finish"); copied. If one of them fails or has
     *  failed, this one fails with its status, and does nothing. */
    const uint64_t *after;
    size_t after_count;
    /** Called when the task has ended, on a thread of the store or on the caller's thread within a call on the store. It
     *  must not block; it may start further tasks. With hawser_store_options.queue, hawser_store_ended alone calls it, where
     *  it may block. May be NULL. */
    void (*done)(void *user, uint64_t task, hawser_status status);
    void *user;
} hawser_request;

/** Starts a task and stores its number in *task. If `after` names tasks, it starts when they have ended. Returns
 *  HAWSER_BAD_ARGUMENT or HAWSER_NOT_FINITE if the request is invalid; then no task was started. Does not block, with one
 *  exception: if a node has just been lost, the call may take 0.2 s to collect the names of other lost nodes. A call from
 *  `done` never does. The tasks of a client on one key happen in the order in which they were started, except those that
 *  wait for clocks or iterations. A request is one step for each key, but not for all its keys together: it is sent in
 *  parts. */
HAWSER_API hawser_status hawser_push(hawser_store *store, const hawser_request *request, uint64_t *task,
                                     hawser_error *error) HAWSER_MUST_USE;
HAWSER_API hawser_status hawser_pull(hawser_store *store, const hawser_request *request, uint64_t *task,
                                     hawser_error *error) HAWSER_MUST_USE;
/** Pushes, and pulls the new values, on each key in one step. */
HAWSER_API hawser_status hawser_push_pull(hawser_store *store, const hawser_request *request, uint64_t *task,
                                          hawser_error *error) HAWSER_MUST_USE;
/** Pushes all held rows of a table on this node, unrounded. */
HAWSER_API hawser_status hawser_store_flush(hawser_store *store, uint32_t table, uint64_t *task,
                                            hawser_error *error) HAWSER_MUST_USE;
/** Ends a clock, counted from 0, of a worker of this node (0 .. workers - 1) on the keys first..last of a table; a sparse
 *  table takes all keys. The clock covers the worker's earlier pushes. Returns HAWSER_BAD_ARGUMENT if the worker has ended a
 *  later clock on one of the keys; ending the same clock again is allowed. */
HAWSER_API hawser_status hawser_store_clock(hawser_store *store, uint32_t table, uint32_t worker, uint64_t clock,
                                            uint64_t first, uint64_t last, hawser_error *error) HAWSER_MUST_USE;

/** Waits until a task has ended and returns its status. The status is returned only once. Returns HAWSER_NOT_FINITE if a
 *  push would have made numbers NaN or infinite: these keep their last values, the text names the table and a key, and the
 *  rest of the push is applied. In a summed table the check is on the sum of a clock: every node of the group gets the
 *  error, and its store ends as if a server were lost. Returns HAWSER_TIMEOUT, HAWSER_PEER_LOST, or HAWSER_BAD_ARGUMENT if
 *  no task with this number was started. */
HAWSER_API hawser_status hawser_store_wait(hawser_store *store, uint64_t task, hawser_error *error) HAWSER_MUST_USE;
/** Waits until one of `count` tasks has ended, stores its index in *which, sets tasks[*which] to 0, and returns its status.
 *  Zeros in `tasks` are skipped. Returns HAWSER_BAD_ARGUMENT if all are zero. */
HAWSER_API hawser_status hawser_store_wait_any(hawser_store *store, uint64_t *tasks, size_t count, size_t *which,
                                               hawser_error *error) HAWSER_MUST_USE;
/** Waits until all tasks of this node have ended. Returns the status of a failed task whose status has not been returned
 *  yet, if there is one. */
HAWSER_API hawser_status hawser_store_wait_all(hawser_store *store, hawser_error *error) HAWSER_MUST_USE;

/** A barrier: waits until all tasks of this node have ended, and every node has made the call. Then the tables have all that
 *  was pushed before it, and all nodes know which clocks have ended. Collective. If a task has failed and no call has
 *  returned its status yet, all nodes return it. Else HAWSER_OK, HAWSER_TIMEOUT or HAWSER_PEER_LOST. */
HAWSER_API hawser_status hawser_store_barrier(hawser_store *store, hawser_error *error) HAWSER_MUST_USE;

/** Kinds of records of the queue of a store. */
typedef enum hawser_ended_kind {
    HAWSER_ENDED_TASK = 1 /**< a task of hawser_push, hawser_pull, hawser_push_pull or hawser_store_flush has ended */
} hawser_ended_kind;
typedef struct hawser_ended {
    uint32_t kind;        /**< a hawser_ended_kind; a reader skips kinds that it does not know */
    hawser_status status; /**< of the task */
    uint64_t task;        /**< its number */
    void *user;           /**< of its request */
} hawser_ended;
/** Takes the oldest record of a store that was opened with `queue`: each task has one, once it has ended, in the order in
 *  which they ended. Calls the request's `done` on this thread, unless it is NULL. Fills `error` if the task has failed; its
 *  status then counts as returned (hawser_store_wait). Returns false, with *record unchanged, if there is no record. Does
 *  not block. Any thread; a record goes to one of them.
 *
 *  No thread of the store or of the network waits for the reader. A record was allocated with its task, so none is lost, and
 *  one that is not read keeps its few bytes until hawser_store_close, which drops it without a call of `done`. */
HAWSER_API bool hawser_store_ended(hawser_store *store, hawser_ended *record, hawser_error *error);
/** Returns a descriptor that is readable while the queue has records, for poll, epoll or an event loop. The store owns it: a
 *  program waits for it, and neither reads nor closes it. Returns -1 without a queue. */
HAWSER_API int hawser_store_descriptor(const hawser_store *store);

/*
 * SSP tables (Ho et al. 2013): in each of its clocks a worker gets rows, increments rows, and ends the clock. The workers of
 * a node share a cache: a row that is fresh enough for the staleness of its table is served from memory. Calls take keys
 * ascending and distinct, and block until they are done. A worker makes one call at a time, and none from a request's
 * `done`. Either hawser_table_clock or hawser_store_clock ends the clocks of a table, never both; data-centric tables have
 * only the latter.
 */

/** Adds `values` (`width` numbers per key) to the updates of a worker's clock. Their sums are sent when the clock ends, or
 *  earlier if they exceed cache_bytes. Returns HAWSER_NOT_FINITE if a sum would be infinite: that increment is left out, the
 *  others are added. */
HAWSER_API hawser_status hawser_table_inc(hawser_store *store, uint32_t table, uint32_t worker, const uint64_t *keys,
                                          size_t count, const void *values, hawser_error *error) HAWSER_MUST_USE;
/** Reads rows into `out` (`width` numbers per key). In clock t the rows contain all updates of all workers' clocks <= t -
 *  staleness - 1. The call waits for slower workers if necessary, so a worker that reads in each clock leads by at most
 *  `staleness` clocks. The rows contain all own increments with function "add", those of ended clocks with another function,
 *  and those of clocks that all workers have ended in a summed table. A row that is read again from the servers lacks what a
 *  filter or rounding holds. Returns HAWSER_NOT_FINITE if a row would be infinite with the own increments; it is then
 *  returned without them. Returns HAWSER_TIMEOUT or HAWSER_PEER_LOST. */
HAWSER_API hawser_status hawser_table_get(hawser_store *store, uint32_t table, uint32_t worker, const uint64_t *keys,
                                          size_t count, void *out, hawser_error *error) HAWSER_MUST_USE;
/** Ends the worker's clock on a table, the first being 0, and starts sending its increments. Does not wait for other
 *  workers. hawser_store_wait_all returns the status of a push that failed. Increments after the last clock are not sent. */
HAWSER_API hawser_status hawser_table_clock(hawser_store *store, uint32_t table, uint32_t worker,
                                            hawser_error *error) HAWSER_MUST_USE;

/** Writes all tables to a safetensors file on node 0, whole or not at all, in bounded memory. Each table is a tensor of its
 *  name, with NAME.keys if it is sparse and NAME.memory if its function keeps memory; the last tensor is a checksum.
 *  Collective; no worker may issue requests meanwhile. Waits for tasks in progress. Held rows (hawser_store_flush) and
 *  increments of clocks that have not ended are not in the file. With stand-alone servers, `path` names a file in the
 *  directory of the first server, and other groups wait meanwhile. Returns HAWSER_NOT_FINITE if the tables are saved but an
 *  earlier push failed for that reason and its status has not been returned. Returns HAWSER_BAD_ARGUMENT if a summed table
 *  has updates of a clock that only some workers have ended; if the sum of a clock has overflowed, later clocks are left out
 *  of the file instead. */
HAWSER_API hawser_status hawser_store_save(hawser_store *store, const char *path, hawser_error *error) HAWSER_MUST_USE;
/** Replaces the contents of the tables with those of a file that hawser_store_save wrote; node 0 reads it. The number of
 *  servers may differ from that at the save. Each table of the file must exist, with the same type, width, keys and
 *  function; parameters may differ. Collective; no worker may issue requests meanwhile. After the load, pulls with `reread`
 *  return the loaded values. Returns HAWSER_NOT_FINITE if rows of the file have numbers that are NaN or infinite: these rows
 *  are initialised as new, all others are loaded, and the text names the tables. Returns HAWSER_IO, HAWSER_BAD_INPUT,
 *  HAWSER_BAD_ARGUMENT with --record-history, or HAWSER_NO_MEMORY if the servers' --memory-limit is too low. After these the
 *  tables are unchanged, unless the text says that they are loaded in part. */
HAWSER_API hawser_status hawser_store_load(hawser_store *store, const char *path, hawser_error *error) HAWSER_MUST_USE;

/** Options of stand-alone servers; zero fields mean the default. */
typedef struct hawser_serving {
    const char *key_file; /**< the file with the key that clients must prove, mode 0600; default: the job's --key-file */
    /** Node 0 writes HOST:PORT to this file when clients can connect, and removes an older file at once. NULL: no file */
    const char *address_file;
    const char
        *directory;   /**< the directory on node 0 of files that clients save and load; default: the working directory */
    const char *load; /**< file of the initial tables, which node 0 reads; NULL: none */
    const char *save; /**< file to which node 0 writes all tables at the end; NULL: none */
    /** Called on node 0 with HOST:PORT when clients can connect; may be NULL */
    void (*ready)(void *argument, const char *address);
    /** Called on any thread with one line about a client that was rejected, disconnected or lost. NULL: the line is a
     *  warning of the job (messages.h) */
    void (*warn)(void *argument, const char *text);
    /** Called on node 0 with one line if the tables could not be written at the end, for instance on a full disk. Returns
     *  true to try again shortly. If it is NULL or returns false, the failure is returned and the tables are still in the
     *  store */
    bool (*unsaved)(void *argument, const char *text);
    /** Called on every node before `ready` with the TCP addresses on which it accepts clients ("192.0.2.7:7000,
     *  127.0.0.1:7000"); may be NULL */
    void (*listening)(void *argument, const char *addresses);
    /** Called on node 0 with one line if rows of `load` have numbers that are not finite: these rows are initialised as new,
     *  all others are loaded. NULL: HAWSER_NOT_FINITE is returned instead, before any client is served */
    void (*damaged)(void *argument, const char *text);
    void *argument; /**< passed to all five functions */
} hawser_serving;

/** Serves the store's tables to clients that have the key (`at` of hawser_store_open, `hawser store`), as `hawser serve`
 *  does, with this program's functions in addition to the built-in ones. Collective; every node of the job must serve the
 *  store, and the program must not use it otherwise. --interface, --port-range, --trust-fabric, --failure-timeout and --rate
 *  of the job also apply to clients. --memory-limit bounds the memory of a node's tables (default: what the machine has
 *  free): a request that needs more is refused. Returns HAWSER_BAD_ARGUMENT if a file to be written is the key file, or if
 *  the address file is a file of tables; tables may be saved to the file that they were loaded from. Blocks until a node's
 *  job is interrupted (hawser_interrupt), or returns the failure that ended it; every other server then ends too. */
HAWSER_API hawser_status hawser_store_serve(hawser_store *store, const hawser_serving *serving,
                                            hawser_error *error) HAWSER_MUST_USE;

/** Counters of this node as a client and as a server, since the store was opened. */
typedef struct hawser_store_figures {
    uint64_t tasks, messages;            /**< messages: requests, also those to the server in this process */
    uint64_t bytes_sent, bytes_received; /**< requests to servers in other processes, and their replies */
    uint64_t rows_held;                  /**< rows that filters left out of pushes */
    uint64_t bytes_plain;                /**< size of all requests without compression of keys and values */
    uint64_t lists_known;                /**< requests that sent a number in place of their list of keys */
    uint64_t lists_resent;               /**< those of them for which a server lacked the list, so that it was sent */
    uint64_t rows_cached, rows_pulled;   /**< rows that hawser_table_get served from the worker cache, and from servers */
    uint64_t rows_evicted, cache_bytes;  /**< rows evicted from the worker cache; its memory now */
    uint64_t served_requests, served_refused, served_deferred; /**< deferred: pulls that waited for clocks */
    uint64_t keys, bytes;  /**< keys of the tables on this node; memory of their values */
    uint64_t clock_ranges; /**< ranges of keys with clocks on this node */
} hawser_store_figures;
HAWSER_API void hawser_store_figures_of(hawser_store *store, hawser_store_figures *figures);

#ifdef __cplusplus
}
#endif
#endif
