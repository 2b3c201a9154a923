/* States with rounded updates: sent numbers fit the format, and remainders are not lost and stay small. */
#include "exchange/pack.h"

#include "exchange_cluster.h"

enum { N = 2000 };
static const hw_policy policies[] = {{HW_POLICY_BSP, 0}, {HW_POLICY_SSP, 2}, {HW_POLICY_TAP, 0}};
static const hw_width widths[] = {HW_BF16, HW_F16, HW_INT8};
static const double units[] = {
    0x1p-8, 0x1p-11, 1.0 / 127}; /* half a unit in the last place of an entry, or of the largest entry of its tile */

static hw_replica_spec spec_of(hw_width rounding)
{
    return (hw_replica_spec){
        .name = "v", .count = N, .blocks = 2, .sources = 2, .rounding = rounding, .rule = {1, 1, NULL, NULL}};
}

/* Returns the bytes of the last message to block 1 on the wire. */
static uint64_t wire_bytes(const cluster *c)
{
    hw_message *packed;
    const hw_message *message = c->links[1][0].last;
    assert_int_equal(hw_pack(message, N, &packed, NULL), HAWSER_OK);
    uint64_t bytes = packed != NULL ? packed->envelope.length : message->envelope.length;
    hw_message_free(packed);
    return bytes;
}

static void let_in(cluster *c)
{
    cluster_cut(c, 1, true, false);
    for (uint32_t b = 0; b < 2; b++)
        while (cluster_deliver(c, b))
            continue;
    for (uint32_t b = 0; b < 2; b++)
        cluster_merge(c, b);
}

/* After any number of clocks, other blocks lack less than one rounding of the last update, and nothing after a flush. */
static void remainders_stay_small(void **state)
{
    (void)state;
    for (size_t w = 0; w < 3; w++)
        for (size_t p = 0; p < 3; p++) {
            cluster c;
            cluster_open(&c, spec_of(widths[w]), policies[p], w);
            for (int clock = 0; clock < 60; clock++) {
                double most = 0;
                for (size_t i = 0; i < N; i++) {
                    double step = 1 + hw_random_uniform(&c.random);
                    cluster_change(&c, 0, i, step);
                    most = fmax(most, step);
                }
                cluster_cut(&c, 0, true, false);
                assert_true(wire_bytes(&c) < 60 + N * (widths[w] == HW_INT8 ? 1.01 : 2.01));
                let_in(&c);
                for (size_t i = 0; i < N; i++) {
                    double lack = fabs(base_of(c.replicas[1])[i] - c.computed[i]);
                    assert_true(lack <= 1.05 * units[w] * most + 1e-10);
                    assert_true(fabs(cache_of(c.replicas[0])[i] - c.computed[i]) < 1e-10); /* the own cache lacks nothing */
                }
            }
            for (uint32_t b = 0; b < 2; b++)
                cluster_cut(&c, b, true, true);
            cluster_end(&c, 61);
            for (size_t i = 0; i < N; i++)
                assert_true(fabs(base_of(c.replicas[1])[i] - c.computed[i]) < 1e-11);
            cluster_close(&c);
        }
}

/* A remainder is not sent on its own, but with the entry's next change. */
static void remainders_wait_for_a_change(void **state)
{
    (void)state;
    for (size_t w = 0; w < 3; w++) {
        cluster c;
        cluster_open(&c, spec_of(widths[w]), policies[0], w);
        cluster_change(&c, 0, 600, 1.0 / 3);
        cluster_cut(&c, 0, true, false);
        let_in(&c);
        double first = base_of(c.replicas[1])[600];
        assert_true(first != 1.0 / 3 && fabs(first - 1.0 / 3) <= units[w] / 3);
        cluster_cut(&c, 0, true, false);
        assert_true(c.links[1][0].last->envelope.count == 0);
        let_in(&c);
        cluster_change(&c, 0, 600, 0x1p-20);
        cluster_cut(&c, 0, true, false);
        assert_true(c.links[1][0].last->envelope.count == 1);
        let_in(&c);
        assert_true(fabs(base_of(c.replicas[1])[600] - 1.0 / 3) < fabs(first - 1.0 / 3) / 2);
        cluster_close(&c);
    }
}

/* In a tile with one large entry, small entries wait until they have grown or are flushed. */
static void entries_that_round_to_zero_are_held(void **state)
{
    (void)state;
    cluster c;
    cluster_open(&c, spec_of(HW_INT8), policies[0], 1);
    for (int clock = 0; clock < 10; clock++) {
        cluster_change(&c, 0, 3, 127);
        cluster_change(&c, 0, 4, 0.125);
        cluster_change(&c, 0, 700, 0.125); /* another tile, another scale */
        cluster_cut(&c, 0, true, false);
        let_in(&c);
        assert_true(base_of(c.replicas[1])[3] == 127 * (clock + 1));
        assert_true(base_of(c.replicas[1])[700] == 0.125 * (clock + 1));
        assert_true(base_of(c.replicas[1])[4] == (clock < 4 ? 0 : 1)); /* half a unit rounds to even, which is zero */
    }
    cluster_close(&c);
}

static void flushed_entries_are_exact(void **state)
{
    (void)state;
    for (size_t w = 0; w < 3; w++) {
        cluster c;
        cluster_open(&c, spec_of(widths[w]), policies[0], 1);
        cluster_change(&c, 0, 5, 1.0 / 3);
        cluster_change(&c, 0, 6, 1e300);
        cluster_change(&c, 0, 7, 1e-300);
        cluster_cut(&c, 0, true, true);
        let_in(&c);
        assert_true(base_of(c.replicas[1])[5] == 1.0 / 3 && base_of(c.replicas[1])[6] == 1e300);
        assert_true(base_of(c.replicas[1])[7] == 1e-300);
        cluster_close(&c);
    }
}

/* A delta that is too large for the format is sent in several clocks as its largest number. A single block does not
 * round. */
static void extreme_values_arrive(void **state)
{
    (void)state;
    cluster c;
    cluster_open(&c, spec_of(HW_F16), policies[0], 1);
    cluster_change(&c, 0, 0, 150000);
    for (int clock = 0; clock < 3; clock++) {
        cluster_cut(&c, 0, true, false);
        let_in(&c);
    }
    assert_true(base_of(c.replicas[1])[0] == 150000);
    cluster_close(&c);
    hw_replica_spec spec = spec_of(HW_BF16);
    spec.blocks = spec.sources = 1;
    cluster_open(&c, spec, policies[0], 1);
    cluster_change(&c, 0, 0, 1.0 / 3);
    cluster_cut(&c, 0, true, false);
    assert_true(base_of(c.replicas[0])[0] == 1.0 / 3);
    cluster_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remainders_stay_small),
        cmocka_unit_test(remainders_wait_for_a_change),
        cmocka_unit_test(entries_that_round_to_zero_are_held),
        cmocka_unit_test(flushed_entries_are_exact),
        cmocka_unit_test(extreme_values_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
