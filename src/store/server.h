/*
 * server.h - one server of a store: hears requests, cuts them into pieces for its stripes, answers when the last piece is done.
 *
 * It owns no thread: hw_server_hear is called by whoever has a message, hw_stripe_work by whoever the owner sends. Requests of one
 * client are heard one at a time and in order; different clients' may be heard at once. A stripe is worked by one thread at a time,
 * which the server sees to itself.
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
    uint32_t workers;      /* of all these clients, who have clocks: 0 .. workers - 1 */
    uint32_t stripes;      /* of a table; 0: 8 */
    size_t arc;            /* numbers of an arc of a dense table, the same for all clients and servers; 0: HW_PART */
    size_t list_bytes;     /* that lists of keys may take, a client; 0: 16 MiB */
    /* That requests which wait for clocks may hold, a client who is none of the above, and for each of a group's clients what they have pushed
     * to summed tables in clocks that are not over; 0: 1 GiB. */
    size_t waiting_bytes;
    void *argument;
    /* There is work for a stripe that nobody does: somebody calls hw_stripe_work for it, once. Any thread. */
    void (*ready)(void *argument, hw_stripe *stripe);
    bool lends; /* replies may have a tail, which is read before `reply` returns */
    /* A reply for a client; takes the message. Any thread. */
    void (*reply)(void *argument, uint32_t client, hw_message *message);
    /* A request of a client is being done, which holds so many bytes, the reply among them, or (less than 0) no more; NULL: nobody counts. Any
     * thread, after the reply. Requests that wait for clocks are not counted: what they wait for may be the client's to say. */
    void (*owe)(void *argument, uint32_t client, int64_t bytes);
    /* Where a stripe notes down what it does; NULL: nowhere. It lives until drop. */
    hawser_status (*log)(void *argument, hw_stream_name name, hw_log **log, hawser_error *error);
    void (*drop)(hw_log *log);
} hw_server_options;

hawser_status hw_server_new(const hw_server_options *options, hw_server **server, hawser_error *error) HAWSER_MUST_USE;
void hw_server_free(hw_server *server); /* no call may be in progress */

/* Adds a table; the same under the same name again gives the same number, one that differs in what servers know of it is HAWSER_BAD_ARGUMENT. One
 * at a time; requests for other tables may be heard meanwhile. */
hawser_status hw_server_create(hw_server *server, const hw_table_spec *spec, uint32_t *number,
                               hawser_error *error) HAWSER_MUST_USE;
/* The same in two steps, for several servers that must agree: *fresh says that there is a table now that nobody can ask for yet. Then it is
 * shown, or taken back. */
hawser_status hw_server_make(hw_server *server, const hw_table_spec *spec, uint32_t *number, bool *fresh,
                             hawser_error *error) HAWSER_MUST_USE;
void hw_server_show(hw_server *server, uint32_t number);
void hw_server_unmake(hw_server *server, uint32_t number);

/* So many bytes are what tables may take from now on; 0: any number, as before. A row of a sparse table counts twice (arrays that grow), and 64
 * bytes for its key. What would take more is refused (HAWSER_NO_MEMORY): a table, a push as one message brings it. Any thread. */
void hw_server_limit(hw_server *server, uint64_t bytes);
uint32_t hw_server_stripes(const hw_server *server); /* at most, a table */
/* Tables that there are, and what they are; any thread. NULL past the last. */
const hw_table_spec *hw_server_table_at(const hw_server *server, uint32_t number);
/* What this server has of a table; any thread. */
void hw_server_table_figures(const hw_server *server, uint32_t number, uint64_t *keys, uint64_t *bytes);

/* Takes a request in (and the message). What is wrong with it is told to the client - with a clock, to which nobody waits for an answer, to every
 * client of its group, once (HW_CLOCK_REFUSED); HAWSER_NO_MEMORY where even that is not
 * possible, HAWSER_BAD_INPUT where it is no request at all, begins one push more in parts than any client has open, or is a clock of a client
 * whose group has clocks on too many ranges of keys: the text says which client, of a session a clause about it. Small requests for stripes
 * that nobody works on are done at once. */
hawser_status hw_server_hear(hw_server *server, uint32_t client, hw_message *message, hawser_error *error) HAWSER_MUST_USE;

/* A group is the clients and workers whose clocks are one another's business: pulls that wait for clocks, sums of a clock and data-centric order
 * are about the workers of one group, values are common to all. The clients that the options name are one; others come and go. Their clocks
 * begin when they come. hw_group_new, _end, _free and hw_client_session_new are called one at a time, and not while a table is made. */
hawser_status hw_group_new(hw_server *server, uint32_t workers, hw_group **group, hawser_error *error) HAWSER_MUST_USE;
/* Whoever stands by `client` in replies. Belongs to the group. */
hawser_status hw_client_session_new(hw_group *group, uint32_t client, hw_client_session **session,
                                    hawser_error *error) HAWSER_MUST_USE;
/* hw_server_hear for a client of such a group. */
hawser_status hw_client_session_receive(hw_client_session *session, hw_message *message,
                                        hawser_error *error) HAWSER_MUST_USE;
/* Nothing of its sessions is heard any more, which is the caller's part: drops what waits, and of summed tables what it has pushed in clocks that are
 * not over. Afterwards, when hw_group_over, nothing is on its way to its clients, and it may be freed. */
void hw_group_end(hw_group *group);
bool hw_group_over(const hw_group *group);
void hw_group_free(hw_group *group);

/* Does what waits for a stripe. */
void hw_stripe_work(hw_stripe *stripe);

typedef struct hw_server_figures {
    uint64_t requests, refused, forgotten, deferred, keys_in, keys_out, bytes_in, bytes_out;
    uint64_t keys, bytes;      /* that exist; memory of values */
    uint64_t clock_ranges;     /* ranges that clocks are kept for */
    uint64_t room_taken, room; /* as hw_server_limit counts, and what it allows */
} hw_server_figures;
void hw_server_figures_of(hw_server *server, hw_server_figures *figures);

#endif
