/* dialling.h - how a process of a world makes a link to another. */
#ifndef HW_SIM_DIALLING_H
#define HW_SIM_DIALLING_H

#include "sim/mesh.h"

/* Makes a link between two nets. Returns the end of `net`, which has that number for the other end. */
sim_link *sim_new_link(sim_net *net, sim_net *peer, uint32_t number);
/* Makes an end of a link known to its net. */
hawser_status sim_enter(sim_link *link, hawser_error *error);
/* Decides whether a net admits a peer, and with which number. */
hawser_status sim_judge(sim_net *net, const sim_net *peer, uint32_t *number, hawser_error *error);
/* Returns the newest net with that address, whether it runs or not; NULL: there was none. */
sim_net *sim_net_of(const char *address);
/* Notes a cut of what one host sends to another, for links to come, or its end. */
void sim_note_cut(uint32_t from, uint32_t to, bool cut);
void sim_forget_cuts(void);

/* The net that is dialled admits or rejects the peer. Its reply is the first parcel of the link. */
void sim_be_dialled(sim_net *net, sim_dialling *dialling);
/* The reply has arrived at the net that dials. */
void sim_take_reply(sim_link *link, sim_dialling *dialling);

#endif
