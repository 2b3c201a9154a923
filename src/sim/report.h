/* report.h - how a simulated job has gone: its exit code, and the field `simulated` of its JSON. */
#ifndef HW_SIM_REPORT_H
#define HW_SIM_REPORT_H

#include <stdio.h>

#include "sim/cluster.h"

/* Returns the exit code of node 0, or of the first node that failed if that one did not. Says on standard error why a world
 * did not end. codes: as sim_cluster_run stores them. */
int sim_job_code(const sim_cluster *cluster, const sim_outcome *outcome, const int *codes);
/* Writes `"simulated":{...}`. */
void sim_print_simulated(FILE *out, const sim_cluster *cluster, const char *link, const sim_outcome *outcome,
                         double seconds_real);

#endif
