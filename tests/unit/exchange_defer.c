/* Clocks whose changes are sent with those of a later clock: every update still counts once, and every block sees the
 * updates that it must. */
#include "exchange_cluster.h"

enum { N = 900, CLOCKS = 20 };

static hw_replica_spec spec_of(uint32_t blocks)
{
    return (hw_replica_spec){.name = "v", .count = N, .blocks = blocks, .sources = blocks, .rule = {1, 1, NULL, NULL}};
}

/* Changes the state by whole numbers, so that sums are exact. */
static void change(cluster *c, uint32_t b, bool touches)
{
    if (touches)
        hw_replica_touch(c->replicas[b], 0, c->n);
    for (int k = 0; k < 4; k++) {
        size_t i = (size_t)hw_random_below(&c->random, c->n);
        cluster_change(c, b, i, (double)hw_random_below(&c->random, 9) - 4);
    }
}

static bool defer(cluster *c, uint32_t b, bool last, uint32_t most)
{
    bool done = hw_replica_defer(c->replicas[b], c->clock[b], last, most);
    c->clock[b] += done && last;
    return done;
}

/* Runs blocks that defer clocks, and checks that the updates that the policy guarantees have arrived. */
static void run(uint32_t blocks, hw_policy policy, hw_replica_spec spec, uint64_t seed, bool exact)
{
    cluster c;
    uint64_t left = (uint64_t)blocks * CLOCKS, deferred = 0, idle = 0;
    cluster_open(&c, spec, policy, seed);
    while (left > 0) {
        uint32_t b = (uint32_t)hw_random_below(&c.random, blocks);
        if (hw_random_below(&c.random, 3) || c.clock[b] == CLOCKS || !cluster_ready(&c, b)) {
            idle = cluster_deliver(&c, b) ? 0 : idle + 1;
            assert_true(idle < 100000); /* no block waits for ever for a deferred clock */
            continue;
        }
        assert_true(hw_ssp_holds(policy, hw_replica_clocks(c.replicas[b]), c.clock[b]));
        idle = 0;
        cluster_merge(&c, b);
        bool touches = hw_random_below(&c.random, 2) == 0;
        for (int k = 0; k < 2; k++) {
            change(&c, b, touches);
            if (hw_random_below(&c.random, 3) == 0 && (hw_random_below(&c.random, 2) == 0 || !defer(&c, b, false, 5)))
                cluster_cut(&c, b, false, false);
            if (hw_random_below(&c.random, 3) == 0) {
                cluster_deliver(&c, b);
                cluster_merge(&c, b);
            }
        }
        bool final = c.clock[b] + 1 == CLOCKS;
        if (hw_random_below(&c.random, 4) == 0 || final || !defer(&c, b, true, 5))
            cluster_cut(&c, b, true, final);
        else if (hw_random_below(&c.random, 4) == 0) {
            hawser_error error = {0};
            hw_message *message;
            assert_true(hw_replica_deferred(c.replicas[b]) >= 1 && hw_replica_deferred(c.replicas[b]) <= 5);
            check(hw_replica_cut_deferred(c.replicas[b], &message, &error), &error);
            assert_true(message != NULL && message->envelope.clock + 1 == c.clock[b]);
            cluster_send(&c, b, message);
            check(hw_replica_cut_deferred(c.replicas[b], &message, &error), &error);
            assert_null(message);
        }
        left--;
    }
    cluster_end(&c, CLOCKS);
    for (uint32_t b = 0; b < blocks; b++) {
        deferred += hw_replica_figures_of(c.replicas[b])->deferred;
        for (size_t i = 0; i < N; i++)
            assert_true(fabs(base_of(c.replicas[b])[i] - spec.rule.damping * c.computed[i]) <= (exact ? 0 : 1e-12));
    }
    assert_true(policy.kind == HW_POLICY_BSP ? deferred == 0 : deferred > 3);
    cluster_close(&c);
}

static void every_update_counts_once(void **state)
{
    (void)state;
    const hw_policy policies[] = {{HW_POLICY_BSP, 0}, {HW_POLICY_SSP, 1}, {HW_POLICY_SSP, 4}, {HW_POLICY_TAP, 0}};
    for (uint64_t seed = 0; seed < 40; seed++)
        for (size_t p = 0; p < 4; p++) {
            hw_replica_spec spec = spec_of(2 + (uint32_t)(seed % 4));
            run(spec.blocks, policies[p], spec, seed, true);
            spec.rule = (hawser_rule){.damping = 0.25, .gain = 7};
            spec.rounding = seed % 2 ? HW_BF16 : HW_F64;
            run(spec.blocks, policies[p], spec, seed, false);
        }
}

static void a_clock_in_demand_is_not_deferred(void **state)
{
    (void)state;
    cluster c;
    cluster_open(&c, spec_of(2), (hw_policy){HW_POLICY_SSP, 2}, 1);
    cluster_merge(&c, 0);
    assert_true(defer(&c, 0, true, 9));
    cluster_merge(&c, 0);
    assert_true(defer(&c, 0, true, 9));
    cluster_merge(&c, 0);
    assert_false(defer(&c, 0, true, 9)); /* two clocks are deferred: another block may wait for the third */
    cluster_cut(&c, 0, true, false);
    assert_true(c.links[1][0].first->envelope.span == 2 && c.links[1][0].first->envelope.clock == 2);
    for (uint64_t clock = 0; clock < 3; clock++) {
        while (cluster_deliver(&c, 1))
            continue;
        cluster_merge(&c, 1);
        assert_false(clock == 0 && defer(&c, 1, true, 9)); /* block 0 has done three clocks and needs clock 0 next */
        cluster_cut(&c, 1, true, false);
    }
    cluster_end(&c, 3);
    cluster_close(&c);
}

static void refused(cluster *c, uint64_t clock, uint32_t span, uint32_t part)
{
    hawser_error error = {0};
    hw_message *message;
    assert_int_equal(hw_message_new(0, &message, NULL), HAWSER_OK);
    message->envelope = (hw_envelope){.kind = HW_MESSAGE_UPDATE,
                                      .form = HW_FORM_DELTA,
                                      .encoding = HW_DENSE,
                                      .source = 1,
                                      .clock = clock,
                                      .span = span,
                                      .part = part,
                                      .last = 1};
    assert_int_equal(hw_replica_accept(c->replicas[0], message, &error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, "is due"));
}

static void spans_that_do_not_fit_are_rejected(void **state)
{
    (void)state;
    cluster c;
    cluster_open(&c, spec_of(2), (hw_policy){HW_POLICY_SSP, 2}, 1);
    refused(&c, 1, 0, 0); /* clock 0 is left out */
    refused(&c, 0, 1, 0); /* a clock before the first */
    refused(&c, 3, 3, 0); /* more than the staleness allows */
    refused(&c, 1, 1, 1); /* the first part is missing */
    refused(&c, UINT64_MAX, UINT32_MAX, 0);
    cluster_merge(&c, 1);
    assert_true(defer(&c, 1, true, 9));
    cluster_merge(&c, 1);
    cluster_cut(&c, 1, true, false);
    while (cluster_deliver(&c, 0))
        continue;
    refused(&c, 2, 1, 0); /* clock 1 has arrived already */
    cluster_close(&c);
    cluster_open(&c, spec_of(2), (hw_policy){HW_POLICY_BSP, 0}, 1);
    refused(&c, 1, 1, 0);
    cluster_close(&c);
}

static void an_epoch_with_unsent_clocks_does_not_end(void **state)
{
    (void)state;
    cluster c;
    hawser_error error = {0};
    cluster_open(&c, spec_of(2), (hw_policy){HW_POLICY_TAP, 0}, 1);
    cluster_merge(&c, 0);
    cluster_change(&c, 0, 1, 1);
    assert_true(defer(&c, 0, true, 9));
    cluster_cut(&c, 1, true, false);
    while (cluster_deliver(&c, 0))
        continue;
    assert_int_equal(hw_replica_end(c.replicas[0], 1, &error), HAWSER_INTERNAL);
    assert_non_null(strstr(error.text, "not sent"));
    cluster_close(&c);
}

/* Two blocks have one slot towards each other, and one of them reads its inbox once in a thousand steps. No block may wait
 * for a slot: clocks that do not fit are coalesced, so few messages are in flight. */
static void full_queues_stop_no_block(void **state)
{
    (void)state;
    const hw_policy policies[] = {{HW_POLICY_SSP, 3}, {HW_POLICY_TAP, 0}};
    for (size_t p = 0; p < 2; p++) {
        enum { LONG = 400 };
        cluster c;
        size_t most = 0;
        cluster_open(&c, spec_of(2), policies[p], p);
        for (uint64_t at = 0; c.clock[0] < LONG || c.clock[1] < LONG; at++) {
            assert_true(at < 10000000);
            for (uint32_t b = 0; b < 2; b++) {
                hawser_error error = {0};
                hw_message *message;
                size_t waiting = 0;
                bool asleep = b == 1 && at % 1000 != 0; /* in a long computation */
                if (asleep || c.clock[b] == LONG)
                    continue;
                while (cluster_deliver(&c, b))
                    continue;
                if (!cluster_ready(&c, b) || (policies[p].kind == HW_POLICY_TAP && c.clock[b] > c.clock[1 - b] + 50)) {
                    check(hw_replica_cut_deferred(c.replicas[b], &message, &error), &error); /* before it waits */
                    cluster_send(&c, b, message);
                    continue;
                }
                cluster_merge(&c, b);
                change(&c, b, false);
                bool full = c.links[1 - b][b].first != NULL, final = c.clock[b] + 1 == LONG;
                if (!full || final || !defer(&c, b, true, 1000))
                    cluster_cut(&c, b, true, final);
                for (const hw_message *on = c.links[1 - b][b].first; on != NULL; on = on->next)
                    waiting++;
                most = waiting > most ? waiting : most;
            }
        }
        assert_true(most <= (policies[p].kind == HW_POLICY_SSP ? 4 : 3)); /* without deferring it would be 400 */
        cluster_end(&c, LONG);
        for (size_t i = 0; i < N; i++)
            assert_true(base_of(c.replicas[0])[i] == c.computed[i] && base_of(c.replicas[1])[i] == c.computed[i]);
        cluster_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_update_counts_once),           cmocka_unit_test(a_clock_in_demand_is_not_deferred),
        cmocka_unit_test(spans_that_do_not_fit_are_rejected), cmocka_unit_test(an_epoch_with_unsent_clocks_does_not_end),
        cmocka_unit_test(full_queues_stop_no_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
