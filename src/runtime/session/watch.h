/* watch.h - units that do not return: named while they run, and the job ended where --unit-timeout says so. */
#ifndef HW_RUNTIME_SESSION_WATCH_H
#define HW_RUNTIME_SESSION_WATCH_H

#include "runtime/session/session.h"

/* Looks at this node's blocks if it is time. For the runner of this node's driver or agent, which computes nothing itself. */
void hw_watch_units(hw_session *session, double now);

#endif
