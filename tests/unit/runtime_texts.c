/* Plan, log view and progress as texts and data: they have what is printed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "hawser/algorithm.h"
#include "job.h"

enum { ROWS = 12, COLUMNS = 5 };

typedef enum hw_kind_of_wait { INPUT, CREDIT, REDUCTION } hw_kind_of_wait;

static hawser_status step(hawser_context *context)
{
    HAWSER_WRITE(context, double, v);
    v[0] += 1;
    HAWSER_TRY(hawser_report(context, "size", 1.5));
    return hawser_report(context, "length", 2);
}

static hawser_program *make_program(void)
{
    hawser_program *program = hawser_program_new("texts", NULL);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 3);
    hawser_operator *loop = hawser_loop(hawser_root(program), "rounds", (hawser_until){.clocks = 7}, hawser_bsp());
    hawser_metric_declare(program, "size", HAWSER_SUM);
    hawser_metric_declare(program, "length", HAWSER_MAX);
    HAWSER_UNIT(loop, "step", step, .updates = {v});
    return program;
}

/* Returns what a file of memory has after `print`. */
static char *whole(FILE *file)
{
    char *text = calloc(1, 100000);
    assert_non_null(text);
    rewind(file);
    text[fread(text, 1, 99999, file)] = '\0';
    fclose(file);
    return text;
}

static void a_plan_is_the_text_that_is_printed(void **unused)
{
    (void)unused;
    test_job test = OPEN_JOB("workers", "2");
    hawser_error error = {0};
    for (hawser_plan_format format = HAWSER_PLAN_LOGICAL; format <= HAWSER_PLAN_JSON; format++) {
        hawser_program *program = make_program();
        FILE *file = tmpfile();
        char *text = NULL;
        assert_int_equal(hawser_plan_print(test.job, program, format, file, &error), HAWSER_OK);
        assert_int_equal(hawser_plan_text(test.job, program, format, &text, &error), HAWSER_OK);
        char *printed = whole(file);
        assert_true(strlen(text) > 50);
        assert_string_equal(text, printed);
        free(printed);
        free(text);
        hawser_program_free(program);
    }
    hawser_program *wrong = hawser_program_new("wrong", NULL);
    char *text = (char *)"before";
    HAWSER_UNIT(hawser_root(wrong), NULL, NULL);
    assert_int_equal(hawser_plan_text(test.job, wrong, HAWSER_PLAN_PHYSICAL, &text, &error), HAWSER_BAD_PROGRAM);
    assert_null(text);
    hawser_program_free(wrong);
    close_job(test);
}

typedef struct seen_progress {
    unsigned calls;
    double clocks;
} seen_progress;

static void observe(const hawser_progress *progress, void *user)
{
    static const char *const names[] = {"size",       "length",      "bytes",         "staleness",
                                        "wait_input", "wait_credit", "wait_reduction"};
    seen_progress *seen = user;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(hawser_progress_metric_name(progress, i), names[i]);
    assert_null(hawser_progress_metric_name(progress, sizeof names / sizeof *names));
    double numbers[3 + sizeof names / sizeof *names + 1];
    const char *const some[] = {"wait_input", "length", "none", "size"};
    hawser_progress_numbers(progress, some, 4, numbers);
    assert_true(numbers[0] == (double)hawser_progress_clock(progress));
    assert_true(numbers[1] == (double)hawser_progress_clocks(progress));
    assert_true(numbers[2] > 0.0 && numbers[2] <= hawser_progress_seconds(progress));
    for (size_t i = 0; i < 4; i++) {
        double alone = hawser_progress_metric(progress, some[i]);
        assert_memory_equal(&numbers[3 + i], &alone, sizeof alone);
    }
    assert_true(isnan(numbers[5]));
    seen->calls++;
    seen->clocks = (double)hawser_progress_clocks(progress);
    if (seen->clocks > 0) {
        assert_true(hawser_progress_metric(progress, "size") == 3.0);
        assert_true(hawser_progress_metric(progress, hawser_progress_metric_name(progress, 1)) == 2.0);
    }
}

/* Finds the line of an event in the text of a log view, and compares its numbers. */
static void check_event(const char *text, const hawser_event_figures *event)
{
    char name[80];
    unsigned long long count = 0, bytes = 0;
    double seconds = 0, most = 0, waited = 0;
    char ratio[40];
    for (const char *line = text; line != NULL; line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL) {
        if (sscanf(line, " %79s %llu %lf %lf %39s %lf %llu", name, &count, &seconds, &most, ratio, &waited, &bytes) != 7 ||
            strcmp(name, event->name) != 0)
            continue;
        assert_int_equal(count, event->count);
        assert_int_equal(bytes, event->bytes);
        assert_true(fabs(seconds - event->seconds) < 1e-4 && fabs(most - event->most_seconds) < 1e-4);
        assert_true(fabs(waited - event->wait_seconds) < 1e-4);
        assert_int_equal(line[0] == ' ', !event->loop);
        return;
    }
    fail_msg("no line of '%s' in\n%s", event->name, text);
}

static void a_log_view_is_text_and_figures(void **unused)
{
    (void)unused;
    test_job test = OPEN_JOB("workers", "2");
    hawser_program *program = make_program();
    hawser_run *run = NULL;
    hawser_error error = {0};
    seen_progress seen = {0};
    hawser_observe(test.job, observe, &seen);
    assert_int_equal(hawser_run_program(test.job, program, &run, &error), HAWSER_OK);
    assert_true(seen.calls >= 7 && seen.clocks == 7.0);
    char *text = NULL;
    FILE *file = tmpfile();
    assert_int_equal(hawser_run_log_view_text(run, &text, &error), HAWSER_OK);
    hawser_run_log_view(run, file);
    char *printed = whole(file);
    assert_string_equal(text, printed);
    const hawser_figures *figures = hawser_run_figures(run);
    assert_int_equal(figures->event_count, 2);
    assert_string_equal(figures->events[0].name, "rounds");
    assert_true(figures->events[0].loop);
    assert_string_equal(figures->events[1].name, "step");
    assert_false(figures->events[1].loop);
    assert_int_equal(figures->events[1].count, 2 * 7);
    assert_null(figures->chosen);
    for (size_t i = 0; i < figures->event_count; i++) {
        assert_true(figures->events[i].least_seconds <= figures->events[i].most_seconds);
        check_event(text, &figures->events[i]);
    }
    free(printed);
    free(text);
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
}

/* Returns the sum of one kind of wait over the workers, and compares the kinds with all waits of each. */
static double waits_of(const hawser_figures *figures, hw_kind_of_wait kind)
{
    double sum = 0;
    for (uint32_t i = 0; i < figures->workers; i++) {
        const hawser_worker_figures *worker = &figures->worker[i];
        const double kinds[] = {worker->wait_input_seconds, worker->wait_credit_seconds, worker->wait_reduction_seconds};
        assert_true(fabs(kinds[0] + kinds[1] + kinds[2] - worker->wait_seconds) <= 1e-9 * (1 + worker->wait_seconds));
        sum += kinds[kind];
    }
    return sum;
}

static hawser_status late(hawser_context *context)
{
    const struct timespec short_time = {.tv_nsec = 5000000};
    HAWSER_WRITE(context, double, v);
    v[0] += 1;
    if (hawser_block(context) == 1)
        nanosleep(&short_time, NULL);
    return HAWSER_OK;
}

static hawser_status late_and_reduces(hawser_context *context)
{
    double one = 1;
    HAWSER_TRY(late(context));
    return hawser_allreduce(context, &one, 1, HAWSER_SUM);
}

static bool thinks(hawser_progress *progress, void *user)
{
    const struct timespec short_time = {.tv_nsec = 5000000};
    double *seen = user;
    nanosleep(&short_time, NULL);
    seen[0] = hawser_progress_metric(progress, "wait_input");
    seen[1] = hawser_progress_metric(progress, "wait_credit");
    seen[2] = hawser_progress_metric(progress, "wait_reduction");
    return hawser_progress_clock(progress) == 9;
}

/* Two blocks, of which one is late, or a test that takes its time. Each wait counts for what it is for. */
static void waits_are_counted_by_their_cause(void **unused)
{
    (void)unused;
    enum { LATE, REDUCES, TESTED, CASES };
    for (int which = 0; which < CASES; which++) {
        test_job test = OPEN_JOB("workers", "2");
        hawser_program *program = hawser_program_new("waits", NULL);
        hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 3);
        double seen[3] = {0};
        hawser_until until = {.clocks = 10};
        if (which == TESTED)
            until = (hawser_until){.test = thinks, .user = seen};
        hawser_operator *loop = hawser_loop(hawser_root(program), "rounds", until, hawser_bsp());
        HAWSER_UNIT(loop, "step", which == REDUCES ? late_and_reduces : late, .updates = {v}, .reduces = which == REDUCES);
        hawser_run *run = NULL;
        hawser_error error = {0};
        assert_int_equal(hawser_run_program(test.job, program, &run, &error), HAWSER_OK);
        const hawser_figures *figures = hawser_run_figures(run);
        double input = waits_of(figures, INPUT), credit = waits_of(figures, CREDIT),
               reduction = waits_of(figures, REDUCTION);
        assert_true(credit > 0); /* blocks wait for the start of the loop */
        if (which == REDUCES)
            assert_true(reduction > 0);
        else
            assert_true(input > 0 && reduction == 0);
        if (which == TESTED) /* the last clock's waits for credit, and what follows, are in no report */
            assert_true(seen[0] > 0 && seen[0] <= input && seen[1] > 0 && seen[1] < credit && seen[2] == 0);
        hawser_run_free(run);
        hawser_program_free(program);
        close_job(test);
    }
}

/* One block is slow, or in each clock another one (user: whether they take turns). */
static hawser_status slow(hawser_context *context)
{
    const struct timespec time = {.tv_nsec = 20000000};
    const bool *turns = hawser_user(context);
    HAWSER_WRITE(context, double, v);
    v[0] += 1;
    if (hawser_block(context) == (*turns ? hawser_clock(context) % 4 : 1))
        nanosleep(&time, NULL);
    return HAWSER_OK;
}

static void what_workers_wait_for_is_found(void **unused)
{
    (void)unused;
    for (int turns = 0; turns < 2; turns++) {
        test_job test = OPEN_JOB("workers", "4");
        bool in_turn = turns != 0;
        hawser_program *program = hawser_program_new("slow", &in_turn);
        hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = 3);
        hawser_operator *loop = hawser_loop(hawser_root(program), "rounds", (hawser_until){.clocks = 24}, hawser_bsp());
        HAWSER_UNIT(loop, "slow", slow, .updates = {v});
        hawser_run *run = NULL;
        hawser_error error = {0};
        assert_int_equal(hawser_run_program(test.job, program, &run, &error), HAWSER_OK);
        const hawser_cause_figures *causes = hawser_run_figures(run)->causes;
        const hawser_cause_figures *found = &causes[turns ? HAWSER_CAUSE_TURNS : HAWSER_CAUSE_WORKER];
        assert_true(found->clocks >= 5 && found->seconds >= 0.1 && found->waited > 0.2 && found->measure >= 1.5);
        assert_int_equal(found->number, turns ? 0 : 1);
        assert_int_equal(causes[HAWSER_CAUSE_LINK].clocks, 0);
        char *text = NULL;
        assert_int_equal(hawser_run_log_view_text(run, &text, &error), HAWSER_OK);
        assert_non_null(strstr(text, turns ? "in each clock another worker takes longest, " : "\nworker 1 takes "));
        free(text);
        hawser_run_free(run);
        hawser_program_free(program);
        close_job(test);
    }
}

static void the_reason_for_the_workers_is_data(void **unused)
{
    (void)unused;
    test_job test = OPEN_JOB("threads", "1");
    hawser_program *program = make_program();
    hawser_run *run = NULL;
    hawser_error error = {0};
    hawser_job_fit(test.job, 100, 1000);
    assert_int_equal(hawser_run_program(test.job, program, &run, &error), HAWSER_OK);
    const char *chosen = hawser_run_figures(run)->chosen;
    assert_non_null(chosen);
    assert_non_null(strstr(chosen, "1 worker for 100 stored entries"));
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
}

/* Options of an algorithm, with its job's and its data's. */
static void the_plan_of_a_training_is_text(void **unused)
{
    (void)unused;
    double values[ROWS * COLUMNS], target[ROWS];
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        values[i] = (double)(i * i % 17) - 5;
    for (size_t i = 0; i < ROWS; i++)
        target[i] = (double)(i % 5);
    const hawser_algorithm *lasso = hawser_algorithm_find("lasso");
    const hawser_option *const tables[] = {hawser_job_rows(), hawser_data_rows(), lasso->rows, NULL};
    hawser_error error = {0};
    char *plans[2] = {NULL};
    for (int by_row = 0; by_row < 2; by_row++) { /* the second is turned first */
        double own[ROWS * COLUMNS];
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < COLUMNS; j++)
                own[by_row ? i * COLUMNS + j : j * ROWS + i] = values[j * ROWS + i];
        const hawser_matrix matrix = {.rows = ROWS,
                                      .cols = COLUMNS,
                                      .stored = ROWS * COLUMNS,
                                      .layout = by_row ? HAWSER_DENSE_ROWS : HAWSER_DENSE,
                                      .stride = by_row ? COLUMNS : ROWS,
                                      .values = own};
        hawser_options *options = NULL;
        hawser_job *job = NULL;
        hawser_dataset *data = NULL;
        assert_int_equal(hawser_options_new(tables, &options, &error), HAWSER_OK);
        assert_int_equal(hawser_options_set(options, "workers", "1", HAWSER_FROM_PROGRAM, "test", &error), HAWSER_OK);
        assert_int_equal(hawser_options_set(options, "lambda", "0.1", HAWSER_FROM_PROGRAM, "test", &error), HAWSER_OK);
        assert_int_equal(hawser_options_set(options, "memory-limit", "1G", HAWSER_FROM_PROGRAM, "test", &error), HAWSER_OK);
        assert_int_equal(hawser_open_options(options, &job, &error), HAWSER_OK);
        assert_int_equal(hawser_dataset_from(&matrix, target, &data, &error), HAWSER_OK);
        const hawser_training_input input = {.options = options, .data = data};
        if (hawser_train_plan(lasso, job, &input, HAWSER_PLAN_PHYSICAL, &plans[by_row], &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        hawser_dataset_free(data);
        hawser_close(job);
        hawser_options_free(options);
    }
    const char *const states[] = {strstr(plans[0], "\nstates"), strstr(plans[1], "\nstates")};
    assert_true(strstr(plans[0], "physical plan") != NULL && states[0] != NULL && states[1] != NULL);
    assert_string_equal(states[0], states[1]); /* before it is the memory: rows that are turned are there twice */
    free(plans[0]);
    free(plans[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_the_text_that_is_printed), cmocka_unit_test(a_log_view_is_text_and_figures),
        cmocka_unit_test(what_workers_wait_for_is_found),     cmocka_unit_test(waits_are_counted_by_their_cause),
        cmocka_unit_test(the_reason_for_the_workers_is_data), cmocka_unit_test(the_plan_of_a_training_is_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
