#include "exchange_cluster.h"

enum { N = 600, SENT_MOST = 50 };

static hw_replica_spec filtered(hw_filter_kind kind, uint64_t quota, uint64_t max_held)
{
    return (hw_replica_spec){.name = "v",
                             .count = N,
                             .blocks = 2,
                             .sources = 2,
                             .rule = {.damping = 1, .gain = 1},
                             .filter = {kind, quota, max_held}};
}

static const hw_policy bsp = {HW_POLICY_BSP, 0};

/* Cuts block 0's clock, stores the sent entries by index, and returns the payload bytes. Block 1 changes nothing. */
static size_t cut_and_spread(cluster *c, bool flush, double *sent)
{
    hawser_error error = {0};
    hw_message *message;
    check(hw_replica_cut(c->replicas[0], c->clock[0], true, flush, &message, &error), &error);
    size_t bytes = (size_t)message->envelope.length;
    memset(sent, 0, N * sizeof *sent);
    check(decode(message, 1, N, sent, &error), &error);
    cluster_send(c, 0, message);
    c->clock[0]++;
    cluster_cut(c, 1, true, true);
    for (uint32_t b = 0; b < 2; b++) {
        while (cluster_deliver(c, b))
            continue;
        cluster_merge(c, b);
    }
    return bytes;
}

static size_t count_nonzero(const double *values)
{
    size_t count = 0;
    for (size_t i = 0; i < N; i++)
        count += values[i] != 0;
    return count;
}

static void the_quota_counts_bytes(void **state)
{
    (void)state;
    for (int kind = HW_FILTER_RANDOM; kind <= HW_FILTER_RELATIVE; kind++)
        for (uint64_t quota = 1; quota < 9000; quota = quota * 3 + 5) {
            cluster c;
            double sent[N];
            bool pending[N] = {false};
            cluster_open(&c, filtered((hw_filter_kind)kind, quota, 1000), bsp, 3);
            for (int clock = 0; clock < 6; clock++) {
                for (size_t i = 0; i < N; i += clock % 2 ? 1 : 7)
                    cluster_change(&c, 0, i, 1 + (double)((i * 7919) % 101));
                size_t bytes = cut_and_spread(&c, false, sent);
                assert_true(bytes <= quota);
                size_t waiting = 0;
                for (size_t i = 0; i < N; i++) {
                    pending[i] = sent[i] == 0 && (pending[i] || i % (clock % 2 ? 1 : 7) == 0);
                    waiting += pending[i];
                }
                assert_true(waiting == 0 || count_nonzero(sent) >= quota / 12); /* the quota is used up */
            }
            assert_true(hw_replica_figures_of(c.replicas[0])->payload_bytes <= 6 * quota);
            assert_true(hw_replica_figures_of(c.replicas[0])->flushed_over_quota == 0);
            cluster_close(&c);
        }
}

static void parts_of_a_clock_share_the_quota(void **state)
{
    (void)state;
    cluster c;
    cluster_open(&c, filtered(HW_FILTER_ABSOLUTE, 120, 1000), bsp, 3);
    for (int clock = 0; clock < 4; clock++) {
        uint64_t before = c.payload_bytes;
        for (int part = 0; part < 3; part++) {
            for (size_t i = 0; i < 4; i++)
                cluster_change(&c, 0, (size_t)part * 100 + i, 1);
            cluster_cut(&c, 0, part == 2, false);
        }
        assert_true(c.payload_bytes - before == 120);
        cluster_cut(&c, 1, true, false);
        for (uint32_t b = 0; b < 2; b++) {
            while (cluster_deliver(&c, b))
                continue;
            cluster_merge(&c, b);
        }
    }
    cluster_close(&c);
}

static void no_entry_is_held_longer_than_max_held(void **state)
{
    (void)state;
    for (int kind = HW_FILTER_RANDOM; kind <= HW_FILTER_FIFO; kind++)
        for (uint64_t most = 0; most <= 4; most++) {
            cluster c;
            double sent[N];
            uint64_t since[N];
            bool held[N] = {false};
            uint64_t longest = 0;
            hw_random random = hw_random_at((uint64_t)kind, most, 0, 0);
            cluster_open(&c, filtered((hw_filter_kind)kind, 12 * SENT_MOST, most), bsp, 5);
            for (uint64_t clock = 0; clock < 30; clock++) {
                for (int k = 0; k < 100; k++) {
                    size_t i = (size_t)hw_random_below(&random, N);
                    cluster_change(&c, 0, i, 1 + hw_random_uniform(&random));
                    since[i] = held[i] ? since[i] : clock;
                    held[i] = true;
                }
                cut_and_spread(&c, false, sent);
                for (size_t i = 0; i < N; i++) {
                    held[i] = held[i] && sent[i] == 0;
                    longest = held[i] && clock - since[i] + 1 > longest ? clock - since[i] + 1 : longest;
                }
            }
            assert_true(longest <= most);
            assert_true(longest > 0 || most == 0); /* entries are held if max_held allows it */
            assert_true(most == 0 || hw_replica_figures_of(c.replicas[0])->entries_held > 0);
            assert_true(hw_replica_figures_of(c.replicas[0])->flushed_over_quota >
                        0); /* 100 entries have changed, and 50 fit */
            cluster_close(&c);
        }
}

static void a_flush_sends_everything(void **state)
{
    (void)state;
    cluster c;
    double sent[N];
    cluster_open(&c, filtered(HW_FILTER_ABSOLUTE, 24, 1000), bsp, 1);
    for (size_t i = 0; i < 10; i++)
        cluster_change(&c, 0, i * 50, (double)(i + 1));
    cut_and_spread(&c, false, sent);
    assert_int_equal(count_nonzero(sent), 2);
    cut_and_spread(&c, true, sent);
    assert_int_equal(count_nonzero(sent), 8);
    assert_int_equal(hw_replica_figures_of(c.replicas[0])->flushed_over_quota, 6);
    cluster_end(&c, 2);
    cluster_close(&c);
}

static void an_epoch_with_held_entries_does_not_end(void **state)
{
    (void)state;
    cluster c;
    double sent[N];
    hawser_error error = {0};
    cluster_open(&c, filtered(HW_FILTER_ABSOLUTE, 24, 1000), bsp, 1);
    for (size_t i = 0; i < 10; i++)
        cluster_change(&c, 0, i, 1);
    cut_and_spread(&c, false, sent);
    assert_int_equal(hw_replica_end(c.replicas[0], 1, &error), HAWSER_INTERNAL);
    assert_non_null(strstr(error.text, "held"));
    cluster_close(&c);
}

/* With 24 bytes two entries are sent. Deltas are chosen so that each kind selects two others. */
static void each_kind_has_its_order(void **state)
{
    (void)state;
    cluster c;
    double sent[N], initial[N] = {0};
    for (size_t i = 0; i < N; i++)
        initial[i] = i < 300 ? 1000 : 1;
    hw_replica_spec spec = filtered(HW_FILTER_ABSOLUTE, 24, 1000);
    spec.initial = initial;
    for (int kind = HW_FILTER_ROUND_ROBIN; kind <= HW_FILTER_RELATIVE; kind++) {
        spec.filter.kind = (hw_filter_kind)kind;
        cluster_open(&c, spec, bsp, 1);
        cluster_merge(&c, 0);
        cluster_change(&c, 0, 7, 1);
        cluster_change(&c, 0, 8, -50);
        cluster_change(&c, 0, 9, 50);
        cluster_change(&c, 0, 10, 50);
        cluster_change(&c, 0, 400, -3);
        cluster_change(&c, 0, 500, 3);
        cut_and_spread(&c, false, sent);
        assert_int_equal(count_nonzero(sent), 2);
        size_t first = kind == HW_FILTER_ROUND_ROBIN ? 7 : kind == HW_FILTER_ABSOLUTE ? 8 : 400;
        assert_true(sent[first] != 0 && sent[kind == HW_FILTER_RELATIVE ? 500 : first + 1] != 0);
        cut_and_spread(&c, false, sent); /* held entries are sent next, and round-robin continues where it stopped */
        first = kind == HW_FILTER_ROUND_ROBIN ? 9 : kind == HW_FILTER_ABSOLUTE ? 10 : 8;
        assert_true(sent[first] != 0 && sent[kind == HW_FILTER_ABSOLUTE ? 400 : first + 1] != 0);
        cluster_close(&c);
    }
}

static void the_oldest_entries_are_sent_first(void **state)
{
    (void)state;
    cluster c;
    double sent[N];
    cluster_open(&c, filtered(HW_FILTER_FIFO, 24, 1000), bsp, 1);
    for (size_t clock = 0; clock < 3; clock++) { /* five, then two more per clock; two are sent */
        for (size_t i = 0; i < (clock == 0 ? 5 : 2); i++)
            cluster_change(&c, 0, 400 - 100 * clock + i, 1000 * (double)(clock + 1));
        cluster_change(&c, 0, 404, 1); /* changed again: it keeps its age */
        cut_and_spread(&c, false, sent);
        assert_int_equal(count_nonzero(sent), 2);
        assert_true(clock == 2 ? sent[404] != 0 && sent[300] != 0
                               : sent[400 + 2 * clock] != 0 && sent[401 + 2 * clock] != 0);
    }
    cluster_close(&c);
}

/* Compares with sorting, on many sizes, with ties. */
static void the_largest_scores_are_found(void **state)
{
    (void)state;
    hw_random random = hw_random_at(4, 4, 4, 4);
    for (int round = 0; round < 60; round++) {
        cluster c;
        double sent[N], delta[N];
        size_t capacity = 1 + (size_t)hw_random_below(&random, 300), taken = 0;
        cluster_open(&c, filtered(HW_FILTER_ABSOLUTE, 12 * capacity + 11, 1000), bsp, 1);
        for (size_t i = 0; i < N; i++) {
            delta[i] = round % 2 ? hw_random_normal(&random) : (double)hw_random_below(&random, 9) - 4;
            cluster_change(&c, 0, i, delta[i]);
        }
        cut_and_spread(&c, false, sent);
        for (size_t i = 0; i < N; i++) {
            size_t better = 0;
            for (size_t j = 0; j < N; j++)
                better += fabs(delta[j]) > fabs(delta[i]) || (j < i && fabs(delta[j]) == fabs(delta[i]));
            assert_true((sent[i] != 0) == (delta[i] != 0 && better < capacity));
            taken += sent[i] != 0;
        }
        assert_true(taken <= capacity);
        cluster_close(&c);
    }
}

static void random_is_fair_and_repeatable(void **state)
{
    (void)state;
    cluster c;
    double sent[N], again[N];
    unsigned times[N] = {0};
    for (uint64_t seed = 0; seed < 600; seed++) {
        for (int twice = 0; twice < 2; twice++) {
            cluster_open(&c, filtered(HW_FILTER_RANDOM, 12 * 60, 1000), bsp, seed);
            for (size_t i = 0; i < N; i++)
                cluster_change(&c, 0, i, 1);
            cut_and_spread(&c, false, twice ? again : sent);
            cluster_close(&c);
        }
        assert_true(same_bits(sent, again, N));
        for (size_t i = 0; i < N; i++)
            times[i] += sent[i] != 0;
    }
    for (size_t i = 0; i < N; i++) /* 60 +- 7.3 expected of each; five deviations */
        assert_true(times[i] > 24 && times[i] < 97);
}

/* All blocks have the sent entries in their base; held entries stay in the own cache, through the gain. */
static void held_entries_stay_in_the_cache(void **state)
{
    (void)state;
    cluster c;
    double sent[N];
    hw_replica_spec spec = filtered(HW_FILTER_ABSOLUTE, 24, 1000);
    spec.rule = (hawser_rule){.damping = 0.5, .gain = 4};
    cluster_open(&c, spec, bsp, 1);
    for (size_t i = 0; i < 5; i++)
        cluster_change(&c, 0, i, (double)(i + 1));
    cut_and_spread(&c, false, sent);
    const double base[5] = {0, 0, 0, 2, 2.5}, cache[5] = {4, 8, 12, 2, 2.5};
    assert_true(same_bits(hw_replica_base(c.replicas[0]), base, 5));
    assert_true(same_bits(hw_replica_base(c.replicas[1]), base, 5));
    assert_true(same_bits(hw_replica_cache(c.replicas[0]), cache, 5));
    hw_replica_set_gain(c.replicas[0], 2);
    assert_true(hw_replica_gain(c.replicas[0]) == 4); /* from the next clock on */
    cut_and_spread(&c, false, sent);
    assert_true(hw_replica_gain(c.replicas[0]) == 2);
    const double after[5] = {2, 1, 1.5, 2, 2.5}; /* entry 0 is still held: base 0 + gain 2 * 1 */
    assert_true(same_bits(hw_replica_cache(c.replicas[0]), after, 5));
    cluster_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_quota_counts_bytes),
        cmocka_unit_test(parts_of_a_clock_share_the_quota),
        cmocka_unit_test(no_entry_is_held_longer_than_max_held),
        cmocka_unit_test(a_flush_sends_everything),
        cmocka_unit_test(an_epoch_with_held_entries_does_not_end),
        cmocka_unit_test(each_kind_has_its_order),
        cmocka_unit_test(the_oldest_entries_are_sent_first),
        cmocka_unit_test(the_largest_scores_are_found),
        cmocka_unit_test(random_is_fair_and_repeatable),
        cmocka_unit_test(held_entries_stay_in_the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
