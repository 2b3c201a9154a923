/* fetch.h - columns of a data state that other nodes have: asked for by a unit, answered by the node that has them. */
#ifndef HW_RUNTIME_SESSION_FETCH_H
#define HW_RUNTIME_SESSION_FETCH_H

#include "runtime/session/session.h"

/* The cluster's server: answers a HW_MESSAGE_WANT of this session. */
hawser_status hw_fetch_serve(void *session, hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* A block takes what has come; takes the message. */
hawser_status hw_fetch_take(hw_mailbox *mailbox, hw_message *message) HAWSER_MUST_USE;
/* Makes sure that columns of a data state are here, waiting if they are not. */
hawser_status hw_fetch_want(hw_mailbox *mailbox, const hawser_state *state, const uint32_t *columns,
                            size_t count) HAWSER_MUST_USE;
/* Makes sure that all columns of a block's part are here: those of another data state decided on the cut, so a few may be elsewhere. */
hawser_status hw_fetch_part(hw_mailbox *mailbox, const hawser_state *state, hawser_matrix *part) HAWSER_MUST_USE;

#endif
