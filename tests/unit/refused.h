/* refused.h - a program with one state of each kind, to which a test adds a mistake, and the check that it is refused by a
 * row of docs/refusals.md. */
#ifndef HW_TESTS_UNIT_REFUSED_H
#define HW_TESTS_UNIT_REFUSED_H

#include "job.h"
#include "refusals_list.h"
#include "runtime/job/checkpointer.h"
#include "runtime/job/job.h"

static double numbers[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const hawser_matrix matrix = {.rows = 3, .cols = 4, .stored = 12, .values = numbers, .stride = 3};

static hawser_status nothing(hawser_context *context)
{
    (void)context;
    return HAWSER_OK;
}

/* A program with one state of each kind, to which a test adds its mistake. */
typedef struct fixture {
    hawser_program *program;
    hawser_operator *root;
    hawser_state *data, *whole, *v, *p, *alpha;
} fixture;

static fixture make(void)
{
    fixture f = {.program = hawser_program_new("broken", NULL)};
    f.root = hawser_root(f.program);
    f.data = HAWSER_STATE(f.program, "data", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    f.whole = HAWSER_STATE(f.program, "whole", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_WHOLE);
    f.v = HAWSER_STATE(f.program, "v", HAWSER_REPLICATED, .rows = 3);
    f.p = HAWSER_STATE(f.program, "p", HAWSER_PARTITIONED, .rows = 4, .cols = 2, .along = f.data);
    f.alpha = HAWSER_STATE(f.program, "alpha", HAWSER_LOCAL, .along = f.data);
    hawser_metric_declare(f.program, "gap", HAWSER_SUM);
    return f;
}

static refusals_list list;
static const struct hw_checkpointer *checkpointer; /* of the jobs that follow; NULL: they take no checkpoints */

/* Runs the program on two blocks, where it must fail. Returns its status with the text. */
static hawser_status fail_with(fixture f, hawser_error *error)
{
    test_job test = OPEN_JOB("workers", "2", "timeout", "20");
    hawser_run *run = NULL;
    test.job->checkpointer = checkpointer;
    hawser_status status = hawser_run_program(test.job, f.program, &run, error);
    assert_null(run);
    hawser_program_free(f.program);
    close_job(test);
    return status;
}

static void expect(fixture f, hawser_status wanted, const char *first, const char *second)
{
    hawser_error error = {0};
    hawser_status status = fail_with(f, &error);
    if (status != wanted || strstr(error.text, first) == NULL || strstr(error.text, second) == NULL)
        fail_msg("got %s: %s", hawser_status_name(status), error.text);
}

/* Checks that a program is refused by a row of docs/refusals.md, in a text that has these words. */
static void refused(fixture f, const char *first, const char *second)
{
    hawser_error error = {0};
    hawser_status status = fail_with(f, &error);
    if (status != HAWSER_BAD_PROGRAM || strstr(error.text, first) == NULL || strstr(error.text, second) == NULL)
        fail_msg("got %s: %s", hawser_status_name(status), error.text);
    if (list.count > 0 && !meet_refusal(&list, error.text))
        fail_msg("no row of docs/refusals.md is: %s", error.text);
}

#endif
