/*
 * request.h - requests and replies of clients and servers: a head, then bytes of keys, then bytes of values.
 *
 * hw_request_read checks each request: lengths against the payload, keys against the table, values against their count. A
 * request concerns one table on one server.
 */
#ifndef HW_STORE_REQUEST_H
#define HW_STORE_REQUEST_H

#include "codec/values.h"
#include "store/table.h"
#include "transport/pool.h"
#include "transport/transport.h"

typedef enum hw_operation {
    HW_PUSH = 1,  /* keys and values in; an empty reply: they were applied */
    HW_PULL,      /* keys in; values out */
    HW_PUSH_PULL, /* both; returns the values after the push */
    HW_CLOCK,     /* the client has finished a clock on the keys; no reply */
    HW_PUT,       /* keys and values in; replaces the values, whatever the table's function and order */
    /* The next two concern what a dense table's function remembers of a range of keys, in place of their values. */
    HW_PULL_MEMORY,
    HW_PUT_MEMORY
} hw_operation;

static inline bool hw_operation_pushes(unsigned operation)
{
    return operation == HW_PUSH || operation == HW_PUSH_PULL || operation == HW_PUT || operation == HW_PUT_MEMORY;
}
static inline bool hw_operation_pulls(unsigned operation)
{
    return operation == HW_PULL || operation == HW_PUSH_PULL || operation == HW_PULL_MEMORY;
}
static inline bool hw_operation_of_memory(unsigned operation)
{
    return operation == HW_PULL_MEMORY || operation == HW_PUT_MEMORY;
}
/* Returns whether a request waits for no clock, and does not count as a read or a push of an iteration. */
static inline bool hw_operation_unordered(unsigned operation)
{
    return operation == HW_PUT || hw_operation_of_memory(operation);
}

typedef enum hw_keys_form {
    HW_KEYS_RANGE = 1, /* first .. last */
    HW_KEYS_GAPS,      /* count keys from first to last; see keys.h */
    HW_KEYS_KNOWN,     /* the list that was sent before under the number `list` */
    HW_KEYS_BITS       /* a bit for each key from first to last, as words of 64; those of first and last are set */
} hw_keys_form;

/* HW_KEYS_GAPS: each group has its width before it. */
#define HW_REQUEST_KEYS ((hw_keys_layout){HW_GAPS_U64, false})

/* Never sent: the marker by which a server has its stripes end a group. */
enum { HW_END_OF_GROUP = 0, HW_LOSS_IN_GROUP = 255 };

/* 88 bytes, little-endian, every field at a multiple of its size. */
typedef struct hw_request_head {
    uint8_t operation, keys, values;
    uint8_t reread;  /* 1: a pull from a data-centric table whose worker does this iteration over */
    uint32_t table;  /* number */
    uint32_t list;   /* 0: none; else the number of this list of keys, for later requests or from an earlier one */
    uint32_t worker; /* the worker of the clock, or of the read or write of a data-centric table */
    uint32_t slice;  /* number of this slice in the task; the reply repeats it */
    uint32_t parts;  /* pushes in several slices with one reply: their number at this server; else 0 */
    uint64_t task;   /* number of the task at the client; the reply repeats it */
    uint64_t clock;  /* of the worker */
    uint64_t least;  /* pulls: wait until every worker's clock on the keys is at least this; 0: do not wait */
    uint64_t first, last;
    uint64_t count; /* of keys */
    uint64_t key_bytes, value_bytes;
} hw_request_head;

/* A request in memory, on either side; whoever fills it frees its memory. */
typedef struct hw_request {
    hw_request_head head;
    const uint64_t *keys; /* NULL for a range, */
    const uint64_t *bits; /* and if keys came as bits */
    const void *values;   /* head.count * width, dense; NULL where none are pushed */
    bool zero_copy;       /* for writing: many values may stay where they are, as the message's tail */
    /* For writing: copies scattered values, found from `values`, to `to`. NULL: they are contiguous. */
    void (*gather)(const void *argument, const void *values, void *to);
    const void *argument;
} hw_request;

typedef enum hw_outcome {
    HW_APPLIED = 1,
    HW_FORGOTTEN, /* the server has forgotten the list of keys: send the keys again */
    HW_REFUSED,
    HW_OUT_OF_MEMORY,    /* refused for lack of memory */
    HW_CLOCK_REFUSED,    /* sent once to every client of the group: requests that wait for that clock can never complete */
    HW_NOT_FINITE,       /* the push has numbers that are not finite, or its result would not be */
    HW_CLOCK_OVERFLOWED, /* sent once to every client of the group: a sum of that clock would not be finite */
    HW_WORKER_LOST,      /* refused: it waits for a clock of a worker whose node was lost */
    HW_CLOCK_NO_MEMORY   /* sent once to every client of the group: as HW_CLOCK_REFUSED, for lack of memory */
} hw_outcome;

typedef struct hw_reply_head {
    uint8_t outcome, values, unused[2];
    uint32_t table, slice;
    uint32_t parts; /* 0: this slice is done; else all slices of the push here are, this many, except refused ones */
    uint64_t task;
    uint64_t clock; /* least clock of all workers on the keys, when the values were read */
    uint64_t count; /* numbers */
    uint64_t value_bytes;
    /* then the values; or the text of a refusal, empty if the server had no memory for it */
} hw_reply_head;

/* Makes a message of a request. The caller sets head.keys; this function chooses head.values and the byte counts. */
hawser_status hw_request_write(const hw_table_spec *table, const hw_request *request, hw_pool *pool, hw_message **message,
                               hawser_error *error) HAWSER_MUST_USE;

/* Memory from the pool for decoded keys and values of a message. Set `pool`, the rest to zero. */
typedef struct hw_scratch {
    hw_pool *pool;
    hw_message *keys, *values;
} hw_scratch;
void hw_scratch_free(hw_scratch *scratch);

/* Reads the head of a request, which names its table; false: the message has no head, or its lengths do not match. */
bool hw_request_head_of(const hw_message *message, hw_request_head *head);
/* Reads a request with a valid head. Keys and values stay in the message or in `scratch`, until either changes; keys of a
 * known list are NULL. Returns HAWSER_BAD_INPUT if keys do not ascend or are outside the table, or if values are too few,
 * too many or not finite; HAWSER_NO_MEMORY. */
hawser_status hw_request_read(const hw_table_spec *table, const hw_request_head *head, const hw_message *message,
                              hw_scratch *scratch, hw_request *request, hawser_error *error) HAWSER_MUST_USE;
/* Converts the bits of a request to keys. */
hawser_status hw_request_list(hw_request *request, hw_scratch *scratch, hawser_error *error) HAWSER_MUST_USE;

/* Makes a reply with space for head->count numbers, which the caller writes to *values; `values` NULL: the numbers are
 * elsewhere. Then hw_reply_pack finishes it: `tail` are the numbers that are elsewhere (or NULL), which become the message's
 * tail. It omits zeros where that is shorter and memory allows. */
hawser_status hw_reply_new(const hw_table_spec *table, const hw_reply_head *head, hw_pool *pool, hw_message **message,
                           void **values, hawser_error *error) HAWSER_MUST_USE;
void hw_reply_pack(const hw_table_spec *table, const void *tail, hw_pool *pool, hw_message **message);
hawser_status hw_refusal_write(const hw_request_head *head, hw_outcome outcome, const char *words, hw_message **message,
                               hawser_error *error) HAWSER_MUST_USE;
/* Preallocates the refusal of a clock, with a text of HW_REFUSAL_WORDS bytes at most; fills it. */
enum { HW_REFUSAL_WORDS = 500 };
hawser_status hw_clock_refusal_new(hw_message **message, hawser_error *error) HAWSER_MUST_USE;
void hw_clock_refusal_write(hw_message *message, const hw_request_head *head, hw_outcome outcome, const char *words);
/* Turns a reply into a refusal without a text, for lack of memory. */
void hw_reply_to_refusal(hw_message *reply);
bool hw_reply_head_of(const hw_message *message, hw_reply_head *head);
/* Copies the values of a reply, dense, to `values` (head->count numbers); false: malformed. */
bool hw_reply_read(const hw_table_spec *table, const hw_reply_head *head, const hw_message *message, void *values);
/* Returns the values in the message if they were sent without encoding; else NULL. */
const void *hw_reply_dense(const hw_table_spec *table, const hw_reply_head *head, const hw_message *message);
/* Copies the text of a refusal. */
void hw_refusal_read(const hw_reply_head *head, const hw_message *message, char *words, size_t size);

#endif
