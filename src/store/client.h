/*
 * client.h - one client of a store: cuts what is asked for by server, keeps the order that was asked for, puts together what comes back.
 *
 * It owns no thread and takes one call at a time. A *task* is one push, pull, push_pull or clock; tasks are numbered from 1 in the order in
 * which they are given. A task may wait for older ones ("execute-after-finish", Li et al. 2014, section 3.4), which makes a graph
 * without cycles: sequential, eventual and bounded-delay consistency are ways to draw it.
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
    uint64_t seed;         /* for filters that draw; of every client another */
    size_t list_bytes;     /* that lists of keys may take, a server; 0: 16 MiB */
    size_t part;           /* numbers that go in one message, at least a key's; 0: HW_PART */
    size_t arc;            /* numbers of an arc of a dense table, the same for all clients and servers; 0: HW_PART */
    void *argument;
    /* Takes a message to a server; called by hw_client_more. What fails is the task's failure. */
    hawser_status (*send)(void *argument, uint32_t server, hw_message *message, hawser_error *error);
    /* A task has ended, or the clock is refused for which one had: `error` says why it failed, where status is not HAWSER_OK. May submit others. */
    void (*finished)(void *argument, void *tag, uint64_t task, hawser_status status, const hawser_error *error);
    bool lends;    /* values of pushes may go as a message's tail, */
    uint32_t near; /* but to this server, which keeps what it is sent */
    hw_log *log;   /* where what is asked and answered is noted down; NULL: nowhere. The caller's */
} hw_client_options;

hawser_status hw_client_new(const hw_client_options *options, hw_client **client, hawser_error *error) HAWSER_MUST_USE;
void hw_client_free(hw_client *client);

/* Says what a table is; tables get the numbers 0, 1 ... that the servers give them, in the same order. */
hawser_status hw_client_table(hw_client *client, const hw_table_spec *spec, uint32_t *number,
                              hawser_error *error) HAWSER_MUST_USE;

/* The same for servers that may have other tables besides, and call this one `there`. */
hawser_status hw_client_table_at_servers(hw_client *client, const hw_table_spec *spec, uint32_t there, uint32_t *number,
                                         hawser_error *error) HAWSER_MUST_USE;

uint32_t hw_client_table_there(const hw_client *client, uint32_t table);

size_t hw_client_tables(const hw_client *client);
const hw_table_spec *hw_client_table_at(const hw_client *client, uint32_t table); /* until the next hw_client_table */
const hw_arcs *hw_client_arcs(const hw_client *client, uint32_t table);           /* of a dense table */
uint32_t hw_client_server(const hw_client *client, uint32_t table, uint64_t key); /* who has the key */

/* What is asked for. Memory that it points to stays the caller's, unchanged, until the task has ended. */
typedef struct hw_order {
    hw_operation operation;
    uint32_t table;
    const uint64_t *keys; /* count of them, ascending; NULL: the range first..last */
    size_t count;
    uint64_t first, last;
    bool rest;             /* pushes: all that was held back of the table, instead of keys and values */
    const void *values;    /* pushes: count * width of the table's type */
    void *out;             /* pulls: the same */
    uint32_t worker;       /* clocks: whose */
    uint64_t clock;        /* and which has been finished */
    bool again;            /* pulls from a data-centric table: the worker does this iteration, its last there, over */
    uint64_t least;        /* pulls: wait until every worker has finished that many clocks on the keys */
    uint64_t *oldest;      /* pulls, or NULL: how many clocks of every worker were in, at least */
    const uint64_t *after; /* tasks that must have ended before this one begins; copied */
    size_t after_count;
    void *tag; /* for `finished` */
} hw_order;

/* Begins a task, or keeps it until it may begin. HAWSER_BAD_ARGUMENT says what is wrong with the order; nothing has begun then. */
hawser_status hw_client_submit(hw_client *client, const hw_order *order, uint64_t *task,
                               hawser_error *error) HAWSER_MUST_USE;
/* Sends the next message of those that tasks have begun to send; false: there is none. The owner calls it until then, after each of the calls
 * around it: a large task is made into messages one by one, so that servers work on the first while the next is made. */
bool hw_client_more(hw_client *client);
/* Where the values of a reply belong of which the head is there, nothing else: whoever reads it may put them there, and then has the reply, as
 * `landed`, heard. NULL: it is not what was asked for, or does not lie so; it is heard as a whole. The place is the task's, and no longer than
 * until that ends. */
void *hw_client_place(const hw_client *client, uint32_t server, const hw_message *reply);
/* A reply of a server; takes the message. HAWSER_BAD_INPUT: it is none, or not to what was asked; or a clock of the group was refused, which
 * `finished` is told as well where the client's own task for it has ended. */
hawser_status hw_client_hear(hw_client *client, uint32_t server, hw_message *message, hawser_error *error) HAWSER_MUST_USE;

bool hw_client_ended(const hw_client *client, uint64_t task);
uint64_t hw_client_newest(const hw_client *client); /* number of a task; 0: there was none yet */
/* HAWSER_BAD_ARGUMENT: no task has this number yet. */
hawser_status hw_client_no_task(const hw_client *client, uint64_t task, hawser_error *error) HAWSER_MUST_USE;
size_t hw_client_open(const hw_client *client); /* tasks that have not ended */
/* Ends all tasks with this status: a server is lost. */
void hw_client_fail(hw_client *client, hawser_status status, const hawser_error *error);

typedef struct hw_client_figures {
    uint64_t tasks, messages, bytes_sent, bytes_received;
    uint64_t bytes_plain;  /* what keys and values would have taken as they lie */
    uint64_t rows_held;    /* that a filter left out of a push */
    uint64_t lists_known;  /* requests that named their keys by number */
    uint64_t lists_resent; /* of these, forgotten by the server */
} hw_client_figures;
const hw_client_figures *hw_client_figures_of(const hw_client *client);

#endif
