/* Jobs in a simulated cluster, in orders that a seed draws: the bits of threads, the same run twice, and after a node was
 * killed the others end by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>

#include "base/hash.h"
#include "base/random.h"
#include "hawser/store.h"
#include "job.h"
#include "sim_worlds.h"

enum { SIZE = 60, BLOCKS = 5, CLOCKS = 12, NODES_MOST = 14, WIDE_LEAST = 10, KEYS = 40, PUSHES = 6 };

#define UNENDED ((hawser_status)1000) /* of a node that was killed */

typedef enum kind { PROGRAM, STORE, KINDS } kind;

/* A job, and what its nodes have left. */
typedef struct setting {
    kind kind;
    hawser_sync sync;
    const char *more[4]; /* options */
    bool kills, drawn;   /* one node is killed; faults are drawn */
    bool wide;           /* 10 to 14 nodes over a tree, few of which have links with each other */
    bool early;          /* it is killed while nodes join */
    /* of a world: */
    uint32_t nodes, killed; /* killed: UINT32_MAX: none */
    double kill_at, joined; /* seconds; joined: when the last node has joined */
    sim_faults faults;
    hawser_status status[NODES_MOST];
    double ended[NODES_MOST]; /* seconds */
    char text[NODES_MOST][1000];
    double x[NODES_MOST][SIZE];
} setting;

static double expected[2][SIZE]; /* by threads, under bsp; [1]: wide */

/* ------------------------------------------------------------------------------------------------------ the jobs ---- */

/* Sums that depend on their order. */
static hawser_status add(hawser_context *context)
{
    HAWSER_WRITE(context, double, x);
    for (int i = 0; i < SIZE; i++)
        if (hawser_random_uniform(context) < 0.5)
            x[i] += exp(20 * hawser_random_uniform(context)) - 1e-3 * x[i];
    return hawser_report(context, "work", hawser_random_uniform(context));
}

static hawser_status run_program(hawser_job *job, hawser_sync sync, double *x, hawser_error *error)
{
    hawser_program *program = hawser_program_new("sums", NULL);
    hawser_state *state = HAWSER_STATE(program, "x", HAWSER_REPLICATED, .rows = SIZE);
    hawser_metric_declare(program, "work", HAWSER_SUM);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = CLOCKS}, sync);
    HAWSER_UNIT(loop, "add", add, .updates = {state});
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(job, program, &run, error);
    if (status == HAWSER_OK)
        memcpy(x, RESULT(double, run, "x", NULL), SIZE * sizeof *x);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

/* Every node adds 1 to every key PUSHES times; after a second table all of it is there. */
static hawser_status use_store(hawser_store *store, double *x, hawser_error *error)
{
    uint32_t table, other;
    uint64_t task;
    double ones[KEYS];
    for (int i = 0; i < KEYS; i++)
        ones[i] = 1;
    HAWSER_TRY(hawser_store_table(store, &(hawser_table){.name = "t", .last = KEYS - 1}, &table, error));
    for (int round = 0; round < PUSHES; round++) {
        hawser_request push = {.table = table, .last = KEYS - 1, .values = ones};
        HAWSER_TRY(hawser_push(store, &push, &task, error));
        if (round % 2 == 0)
            HAWSER_TRY(hawser_store_wait(store, task, error));
    }
    HAWSER_TRY(hawser_store_wait_all(store, error));
    HAWSER_TRY(hawser_store_table(store, &(hawser_table){.name = "u", .last = KEYS - 1}, &other, error));
    HAWSER_TRY(hawser_pull(store, &(hawser_request){.table = table, .last = KEYS - 1, .out = x}, &task, error));
    return hawser_store_wait(store, task, error);
}

static hawser_status run_store(hawser_job *job, double *x, hawser_error *error)
{
    hawser_store *store = NULL;
    HAWSER_TRY(hawser_store_open(job, &(hawser_store_options){.threads = 2}, &store, error));
    hawser_status status = use_store(store, x, error);
    hawser_store_close(store);
    return status;
}

static hawser_status run_job(setting *how, double *x, hawser_error *error)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    const char *const pairs[] = {"workers",  how->wide ? "14" : "5",      "seed", "7",
                                 "topology", how->wide ? "tree" : "auto", NULL};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_status status = hawser_options_new(tables, &options, error);
    for (int i = 0; pairs[i] != NULL && status == HAWSER_OK; i += 2)
        status = hawser_options_set(options, pairs[i], pairs[i + 1], HAWSER_FROM_PROGRAM, "test", error);
    for (int i = 0; i < 4 && how->more[i] != NULL && status == HAWSER_OK; i += 2)
        status = hawser_options_set(options, how->more[i], how->more[i + 1], HAWSER_FROM_PROGRAM, "test", error);
    if (status == HAWSER_OK)
        status = hawser_open_options(options, &job, error);
    if (sim_is_open())
        how->joined = 1e-9 * (double)(sim_now() - SIM_FIRST);
    if (status == HAWSER_OK)
        status = how->kind == STORE ? run_store(job, x, error) : run_program(job, how->sync, x, error);
    hawser_close(job);
    hawser_options_free(options);
    return status;
}

static int node_main(void *user, uint32_t node)
{
    setting *how = user;
    hawser_error error = {0};
    how->status[node] = run_job(how, how->x[node], &error);
    how->ended[node] = 1e-9 * (double)(sim_now() - SIM_FIRST);
    if (how->status[node] != HAWSER_OK)
        snprintf(how->text[node], sizeof how->text[node], "%s", error.text);
    return how->status[node] == HAWSER_OK ? 0 : 1;
}

/* ----------------------------------------------------------------------------------------------------- the worlds ---- */

/* After drawn faults a node has the right result, or has ended with a reason. */
static void judge_drawn(const setting *how, verdict *said)
{
    bool survives = must_survive(&how->faults);
    for (uint32_t i = 0; i < how->nodes && said->why[0] == '\0'; i++) {
        hawser_status status = how->status[i];
        bool right = how->kind == STORE ? how->x[i][0] == PUSHES * how->nodes
                                        : memcmp(how->x[i], expected[how->wide], sizeof expected[0]) == 0;
        if (status == UNENDED && survives)
            snprintf(said->why, sizeof said->why, "node %u has not ended", i);
        else if (status == HAWSER_OK && !right)
            snprintf(said->why, sizeof said->why, "node %u has a wrong result", i);
        else if (status != HAWSER_OK && status != UNENDED &&
                 (survives || (status != HAWSER_PEER_LOST && status != HAWSER_TIMEOUT)))
            snprintf(said->why, sizeof said->why, "node %u: status %d: %s", i, status, how->text[i]);
    }
}

static void judge(const setting *how, const int *codes, verdict *said)
{
    const double join_timeout = 60;
    char name[40];
    snprintf(name, sizeof name, "node %u", how->killed);
    for (uint32_t i = 0; i < how->nodes && said->why[0] == '\0'; i++) {
        bool joining = how->kill_at < how->joined;
        bool lost = how->killed != UINT32_MAX && i != how->killed &&
                    (how->status[i] == HAWSER_PEER_LOST || (joining && how->status[i] == HAWSER_TIMEOUT));
        if (i == how->killed && codes[i] < 0)
            continue;
        /* A node that node 0 did not wait for has only its address, because no launcher reports the end of node 0. */
        bool named = strstr(how->text[i], name) != NULL || (joining && strstr(how->text[i], "cannot join host0:") != NULL);
        if (lost && !named)
            snprintf(said->why, sizeof said->why, "node %u does not name %s: %s", i, name, how->text[i]);
        else if (lost && how->ended[i] >= join_timeout && how->status[0] == HAWSER_PEER_LOST &&
                 strstr(how->text[i], name) != NULL)
            snprintf(said->why, sizeof said->why, "node %u knows the loss and tries to join for %g s: %s", i, how->ended[i],
                     how->text[i]);
        else if (!lost && how->status[i] != HAWSER_OK)
            snprintf(said->why, sizeof said->why, "node %u: status %d: %s", i, how->status[i], how->text[i]);
        else if (!lost && how->kind == PROGRAM && how->sync.tightness == HAWSER_BSP &&
                 memcmp(how->x[i], expected[how->wide], sizeof expected[0]) != 0)
            snprintf(said->why, sizeof said->why, "node %u has other bits than threads", i);
        else if (!lost && how->kind == PROGRAM && memcmp(how->x[i], how->x[0], sizeof expected[0]) != 0 && codes[0] == 0)
            snprintf(said->why, sizeof said->why, "nodes 0 and %u have other bits", i);
        for (int k = 0; how->kind == STORE && how->status[i] == HAWSER_OK && k < KEYS && said->why[0] == '\0'; k++)
            if (how->x[i][k] != PUSHES * how->nodes)
                snprintf(said->why, sizeof said->why, "node %u: key %d has %g, not %d", i, k, how->x[i][k],
                         PUSHES * (int)how->nodes);
    }
}

static sim_cluster drawn_cluster(uint64_t seed, setting *how)
{
    hw_random random = hw_random_at(seed, 1, 0, 0);
    how->nodes = how->wide ? WIDE_LEAST : 2;
    how->nodes += (uint32_t)hw_random_below(&random, how->wide ? NODES_MOST - WIDE_LEAST + 1 : 4);
    how->killed = UINT32_MAX;
    return (sim_cluster){.seed = seed,
                         .nodes = how->nodes,
                         .per_host = 1 + (uint32_t)hw_random_below(&random, 2),
                         .rates = {.link = hw_random_below(&random, 2) == 0 ? 0 : 1e6, .latency = 1e-4, .nearby = 1e-5},
                         .costs = {.call = hw_random_below(&random, 2) == 0 ? 0 : 1e-3},
                         .limit = 600,
                         .faults = &how->faults,
                         .main = node_main,
                         .user = how};
}

/* Plans faults within the time that the same world takes without them. */
static void plan_faults(uint64_t seed, setting *how, const sim_cluster *cluster)
{
    hw_random random = hw_random_at(seed, 2, 0, 0);
    hawser_error error;
    double seconds = sim_cluster_run(cluster, NULL).seconds;
    how->killed = how->kills ? (uint32_t)hw_random_below(&random, how->nodes) : UINT32_MAX;
    how->kill_at = hw_random_uniform(&random) * (how->early ? how->joined : seconds);
    sim_fault fault = {.at = how->kill_at, .kind = SIM_FAULT_KILL, .node = how->killed};
    hawser_status status = how->kills ? sim_faults_add(&how->faults, fault, &error)
                                      : sim_faults_draw(&random, how->nodes, seconds, &how->faults, &error);
    if (status != HAWSER_OK)
        abort();
    memset(how->x, 0, sizeof how->x);
}

static void world(uint64_t seed, void *user, verdict *said)
{
    setting *how = user;
    int codes[NODES_MOST];
    sim_cluster cluster = drawn_cluster(seed, how);
    if (how->kills || how->drawn)
        plan_faults(seed, how, &cluster);
    for (uint32_t i = 0; i < NODES_MOST; i++)
        how->status[i] = UNENDED;
    double joined = how->joined;
    said->outcome = sim_cluster_run(&cluster, codes);
    how->joined = how->kills ? joined : how->joined;
    uint32_t unended = 0;
    while (unended < how->nodes && how->status[unended] != UNENDED)
        unended++;
    if (said->outcome.end != SIM_DONE)
        snprintf(said->why, sizeof said->why, "node %u has not ended in %.3f s: %s", unended, said->outcome.seconds,
                 said->outcome.end == SIM_STUCK ? "every process waits" : "the limit");
    else if (how->drawn)
        judge_drawn(how, said);
    else
        judge(how, codes, said);
    add_faults(&how->faults, said);
    said->digest = hw_hash(how->x, sizeof how->x, 0) ^ hw_hash(how->text, sizeof how->text, 0);
}

static void run_setting(const char *test, setting how, uint64_t count)
{
    run_worlds(test, world, count, &how);
}

static void run_again(const char *test, setting how, uint64_t seed)
{
    run_world_again(test, world, seed, &how);
}

static void programs_under_bsp_have_the_bits_of_threads(void **state)
{
    (void)state;
    run_setting(__func__, (setting){.sync = hawser_bsp()}, 200);
}

static void programs_under_ssp_and_tap_agree_at_the_end(void **state)
{
    (void)state;
    run_setting(__func__, (setting){.sync = hawser_ssp(2)}, 60);
    run_setting(__func__, (setting){.sync = hawser_tap()}, 60);
    run_setting(__func__, (setting){.sync = hawser_tap(), .more = {"rate", "20000"}}, 20);
}

static void trees_have_the_bits_of_threads(void **state)
{
    (void)state;
    run_setting(__func__, (setting){.sync = hawser_bsp(), .more = {"topology", "tree"}}, 60);
}

static void stores_have_all_that_was_pushed(void **state)
{
    (void)state;
    run_setting(__func__, (setting){.kind = STORE}, 60);
}

static void a_killed_node_is_named(void **state)
{
    (void)state;
    run_setting(__func__, (setting){.sync = hawser_bsp(), .kills = true}, 100);
    run_setting(__func__, (setting){.sync = hawser_ssp(2), .kills = true}, 60);
    run_setting(__func__, (setting){.kind = STORE, .kills = true}, 60);
    run_setting(__func__, (setting){.sync = hawser_bsp(), .kills = true, .early = true}, 100);
    /* Node 1 gave up a moment before the manager, which alone knows that node 3 is missing. */
    run_again(__func__, (setting){.sync = hawser_bsp(), .kills = true}, 3000815);
}

/* Nodes are killed, stopped for a while, cut off or slow. */
static void drawn_faults_end_or_change_nothing(void **state)
{
    (void)state;
    run_setting(__func__, (setting){.sync = hawser_bsp(), .drawn = true}, 700);
    run_setting(__func__, (setting){.kind = STORE, .drawn = true}, 300);
    /* Node 0 left an agreement because of a loss, and node 1 took what it sent next for the definition of a table. */
    run_again(__func__, (setting){.kind = STORE, .drawn = true}, 3000009);
}

/* Most nodes learn of a loss, and of the end of a job, from node 0 alone; cuts befall links before their first use, too. */
static void nodes_without_links_learn_of_losses(void **state)
{
    (void)state;
    run_setting(__func__, (setting){.sync = hawser_bsp(), .wide = true}, 10);
    run_setting(__func__, (setting){.sync = hawser_bsp(), .wide = true, .kills = true}, 40);
    run_setting(__func__, (setting){.sync = hawser_tap(), .wide = true, .kills = true}, 20);
    run_setting(__func__, (setting){.sync = hawser_bsp(), .wide = true, .drawn = true}, 60);
    run_setting(__func__, (setting){.kind = STORE, .wide = true, .kills = true}, 20);
    run_setting(__func__, (setting){.kind = STORE, .wide = true, .drawn = true}, 20);
}

static bool is_same(const verdict *a, const verdict *b)
{
    return a->digest == b->digest && a->outcome.end == b->outcome.end && a->outcome.seconds == b->outcome.seconds &&
           a->outcome.events == b->outcome.events && a->outcome.bytes == b->outcome.bytes &&
           a->outcome.busiest == b->outcome.busiest;
}

static void a_seed_repeats_a_world(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        setting how = {.sync = seed % 2 == 0 ? hawser_bsp() : hawser_tap(), .kills = seed > 5};
        verdict first = run_world(world, seed, &how), second = run_world(world, seed, &how);
        verdict other = run_world(world, seed + 1000, &how);
        assert_true(first.done && second.done && other.done);
        assert_true(is_same(&first, &second));
        assert_false(is_same(&first, &other));
    }
}

static int set_up(void **state)
{
    (void)state;
    setting how = {.sync = hawser_bsp()}, wide = {.sync = hawser_bsp(), .wide = true};
    hawser_error error = {0};
    return run_job(&how, expected[0], &error) == HAWSER_OK && run_job(&wide, expected[1], &error) == HAWSER_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_under_bsp_have_the_bits_of_threads),
        cmocka_unit_test(programs_under_ssp_and_tap_agree_at_the_end),
        cmocka_unit_test(trees_have_the_bits_of_threads),
        cmocka_unit_test(stores_have_all_that_was_pushed),
        cmocka_unit_test(a_killed_node_is_named),
        cmocka_unit_test(drawn_faults_end_or_change_nothing),
        cmocka_unit_test(nodes_without_links_learn_of_losses),
        cmocka_unit_test(a_seed_repeats_a_world),
    };
    take_filter();
    return cmocka_run_group_tests(tests, set_up, NULL);
}
