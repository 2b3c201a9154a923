/* agent.h - speaks for a node that has no driver: says what it runs, hands in what its blocks came to, takes the result of all. */
#ifndef HW_RUNTIME_DRIVE_AGENT_H
#define HW_RUNTIME_DRIVE_AGENT_H

#include "runtime/drive/run.h"

typedef struct hw_agent {
    hw_session *session;
    hw_mailbox mailbox;
    hawser_error error;
    hw_message *result; /* the driver's last word */
    bool told;          /* the driver knows that we were interrupted */
} hw_agent;

void hw_agent_open(hw_agent *agent, hw_session *session);
void hw_agent_close(hw_agent *agent);
/* Until the driver's last word is here, or nobody is left to say it. */
void hw_agent_main(hw_agent *agent);

/* What a node is about to run, a fact a line: nodes that differ in one of them must not run together. The caller frees it. */
hawser_status hw_session_program(const hw_session *session, char **text, hawser_error *error) HAWSER_MUST_USE;

/* gather.c: a digest of the travelling states as this node has them, figures, events and local states of its blocks, and its links, into a
 * message; and back into a run. */
hawser_status hw_gather_pack(const hw_session *session, hw_message **message, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_gather_take(const hw_session *session, const hw_message *message, hawser_run *run,
                             hawser_error *error) HAWSER_MUST_USE;

/* Of the travelling states of an ended session, bit by bit. */
uint64_t hw_session_digest(const hw_session *session);
/* True where a node has gathered (else NULL, or another message) and its travelling states have this digest. */
bool hw_gather_equals(const hw_message *message, uint64_t digest);

/* share.c: how the run ended and, where it has one, its result (run may be NULL), into a message; and back. Whole: with the travelling
 * states; else the node takes its own, which are known to be equal. hw_share_take gives the status that the driver's node returned,
 * with its text. */
hawser_status hw_share_pack(const hw_session *session, const hawser_error *ended, const hawser_run *run, bool whole,
                            hw_message **message, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_share_take(const hw_session *session, const hw_message *message, hawser_run **run,
                            hawser_error *error) HAWSER_MUST_USE;

#endif
