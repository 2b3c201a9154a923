/*
 * Orders of small cases that deviate once or twice. A world without a seed runs its threads in the order in which they
 * became ready, and each frame takes the same time. A schedule may deviate wherever it may go on otherwise: another thread
 * runs next, a thread pauses at a lock, a frame is late. All schedules with one deviation are run, and some of those with
 * two, drawn from a fixed seed. Each must have the right result. The test prints how many there were.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "hawser/store.h"
#include "hawser/vector.h"
#include "job.h"
#include "sim_worlds.h"

enum { NODES_MOST = 3, COUNT = 4, DEVIATIONS_MOST = 2, PAIRS = 200, PAIRS_LONG = 100000 };
#define NONE UINT64_MAX

/* The deviations of a schedule: at which choices, by their number, and which way. */
typedef struct schedule {
    uint32_t count, at[DEVIATIONS_MOST], way[DEVIATIONS_MOST];
} schedule;

/* A schedule with one deviation. Pairs of deviations are numbered by their first one and then in the order of the run. */
typedef struct single {
    schedule one;
    uint64_t first; /* number of the first pair that begins with it */
} single;

/* What the process of a search leaves to the test. */
typedef struct report {
    uint64_t singles, pairs;
} report;

/* A small job, and the search through its schedules. */
typedef struct search {
    hawser_status (*body)(hawser_job *job, double *x, hawser_error *error); /* NULL: see_two_changes */
    uint32_t nodes;
    double wanted; /* in every number of every node */
    bool pauses;   /* threads also pause while time passes */
    uint64_t dies; /* the process dies in this schedule; 0: in none */
    verdict *said;
    report *report;
    single *singles;
    size_t single_count;
    uint64_t pairs;
    /* of the schedule that runs: */
    schedule now;
    uint64_t second, later;         /* the second deviation; ways to deviate after the first one so far */
    uint32_t *ways, made, capacity; /* number of ways at each choice */
    hawser_status status[NODES_MOST];
    char text[NODES_MOST][1000];
    double x[NODES_MOST][COUNT];
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

/* A number that one thread changes twice, and another one reads twice. */
typedef struct changes {
    pthread_mutex_t lock;
    int number, seen[2];
} changes;

static void *change(void *argument)
{
    changes *c = argument;
    for (int i = 1; i >= 0; i--) {
        pthread_mutex_lock(&c->lock);
        c->number = i;
        pthread_mutex_unlock(&c->lock);
    }
    return NULL;
}

static void *see(void *argument)
{
    changes *c = argument;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&c->lock);
        c->seen[i] = c->number;
        pthread_mutex_unlock(&c->lock);
    }
    return NULL;
}

/* A fault that takes two deviations: *x is 1 if the reader runs once between the changes, and then not until after them. */
static int see_two_changes(double *x)
{
    changes c = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, change, &c) != 0 || pthread_create(&threads[1], NULL, see, &c) != 0)
        abort();
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    *x = c.seen[0] == 1 && c.seen[1] == 0;
    return 0;
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
    if (s->dies > 0 && s->said->steps == s->dies)
        (void)raise(SIGKILL);
    if (s->body == NULL)
        return see_two_changes(s->x[node]);
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

static void note_schedule(const search *s)
{
    char *text = s->said->step;
    int used = snprintf(text, sizeof s->said->step, "repeat it: HAWSER_SIM_ORDER=");
    for (uint32_t i = 0; i < s->now.count; i++)
        used += snprintf(text + used, sizeof s->said->step - (size_t)used, "%s%u:%u", i == 0 ? "" : ",", s->now.at[i],
                         s->now.way[i]);
}

static void note_ways(search *s, uint32_t number, uint32_t ways)
{
    if (number == s->capacity) {
        s->capacity = s->capacity == 0 ? 1024 : 2 * s->capacity;
        s->ways = realloc(s->ways, s->capacity * sizeof *s->ways);
        if (s->ways == NULL)
            abort();
    }
    s->ways[number] = ways;
}

static uint32_t choose(void *argument, sim_choice what, uint32_t count)
{
    search *s = argument;
    uint32_t number = s->made++, others = what == SIM_CHOICE_PAUSE && !s->pauses ? 0 : count - 1;
    note_ways(s, number, others + 1);
    for (uint32_t i = 0; i < s->now.count; i++)
        if (s->now.at[i] == number)
            return s->now.way[i] < count ? s->now.way[i] : 0;
    if (s->now.count != 1 || number < s->now.at[0])
        return 0;
    bool deviates = s->second >= s->later && s->second - s->later < others;
    if (deviates) {
        s->now.at[1] = number;
        s->now.way[1] = 1 + (uint32_t)(s->second - s->later);
        s->now.count = 2;
        note_schedule(s);
    }
    s->later += others;
    return deviates ? s->now.way[1] : 0;
}

#define WHY(said, ...) (void)snprintf((said)->why, sizeof(said)->why, __VA_ARGS__)

/* Runs a schedule. second: which of the ways to deviate once more after its one deviation is taken; NONE. Returns whether it
 * went as it should. */
static bool run_schedule(search *s, schedule one, uint64_t second)
{
    verdict *said = s->said;
    sim_cluster cluster = {.nodes = s->nodes,
                           .chooser = {choose, s},
                           .rates = {.link = 0, .latency = 1e-4, .nearby = 1e-5},
                           .limit = 100,
                           .main = run_node,
                           .user = s};
    s->now = one;
    s->second = second;
    s->made = 0;
    s->later = 0;
    memset(s->x, 0, sizeof s->x);
    said->steps++;
    note_schedule(s);
    said->outcome = sim_cluster_run(&cluster, NULL);
    if (said->outcome.end != SIM_DONE)
        WHY(said, said->outcome.end == SIM_STUCK ? "every process waits" : "it has not ended in time");
    for (uint32_t n = 0; n < s->nodes && said->why[0] == '\0'; n++) {
        if (s->status[n] != HAWSER_OK)
            WHY(said, "node %u: status %d: %s", n, s->status[n], s->text[n]);
        for (size_t i = 0; i < COUNT && said->why[0] == '\0'; i++)
            if (s->x[n][i] != s->wanted)
                WHY(said, "node %u: number %zu is %g and not %g", n, i, s->x[n][i], s->wanted);
    }
    return said->why[0] == '\0';
}

/* Runs the schedule without a deviation and each with one, and lists the latter. */
static bool run_singles(search *s)
{
    if (!run_schedule(s, (schedule){0}, NONE))
        return false;
    uint32_t made = s->made, *ways = malloc((made + (size_t)1) * sizeof *ways);
    if (ways == NULL)
        abort();
    memcpy(ways, s->ways, made * sizeof *ways);
    for (uint32_t at = 0; at < made; at++)
        s->single_count += ways[at] - 1;
    s->singles = calloc(s->single_count + 1, sizeof *s->singles);
    if (s->singles == NULL)
        abort();
    single *next = s->singles;
    for (uint32_t at = 0; at < made; at++)
        for (uint32_t way = 1; way < ways[at]; way++, next++) {
            *next = (single){.one = {1, {at}, {way}}, .first = s->pairs};
            if (!run_schedule(s, next->one, NONE))
                return false;
            s->pairs += s->later;
        }
    free(ways);
    return true;
}

/* Runs `count` of the schedules with two deviations. */
static void run_pairs(search *s, uint64_t count)
{
    hw_random random = hw_random_at(1, 40, 0, 0);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t pair = hw_random_below(&random, s->pairs);
        size_t low = 0, high = s->single_count; /* the last single whose pairs begin at `pair` or before */
        while (high - low > 1) {
            size_t middle = (low + high) / 2;
            *(s->singles[middle].first <= pair ? &low : &high) = middle;
        }
        if (!run_schedule(s, s->singles[low].one, pair - s->singles[low].first))
            return;
    }
}

/* Reads the deviations of HAWSER_SIM_ORDER, as they are printed: 12:1,57:2. */
static bool read_schedule(const char *text, schedule *s)
{
    while (text != NULL && *text != '\0' && s->count < DEVIATIONS_MOST) {
        int used = 0;
        if (sscanf(text, "%u:%u%n", &s->at[s->count], &s->way[s->count], &used) != 2)
            abort();
        s->count++;
        text += used + (text[used] == ',');
    }
    return text != NULL;
}

static void search_body(uint64_t count, void *user, verdict *said)
{
    search *s = user;
    schedule one = {0};
    s->said = said;
    if (read_schedule(getenv("HAWSER_SIM_ORDER"), &one)) {
        (void)run_schedule(s, one, NONE);
    } else if (run_singles(s)) {
        s->report->singles = s->single_count;
        s->report->pairs = s->pairs;
        run_pairs(s, count);
    }
    size_t used = strlen(said->why);
    if (used > 0)
        (void)snprintf(said->why + used, sizeof said->why - used, "\n%s", said->step);
}

/* Searches in a process of its own, with `count` pairs of deviations. */
static verdict search_apart(search *s, uint64_t count, report *found)
{
    s->report = mmap(NULL, sizeof *s->report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(s->report != MAP_FAILED);
    verdict said = run_world_within(3600, search_body, count, s);
    *found = *s->report;
    (void)munmap(s->report, sizeof *s->report);
    return said;
}

/* All schedules with one deviation, and some with two. With a sanitizer, those without pauses, and fewer pairs. */
static void search_case(const char *test, search s)
{
    uint64_t count = (runs_long() ? PAIRS_LONG : PAIRS) / WORLDS_PART;
    report found = {0};
    s.pauses = WORLDS_PART == 1;
    verdict said = search_apart(&s, count, &found);
    if (said.why[0] != '\0')
        fail_msg("%s CMOCKA_TEST_FILTER=%s %s", said.why, test, program_invocation_name);
    if (getenv("HAWSER_SIM_ORDER") != NULL)
        return;
    print_message("%llu schedules with one deviation%s, %llu of %llu with two\n", (unsigned long long)found.singles,
                  s.pauses ? ", pauses among them" : "", (unsigned long long)count, (unsigned long long)found.pairs);
    assert_true(found.singles > 100);
    assert_int_equal(said.steps, 1 + found.singles + count);
}

static void a_barrier_in_all_orders(void **state)
{
    (void)state;
    search_case(__func__, (search){.body = meet_in_store, .nodes = 3, .wanted = 3});
}

static void vectors_in_all_orders(void **state)
{
    (void)state;
    search_case(__func__, (search){.body = exchange_vectors, .nodes = 2, .wanted = 4});
}

static void programs_in_all_orders(void **state)
{
    (void)state;
    search_case(__func__, (search){.body = run_under_bsp, .nodes = 2, .wanted = 4});
    search_case(__func__, (search){.body = run_under_tap, .nodes = 2, .wanted = 4});
}

/* No schedule with one deviation has the fault of see_two_changes. The pairs find it, and the printed order repeats it. */
static void two_deviations_find_what_one_does_not(void **state)
{
    (void)state;
    search s = {.nodes = 1, .pauses = true};
    report found = {0};
    if (getenv("HAWSER_SIM_ORDER") != NULL)
        skip();
    verdict alone = search_apart(&s, 0, &found), pairs = search_apart(&s, 1000, &found);
    assert_string_equal(alone.why, "");
    assert_non_null(strstr(pairs.why, "number 0 is 1 and not 0\nrepeat it: HAWSER_SIM_ORDER="));
    setenv("HAWSER_SIM_ORDER", strchr(pairs.why, '=') + 1, 1);
    verdict again = search_apart(&s, 0, &found);
    unsetenv("HAWSER_SIM_ORDER");
    assert_string_equal(again.why, pairs.why);
    assert_int_equal(again.steps, 1);
}

/* A search that dies says in which schedule. */
static void a_search_that_dies_names_its_schedule(void **state)
{
    (void)state;
    search s = {.nodes = 1, .pauses = true, .dies = 3};
    report found = {0};
    if (getenv("HAWSER_SIM_ORDER") != NULL)
        skip();
    verdict said = search_apart(&s, 0, &found);
    assert_int_equal(said.steps, 3);
    assert_non_null(strstr(said.why, "ended by signal 9 in step 3: repeat it: HAWSER_SIM_ORDER="));
    assert_non_null(strchr(strchr(said.why, '='), ':')); /* with its deviation */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_in_all_orders),
        cmocka_unit_test(vectors_in_all_orders),
        cmocka_unit_test(programs_in_all_orders),
        cmocka_unit_test(two_deviations_find_what_one_does_not),
        cmocka_unit_test(a_search_that_dies_names_its_schedule),
    };
    take_filter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
