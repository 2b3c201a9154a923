/*
 * All orders of small cases, up to a bound. A world without a seed runs its threads in the order in which they became
 * ready, and each frame takes the same time. Wherever it may go on otherwise (another thread next, a pause at a lock, a late
 * frame), a schedule may deviate, but not more often than the bound. All of these schedules are run, and each must have the
 * right result. The test prints how many there were.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>

#include "hawser/store.h"
#include "hawser/vector.h"
#include "job.h"
#include "sim_worlds.h"

enum { NODES_MOST = 3, COUNT = 4, BOUND_MOST = 3 };

/* The deviations of a schedule: at which choices, by their number, and which way. */
typedef struct schedule {
    uint32_t count, at[BOUND_MOST], way[BOUND_MOST];
} schedule;

/* A small job, and the search through its schedules. */
typedef struct search {
    hawser_status (*body)(hawser_job *job, double *x, hawser_error *error);
    uint32_t nodes;
    double wanted;  /* in every number of every node */
    uint32_t bound; /* deviations of a schedule at most */
    bool pauses;    /* threads also pause while time passes */
    /* of the schedule that runs: */
    schedule now;
    uint32_t *ways, made, capacity; /* number of ways at each choice */
    hawser_status status[NODES_MOST];
    char text[NODES_MOST][1000];
    double x[NODES_MOST][COUNT];
    uint64_t schedules;
} search;

/* --------------------------------------------------------------------------------------------------------- the jobs ---- */

/* Each node adds 1 and ends a clock; after the barrier both pushes and both clocks are there. */
static hawser_status meet_in_store(hawser_job *job, double *x, hawser_error *error)
{
    hawser_store *store = NULL;
    uint32_t table;
    uint64_t task, oldest = 0;
    const double ones[COUNT] = {1, 1, 1, 1};
    HAWSER_TRY(hawser_store_open(job, &(hawser_store_options){.threads = 1}, &store, error));
    hawser_status status = hawser_store_table(store, &(hawser_table){.name = "t", .count = COUNT}, &table, error);
    HAWSER_THEN(status, hawser_push(store, &(hawser_request){.table = table, .count = COUNT, .values = ones}, &task, error));
    HAWSER_THEN(status, hawser_store_wait(store, task, error)); /* a frame of its own for the clock */
    HAWSER_THEN(status, hawser_store_clock(store, table, 0, 0, 0, COUNT - 1, error));
    HAWSER_THEN(status, hawser_store_barrier(store, error));
    HAWSER_THEN(status, hawser_pull(store, &(hawser_request){.table = table, .count = COUNT, .out = x, .oldest = &oldest},
                                    &task, error));
    HAWSER_THEN(status, hawser_store_wait(store, task, error));
    hawser_store_close(store);
    if (status == HAWSER_OK && oldest != 1)
        return hawser_fail(error, HAWSER_INTERNAL, "the oldest clock is %d", (int)oldest);
    return status;
}

/* Each node scatters deltas of 1 in two iterations. */
static hawser_status exchange_vectors(hawser_job *job, double *x, hawser_error *error)
{
    hawser_vector *vector = NULL;
    const double ones[COUNT] = {1, 1, 1, 1};
    const hawser_vector_options facts = {.name = "x", .count = COUNT, .sync = "ssp:1", .content = HAWSER_VECTOR_DELTAS};
    HAWSER_TRY(hawser_vector_open(job, &facts, &vector, error));
    hawser_status status = HAWSER_OK;
    for (uint64_t t = 0; t < 2 && status == HAWSER_OK; t++) {
        for (size_t i = 0; i < COUNT; i++)
            x[i] += 1;
        status = hawser_vector_scatter(vector, &(hawser_scatter){.iteration = t, .values = ones}, error);
        HAWSER_THEN(status, hawser_vector_gather(vector, t, HAWSER_GATHER_SUM, NULL, x, error));
    }
    HAWSER_THEN(status, hawser_vector_finish(vector, x, error));
    hawser_vector_close(vector);
    return status;
}

static hawser_status add(hawser_context *context)
{
    HAWSER_WRITE(context, double, x);
    for (int i = 0; i < COUNT; i++)
        x[i] += 1;
    return HAWSER_OK;
}

/* A block on each node adds 1 in two clocks. */
static hawser_status run_program(hawser_job *job, hawser_sync sync, double *x, hawser_error *error)
{
    hawser_program *program = hawser_program_new("sums", NULL);
    hawser_state *state = HAWSER_STATE(program, "x", HAWSER_REPLICATED, .rows = COUNT);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 2}, sync);
    HAWSER_UNIT(loop, "add", add, .updates = {state});
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(job, program, &run, error);
    if (status == HAWSER_OK)
        memcpy(x, RESULT(double, run, "x", NULL), COUNT * sizeof *x);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static hawser_status run_under_bsp(hawser_job *job, double *x, hawser_error *error)
{
    return run_program(job, hawser_bsp(), x, error);
}

static hawser_status run_under_tap(hawser_job *job, double *x, hawser_error *error)
{
    return run_program(job, hawser_tap(), x, error);
}

static int run_node(void *user, uint32_t node)
{
    search *s = user;
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_error error = {0};
    hawser_status status = hawser_options_new(tables, &options, &error);
    HAWSER_THEN(status, hawser_options_set(options, "workers", "2", HAWSER_FROM_PROGRAM, "test", &error));
    HAWSER_THEN(status, hawser_open_options(options, &job, &error));
    HAWSER_THEN(status, s->body(job, s->x[node], &error));
    hawser_close(job);
    hawser_options_free(options);
    s->status[node] = status;
    (void)snprintf(s->text[node], sizeof s->text[node], "%s", status == HAWSER_OK ? "" : error.text);
    return status == HAWSER_OK ? 0 : 1;
}

/* ------------------------------------------------------------------------------------------------------- the search ---- */

static uint32_t choose(void *argument, sim_choice what, uint32_t count)
{
    search *s = argument;
    uint32_t number = s->made++;
    if (number == s->capacity) {
        s->capacity = s->capacity == 0 ? 1024 : 2 * s->capacity;
        s->ways = realloc(s->ways, s->capacity * sizeof *s->ways);
        if (s->ways == NULL)
            abort();
    }
    s->ways[number] = what == SIM_CHOICE_PAUSE && !s->pauses ? 1 : count;
    for (uint32_t i = 0; i < s->now.count; i++)
        if (s->now.at[i] == number)
            return s->now.way[i] < count ? s->now.way[i] : 0;
    return 0;
}

#define WHY(said, ...) (void)snprintf((said)->why, sizeof(said)->why, __VA_ARGS__)

static void run_schedule(search *s, verdict *said)
{
    sim_cluster cluster = {.nodes = s->nodes,
                           .chooser = {choose, s},
                           .rates = {.link = 0, .latency = 1e-4, .nearby = 1e-5},
                           .limit = 100,
                           .main = run_node,
                           .user = s};
    s->made = 0;
    memset(s->x, 0, sizeof s->x);
    said->outcome = sim_cluster_run(&cluster, NULL);
    s->schedules++;
    if (said->outcome.end != SIM_DONE)
        WHY(said, said->outcome.end == SIM_STUCK ? "every process waits" : "it has not ended in time");
    for (uint32_t n = 0; n < s->nodes && said->why[0] == '\0'; n++) {
        if (s->status[n] != HAWSER_OK)
            WHY(said, "node %u: status %d: %s", n, s->status[n], s->text[n]);
        for (size_t i = 0; i < COUNT && said->why[0] == '\0'; i++)
            if (s->x[n][i] != s->wanted)
                WHY(said, "node %u: number %zu is %g and not %g", n, i, s->x[n][i], s->wanted);
    }
}

/* Runs the schedule and all that deviate from it later, as far as the bound allows. */
static void search_from(search *s, verdict *said)
{
    run_schedule(s, said);
    if (said->why[0] != '\0' || s->now.count == s->bound)
        return;
    uint32_t made = s->made, first = s->now.count > 0 ? s->now.at[s->now.count - 1] + 1 : 0;
    uint32_t *ways = malloc((made + (size_t)1) * sizeof *ways), last = s->now.count++;
    if (ways == NULL)
        abort();
    memcpy(ways, s->ways, made * sizeof *ways);
    for (uint32_t at = first; at < made; at++)
        for (uint32_t way = 1; way < ways[at]; way++) {
            s->now.at[last] = at;
            s->now.way[last] = way;
            search_from(s, said);
            if (said->why[0] != '\0')
                return; /* with the deviations of the schedule that failed */
        }
    s->now.count = last;
    free(ways);
}

/* Reads the deviations of HAWSER_SIM_ORDER, as they are printed: 12:1,57:2. */
static bool read_schedule(const char *text, schedule *s)
{
    while (text != NULL && *text != '\0' && s->count < BOUND_MOST) {
        int used = 0;
        if (sscanf(text, "%u:%u%n", &s->at[s->count], &s->way[s->count], &used) != 2)
            abort();
        s->count++;
        text += used + (text[used] == ',');
    }
    return text != NULL;
}

static void search_body(uint64_t seed, void *user, verdict *said)
{
    search *s = user;
    (void)seed;
    if (read_schedule(getenv("HAWSER_SIM_ORDER"), &s->now))
        run_schedule(s, said);
    else
        search_from(s, said);
    said->digest = s->schedules;
    size_t used = strlen(said->why);
    if (used > 0)
        used += (size_t)snprintf(said->why + used, sizeof said->why - used, "\nrepeat it: HAWSER_SIM_ORDER=");
    for (uint32_t i = 0; used > 0 && i < s->now.count; i++)
        used += (size_t)snprintf(said->why + used, sizeof said->why - used, "%s%u:%u", i == 0 ? "" : ",", s->now.at[i],
                                 s->now.way[i]);
}

static void search_case(const char *test, search s)
{
    verdict said = run_world_within(3600, search_body, 0, &s);
    if (said.why[0] != '\0')
        fail_msg("%s CMOCKA_TEST_FILTER=%s %s", said.why, test, program_invocation_name);
    print_message("%llu schedules with at most %u deviations%s\n", (unsigned long long)said.digest, s.bound,
                  s.pauses ? ", pauses among them" : "");
    if (getenv("HAWSER_SIM_ORDER") == NULL)
        assert_true(said.digest > 100);
}

/* One deviation of any kind, or in the longer form also two, except pauses, of which there are too many. With a sanitizer,
 * one that is no pause. */
static void search_all(const char *test, search s)
{
    const char *one = getenv("HAWSER_SIM_ORDER");
    s.bound = 1;
    s.pauses = WORLDS_PART == 1;
    search_case(test, s);
    s.bound = 2;
    s.pauses = false;
    if (one == NULL && runs_long() && WORLDS_PART == 1)
        search_case(test, s);
}

static void a_barrier_in_all_orders(void **state)
{
    (void)state;
    search_all(__func__, (search){.body = meet_in_store, .nodes = 3, .wanted = 3});
}

static void vectors_in_all_orders(void **state)
{
    (void)state;
    search_all(__func__, (search){.body = exchange_vectors, .nodes = 2, .wanted = 4});
}

static void programs_in_all_orders(void **state)
{
    (void)state;
    search_all(__func__, (search){.body = run_under_bsp, .nodes = 2, .wanted = 4});
    search_all(__func__, (search){.body = run_under_tap, .nodes = 2, .wanted = 4});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_in_all_orders),
        cmocka_unit_test(vectors_in_all_orders),
        cmocka_unit_test(programs_in_all_orders),
    };
    take_filter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
