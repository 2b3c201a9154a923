/*
 * record.h - what happened, one record per event: each block of a program, each stripe of a server and each client of the
 * store records its events in its own order. docs/history.md has the meaning of each field for each kind.
 *
 * A *stream* is the totally ordered records of one of them. Between streams the only order is the one that the records imply
 * (an update is merged after it was written); the clocks of machines are not used.
 */
#ifndef HW_HISTORY_RECORD_H
#define HW_HISTORY_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HW_HISTORY_NAME = 40 };
#define HW_HISTORY_NONE UINT32_MAX

typedef enum hw_event_kind {
    /* Recorded by blocks: */
    HW_EVENT_STATE = 1, /* the block has a copy of a state */
    HW_EVENT_NAME,      /* name of a state or table, in place of the numbers from `epoch` on */
    HW_EVENT_BEGIN,     /* an epoch begins: a run of one loop or unit under a policy */
    HW_EVENT_READ,      /* a clock begins with the merged updates */
    HW_EVENT_WRITE,     /* a part of a clock's own update is cut */
    HW_EVENT_DEFER,     /* a clock ends without its own update; the next one covers it */
    HW_EVENT_SEEN,      /* an update of other blocks is merged */
    HW_EVENT_FORGET,    /* the held-back updates are dropped; a rebuild of the state follows */
    HW_EVENT_END,       /* an epoch ends with everything merged */
    HW_EVENT_CREDIT,    /* clocks below a limit may run */
    HW_EVENT_WAIT,      /* the block cannot continue */
    /* Recorded by the store: */
    HW_EVENT_TABLE,  /* a stripe or a client has a part of a table */
    HW_EVENT_GIVEN,  /* a stripe has read rows for a client */
    HW_EVENT_TAKEN,  /* a stripe has changed rows for a client */
    HW_EVENT_CLOCK,  /* a stripe has received the end of a worker's clock */
    HW_EVENT_ASKED,  /* a client has started a task */
    HW_EVENT_ANSWER, /* a client has the answer to its task */
    /* Recorded by blocks, about the store: */
    HW_EVENT_TURN, /* a run of a loop or unit under a policy that reads or changes a table */
    /* Recorded by clients before they start a push: */
    HW_EVENT_HELD, /* what a filter or rounding keeps of it */
    /* Recorded by blocks and clients: */
    HW_EVENT_LOST, /* it was notified that the job has lost a node */
    /* Recorded by blocks in a unit that reduces: */
    HW_EVENT_SHARE,      /* the block contributes to a reduction */
    HW_EVENT_REDUCED,    /* the block has the result */
    HW_EVENT_REDUCTIONS, /* the block ends a clock after this many reductions */
    /* Recorded by blocks after BEGIN: */
    HW_EVENT_STRICTER, /* a stage waits for the state by a stricter policy than that of the epoch */
    /* Recorded by blocks in a loop with branches, when a clock begins: */
    HW_EVENT_CHOSEN, /* how its branches were chosen */
    /* Recorded by blocks that use a moving state: */
    HW_EVENT_PASSED, /* a part is left to its next block */
    /* Recorded by replicas of a vector: */
    HW_EVENT_VECTOR,   /* the replica has a vector */
    HW_EVENT_EDGE,     /* an edge of its dataflow comes in or goes out here */
    HW_EVENT_SCATTER,  /* numbers are scattered */
    HW_EVENT_SENT,     /* an item leaves on an edge */
    HW_EVENT_GOT,      /* an item is taken from an edge */
    HW_EVENT_GATHER,   /* a gather has ended */
    HW_EVENT_ENDING,   /* the replica neither scatters nor gathers any more */
    HW_EVENT_FINISHED, /* all replicas have ended, and the array has the rest */
    /* Recorded by blocks before CREDIT: */
    HW_EVENT_CHANGED, /* a setting holds another value from this clock on */
    /* Recorded by blocks of a job that goes on from a checkpoint, before their first BEGIN: */
    HW_EVENT_RESUMED,  /* the block has read its record of the checkpoint */
    HW_EVENT_RESTORED, /* what a state was then */
    /* Recorded by blocks between two epochs or clocks: */
    HW_EVENT_KEPT, /* a state is kept at a point */
    HW_EVENT_BACK, /* it is again what was kept there */
    /* The last record of the file: */
    HW_EVENT_CLOSE
} hw_event_kind;

/* Bits of `flags`. */
enum {
    HW_EVENT_LAST = 1,     /* WRITE, SEEN: the clock's last part. GOT: by the finish */
    HW_EVENT_FLUSH = 2,    /* WRITE, HELD: nothing stays held back. GOT: by a barrier */
    HW_EVENT_VALUES = 4,   /* STATE: one writer per entry. WRITE, SEEN, VECTOR: values, not changes */
    HW_EVENT_INNER = 8,    /* READ: within the clock, at a yield */
    HW_EVENT_PLAIN = 16,   /* BEGIN: a rebuild */
    HW_EVENT_HOLDS = 32,   /* STATE: under an accumulating filter */
    HW_EVENT_ROWS = 8,     /* VECTOR: sparse */
    HW_EVENT_ROUNDS = 64,  /* STATE: updates are rounded */
    HW_EVENT_STOPS = 1,    /* SHARE: the block has seen a request to stop. REDUCED: one of the blocks has */
    HW_EVENT_INPUT = 1,    /* WAIT: for updates of others; else for credit. EDGE: it comes in here; else it goes out */
    HW_EVENT_CENTRIC = 1,  /* TABLE: data-centric */
    HW_EVENT_ASSIGNS = 2,  /* TABLE: pushed values replace the stored ones */
    HW_EVENT_SPARSE = 4,   /* TABLE */
    HW_EVENT_SUMMED = 8,   /* TABLE: pushed values count once all workers have ended their clock */
    HW_EVENT_KEEPS = 16,   /* TABLE: pushed values may be held back; VECTOR: deltas are rounded */
    HW_EVENT_DROPS = 32,   /* or dropped for good */
    HW_EVENT_RETURNED = 1, /* PASSED: what has come is the part of a kept point */
    HW_EVENT_MOVES = 1,    /* TURN: each clock is an iteration of the table */
    HW_EVENT_PULLS = 1,    /* ASKED, ANSWER, WAIT in a stripe: rows are read; */
    HW_EVENT_PUSHES = 2,   /* rows are changed; */
    HW_EVENT_TICKS = 4,    /* a clock has ended */
    HW_EVENT_FAILED = 8,   /* ANSWER: there is no result. GIVEN: the request is refused. TAKEN: the request has failed */
    HW_EVENT_LISTED = 16,  /* the store: not all keys from `first` to `last` */
    HW_EVENT_REREAD = 32,  /* the store: a read for an iteration that is repeated */
    HW_EVENT_RESTORES = 64 /* TAKEN, ASKED, ANSWER, PASSED: the values are those of a checkpoint */
};

/* Policies in `part` of BEGIN, STRICTER and TURN; the last two only in TURN. */
enum { HW_EVENT_BSP = 0, HW_EVENT_SSP = 1, HW_EVENT_TAP = 2, HW_EVENT_DELAY = 3, HW_EVENT_DC = 4 };

/* 80 bytes, little-endian, in files and in memory. */
typedef struct hw_event_record {
    uint8_t kind, flags;
    uint16_t range;
    uint32_t object; /* number of the state or table */
    uint32_t actor;  /* block; worker */
    uint32_t from;   /* the block whose update it is; client */
    uint32_t covers, part;
    union {
        struct {
            uint32_t span;
            uint32_t more; /* SEEN: how many more updates of the same sum have records behind this one */
        };
        uint64_t least; /* the store: how many clocks of every worker a pull requires */
    };
    union {
        struct {
            uint64_t epoch, clock, first, last, count;
        };
        char name[HW_HISTORY_NAME]; /* NUL-terminated */
    };
    uint64_t digest;
} hw_event_record;

typedef enum hw_stream_kind {
    HW_STREAM_BLOCK = 1,
    HW_STREAM_STRIPE,
    HW_STREAM_CLIENT,
    HW_STREAM_VECTOR,
    HW_STREAM_FILE
} hw_stream_kind;

/* The recorder of a stream: (kind, run, number) is unique in all parts of a history. `run` is the program, store or vector
 * of the job. `number` is the block, or server << 16 | table << 6 | stripe, or the client, or the replica. No gaps, because
 * names are compared byte by byte. */
typedef struct hw_stream_name {
    uint32_t kind, run, number, zero;
} hw_stream_name;

/* The buffer of a stream. Belongs to the thread that makes the events, one at a time. */
typedef struct hw_log {
    hw_stream_name name;
    hw_event_record *records;
    size_t count, capacity;
    uint64_t batches; /* batches that were passed on */
    /* Takes all buffered records and sets count to 0. */
    void (*full)(struct hw_log *log);
    void *owner;
} hw_log;

static inline void hw_log_put(hw_log *log, const hw_event_record *record)
{
    log->records[log->count++] = *record;
    if (log->count == log->capacity)
        log->full(log);
}

/* Makes a NAME record, with as much of the name as fits. */
hw_event_record hw_event_name(uint32_t object, const char *name);

#endif
