/* Stored states whose function on the servers remembers something (average, adagrad, adam) go on from a checkpoint: drawn
 * programs over one to three nodes are killed, or interrupted, at a drawn clock, and go on with another number of nodes and
 * threads, under every sync that they may have. They end with the bits of a run that nothing disturbed.
 *
 * HAWSER_TEST_SEED=N tries one seed alone, and HAWSER_TEST_LONG=1 many more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

#include "base/random.h"
#include "directory.h"
#include "hawser/stored.h"
#include "nodes.h"
#include "runtime/store/asking.h"
#include "sanitized.h"

enum { BLOCKS = 4, CLOCKS = 12, SEEDS = 15, LONG_SEEDS = 240, NUMBERS_MOST = 120000 };

/* A program, and how one run of it ends. */
typedef struct drawn {
    uint64_t seed;
    const char *function;
    bool narrow; /* f32 */
    bool summed; /* all blocks push to all numbers; else each to its own */
    bool reads;  /* pushes depend on what was read */
    hawser_sync sync;
    size_t numbers;
    uint64_t stop; /* the clock in which the run ends; 0: it goes on to the end */
    bool killed;   /* by SIGKILL */
    atomic_uint units;
    double *result; /* of node 0 */
} drawn;

/* Set by a test that lies: what a function remembered is set to zeros. */
static bool forgets;

hawser_status __real_hw_store_memory_task(hawser_store *store, const hawser_request *request, uint64_t *task,
                                          hawser_error *error);
hawser_status __wrap_hw_store_memory_task(hawser_store *store, const hawser_request *request, uint64_t *task,
                                          hawser_error *error);

hawser_status __wrap_hw_store_memory_task(hawser_store *store, const hawser_request *request, uint64_t *task,
                                          hawser_error *error)
{
    static const double zeros[3 * NUMBERS_MOST];
    hawser_request lie = *request;
    if (forgets && request->values != NULL)
        lie.values = zeros;
    return __real_hw_store_memory_task(store, &lie, task, error);
}

/* ------------------------------------------------------------------------------------------------------ the program ---- */

static const double *parameters_of(const drawn *d)
{
    static const double adagrad[8] = {0.5, 1e-6}, adam[8] = {0.1, 0.9, 0.99, 1e-6}, none[8] = {0};
    return strcmp(d->function, "adagrad") == 0 ? adagrad : strcmp(d->function, "adam") == 0 ? adam : none;
}

/* Returns the number of the newest checkpoint in the folder. */
static unsigned newest(void)
{
    glob_t found;
    unsigned number = 0;
    if (glob("ck/checkpoint-*.json", 0, NULL, &found) == 0)
        (void)sscanf(found.gl_pathv[found.gl_pathc - 1], "ck/checkpoint-%u-", &number);
    globfree(&found);
    return number;
}

/* Ends the process a moment after a checkpoint with an end of a clock, if the thread that writes has come so far. */
static void die(const drawn *d)
{
    hw_random random = hw_random_at(d->seed, 1, 0, 0);
    for (int i = 0; i < 300 && newest() < 2; i++)
        (void)usleep(1000);
    (void)usleep((useconds_t)hw_random_below(&random, 5000));
    (void)raise(SIGKILL);
}

static hawser_status push(hawser_context *context)
{
    drawn *d = hawser_user(context);
    const void *values = NULL;
    uint64_t clock = hawser_clock(context), block = hawser_block(context);
    const hawser_type type = d->narrow ? HAWSER_F32 : HAWSER_F64;
    size_t count = 0;
    atomic_fetch_add(&d->units, 1);
    if (d->killed && clock + 1 == d->stop && block == d->seed % BLOCKS)
        die(d);
    uint64_t *keys = malloc(d->numbers * sizeof *keys);
    void *changes = malloc(d->numbers * sizeof(double));
    assert_true(keys != NULL && changes != NULL);
    HAWSER_TRY(hawser_prefetch(context, "w", NULL, 0, d->numbers));
    HAWSER_TRY(hawser_prefetch_wait_as(context, "w", type, &values));
    for (uint64_t i = 0; i < d->numbers; i++) {
        if (!d->summed && i % BLOCKS != block)
            continue;
        double value = d->narrow ? (double)((const float *)values)[i] : ((const double *)values)[i];
        double change = (double)((7 * i + 13 * clock + block) % 29) - 11 + (d->reads ? 0.3 * value : 0);
        if (d->narrow)
            ((float *)changes)[count] = (float)change;
        else
            ((double *)changes)[count] = change;
        keys[count++] = i;
    }
    hawser_status status = hawser_inc_as(context, "w", keys, type, changes, count);
    free(keys);
    free(changes);
    return status;
}

static bool interrupt(hawser_progress *progress, void *user)
{
    const test_node *node = user;
    const drawn *d = node->user;
    if (!d->killed && d->stop > 0 && hawser_progress_clock(progress) == d->stop)
        hawser_interrupt(node->job);
    return false;
}

static void body(test_node *node)
{
    drawn *d = node->user;
    hawser_program *program = hawser_program_new("remembers", d);
    hawser_run *run = NULL;
    hawser_state *w =
        HAWSER_STATE(program, "w", HAWSER_STORED, .rows = d->numbers, .function = d->function,
                     .parameters = parameters_of(d), .summed = d->summed, .type = d->narrow ? HAWSER_F32 : HAWSER_F64);
    hawser_operator *loop = hawser_loop(hawser_root(program), "rounds",
                                        (hawser_until){.clocks = CLOCKS, .test = interrupt, .user = node}, d->sync);
    HAWSER_UNIT(loop, "push", push, .reads = {w}, .updates = {w});
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    if (node->status == HAWSER_OK && node->node == 0 && d->stop == 0)
        node->status =
            hawser_result_range_as(run, "w", 0, d->numbers, d->narrow ? HAWSER_F32 : HAWSER_F64, d->result, &node->error);
    hawser_run_free(run);
    hawser_program_free(program);
}

static hawser_status run(drawn *d, uint32_t count, const char *threads, hawser_error *error)
{
    test_node nodes[NODES_MOST];
    const char *const options[] = {"workers", "4",       "checkpoint", "ck", "checkpoint-every", "0", "threads",
                                   threads,   "timeout", "60",         NULL};
    atomic_store(&d->units, 0);
    run_nodes(nodes, count, options, body, d);
    *error = nodes[0].error;
    return nodes[0].status;
}

/* ------------------------------------------------------------------------------------------------------------ tests ---- */

static drawn draw(uint64_t seed)
{
    static const char *const functions[] = {"average", "adagrad", "adam"};
    hw_random random = hw_random_at(seed, 0, 0, 0);
    const hawser_sync syncs[] = {hawser_bsp(), hawser_bsp(), hawser_ssp(1), hawser_tap(), hawser_delay(2)};
    drawn d = {.seed = seed, .function = functions[seed % 3]};
    size_t way = (size_t)hw_random_below(&random, 5);
    d.sync = syncs[way];
    d.reads = way < 2;
    d.narrow = hw_random_below(&random, 2) == 0;
    d.summed = hw_random_below(&random, 2) == 0;
    d.numbers = 1 + (size_t)hw_random_below(&random, 300);
    if (seed % 9 == 5) /* what a server remembers takes several messages */
        d.numbers = 90000 + (size_t)hw_random_below(&random, 30000);
    return d;
}

/* Runs a program until it ends in a drawn clock, in a process of its own if it is killed. */
static void stop(drawn *d, uint32_t nodes, const char *threads)
{
    hawser_error error = {0};
    int how = 0;
    (void)fflush(NULL);
    pid_t child = d->killed ? fork() : 0;
    if (!d->killed) {
        hawser_status status = run(d, nodes, threads, &error);
        assert_true(status == HAWSER_STOP || status == HAWSER_OK);
        return;
    }
    if (child == 0) {
        (void)run(d, nodes, threads, &error);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
}

/* Stops a program, lets it go on, and returns whether it has the bits of one that nothing disturbed. *went_on: it did not
 * begin from the start. */
static bool ends_alike(uint64_t seed, bool may_be_killed, bool *went_on)
{
    static double wanted[NUMBERS_MOST], got[NUMBERS_MOST];
    static const char *const threads[] = {"1", "2", "4"};
    hawser_error error = {0};
    hw_random random = hw_random_at(seed, 0, 0, 1);
    drawn d = draw(seed);
    memset(wanted, 0, sizeof wanted);
    memset(got, 0, sizeof got);
    d.result = wanted;
    if (run(&d, 1 + (uint32_t)hw_random_below(&random, 3), "2", &error) != HAWSER_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
    assert_int_equal(atomic_load(&d.units), CLOCKS * BLOCKS);
    d.stop = 2 + hw_random_below(&random, CLOCKS - 3);
    d.killed = hw_random_below(&random, 2) == 0 && may_be_killed;
    uint32_t before = 1 + (uint32_t)hw_random_below(&random, 3), after = 1 + (before + (uint32_t)(seed / 3)) % 3;
    stop(&d, before, threads[hw_random_below(&random, 3)]);
    d.stop = 0;
    d.killed = false;
    d.result = got;
    if (run(&d, after, threads[hw_random_below(&random, 3)], &error) != HAWSER_OK)
        fail_msg("seed %llu, %u nodes, then %u: %s", (unsigned long long)seed, before, after, error.text);
    *went_on = atomic_load(&d.units) < CLOCKS * BLOCKS;
    return memcmp(got, wanted, sizeof got) == 0;
}

static void what_servers_remember_goes_on_with_other_nodes(void **state)
{
    (void)state;
    const char *one = getenv("HAWSER_TEST_SEED");
    uint64_t most = runs_long() ? LONG_SEEDS : tried_of(SEEDS), resumed = 0;
    uint64_t seed = one != NULL ? strtoull(one, NULL, 10) : 1;
    for (most = one != NULL ? seed : most; seed <= most; seed++) {
        bool went_on = false;
        if (!ends_alike(seed, true, &went_on))
            fail_msg("seed %llu: other numbers than without a stop", (unsigned long long)seed);
        resumed += went_on;
    }
    if (one == NULL)
        assert_true(resumed > 0); /* on a busy machine most killed ones have no checkpoint yet */
}

/* Without what the functions remember, all programs that went on end with other numbers. None is killed: it might have no
 * checkpoint yet, and an interrupted one always has. */
static void memory_that_is_dropped_is_noticed(void **state)
{
    (void)state;
    uint32_t resumed = 0;
    forgets = true;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        bool went_on = false, alike = ends_alike(seed, false, &went_on);
        assert_int_equal(alike, !went_on);
        resumed += went_on;
    }
    forgets = false;
    assert_true(resumed > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_servers_remember_goes_on_with_other_nodes, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(memory_that_is_dropped_is_noticed, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
