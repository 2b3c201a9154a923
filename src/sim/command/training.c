#include "sim/command/training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "sim/report.h"

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
    result.code = sim_job_code(&cluster, &result.outcome, codes);
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
    sim_print_simulated(stdout, cluster, link, &result->outcome, result->seconds_real);
    printf("}\n");
}
