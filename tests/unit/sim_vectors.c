/*
 * Vectors in worlds: replicas under bsp have the bits of a world in which nothing is drawn, deltas under every sync sum up
 * to all that was scattered, and after drawn faults every node ends, with its result or with a reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>

#include "base/random.h"
#include "hawser/vector.h"
#include "job.h"
#include "sim_worlds.h"

enum { COUNT = 23, STEPS = 10, NODES_MOST = 6 };
#define UNENDED ((hawser_status)1000) /* of a node that was killed */

typedef struct setting {
    const char *sync, *dataflow;
    bool deltas, drawn; /* drawn: with faults */
    /* of a world: */
    uint32_t nodes;
    sim_faults faults;
    hawser_status status[NODES_MOST];
    char text[NODES_MOST][1000];
    double x[NODES_MOST][COUNT], wanted[NODES_MOST][COUNT];
} setting;

/* Deltas are whole numbers, whose sums depend on no order. */
static double moved(const setting *how, uint32_t node, uint64_t t, size_t i)
{
    hw_random random = hw_random_at(node, t, i, 0);
    double part = hw_random_uniform(&random);
    return how->deltas ? floor(1000 * part) : exp(10 * part);
}

static hawser_status use_vector(const setting *how, uint32_t node, hawser_vector *vector, double *x, hawser_error *error)
{
    double moves[COUNT];
    for (uint64_t t = 0; t < STEPS; t++) {
        for (size_t i = 0; i < COUNT; i++) {
            moves[i] = how->deltas ? moved(how, node, t, i) : x[i] + moved(how, node, t, i);
            x[i] = how->deltas ? x[i] + moves[i] : moves[i];
        }
        HAWSER_TRY(hawser_vector_scatter(vector, &(hawser_scatter){.iteration = t, .values = moves}, error));
        hawser_gather_how gather = how->deltas ? HAWSER_GATHER_SUM : HAWSER_GATHER_AVERAGE;
        HAWSER_TRY(hawser_vector_gather(vector, t, gather, NULL, x, error));
    }
    return hawser_vector_finish(vector, x, error);
}

static hawser_status run_job(const setting *how, uint32_t node, double *x, hawser_error *error)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_vector *vector = NULL;
    hawser_status status = hawser_options_new(tables, &options, error);
    HAWSER_THEN(status, hawser_open_options(options, &job, error));
    const hawser_vector_options facts = {.name = "x",
                                         .count = COUNT,
                                         .sync = how->sync,
                                         .dataflow = how->dataflow,
                                         .content = how->deltas ? HAWSER_VECTOR_DELTAS : HAWSER_VECTOR_VALUES};
    HAWSER_THEN(status, hawser_vector_open(job, &facts, &vector, error));
    HAWSER_THEN(status, use_vector(how, node, vector, x, error));
    hawser_vector_close(vector);
    hawser_close(job);
    hawser_options_free(options);
    return status;
}

static int run_node(void *user, uint32_t node)
{
    setting *how = user;
    hawser_error error = {0};
    how->status[node] = run_job(how, node, how->x[node], &error);
    (void)snprintf(how->text[node], sizeof how->text[node], "%s", how->status[node] == HAWSER_OK ? "" : error.text);
    return how->status[node] == HAWSER_OK ? 0 : 1;
}

/* ----------------------------------------------------------------------------------------------------------- worlds ---- */

#define WHY(said, ...) (void)snprintf((said)->why, sizeof(said)->why, __VA_ARGS__)

/* Returns what a replica of deltas has: all of them. */
static double sum_of(const setting *how, size_t i)
{
    double sum = 0;
    for (uint32_t node = 0; node < how->nodes; node++)
        for (uint64_t t = 0; t < STEPS; t++)
            sum += moved(how, node, t, i);
    return sum;
}

static void judge(const setting *how, sim_end end, verdict *said)
{
    bool lost = how->drawn && !must_survive(&how->faults);
    if (end != SIM_DONE)
        WHY(said, end == SIM_STUCK ? "every process waits" : "it has not ended in time");
    for (uint32_t n = 0; n < how->nodes && said->why[0] == '\0'; n++) {
        hawser_status status = how->status[n];
        bool is_loss = status == UNENDED || status == HAWSER_PEER_LOST || status == HAWSER_TIMEOUT;
        if (status != HAWSER_OK && !(lost && is_loss))
            WHY(said, "node %u: status %d: %s", n, status, how->text[n]);
        for (size_t i = 0; i < COUNT && status == HAWSER_OK && said->why[0] == '\0'; i++)
            if (how->x[n][i] != (how->deltas ? sum_of(how, i) : how->wanted[n][i]))
                WHY(said, "node %u: number %zu is %.17g and not %.17g", n, i, how->x[n][i],
                    how->deltas ? sum_of(how, i) : how->wanted[n][i]);
    }
}

static double run_cluster(sim_cluster *cluster, setting *how, verdict *said)
{
    memset(how->x, 0, sizeof how->x);
    for (uint32_t i = 0; i < NODES_MOST; i++)
        how->status[i] = UNENDED;
    said->outcome = sim_cluster_run(cluster, NULL);
    return said->outcome.seconds;
}

static void world(uint64_t seed, void *user, verdict *said)
{
    setting *how = user;
    hw_random random = hw_random_at(seed, 6, 0, 0);
    hawser_error error;
    how->nodes = 2 + (uint32_t)hw_random_below(&random, NODES_MOST - 1);
    sim_cluster cluster = {.nodes = how->nodes,
                           .per_host = 1 + (uint32_t)hw_random_below(&random, 2),
                           .rates = {.link = hw_random_below(&random, 2) == 0 ? 0 : 1e6, .latency = 1e-4, .nearby = 1e-5},
                           .limit = 2000,
                           .faults = &how->faults,
                           .main = run_node,
                           .user = how};
    double seconds = run_cluster(&cluster, how, said); /* nothing is drawn */
    memcpy(how->wanted, how->x, sizeof how->x);
    cluster.seed = seed;
    if (how->drawn && sim_faults_draw(&random, how->nodes, 1.5 * seconds, &how->faults, &error) != HAWSER_OK)
        abort();
    (void)run_cluster(&cluster, how, said);
    judge(how, said->outcome.end, said);
    add_faults(&how->faults, said);
}

static void run_setting(const char *test, setting how, uint64_t count)
{
    run_worlds(test, world, count, &how);
}

static void vectors_under_bsp_have_the_bits_of_the_world_without_draws(void **state)
{
    (void)state;
    run_setting(__func__, (setting){.sync = "bsp"}, 60);
    run_setting(__func__, (setting){.sync = "bsp", .dataflow = "halton"}, 60);
}

static void deltas_are_all_counted(void **state)
{
    (void)state;
    static const char *const syncs[] = {"bsp", "ssp:2", NULL};
    for (size_t i = 0; i < sizeof syncs / sizeof *syncs; i++)
        run_setting(__func__, (setting){.sync = syncs[i], .deltas = true}, 40);
}

static void vectors_with_faults_end_or_have_their_results(void **state)
{
    (void)state;
    run_setting(__func__, (setting){.sync = "bsp", .drawn = true}, 100);
    run_setting(__func__, (setting){.sync = "ssp:2", .deltas = true, .drawn = true}, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_under_bsp_have_the_bits_of_the_world_without_draws),
        cmocka_unit_test(deltas_are_all_counted),
        cmocka_unit_test(vectors_with_faults_end_or_have_their_results),
    };
    take_filter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
