/*
 * status.h - what the nodes of a run last said of themselves: how far they are, and whether anybody there is at work.
 *
 * Each node's driver or agent puts it into a segment of the driver's node now and then, and the driver's node into one of every other
 * (transport/segment.h): only the latest counts, and no block is disturbed. So whoever is lost, the others know where the job was, and the
 * driver sees when every node has fallen silent at work, which heartbeats hide.
 */
#ifndef HW_RUNTIME_SESSION_STATUS_H
#define HW_RUNTIME_SESSION_STATUS_H

#include "runtime/session/session.h"

typedef struct hw_status_table hw_status_table;

/* One node's, from its latest put. */
typedef struct hw_node_status {
    uint64_t heard;  /* messages that its endpoints have taken in */
    uint64_t queued; /* bytes that waited to leave it */
    /* The driver's node: of its loop, as the driver has them; else begun by the slowest of its blocks. 0: none yet */
    uint64_t clocks;
    uint32_t busy;  /* runners at work besides the one that says so */
    char phase[52]; /* the driver's node: the operator that it has the job in */
} hw_node_status;

/* Exposes this node's segment; to be done before messages come, that is, before the session's transport is attached. */
hawser_status hw_status_table_open(hw_session *session, hw_status_table **board, hawser_error *error) HAWSER_MUST_USE;
void hw_status_table_close(hw_status_table *board); /* before the transport goes; NULL is allowed */

/* The rest is for the runner of this node's driver or agent alone. */
/* Puts what has changed if it is time, and looks. Never blocks. NULL is allowed. */
void hw_status_table_tick(hw_status_table *board, double now);
/* The latest of `node`; false: it has said nothing, or not to this node. */
bool hw_status_table_of(const hw_status_table *board, uint32_t node, hw_node_status *tidings);
/* On the driver's node: for how many seconds nobody has been at work on any node, no message came in anywhere and none waited to leave. Elsewhere,
 * and with a board that is NULL, 0. */
double hw_status_table_quiet(const hw_status_table *board, double now);

#endif
