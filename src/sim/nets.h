/* nets.h - the nets of a world. */
#ifndef HW_SIM_NETS_H
#define HW_SIM_NETS_H

#include <stdbool.h>
#include <stdint.h>

void sim_nets_open(void);
void sim_nets_close(void);
/* Cuts what hosts send from one to another, in this direction, or heals it. */
void sim_nets_cut(uint32_t from, uint32_t to, bool cut);

#endif
