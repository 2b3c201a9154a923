/*
 * server.h - one server of a store: receives requests, cuts them into pieces for its stripes, replies when the last piece is
 * done.
 *
 * A server has no threads of its own. The thread that has a message calls hw_server_receive; a thread that the owner chooses
 * calls hw_stripe_work. Requests of one client must be received one at a time and in order; those of different clients may
 * be received at once. The server makes sure that one thread at a time works on a stripe.
 */
#ifndef HW_STORE_SERVER_H
#define HW_STORE_SERVER_H

#include "history/record.h"
#include "store/arcs.h"
#include "store/lists.h"
#include "store/request.h"
#include "store/ring.h"

typedef struct hw_server hw_server;
typedef struct hw_stripe hw_stripe;
typedef struct hw_group hw_group;
typedef struct hw_client_session hw_client_session;

typedef struct hw_server_options {
    uint32_t self, servers;
    const uint64_t *names; /* of the servers, for the ring; copied */
    uint32_t clients;      /* 0 .. clients - 1 */
    uint32_t workers;      /* of all these clients; each has clocks: 0 .. workers - 1 */
    uint32_t stripes;      /* of a table; 0: 8 */
    size_t arc;            /* numbers of an arc of a dense table, the same for all clients and servers; 0: HW_PART */
    size_t list_bytes;     /* that a client's lists of keys may take; 0: 16 MiB */
    /* Limits, for each client that is not one of the above, the bytes of its requests that wait for clocks, and, for each
     * client of a group, what was pushed to summed tables in clocks that have not ended; 0: 1 GiB. */
    size_t waiting_bytes;
    void *argument;
    /* An idle stripe has work: the owner must have a thread call hw_stripe_work for it, once. Called by any thread. */
    void (*ready)(void *argument, hw_stripe *stripe);
    bool zero_copy; /* replies may have a tail, which is read before `reply` returns */
    /* Sends a reply to a client; takes the message. Called by any thread. */
    void (*reply)(void *argument, uint32_t client, hw_message *message);
    /* Accounts `bytes` of a client's request in flight, its reply included; below 0: the request has ended. NULL: not
     * accounted. Called by any thread, after the reply. Requests that wait for clocks are not counted, because the client
     * itself may have to send that clock. */
    void (*account)(void *argument, uint32_t client, int64_t bytes);
    /* Opens the log in which a stripe records its work; NULL: no history. The log lives until `drop`. */
    hawser_status (*log)(void *argument, hw_stream_name name, hw_log **log, hawser_error *error);
    void (*drop)(hw_log *log);
} hw_server_options;

hawser_status hw_server_new(const hw_server_options *options, hw_server **server, hawser_error *error) HAWSER_MUST_USE;
void hw_server_free(hw_server *server); /* no call may be in progress */

/* Adds a table. A table with the same name and description returns the same number; one with another description is
 * HAWSER_BAD_ARGUMENT. One call at a time; requests for other tables may be received meanwhile. */
hawser_status hw_server_create(hw_server *server, const hw_table_spec *spec, uint32_t *number,
                               hawser_error *error) HAWSER_MUST_USE;
/* Creates a table in two steps, for several servers that must agree. *fresh: the table is new, and no request can reach it
 * yet. Then hw_server_show publishes it, or hw_server_unmake removes it. */
hawser_status hw_server_make(hw_server *server, const hw_table_spec *spec, uint32_t *number, bool *fresh,
                             hawser_error *error) HAWSER_MUST_USE;
void hw_server_show(hw_server *server, uint32_t number);
void hw_server_unmake(hw_server *server, uint32_t number);

/* Limits the bytes of all tables from now on; 0: no limit, the default. A row of a sparse table counts twice (its arrays
 * grow), plus 64 bytes for its key. A table or a message of a push that would exceed the limit is refused
 * (HAWSER_NO_MEMORY). Any thread. */
void hw_server_limit(hw_server *server, uint64_t bytes);
uint32_t hw_server_stripes(const hw_server *server); /* per table, at most */
/* Returns the description of a table; NULL past the last. Any thread. */
const hw_table_spec *hw_server_table_at(const hw_server *server, uint32_t number);
/* Returns the number of keys and bytes of a table on this server. Any thread. */
void hw_server_table_figures(const hw_server *server, uint32_t number, uint64_t *keys, uint64_t *bytes);

/* Takes a request and its message. A wrong request is refused by a reply to the client. A wrong clock, which has no reply,
 * is reported to every client of its group, once (HW_CLOCK_REFUSED). Returns HAWSER_NO_MEMORY if even that fails. Returns
 * HAWSER_BAD_INPUT if the message is not a request, starts more pushes in parts than a client may have open, or is a clock
 * of a group with clocks on too many ranges of keys; the text names the client, or is a clause about the session. Small
 * requests to idle stripes are done by the calling thread. */
hawser_status hw_server_receive(hw_server *server, uint32_t client, hw_message *message,
                                hawser_error *error) HAWSER_MUST_USE;

/* A group is a set of clients whose workers share clocks. Pulls that wait for clocks, sums of a clock and data-centric order
 * concern the workers of one group; values are common to all groups. The clients that the options name are one group; others
 * are made and end meanwhile. Their clocks start at 0 when they are made. hw_group_new, _end, _free and
 * hw_client_session_new are called one at a time, and not while a table is made. */
hawser_status hw_group_new(hw_server *server, uint32_t workers, hw_group **group, hawser_error *error) HAWSER_MUST_USE;
/* Adds a client, which replies name by `client`. The session belongs to the group. */
hawser_status hw_client_session_new(hw_group *group, uint32_t client, hw_client_session **session,
                                    hawser_error *error) HAWSER_MUST_USE;
/* Receives a request of a client of such a group; see hw_server_receive. */
hawser_status hw_client_session_receive(hw_client_session *session, hw_message *message,
                                        hawser_error *error) HAWSER_MUST_USE;
/* Ends a group: drops its waiting requests and what it pushed to summed tables in clocks that have not ended. The caller
 * makes sure that no request of its sessions is received any more. Once hw_group_over returns true, no reply to its clients
 * is in progress and the group may be freed. */
void hw_group_end(hw_group *group);
bool hw_group_over(const hw_group *group);
void hw_group_free(hw_group *group);

/* Notes that workers of the options' clients are lost, those with a mark, for the reason that the words give. Requests that
 * wait for their clocks, and later ones that would, are refused by these words (HW_WORKER_LOST); others go on. In a
 * data-centric table any request that must wait is refused, because the lost worker may be the next to write. Calls are one
 * at a time, and not while a table is made. */
void hw_server_lose_workers(hw_server *server, const bool *lost, const char *words);

/* Works on the waiting pieces of a stripe. */
void hw_stripe_work(hw_stripe *stripe);

typedef struct hw_server_figures {
    uint64_t requests, refused, forgotten, deferred, keys_in, keys_out, bytes_in, bytes_out;
    uint64_t keys, bytes;       /* that exist; memory of values */
    uint64_t clock_ranges;      /* ranges that clocks are kept for */
    uint64_t quota_used, quota; /* as hw_server_limit counts, and what it allows */
} hw_server_figures;
void hw_server_figures_of(hw_server *server, hw_server_figures *figures);

#endif
