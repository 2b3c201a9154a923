/*
 * scale.c - one bulk-synchronous program on N simulated nodes, for weak and strong scaling.
 *
 *     experiment_scale NODES TOPOLOGY NUMBERS CLOCKS UNIT_SECONDS...
 *
 * A replicated state has NUMBERS f64. For each UNIT_SECONDS a program has CLOCKS clocks, in which each of NODES workers computes
 * for this virtual time and adds to every number. They share a job, because a start of many nodes takes longer than clocks.
 * All digits of the sums are known, because the terms are multiples of 2^-36. Prints one line of JSON: for each program virtual
 * seconds of a clock and bytes that left the busiest host in one; virtual seconds of the whole job, and real ones.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "hawser/advanced.h"
#include "hawser/hawser.h"
#include "sim/cluster.h"

enum {
    PROGRAMS = 8,
    FIRST = 1 /* the clock from which time counts: nodes make their links in the one before */
};
#define ENTRY_SECONDS 1e-9 /* of virtual time */

typedef struct part {
    const struct scale *how;
    double unit_seconds, seconds; /* of a unit; between the beginnings of clocks FIRST and the last one */
    uint64_t *sent;               /* bytes that each host has sent when clock FIRST begins */
    uint64_t busiest;             /* bytes that a host has sent from then until the last clock begins, at most */
    uint32_t right;               /* nodes that have the sums */
} part;

typedef struct scale {
    const char *topology;
    uint32_t nodes, numbers;
    uint64_t clocks;
    size_t part_count;
    part parts[PROGRAMS];
} scale;

/* Returns a number below 1, without zeros behind its first digits: an update of such numbers has as many bytes as one of any. */
static double term(uint32_t block, uint32_t i)
{
    uint64_t z = ((uint64_t)block << 32 | i) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return (double)(z >> 28) / (double)(UINT64_C(1) << 36);
}

/* Block 0 begins clock FIRST. */
static void begin_count(part *own)
{
    own->seconds = -sim_seconds();
    for (uint32_t i = 0; i < own->how->nodes; i++)
        own->sent[i] = sim_link_bytes(i);
}

/* Block 0 begins the last clock. */
static void end_count(part *own)
{
    own->seconds += sim_seconds();
    for (uint32_t i = 0; i < own->how->nodes; i++) {
        uint64_t sent = sim_link_bytes(i) - own->sent[i];
        own->busiest = sent > own->busiest ? sent : own->busiest;
    }
}

static hawser_status add(hawser_context *context)
{
    HAWSER_WRITE(context, double, x);
    part *own = hawser_user(context);
    const scale *how = own->how;
    uint32_t block = hawser_block(context);
    if (block == 0 && hawser_clock(context) == FIRST)
        begin_count(own);
    if (block == 0 && hawser_clock(context) + 1 == how->clocks)
        end_count(own);
    hawser_simulated_work(context, (uint64_t)(own->unit_seconds / ENTRY_SECONDS));
    for (uint32_t i = 0; i < how->numbers; i++)
        x[i] += term(block, i);
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

static hawser_status run_program(hawser_job *job, part *own, hawser_error *error)
{
    const scale *how = own->how;
    hawser_program *program = hawser_program_new("scale", own);
    hawser_state *x = HAWSER_STATE(program, "x", HAWSER_REPLICATED, .rows = how->numbers);
    hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "loop", hawser_bsp(), .clocks = how->clocks);
    HAWSER_UNIT(loop, "add", add, .updates = {x});
    hawser_run *run = NULL;
    const double *result = NULL;
    hawser_status status = hawser_run_program(job, program, &run, error);
    if (status == HAWSER_OK)
        status = hawser_result(run, "x", &result, NULL, error);
    if (status == HAWSER_OK && is_right(how, result))
        own->right++;
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
    for (size_t i = 0; i < how->part_count && status == HAWSER_OK; i++)
        status = run_program(job, &how->parts[i], error);
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

static bool print(const scale *how, const sim_outcome *outcome, double real)
{
    double steps = (double)(how->clocks - 1 - FIRST);
    bool right = outcome->end == SIM_DONE;
    printf("{\"nodes\": %" PRIu32 ", \"topology\": \"%s\", \"numbers\": %" PRIu32 ", \"clocks\": %" PRIu64
           ", \"programs\": [",
           how->nodes, how->topology, how->numbers, how->clocks);
    for (size_t i = 0; i < how->part_count; i++) {
        const part *own = &how->parts[i];
        printf("%s{\"unit_seconds\": %.9f, \"clock_seconds\": %.9f, \"clock_bytes_busiest\": %.0f}", i > 0 ? ", " : "",
               own->unit_seconds, own->seconds / steps, (double)own->busiest / steps);
        right = right && own->right == how->nodes;
    }
    printf("], \"seconds\": %.9f, \"events\": %" PRIu64 ", \"seconds_real\": %.2f, \"right\": %s}\n", outcome->seconds,
           outcome->events, real, right ? "true" : "false");
    return right;
}

static bool run_world(scale *how)
{
    sim_cluster cluster = {.nodes = how->nodes,
                           .rates = {.link = 1.25e9, .host = 5e9, .latency = 50e-6, .nearby = 2e-6},
                           .costs = {.entry = ENTRY_SECONDS, .byte = 0.5e-9},
                           .limit = 1e6,
                           .main = node_main,
                           .user = how};
    double begin = real_seconds();
    sim_outcome outcome = sim_cluster_run(&cluster, NULL);
    return print(how, &outcome, real_seconds() - begin);
}

int main(int argc, char **argv)
{
    if (argc < 6 || argc > 5 + PROGRAMS || strtoull(argv[4], NULL, 10) < FIRST + 2) {
        fprintf(stderr,
                "usage: experiment_scale NODES TOPOLOGY NUMBERS CLOCKS UNIT_SECONDS... (%d or more clocks, %d UNIT_SECONDS "
                "or fewer)\n",
                FIRST + 2, PROGRAMS);
        return 2;
    }
    scale how = {.topology = argv[2],
                 .nodes = (uint32_t)strtoul(argv[1], NULL, 10),
                 .numbers = (uint32_t)strtoul(argv[3], NULL, 10),
                 .clocks = strtoull(argv[4], NULL, 10),
                 .part_count = (size_t)argc - 5};
    uint64_t *sent = calloc((size_t)how.nodes * how.part_count, sizeof *sent);
    if (sent == NULL)
        return 1;
    for (size_t i = 0; i < how.part_count; i++)
        how.parts[i] = (part){.how = &how, .unit_seconds = strtod(argv[5 + i], NULL), .sent = sent + i * how.nodes};
    bool right = run_world(&how);
    free(sent);
    return right ? 0 : 1;
}
