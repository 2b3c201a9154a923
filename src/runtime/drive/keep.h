/* keep.h - the store of a program's stored states, beside its session: opened before the blocks, closed after them. */
#ifndef HW_RUNTIME_KEEP_H
#define HW_RUNTIME_KEEP_H

#include "runtime/session/session.h"

/* Opens the store, makes a table a state and puts the first values there; every node calls it. Nothing where no state is stored. */
hawser_status hw_keep_open(hw_session *session, hawser_error *error) HAWSER_MUST_USE;
/* The whole of a state, when no block is at work any more. */
hawser_status hw_keep_read(const hw_session *session, const hawser_state *state, double *values,
                           hawser_error *error) HAWSER_MUST_USE;
/* Adds what this node has asked of the store to its first block's figures; once, at the end. */
void hw_keep_count(const hw_session *session);
/* With what has gone wrong (HAWSER_OK: nothing) nobody waits for what is still under way. Every node calls it. */
void hw_keep_close(hw_session *session, const hawser_error *ended);

#endif
