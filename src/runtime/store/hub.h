/*
 * hub.h - the store of a job on one node: a client that any thread may use, a server and its threads where this node serves.
 *
 * One thread at a time has the client make messages, under its lock, and carries them out without it, so that they leave in order. What is for
 * this node's own server is heard by the thread that carries it.
 */
#ifndef HW_RUNTIME_STORE_HUB_H
#define HW_RUNTIME_STORE_HUB_H

#include <pthread.h>
#include <time.h>

#include "hawser/store.h"
#include "runtime/job/job.h"
#include "runtime/job/watch.h"
#include "store/cache.h"
#include "store/client.h"
#include "store/range_clock.h"
#include "store/server.h"

/* A task that failed, for whoever waits for it. */
typedef struct hw_failure {
    uint64_t task;
    hawser_error error;
} hw_failure;

/* The callback of a user whose task has ended. */
typedef struct hw_completion {
    void (*done)(void *user, uint64_t task, hawser_status status);
    void *user;
    uint64_t task;
    hawser_status status;
    struct hw_completion *next;
} hw_completion;

/* Stripes that wait for a thread; each at most once. */
typedef struct hw_stripe_pool {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    hw_stripe **ring;
    size_t room, first, count;
    bool ended;
    pthread_t *threads;
    uint32_t started;
} hw_stripe_pool;

/* What the workers of this node have near of a table. */
typedef struct hw_near {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* a pull has ended */
    hw_table_spec spec;
    hw_cache *cache;
    struct hw_orphan *orphans; /* memory of pulls that nobody waits for any more */
    _Atomic int clocks;        /* hw_clocked: who tells of the table's clocks */
    hw_range_clock *ended;     /* by worker, of hawser_store_clock: clocks that it has ended; NULL: none yet */
} hw_near;
enum hw_clocked { HW_CLOCKED_NOT, HW_CLOCKED_BY_HAND, HW_CLOCKED_NEAR };

#define HW_HOLDER_CHANGES UINT32_MAX

/* A function that exists only on the servers. The client needs just its name, because it never applies the function. */
typedef struct hw_foreign {
    struct hw_foreign *next;
    char name[HW_TABLE_NAME];
    hw_function function;
} hw_foreign;

/* Somebody who waits: for one of these tasks, or for all that there are (count 0). */
typedef struct hw_waiter {
    const uint64_t *tasks; /* 0: none */
    size_t count, which;
    atomic_bool over; /* for who looks without the mutex */
    bool asleep;
    pthread_cond_t ended;
    struct hw_waiter *next;
} hw_waiter;

/* Replies to clients of stand-alone servers leave by a net of their own (runtime/serving/client_listener.h). */
typedef struct hw_client_listener hw_client_listener;
typedef struct hw_client_listener_ops {
    void (*reply)(hw_client_listener *listener, uint32_t client, hw_message *message); /* takes the message */
    void (*owe)(hw_client_listener *listener, uint32_t client, int64_t bytes);
    void (*free)(hw_client_listener *listener);
} hw_client_listener_ops;

/* A function of the user's, and where threads that call it are watched. */
enum { HW_FUNCTION_PLACES = 16 };
typedef struct hw_own_function {
    const hawser_function *own;
    hw_call_place *places; /* HW_FUNCTION_PLACES of them */
} hw_own_function;

struct hawser_store {
    hawser_job *job;
    hawser_store_options options;
    uint32_t self, nodes, servers;
    uint32_t *own;     /* numbers of this node's workers, options.workers of them */
    uint32_t workers;  /* of all nodes */
    hw_server *server; /* NULL: this node does not serve */
    hw_stripe_pool pool;
    pthread_mutex_t making;  /* held while tables, or groups of clients, come or go */
    pthread_mutex_t holding; /* guards: */
    uint32_t
        holders[HW_TABLES_MOST]; /* of a table's stripes: how many who read; HW_HOLDER_CHANGES: one who does not only read */
    struct hw_remote *remote;    /* to servers that run on their own; NULL: nodes of the job serve */
    hw_client_listener *listener;             /* for clients; NULL: none are let in */
    const hw_client_listener_ops *client_ops; /* what the listener does for the store */
    pthread_mutex_t mutex;                    /* guards what follows, the client with it */
    hw_waiter *waiters;
    bool looks;                 /* before it sleeps: there is another processor */
    uint32_t unlooked, penalty; /* waits that begin with a sleep; how many, when the next look is in vain */
    hw_client *client;
    hw_message *outbox, **outbox_end; /* envelope.destination: the server */
    bool carrying;                    /* somebody empties the outbox, */
    pthread_mutex_t lending;          /* and holds this while values are sent from where they lie: */
    _Atomic uint64_t lent;            /* of this task, which does not end meanwhile (0: of none), */
    uint32_t lent_slice;              /* for this part of it */
    pthread_mutex_t landing;          /* held while a read of the net's puts values where they are to be */
    hw_completion *completions, **completions_end;
    hw_failure *failures; /* that nobody has waited for yet */
    size_t failure_count, failure_room;
    hawser_error untold; /* a failure that there was no memory to keep */
    bool lost;
    hawser_error loss;
    uint32_t run;                   /* which of the job's, in its history */
    hw_log *log;                    /* the client's; NULL: no history */
    hw_function *functions;         /* the user's, options.function_count of them */
    hw_own_function *own_functions; /* the same */
    hw_foreign *foreign;
    _Atomic(hw_near *) near[HW_TABLES_MOST]; /* by table */
};

/* The number of a worker of this node among those of all nodes; UINT32_MAX: there is no such worker here. */
static inline uint32_t hw_hub_worker(const hawser_store *store, uint32_t worker)
{
    return worker < store->options.workers ? store->own[worker] : UINT32_MAX;
}

/* A store for a program's blocks: who has clocks on this node, and of how many. */
typedef struct hw_hub_sessions {
    const uint32_t *numbers; /* of this node's, */
    uint32_t own, all;       /* so many, of so many */
    bool still;              /* no threads: everything is done by who asks */
} hw_hub_sessions;
/* hawser_store_open, with the options' `workers` and `threads` where there are no sessions. */
hawser_status hw_hub_open(hawser_job *job, const hawser_store_options *options, const hw_hub_sessions *sessions,
                          hawser_store **store, hawser_error *error) HAWSER_MUST_USE;

/* Makes a table on all servers of the job, or finds it; all nodes call it. */
hawser_status hw_hub_create(hawser_store *store, const hw_table_spec *spec, uint32_t *number,
                            hawser_error *error) HAWSER_MUST_USE;

/* ask.c: begins a task, whose tag is a hw_completion or NULL; its messages go with the next hw_ask_go. */
hawser_status hw_ask_begin(hawser_store *store, const hw_order *order, uint64_t *task, hawser_error *error) HAWSER_MUST_USE;
/* Lets waiting messages go. */
void hw_ask_go(hawser_store *store);
/* Reports a failure to a user with all nodes that were lost at once, not only the first. */
hawser_status hw_ask_completion(const hawser_store *store, hawser_status status, hawser_error *error) HAWSER_MUST_USE;

/* functions.c: takes the options' in; finds one by name, NULL: there is none. */
hawser_status hw_hub_functions(hawser_store *store, hawser_error *error) HAWSER_MUST_USE;
const hw_function *hw_hub_function(const hawser_store *store, const char *name);
/* The same at a client, to whom every name is one that servers may know. */
hawser_status hw_hub_function_there(hawser_store *store, const char *name, const hw_function **function,
                                    hawser_error *error) HAWSER_MUST_USE;
void hw_hub_functions_free(hawser_store *store);
hawser_status hw_hub_no_function(const hawser_store *store, const char *table, const char *function,
                                 hawser_error *error) HAWSER_MUST_USE;

/* The filter that a table asks for. */
hawser_status hw_hub_filter(const hawser_store *store, const hawser_table *table, hw_table_spec *spec,
                            hawser_error *error) HAWSER_MUST_USE;

/* hold.c. Takes a table's stripes from the server's threads, if this node serves: to read, as others may at the same time, or to change what is there.
 * False: somebody has them to change it, or has them and this one would. Then hw_store_release. */
bool hw_store_hold(hawser_store *store, uint32_t table, bool changes) HAWSER_MUST_USE;
void hw_store_release(hawser_store *store, uint32_t table);
/* All tables, waiting for it. */
void hw_store_hold_all(hawser_store *store, bool changes);
void hw_store_release_all(hawser_store *store);

/* near.c */
hawser_status hw_near_open(hawser_store *store, const hw_table_spec *spec, uint32_t number,
                           hawser_error *error) HAWSER_MUST_USE;
void hw_near_close(hawser_store *store);
/* A table has been loaded: no row that is near is true any more. */
void hw_near_forget(hawser_store *store, uint32_t table);
/* Fixes which API advances the clocks of a table: hawser_table_clock or hawser_store_clock. The first call decides; a later call of the other
 * one fails. */
hawser_status hw_near_clocked(hawser_store *store, uint32_t table, enum hw_clocked how, hawser_error *error) HAWSER_MUST_USE;
/* For hawser_store_clock, an order of HW_CLOCK of this node's worker: refuses a clock that goes back; and records one that was sent. */
hawser_status hw_near_check_clock(hawser_store *store, uint32_t worker, const hw_order *order,
                                  hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_near_record_clock(hawser_store *store, uint32_t worker, const hw_order *order,
                                   hawser_error *error) HAWSER_MUST_USE;
void hw_near_figures(hawser_store *store, hawser_store_figures *figures);

/* pool.c: threads that work stripes. */
hawser_status hw_stripe_pool_start(hw_stripe_pool *pool, uint32_t threads, hawser_error *error) HAWSER_MUST_USE;
/* Room for that many stripes more, before they are made. */
hawser_status hw_stripe_pool_room(hw_stripe_pool *pool, size_t stripes, hawser_error *error) HAWSER_MUST_USE;
void hw_stripe_pool_put(hw_stripe_pool *pool, hw_stripe *stripe);
void hw_stripe_pool_stop(hw_stripe_pool *pool);

/* carry.c: between client, servers and net. */
hawser_status hw_hub_send(void *store, uint32_t server, hw_message *message, hawser_error *error);
void hw_hub_finished(void *store, void *tag, uint64_t task, hawser_status status, const hawser_error *error);
void hw_hub_reply(void *store, uint32_t client, hw_message *message);
void hw_hub_owe(void *store, uint32_t client, int64_t bytes);
void hw_hub_ready(void *store, hw_stripe *stripe);
void hw_hub_arrived(void *store, uint32_t node, hw_message *message);
void *hw_hub_borrow(void *store, uint32_t node, const hw_message *message);
void hw_hub_give_back(void *store);
void hw_hub_lost(void *store, const hawser_error *error);
hawser_status hw_hub_log(void *store, hw_stream_name name, hw_log **log, hawser_error *error);
/* The deadline of a wait that begins now, by the store's timeout. */
struct timespec hw_hub_deadline(const hawser_store *store);
/* Has what this one waits for ended? waiter->which: the task's place. The mutex is held. */
bool hw_hub_is_over(const hawser_store *store, hw_waiter *waiter);
/* Unlocks the mutex, having sent the client's new requests and called the callbacks of ended tasks. */
void hw_hub_unlock(hawser_store *store);

#endif
