/*
 * scale.c - one bulk-synchronous program on N simulated nodes, for weak and strong scaling.
 *
 *     experiment_scale NODES TOPOLOGY NUMBERS CLOCKS UNIT_SECONDS [LINK_BYTES_PER_SECOND [LATENCY_SECONDS]]
 *
 * A replicated state has NUMBERS f64. In a clock each of NODES workers computes for UNIT_SECONDS of virtual time and adds to
 * every number. All digits of the sums are known, because the terms are multiples of 2^-36. Prints one line of JSON: virtual
 * seconds of a clock and of the whole job, bytes that left the busiest host after the first clock began, real seconds.
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
    double first, last;                   /* virtual seconds at which block 0 began its first and its last clock */
    uint64_t sent_at_first, sent_at_last; /* bytes of the busiest host then */
    uint32_t wrong;                       /* nodes without the sums */
} scale;

/* Returns a number below 1, without zeros behind its first digits: an update of such numbers has as many bytes as one of any. */
static double term(uint32_t block, uint32_t i)
{
    uint64_t z = ((uint64_t)block << 32 | i) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return (double)(z >> 28) / (double)(UINT64_C(1) << 36);
}

/* Returns the bytes that the busiest host has sent. */
static uint64_t sent(uint32_t hosts)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < hosts; i++)
        most = sim_link_bytes(i) > most ? sim_link_bytes(i) : most;
    return most;
}

static hawser_status add(hawser_context *context)
{
    HAWSER_WRITE(context, double, x);
    scale *how = hawser_user(context);
    uint32_t block = hawser_block(context);
    for (uint32_t i = 0; i < how->numbers; i++)
        x[i] += term(block, i);
    if (block == 0 && hawser_clock(context) == 0) {
        how->first = sim_seconds();
        how->sent_at_first = sent(how->nodes);
    }
    if (block == 0 && hawser_clock(context) + 1 == how->clocks) {
        how->last = sim_seconds();
        how->sent_at_last = sent(how->nodes);
    }
    return HAWSER_OK;
}

static bool is_right(const scale *how, const double *x)
{
    for (uint32_t i = 0; i < how->numbers; i += 100) {
        double sum = 0;
        for (uint32_t block = 0; block < how->nodes; block++)
            sum += term(block, i);
        if (x[i] != (double)how->clocks * sum)
            return false;
    }
    return true;
}

static hawser_status run_program(hawser_job *job, scale *how, hawser_error *error)
{
    hawser_program *program = hawser_program_new("scale", how);
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

static hawser_status run_job(scale *how, hawser_error *error)
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
    if (status == HAWSER_OK)
        status = run_program(job, how, error);
    hawser_close(job);
    hawser_options_free(options);
    return status;
}

static int node_main(void *user, uint32_t node)
{
    hawser_error error = {0};
    if (run_job(user, &error) == HAWSER_OK)
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
    double steps = how.clocks > 1 ? (double)(how.clocks - 1) : 1;
    bool right = outcome.end == SIM_DONE && how.wrong == 0;
    printf("{\"nodes\": %" PRIu32 ", \"topology\": \"%s\", \"numbers\": %" PRIu32 ", \"clocks\": %" PRIu64
           ", \"clock_seconds\": %.9f, \"clock_bytes_busiest\": %.0f, \"seconds\": %.9f, \"events\": %" PRIu64
           ", \"seconds_real\": %.2f, \"right\": %s}\n",
           how.nodes, how.topology, how.numbers, how.clocks, (how.last - how.first) / steps,
           (double)(how.sent_at_last - how.sent_at_first) / steps, outcome.seconds, outcome.events, real_seconds() - begin,
           right ? "true" : "false");
    return right ? 0 : 1;
}
