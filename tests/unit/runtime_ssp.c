/* With one worker that waits for the others to run ahead, these lead by exactly s under SSP, and under TAP until they have
 * done all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "job.h"
#include "sanitized.h"

enum { CLOCKS = 60, SLOW = 1 };

typedef struct race {
    uint64_t lead;                 /* that the slow worker lets the others have before it goes on */
    atomic_uint_fast64_t begun[3]; /* clocks, by worker */
} race;

/* The slow block ends no clock before the others have begun as many more as they may, so no block's speed matters. */
static hawser_status work(hawser_context *context)
{
    race *r = hawser_user(context);
    const struct timespec shortly = {0, 100000};
    uint64_t clock = hawser_clock(context), far = clock + r->lead + 1 < CLOCKS ? clock + r->lead + 1 : CLOCKS;
    atomic_fetch_add(&r->begun[hawser_block(context)], 1);
    while (hawser_block(context) == SLOW && (atomic_load(&r->begun[0]) < far || atomic_load(&r->begun[2]) < far))
        nanosleep(&shortly, NULL);
    HAWSER_WRITE(context, double, n);
    n[hawser_block(context)] += 1;
    return HAWSER_OK;
}

typedef struct figures {
    uint32_t lead;
    size_t staleness_count;
    uint64_t staleness_total;
} figures;

static figures run(hawser_sync sync, uint64_t lead)
{
    test_job test = OPEN_JOB("workers", "3", "threads", "3", "check", "yes", "timeout", "60");
    race r = {.lead = lead};
    const hawser_until until = {.clocks = CLOCKS};
    hawser_program *program = hawser_program_new("race", &r);
    hawser_state *n = HAWSER_STATE(program, "n", HAWSER_REPLICATED, .rows = 3);
    HAWSER_UNIT(hawser_loop(hawser_root(program), "loop", until, sync), "work", work, .updates = {n});
    hawser_run *result = NULL;
    hawser_error error = {0};
    if (hawser_run_program(test.job, program, &result, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    const hawser_figures *seen = hawser_run_figures(result);
    figures out = {.lead = seen->most_lead, .staleness_count = seen->staleness_count};
    for (size_t i = 0; i < seen->staleness_count; i++)
        out.staleness_total += seen->staleness[i];
    for (uint32_t b = 0; b < 3; b++) {
        assert_true(RESULT(double, result, "n", NULL)[b] == (double)seen->worker[b].clocks);
        assert_int_equal(seen->worker[b].clocks, CLOCKS);
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
    figures bsp = run(hawser_bsp(), 0), ssp1 = run(hawser_ssp(1), 1), ssp3 = run(hawser_ssp(3), 3);
    figures tap = run(hawser_tap(), CLOCKS);
    assert_int_equal(bsp.lead, 0);
    assert_int_equal(ssp1.lead, 1);
    assert_int_equal(ssp3.lead, 3);
    assert_true(tap.lead >= CLOCKS - 1);
    assert_int_equal(ssp3.staleness_count, 4);
    assert_int_equal(tap.staleness_total, 3 * CLOCKS);
}

static hawser_status instant(hawser_context *context)
{
    HAWSER_WRITE(context, double, n);
    n[hawser_block(context)] += 1;
    return HAWSER_OK;
}

/* Returns the furthest lead of some schedules of a loop whose only unit has a sync of its own, if `own` is not NULL. */
static uint32_t furthest_lead(hawser_sync sync, const hawser_sync *own)
{
    uint32_t most = 0;
    for (uint64_t seed = 0; seed < schedules_of(50); seed++) {
        test_job test = OPEN_JOB("workers", "4", "check", "yes");
        hw_job_use_fibers(test.job, seed);
        hawser_program *program = hawser_program_new("any", NULL);
        hawser_state *n = HAWSER_STATE(program, "n", HAWSER_REPLICATED, .rows = 4);
        hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 40}, sync);
        HAWSER_UNIT(loop, "unit", instant, .updates = {n}, .sync = own);
        hawser_run *result = NULL;
        hawser_error error = {0};
        if (hawser_run_program(test.job, program, &result, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        uint32_t lead = hawser_run_figures(result)->most_lead;
        most = lead > most ? lead : most;
        hawser_run_free(result);
        hawser_program_free(program);
        close_job(test);
    }
    return most;
}

/* A sanitizer sees too few schedules to reach the furthest lead. */
static void expect_furthest_lead(hawser_sync sync, const hawser_sync *own, uint32_t expected)
{
    const uint32_t lead = furthest_lead(sync, own);
    assert_true(SANITIZED ? lead <= expected : lead == expected);
}

/* Any schedule: never more than s, and some schedule reaches it. */
static void any_schedule(void **state)
{
    (void)state;
    for (uint32_t s = 1; s <= 4; s++)
        expect_furthest_lead(hawser_ssp(s), NULL, s);
}

/* A unit waits by its own sync, whatever its loop allows. */
static void a_unit_waits_by_its_own_sync(void **state)
{
    (void)state;
    const hawser_sync none = hawser_bsp(), one = hawser_ssp(1), three = hawser_ssp(3);
    expect_furthest_lead(three, &none, 0);
    expect_furthest_lead(three, &one, 1);
    expect_furthest_lead(hawser_tap(), &none, 0);
    expect_furthest_lead(hawser_tap(), &three, 3);
}

static hawser_status look(hawser_context *context)
{
    HAWSER_READ(context, double, n);
    for (uint32_t b = 0; b < hawser_blocks(context); b++)
        if (n[b] < 2 * (double)hawser_clock(context) + 1)
            return hawser_unit_fail(context, HAWSER_INTERNAL, "an update is missing");
    return HAWSER_OK;
}

/* Between two waits of a strict unit, other blocks may do several exchanges of its state. */
static void a_strict_unit_allows_exchanges_between_its_waits(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < schedules_of(20); seed++) {
        test_job test = OPEN_JOB("workers", "3", "check", "yes");
        hw_job_use_fibers(test.job, seed);
        hawser_program *program = hawser_program_new("between", NULL);
        hawser_state *n = HAWSER_STATE(program, "n", HAWSER_REPLICATED, .rows = 4);
        hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 20}, hawser_ssp(3));
        HAWSER_UNIT(loop, "first", instant, .updates = {n});
        HAWSER_UNIT(loop, "look", look, .reads = {n}, .sync = &(hawser_sync){.tightness = HAWSER_BSP});
        HAWSER_UNIT(loop, "second", instant, .updates = {n});
        hawser_run *result = NULL;
        hawser_error error = {0};
        if (hawser_run_program(test.job, program, &result, &error) != HAWSER_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
        hawser_run_free(result);
        hawser_program_free(program);
        close_job(test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(leads), cmocka_unit_test(any_schedule),
                                       cmocka_unit_test(a_unit_waits_by_its_own_sync),
                                       cmocka_unit_test(a_strict_unit_allows_exchanges_between_its_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
