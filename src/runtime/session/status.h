/*
 * status.h - the status table of a run: each node's latest progress, and whether any of its runners works.
 *
 * Each node's driver or agent regularly puts its status into a segment (transport/segment/segment.h) on the driver's node,
 * and the driver's node puts its own into a segment on every other node. Only the latest counts, and no block is
 * interrupted. So every node can report the phase in which a node was lost, and the driver notices when no node makes
 * progress although heartbeats arrive.
 */
#ifndef HW_RUNTIME_SESSION_STATUS_H
#define HW_RUNTIME_SESSION_STATUS_H

#include "runtime/session/session.h"

typedef struct hw_status_table hw_status_table;

/* The status of a node, from its latest put. */
typedef struct hw_node_status {
    uint64_t received; /* messages that its endpoints have received */
    uint64_t queued;   /* bytes that wait to be sent */
    /* On the driver's node: clocks of its loop that it has combined; elsewhere: clocks begun by the slowest block. 0: none
     * yet. */
    uint64_t clocks;
    double link_busy, seconds; /* seconds in which this node's busiest link had something to send, and a time of its clock */
    uint32_t busy;             /* runners at work, without the one that reports */
    char phase[52];            /* on the driver's node: the current operator */
} hw_node_status;

/* Exposes this node's segment. Call it before the session's transport is attached. */
hawser_status hw_status_table_open(hw_session *session, hw_status_table **status_table, hawser_error *error) HAWSER_MUST_USE;
void hw_status_table_close(hw_status_table *status_table); /* before the transport is closed; NULL is allowed */

/* The following functions are only for the runner of this node's driver or agent. */
/* Puts a changed status if its time has come, and reads the others. Never blocks. NULL is allowed. */
void hw_status_table_tick(hw_status_table *status_table, double now);
/* Returns the latest status of `node`; false: none has arrived here. */
bool hw_status_table_of(const hw_status_table *status_table, uint32_t node, hw_node_status *node_status);
/* Returns the share of the time since the last call in which the busiest of all nodes' links had something to send, by the
 * measures that have arrived. *node becomes its node. A node without new measures counts as before. Returns 0 if there are
 * none yet, and for NULL. */
double hw_status_table_link(hw_status_table *status_table, uint32_t *node);
/* On the driver's node, returns the seconds in which no runner worked on any node, no message arrived and none waited to be
 * sent. Returns 0 on other nodes and for NULL. */
double hw_status_table_quiet(const hw_status_table *status_table, double now);

#endif
