/*
 * request.h - what clients and servers say to each other: the head of a payload, then bytes of keys, then bytes of values.
 *
 * What comes in is believed after hw_request_read has checked it: lengths against the payload, keys against the table, values against
 * their count. A request is about one table on one server.
 */
#ifndef HW_STORE_REQUEST_H
#define HW_STORE_REQUEST_H

#include "codec/values.h"
#include "store/table.h"
#include "transport/pool.h"
#include "transport/transport.h"

typedef enum hw_operation {
    HW_PUSH = 1,  /* keys and values in; an empty reply says that they were applied */
    HW_PULL,      /* keys in; values out */
    HW_PUSH_PULL, /* both; what comes out has been pushed to */
    HW_CLOCK,     /* the client has finished a clock on the keys: told to the range's clock; no reply */
    HW_PUT        /* keys and values in, which are set as they are, whatever the table's function and order */
} hw_operation;

typedef enum hw_keys_form {
    HW_KEYS_RANGE = 1, /* first .. last */
    HW_KEYS_GAPS,      /* count keys from first to last: see keys.h */
    HW_KEYS_KNOWN,     /* the list that was sent as number `list` before */
    HW_KEYS_BITS       /* a bit for each key from first to last, as words of 64; those of first and last are set */
} hw_keys_form;

/* Not on the wire: a server's word to its stripes that a group has ended. */
enum { HW_FAREWELL = 0 };

/* 88 bytes, little-endian, every field at a multiple of its size. */
typedef struct hw_request_head {
    uint8_t operation, keys, values;
    uint8_t again;   /* 1: a pull from a data-centric table whose worker does this iteration over */
    uint32_t table;  /* number */
    uint32_t list;   /* 0: no number; else the number by which these keys may be named from now on, or are named */
    uint32_t worker; /* whose clock; in a data-centric table, whose read or write */
    uint32_t slice;  /* which part of the task this is; comes back in the reply */
    uint32_t parts;  /* pushes that go in several: how many the server gets, which it answers together; else 0 */
    uint64_t task;   /* the client's name for it; comes back in the reply */
    uint64_t clock;  /* of the worker */
    uint64_t least;  /* pulls: wait until every worker's clock on the keys is there; 0: at once */
    uint64_t first, last;
    uint64_t count; /* of keys */
    uint64_t key_bytes, value_bytes;
} hw_request_head;

/* A request as it is used on either side; memory is whoever's who filled it. */
typedef struct hw_request {
    hw_request_head head;
    const uint64_t *keys; /* NULL for a range, */
    const uint64_t *bits; /* and where keys come as bits */
    const void *values;   /* head.count * width, dense; NULL where none are pushed */
    bool lent;            /* to be written: many values may stay where they are, as the message's tail */
    /* To be written: values that lie apart, `values` being where; brings them together. NULL: they do not. */
    void (*gather)(const void *argument, const void *values, void *to);
    const void *argument;
} hw_request;

typedef enum hw_outcome {
    HW_APPLIED = 1,
    HW_FORGOTTEN, /* the list of keys: send them again */
    HW_REFUSED,
    HW_NO_ROOM,         /* the same, for want of memory */
    HW_CLOCK_REFUSED,   /* sent once to every client of the group: a worker that waits for that clock would wait for ever */
    HW_NOT_FINITE,      /* the push has numbers that are not finite, or would make values so */
    HW_CLOCK_OVERFLOWED /* sent once to every client of the group: what was summed in that clock would make values so */
} hw_outcome;

typedef struct hw_reply_head {
    uint8_t outcome, values, unused[2];
    uint32_t table, slice;
    uint32_t parts; /* 0: this one is done; else all of so many are that the push has here, but for what was refused */
    uint64_t task;
    uint64_t clock; /* least clock of all workers on the keys, when the values were read */
    uint64_t count; /* numbers */
    uint64_t value_bytes;
    /* the values; or, where refused, the words: none where the server had no memory for them */
} hw_reply_head;

/* Makes a message of a request: head.keys says how keys go, head.values and the byte counts are chosen here. */
hawser_status hw_request_write(const hw_table_spec *table, const hw_request *request, hw_pool *pool, hw_message **message,
                               hawser_error *error) HAWSER_MUST_USE;

/* Memory for what a message holds in another form than it is used in: from the pool, and back to it. Set `pool`, the rest to zero. */
typedef struct hw_scratch {
    hw_pool *pool;
    hw_message *keys, *values;
} hw_scratch;
void hw_scratch_free(hw_scratch *scratch);

/* The head of a request, to find its table by; false when the message has none, or its lengths do not add up. */
bool hw_request_head_of(const hw_message *message, hw_request_head *head);
/* Reads a request whose head is right. Keys and values lie in the message or in `scratch`, until either changes; keys of a known list are
 * NULL. HAWSER_BAD_INPUT says what is wrong with it: keys that do not ascend or are not the table's, values that are not as many, or
 * not finite; HAWSER_NO_MEMORY. */
hawser_status hw_request_read(const hw_table_spec *table, const hw_request_head *head, const hw_message *message,
                              hw_scratch *scratch, hw_request *request, hawser_error *error) HAWSER_MUST_USE;
/* Makes keys of the bits of a request, for who needs keys. */
hawser_status hw_request_list(hw_request *request, hw_scratch *scratch, hawser_error *error) HAWSER_MUST_USE;

/* A reply with room for head->count numbers, which the caller fills at *values (NULL: they lie elsewhere); then hw_reply_pack, given them where
 * they do (NULL: they do not), leaves out zeros where that is shorter (and there is memory to do it) or makes them the message's tail, and
 * the message may go. */
hawser_status hw_reply_new(const hw_table_spec *table, const hw_reply_head *head, hw_pool *pool, hw_message **message,
                           void **values, hawser_error *error) HAWSER_MUST_USE;
void hw_reply_pack(const hw_table_spec *table, const void *lent, hw_pool *pool, hw_message **message);
hawser_status hw_refusal_write(const hw_request_head *head, hw_outcome outcome, const char *words, hw_message **message,
                               hawser_error *error) HAWSER_MUST_USE;
/* A refusal that is made beforehand, for words of HW_REFUSAL_WORDS bytes at most; and what it says in the end. */
enum { HW_REFUSAL_WORDS = 500 };
hawser_status hw_clock_refusal_new(hw_message **message, hawser_error *error) HAWSER_MUST_USE;
void hw_clock_refusal_write(hw_message *message, const hw_request_head *head, hw_outcome outcome, const char *words);
/* Makes a reply a refusal without words, where there is no memory for one with words. */
void hw_reply_to_refusal(hw_message *reply);
bool hw_reply_head_of(const hw_message *message, hw_reply_head *head);
/* The values of a reply, dense, to `values` (head->count numbers); false when they are not that. */
bool hw_reply_read(const hw_table_spec *table, const hw_reply_head *head, const hw_message *message, void *values);
/* Where these lie, if they came as they are; NULL: they did not. */
const void *hw_reply_dense(const hw_table_spec *table, const hw_reply_head *head, const hw_message *message);
/* The words of a refusal. */
void hw_refusal_read(const hw_reply_head *head, const hw_message *message, char *words, size_t size);

#endif
