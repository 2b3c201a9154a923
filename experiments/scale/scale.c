/*
 * scale.c - one bulk-synchronous program on N simulated nodes, for weak and strong scaling.
 *
 *     experiment_scale NODES TOPOLOGY NUMBERS CLOCKS UNIT_SECONDS [LINK_BYTES_PER_SECOND [LATENCY_SECONDS]]
 *
 * A replicated state has NUMBERS f64. In a clock each of NODES workers computes for UNIT_SECONDS of virtual time and adds to
 * every number. The sums are whole numbers, so they are known. Prints one line of JSON: virtual seconds of a clock and of
 * the whole job, bytes that left the busiest host, real seconds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "hawser/hawser.h"
#include "sim/cluster.h"

typedef struct scale {
    const char *topology;
    uint32_t nodes, numbers;
    uint64_t clocks;
    double joined, ended; /* of node 0, virtual seconds */
    uint32_t wrong;       /* nodes without the sums */
} scale;

static hawser_status add(hawser_context *context)
{
    HAWSER_WRITE(context, double, x);
    uint32_t numbers = *(const uint32_t *)hawser_user(context);
    double mine = 1.0 + hawser_block(context);
    for (uint32_t i = 0; i < numbers; i++)
        x[i] += mine;
    return HAWSER_OK;
}

static bool is_right(const scale *how, const double *x)
{
    double sum = (double)how->clocks * how->nodes * (how->nodes + 1.0) / 2;
    for (uint32_t i = 0; i < how->numbers; i++)
        if (x[i] != sum)
            return false;
    return true;
}

static hawser_status run_program(hawser_job *job, scale *how, hawser_error *error)
{
    hawser_program *program = hawser_program_new("scale", &how->numbers);
    hawser_state *x = HAWSER_STATE(program, "x", HAWSER_REPLICATED, .rows = how->numbers);
    hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "loop", hawser_bsp(), .clocks = how->clocks);
    HAWSER_UNIT(loop, "add", add, .updates = {x});
    hawser_run *run = NULL;
    const double *result = NULL;
    hawser_status status = hawser_run_program(job, program, &run, error);
    if (status == HAWSER_OK)
        status = hawser_result(run, "x", &result, NULL, error);
    if (status == HAWSER_OK && is_right(how, result))
        how->wrong--;
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static hawser_status run_job(scale *how, uint32_t node, hawser_error *error)
{
    const hawser_option *const tables[] = {hawser_job_rows(), NULL};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    char workers[12];
    (void)!snprintf(workers, sizeof workers, "%" PRIu32, how->nodes);
    const char *const pairs[][2] = {{"workers", workers}, {"topology", how->topology}};
    hawser_status status = hawser_options_new(tables, &options, error);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && status == HAWSER_OK; i++)
        status = hawser_options_set(options, pairs[i][0], pairs[i][1], HAWSER_FROM_PROGRAM, "experiment", error);
    if (status == HAWSER_OK)
        status = hawser_open_options(options, &job, error);
    how->joined = node == 0 ? sim_seconds() : how->joined;
    if (status == HAWSER_OK)
        status = run_program(job, how, error);
    how->ended = node == 0 ? sim_seconds() : how->ended;
    hawser_close(job);
    hawser_options_free(options);
    return status;
}

static int node_main(void *user, uint32_t node)
{
    hawser_error error = {0};
    if (run_job(user, node, &error) == HAWSER_OK)
        return 0;
    fprintf(stderr, "node %" PRIu32 ": %s\n", node, error.text);
    return 1;
}

static double real_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: experiment_scale NODES TOPOLOGY NUMBERS CLOCKS UNIT_SECONDS [LINK [LATENCY]]\n");
        return 2;
    }
    scale how = {.topology = argv[2],
                 .nodes = (uint32_t)strtoul(argv[1], NULL, 10),
                 .numbers = (uint32_t)strtoul(argv[3], NULL, 10),
                 .clocks = strtoull(argv[4], NULL, 10)};
    sim_cluster cluster = {.nodes = how.nodes,
                           .rates = {.link = argc > 6 ? strtod(argv[6], NULL) : 1.25e9,
                                     .host = 5e9,
                                     .latency = argc > 7 ? strtod(argv[7], NULL) : 50e-6,
                                     .nearby = 2e-6},
                           .costs = {.call = strtod(argv[5], NULL), .byte = 0.5e-9},
                           .limit = 1e6,
                           .main = node_main,
                           .user = &how};
    how.wrong = how.nodes;
    double begin = real_seconds();
    sim_outcome outcome = sim_cluster_run(&cluster, NULL);
    bool right = outcome.end == SIM_DONE && how.wrong == 0;
    printf("{\"nodes\": %" PRIu32 ", \"topology\": \"%s\", \"numbers\": %" PRIu32 ", \"clocks\": %" PRIu64
           ", \"clock_seconds\": %.9f, \"join_seconds\": %.9f, \"seconds\": %.9f, \"bytes_busiest\": %" PRIu64
           ", \"bytes\": %" PRIu64 ", \"events\": %" PRIu64 ", \"seconds_real\": %.2f, \"right\": %s}\n",
           how.nodes, how.topology, how.numbers, how.clocks, (how.ended - how.joined) / (double)how.clocks,
           how.joined - 1e-9 * (double)SIM_FIRST, outcome.seconds, outcome.busiest, outcome.bytes, outcome.events,
           real_seconds() - begin, right ? "true" : "false");
    return right ? 0 : 1;
}
