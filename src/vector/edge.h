/*
 * edge.h - one edge of a vector's dataflow: what its sender keeps, and what its receiver keeps, as steps without a thread.
 *
 * An edge carries *items*: messages whose envelope has the item's number on the edge from 1 (epoch), the scatter's iteration
 * (clock), the number of scatters that are added up in it (span; 0: the iteration alone) and the numbers as payload. The
 * link keeps their order. The receiver acknowledges an item when it has gathered it, which includes the items before.
 *
 * Under tap one item is in flight, and what is scattered meanwhile waits in one pending item: of values the newest, of
 * deltas the sum. A flush sends the pending item too. Under bsp and ssp up to `most` items are in flight, each of one
 * iteration, and a scatter waits for space. When the receiver has ended, nothing waits for it: values are dropped, and
 * deltas are added up as under tap.
 *
 * The caller guards an edge by a lock, and sends what hw_edge_next returns before it asks for the next. Between
 * hw_edge_begin and hw_edge_end the pending item belongs to the thread that scatters, which needs no lock to add to it.
 */
#ifndef HW_VECTOR_EDGE_H
#define HW_VECTOR_EDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "hawser/status.h"
#include "transport/transport.h"

typedef enum hw_vector_sync { HW_VECTOR_TAP, HW_VECTOR_BSP, HW_VECTOR_SSP } hw_vector_sync;

/* What both ends of an edge know. */
typedef struct hw_edge_rules {
    hw_vector_sync sync;
    uint64_t slack; /* S of ssp:S */
    uint64_t most;  /* items in flight; under tap 1 */
    uint64_t first; /* bsp and ssp: the first iteration, set before the first gather */
    bool deltas;
    bool waits; /* under tap a scatter waits until the one before is gathered */
} hw_edge_rules;

/* The sender's end. */
typedef struct hw_edge_out {
    const hw_edge_rules *rules;
    uint64_t sent, gathered;  /* numbers of items */
    hw_message *pending;      /* NULL: none */
    bool begun;               /* the thread that scatters has `pending` */
    bool flushes;             /* it is sent although items are in flight */
    bool ended;               /* the receiver gathers no more */
    uint64_t messages, bytes; /* of items with numbers that were sent */
    uint64_t overwritten;     /* scatters of values that were never sent, */
    uint64_t added;           /* and those that were added to a pending item, or merged with it */
} hw_edge_out;

/* The receiver's end. */
typedef struct hw_edge_in {
    const hw_edge_rules *rules;
    hw_message *first, *last; /* received items that are not gathered, in order */
    uint64_t held, arrived;   /* their number; the number of the last one that arrived */
    uint64_t begins, newest;  /* iterations of the first and of the last one that arrived, if `arrived` is not 0 */
    bool ended;               /* the sender scatters no more */
    bool closes;              /* this receiver gathers no more, so that iterations may be missing between two items */
    hw_message *rest;         /* what its rounding has left at its end; NULL: nothing */
} hw_edge_in;

/* Returns whether a scatter may go on. */
bool hw_edge_open(const hw_edge_out *edge);
/* Returns whether a new item would be sent at once. */
bool hw_edge_idle(const hw_edge_out *edge);
/* Returns whether nothing may be sent any more, so that a scatter is dropped. */
bool hw_edge_drops(const hw_edge_out *edge);
/* Begins a scatter: returns the pending item, or NULL. */
hw_message *hw_edge_begin(hw_edge_out *edge);
/* Ends it: `item` is the pending item, or another one that replaces it. NULL: nothing has changed. added: it has the numbers
 * of the pending item and of the scatter. */
void hw_edge_end(hw_edge_out *edge, hw_message *item, bool added);
/* Sends the pending item although others are in flight. */
void hw_edge_flush(hw_edge_out *edge);
/* Returns the item that must be sent now, with its number, or NULL. */
hw_message *hw_edge_next(hw_edge_out *edge);
/* The receiver has gathered the items up to a number. Returns false if it has never received that one. */
bool hw_edge_acknowledged(hw_edge_out *edge, uint64_t number);
/* The receiver has ended: it gathers no more before its finish. */
void hw_edge_receiver_ended(hw_edge_out *edge);
void hw_edge_out_free(hw_edge_out *edge);

/* Takes a received item. Returns false, and does not take it, if it breaks the protocol. */
bool hw_edge_arrived(hw_edge_in *edge, hw_message *item);
/* Returns whether the gather of an iteration may go on. */
bool hw_edge_ready(const hw_edge_in *edge, uint64_t iteration);
/* Takes the items that the gather of an iteration uses, in order, linked by `next`. *number: that of the last one, to be
 * acknowledged; 0: there is none. Under bsp it takes items of this iteration alone. */
hw_message *hw_edge_take(hw_edge_in *edge, uint64_t iteration, uint64_t *number);
/* Takes everything that is held. */
hw_message *hw_edge_take_all(hw_edge_in *edge);
/* Puts back one item in place of those that hw_edge_take_all has returned, before what has arrived since. */
void hw_edge_put_back(hw_edge_in *edge, hw_message *item);
void hw_edge_in_free(hw_edge_in *edge);

#endif
