/*
 * first_use.h - links of a world that the first message makes (hw_net_know).
 *
 * The two ends of a link are one pair from the start, also if both nets send first at about one time. An end that is being
 * dialled keeps its messages. A hello takes three trips, and the reply one. A lost hello (a cut, a process that has ended)
 * has no reply. The dialler tries again until the failure timeout.
 */
#ifndef HW_SIM_FIRST_USE_H
#define HW_SIM_FIRST_USE_H

#include "sim/mesh.h"

/* A hello has arrived at the own end of its link. Only on the net's thread, as the next two. */
void sim_be_used(sim_link *link);
/* The reply to a hello has arrived. */
void sim_be_accepted(sim_link *link);
/* Ends a link that could not be dialled. */
void sim_fail(sim_link *link);
/* Returns whether a message for all leaves out a node. */
bool sim_has_left(const sim_net *net, uint32_t node);

#endif
