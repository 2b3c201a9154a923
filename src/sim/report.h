/* report.h - how a simulated job has gone: its exit code, and the field `simulated` of its JSON. */
#ifndef HW_SIM_REPORT_H
#define HW_SIM_REPORT_H

#include <stdio.h>

#include "sim/cluster.h"

/* A job of a world with several. */
typedef struct sim_report_job {
    uint32_t number, nodes;
    sim_span span;
    int code;
} sim_report_job;

/* Says on standard error why a world did not end, if it did not. */
void sim_print_end(const sim_outcome *outcome);
/* Returns the exit code of a job: that of its first node, or of the first node that failed if that one did not. ended: every
 * node has ended or was killed. codes: of its nodes, as sim_cluster_run stores them. */
int sim_job_code(bool ended, const int *codes, uint32_t nodes);
/* Writes `"simulated":{...}`. job NULL: there is only one. */
void sim_print_simulated(FILE *out, const sim_cluster *cluster, const char *link, const sim_report_job *job,
                         const sim_outcome *outcome, double seconds_real);

#endif
