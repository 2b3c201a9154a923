/* stripe.h - the inside of a server, shared by server.c (tables), receive.c (cuts requests into pieces) and stripe.c (works
 * on pieces). */
#ifndef HW_STORE_STRIPE_H
#define HW_STORE_STRIPE_H

#include "history/record.h"
#include "store/before.h"
#include "store/range_clock.h"
#include "store/server.h"
#include "store/shard.h"
#include "store/sums.h"

/* A request that its stripes have not finished. */
typedef struct hw_inflight hw_inflight;

/* The part of a request that one stripe works on. */
typedef struct hw_piece {
    struct hw_piece *next;
    hw_inflight *inflight;
    hw_stripe *stripe;
    uint64_t first, last; /* keys of a range */
    size_t begin, end;    /* of the request's keys; of a range: numbers of its rows, counted from the request's first */
    uint64_t reserved;    /* memory reserved for rows that it may make; see quota.c */
} hw_piece;

/* The parts of one push. */
typedef struct hw_batch {
    struct hw_batch *next; /* of the client's batches; in this list until all parts have arrived */
    uint64_t task;
    uint32_t parts, parts_arrived;
    atomic_uint left;      /* parts that are not done */
    atomic_bool unreplied; /* a part failed, and there was no memory for the refusal */
    hw_message *reply;
} hw_batch;

/* The progress of a group's workers on the keys of a stripe. */
typedef struct hw_progress {
    hw_range_clock *clocks;  /* by worker: clocks finished, or iterations in which these keys were read */
    hw_range_clock written;  /* data-centric: iterations in which the keys were written */
    hw_before before;        /* and the values before the newest */
    hw_sums sums;            /* of a summed table: clocks that have not ended */
    _Atomic uint64_t ranges; /* of all these clocks; read by receivers */
    hw_piece end_marker;     /* marks the end of the group in this stripe, */
    hw_piece loss_marker;    /* and this one that workers of it were lost */
    atomic_bool loss_queued; /* the latter is in the queue */
} hw_progress;

struct hw_client_session {
    hw_client_session *next;
    hw_group *group;
    uint32_t client;
    hw_lists lists;
    hw_batch *batches;             /* of which parts have not arrived, */
    uint32_t open;                 /* and their number */
    atomic_size_t waiting;         /* bytes of its requests that wait for clocks */
    _Atomic(hw_message *) refusal; /* for the first clock of the group that is refused; preallocated, like the marker */
};

struct hw_group {
    hw_server *server;
    hw_group *next;
    uint32_t workers;
    bool ended;
    atomic_bool over;
    atomic_bool overflowed;                /* the sum of a clock has: no request of the group can go on */
    _Atomic(hw_client_session *) sessions; /* newest first */
    atomic_uint seated;                    /* how many */
    atomic_size_t put_by;                  /* bytes of its sums of clocks that are not over, of all tables */
    atomic_bool *lost;                     /* by worker; once any is, */
    atomic_bool any_lost;                  /* this is set, */
    char loss[400];                        /* and these words do not change: they name the first */
    hw_inflight *loss_marker;              /* preallocated, as is */
    hw_inflight *end_marker;               /* this one: a lack of memory must not keep a group alive */
    hw_progress *progress[HW_TABLES_MOST]; /* by table, then stripe */
};

struct hw_inflight {
    hw_server *server;
    hw_group *group;
    hw_client_session *session;
    uint32_t client;
    size_t bytes;        /* held by the request, its reply included */
    atomic_bool waited;  /* for a clock: the bytes count as session->waiting */
    hw_message *message; /* values may lie in it */
    hw_scratch scratch;
    hw_request request;
    hw_list *list; /* of known keys; referenced */
    const hw_table_spec *spec;
    hw_message *buffer; /* sparse, of these: */
    uint64_t *grouped;  /* keys by stripe; */
    uint32_t *rows;     /* and which row of the request each is */
    hw_batch *batch;    /* whose reply answers it; NULL: its own */
    hw_message *reply;
    unsigned char *out;          /* rows of the reply, */
    bool zero_copy;              /* or the table's own: a single piece, whose reply is sent before the stripe goes on */
    atomic_uint left;            /* pieces that are not done */
    _Atomic uint64_t least;      /* oldest clock of what was read */
    _Atomic int failed;          /* hawser_status of a piece that failed */
    _Atomic uint64_t overflowed; /* HAWSER_NOT_FINITE: the least key that kept its value */
    uint32_t count;
    hw_piece pieces[];
};

/* Some adjacent arcs of a dense table, or some ring positions of a sparse one. */
struct hw_stripe {
    hw_server *server;
    const hw_table_spec *spec;
    uint32_t number;      /* within the table */
    uint64_t first, last; /* keys; of a sparse table all */
    hw_table_shard **shards;
    hw_arc *arcs; /* of the shards */
    size_t shard_count;
    hw_table_shard *rows;                       /* if a dense table has several: all their rows as the keys 0, 1 ... */
    hw_log *log;                                /* the work done, for a history; NULL: no history */
    _Alignas(64) _Atomic(hw_piece *) arrived;   /* newest first */
    atomic_bool busy;                           /* a thread works on it, or the owner was asked for one */
    hw_piece *waiting, **waiting_end;           /* pieces that wait for clocks, in order */
    uint64_t counted;                           /* sparse: rows that are charged to the server */
    _Atomic uint64_t keys, bytes, clock_ranges; /* for figures; read by other threads */
};

typedef struct hw_served {
    hw_table_spec spec, memory_rows; /* the latter describes rows of what the function remembers */
    hw_stripe *stripes;
    uint32_t stripe_count;
    unsigned char *values; /* dense: of all shards, contiguous */
    double *memory;
    size_t rows;       /* in use by shards */
    uint64_t reserved; /* dense: memory of the rows */
} hw_served;

struct hw_server {
    hw_server_options options;
    hw_ring ring;
    hw_served *tables[HW_TABLES_MOST];
    atomic_size_t table_count;     /* tables below it do not move while others are added */
    uint32_t made;                 /* likewise, or one more that is not published yet */
    hw_group *groups;              /* newest first; the last is that of the options' clients, */
    hw_client_session **sessions;  /* with these sessions */
    hw_pool *pool;                 /* for replies and unpacked requests */
    _Atomic uint64_t quota, taken; /* limit of tables' bytes (0: none); bytes of stored and reserved rows */
    _Atomic uint64_t requests, refused, forgotten, deferred, keys_in, keys_out, bytes_in, bytes_out;
};

hawser_status hw_stripe_open(hw_stripe *stripe, hw_server *server, hw_served *served, const hw_arc *arcs, size_t count,
                             hawser_error *error) HAWSER_MUST_USE;
void hw_stripe_close(hw_stripe *stripe);
/* Queues a piece; true: the caller must have the stripe worked on. */
bool hw_stripe_put(hw_stripe *stripe, hw_piece *piece);
void hw_inflight_free(hw_inflight *inflight);
/* receive.c: accounts a request of which a piece waits for a clock. */
void hw_inflight_waits(hw_inflight *inflight);
/* Returns whether a request is from a remote client; only these are limited. */
static inline bool hw_inflight_of_client(const hw_inflight *inflight)
{
    return inflight->client >= inflight->server->options.clients;
}
/* Limit of the bytes of a client's requests that wait for clocks. */
static inline size_t hw_waiting_most(const hw_server *server)
{
    enum { WAITING_BYTES = 1 << 30 };
    return server->options.waiting_bytes > 0 ? server->options.waiting_bytes : WAITING_BYTES;
}
/* Releases the bytes that a freed request of this session held. */
void hw_client_session_relieve(hw_client_session *session, size_t bytes, bool waited);
/* batch.c: finds or makes the batch of a request; NULL: it has its own reply. Called by the receiving thread, like the
 * next. */
hawser_status hw_batch_join(hw_client_session *session, const hw_request_head *head, hw_batch **batch,
                            hawser_error *error) HAWSER_MUST_USE;
/* Counts a part that has arrived. */
void hw_batch_arrived(hw_client_session *session, hw_batch *batch);
/* Counts a part that is done, or whose refusal is in the reply (`replied`). The last part sends the reply. Any thread. */
void hw_batch_done(hw_server *server, uint32_t client, hw_batch *batch, bool replied);
/* Drops a part that will never be done, because the server ends. */
void hw_batch_drop(hw_batch *batch);
void hw_batches_free(hw_batch *first);
/* receive.c: finds the stripe and shard of a key; NULL: another server has it. */
hw_stripe *hw_served_stripe(const hw_server *server, hw_served *served, uint64_t key, size_t *shard);
/* quota.c: returns the memory charged for a row of this table. */
uint64_t hw_table_row_bytes(const hw_table_spec *spec);
/* Reserves memory; false: the limit does not allow it. */
bool hw_server_reserve(hw_server *server, uint64_t bytes) HAWSER_MUST_USE;
void hw_server_unreserve(hw_server *server, uint64_t bytes);
hawser_status hw_server_over_quota(hw_server *server, const hw_table_spec *spec, const char *what, uint64_t bytes,
                                   hawser_error *error);
/* Reserves memory for the rows that each piece of a push may make, until it is done; HAWSER_NO_MEMORY. */
hawser_status hw_inflight_reserve(hw_inflight *inflight, hawser_error *error) HAWSER_MUST_USE;
/* hw_stripe_new_rows returns the change in row memory since the last call, modulo 2^64; the caller charges it to the
 * quota. hw_stripe_count_rows charges it itself, less the `reserved` bytes. Both are only for the thread that works on
 * the stripe. */
uint64_t hw_stripe_new_rows(hw_stripe *stripe);
void hw_stripe_count_rows(hw_stripe *stripe, uint64_t reserved);
/* Charges the change in memory of a summed table's clocks that have not ended, which was `before`. */
void hw_stripe_count_sums(const hw_stripe *stripe, const hw_sums *sums, uint64_t before);
/* group.c: gives every group clocks in a new table, all or none; takes them away. */
hawser_status hw_groups_enter(hw_server *server, uint32_t table, hawser_error *error) HAWSER_MUST_USE;
void hw_groups_leave(hw_server *server, uint32_t table);
static inline hw_progress *hw_progress_of(const hw_stripe *stripe, const hw_inflight *inflight)
{
    return &inflight->group->progress[inflight->request.head.table][stripe->number];
}
/* See hw_server_lose_workers. */
void hw_group_lose_workers(hw_group *group, const bool *lost, const char *words);
/* Reports a refused or overflowed clock to all clients of the group, once. Any thread. */
void hw_group_refuse(hw_group *group, const hw_client_session *of, const hw_request_head *head, hw_outcome outcome,
                     const char *words);
/* summed.c: may a push be buffered within the limit of its group? Always in the oldest clock that has not ended; otherwise
 * no clock would end. */
bool hw_stripe_may_put_by(const hw_stripe *stripe, const hw_piece *piece);
/* Buffers a push until its clock has ended; HAWSER_BAD_INPUT: its worker has ended that clock. */
hawser_status hw_stripe_put_by(hw_stripe *stripe, const hw_piece *piece, hw_overflow *overflow,
                               hawser_error *error) HAWSER_MUST_USE;
/* Applies the sums of all clocks of the group below `end`; sums that fail stay for the next call. Rows whose sum is not
 * finite keep their values, as do numbers that a sum would make infinite. */
hawser_status hw_stripe_settle(hw_stripe *stripe, hw_group *group, hw_progress *progress, uint64_t end,
                               hw_overflow *overflow, hawser_error *error) HAWSER_MUST_USE;

#endif
