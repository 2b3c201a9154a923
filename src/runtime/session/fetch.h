/* fetch.h - columns of a data state on other nodes: a unit requests them, the node that has them replies. */
#ifndef HW_RUNTIME_SESSION_FETCH_H
#define HW_RUNTIME_SESSION_FETCH_H

#include "runtime/session/session.h"

/* Replies to a HW_MESSAGE_FETCH of this session; called by the cluster. */
hawser_status hw_fetch_serve(void *session, hw_message *message, hawser_error *error) HAWSER_MUST_USE;
/* Stores received columns; takes the message. */
hawser_status hw_fetch_take(hw_mailbox *mailbox, hw_message *message) HAWSER_MUST_USE;
/* Makes sure that columns of a data state are on this node; blocks until they are. */
hawser_status hw_fetch_columns(hw_mailbox *mailbox, const hawser_state *state, const uint32_t *columns,
                               size_t count) HAWSER_MUST_USE;
/* Makes sure that all columns of a block's part are on this node, and requests them in pieces. Of a split state a few may be
 * elsewhere, if another data state decided the cut; of a whole state those of all other nodes. */
hawser_status hw_fetch_part(hw_mailbox *mailbox, const hawser_state *state, hawser_matrix *part) HAWSER_MUST_USE;
/* Fails if a kernel has touched columns of other nodes outside of a run. */
hawser_status hw_fetch_check(const hw_session *session, hawser_error *error) HAWSER_MUST_USE;
/* After a failed run: forgets what it had requested. */
void hw_fetch_forget(const hw_session *session);

#endif
