/*
 * Forks: in a child, a job, a cluster, a store and results on other nodes are refused by the numbers of both processes, and
 * are closed without an effect on the parent, whose later calls and jobs work. A child that opens a job of its own gets its
 * results.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hawser/store.h"
#include "nodes.h"
#include "runtime/job/cluster.h"

enum { SIZE = 12, NODES = 2, SECONDS_MOST = 60 };

static hawser_status count_up(hawser_context *context)
{
    HAWSER_WRITE(context, double, x);
    HAWSER_WRITE(context, double, v);
    for (size_t i = hawser_part(context, "x", NULL); i > 0; i--)
        x[i - 1] += 1;
    for (size_t i = 0; i < SIZE; i++)
        v[i] += hawser_random_uniform(context);
    return HAWSER_OK;
}

/* A program with a stored state, `x`, a local one, `y`, with 5 for each block, and a replicated one. */
static hawser_status run_program(hawser_job *job, hawser_run **run, hawser_error *error)
{
    hawser_program *program = hawser_program_new("forks", NULL);
    hawser_state *x = HAWSER_STATE(program, "x", HAWSER_STORED, .rows = SIZE);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = SIZE);
    static const double five = 5;
    (void)HAWSER_STATE(program, "y", HAWSER_LOCAL, .each = true, .rows = 1, .initial = &five);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 3}, hawser_bsp());
    HAWSER_UNIT(loop, "count", count_up, .updates = {x, v});
    hawser_status status = hawser_run_program(job, program, run, error);
    hawser_program_free(program);
    return status;
}

/* ------------------------------------------------------------------------------------------------ what a child does ---- */

/* The functions that a child calls return the line of what is wrong, or 0: a child must not return to the tests of its
 * parent. */
#define EXPECT(condition)                                                                                                   \
    do {                                                                                                                    \
        if (!(condition))                                                                                                   \
            return __LINE__;                                                                                                \
    } while (0)

/* Whether a call was refused by the numbers of both processes. */
static bool is_refused(hawser_status status, const char *what, const hawser_error *error)
{
    char made[80], here[80];
    snprintf(made, sizeof made, "the %s was made in process %ld, ", what, (long)getppid());
    snprintf(here, sizeof here, "this is process %ld, ", (long)getpid());
    return status == HAWSER_BAD_ARGUMENT && strstr(error->text, made) != NULL && strstr(error->text, here) != NULL;
}

/* Calls `work` in a child, and fails the test if it returns a line, or does not return. */
static int in_child(int (*work)(void *user), void *user)
{
    int result = 0;
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS_MOST);
        int line = work(user);
        if (line != 0)
            dprintf(STDERR_FILENO, "%s:%d, in the child\n", __FILE__, line);
        _exit(line != 0);
    }
    return child > 0 && waitpid(child, &result, 0) == child ? result : -1;
}

/* ------------------------------------------------------------------------------------------------------ one process ---- */

typedef struct alone {
    const hawser_options *options;
    hawser_job *job;
    double values[SIZE];
} alone;

static int use_job_of_the_parent(void *user)
{
    const alone *a = user;
    hawser_run *run = NULL;
    hawser_error error = {0};
    double number = 0;
    char *text = NULL;
    hawser_program *program = hawser_program_new("none", NULL);
    EXPECT(is_refused(run_program(a->job, &run, &error), "job", &error) && run == NULL);
    EXPECT(is_refused(hawser_job_agree(a->job, HAWSER_OK, &error), "job", &error));
    EXPECT(is_refused(hawser_job_broadcast(a->job, &number, sizeof number, &error), "job", &error));
    EXPECT(is_refused(hawser_plan_text(a->job, program, HAWSER_PLAN_PHYSICAL, &text, &error), "job", &error));
    hawser_program_free(program);
    hawser_close(a->job);
    return 0;
}

static int open_a_job(void *user)
{
    const alone *a = user;
    hawser_job *job = NULL;
    hawser_run *run = NULL;
    hawser_error error = {0};
    EXPECT(hawser_open_options(a->options, &job, &error) == HAWSER_OK);
    EXPECT(run_program(job, &run, &error) == HAWSER_OK);
    const double *v = RESULT(double, run, "v", NULL), *x = RESULT(double, run, "x", NULL);
    EXPECT(v != NULL && memcmp(v, a->values, sizeof a->values) == 0);
    for (size_t i = 0; x != NULL && i < SIZE; i++)
        EXPECT(x[i] == 3);
    EXPECT(x != NULL);
    hawser_run_free(run);
    hawser_close(job);
    return 0;
}

/* The run's results are in the memory of the child, too. */
static int read_results(void *user)
{
    hawser_run *run = user;
    hawser_error error = {0};
    double numbers[SIZE];
    EXPECT(RESULT(double, run, "v", NULL) != NULL);
    EXPECT(hawser_result_range(run, "x", 0, SIZE, numbers, &error) == HAWSER_OK && numbers[SIZE - 1] == 3);
    EXPECT(hawser_result_range(run, "y", 0, 1, numbers, &error) == HAWSER_OK && numbers[0] == 5);
    hawser_run_free(run);
    return 0;
}

static void job_of_the_parent_is_refused_in_a_child(void **unused)
{
    (void)unused;
    test_job test = OPEN_JOB("workers", "3", "seed", "4");
    alone a = {.options = test.options, .job = test.job};
    hawser_run *run = NULL;
    hawser_error error = {0};
    assert_int_equal(in_child(use_job_of_the_parent, &a), 0);
    assert_int_equal(run_program(test.job, &run, &error), HAWSER_OK);
    memcpy(a.values, RESULT(double, run, "v", NULL), sizeof a.values);
    assert_int_equal(in_child(read_results, run), 0);
    hawser_run_free(run);
    close_job(test);
}

static void child_opens_a_job_of_its_own(void **unused)
{
    (void)unused;
    test_job test = OPEN_JOB("workers", "3", "seed", "4");
    alone a = {.options = test.options, .job = test.job};
    hawser_run *run = NULL;
    hawser_error error = {0};
    assert_int_equal(run_program(test.job, &run, &error), HAWSER_OK);
    memcpy(a.values, RESULT(double, run, "v", NULL), sizeof a.values);
    hawser_run_free(run);
    hawser_close(
        test.job); /* its threads have ended: the race detector follows no thread that begins after a fork beside others */
    a.job = NULL;
    assert_int_equal(in_child(open_a_job, &a), 0);
    hawser_options_free(test.options);
}

/* ---------------------------------------------------------------------------------------------------- several nodes ---- */

typedef struct member {
    uint32_t node;
    test_launcher *launcher;
    hawser_options *options;
    hawser_cluster *cluster;
    hawser_job *job;
    hawser_run *run;
    hawser_store *store;
    uint32_t table;
    int child;
    hawser_status status;
    hawser_error error;
} member;

static int use_store_of_the_parent(const member *m)
{
    const uint64_t key = 3;
    double number = 1;
    uint64_t task = 1;
    uint32_t table = 0;
    size_t which = 0;
    hawser_error error = {0};
    const hawser_request request = {.table = m->table, .keys = &key, .count = 1, .values = &number, .out = &number};
    hawser_ended ended;
    hawser_store_figures figures;
    EXPECT(is_refused(hawser_push(m->store, &request, &task, &error), "store", &error));
    EXPECT(is_refused(hawser_pull(m->store, &request, &task, &error), "store", &error));
    EXPECT(is_refused(hawser_push_pull(m->store, &request, &task, &error), "store", &error));
    EXPECT(is_refused(hawser_store_flush(m->store, m->table, &task, &error), "store", &error));
    EXPECT(is_refused(hawser_store_wait(m->store, 1, &error), "store", &error));
    EXPECT(is_refused(hawser_store_wait_any(m->store, &task, 1, &which, &error), "store", &error));
    EXPECT(is_refused(hawser_store_wait_all(m->store, &error), "store", &error));
    EXPECT(is_refused(hawser_store_clock(m->store, m->table, 0, 0, 0, 9, &error), "store", &error));
    EXPECT(is_refused(hawser_table_inc(m->store, m->table, 0, &key, 1, &number, &error), "store", &error));
    EXPECT(is_refused(hawser_table_get(m->store, m->table, 0, &key, 1, &number, &error), "store", &error));
    EXPECT(is_refused(hawser_table_clock(m->store, m->table, 0, &error), "store", &error));
    EXPECT(is_refused(hawser_store_table(m->store, &(hawser_table){.name = "u"}, &table, &error), "store", &error));
    EXPECT(is_refused(hawser_store_save(m->store, "/nowhere/at/all", &error), "store", &error));
    EXPECT(is_refused(hawser_store_load(m->store, "/nowhere/at/all", &error), "store", &error));
    error = (hawser_error){0};
    EXPECT(!hawser_store_ended(m->store, &ended, &error) && is_refused(error.status, "store", &error));
    hawser_store_figures_of(m->store, &figures);
    EXPECT(figures.tasks == 0);
    hawser_store_close(m->store);
    return 0;
}

static int use_all_of_the_parent(void *user)
{
    const member *m = user;
    hawser_error error = {0};
    hawser_run *run = NULL;
    double numbers[SIZE];
    const double *whole;
    int line = use_store_of_the_parent(m);
    EXPECT(RESULT(double, m->run, "v", NULL) != NULL);
    EXPECT(is_refused(hawser_result_range(m->run, "x", 0, SIZE, numbers, &error), "run", &error));
    EXPECT(is_refused(hawser_result_range(m->run, "y", 0, 1, numbers, &error), "run", &error));
    EXPECT(is_refused(hawser_result(m->run, "y", &whole, NULL, &error), "run", &error));
    EXPECT(is_refused(run_program(m->job, &run, &error), "job", &error));
    hawser_run_free(m->run);
    hawser_close(m->job);
    hawser_cluster_close(m->cluster);
    return line;
}

static int open_on_the_cluster(void *user)
{
    const member *m = user;
    hawser_job *job = NULL;
    hawser_error error = {0};
    hawser_status status = hawser_open_with(m->options, &(hawser_opening){.cluster = m->cluster}, &job, &error);
    EXPECT(is_refused(status, "cluster", &error) && job == NULL);
    hawser_cluster_close(m->cluster);
    return 0;
}

static hawser_status push_one(member *m, hawser_error *error)
{
    const uint64_t key = 3;
    double one = 1;
    uint64_t task = 0;
    const hawser_request request = {.table = m->table, .keys = &key, .count = 1, .values = &one};
    HAWSER_TRY(hawser_push(m->store, &request, &task, error));
    return hawser_store_wait(m->store, task, error);
}

/* Runs a job in which the process forks, and uses all of it afterwards. The children of both nodes end before a node goes
 * on. */
static hawser_status do_job(member *m, hawser_error *error)
{
    const hawser_table table = {.name = "t", .last = 9};
    HAWSER_TRY(hawser_open_with(m->options, &(hawser_opening){.cluster = m->cluster}, &m->job, error));
    hawser_status status = run_program(m->job, &m->run, error);
    if (status == HAWSER_OK)
        status = hawser_store_open(m->job, NULL, &m->store, error);
    if (status == HAWSER_OK)
        status = hawser_store_table(m->store, &table, &m->table, error);
    if (status == HAWSER_OK)
        m->child |= in_child(use_all_of_the_parent, m);
    if (status == HAWSER_OK)
        status = push_one(m, error);
    double numbers[SIZE] = {0};
    if (status == HAWSER_OK)
        status = hawser_result_range(m->run, "x", 0, SIZE, numbers, error);
    if (status == HAWSER_OK && numbers[SIZE - 1] != 3)
        status = hawser_fail(error, HAWSER_INTERNAL, "the last number is %g", numbers[SIZE - 1]);
    hawser_store_close(m->store);
    hawser_run_free(m->run);
    hawser_close(m->job);
    m->run = NULL;
    m->store = NULL;
    return status;
}

static void *member_main(void *argument)
{
    member *m = argument;
    hw_place place = test_place(m->node, NODES, m->launcher);
    m->status = hw_cluster_open_at(m->options, &place, NULL, &m->cluster, &m->error);
    for (int k = 0; m->status == HAWSER_OK && k < 2; k++) {
        m->status = do_job(m, &m->error);
        m->child |= in_child(open_on_the_cluster, m);
    }
    hawser_cluster_close(m->cluster);
    return NULL;
}

static void nodes_go_on_after_what_their_children_do(void **unused)
{
    (void)unused;
    test_launcher launcher = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    member members[NODES] = {{0}};
    pthread_t threads[NODES];
    hawser_error error = {0};
    for (uint32_t i = 0; i < NODES; i++) {
        members[i] = (member){.node = i, .launcher = &launcher};
        assert_int_equal(hawser_options_new(tables, &members[i].options, &error), HAWSER_OK);
        assert_int_equal(hawser_options_set(members[i].options, "workers", "3", HAWSER_FROM_PROGRAM, "test", &error),
                         HAWSER_OK);
        assert_int_equal(pthread_create(&threads[i], NULL, member_main, &members[i]), 0);
    }
    for (uint32_t i = 0; i < NODES; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < NODES; i++) {
        if (members[i].status != HAWSER_OK)
            fail_msg("node %u: %s", i, members[i].error.text);
        assert_int_equal(members[i].child, 0);
        hawser_options_free(members[i].options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_of_the_parent_is_refused_in_a_child),
        cmocka_unit_test(child_opens_a_job_of_its_own),
        cmocka_unit_test(nodes_go_on_after_what_their_children_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
