/* Jobs of several runs that were stopped in a later one: runs that have ended are not run again, on any number of nodes, and
 * their results have the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

#include "directory.h"
#include "hawser/job_data.h"
#include "nodes.h"

enum { ROWS = 12, COLS = 3, CLOCKS = 9, STOPS = 4, RUNS = 3 };

/* Results of one run. */
typedef struct results {
    double total[COLS], mine[ROWS], metric;
    uint64_t clocks;
    char stop_reason[40];
} results;

/* What a test wants of a job, and what came of it. */
typedef struct wanted {
    uint32_t stops;          /* the run that is stopped; 0: none is */
    bool killed;             /* by SIGKILL, once the end of the run before is in the folder */
    results of[RUNS];        /* of node 0 */
    atomic_uint units[RUNS]; /* calls of the unit, on all nodes */
    int changed;             /* another option in run 1 */
    bool declares;           /* in run 1 that it is the last one */
} wanted;

/* The program's user pointer. */
typedef struct run_of_test {
    test_node *node;
    wanted *given;
    uint32_t run;
    double start[COLS]; /* what the run before has left */
} run_of_test;

static void await_end_and_die(void)
{
    for (int i = 0; system("grep -q '\"ended\":1' ck/*.json 2>/dev/null") != 0 && i < 1000; i++)
        (void)usleep(2000);
    (void)raise(SIGKILL);
}

static hawser_status add(hawser_context *context)
{
    run_of_test *user = hawser_user(context);
    const hawser_matrix *own;
    size_t first = 0;
    atomic_fetch_add(&user->given->units[user->run], 1);
    if (user->given->killed && user->run + 1 == user->given->stops)
        await_end_and_die();
    HAWSER_TRY(hawser_read(context, "data", &own));
    HAWSER_WRITE(context, double, total);
    HAWSER_WRITE(context, double, mine);
    size_t count = hawser_part(context, "mine", &first);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < COLS; j++) {
            double number = ((const double *)own->values)[i * own->stride + j];
            total[j] += (number + user->start[j] * 1e-3) / (double)(3 + hawser_clock(context) + user->run);
            mine[i] += sin(total[j] * number + mine[i]);
        }
    return hawser_report(context, "sum", count > 0 ? mine[0] : 0);
}

/* Interrupts the job after a few clocks, as a signal would. Every run but the last ends by this test. */
static bool ends(hawser_progress *progress, void *argument)
{
    const run_of_test *user = argument;
    uint64_t clock = hawser_progress_clock(progress);
    if (user->given->stops == user->run + 1 && clock == STOPS)
        hawser_interrupt(user->node->job);
    return clock + 2 == CLOCKS && user->run + 1 < RUNS;
}

static void keep(const run_of_test *user, const hawser_run *run)
{
    hawser_error error = {0};
    results *of = &user->given->of[user->run];
    results here;
    const hawser_figures *figures = hawser_run_figures(run);
    memset(&here, 0, sizeof here);
    memcpy(here.total, RESULT(double, run, "total", NULL), sizeof here.total);
    assert_int_equal(hawser_result_range(run, "mine", 0, ROWS, here.mine, &error), HAWSER_OK);
    here.metric = hawser_result_metric(run, "sum");
    here.clocks = figures->clocks;
    (void)snprintf(here.stop_reason, sizeof here.stop_reason, "%s", figures->stop_reason);
    if (user->node->node == 0)
        *of = here;
}

/* Runs one program, which begins with what the one before has left. */
static hawser_status train(run_of_test *user, const hawser_dataset *data)
{
    test_node *node = user->node;
    hawser_program *program = hawser_program_new("adds", user);
    hawser_run *run = NULL;
    hawser_state *X =
        HAWSER_STATE(program, "data", HAWSER_DATA, .matrix = hawser_dataset_matrix(data), .split = HAWSER_BY_ROW);
    hawser_state *total = HAWSER_STATE(program, "total", HAWSER_REPLICATED, .rows = COLS);
    hawser_state *mine = HAWSER_STATE(program, "mine", HAWSER_LOCAL, .along = X);
    hawser_metric_declare(program, "sum", HAWSER_SUM);
    hawser_operator *loop =
        hawser_loop(hawser_root(program), user->given->changed != 0 && user->run == 0 ? "others" : "rounds",
                    (hawser_until){.clocks = CLOCKS, .test = ends, .user = user}, hawser_bsp());
    HAWSER_UNIT(loop, "add", add, .reads = {X}, .updates = {total, mine});
    if (user->given->declares)
        hawser_job_last_run(node->job);
    hawser_status status = hawser_run_program(node->job, program, &run, &node->error);
    if (status == HAWSER_OK) {
        keep(user, run);
        memcpy(user->start, RESULT(double, run, "total", NULL), sizeof user->start);
    }
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static void body(test_node *node)
{
    wanted *given = node->user;
    run_of_test user = {.node = node, .given = given};
    double numbers[ROWS * COLS];
    hawser_dataset *own = NULL, *data = NULL;
    size_t begin = ROWS * node->node / node->nodes, end = ROWS * (node->node + 1) / node->nodes;
    hawser_arrays arrays = {
        .matrix = {.rows = end - begin, .cols = COLS, .values = numbers, .layout = HAWSER_DENSE_ROWS, .stride = COLS}};
    for (size_t i = 0; i < (end - begin) * COLS; i++)
        numbers[i] = (double)((begin * COLS + i) * (begin * COLS + i) % 31);
    node->status = hawser_dataset_borrow(&arrays, &own, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_job_data(node->job, own, HAWSER_BY_ROW, &data, &node->error);
    for (; user.run < RUNS && node->status == HAWSER_OK; user.run++)
        node->status = train(&user, data);
    hawser_dataset_free(data);
    hawser_dataset_free(own);
}

static hawser_status run(uint32_t nodes, const char *every, wanted *given, hawser_error *error)
{
    test_node all[NODES_MOST];
    const char *const options[] = {"workers", "4", "checkpoint", "ck", "checkpoint-every", every, NULL};
    for (uint32_t k = 0; k < RUNS; k++)
        atomic_store(&given->units[k], 0);
    run_nodes(all, nodes, options, body, given);
    *error = all[0].error;
    for (uint32_t i = 1; i < nodes; i++)
        assert_true((all[i].status == HAWSER_OK) == (all[0].status == HAWSER_OK));
    return all[0].status;
}

static void check_same(const wanted *wanted_of, const wanted *got)
{
    for (uint32_t k = 0; k < RUNS; k++)
        assert_memory_equal(&got->of[k], &wanted_of->of[k], sizeof got->of[k]);
}

static wanted undisturbed(void)
{
    hawser_error error = {0};
    wanted whole = {0};
    if (run(1, "0", &whole, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_string_equal(whole.of[0].stop_reason, "test");
    assert_string_equal(whole.of[2].stop_reason, "clocks");
    assert_int_equal(atomic_load(&whole.units[1]), 4 * (CLOCKS - 1));
    assert_int_equal(rmdir("ck"), 0); /* nothing is left, also of a checkpoint that was being written */
    return whole;
}

static void runs_that_have_ended_are_not_run_again(void **state)
{
    (void)state;
    hawser_error error = {0};
    const wanted whole = undisturbed();
    for (uint32_t before = 1; before <= 3; before++)
        for (uint32_t after = 1; after <= 3; after++) {
            wanted first = {.stops = 2}, second = {.stops = 3}, last = {0};
            assert_int_equal(run(before, "0", &first, &error), HAWSER_STOP);
            assert_int_equal(run(after, "0", &second, &error), HAWSER_STOP);
            assert_int_equal(atomic_load(&second.units[0]), 0);
            assert_true(atomic_load(&second.units[1]) < 4 * (CLOCKS - 1));
            if (run(before, "0", &last, &error) != HAWSER_OK)
                fail_msg("%u nodes, then %u: %s", before, after, error.text);
            assert_int_equal(atomic_load(&last.units[0]), 0);
            assert_int_equal(atomic_load(&last.units[1]), 0);
            assert_true(atomic_load(&last.units[2]) < 4 * CLOCKS);
            check_same(&whole, &last);
            assert_int_not_equal(access("ck/token", F_OK), 0);
        }
}

/* The process dies in run 2, before that has a checkpoint of its own or soon after. */
static void a_job_that_is_killed_goes_on_after_the_run_that_has_ended(void **state)
{
    (void)state;
    hawser_error error = {0};
    int how = 0;
    const wanted whole = undisturbed();
    wanted dies = {.stops = 2, .killed = true}, last = {0};
    pid_t child = fork();
    if (child == 0) {
        (void)run(1, "0", &dies, &error);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    if (run(2, "0", &last, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_int_equal(atomic_load(&last.units[0]), 0);
    check_same(&whole, &last);
}

/* A run that has ended is compared, too. */
static void another_run_before_is_refused(void **state)
{
    (void)state;
    hawser_error error = {0};
    wanted first = {.stops = 3}, other = {.changed = 1};
    (void)undisturbed();
    assert_int_equal(run(1, "0", &first, &error), HAWSER_STOP);
    assert_int_equal(run(1, "0", &other, &error), HAWSER_BAD_OPTION);
    assert_non_null(strstr(error.text, "ck has a checkpoint of another run"));
    wanted last = {0};
    assert_int_equal(run(1, "0", &last, &error), HAWSER_OK);
    assert_int_equal(atomic_load(&last.units[0]), 0);
}

/* The end of a short run is not kept: it is repeated, to the same bits. */
static void short_runs_are_repeated(void **state)
{
    (void)state;
    hawser_error error = {0};
    const wanted whole = undisturbed();
    wanted first = {.stops = 3}, last = {0};
    assert_int_equal(run(2, "1000", &first, &error), HAWSER_STOP);
    if (run(1, "1000", &last, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_int_equal(atomic_load(&last.units[0]), 4 * (CLOCKS - 1));
    check_same(&whole, &last);
}

/* The end of a run that was declared to be the last one is not kept. */
static void a_run_before_another_is_repeated_if_it_was_to_be_the_last(void **state)
{
    (void)state;
    hawser_error error = {0};
    const wanted whole = undisturbed();
    wanted first = {.stops = 2, .declares = true}, last = {0};
    assert_int_equal(run(2, "0", &first, &error), HAWSER_STOP);
    if (run(1, "0", &last, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_int_equal(atomic_load(&last.units[0]), 4 * (CLOCKS - 1));
    check_same(&whole, &last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_that_have_ended_are_not_run_again, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_job_that_is_killed_goes_on_after_the_run_that_has_ended, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(another_run_before_is_refused, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_run_before_another_is_repeated_if_it_was_to_be_the_last, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(short_runs_are_repeated, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
