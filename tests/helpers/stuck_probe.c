/* stuck_probe.c - a function that does not return for long: stuck_probe BLOCK SECONDS [WHAT] [options]. In clock 2 it
 * computes for SECONDS (0: for ever): unit 'spin' of block BLOCK, or what WHAT names: the rebuild of state 'v' (each time),
 * the observer, the stop test of loop 'loop', the test of branch 'which', the merge function of 'v', or what belongs to a
 * push to table 't': its function 'slow', the check of that, the filter 'lazy', or `done`. SECONDS of the others' waits do
 * not count. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hawser/store.h"
#include "probe.h"

typedef struct stuck {
    uint32_t block;
    double seconds;
    const char *what;
} stuck;

static bool is(const stuck *how, const char *what)
{
    return strcmp(how->what, what) == 0;
}

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void compute(const stuck *how)
{
    double began = now();
    while (!(how->seconds > 0) || now() - began < how->seconds)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static hawser_status rebuild(hawser_context *context)
{
    const stuck *how = hawser_user(context);
    if (hawser_block(context) == how->block)
        compute(how);
    return HAWSER_OK;
}

static hawser_status spin(hawser_context *context)
{
    const stuck *how = hawser_user(context);
    HAWSER_WRITE(context, double, v);
    v[0] += 1;
    if (is(how, "unit") && hawser_block(context) == how->block && hawser_clock(context) == 2)
        compute(how);
    return HAWSER_OK;
}

static void observe(const hawser_progress *progress, void *user)
{
    const stuck *how = user;
    if (is(how, "observer") && hawser_progress_clock(progress) == 2)
        compute(how);
}

static bool stop(hawser_progress *progress, void *user)
{
    const stuck *how = user;
    if (is(how, "test") && hawser_progress_clock(progress) == 2)
        compute(how);
    return false;
}

static bool choose(hawser_progress *progress, void *user)
{
    const stuck *how = user;
    (void)progress;
    if (is(how, "branch"))
        compute(how);
    return true;
}

static void merge(const hawser_merging *merging)
{
    const stuck *how = merging->user;
    for (size_t i = 0; i < merging->count; i++)
        merging->state[i] += merging->sum[i];
    if (merging->clock == 2)
        compute(how);
}

/* Parameters of the table, and the level of its filter, are the seconds of the function, its check and the filter; below 0:
 * none. */
static void spend(double seconds)
{
    if (seconds >= 0)
        compute(&(stuck){.seconds = seconds});
}

static void slow(const hawser_applying *applying)
{
    spend(applying->parameters[0]);
}

static const char *slow_check(const double *parameters)
{
    spend(parameters[1]);
    return NULL;
}

static bool lazy(uint64_t key, const void *update, uint32_t width, double level)
{
    (void)key, (void)update, (void)width;
    spend(level);
    return true;
}

static void end(void *user, uint64_t task, hawser_status status)
{
    (void)task, (void)status;
    compute(user);
}

/* One push to a table of which one function is slow. */
static hawser_status push(hawser_job *job, stuck *how, hawser_error *error)
{
    static const hawser_function own = {.name = "slow", .parameters = 2, .check = slow_check, .apply = slow};
    static const hawser_store_filter filter = {"lazy", lazy};
    double function = is(how, "function") ? how->seconds : -1, check = is(how, "check") ? how->seconds : -1;
    const hawser_store_options options = {
        .workers = 1, .functions = &own, .function_count = 1, .filters = &filter, .filter_count = 1};
    const hawser_table definition = {.name = "t",
                                     .last = 9,
                                     .function = "slow",
                                     .parameters = {function, check},
                                     .filter = "lazy",
                                     .level = is(how, "filter") ? how->seconds : -1};
    const double one = 1;
    const uint64_t key = 3;
    uint32_t table = 0;
    uint64_t task;
    hawser_store *store = NULL;
    hawser_status status = hawser_store_open(job, &options, &store, error);
    if (status == HAWSER_OK)
        status = hawser_store_table(store, &definition, &table, error);
    const hawser_request request = {
        .table = table, .keys = &key, .count = 1, .values = &one, .done = is(how, "done") ? end : NULL, .user = how};
    if (status == HAWSER_OK)
        status = hawser_push(store, &request, &task, error);
    if (status == HAWSER_OK)
        status = hawser_store_wait(store, task, error);
    hawser_store_close(store);
    return status;
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    stuck how = {argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0, argc > 2 ? strtod(argv[2], NULL) : 0,
                 argc > 3 ? argv[3] : "unit"};
    if (status == HAWSER_OK && (is(&how, "function") || is(&how, "check") || is(&how, "filter") || is(&how, "done")))
        status = push(job, &how, &error);
    hawser_program *program = hawser_program_new("stuck", &how);
    hawser_state_spec spec = {"v", HAWSER_REPLICATED, .rows = 1, .derive = is(&how, "rebuild") ? rebuild : NULL};
    if (is(&how, "merge")) {
        spec.merge = merge;
        spec.merge_user = &how;
    }
    hawser_state *v = hawser_state_add(program, &spec);
    hawser_operator *root = hawser_root(program);
    if (is(&how, "branch"))
        root = hawser_branch(root, "which", choose, &how);
    hawser_until until = {.clocks = 4, .test = is(&how, "test") ? stop : NULL, .user = &how};
    hawser_operator *loop = hawser_loop(root, "loop", until, hawser_job_sync(job));
    HAWSER_UNIT(loop, "spin", spin, .updates = {v});
    if (is(&how, "observer"))
        hawser_observe(job, observe, &how);
    return run_probe(job, program, status, &error);
}
