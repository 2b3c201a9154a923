/*
 * hub.h - the store of a job on one node: a client that any thread may use, a server and its threads where this node serves.
 *
 * One thread at a time empties the client's outbox: it takes messages under the mutex and sends them without it, so that
 * they leave in order. That thread also has this node's own server receive the messages for it.
 */
#ifndef HW_RUNTIME_STORE_HUB_H
#define HW_RUNTIME_STORE_HUB_H

#include <pthread.h>

#include "hawser/store.h"
#include "runtime/job/job.h"
#include "runtime/job/watch.h"
#include "store/cache.h"
#include "store/client.h"
#include "store/range_clock.h"
#include "store/server.h"

/* For public functions: `store` is given, and not in a forked child of its process. */
#define HW_GIVEN_STORE(store)                                                                                               \
    do {                                                                                                                    \
        HW_GIVEN(store);                                                                                                    \
        HW_MADE_HERE(&(store)->job->origin, "store");                                                                       \
    } while (0)

/* A failed task, until a thread waits for it. */
typedef struct hw_failure {
    uint64_t task;
    hawser_error error;
} hw_failure;

/* The callback of a user whose task has ended. */
typedef struct hw_completion {
    bool queued; /* for the queue: the user's thread calls it (ended.c) */
    void (*done)(void *user, uint64_t task, hawser_status status);
    void *user;
    uint64_t task;
    hawser_status status;
    struct hw_completion *next;
} hw_completion;

/* The queue of stripes that have work, each at most once, and the threads that do it. */
typedef struct hw_stripe_pool {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    hw_stripe **ring;
    size_t capacity, first, count;
    bool ended;
    pthread_t *threads;
    uint32_t started;
} hw_stripe_pool;

/* The worker cache of a table: rows that the workers of this node keep. */
typedef struct hw_worker_cache {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* a pull has ended */
    hw_table_spec spec;
    hw_cache *cache;
    struct hw_abandoned_pull *orphans; /* memory of abandoned pulls */
    _Atomic int clocks;                /* hw_clocked: the API that advances the table's clocks */
    hw_range_clock *ended;             /* by worker: clocks ended by hawser_store_clock; NULL: none yet */
} hw_worker_cache;
enum hw_clocked { HW_CLOCKED_NOT, HW_CLOCKED_BY_HAND, HW_CLOCKED_BY_CACHE };

#define HW_HOLDER_CHANGES UINT32_MAX

/* A function that exists only on the servers. The client needs just its name, because it never applies the function. */
typedef struct hw_remote_function {
    struct hw_remote_function *next;
    char name[HW_TABLE_NAME];
    hw_function function;
} hw_remote_function;

/* A thread that waits for one of these tasks, or for all tasks (count 0). */
typedef struct hw_waiter {
    const uint64_t *tasks; /* 0: no task */
    size_t count, which;
    atomic_bool over; /* read without the mutex */
    bool asleep;
    pthread_cond_t ended;
    struct hw_waiter *next;
} hw_waiter;

/* Replies to clients of stand-alone servers leave by a net of their own (runtime/serving/client_listener.h). */
typedef struct hw_client_listener hw_client_listener;
typedef struct hw_client_listener_ops {
    void (*reply)(hw_client_listener *listener, uint32_t client, hw_message *message); /* takes the message */
    void (*account)(hw_client_listener *listener, uint32_t client, int64_t bytes);
    void (*free)(hw_client_listener *listener);
} hw_client_listener_ops;

/* A user's function, and a user's filter, in the store whose watched places their calls take. */
typedef struct hw_own_function {
    hawser_store *store;
    const hawser_function *own;
} hw_own_function;
typedef struct hw_watched_filter {
    hw_own_filter base;
    hawser_store *store;
    const hawser_store_filter *own;
} hw_watched_filter;

struct hawser_store {
    hawser_job *job;
    uint64_t serial; /* of the stores of the job, from 1 */
    bool of_vectors; /* it was opened for vectors over servers, and not by the program */
    hawser_store_options options;
    uint32_t self, nodes, servers;
    uint32_t *own;                /* numbers of this node's workers, options.workers of them */
    uint32_t workers;             /* of all nodes */
    const uint32_t *worker_nodes; /* by worker, of a program's; NULL: each node has options.workers, in order */
    bool *lost_workers;           /* scratch for a loss: by worker */
    hw_server *server;            /* NULL: this node does not serve */
    hw_stripe_pool pool;
    pthread_mutex_t making;           /* held while tables, or groups of clients, come or go */
    pthread_mutex_t holding;          /* guards: */
    uint32_t holders[HW_TABLES_MOST]; /* of a table's stripes: the number of readers; HW_HOLDER_CHANGES: one writer */
    struct hw_remote *remote;         /* to stand-alone servers; NULL: nodes of the job serve */
    hw_client_listener *listener;     /* for clients; NULL: not a stand-alone server */
    const hw_client_listener_ops *client_ops; /* the listener's functions for the store */
    pthread_mutex_t mutex;                    /* guards what follows, the client with it */
    hw_waiter *waiters;
    bool looks;                 /* a waiting thread polls before it sleeps: there is another processor */
    uint32_t unlooked, penalty; /* waits that sleep at once; their number after the next unsuccessful poll */
    hw_client *client;
    hw_message *outbox, **outbox_end; /* envelope.destination: the server */
    bool carrying;                    /* a thread empties the outbox, */
    pthread_mutex_t zero_copy;        /* and holds this during a zero-copy send: */
    _Atomic uint64_t zero_copy_task;  /* of this task, which does not end meanwhile (0: no task), */
    uint32_t zero_copy_slice;         /* for this slice of it */
    pthread_mutex_t direct_receive;   /* held while the net reads values into the user's memory */
    hw_completion *completions, **completions_end;
    hw_completion *ended, **ended_end; /* the queue, */
    int ended_descriptor;              /* and its eventfd: 1 while there are records, else 0; -1: none */
    hw_failure *failures;              /* for which no thread has waited yet */
    size_t failure_count, failure_capacity;
    hawser_error unreported;        /* a failure that could not be kept for lack of memory */
    bool over;                      /* no task can be started or go on, */
    hawser_error why;               /* for this reason */
    bool closing;                   /* no task is left, and a node that leaves is not missing */
    uint32_t run;                   /* number of this store in the job's history */
    hw_log *log;                    /* the client's; NULL: no history */
    hw_function *functions;         /* the user's, options.function_count entries */
    hw_own_function *own_functions; /* likewise */
    hw_watched_filter *own_filters; /* the user's, options.filter_count entries */
    hw_call_place *calls;           /* at which the watchdog sees calls of the user's functions */
    hw_remote_function *remote_functions;
    _Atomic(hw_worker_cache *) near[HW_TABLES_MOST]; /* by table */
};

/* Returns the number of this node's worker among those of all nodes; UINT32_MAX: this node has no such worker. */
static inline uint32_t hw_hub_worker(const hawser_store *store, uint32_t worker)
{
    return worker < store->options.workers ? store->own[worker] : UINT32_MAX;
}

/* The workers of a store for a program's blocks. */
typedef struct hw_hub_sessions {
    const uint32_t *numbers; /* of this node's workers, */
    uint32_t own, all;       /* their number, and that of all nodes */
    const uint32_t *nodes;   /* the node of each; outlives the store */
    bool still;              /* no threads: the calling thread does the work */
} hw_hub_sessions;
/* Opens a store like hawser_store_open; without `sessions`, the options give workers and threads. */
hawser_status hw_hub_open(hawser_job *job, const hawser_store_options *options, const hw_hub_sessions *sessions,
                          hawser_store **store, hawser_error *error) HAWSER_MUST_USE;

/* Frees a store without a wait for other nodes, whose requests to this one then end with its loss or their timeout. */
void hw_hub_abandon(hawser_store *store);

/* Makes or finds a table on all servers of the job. Collective. */
hawser_status hw_hub_create(hawser_store *store, const hw_table_spec *spec, uint32_t *number,
                            hawser_error *error) HAWSER_MUST_USE;

/* ask.c: starts a task, whose tag is a hw_completion or NULL; the next hw_ask_go sends its messages. */
hawser_status hw_ask_begin(hawser_store *store, const hw_order *order, uint64_t *task, hawser_error *error) HAWSER_MUST_USE;
/* Sends the messages of started tasks. */
void hw_ask_go(hawser_store *store);
/* Reports a failure to a user with all nodes that were lost at once, not only the first. */
hawser_status hw_ask_completion(const hawser_store *store, hawser_status status, hawser_error *error) HAWSER_MUST_USE;

/* ask.c: returns the status of the task, or with 0 of any task whose status was not returned yet; each is returned once.
 * Needs the mutex. */
hawser_status hw_ask_failure(hawser_store *store, uint64_t task, hawser_error *error) HAWSER_MUST_USE;

/* ended.c: the queue of ended tasks. hw_ended_put needs the mutex. */
hawser_status hw_ended_open(hawser_store *store, hawser_error *error) HAWSER_MUST_USE;
void hw_ended_put(hawser_store *store, hw_completion *completion);
void hw_ended_close(hawser_store *store);

/* functions.c: takes the options' functions; finds one by name (NULL: none). */
hawser_status hw_hub_functions(hawser_store *store, hawser_error *error) HAWSER_MUST_USE;
/* Finds a function by name; a client of stand-alone servers accepts every name, because the servers may have it. */
hawser_status hw_hub_function_there(hawser_store *store, const char *name, const hw_function **function,
                                    hawser_error *error) HAWSER_MUST_USE;
void hw_hub_functions_free(hawser_store *store);
hawser_status hw_hub_no_function(const hawser_store *store, const char *table, const char *function,
                                 hawser_error *error) HAWSER_MUST_USE;

/* calls.c: the places at which the watchdog sees calls of the user's functions. Close it after the last call and before the
 * tables are freed. */
hawser_status hw_hub_calls_open(hawser_store *store, hawser_error *error) HAWSER_MUST_USE;
void hw_hub_calls_close(hawser_store *store);
/* Takes a place for a call; name and table may be NULL. Returns NULL if all places are taken: this call is not watched. */
hw_call_place *hw_hub_call_begin(const hawser_store *store, const char *kind, const char *name, const char *table);
void hw_hub_call_end(hw_call_place *place);

/* Sets the filter that a table requests. */
hawser_status hw_hub_filter(const hawser_store *store, const hawser_table *table, hw_table_spec *spec,
                            hawser_error *error) HAWSER_MUST_USE;

/* hold.c: takes a table's stripes from the server's threads, if this node serves: to read (shared) or to change rows
 * (exclusive). Returns false if another thread holds them and one of both changes rows. Call hw_store_release afterwards. */
bool hw_store_hold(hawser_store *store, uint32_t table, bool changes) HAWSER_MUST_USE;
void hw_store_release(hawser_store *store, uint32_t table);
/* The next two do so for all tables. hw_store_hold_all waits for other threads. */
void hw_store_hold_all(hawser_store *store, bool changes);
void hw_store_release_all(hawser_store *store);

/* worker_cache.c */
hawser_status hw_worker_cache_open(hawser_store *store, const hw_table_spec *spec, uint32_t number,
                                   hawser_error *error) HAWSER_MUST_USE;
void hw_worker_cache_close(hawser_store *store);
/* Drops all cached rows of a table that was loaded. */
void hw_worker_cache_forget(hawser_store *store, uint32_t table);
/* Fixes which API advances the clocks of a table: hawser_table_clock or hawser_store_clock. The first call decides; a later
 * call of the other one fails. */
hawser_status hw_worker_cache_clocked(hawser_store *store, uint32_t table, enum hw_clocked how,
                                      hawser_error *error) HAWSER_MUST_USE;
/* For hawser_store_clock, with an order of HW_CLOCK of this node's worker: the first refuses a clock that goes back, the
 * second records a clock that was sent. */
hawser_status hw_worker_cache_check_clock(hawser_store *store, uint32_t worker, const hw_order *order,
                                          hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_worker_cache_record_clock(hawser_store *store, uint32_t worker, const hw_order *order,
                                           hawser_error *error) HAWSER_MUST_USE;
void hw_worker_cache_figures(hawser_store *store, hawser_store_figures *figures);

/* pool.c: threads that work on stripes. */
hawser_status hw_stripe_pool_start(hw_stripe_pool *pool, uint32_t threads, hawser_error *error) HAWSER_MUST_USE;
/* Makes capacity for that many more stripes, before they exist. */
hawser_status hw_stripe_pool_reserve(hw_stripe_pool *pool, size_t stripes, hawser_error *error) HAWSER_MUST_USE;
void hw_stripe_pool_put(hw_stripe_pool *pool, hw_stripe *stripe);
void hw_stripe_pool_stop(hw_stripe_pool *pool);

/* carry.c: between client, servers and net. */
hawser_status hw_hub_send(void *store, uint32_t server, hw_message *message, hawser_error *error);
void hw_hub_finished(void *store, void *tag, uint64_t task, hawser_status status, const hawser_error *error);
void hw_hub_reply(void *store, uint32_t client, hw_message *message);
void hw_hub_account(void *store, uint32_t client, int64_t bytes);
void hw_hub_ready(void *store, hw_stripe *stripe);
void hw_hub_arrived(void *store, uint32_t node, hw_message *message);
void *hw_hub_acquire(void *store, uint32_t node, const hw_message *message);
void hw_hub_release(void *store);
/* Ends the store: every task fails with this error, and no other can be started. */
void hw_hub_end(hawser_store *store, const hawser_error *error);
/* A node of the job is lost: tasks that need it as a server fail by its name, and so do those that wait for its workers;
 * others go on. */
void hw_hub_node_lost(void *store, const hw_member_event *event);
/* The same for a node that has left the job before all nodes began to close the store. */
void hw_hub_node_left(void *store, uint32_t node);
hawser_status hw_hub_log(void *store, hw_stream_name name, hw_log **log, hawser_error *error);
/* Returns the deadline of a wait that starts now, by the store's timeout. */
double hw_hub_deadline(const hawser_store *store);
/* Returns what ends a wait that the user has begun; NULL: nothing. */
const hawser_cancellation *hw_hub_cancellation(const hawser_store *store);
/* Returns HAWSER_STOP if it has been cancelled. */
hawser_status hw_hub_check(const hawser_store *store, hawser_error *error) HAWSER_MUST_USE;
/* Returns whether one of the waiter's tasks has ended, and sets waiter->which to its place. Needs the mutex. */
bool hw_hub_is_over(const hawser_store *store, hw_waiter *waiter);
/* Unlocks the mutex, having sent the client's new requests and called the callbacks of ended tasks. */
void hw_hub_unlock(hawser_store *store);

#endif
