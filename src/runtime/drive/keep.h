/* keep.h - the store of a program's stored states: opened before the blocks of a session and closed after them. */
#ifndef HW_RUNTIME_KEEP_H
#define HW_RUNTIME_KEEP_H

#include "runtime/session/session.h"

/* Opens the store, makes a table for each state and stores the first values. Collective. Does nothing if no state is stored. */
hawser_status hw_keep_open(hw_session *session, hawser_error *error) HAWSER_MUST_USE;
/* Takes the shares of this node's blocks out of the store, when no block is at work any more, into session->stored. */
hawser_status hw_keep_take(hw_session *session, hawser_error *error) HAWSER_MUST_USE;
/* Adds this node's requests to the store to its first block's figures; once, at the end. */
void hw_keep_count(const hw_session *session);
/* Closes the store. If the run failed (`ended` is not HAWSER_OK), no node waits for requests in progress. Collective. */
void hw_keep_close(hw_session *session, const hawser_error *ended);

#endif
