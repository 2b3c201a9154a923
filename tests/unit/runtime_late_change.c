/* Under tap a test's decision takes effect soon, and a change that no clock has had is reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hawser/advanced.h"
#include "hawser/hawser.h"
#include "job.h"

enum { CLOCKS = 300, SOON = 16 };

/* What the test of the loop decides after clock `at`. */
typedef struct decision {
    uint64_t at;
    bool ends;
} decision;

static bool decide(hawser_progress *progress, void *user)
{
    const decision *d = user;
    if (hawser_progress_clock(progress) != d->at)
        return false;
    if (!d->ends)
        hawser_progress_sync(progress, "loop", hawser_ssp(2));
    return d->ends;
}

/* Block 0 is slow, so that the others have all the lead that they may have. */
static hawser_status step(hawser_context *context)
{
    HAWSER_WRITE(context, double, w);
    volatile double work = 0;
    for (int i = 0; i < 20000 && hawser_block(context) == 0; i++)
        work = work + i;
    w[hawser_block(context)] += 1;
    return HAWSER_OK;
}

typedef struct outcome {
    double least, most; /* clocks of the blocks that have done least and most */
    size_t changes;
    char text[2048]; /* printed */
} outcome;

static outcome run(decision d)
{
    outcome out = {.least = CLOCKS + 1};
    int ends[2], before = dup(STDERR_FILENO);
    assert_true(before >= 0 && pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    close(ends[1]);
    test_job test = OPEN_JOB("workers", "3");
    hawser_program *program = hawser_program_new("late", NULL);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = 3);
    hawser_operator *loop =
        HAWSER_LOOP(hawser_root(program), "loop", hawser_tap(), .clocks = CLOCKS, .test = decide, .user = &d);
    HAWSER_UNIT(loop, "step", step, .updates = {w});
    hawser_run *result = NULL;
    hawser_status status = hawser_run_program(test.job, program, &result, NULL);
    fflush(stderr);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    assert_int_equal(read(ends[0], out.text, sizeof out.text - 1) >= 0, 1);
    close(ends[0]);
    assert_int_equal(status, HAWSER_OK);
    const double *done;
    assert_int_equal(hawser_result(result, "w", &done, NULL, NULL), HAWSER_OK);
    for (int b = 0; b < 3; b++) {
        out.most = done[b] > out.most ? done[b] : out.most;
        out.least = done[b] < out.least ? done[b] : out.least;
    }
    out.changes = hawser_run_figures(result)->change_count;
    hawser_run_free(result);
    hawser_program_free(program);
    close_job(test);
    return out;
}

static void a_stop_is_soon(void **state)
{
    (void)state;
    outcome out = run((decision){.at = 9, .ends = true});
    if (!(out.most >= 10 && out.most <= 10 + SOON))
        fail_msg("a block has run %g clocks", out.most);
}

static void a_change_of_policy_is_made(void **state)
{
    (void)state;
    outcome out = run((decision){.at = 9});
    assert_int_equal(out.changes, 1);
    assert_true(out.least >= CLOCKS && out.most <= CLOCKS); /* every block runs every clock once */
    assert_null(strstr(out.text, "ended before"));
}

static void a_change_that_is_too_late_is_reported(void **state)
{
    (void)state;
    outcome out = run((decision){.at = CLOCKS - 2});
    assert_int_equal(out.changes, 0);
    if (strstr(out.text, "loop 'loop' ended before its sync became ssp:2, which stop test of loop 'loop' asked for") == NULL)
        fail_msg("printed: %s", out.text);
    out = run((decision){.at = CLOCKS - 1}); /* no clock is left that could have it */
    assert_null(strstr(out.text, "ended before"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_is_soon),
        cmocka_unit_test(a_change_of_policy_is_made),
        cmocka_unit_test(a_change_that_is_too_late_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
