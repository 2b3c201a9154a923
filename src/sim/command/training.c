#include "sim/command/training.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"

typedef struct sim_calls {
    int count;
    char *const *words;
    FILE *out;
} sim_calls;

static int node_main(void *user, uint32_t node)
{
    const sim_calls *calls = user;
    char **words = calloc((size_t)calls->count + 2, sizeof *words); /* the command changes its own */
    FILE *out = node == 0 ? calls->out : fopen("/dev/null", "we");
    if (words == NULL || out == NULL)
        return HW_EXIT_MEMORY;
    words[0] = (char *)(uintptr_t) "hawser";
    for (int i = 0; i < calls->count; i++)
        words[i + 1] = calls->words[i];
    hw_call call = {.environment = environ, .out = out, .err = stderr};
    int code = hw_cli_call(&call, calls->count + 1, words);
    if (node != 0)
        (void)fclose(out);
    free(words);
    return code;
}

sim_call_result sim_call(sim_cluster cluster, int count, char *const *words)
{
    sim_call_result result = {0};
    size_t size = 0;
    int *codes = calloc(cluster.nodes, sizeof *codes);
    sim_calls calls = {count, words, open_memstream(&result.out, &size)};
    double begin = hw_seconds();
    if (codes == NULL || calls.out == NULL)
        abort();
    cluster.main = node_main;
    cluster.user = &calls;
    result.outcome = sim_cluster_run(&cluster, codes);
    result.seconds_real = hw_seconds() - begin;
    (void)fclose(calls.out);
    result.code = codes[0];
    for (uint32_t i = 1; i < cluster.nodes && result.code == 0; i++)
        result.code = codes[i] > 0 ? codes[i] : 0;
    if (result.outcome.end != SIM_DONE) {
        const char *const ends[] = {
            [SIM_STUCK] = "every thread waits", [SIM_LATE] = "--limit", [SIM_FULL] = "--memory-limit"};
        hw_say(stderr, "the simulated job did not end: %s after %.3f s of virtual time", ends[result.outcome.end],
               result.outcome.seconds);
        result.code = HW_EXIT_CUT;
    }
    result.code = result.code < 0 ? HW_EXIT_PEER : result.code; /* node 0 was killed */
    free(codes);
    return result;
}

void sim_print_result(const sim_cluster *cluster, const char *link, const sim_call_result *result)
{
    size_t length = strlen(result->out);
    while (length > 0 && result->out[length - 1] == '\n')
        length--;
    bool json = length > 0 && result->out[length - 1] == '}';
    printf("%.*s%s", (int)(json ? length - 1 : length), result->out, json ? "," : length > 0 ? "\n{" : "{");
    printf("\"simulated\":{\"nodes\":%" PRIu32 ",\"link\":\"%s\",\"seconds\":%.9f,\"events\":%" PRIu64
           ",\"seconds_real\":%.3f,\"bytes_per_node\":%.0f,\"bytes_busiest\":%" PRIu64 "}}\n",
           cluster->nodes, link, result->outcome.seconds, result->outcome.events, result->seconds_real,
           (double)result->outcome.bytes / cluster->nodes, result->outcome.busiest);
}
