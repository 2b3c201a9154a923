/*
 * record.h - what happened, one record an event: what each block of a program, each stripe of a server and each client of the store notes
 * down in its own order. docs/history.md says what each field means in each kind.
 *
 * A *stream* is the records of one of them, totally ordered. Between streams there is no order but that which the records themselves tell
 * (an update is seen after it was written): clocks of machines are not asked.
 */
#ifndef HW_HISTORY_RECORD_H
#define HW_HISTORY_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HW_HISTORY_NAME = 40 };
#define HW_HISTORY_NOBODY UINT32_MAX

typedef enum hw_event_kind {
    /* A block's: */
    HW_EVENT_STATE = 1, /* it has a copy of a state */
    HW_EVENT_NAME,      /* of a state or table: in place of the numbers from `epoch` on */
    HW_EVENT_BEGIN,     /* of an epoch: a run of one loop or unit under a policy */
    HW_EVENT_READ,      /* a clock begins on what is merged */
    HW_EVENT_WRITE,     /* a part of a clock's own update is cut */
    HW_EVENT_DEFER,     /* a clock ends without one: the next says it too */
    HW_EVENT_SEEN,      /* an update of others is taken in */
    HW_EVENT_FORGET,    /* what is held back is given up: the state is rebuilt next */
    HW_EVENT_END,       /* of an epoch: everything is merged */
    HW_EVENT_CREDIT,    /* clocks below a limit may run */
    HW_EVENT_WAIT,      /* the block cannot go on */
    /* The store's: */
    HW_EVENT_TABLE,  /* a stripe, or a client, has a part in a table */
    HW_EVENT_GIVEN,  /* a stripe has read rows for a client */
    HW_EVENT_TAKEN,  /* a stripe has changed rows for a client */
    HW_EVENT_CLOCK,  /* a stripe has heard that a worker has finished a clock */
    HW_EVENT_ASKED,  /* a client has begun a task */
    HW_EVENT_ANSWER, /* a client has what it asked for */
    /* A block's, about the store: */
    HW_EVENT_TURN, /* a run of a loop or unit under a policy that reads or changes a table */
    /* A client's, before it begins a push: */
    HW_EVENT_HELD, /* what a filter or rounding keeps of it */
    /* Of blocks and clients: */
    HW_EVENT_LOST, /* it has heard that the job has lost a node */
    /* A block's, in a unit that reduces: */
    HW_EVENT_SHARE,      /* it contributes to a reduction */
    HW_EVENT_REDUCED,    /* it has the result */
    HW_EVENT_REDUCTIONS, /* it ends a clock after that many */
    /* The file's last: */
    HW_EVENT_CLOSE
} hw_event_kind;

/* Bits of `flags`. */
enum {
    HW_EVENT_LAST = 1,    /* WRITE, SEEN: the clock's last part */
    HW_EVENT_FLUSH = 2,   /* WRITE, HELD: nothing is held back */
    HW_EVENT_VALUES = 4,  /* STATE: one writer an entry. WRITE, SEEN: values, not changes */
    HW_EVENT_INNER = 8,   /* READ: within the clock, at a yield */
    HW_EVENT_PLAIN = 16,  /* BEGIN: a rebuild */
    HW_EVENT_HOLDS = 32,  /* STATE: under an accumulating filter */
    HW_EVENT_ROUNDS = 64, /* STATE: updates are rounded */
    HW_EVENT_STOPS = 1,   /* SHARE, REDUCED: it has seen, one of them has seen, a request to stop */
    HW_EVENT_INPUT = 1,   /* WAIT: for others' updates; else for credit */
    HW_EVENT_CENTRIC = 1, /* TABLE: data-centric */
    HW_EVENT_ASSIGNS = 2, /* TABLE: what is pushed replaces what was there */
    HW_EVENT_SPARSE = 4,  /* TABLE */
    HW_EVENT_SUMMED = 8,  /* TABLE: what is pushed counts once all have ended its clock */
    HW_EVENT_KEEPS = 16,  /* TABLE: what is pushed may be held back; */
    HW_EVENT_DROPS = 32,  /* may be left out for good */
    HW_EVENT_MOVES = 1,   /* TURN: each clock is an iteration of the table */
    HW_EVENT_PULLS = 1,   /* ASKED, ANSWER, WAIT in a stripe: rows are read; */
    HW_EVENT_PUSHES = 2,  /* are changed; */
    HW_EVENT_TICKS = 4,   /* a clock has ended */
    HW_EVENT_FAILED = 8,  /* ANSWER: nothing came. GIVEN: it is refused */
    HW_EVENT_LISTED = 16, /* the store's: keys of a list; first and last are those at its ends */
    HW_EVENT_REREAD = 32  /* the store's: a read of an iteration that is done over */
};

/* Policies, as `part` of BEGIN and TURN has them; the last two of TURN alone. */
enum { HW_EVENT_BSP = 0, HW_EVENT_SSP = 1, HW_EVENT_TAP = 2, HW_EVENT_DELAY = 3, HW_EVENT_DC = 4 };

/* 80 bytes, little-endian, in files as in memory. */
typedef struct hw_event_record {
    uint8_t kind, flags;
    uint16_t range;
    uint32_t object; /* number of the state or table */
    uint32_t who;    /* block; worker */
    uint32_t from;   /* whose update; client */
    uint32_t covers, part, span, zero;
    union {
        struct {
            uint64_t epoch, clock, first, last, count;
        };
        char name[HW_HISTORY_NAME]; /* ends in a zero */
    };
    uint64_t digest;
} hw_event_record;

typedef enum hw_stream_kind { HW_STREAM_BLOCK = 1, HW_STREAM_STRIPE, HW_STREAM_CLIENT, HW_STREAM_FILE } hw_stream_kind;

/* Who notes: (kind, run, number) is one of its kind among all parts of a history. run: which of the job's programs or stores; number:
 * block; server << 16 | table << 6 | stripe; client. No gaps: names are compared byte by byte. */
typedef struct hw_stream_name {
    uint32_t kind, run, number, zero;
} hw_stream_name;

/* Where a stream is noted down. Owned by whoever makes the events: one thread at a time. */
typedef struct hw_log {
    hw_stream_name name;
    hw_event_record *records;
    size_t count, capacity;
    uint64_t batches; /* given away */
    /* Takes all records that are there, and sets count to 0. */
    void (*full)(struct hw_log *log);
    void *owner;
} hw_log;

static inline void hw_log_put(hw_log *log, const hw_event_record *record)
{
    log->records[log->count++] = *record;
    if (log->count == log->capacity)
        log->full(log);
}

/* A NAME record: as much of the name as there is room for. */
hw_event_record hw_event_name(uint32_t object, const char *name);

#endif
