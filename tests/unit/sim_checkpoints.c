/*
 * Checkpoints in worlds: a job under bsp whose nodes are killed, or whose hosts crash and lose what was not synced, or whose
 * disk is full, is started again with the same folder. It goes on from the newest checkpoint, and its result has the bits of
 * a run that nothing has disturbed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>

#include "base/random.h"
#include "directory.h"
#include "job.h"
#include "sim_worlds.h"

enum { SIZE = 300, BLOCKS = 4, CLOCKS = 25, NODES_MOST = 4, STARTS_MOST = 3 };
#define UNENDED ((hawser_status)1000) /* of a node that was killed */

/* What all worlds of a test have seen, in memory that they share. */
typedef struct seen {
    uint32_t went_on, crashed;
} seen;

typedef struct setting {
    uint32_t nodes;
    sim_faults faults;
    hawser_status status[NODES_MOST];
    char text[NODES_MOST][1000];
    double x[NODES_MOST][SIZE];
    seen *seen;
} setting;

static double expected[SIZE];
static uint64_t calls;

/* Sums that depend on their order. */
static hawser_status add(hawser_context *context)
{
    HAWSER_WRITE(context, double, x);
    calls++;
    for (int i = 0; i < SIZE; i++)
        if (hawser_random_uniform(context) < 0.3)
            x[i] += exp(20 * hawser_random_uniform(context)) - 1e-3 * x[i];
    return hawser_report(context, "work", hawser_random_uniform(context));
}

static hawser_status run_program(hawser_job *job, double *x, hawser_error *error)
{
    hawser_program *program = hawser_program_new("sums", NULL);
    hawser_state *state = HAWSER_STATE(program, "x", HAWSER_REPLICATED, .rows = SIZE);
    hawser_metric_declare(program, "work", HAWSER_SUM);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = CLOCKS}, hawser_bsp());
    HAWSER_UNIT(loop, "add", add, .updates = {state});
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(job, program, &run, error);
    if (status == HAWSER_OK)
        memcpy(x, RESULT(double, run, "x", NULL), SIZE * sizeof *x);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static hawser_status run_job(double *x, hawser_error *error)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    const char *const pairs[] = {"workers", "4", "seed", "7", "checkpoint", "ck", "checkpoint-every", "0", NULL};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_status status = hawser_options_new(tables, &options, error);
    for (int i = 0; pairs[i] != NULL && status == HAWSER_OK; i += 2)
        if (sim_is_open() || i < 4)
            status = hawser_options_set(options, pairs[i], pairs[i + 1], HAWSER_FROM_PROGRAM, "test", error);
    HAWSER_THEN(status, hawser_open_options(options, &job, error));
    HAWSER_THEN(status, run_program(job, x, error));
    hawser_close(job);
    hawser_options_free(options);
    return status;
}

static int run_node(void *user, uint32_t node)
{
    setting *how = user;
    hawser_error error = {0};
    how->status[node] = run_job(how->x[node], &error);
    (void)snprintf(how->text[node], sizeof how->text[node], "%s", how->status[node] == HAWSER_OK ? "" : error.text);
    return how->status[node] == HAWSER_OK ? 0 : 1;
}

/* ----------------------------------------------------------------------------------------------------------- worlds ---- */

#define WHY(said, ...) (void)snprintf((said)->why, sizeof(said)->why, __VA_ARGS__)

static void judge(const setting *how, uint32_t start, verdict *said)
{
    bool disturbed = how->faults.count > 0;
    for (uint32_t i = 0; i < how->nodes && said->why[0] == '\0'; i++) {
        hawser_status status = how->status[i];
        bool lost = status == UNENDED || status == HAWSER_PEER_LOST || status == HAWSER_TIMEOUT || status == HAWSER_IO;
        if (status == HAWSER_OK && memcmp(how->x[i], expected, sizeof expected) != 0)
            WHY(said, "start %u: node %u has other bits than an undisturbed run", start, i);
        else if (status != HAWSER_OK && !(disturbed && lost))
            WHY(said, "start %u: node %u: status %d: %s", start, i, status, how->text[i]);
    }
}

/* Starts the job once. */
static double start_job(sim_cluster *cluster, setting *how, uint32_t start, verdict *said)
{
    calls = 0;
    memset(how->x, 0, sizeof how->x);
    for (uint32_t i = 0; i < NODES_MOST; i++)
        how->status[i] = UNENDED;
    said->outcome = sim_cluster_run(cluster, NULL);
    if (said->outcome.end != SIM_DONE)
        WHY(said, "start %u has not ended: %s", start, said->outcome.end == SIM_STUCK ? "every process waits" : "the limit");
    else
        judge(how, start, said);
    add_faults(&how->faults, said);
    return said->outcome.seconds;
}

static void draw_fault(hw_random *random, setting *how, double seconds)
{
    static const sim_fault_kind kinds[] = {SIM_FAULT_KILL, SIM_FAULT_CRASH, SIM_FAULT_CRASH, SIM_FAULT_FULL};
    hawser_error error;
    how->faults.count = 0;
    sim_fault fault = {.at = seconds * (0.3 + 0.7 * hw_random_uniform(random)),
                       .kind = kinds[hw_random_below(random, 4)],
                       .node = (uint32_t)hw_random_below(random, how->nodes)};
    how->seen->crashed += fault.kind == SIM_FAULT_CRASH;
    if (sim_faults_add(&how->faults, fault, &error) != HAWSER_OK)
        abort();
}

static void world(uint64_t seed, void *user, verdict *said)
{
    setting *how = user;
    hw_random random = hw_random_at(seed, 5, 0, 0);
    how->nodes = 1 + (uint32_t)hw_random_below(&random, NODES_MOST);
    sim_cluster cluster = {.seed = seed,
                           .nodes = how->nodes,
                           .per_host = 1 + (uint32_t)hw_random_below(&random, 2),
                           .rates = {.link = 1e7, .latency = 1e-4, .nearby = 1e-5},
                           .costs = {.call = 5e-3},
                           .sync = hw_random_below(&random, 2) == 0 ? 0 : 2e-3,
                           .limit = 600,
                           .faults = &how->faults,
                           .main = run_node,
                           .user = how};
    /* It says where it goes on, which is no failure. */
    if (system("rm -rf ck") != 0 || freopen("/dev/null", "we", stderr) == NULL)
        abort();
    double seconds = start_job(&cluster, how, 0, said); /* undisturbed */
    uint64_t whole = calls;
    for (uint32_t start = 1 + (uint32_t)hw_random_below(&random, STARTS_MOST); start > 0 && said->why[0] == '\0'; start--) {
        cluster.seed += 1000000;
        draw_fault(&random, how, seconds);
        (void)start_job(&cluster, how, start, said);
    }
    how->faults.count = 0;
    cluster.seed += 1000000;
    if (said->why[0] == '\0')
        (void)start_job(&cluster, how, 99, said);
    how->seen->went_on += calls < whole;
}

static void a_job_that_is_started_again_has_the_bits_of_an_undisturbed_one(void **state)
{
    (void)state;
    const uint64_t count = 60;
    seen *all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setting how = {.seen = all};
    run_worlds(__func__, world, count, &how);
    if (getenv("HAWSER_SIM_SEED") == NULL && WORLDS_PART == 1)
        assert_true(all->went_on > count / 3 && all->crashed > count / 3);
    (void)munmap(all, sizeof *all);
}

static int set_up(void **state)
{
    (void)state;
    hawser_error error = {0};
    return run_job(expected, &error) == HAWSER_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_that_is_started_again_has_the_bits_of_an_undisturbed_one, make_directory,
                                        remove_directory),
    };
    take_filter();
    return cmocka_run_group_tests(tests, set_up, NULL);
}
