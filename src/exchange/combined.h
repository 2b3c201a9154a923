/*
 * combined.h - updates that wait at a relay for the same link, under SSP and TAP, are added up and sent as one message with
 * a list of them.
 *
 * The links of a state's range (adding.h) have no cycle. The first block of a node, its relay, sends what arrives by one
 * link, or from a block of its node, on to all other links. So an update passes each node once and never returns to its own,
 * and no sum has to be taken apart. The order of additions is that of arrival, as everywhere under these policies.
 *
 * HW_MESSAGE_COMBINED   the values (dense, sparse or packed, as in encoding.h), then `covers` entries of the list, 24 bytes
 * each. It is for
 *                       all blocks of one node. Each of its updates is the next one of its block, with its own clock, part
 *                       and span.
 *
 * A relay keeps the updates for a link in a list until it sends. If the list is full, they are added up there. So no more
 * wait for a link, whatever its speed, than HW_WAITING_MOST updates, which other links share, and one sum. A sum that would
 * overflow is not made, and one of rounded numbers that needs more bytes than its parts is not sent: then the updates are
 * sent singly.
 *
 * Not combined, but sent to all nodes by the net's routes as before: states with one writer, under a filter, or with a merge
 * function of the program, and all states over graphs other than trees and servers.
 */
#ifndef HW_EXCHANGE_COMBINED_H
#define HW_EXCHANGE_COMBINED_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/transport.h"

enum { HW_WAITING_MOST = 16 };

/* One update of a combined message. */
typedef struct hw_contribution {
    uint64_t clock;
    uint32_t block, part, span;
    uint32_t last; /* 1: the clock is complete with this part */
} hw_contribution;

/* Updates that go on together: one, or a sum. */
typedef struct hw_parcel {
    unsigned references; /* by links */
    uint32_t count;
    hw_contribution *list;
    hw_message *values; /* not packed; its length leaves the list out */
    bool has_room;      /* the list fits behind it, and nothing else refers to the payload */
    hw_message *whole;  /* as it arrived, to be sent on as it is; NULL: made here */
} hw_parcel;

/* What waits for a link. */
typedef struct hw_waiting {
    hw_parcel *parcels[HW_WAITING_MOST];
    uint32_t count;
} hw_waiting;

typedef struct hw_combiner {
    hw_waiting *links; /* in the order of adding->links */
    uint32_t waiting;  /* links for which something waits */
} hw_combiner;

#endif
