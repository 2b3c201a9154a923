/*
 * Changes of a loop's work and of blocks' shares in it: every block has them from the clock that the figures name, on
 * threads in any order and on nodes, and a run that goes on has them, too. Blocks remember the work of each clock. The
 * quotas of filters change in the same way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "memory_checkpointer.h"
#include "nodes.h"
#include "sanitized.h"

enum { WORKERS = 4, CLOCKS = 40 };

static hawser_status work(hawser_context *context)
{
    HAWSER_WRITE(context, double, works);
    HAWSER_WRITE(context, double, v);
    works[hawser_clock(context)] = hawser_work(context);
    v[0] += hawser_work(context);
    return HAWSER_OK;
}

/* A loop without a declaration does what it does as written. */
static hawser_status before(hawser_context *context)
{
    HAWSER_WRITE(context, double, v);
    v[0] += hawser_work(context) - 1;
    return HAWSER_OK;
}

static bool decide(hawser_progress *progress, void *user)
{
    (void)user;
    uint64_t clock = hawser_progress_clock(progress);
    if (clock == 3)
        hawser_progress_work(progress, "loop", 4);
    if (clock == 9)
        hawser_progress_share(progress, "loop", 2, 0.25);
    if (clock == 10)
        hawser_progress_work(progress, "loop", 4); /* no change */
    if (clock == 20)
        hawser_progress_work(progress, "loop", 0.5);
    return clock + 1 >= 30;
}

static hawser_program *make(hawser_sync sync)
{
    hawser_program *p = hawser_program_new("work", NULL);
    hawser_state *v = HAWSER_STATE(p, "v", HAWSER_REPLICATED, .rows = 1);
    hawser_state *works = HAWSER_STATE(p, "works", HAWSER_LOCAL, .each = true, .rows = CLOCKS);
    hawser_operator *first = hawser_loop(hawser_root(p), "first", (hawser_until){.clocks = 2}, sync);
    HAWSER_UNIT(first, "before", before, .updates = {v});
    hawser_operator *loop = hawser_loop(hawser_root(p), "loop", (hawser_until){.test = decide}, sync);
    HAWSER_UNIT(loop, "work", work, .updates = {v, works});
    HAWSER_ADAPT(p, .loop = loop, .work_least = 0.5, .work_most = 4, .shares = true);
    return p;
}

/* Returns the work that the changes of a run say that a block had in a clock. */
static double expected(const hawser_policy_change *changes, size_t count, uint32_t block, uint64_t clock)
{
    double own = 1, share = 1;
    for (size_t i = 0; i < count && changes[i].clock <= clock; i++) {
        own = changes[i].work[1] > 0 ? changes[i].work[1] : own;
        share = changes[i].share[1] > 0 && changes[i].block == block ? changes[i].share[1] : share;
    }
    return own * share;
}

static void check_changes(const hawser_figures *figures)
{
    static const struct {
        double work[2], share[2];
        uint64_t asked;
    } wanted[] = {{{1, 4}, {0}, 3}, {{0}, {1, 0.25}, 9}, {{4, 0.5}, {0}, 20}};
    assert_int_equal(figures->change_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const hawser_policy_change *change = &figures->changes[i];
        assert_string_equal(change->loop, "loop");
        assert_string_equal(change->by, "stop test of loop 'loop'");
        assert_memory_equal(change->work, wanted[i].work, sizeof change->work);
        assert_memory_equal(change->share, wanted[i].share, sizeof change->share);
        assert_int_equal(change->block, i == 1 ? 2 : 0);
        if (change->clock <= wanted[i].asked || change->clock > wanted[i].asked + 6)
            fail_msg("change %d holds from clock %d, asked for in %d", (int)i, (int)change->clock, (int)wanted[i].asked);
    }
}

static void check_works(const hawser_run *run, const hawser_policy_change *changes, size_t count, uint64_t clocks)
{
    const double *works = RESULT(double, run, "works", NULL);
    double sum = 0;
    for (uint32_t b = 0; b < WORKERS; b++)
        for (uint64_t t = 0; t < clocks; t++) {
            double wanted = expected(changes, count, b, t);
            if (works[b * CLOCKS + t] != wanted)
                fail_msg("block %d had the work %g in clock %d, not %g", (int)b, works[b * CLOCKS + t], (int)t, wanted);
            sum += wanted;
        }
    if (RESULT(double, run, "v", NULL)[0] != sum)
        fail_msg("the sum is %g, not %g", RESULT(double, run, "v", NULL)[0], sum);
}

static void every_block_has_the_work_from_the_same_clock(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 1 + schedules_of(11); seed++) {
        test_job test = OPEN_JOB("workers", "4", "check", "yes");
        if (seed > 0)
            hw_job_use_fibers(test.job, seed);
        hawser_program *program = make(seed % 2 == 0 ? hawser_bsp() : hawser_ssp(2));
        hawser_error error = {0};
        hawser_run *run = NULL;
        if (hawser_run_program(test.job, program, &run, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        const hawser_figures *figures = hawser_run_figures(run);
        check_changes(figures);
        check_works(run, figures->changes, figures->change_count, figures->clocks - 2);
        char *text = NULL;
        assert_int_equal(hawser_run_log_view_text(run, &text, &error), HAWSER_OK);
        assert_non_null(strstr(text, "work: 1 -> 4, by the stop test of loop 'loop'"));
        assert_non_null(strstr(text, "share of block 2: 1 -> 0.25, by the stop test of loop 'loop'"));
        free(text);
        hawser_run_free(run);
        hawser_program_free(program);
        close_job(test);
    }
}

static void body(test_node *node)
{
    hawser_run *run = NULL;
    hawser_program *program = make(hawser_ssp(2));
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    if (node->status == HAWSER_OK && node->node == 0) {
        const hawser_figures *figures = hawser_run_figures(run);
        check_changes(figures);
        check_works(run, figures->changes, figures->change_count, figures->clocks - 2);
    }
    hawser_run_free(run);
    hawser_program_free(program);
}

static void every_node_has_the_work_from_the_same_clock(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    const char *const pairs[] = {"workers", "4", "check", "yes", NULL};
    for (uint32_t count = 2; count <= 3; count++) {
        run_nodes(nodes, count, pairs, body, NULL);
        check_all(nodes, count, "work");
    }
}

/* Runs the program, from the checkpoint that is kept, and checks that each block has the work of each clock. */
static void run_recorded(memory_checkpointer *kept)
{
    test_job test = OPEN_JOB("workers", "4");
    hawser_error error = {0};
    hawser_run *run = NULL;
    hawser_program *program = make(hawser_bsp());
    test.job->checkpointer = &kept->own;
    if (hawser_run_program(test.job, program, &run, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    const double *works = RESULT(double, run, "works", NULL);
    for (uint32_t b = 0; b < WORKERS; b++)
        for (uint64_t t = 0; t < 30; t++) { /* under bsp a change begins with the clock after the test */
            double wanted = (t > 20 ? 0.5 : t > 3 ? 4 : 1) * (t > 9 && b == 2 ? 0.25 : 1);
            if (works[b * CLOCKS + t] != wanted)
                fail_msg("block %d had the work %g in clock %d, not %g", (int)b, works[b * CLOCKS + t], (int)t, wanted);
        }
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
}

static void a_run_that_goes_on_has_the_work_and_shares_of_before(void **state)
{
    (void)state;
    static memory_checkpointer kept;
    uint64_t last = 0;
    for (uint64_t stop = 1; stop < 30; stop += 3) {
        memory_open(&kept, 1, stop, 0);
        run_recorded(&kept);
        last = kept.kept[1].clocks;
        memory_again(&kept, 1, 0);
        run_recorded(&kept);
        memory_close(&kept);
    }
    assert_true(last > 20);
}

enum { ENTRIES = 64, LARGE = 400, SMALL = 100 };

/* Block 0 changes all entries in each clock. The others count how many of its changes they have got. */
static hawser_status change_all(hawser_context *context)
{
    HAWSER_WRITE(context, double, seen);
    HAWSER_WRITE(context, double, counts);
    HAWSER_WRITE(context, double, wide);
    size_t changed = 0;
    for (size_t i = 0; i < ENTRIES; i++) {
        changed += hawser_block(context) > 0 && wide[i] != seen[i];
        seen[i] = wide[i];
        wide[i] += hawser_block(context) == 0 ? 1.0 + (double)i : 0;
    }
    counts[hawser_clock(context)] = (double)changed;
    return HAWSER_OK;
}

static bool lowers(hawser_progress *progress, void *user)
{
    const bool *change = user;
    if (*change && hawser_progress_clock(progress) == 9)
        hawser_progress_quota(progress, "wide", SMALL);
    return hawser_progress_clock(progress) + 1 >= 30;
}

/* Runs with a quota that is changed after clock 9, or that stays. Copies the counts of block 1. Returns the clock from which
 * the change holds; 0: there is none. */
static uint64_t run_quota(hawser_sync sync, uint64_t quota, bool change, double counts[CLOCKS])
{
    test_job test = OPEN_JOB("workers", "3", "check", "yes");
    hawser_error error = {0};
    hawser_run *run = NULL;
    hawser_program *p = hawser_program_new("quota", NULL);
    hawser_state *wide =
        HAWSER_STATE(p, "wide", HAWSER_REPLICATED, .rows = ENTRIES, .filter = "absolute", .quota = quota, .max_held = 1000);
    hawser_state *seen = HAWSER_STATE(p, "seen", HAWSER_LOCAL, .each = true, .rows = ENTRIES);
    hawser_state *count = HAWSER_STATE(p, "counts", HAWSER_LOCAL, .each = true, .rows = CLOCKS);
    hawser_until until = {.test = lowers, .user = &change};
    HAWSER_UNIT(hawser_loop(hawser_root(p), "loop", until, sync), "change", change_all, .updates = {wide, seen, count});
    if (hawser_run_program(test.job, p, &run, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    const hawser_figures *figures = hawser_run_figures(run);
    memcpy(counts, RESULT(double, run, "counts", NULL) + CLOCKS, CLOCKS * sizeof *counts);
    /* Nothing is lost: what is held is sent in the end. */
    for (size_t i = 0; i < ENTRIES; i++)
        assert_true(RESULT(double, run, "wide", NULL)[i] == (double)figures->clocks * (1.0 + (double)i));
    assert_int_equal(figures->change_count, change ? 1 : 0);
    uint64_t clock = change ? figures->changes[0].clock : 0;
    if (change) {
        assert_string_equal(figures->changes[0].state, "wide");
        assert_true(figures->changes[0].quota[0] == quota && figures->changes[0].quota[1] == SMALL);
        char *text = NULL;
        assert_int_equal(hawser_run_log_view_text(run, &text, &error), HAWSER_OK);
        assert_non_null(strstr(text, "quota of state 'wide': 400 -> 100, by the stop test of loop 'loop'"));
        free(text);
    }
    hawser_run_free(run);
    hawser_program_free(p);
    close_job(test);
    return clock;
}

/* From the clock of the change on as many entries are sent as with that quota from the start. */
static void a_filter_has_its_new_quota_from_that_clock(void **state)
{
    (void)state;
    double changed[CLOCKS], large[CLOCKS], small[CLOCKS];
    uint64_t clock = run_quota(hawser_bsp(), LARGE, true, changed);
    (void)run_quota(hawser_bsp(), LARGE, false, large);
    (void)run_quota(hawser_bsp(), SMALL, false, small);
    assert_true(clock >= 10 && clock <= 12);
    assert_true(large[5] > small[5] && small[5] > 0); /* the quotas differ in effect */
    for (uint64_t t = 0; t + 1 < 30; t++)             /* a change of clock t is seen in the next one */
        assert_true(changed[t + 1] == (t < clock ? large[t + 1] : small[t + 1]));
}

/* What the stop test of the next program does wrong. */
static struct {
    const char *loop;
    double work, share;
    uint32_t block;
} wrong;

static bool asks_wrongly(hawser_progress *progress, void *user)
{
    (void)user;
    if (wrong.share < 0)
        hawser_progress_quota(progress, "v", 100);
    else if (wrong.work != 0)
        hawser_progress_work(progress, wrong.loop, wrong.work);
    else
        hawser_progress_share(progress, wrong.loop, wrong.block, wrong.share);
    return true;
}

static void check_refusal(const char *loop, double value, double share, uint32_t block, bool shares, const char *text)
{
    test_job test = OPEN_JOB("workers", "4");
    hawser_error error = {0};
    hawser_run *run = NULL;
    hawser_program *p = hawser_program_new("wrong", NULL);
    hawser_state *v = HAWSER_STATE(p, "v", HAWSER_REPLICATED, .rows = 1);
    hawser_operator *rounds = hawser_loop(hawser_root(p), "loop", (hawser_until){.test = asks_wrongly}, hawser_bsp());
    HAWSER_UNIT(rounds, "before", before, .updates = {v});
    HAWSER_ADAPT(p, .loop = rounds, .work_most = 4, .shares = shares);
    wrong.loop = loop;
    wrong.work = value;
    wrong.share = share;
    wrong.block = block;
    assert_int_equal(hawser_run_program(test.job, p, &run, &error), HAWSER_BAD_PROGRAM);
    if (strstr(error.text, text) == NULL)
        fail_msg("'%s' has no '%s'", error.text, text);
    hawser_run_free(run);
    hawser_program_free(p);
    close_job(test);
}

static void what_is_not_declared_is_refused(void **state)
{
    (void)state;
    check_refusal("loop", 5, 0, 0, true, "work 5 for loop 'loop', which declares 1 to 4");
    check_refusal("loop", 0.5, 0, 0, true, "work 0.5 for loop 'loop', which declares 1 to 4");
    check_refusal("other", 2, 0, 0, true, "hawser_progress_work: no loop 'other'");
    check_refusal("loop", 0, 0.5, 0, false, "share 0.5 of block 0 in loop 'loop'");
    check_refusal("loop", 0, 0.5, 4, true, "a block below 4");
    check_refusal("loop", 0, 0.1, 0, true, "share 0.1 of block 0");
    check_refusal("loop", 0, 1.5, 0, true, "share 1.5 of block 0");
    check_refusal("loop", 0, -1, 0, true, "quota 100 for 'v'; it takes a state that has a filter with a quota");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_has_the_work_from_the_same_clock),
        cmocka_unit_test(a_run_that_goes_on_has_the_work_and_shares_of_before),
        cmocka_unit_test(a_filter_has_its_new_quota_from_that_clock),
        cmocka_unit_test(every_node_has_the_work_from_the_same_clock),
        cmocka_unit_test(what_is_not_declared_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
