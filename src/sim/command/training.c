#include "sim/command/training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "sim/report.h"

/* What other nodes than the first of a job report, line by line. Thousands of nodes report the same mistake. */
typedef struct sim_reported {
    char line[1000], last[1000];
    size_t length, repeats;
} sim_reported;

static sim_reported reported;

static void print_repeats(void)
{
    if (reported.repeats > 0)
        fprintf(stderr, "(other nodes report this line, %zu times)\n", reported.repeats);
    reported.repeats = 0;
}

static void print_line(void)
{
    reported.line[reported.length] = '\0';
    reported.length = 0;
    if (strcmp(reported.line, reported.last) == 0) {
        reported.repeats++;
        return;
    }
    print_repeats();
    fputs(reported.line, stderr);
    memcpy(reported.last, reported.line, sizeof reported.last);
}

static ssize_t report(void *unused, const char *text, size_t length)
{
    (void)unused;
    for (size_t i = 0; i < length; i++) {
        reported.line[reported.length++] = text[i];
        if (text[i] == '\n' || reported.length + 1 == sizeof reported.line)
            print_line();
    }
    return (ssize_t)length;
}

static FILE *open_reported(void)
{
    reported = (sim_reported){0};
    FILE *file = fopencookie(NULL, "w", (cookie_io_functions_t){.write = report});
    if (file != NULL)
        setvbuf(file, NULL, _IOLBF, 0);
    return file;
}

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
    FILE *err; /* of nodes that are not the first of a job */
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
    const sim_callings *all = user;
    const sim_calling *calling = calling_of(all, node);
    const sim_words *given = &calling->call;
    char **words = calloc((size_t)given->count + 2, sizeof *words); /* the command changes its own */
    bool first = node == calling->first;
    FILE *out = first ? calling->out : fopen("/dev/null", "we"), *err = first ? stderr : all->err;
    if (words == NULL || out == NULL)
        return HW_EXIT_MEMORY;
    words[0] = (char *)(uintptr_t) "hawser";
    for (int i = 0; i < given->count; i++)
        words[i + 1] = given->words[i];
    int code = run_call(&(hw_call){.environment = environ, .out = out, .err = err}, given->count + 1, words);
    if (!first)
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
    all.err = sound(open_reported());
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
    (void)fclose(all.err);
    if (reported.length > 0)
        print_line();
    print_repeats();
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
