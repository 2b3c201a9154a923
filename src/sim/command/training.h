/* training.h - one call of the command on all nodes of a simulated cluster. */
#ifndef HW_SIM_COMMAND_TRAINING_H
#define HW_SIM_COMMAND_TRAINING_H

#include "sim/cluster.h"

/* What a call has printed and how it went. */
typedef struct sim_call_result {
    char *out; /* of node 0; the caller frees it */
    int code;  /* exit code of node 0, or of the first node that failed if that one did not */
    sim_outcome outcome;
    double seconds_real;
} sim_call_result;

/* Runs `hawser WORDS` on every node; cluster->main and user are set here. words[0] is the first behind "hawser". */
sim_call_result sim_call(sim_cluster cluster, int count, char *const *words);
/* Writes the result as one line: the JSON of node 0, if it printed one, and then `simulated`. */
void sim_print_result(const sim_cluster *cluster, const char *link, const sim_call_result *result);

#endif
