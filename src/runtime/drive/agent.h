/* agent.h - the agent of a node without the driver: sends the node's program, its blocks' figures and signals to the driver,
 * and receives the end of the run. */
#ifndef HW_RUNTIME_DRIVE_AGENT_H
#define HW_RUNTIME_DRIVE_AGENT_H

#include "runtime/session/session.h"

typedef struct hw_agent {
    hw_session *session;
    hw_mailbox mailbox;
    hawser_error error;
    hw_message *result;  /* the driver's last message */
    bool sent_interrupt; /* the driver has received that this node was interrupted */
} hw_agent;

void hw_agent_open(hw_agent *agent, hw_session *session);
void hw_agent_close(hw_agent *agent);
/* Runs until the driver's last message has arrived, or the driver is lost. */
void hw_agent_main(hw_agent *agent);

/* Describes what a node is about to run, one fact per line: nodes that differ in one must not run together. The caller frees
 * the text. */
hawser_status hw_session_program(const hw_session *session, char **text, hawser_error *error) HAWSER_MUST_USE;

/* Describes what has to be the same in a run that goes on from a checkpoint, likewise. */
hawser_status hw_session_identity(const hw_session *session, char **text, hawser_error *error) HAWSER_MUST_USE;

/* gather.c: takes the shares of this node's blocks into session->kept; packs a digest of the exchanged states, figures and
 * events of the blocks, and links, into a message; and adds them to a run. */
hawser_status hw_gather_pack(hw_session *session, hw_message **message, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_gather_take(const hw_session *session, const hw_message *message, hawser_run *run,
                             hawser_error *error) HAWSER_MUST_USE;

/* Returns the digest of the exchanged states of an ended session, over all bits. */
uint64_t hw_session_digest(const hw_session *session);
/* Returns true if the message is a node's results (it may be NULL, or another message) and its exchanged states have this
 * digest. */
bool hw_gather_equals(const hw_message *message, uint64_t digest);

/* share.c: packs the end of the run and its result, if it has one (run may be NULL), into a message; and reads it. whole:
 * with the exchanged states; else the node takes its own, which are equal. hw_share_take returns the status of the driver's
 * node, with its text. */
hawser_status hw_share_pack(const hw_session *session, const hawser_error *ended, const hawser_run *run, bool whole,
                            hw_message **message, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_share_take(const hw_session *session, const hw_message *message, hawser_run **run,
                            hawser_error *error) HAWSER_MUST_USE;

#endif
