#include "sim/report.h"

#include <inttypes.h>

#include "report/exit_code.h"

void sim_print_end(const sim_outcome *outcome)
{
    static const char *const ends[] = {
        [SIM_STUCK] = "every thread waits", [SIM_LATE] = "--limit", [SIM_FULL] = "--memory-limit"};
    if (outcome->end != SIM_DONE)
        fprintf(stderr, "hawser-sim: the simulated job did not end: %s after %.3f s of virtual time\n", ends[outcome->end],
                outcome->seconds);
}

int sim_job_code(bool ended, const int *codes, uint32_t nodes)
{
    if (!ended)
        return HW_EXIT_CUT;
    int code = codes[0];
    for (uint32_t i = 1; i < nodes && code == 0; i++)
        code = codes[i] > 0 ? codes[i] : 0;
    return code < 0 ? HW_EXIT_PEER : code; /* its first node was killed */
}

/* A time that has not come is null. */
static void print_time(FILE *out, const char *name, double seconds)
{
    if (seconds < 0)
        fprintf(out, "\"%s\":null,", name);
    else
        fprintf(out, "\"%s\":%.9f,", name, seconds);
}

void sim_print_simulated(FILE *out, const sim_cluster *cluster, const char *link, const sim_report_job *job,
                         const sim_outcome *outcome, double seconds_real)
{
    fprintf(out, "\"simulated\":{");
    if (job != NULL) {
        fprintf(out, "\"job\":%" PRIu32 ",", job->number);
        print_time(out, "begin", job->span.begin);
        print_time(out, "end", job->span.end);
        fprintf(out, "\"exit_code\":%d,", job->code);
    }
    fprintf(out,
            "\"nodes\":%" PRIu32 ",\"link\":\"%s\",\"seconds\":%.9f,\"events\":%" PRIu64
            ",\"seconds_real\":%.3f,\"bytes_per_node\":%.0f,\"bytes_busiest\":%" PRIu64 "}",
            job != NULL ? job->nodes : cluster->nodes, link, outcome->seconds, outcome->events, seconds_real,
            (double)outcome->bytes / cluster->nodes, outcome->busiest);
}
