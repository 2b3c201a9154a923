/* When loops end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hawser/advanced.h"
#include "hawser/hawser.h"

static hawser_status nothing(hawser_context *context)
{
    (void)context;
    return HAWSER_OK;
}

static bool set_gap(hawser_progress *progress, void *user)
{
    (void)user;
    hawser_progress_set(progress, "gap", 1.0 / (double)(hawser_progress_clock(progress) + 1));
    return false;
}

/* The gap is 1/4 at clock 3, so four clocks are judged; a bound that looked before the test would ask for a fifth. */
static void a_test_sets_the_metric_of_the_bound(void **state)
{
    (void)state;
    const double zeros[4] = {0};
    hawser_matrix matrix = {.rows = 4, .cols = 1, .stored = 4, .values = zeros, .stride = 4};
    hawser_error error = {0};
    hawser_job *job = NULL;
    hawser_run *run = NULL;
    char name[] = "test", flag[] = "--workers", value[] = "2";
    char *argv[] = {name, flag, value, NULL};
    int argc = 3;
    assert_int_equal(hawser_open(&argc, argv, &job, &error), HAWSER_OK);
    hawser_program *program = hawser_program_new("until", NULL);
    hawser_metric_declare(program, "gap", HAWSER_LAST);
    hawser_state *rows = HAWSER_STATE(program, "rows", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_ROW);
    hawser_operator *outer = hawser_loop(hawser_root(program), "outer",
                                         (hawser_until){.test = set_gap, .metric = "gap", .below = 0.25}, hawser_bsp());
    hawser_operator *inner = hawser_loop(outer, "inner", (hawser_until){.clocks = 1}, hawser_bsp());
    HAWSER_UNIT(inner, "nothing", nothing, .reads = {rows});
    if (hawser_run_program(job, program, &run, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    assert_int_equal(hawser_run_figures(run)->clocks, 4);
    hawser_run_free(run);
    hawser_program_free(program);
    hawser_close(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_test_sets_the_metric_of_the_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
