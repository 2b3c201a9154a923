/* dialling.h - how a process of a world makes a link to another. */
#ifndef HW_SIM_DIALLING_H
#define HW_SIM_DIALLING_H

#include "sim/mesh.h"

/* The net that is dialled admits or rejects the peer. Its reply is the first parcel of the link. */
void sim_be_dialled(sim_net *net, sim_dialling *dialling);
/* The reply has arrived at the net that dials. */
void sim_take_reply(sim_link *link, sim_dialling *dialling);

#endif
