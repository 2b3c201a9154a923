/* training.h - calls of the command on all nodes of a simulated cluster. */
#ifndef HW_SIM_COMMAND_TRAINING_H
#define HW_SIM_COMMAND_TRAINING_H

#include "sim/cluster.h"

/* `hawser WORDS`; words[0] is the first behind "hawser". */
typedef struct sim_words {
    int count;
    char *const *words;
} sim_words;

/* What the call of a job has printed and how it went. */
typedef struct sim_call_result {
    char *out; /* of its first node; the caller frees it */
    int code;  /* exit code of that node, or of the first node that failed if that one did not */
    sim_span span;
} sim_call_result;

typedef struct sim_world_result {
    sim_outcome outcome;
    double seconds_real;
} sim_world_result;

/* Runs a call on every node of a job, for each job of the cluster (or for all nodes if it has none). calls, results: by job.
 * cluster.main, user and spans are set here. */
sim_world_result sim_call(sim_cluster cluster, const sim_words *calls, sim_call_result *results);
/* Writes the result of each job as one line: the JSON of its first node, if that printed one, and then `simulated`. Returns
 * the exit code of the first job that failed. */
int sim_print_results(const sim_cluster *cluster, const char *link, const sim_call_result *results,
                      const sim_world_result *world);

#endif
