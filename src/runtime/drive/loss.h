/* loss.h - the policy: what follows from the loss of a node for a run. */
#ifndef HW_RUNTIME_DRIVE_LOSS_H
#define HW_RUNTIME_DRIVE_LOSS_H

#include "runtime/session/session.h"

/* Ends the run, whichever node was lost: no other node has the states of its blocks. */
hw_decision hw_after_loss(const hw_session *session, const hw_loss *loss);

#endif
