#include "exchange_cluster.h"

static double spread(hw_random *random)
{
    return hw_random_normal(random) * pow(10, (double)hw_random_below(random, 12) - 6);
}

/* Makes changes that depend only on block and clock: dense, sparse or none. */
static void work(cluster *c, uint32_t b, uint64_t seed, uint64_t piece)
{
    hw_random random = hw_random_at(seed, 5 + piece, b, c->clock[b]);
    uint64_t how = hw_random_below(&random, 4);
    size_t count = how == 0 ? 0 : how == 1 ? c->n : 1 + (size_t)hw_random_below(&random, 5);
    for (size_t k = 0; k < count; k++)
        cluster_change(c, b, how == 1 ? k : (size_t)hw_random_below(&random, c->n), spread(&random));
}

typedef struct schedule {
    uint64_t clocks, seed;
    bool yields;
} schedule;

static void one_step(cluster *c, uint32_t b, schedule plan, uint64_t seed)
{
    bool final = c->clock[b] + 1 == plan.clocks;
    cluster_merge(c, b);
    for (uint64_t piece = 0; plan.yields && piece < hw_random_at(seed, 9, b, c->clock[b]).key[0] % 3; piece++) {
        work(c, b, seed, piece);
        cluster_cut(c, b, false, false);
        if (hw_random_below(&c->random, 2))
            cluster_deliver(c, b);
        if (hw_random_below(&c->random, 2))
            cluster_merge(c, b);
    }
    if (hw_random_below(&c->random, 2))
        cluster_deliver(c, b); /* an update may arrive while a unit runs */
    work(c, b, seed, 99);
    cluster_cut(c, b, true, final);
}

/* Runs all blocks to the end in an order that the schedule's seed decides; the work depends only on `seed`. */
static void run(cluster *c, schedule plan, uint64_t seed)
{
    uint64_t left = 0;
    for (uint32_t b = 0; b < c->blocks; b++)
        left += plan.clocks - c->clock[b];
    while (left > 0) {
        uint32_t b = (uint32_t)hw_random_below(&c->random, c->blocks);
        if (hw_random_below(&c->random, 3) || c->clock[b] == plan.clocks || !cluster_ready(c, b)) {
            cluster_deliver(c, b);
            continue;
        }
        one_step(c, b, plan, seed);
        left--;
    }
    cluster_end(c, plan.clocks);
}

static void one_block_keeps_its_values_bit_by_bit(void **state)
{
    (void)state;
    cluster c;
    hawser_error error = {0};
    double values[700];
    hw_random random = hw_random_at(1, 1, 1, 1);
    cluster_open(&c, plain_spec(1, 700), (hw_policy){HW_POLICY_BSP, 0}, 1);
    for (int clock = 0; clock < 4; clock++) {
        cluster_merge(&c, 0);
        assert_true(clock == 0 || same_bits(hw_replica_cache(c.replicas[0]), values, 700));
        for (size_t i = 0; i < 700; i++)
            values[i] = cache_of(c.replicas[0])[i] = spread(&random);
        hw_message *message;
        check(hw_replica_cut(c.replicas[0], (uint64_t)clock, true, false, &message, &error), &error);
        assert_null(message);
        c.clock[0]++;
        assert_true(same_bits(hw_replica_base(c.replicas[0]), values, 700));
    }
    cluster_close(&c);
}

/* Checks sums up to rounding: some units in the last place of all numbers that were added. */
static void assert_sum(const cluster *c, const double *values, double damping, double ulps)
{
    for (size_t i = 0; i < c->n; i++)
        if (!(fabs(values[i] - damping * c->computed[i]) <= ulps * 0x1p-53 * (c->magnitude[i] + fabs(values[i]))))
            fail_msg("entry %zu is %.17g where %.17g was computed", i, values[i], damping * c->computed[i]);
}

static const hw_policy policies[] = {{HW_POLICY_BSP, 0}, {HW_POLICY_SSP, 1}, {HW_POLICY_SSP, 3}, {HW_POLICY_TAP, 0}};

static void every_update_arrives_once(void **state)
{
    (void)state;
    const double gains[] = {1, 3, 8}, dampings[] = {1, 0.25};
    for (int filter = HW_FILTER_NONE; filter <= HW_FILTER_FIFO; filter++)
        for (size_t p = 0; p < 4; p++)
            for (size_t g = 0; g < 3; g++)
                for (size_t d = 0; d < 2; d++)
                    for (uint32_t blocks = 1; blocks <= 5; blocks += 2) {
                        cluster c;
                        uint64_t seed = (uint64_t)filter * 1000 + p * 100 + g * 10 + d + blocks * 7;
                        static const hw_width roundings[] = {HW_F64, HW_BF16, HW_F16, HW_INT8};
                        hw_replica_spec spec = plain_spec(blocks, 1100);
                        spec.rule = (hawser_rule){.damping = dampings[d], .gain = gains[g]};
                        spec.filter = (hw_filter){(hw_filter_kind)filter, 12 * 200, 2};
                        spec.rounding = roundings[((size_t)filter + p + g + d) % 4];
                        cluster_open(&c, spec, policies[p], seed);
                        run(&c, (schedule){8, seed, true}, seed);
                        for (uint32_t b = 0; b < blocks; b++) {
                            const double *base = hw_replica_base(c.replicas[b]);
                            assert_sum(&c, base, blocks == 1 ? 1 : dampings[d], 64); /* of one block there is no sum */
                            assert_true(same_bits(base, hw_replica_cache(c.replicas[b]), c.n));
                            if (policies[p].kind == HW_POLICY_BSP)
                                assert_true(same_bits(base, hw_replica_base(c.replicas[0]), c.n));
                        }
                        cluster_close(&c);
                    }
}

static void bsp_bits_do_not_depend_on_arrival(void **state)
{
    (void)state;
    for (uint32_t blocks = 2; blocks <= MOST_BLOCKS; blocks++) {
        double first[1300];
        for (uint64_t order = 0; order < 12; order++) {
            cluster c;
            hw_replica_spec spec = plain_spec(blocks, 1300);
            spec.rule.damping = 0.7;
            spec.rule.gain = 1.9;
            cluster_open(&c, spec, policies[0], order);
            run(&c, (schedule){5, order, true}, 42);
            for (uint32_t b = 0; b < blocks; b++) {
                if (order == 0 && b == 0)
                    memcpy(first, hw_replica_base(c.replicas[0]), sizeof first);
                assert_true(same_bits(first, hw_replica_base(c.replicas[b]), 1300));
            }
            cluster_close(&c);
        }
    }
}

/* A large payload may be reused only when all readers have released it. Here one is kept for the whole run. */
static void payloads_in_use_are_not_reused(void **state)
{
    (void)state;
    enum { LARGE = 20000 };
    for (size_t p = 0; p < 4; p++) {
        cluster c;
        hawser_error error = {0};
        hw_message *kept;
        double *seen = calloc(LARGE, sizeof *seen), *again = calloc(LARGE, sizeof *again);
        assert_true(seen != NULL && again != NULL);
        cluster_open(&c, plain_spec(3, LARGE), policies[p], p);
        for (size_t i = 0; i < LARGE; i++)
            cluster_change(&c, 0, i, spread(&c.random));
        cluster_cut(&c, 0, true, false);
        check(hw_message_share(c.links[1][0].first, &kept, &error), &error);
        check(decode(kept, 1, LARGE, seen, &error), &error);
        run(&c, (schedule){12, p, true}, p);
        check(decode(kept, 1, LARGE, again, &error), &error);
        assert_true(same_bits(seen, again, LARGE));
        for (uint32_t b = 0; b < 3; b++)
            assert_sum(&c, hw_replica_base(c.replicas[b]), 1, 64);
        hw_message_free(kept);
        cluster_close(&c);
        free(seen);
        free(again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_block_keeps_its_values_bit_by_bit),
        cmocka_unit_test(every_update_arrives_once),
        cmocka_unit_test(payloads_in_use_are_not_reused),
        cmocka_unit_test(bsp_bits_do_not_depend_on_arrival),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
