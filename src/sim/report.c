#include "sim/report.h"

#include <inttypes.h>

#include "report/exit_code.h"

int sim_job_code(const sim_cluster *cluster, const sim_outcome *outcome, const int *codes)
{
    static const char *const ends[] = {
        [SIM_STUCK] = "every thread waits", [SIM_LATE] = "--limit", [SIM_FULL] = "--memory-limit"};
    if (outcome->end != SIM_DONE) {
        fprintf(stderr, "hawser-sim: the simulated job did not end: %s after %.3f s of virtual time\n", ends[outcome->end],
                outcome->seconds);
        return HW_EXIT_CUT;
    }
    int code = codes[0];
    for (uint32_t i = 1; i < cluster->nodes && code == 0; i++)
        code = codes[i] > 0 ? codes[i] : 0;
    return code < 0 ? HW_EXIT_PEER : code; /* node 0 was killed */
}

void sim_print_simulated(FILE *out, const sim_cluster *cluster, const char *link, const sim_outcome *outcome,
                         double seconds_real)
{
    fprintf(out,
            "\"simulated\":{\"nodes\":%" PRIu32 ",\"link\":\"%s\",\"seconds\":%.9f,\"events\":%" PRIu64
            ",\"seconds_real\":%.3f,\"bytes_per_node\":%.0f,\"bytes_busiest\":%" PRIu64 "}",
            cluster->nodes, link, outcome->seconds, outcome->events, seconds_real, (double)outcome->bytes / cluster->nodes,
            outcome->busiest);
}
