/*
 * Stores of a job in worlds of 2 to 8 nodes. After a barrier each node finds all pushes and all clocks of the others, and
 * iterations of a data-centric table are those of one thread. Every history passes the checker. After drawn faults every
 * node ends, with these results or with a reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>

#include "base/random.h"
#include "directory.h"
#include "hawser/store.h"
#include "job.h"
#include "sim_histories.h"
#include "sim_worlds.h"

enum { KEYS = 120, ROUNDS = 6, STORE_NODES = 8 };

#define UNENDED HISTORY_UNENDED

typedef struct setting {
    bool drawn, recorded; /* drawn: with faults */
    /* of a world: */
    uint64_t seed;
    uint32_t nodes, servers;
    sim_faults faults;
    hawser_status status[STORE_NODES];
    char text[STORE_NODES][1000];
} setting;

/* --------------------------------------------------------------------------------------------------------- the jobs ---- */

/* Reads a table that has `wanted` in all keys. */
static hawser_status expect(hawser_store *store, hawser_request *pull, double wanted, hawser_error *error)
{
    double out[KEYS];
    uint64_t task;
    pull->count = KEYS;
    pull->out = out;
    HAWSER_TRY(hawser_pull(store, pull, &task, error));
    HAWSER_TRY(hawser_store_wait(store, task, error));
    for (size_t i = 0; i < KEYS; i++)
        if (out[i] != wanted)
            return hawser_fail(error, HAWSER_INTERNAL, "table %u: key %zu is %g and not %g", pull->table, i, out[i], wanted);
    return HAWSER_OK;
}

/* Every node pushes without a wait, and after the barrier sees the pushes and clocks of all. */
static hawser_status meet(hawser_store *store, uint32_t table, uint64_t round, uint32_t nodes, hawser_error *error)
{
    double ones[KEYS];
    uint64_t task, oldest = 0;
    for (size_t i = 0; i < KEYS; i++)
        ones[i] = 1;
    HAWSER_TRY(hawser_push(store, &(hawser_request){.table = table, .count = KEYS, .values = ones}, &task, error));
    if (round % 2 == 0) /* then the clock alone is on its way at the barrier */
        HAWSER_TRY(hawser_store_wait(store, task, error));
    HAWSER_TRY(hawser_store_clock(store, table, 0, round, 0, KEYS - 1, error));
    HAWSER_TRY(hawser_store_barrier(store, error));
    hawser_request pull = {.table = table, .oldest = &oldest};
    HAWSER_TRY(expect(store, &pull, (double)((round + 1) * nodes), error));
    if (oldest != round + 1)
        return hawser_fail(error, HAWSER_INTERNAL, "round %d: the oldest clock is %d", (int)round, (int)oldest);
    return hawser_store_barrier(store, error); /* no node pushes before all have pulled */
}

/* Every node adds 1 to its share of the keys. */
static hawser_status iterate(hawser_store *store, uint32_t table, uint64_t iteration, uint32_t node, uint32_t nodes,
                             hawser_error *error)
{
    double values[KEYS];
    uint64_t task, first = KEYS * node / nodes, end = KEYS * (node + 1) / nodes;
    hawser_request pull = {.table = table, .iteration = iteration};
    HAWSER_TRY(expect(store, &pull, (double)iteration, error));
    for (size_t i = 0; i < KEYS; i++)
        values[i] = (double)iteration + 1;
    hawser_request push = {.table = table, .iteration = iteration, .first = first, .count = end - first, .values = values};
    HAWSER_TRY(hawser_push(store, &push, &task, error));
    return hawser_store_clock(store, table, 0, iteration, 0, KEYS - 1, error);
}

static hawser_status use_store(const setting *how, uint32_t node, hawser_store *store, hawser_error *error)
{
    uint32_t added, centric;
    uint64_t rounds = 0, iterations = 0;
    hw_random random = hw_random_at(how->seed, 31, 0, 0); /* all nodes draw the same */
    const hawser_table plain = {.name = "added", .count = KEYS};
    const hawser_table ordered = {.name = "centric", .count = KEYS, .function = "assign", .data_centric = true};
    HAWSER_TRY(hawser_store_table(store, &plain, &added, error));
    HAWSER_TRY(hawser_store_table(store, &ordered, &centric, error));
    while (rounds < ROUNDS)
        if (hw_random_below(&random, 2) == 0)
            HAWSER_TRY(meet(store, added, rounds++, how->nodes, error));
        else
            HAWSER_TRY(iterate(store, centric, iterations++, node, how->nodes, error));
    return hawser_store_wait_all(store, error);
}

static hawser_status run_job(const setting *how, uint32_t node, hawser_error *error)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_store *store = NULL;
    hawser_status status = hawser_options_new(tables, &options, error);
    if (status == HAWSER_OK && how->recorded)
        status = hawser_options_set(options, "record-history", "h", HAWSER_FROM_PROGRAM, "test", error);
    HAWSER_THEN(status, hawser_open_options(options, &job, error));
    HAWSER_THEN(status,
                hawser_store_open(job, &(hawser_store_options){.threads = 2, .servers = how->servers}, &store, error));
    HAWSER_THEN(status, use_store(how, node, store, error));
    hawser_store_close(store);
    hawser_close(job);
    hawser_options_free(options);
    return status;
}

static int run_node(void *user, uint32_t node)
{
    setting *how = user;
    hawser_error error = {0};
    how->status[node] = run_job(how, node, &error);
    (void)snprintf(how->text[node], sizeof how->text[node], "%s", how->status[node] == HAWSER_OK ? "" : error.text);
    return how->status[node] == HAWSER_OK ? 0 : 1;
}

/* ----------------------------------------------------------------------------------------------------------- worlds ---- */

#define WHY(said, ...) (void)snprintf((said)->why, sizeof(said)->why, __VA_ARGS__)

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
    }
    if (said->why[0] == '\0' && how->recorded && (!lost || has_history(how->nodes, how->status)))
        judge_history(how->nodes, how->status, said);
}

static double run_cluster(const sim_cluster *cluster, setting *how, verdict *said)
{
    for (uint32_t i = 0; i < STORE_NODES; i++)
        how->status[i] = UNENDED;
    remove_histories(how->nodes);
    said->outcome = sim_cluster_run(cluster, NULL);
    return said->outcome.seconds;
}

static void world(uint64_t seed, void *user, verdict *said)
{
    setting *how = user;
    hw_random random = hw_random_at(seed, 30, 0, 0);
    hawser_error error;
    how->seed = seed;
    how->nodes = 2 + (uint32_t)hw_random_below(&random, STORE_NODES - 1);
    how->servers = 1 + (uint32_t)hw_random_below(&random, how->nodes);
    sim_cluster cluster = {.seed = seed,
                           .nodes = how->nodes,
                           .per_host = 1 + (uint32_t)hw_random_below(&random, 2),
                           .rates = {.link = hw_random_below(&random, 2) == 0 ? 0 : 1e6, .latency = 1e-4, .nearby = 1e-5},
                           .limit = 300,
                           .main = run_node,
                           .user = how};
    double seconds = run_cluster(&cluster, how, said);
    if (how->drawn) {
        if (sim_faults_draw(&random, how->nodes, seconds, &how->faults, &error) != HAWSER_OK)
            abort();
        cluster.faults = &how->faults;
        (void)run_cluster(&cluster, how, said);
    }
    judge(how, said->outcome.end, said);
    add_faults(&how->faults, said);
}

static void run_setting(const char *test, setting how, uint64_t count)
{
    run_worlds(test, world, count, &how);
}

static void a_barrier_has_all_pushes_and_clocks(void **state)
{
    (void)state;
    run_setting(__func__, (setting){0}, 100);
}

static void histories_of_stores_hold(void **state)
{
    (void)state;
    run_setting(__func__, (setting){.recorded = true}, 50);
}

static void stores_with_faults_end_or_have_their_results(void **state)
{
    (void)state;
    run_setting(__func__, (setting){.recorded = true, .drawn = true}, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_barrier_has_all_pushes_and_clocks, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(histories_of_stores_hold, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(stores_with_faults_end_or_have_their_results, make_directory, remove_directory),
    };
    take_filter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
