/* calibrate.h - the costs of computing on this machine, measured by real runs. */
#ifndef HW_SIM_COMMAND_CALIBRATE_H
#define HW_SIM_COMMAND_CALIBRATE_H

#include "hawser/status.h"
#include "sim/compute.h"

/* Runs `hawser WORDS` for real, and writes a file for --compute: the time of a call, measured with a unit that does nothing,
 * of an entry, and of a byte of an update. HAWSER_BAD_OPTION: the command goes over no entries or exchanges nothing. */
hawser_status sim_calibrate(const char *path, int count, char *const *words, hawser_error *error) HAWSER_MUST_USE;
/* Reads --compute: three times, or the path of such a file. */
hawser_status sim_read_costs(const char *text, sim_costs *costs, hawser_error *error) HAWSER_MUST_USE;

#endif
