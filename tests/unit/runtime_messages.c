/* What a job reports: with a queue everything is in it, with this node's number, and nothing is on standard error; without
 * one it is there. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <dirent.h>
#include <poll.h>

#include "base/clock.h"
#include "hawser/job_data.h"
#include "hawser/row_kernels.h"
#include "nodes.h"

enum { ROWS = 4, COLUMNS = 6 };

static double numbers[ROWS * COLUMNS];
static const hawser_matrix matrix = {
    .rows = ROWS, .cols = COLUMNS, .stored = ROWS * COLUMNS, .values = numbers, .stride = ROWS};

/* Standard error, moved to a file. */
typedef struct captured {
    int before;
    FILE *file;
} captured;

static captured capture(void)
{
    captured it = {dup(STDERR_FILENO), tmpfile()};
    assert_non_null(it.file);
    fflush(stderr);
    assert_true(it.before >= 0 && dup2(fileno(it.file), STDERR_FILENO) >= 0);
    return it;
}

/* Moves it back, and returns what was printed meanwhile. */
static const char *release(captured it, char *text, size_t size)
{
    fflush(stderr);
    assert_true(dup2(it.before, STDERR_FILENO) >= 0);
    rewind(it.file);
    text[fread(text, 1, size - 1, it.file)] = '\0';
    fclose(it.file);
    close(it.before);
    return text;
}

static hawser_options *options_of(const char *const *pairs, hawser_source source)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    hawser_options *options = NULL;
    hawser_error error = {0};
    assert_int_equal(hawser_options_new(tables, &options, &error), HAWSER_OK);
    for (; *pairs != NULL; pairs += 2)
        assert_int_equal(hawser_options_set(options, pairs[0], pairs[1], source, "test", &error), HAWSER_OK);
    return options;
}

static void wait_shortly(hawser_context *context, double seconds)
{
    double until = hw_seconds() + seconds;
    while (hawser_clock(context) == 1 && hawser_block(context) == 1 && hw_seconds() < until)
        (void)usleep(1000);
}

static hawser_status slow_unit(hawser_context *context)
{
    wait_shortly(context, 0.3);
    return HAWSER_OK;
}

static hawser_status run(hawser_job *job, hawser_unit_function *unit, hawser_error *error)
{
    hawser_program *program = hawser_program_new("messages", NULL);
    hawser_state *data = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    hawser_state *own = HAWSER_STATE(program, "own", HAWSER_LOCAL, .along = data);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 3}, hawser_bsp());
    HAWSER_UNIT(loop, "unit", unit, .reads = {data}, .updates = {own});
    hawser_run *made = NULL;
    hawser_status status = hawser_run_program(job, program, &made, error);
    hawser_run_free(made);
    hawser_program_free(program);
    return status;
}

/* A job that reports, and what it says. Warnings and notes come from several threads: the watchdog's, a block's, the
 * caller's. */
typedef struct reporting {
    const char *pairs[5];
    hawser_unit_function *unit;
    hawser_message_kind kind;
    const char *says;
} reporting;

static const reporting reports[] = {
    {{"workers", "2", "filter", "absolute", NULL}, slow_unit, HAWSER_NOTE, "does nothing here: "},
    {{"workers", "2", "unit-warning", "0.05", NULL},
     slow_unit,
     HAWSER_WARNING,
     "unit 'unit', block 1, clock 1, on node 0, has computed for "},
    {{"workers", "1", "quota", "w=4k", NULL}, NULL, HAWSER_WARNING, "--quota did nothing: "},
};

/* Opens the job, runs its program, closes it. */
static void perform(const reporting *report, hawser_messages *messages)
{
    hawser_options *options = options_of(report->pairs, HAWSER_FROM_ENVIRONMENT);
    const hawser_opening opening = {.messages = messages};
    hawser_job *job = NULL;
    hawser_error error = {0};
    assert_int_equal(hawser_open_with(options, messages != NULL ? &opening : NULL, &job, &error), HAWSER_OK);
    if (report->unit != NULL) {
        assert_int_equal(run(job, report->unit, &error), HAWSER_OK);
    } else {
        hawser_program *empty = hawser_program_new("empty", NULL);
        hawser_run *made = NULL;
        HAWSER_UNIT(hawser_root(empty), "unit", slow_unit);
        assert_int_equal(hawser_run_program(job, empty, &made, &error), HAWSER_OK);
        hawser_run_free(made);
        hawser_program_free(empty);
    }
    hawser_close(job);
    hawser_options_free(options);
}

static void a_queue_has_all_that_a_job_reports(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        const reporting *report = &reports[i];
        hawser_messages *messages = NULL;
        hawser_message message;
        hawser_error error = {0};
        char printed[2000];
        size_t found = 0;
        assert_int_equal(hawser_messages_new(&messages, &error), HAWSER_OK);
        captured it = capture();
        perform(report, messages);
        release(it, printed, sizeof printed);
        assert_null(strstr(printed, "hawser: ")); /* a sanitizer may print */
        while (hawser_messages_next(messages, &message)) {
            found += strstr(message.text, report->says) != NULL && message.kind == report->kind;
            assert_int_equal(message.node, 0);
            assert_int_not_equal(strncmp(message.text, "hawser", 6), 0);
        }
        if (found == 0)
            fail_msg("nothing says '%s'", report->says);
        hawser_messages_free(messages);
    }
}

static void without_a_queue_it_is_printed(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        char printed[4000];
        captured it = capture();
        perform(&reports[i], NULL);
        release(it, printed, sizeof printed);
        if (strncmp(printed, "hawser: ", 8) != 0 || strstr(printed, reports[i].says) == NULL)
            fail_msg("'%s' is not in '%s'", reports[i].says, printed);
    }
}

static unsigned most_threads;

static hawser_status count_threads(hawser_context *context)
{
    unsigned count = 0;
    (void)context;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    while (readdir(tasks) != NULL)
        count++;
    closedir(tasks);
    most_threads = count > most_threads ? count : most_threads;
    return HAWSER_OK;
}

/* Returns the most threads of the process, and two more, while a job of one worker runs. */
static unsigned threads_of(const char *const *pairs, bool short_calls)
{
    hawser_options *options = options_of(pairs, HAWSER_FROM_CALL);
    const hawser_opening opening = {.own_signals = true, .short_calls = short_calls};
    hawser_job *job = NULL;
    hawser_error error = {0};
    most_threads = 0;
    assert_int_equal(hawser_open_with(options, &opening, &job, &error), HAWSER_OK);
    assert_int_equal(run(job, count_threads, &error), HAWSER_OK);
    hawser_close(job);
    hawser_options_free(options);
    return most_threads;
}

static void short_calls_are_watched_only_on_request(void **unused)
{
    (void)unused;
    static const char *const plain[] = {"workers", "1", NULL},
                             *const warns[] = {"workers", "1", "unit-warning", "120", NULL},
                             *const ends[] = {"workers", "1", "unit-timeout", "99", NULL};
    unsigned least = threads_of(plain, true);
    assert_int_equal(threads_of(plain, false), least + 1);
    assert_int_equal(threads_of(warns, true), least + 1);
    assert_int_equal(threads_of(ends, true), least + 1);
}

/* Reads the whole of a matrix of which this node has some rows. */
static void read_whole(test_node *node)
{
    static const double own[2][COLUMNS] = {{1, 2, 3, 4, 5, 6}, {1, 1, 1, 1, 1, 1}}, weights[COLUMNS] = {1};
    hawser_messages *messages = ((hawser_messages **)node->user)[node->node];
    hawser_dataset *rows = NULL, *whole = NULL;
    const hawser_matrix part = {.rows = 1,
                                .cols = COLUMNS,
                                .stored = COLUMNS,
                                .layout = HAWSER_DENSE_ROWS,
                                .stride = COLUMNS,
                                .values = own[node->node]};
    node->job->messages = messages;
    node->status = hawser_dataset_from(&part, NULL, &rows, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_job_own_rows(node->job, rows, 0, 0, &whole, &node->error);
    for (int i = 0; i < 3 && node->status == HAWSER_OK; i++)
        if (!isnan(hawser_row_dot(hawser_dataset_matrix(whole), 0, weights)))
            node->status = HAWSER_INTERNAL;
    hawser_dataset_free(whole);
    hawser_dataset_free(rows);
}

static void each_node_reports_to_its_own_queue(void **unused)
{
    (void)unused;
    hawser_messages *messages[2] = {NULL};
    test_node nodes[2];
    hawser_message message;
    hawser_error error = {0};
    char printed[2000];
    for (int i = 0; i < 2; i++)
        assert_int_equal(hawser_messages_new(&messages[i], &error), HAWSER_OK);
    captured it = capture();
    run_nodes(nodes, 2, (const char *const[]){"workers", "2", NULL}, read_whole, messages);
    assert_null(strstr(release(it, printed, sizeof printed), "hawser: "));
    for (uint32_t i = 0; i < 2; i++) {
        if (nodes[i].status != HAWSER_OK)
            fail_msg("%s", nodes[i].error.text);
        assert_true(hawser_messages_next(messages[i], &message));
        assert_int_equal(message.node, i);
        assert_int_equal(message.kind, HAWSER_WARNING);
        assert_non_null(strstr(message.text, "the whole of a matrix is read whose rows are held by block"));
        assert_false(hawser_messages_next(messages[i], &message));
        hawser_messages_free(messages[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_has_all_that_a_job_reports),
        cmocka_unit_test(without_a_queue_it_is_printed),
        cmocka_unit_test(short_calls_are_watched_only_on_request),
        cmocka_unit_test(each_node_reports_to_its_own_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
