#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consistency/consistency.h"

/* Every schedule of a few blocks and clocks. A block runs clock t when hw_admit_read allows it, and its update reaches each
 * other block at any later time, in order. The guarantees are checked with the true clocks, not with the clock tables. */
enum { BLOCKS = 3, CLOCKS = 4 };

typedef struct world {
    uint8_t clock[BLOCKS];        /* clocks run */
    uint8_t seen[BLOCKS][BLOCKS]; /* [reader][source]: clocks of the source that have arrived */
} world;

typedef struct search {
    hw_policy policy;
    uint32_t blocks;
    uint8_t *visited;
    uint64_t worlds;
    unsigned lead;    /* the greatest true lead over the slowest, at the start of a clock */
    unsigned missing; /* the greatest number of clocks by which a read lagged behind its own clock */
} search;

static uint64_t number(const search *s, const world *w)
{
    uint64_t key = 0;
    for (uint32_t i = 0; i < s->blocks; i++) {
        key = key * (CLOCKS + 1) + w->clock[i];
        for (uint32_t j = 0; j < s->blocks; j++)
            if (j != i)
                key = key * (CLOCKS + 1) + w->seen[i][j];
    }
    return key;
}

static bool may_read(const search *s, const world *w, uint32_t block, bool *holds)
{
    uint64_t done[BLOCKS];
    for (uint32_t j = 0; j < s->blocks; j++)
        done[j] = w->seen[block][j];
    hw_clock_table table = {done, s->blocks, block};
    *holds = hw_ssp_holds(s->policy, &table, w->clock[block]);
    return hw_admit_read(s->policy, &table, w->clock[block]);
}

static void check_start(search *s, const world *w, uint32_t block)
{
    unsigned t = w->clock[block], slack = (unsigned)s->policy.staleness, slowest = t;
    for (uint32_t j = 0; j < s->blocks; j++) {
        slowest = w->clock[j] < slowest ? w->clock[j] : slowest;
        unsigned lag = t - (w->seen[block][j] < t ? w->seen[block][j] : t);
        s->missing = lag > s->missing ? lag : s->missing;
        if (s->policy.kind != HW_POLICY_TAP)
            assert_true(w->seen[block][j] + slack >= t); /* all updates <= t - s - 1 are visible */
    }
    assert_int_equal(w->seen[block][block], t); /* read-my-writes */
    s->lead = t - slowest > s->lead ? t - slowest : s->lead;
    if (s->policy.kind != HW_POLICY_TAP)
        assert_true(t - slowest <= slack); /* bounded difference */
}

static void explore(search *s, world w)
{
    uint64_t key = number(s, &w);
    if (s->visited[key])
        return;
    s->visited[key] = 1;
    s->worlds++;
    bool moved = false, over = true;
    for (uint32_t i = 0; i < s->blocks; i++) {
        bool holds;
        over = over && w.clock[i] == CLOCKS;
        if (w.clock[i] < CLOCKS && may_read(s, &w, i, &holds)) {
            assert_true(holds);
            check_start(s, &w, i);
            world next = w;
            next.clock[i]++;
            next.seen[i][i]++;
            explore(s, next);
            moved = true;
        }
        for (uint32_t j = 0; j < s->blocks; j++)
            if (w.seen[i][j] < w.clock[j]) {
                world next = w;
                next.seen[i][j]++;
                explore(s, next);
                moved = true;
            }
    }
    assert_true(moved || over); /* no block waits for ever */
}

static search all_schedules(hw_policy policy, uint32_t blocks)
{
    search s = {.policy = policy, .blocks = blocks};
    uint64_t worlds = 1;
    for (uint32_t i = 0; i < blocks * blocks; i++)
        worlds *= CLOCKS + 1;
    s.visited = calloc(worlds, 1);
    assert_non_null(s.visited);
    explore(&s, (world){0});
    free(s.visited);
    return s;
}

static void ssp_holds_and_is_tight(void **state)
{
    (void)state;
    for (uint32_t blocks = 2; blocks <= BLOCKS; blocks++)
        for (unsigned staleness = 0; staleness <= 3; staleness++) {
            search s = all_schedules((hw_policy){staleness ? HW_POLICY_SSP : HW_POLICY_BSP, staleness}, blocks);
            assert_int_equal(s.lead, staleness);    /* the fastest can lead by s and no more */
            assert_int_equal(s.missing, staleness); /* and its reads can lag by s and no more */
            assert_true(s.worlds > 10);
        }
}

static void ssp_of_zero_is_bsp(void **state)
{
    (void)state;
    search bsp = all_schedules((hw_policy){HW_POLICY_BSP, 0}, 3), ssp = all_schedules((hw_policy){HW_POLICY_SSP, 0}, 3);
    assert_true(bsp.worlds == ssp.worlds);
}

static void tap_never_waits(void **state)
{
    (void)state;
    search s = all_schedules((hw_policy){HW_POLICY_TAP, 0}, 2);
    assert_int_equal(s.lead, CLOCKS - 1); /* as far as there are clocks to run */
}

static void bsp_applies_only_earlier_clocks(void **state)
{
    (void)state;
    for (uint64_t clock = 0; clock < 5; clock++)
        for (uint64_t reader = 0; reader < 5; reader++) {
            assert_true(hw_admit_write((hw_policy){HW_POLICY_BSP, 0}, clock, reader) == (clock < reader));
            assert_true(hw_admit_write((hw_policy){HW_POLICY_SSP, 2}, clock, reader));
            assert_true(hw_admit_write((hw_policy){HW_POLICY_TAP, 0}, clock, reader));
        }
}

/* If t is the last clock whose test did not end the loop, a block may run clocks below t + 1 + W. W must allow all of its
 * slack. */
static void credit_does_not_limit_the_lead(void **state)
{
    (void)state;
    assert_true(hw_admit_clock(3, 2) && !hw_admit_clock(3, 3) && !hw_admit_clock(0, 0));
    assert_true(hw_credit_window((hw_policy){HW_POLICY_BSP, 0}) == 1);
    for (uint64_t s = 0; s < 20; s++)
        assert_true(hw_credit_window((hw_policy){HW_POLICY_SSP, s}) == s + 1);
    assert_true(hw_credit_window((hw_policy){HW_POLICY_SSP, UINT64_MAX}) == UINT64_MAX);
    assert_true(hw_credit_window((hw_policy){HW_POLICY_TAP, 0}) > 10);
    assert_true(hw_credit_window((hw_policy){HW_POLICY_TAP, 0}) < 100000);
}

static void a_clock_table_never_decreases(void **state)
{
    (void)state;
    hawser_error error;
    hw_clock_table table;
    assert_int_equal(hw_clock_table_new(3, 1, &table, &error), HAWSER_OK);
    assert_true(hw_clock_table_advance(&table, 2, 5) && hw_clock_table_advance(&table, 0, 1));
    assert_false(hw_clock_table_advance(&table, 2, 4));
    assert_false(hw_clock_table_advance(&table, 3, 9));
    assert_true(hw_clock_table_advance(&table, 2, 5));
    assert_true(hw_clock_table_least(&table) == 0 && hw_clock_table_most(&table) == 5);
    hw_clock_table_reset(&table);
    assert_true(hw_clock_table_most(&table) == 0);
    hw_clock_table_free(&table);
}

/* The asserted predicate must be able to fail for each guarantee separately. */
static void broken_guarantees_are_found(void **state)
{
    (void)state;
    const hw_policy ssp2 = {HW_POLICY_SSP, 2};
    uint64_t good[] = {5, 3, 8}, unseen[] = {5, 2, 5}, lost[] = {4, 4, 5}, ahead[] = {5, 3, 9};
    assert_true(hw_ssp_holds(ssp2, &(hw_clock_table){good, 3, 0}, 5));
    assert_false(hw_ssp_holds(ssp2, &(hw_clock_table){unseen, 3, 0}, 5));
    assert_false(hw_ssp_holds(ssp2, &(hw_clock_table){lost, 3, 0}, 5));
    assert_false(hw_ssp_holds(ssp2, &(hw_clock_table){ahead, 3, 0}, 5));
    assert_true(hw_ssp_holds((hw_policy){HW_POLICY_TAP, 0}, &(hw_clock_table){unseen, 3, 0}, 5));
    assert_true(hw_ssp_holds(ssp2, &(hw_clock_table){ahead, 3, 7}, 5)); /* a block that only reads has no clock of its own */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ssp_holds_and_is_tight),
        cmocka_unit_test(ssp_of_zero_is_bsp),
        cmocka_unit_test(tap_never_waits),
        cmocka_unit_test(bsp_applies_only_earlier_clocks),
        cmocka_unit_test(credit_does_not_limit_the_lead),
        cmocka_unit_test(a_clock_table_never_decreases),
        cmocka_unit_test(broken_guarantees_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
