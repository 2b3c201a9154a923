/* program.h - a program of the user on all nodes of a simulated cluster. */
#ifndef HW_SIM_COMMAND_PROGRAM_H
#define HW_SIM_COMMAND_PROGRAM_H

#include "hawser/status.h"
#include "sim/cluster.h"

/* Becomes the program words[0], whose main then runs on every node. Returns only if that fails. HAWSER_BAD_PROGRAM: it is
 * not linked with the simulator. */
hawser_status sim_become(const sim_cluster *cluster, const char *link, char *const *words,
                         hawser_error *error) HAWSER_MUST_USE;

#endif
