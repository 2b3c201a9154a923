/* stripe.h - the inside of a server, shared by server.c (tables), receive.c (requests to pieces) and stripe.c (pieces done). */
#ifndef HW_STORE_STRIPE_H
#define HW_STORE_STRIPE_H

#include "history/record.h"
#include "store/before.h"
#include "store/range_clock.h"
#include "store/server.h"
#include "store/shard.h"
#include "store/sums.h"

/* A request on its way through the stripes. */
typedef struct hw_inflight hw_inflight;

/* The part of it that one stripe does. */
typedef struct hw_piece {
    struct hw_piece *next;
    hw_inflight *inflight;
    hw_stripe *stripe;
    uint64_t first, last; /* keys of a range */
    size_t begin, end;    /* of the request's keys; of a range: numbers of its rows, counted from the request's first */
    uint64_t promised;    /* room for rows that it may make; see room.c */
} hw_piece;

/* The parts of one push. */
typedef struct hw_batch {
    struct hw_batch *next; /* of its client's, until all of them have been heard */
    uint64_t task;
    uint32_t parts, heard;
    atomic_uint left;   /* parts that are not done */
    atomic_bool untold; /* one of them failed, and there was no memory to say so */
    hw_message *reply;
} hw_batch;

/* How far the workers of a group have come with the keys of a stripe. */
typedef struct hw_progress {
    hw_range_clock *clocks;  /* by worker: clocks finished, or iterations in which these keys were read */
    hw_range_clock written;  /* data-centric: iterations in which they were written */
    hw_before before;        /* and the values before those of the newest */
    hw_sums sums;            /* of a summed table: clocks that are not over */
    _Atomic uint64_t ranges; /* of all these clocks, for who hears */
    hw_piece farewell;       /* of the group's */
} hw_progress;

struct hw_client_session {
    hw_client_session *next;
    hw_group *group;
    uint32_t client;
    hw_lists lists;
    hw_batch *batches;             /* of which parts are still to come, */
    uint32_t open;                 /* and how many they are */
    atomic_size_t waiting;         /* bytes of its requests that wait for clocks */
    _Atomic(hw_message *) refusal; /* for the first clock of the group that is refused; made beforehand, as the farewell */
};

struct hw_group {
    hw_server *server;
    hw_group *next;
    uint32_t workers;
    bool ended;
    atomic_bool over;
    _Atomic(hw_client_session *) sessions; /* newest first */
    atomic_uint seated;                    /* how many */
    atomic_size_t put_by;                  /* bytes of its sums of clocks that are not over, of all tables */
    hw_inflight *farewell;                 /* made beforehand: want of memory must not keep a group */
    hw_progress *progress[HW_TABLES_MOST]; /* by table, then stripe */
};

struct hw_inflight {
    hw_server *server;
    hw_group *group;
    hw_client_session *session;
    uint32_t client;
    size_t bytes;        /* that it holds, the reply's among them */
    atomic_bool waited;  /* for a clock: they count there */
    hw_message *message; /* values may lie in it */
    hw_scratch scratch;
    hw_request request;
    hw_list *list; /* of known keys; held */
    const hw_table_spec *spec;
    hw_message *room;  /* sparse, of these: */
    uint64_t *grouped; /* keys by stripe; */
    uint32_t *rows;    /* and which row of the request each is */
    hw_batch *batch;   /* with which it is answered; NULL: alone */
    hw_message *reply;
    unsigned char *out;          /* rows of the reply, */
    bool lends;                  /* or the table's own: one piece, that answers before the stripe does anything else */
    atomic_uint left;            /* pieces that are not done */
    _Atomic uint64_t least;      /* clock, of what was read */
    _Atomic int failed;          /* hawser_status of a piece that could not be done */
    _Atomic uint64_t overflowed; /* HAWSER_NOT_FINITE: the least key that kept its value */
    uint32_t count;
    hw_piece pieces[];
};

/* Some neighbouring arcs of a dense table, or some positions of a sparse one's. */
struct hw_stripe {
    hw_server *server;
    const hw_table_spec *spec;
    uint32_t number;      /* of the table's */
    uint64_t first, last; /* keys; of a sparse table all */
    hw_table_shard **shards;
    hw_arc *arcs; /* of the shards */
    size_t shard_count;
    hw_table_shard *rows; /* where there are several of a dense table: all their rows as the keys 0, 1 ... */
    hw_log *log;          /* what was done, for a history; NULL: nobody asks */
    _Alignas(64) _Atomic(hw_piece *) arrived;   /* newest first */
    atomic_bool busy;                           /* somebody works on it, or has been sent for */
    hw_piece *waiting, **waiting_end;           /* what may not be done yet, in order */
    uint64_t counted;                           /* sparse: rows of which the server knows that they are there */
    _Atomic uint64_t keys, bytes, clock_ranges; /* for figures, which others read */
};

typedef struct hw_served {
    hw_table_spec spec;
    hw_stripe *stripes;
    uint32_t stripe_count;
    unsigned char *values; /* dense: of all shards, one behind the other */
    double *memory;
    size_t rows;   /* that shards have of them */
    uint64_t room; /* dense: that it takes */
} hw_served;

struct hw_server {
    hw_server_options options;
    hw_ring ring;
    hw_served *tables[HW_TABLES_MOST];
    atomic_size_t table_count;    /* tables before it stay where they are, while others come */
    uint32_t made;                /* the same, or one more that is not shown yet */
    hw_group *groups;             /* newest first; the last is of the options' clients, */
    hw_client_session **sessions; /* whose sessions these are */
    hw_pool *pool;                /* of replies, and of what requests are unpacked to */
    _Atomic uint64_t room, taken; /* bytes that tables may take; that rows there are and rows that are promised do */
    _Atomic uint64_t requests, refused, forgotten, deferred, keys_in, keys_out, bytes_in, bytes_out;
};

hawser_status hw_stripe_open(hw_stripe *stripe, hw_server *server, hw_served *served, const hw_arc *arcs, size_t count,
                             hawser_error *error) HAWSER_MUST_USE;
void hw_stripe_close(hw_stripe *stripe);
/* Puts a piece; true when the caller must see that the stripe is worked. */
bool hw_stripe_put(hw_stripe *stripe, hw_piece *piece);
void hw_inflight_free(hw_inflight *inflight);
/* receive.c: one of its pieces waits for a clock. */
void hw_inflight_waits(hw_inflight *inflight);
/* The servers' own clients are theirs to trust. */
static inline bool hw_inflight_of_client(const hw_inflight *inflight)
{
    return inflight->client >= inflight->server->options.clients;
}
/* Bytes that a client may have here for want of clocks. */
static inline size_t hw_waiting_most(const hw_server *server)
{
    enum { WAITING_BYTES = 1 << 30 };
    return server->options.waiting_bytes > 0 ? server->options.waiting_bytes : WAITING_BYTES;
}
/* What a request in flight of this session held is free; `inflight` is gone. */
void hw_client_session_relieve(hw_client_session *session, size_t bytes, bool waited);
/* batch.c: that of a request, made if need be; NULL: it is answered alone. The hearer's, as the next. */
hawser_status hw_batch_join(hw_client_session *session, const hw_request_head *head, hw_batch **batch,
                            hawser_error *error) HAWSER_MUST_USE;
/* A part has come, and need not come again. */
void hw_batch_heard(hw_client_session *session, hw_batch *batch);
/* A part is done, or refused, and the client has been told of that; the last one sends the reply. Any thread. */
void hw_batch_done(hw_server *server, uint32_t client, hw_batch *batch, bool told);
/* A part never will be: the server ends. */
void hw_batch_drop(hw_batch *batch);
void hw_batches_free(hw_batch *first);
/* receive.c: who has a key, and in which shard; NULL: another server. */
hw_stripe *hw_served_stripe(const hw_server *server, hw_served *served, uint64_t key, size_t *shard);
/* room.c: memory of a row of this table, as it counts. */
uint64_t hw_table_row_room(const hw_table_spec *spec);
/* False: there is not so much left. */
bool hw_server_take_room(hw_server *server, uint64_t bytes) HAWSER_MUST_USE;
void hw_server_give_room(hw_server *server, uint64_t bytes);
hawser_status hw_server_no_room(hw_server *server, const hw_table_spec *spec, const char *what, uint64_t bytes,
                                hawser_error *error);
/* For the rows that each piece of a push may make, until that has been done; HAWSER_NO_MEMORY. */
hawser_status hw_inflight_take_room(hw_inflight *inflight, hawser_error *error) HAWSER_MUST_USE;
/* hw_stripe_new_rows returns the change in row memory since the last call, modulo 2^64; the caller charges it to the quota. hw_stripe_count_rows
 * charges it itself, less the `promised` bytes that were reserved. Both are only for the thread that works on the stripe. */
uint64_t hw_stripe_new_rows(hw_stripe *stripe);
void hw_stripe_count_rows(hw_stripe *stripe, uint64_t promised);
/* Charges the change in memory of a summed table's clocks that have not ended, which was `before`. */
void hw_stripe_count_sums(const hw_stripe *stripe, const hw_sums *sums, uint64_t before);
/* group.c: every group gets clocks in a table that has been made, all or none; loses them. */
hawser_status hw_groups_enter(hw_server *server, uint32_t table, hawser_error *error) HAWSER_MUST_USE;
void hw_groups_leave(hw_server *server, uint32_t table);
static inline hw_progress *hw_progress_of(const hw_stripe *stripe, const hw_inflight *inflight)
{
    return &inflight->group->progress[inflight->request.head.table][stripe->number];
}
/* A clock of the group's is refused, or has overflowed: all its clients are told, once. Any thread. */
void hw_group_refuse(hw_group *group, const hw_client_session *of, const hw_request_head *head, hw_outcome outcome,
                     const char *words);
/* summed.c: may it be kept, beside what its group's clients have in clocks that are not over? In the oldest of these, always: without that none
 * would ever end. */
bool hw_stripe_may_put_by(const hw_stripe *stripe, const hw_piece *piece);
/* Keeps a push until its clock is over; HAWSER_BAD_INPUT: its worker has ended that. */
hawser_status hw_stripe_put_by(hw_stripe *stripe, const hw_piece *piece, hw_overflow *overflow,
                               hawser_error *error) HAWSER_MUST_USE;
/* Applies the sums of all clocks of the group's below `end`; what could not be stays for the next call. Rows whose sum is not finite stay as they
 * are, as numbers do that their sum would make so. */
hawser_status hw_stripe_settle(hw_stripe *stripe, hw_group *group, hw_progress *progress, uint64_t end,
                               hw_overflow *overflow, hawser_error *error) HAWSER_MUST_USE;

#endif
