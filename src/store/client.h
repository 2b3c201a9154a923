/*
 * client.h - one client of a store: cuts tasks into messages by server, keeps the requested order, assembles the replies.
 *
 * A client has no thread of its own and takes one call at a time. A *task* is one push, pull, push_pull or clock. Tasks are
 * numbered from 1 in the order of their submission. A task may wait for older ones ("execute-after-finish", Li et al. 2014,
 * section 3.4), which makes a graph without cycles: sequential, eventual and bounded-delay consistency are ways to draw it.
 */
#ifndef HW_STORE_CLIENT_H
#define HW_STORE_CLIENT_H

#include "history/record.h"
#include "store/arcs.h"
#include "store/holding.h"
#include "store/lists.h"
#include "store/request.h"
#include "store/ring.h"

typedef struct hw_client hw_client;

typedef struct hw_client_options {
    uint32_t servers;
    const uint64_t *names; /* of the servers, for the ring; copied */
    uint64_t seed;         /* for filters that draw; must differ between clients */
    size_t list_bytes;     /* that lists of keys may take, per server; 0: 16 MiB */
    size_t part;           /* numbers in one message, at least those of one key; 0: HW_PART */
    size_t arc;            /* numbers of an arc of a dense table, the same for all clients and servers; 0: HW_PART */
    void *argument;
    /* Sends a message to a server; takes it. Called by hw_client_more. A failure ends the task. */
    hawser_status (*send)(void *argument, uint32_t server, hw_message *message, hawser_error *error);
    /* Called when a task has ended, or when the clock of an ended task is refused later. `error` holds the reason if status
     * is not HAWSER_OK. May submit other tasks. */
    void (*finished)(void *argument, void *tag, uint64_t task, hawser_status status, const hawser_error *error);
    uint32_t workers; /* traffic is counted for each of these, and not for others */
    bool zero_copy;   /* values of pushes may go as a message's tail, */
    uint32_t near;    /* but to this server, which is in this process and keeps what it is sent; UINT32_MAX: there is none */
    hw_log *log;      /* records requests and replies for a history; NULL: none. The caller frees it */
} hw_client_options;

hawser_status hw_client_new(const hw_client_options *options, hw_client **client, hawser_error *error) HAWSER_MUST_USE;
void hw_client_free(hw_client *client);

/* Describes a table. Tables get the numbers 0, 1 ... in this order, as at the servers. */
hawser_status hw_client_table(hw_client *client, const hw_table_spec *spec, uint32_t *number,
                              hawser_error *error) HAWSER_MUST_USE;

/* Describes a table of servers that may have other tables, too, and give this one the number `there`. */
hawser_status hw_client_table_at_servers(hw_client *client, const hw_table_spec *spec, uint32_t there, uint32_t *number,
                                         hawser_error *error) HAWSER_MUST_USE;

uint32_t hw_client_table_there(const hw_client *client, uint32_t table);

size_t hw_client_tables(const hw_client *client);
const hw_table_spec *hw_client_table_at(const hw_client *client, uint32_t table); /* until the next hw_client_table */
const hw_arcs *hw_client_arcs(const hw_client *client, uint32_t table);           /* of a dense table */
uint32_t hw_client_server(const hw_client *client, uint32_t table, uint64_t key); /* the server of a key */

/* The description of a task. The memory that it points to must stay unchanged until the task has ended; the caller frees
 * it. */
typedef struct hw_order {
    hw_operation operation;
    uint32_t table;
    const uint64_t *keys; /* count of them, ascending; NULL: the range first..last */
    size_t count;
    uint64_t first, last;
    bool rest;             /* pushes: all updates of the table that a filter held back, instead of keys and values */
    const void *values;    /* pushes: count * width of the table's type */
    void *out;             /* pulls: likewise */
    uint32_t worker;       /* clocks: the worker, */
    uint64_t clock;        /* and the clock that it has finished */
    bool reread;           /* pulls from a data-centric table: the worker does this iteration, its last, over */
    uint64_t least;        /* pulls: wait until every worker has finished this many clocks on the keys */
    uint64_t *oldest;      /* pulls, or NULL: returns the least number of clocks of all workers in the values */
    const uint64_t *after; /* tasks that must have ended before this one begins; copied */
    size_t after_count;
    void *tag; /* for `finished` */
} hw_order;

/* Starts a task, or queues it until it may start. HAWSER_BAD_ARGUMENT: the order is wrong, and no task was made. */
hawser_status hw_client_submit(hw_client *client, const hw_order *order, uint64_t *task,
                               hawser_error *error) HAWSER_MUST_USE;
/* Sends the next message of the started tasks; false: none is left. The owner calls it until then, after each of the calls
 * around it. A large task is made into messages one by one, so that servers work on the first while the next is made. */
bool hw_client_more(hw_client *client);
/* Returns where the values of a reply belong, given its head: the reader may put them there directly and then passes the
 * reply on as `tail_received`. NULL: the reply was not requested, or its values have another layout; it must be received
 * whole. The memory is the task's, valid until the task ends. */
void *hw_client_place(const hw_client *client, uint32_t server, const hw_message *reply);
/* Receives a reply of a server; takes the message. HAWSER_BAD_INPUT: it is no reply, or not to a request of this client; or
 * a clock of the group was refused, which is also reported to `finished` if the client's own task for it has ended. */
hawser_status hw_client_receive(hw_client *client, uint32_t server, hw_message *message,
                                hawser_error *error) HAWSER_MUST_USE;

bool hw_client_ended(const hw_client *client, uint64_t task);
uint64_t hw_client_newest(const hw_client *client); /* number of the newest task; 0: none yet */
/* Returns HAWSER_BAD_ARGUMENT with the text that no task has this number yet. */
hawser_status hw_client_no_task(const hw_client *client, uint64_t task, hawser_error *error) HAWSER_MUST_USE;
size_t hw_client_open(const hw_client *client); /* tasks that have not ended */
/* Notes that a server is lost, with its name in `error`. Tasks with an unanswered part there fail, each when the other
 * servers have answered their parts; so do later tasks that need it, and a clock when it was sent to the others. What the
 * server still sends is dropped. A second call is without effect. */
void hw_client_fail_server(hw_client *client, uint32_t server, hawser_status status, const hawser_error *error);
/* Returns why no request can go on, a clock that was not sent, or NULL; the caller then fails the client. */
const hawser_error *hw_client_broken(const hw_client *client);
bool hw_client_has_lost(const hw_client *client, uint32_t server);
/* Ends all tasks with this status: the store is over. */
void hw_client_fail(hw_client *client, hawser_status status, const hawser_error *error);

/* Requests of a worker. */
typedef struct hw_client_traffic {
    uint64_t messages;
    uint64_t bytes_plain;                /* size of keys and values without encoding */
    uint64_t bytes_sent, bytes_received; /* to and from servers in other processes */
} hw_client_traffic;
/* Returns what a worker's tasks have sent and received; none: zeros. */
hw_client_traffic hw_client_traffic_of(const hw_client *client, uint32_t worker);

typedef struct hw_client_figures {
    uint64_t tasks;
    hw_client_traffic traffic; /* of all workers */
    uint64_t rows_held;        /* that a filter held back */
    uint64_t lists_known;      /* requests that named their keys by number */
    uint64_t lists_resent;     /* of these, forgotten by the server */
} hw_client_figures;
const hw_client_figures *hw_client_figures_of(const hw_client *client);

#endif
