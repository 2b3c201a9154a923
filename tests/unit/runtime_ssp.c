/* With one worker four times slower SSP lets the fastest lead by exactly s, TAP by far more, and waits fall from BSP to TAP. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "job.h"

enum { CLOCKS = 60 };

/* About a millisecond of this thread's time, however many threads share the processors. */
static hawser_status work(hawser_context *context)
{
    double until = hw_thread_cpu_seconds() + 0.001;
    while (hw_thread_cpu_seconds() < until)
        continue;
    hawser_cache(context, "n")[hawser_block(context)] += 1;
    return HAWSER_OK;
}

typedef struct figures {
    uint32_t lead;
    double fast_wait;
    size_t staleness_count;
    uint64_t staleness_total;
} figures;

static figures run(hawser_sync sync, hawser_until until)
{
    test_job test = OPEN_JOB("workers", "3", "slow", "1:4", "check", "yes", "timeout", "60");
    hawser_program *program = hawser_program_new("race", NULL);
    hawser_state *n = hawser_replicated_state(program, "n", 3, 1, NULL, (hawser_rule){0});
    hawser_unit(hawser_loop(hawser_root(program), "loop", until, sync), "work", work, NULL, HAWSER_UPDATES(n));
    hawser_run *result = NULL;
    hawser_error error = {0};
    if (hawser_run_program(test.job, program, &result, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    const hawser_figures *seen = hawser_run_figures(result);
    figures out = {.lead = seen->most_lead, .staleness_count = seen->staleness_count};
    for (size_t i = 0; i < seen->staleness_count; i++)
        out.staleness_total += seen->staleness[i];
    for (uint32_t b = 0; b < 3; b++) {
        assert_true(hawser_result(result, "n", NULL)[b] == (double)seen->worker[b].clocks);
        assert_true(until.clocks == 0 || seen->worker[b].clocks == until.clocks);
        out.fast_wait += b != 1 ? seen->worker[b].wait_seconds : 0;
    }
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    hawser_run_log_view(result, stream);
    fclose(stream);
    assert_non_null(strstr(text, "work"));
    assert_non_null(strstr(text, "staleness"));
    free(text);
    hawser_run_free(result);
    hawser_program_free(program);
    close_job(test);
    return out;
}

static void leads(void **state)
{
    (void)state;
    const hawser_until fixed = {.clocks = CLOCKS};
    figures bsp = run(hawser_bsp(), fixed), ssp1 = run(hawser_ssp(1), fixed), ssp3 = run(hawser_ssp(3), fixed);
    figures tap = run(hawser_tap(), fixed);
    assert_int_equal(bsp.lead, 0);
    assert_int_equal(ssp1.lead, 1);
    assert_int_equal(ssp3.lead, 3);
    assert_true(tap.lead > 10);
    assert_int_equal(ssp3.staleness_count, 4);
    assert_int_equal(tap.staleness_total, 3 * CLOCKS);
}

/* In a loop that ends by time BSP's fast workers wait for the slow one in every clock, TAP's only for its last. */
static void waits_fall(void **state)
{
    (void)state;
    const hawser_until timed = {.seconds = 0.3};
    figures bsp = run(hawser_bsp(), timed), tap = run(hawser_tap(), timed);
    print_message("waits of the fast workers: bsp %.3f s, tap %.3f s\n", bsp.fast_wait, tap.fast_wait);
    assert_true(tap.fast_wait < bsp.fast_wait);
}

static hawser_status instant(hawser_context *context)
{
    hawser_cache(context, "n")[hawser_block(context)] += 1;
    return HAWSER_OK;
}

/* Any schedule: never more than s, and some schedule reaches it. */
static void any_schedule(void **state)
{
    (void)state;
    for (uint32_t s = 1; s <= 4; s++) {
        uint32_t most = 0;
        for (uint64_t seed = 0; seed < 50; seed++) {
            test_job test = OPEN_JOB("workers", "4", "check", "yes");
            hw_job_use_fibers(test.job, seed);
            hawser_program *program = hawser_program_new("any", NULL);
            hawser_state *n = hawser_replicated_state(program, "n", 4, 1, NULL, (hawser_rule){0});
            hawser_unit(hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 40}, hawser_ssp(s)), "unit",
                        instant, NULL, HAWSER_UPDATES(n));
            hawser_run *result = NULL;
            hawser_error error = {0};
            if (hawser_run_program(test.job, program, &result, &error) != HAWSER_OK)
                fail_msg("%s", error.text);
            uint32_t lead = hawser_run_figures(result)->most_lead;
            assert_true(lead <= s);
            most = lead > most ? lead : most;
            hawser_run_free(result);
            hawser_program_free(program);
            close_job(test);
        }
        assert_int_equal(most, s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(leads), cmocka_unit_test(waits_fall),
                                       cmocka_unit_test(any_schedule)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
