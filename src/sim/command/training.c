#include "sim/command/training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "sim/report.h"

/* A job of the world. */
typedef struct sim_calling {
    sim_words call;
    uint32_t first; /* its first node */
    FILE *out;      /* of that node */
    size_t size;
} sim_calling;

typedef struct sim_callings {
    sim_calling *list;
    size_t count;
} sim_callings;

static const sim_calling *calling_of(const sim_callings *all, uint32_t node)
{
    size_t i = 0;
    while (i + 1 < all->count && all->list[i + 1].first <= node)
        i++;
    return &all->list[i];
}

/* What main of the command does. */
static int run_call(hw_call *call, int count, char **words)
{
    hw_interrupt interrupt;
    hawser_error error = {0};
    if (hw_interrupt_open(&interrupt, false, &error) != HAWSER_OK) {
        fprintf(stderr, "hawser: %s\n", error.text);
        return HW_EXIT_MEMORY;
    }
    call->interrupt = &interrupt;
    int code = hw_cli_call(call, count, words);
    hw_interrupt_close(&interrupt);
    return code;
}

static int node_main(void *user, uint32_t node)
{
    const sim_calling *calling = calling_of(user, node);
    const sim_words *given = &calling->call;
    char **words = calloc((size_t)given->count + 2, sizeof *words); /* the command changes its own */
    FILE *out = node == calling->first ? calling->out : fopen("/dev/null", "we");
    if (words == NULL || out == NULL)
        return HW_EXIT_MEMORY;
    words[0] = (char *)(uintptr_t) "hawser";
    for (int i = 0; i < given->count; i++)
        words[i + 1] = given->words[i];
    int code = run_call(&(hw_call){.environment = environ, .out = out, .err = stderr}, given->count + 1, words);
    if (node != calling->first)
        (void)fclose(out);
    free(words);
    return code;
}

static void *sound(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

sim_world_result sim_call(sim_cluster cluster, const sim_words *calls, sim_call_result *results)
{
    sim_world_result world;
    sim_callings all = {.count = cluster.job_count > 0 ? cluster.job_count : 1};
    int *codes = sound(calloc(cluster.nodes, sizeof *codes));
    sim_span *spans = sound(calloc(all.count, sizeof *spans));
    all.list = sound(calloc(all.count, sizeof *all.list));
    for (size_t j = 0; j < all.count; j++) {
        results[j] = (sim_call_result){0};
        all.list[j] = (sim_calling){.call = calls[j]};
        all.list[j].first = j == 0 ? 0 : all.list[j - 1].first + cluster.jobs[j - 1].nodes;
        all.list[j].out = sound(open_memstream(&results[j].out, &all.list[j].size));
    }
    double begin = hw_seconds();
    cluster.main = node_main;
    cluster.user = &all;
    cluster.spans = spans;
    world.outcome = sim_cluster_run(&cluster, codes);
    world.seconds_real = hw_seconds() - begin;
    sim_print_end(&world.outcome);
    for (size_t j = 0; j < all.count; j++) {
        uint32_t nodes = cluster.job_count > 0 ? cluster.jobs[j].nodes : cluster.nodes;
        (void)fclose(all.list[j].out);
        results[j].span = spans[j];
        results[j].code = sim_job_code(spans[j].end >= 0, codes + all.list[j].first, nodes);
    }
    free(all.list);
    free(spans);
    free(codes);
    return world;
}

int sim_print_results(const sim_cluster *cluster, const char *link, const sim_call_result *results,
                      const sim_world_result *world)
{
    int code = HW_EXIT_OK;
    size_t jobs = cluster->job_count > 0 ? cluster->job_count : 1;
    for (size_t j = 0; j < jobs; j++) {
        const sim_call_result *result = &results[j];
        const sim_report_job job = {(uint32_t)j, jobs > 1 ? cluster->jobs[j].nodes : cluster->nodes, result->span,
                                    result->code};
        size_t length = strlen(result->out);
        while (length > 0 && result->out[length - 1] == '\n')
            length--;
        bool json = length > 0 && result->out[length - 1] == '}';
        printf("%.*s%s", (int)(json ? length - 1 : length), result->out, json ? "," : length > 0 ? "\n{" : "{");
        sim_print_simulated(stdout, cluster, link, jobs > 1 ? &job : NULL, &world->outcome, world->seconds_real);
        printf("}\n");
        code = code == HW_EXIT_OK ? result->code : code;
    }
    return code;
}
