/* keep.h - the store of a program's stored states, which is opened before the blocks of a session and closed after them; and
 * the shares of local and stored states that a node keeps as the result of a run. */
#ifndef HW_RUNTIME_KEEP_H
#define HW_RUNTIME_KEEP_H

#include "exchange/numbers.h"
#include "runtime/session/session.h"

/* A number of a local state that is not finite. */
typedef struct hw_not_finite {
    uint64_t number; /* of the whole state */
    uint32_t state;  /* UINT32_MAX: all numbers are finite */
    char text[HW_NUMBER_TEXT];
} hw_not_finite;

/* Opens the store, makes a table for each state and stores the first values. Collective. Does nothing if no state is
 * stored. */
hawser_status hw_keep_open(hw_session *session, hawser_error *error) HAWSER_MUST_USE;
/* Takes the shares of this node's blocks, from the blocks and from the store, into session->kept. No block may be at work
 * any more. */
hawser_status hw_keep_take(hw_session *session, hawser_error *error) HAWSER_MUST_USE;
/* Finds the first number of a local state that is not finite, in the shares of this node. Replicas and the store check their
 * own values. */
void hw_keep_check(const hw_session *session, hw_not_finite *found);
/* Adds this node's requests to the store to its first block's figures; once, at the end. */
void hw_keep_count(const hw_session *session);
/* Closes the store. If the run failed (`ended` is not HAWSER_OK), no node waits for requests in progress. Collective. */
void hw_keep_close(hw_session *session, const hawser_error *ended);

#endif
