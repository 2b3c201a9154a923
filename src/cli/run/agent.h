/* agent.h - the process that starts, feeds, watches and ends the nodes of one host. */
#ifndef HW_CLI_RUN_AGENT_H
#define HW_CLI_RUN_AGENT_H

#include <signal.h>
#include <stdbool.h>

#include "hawser/status.h"

/* Serves one `hawser run`, whose end of the wire is at `in` and `out`, until all nodes have ended. node_in, node_out:
 * standard input and output of node 0, or -1 if they use the wire. mask: the signal mask for the nodes. If the wire ends
 * first, the nodes lose their channel and get SIGTERM, and SIGKILL a few seconds later. */
hawser_status hw_agent_serve(int in, int out, int node_in, int node_out, const sigset_t *mask,
                             hawser_error *error) HAWSER_MUST_USE;

/* Blocks the signals that the launcher and its agents read from a descriptor (and SIGPIPE), and makes that descriptor.
 * before: the previous mask, for hw_signals_close. */
hawser_status hw_signals_open(sigset_t *before, int *fd, hawser_error *error) HAWSER_MUST_USE;
/* Drops the signals that have arrived since and restores the mask. */
void hw_signals_close(const sigset_t *before, int fd);
/* Returns the next signal that has arrived; 0: none. */
int hw_signals_next(int fd);

#endif
