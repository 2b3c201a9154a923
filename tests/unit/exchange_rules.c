#include "exchange_cluster.h"

static const hw_policy bsp = {HW_POLICY_BSP, 0}, ssp = {HW_POLICY_SSP, 2};

static void pass_all(cluster *c)
{
    for (uint32_t b = 0; b < c->blocks; b++)
        while (cluster_deliver(c, b))
            continue;
}

static void bsp_shows_nothing_before_the_merge(void **state)
{
    (void)state;
    cluster c;
    cluster_open(&c, plain_spec(2, 3), bsp, 1);
    cluster_change(&c, 0, 0, 5);
    cluster_change(&c, 1, 1, 7);
    cluster_cut(&c, 0, true, false);
    cluster_cut(&c, 1, true, false);
    assert_false(cluster_ready(&c, 0));
    pass_all(&c);
    assert_true(cluster_ready(&c, 0) && base_of(c.replicas[0])[0] == 0);
    cluster_merge(&c, 0);
    cluster_change(&c, 0, 2, 9);
    cluster_cut(&c, 0, true, false); /* clock 1 of block 0 reaches block 1 before it has merged clock 0: it stays parked */
    pass_all(&c);
    cluster_merge(&c, 1);
    const double zero_in[3] = {5, 7, 0};
    assert_true(same_bits(hw_replica_cache(c.replicas[1]), zero_in, 3));
    cluster_close(&c);
}

static void ssp_folds_around_unsent_changes(void **state)
{
    (void)state;
    cluster c;
    hw_replica_spec spec = plain_spec(2, 3);
    spec.rule = (hawser_rule){.damping = 0.5, .gain = 4};
    cluster_open(&c, spec, ssp, 1);
    cluster_merge(&c, 0);
    cluster_change(&c, 0, 0, 1); /* cache +4, not cut yet */
    cluster_change(&c, 1, 0, 10);
    cluster_cut(&c, 1, true, false);
    pass_all(&c);
    const double base[3] = {5, 0, 0}, cache[3] = {9, 0, 0}, after[3] = {5.5, 0, 0};
    assert_true(same_bits(hw_replica_base(c.replicas[0]), base, 3));
    assert_true(cache_of(c.replicas[0])[0] == 4); /* contents change only at a merge */
    cluster_merge(&c, 0);
    assert_true(same_bits(hw_replica_cache(c.replicas[0]), cache, 3));
    cluster_cut(&c, 0, true, false);
    assert_true(same_bits(hw_replica_base(c.replicas[0]), after, 3));
    pass_all(&c);
    assert_true(same_bits(hw_replica_base(c.replicas[1]), after, 3));
    cluster_close(&c);
}

/* hawser_publish cuts a part and merges no update. The unit goes on, and the part is not sent again. */
static void a_part_is_sent_once(void **state)
{
    (void)state;
    for (int policy = 0; policy < 2; policy++) {
        cluster c;
        cluster_open(&c, plain_spec(2, 3), policy ? ssp : bsp, 1);
        cluster_merge(&c, 0);
        cluster_change(&c, 0, 0, 1);
        cluster_cut(&c, 0, false, false);
        cluster_cut(&c, 0, false, false); /* no further change, no message */
        assert_null(c.links[1][0].first->next);
        cluster_change(&c, 0, 0, 2);
        cluster_cut(&c, 0, true, false);
        cluster_cut(&c, 1, true, false);
        pass_all(&c);
        cluster_end(&c, 1);
        assert_true(base_of(c.replicas[0])[0] == 3 && base_of(c.replicas[1])[0] == 3);
        cluster_close(&c);
    }
}

static void rollback_returns_to_the_last_cut(void **state)
{
    (void)state;
    cluster c;
    cluster_open(&c, plain_spec(2, 3), bsp, 1);
    cluster_merge(&c, 0);
    cache_of(c.replicas[0])[0] = 1;
    cluster_cut(&c, 0, false, false);
    cache_of(c.replicas[0])[0] = 100;
    hw_replica_touch(c.replicas[0], 1, 1);
    hw_replica_rollback(c.replicas[0]);
    assert_true(cache_of(c.replicas[0])[0] == 1);
    cluster_cut(&c, 0, true, false);
    cluster_cut(&c, 1, true, false);
    cluster_end(&c, 1);
    assert_true(base_of(c.replicas[1])[0] == 1);
    cluster_close(&c);
}

/* The numbers of a single writer arrive exactly, although base + (cache - base) would round. */
static void one_source_sends_values(void **state)
{
    (void)state;
    for (int policy = 0; policy < 2; policy++)
        for (uint32_t source = 0; source < 3; source++) {
            cluster c;
            hw_replica_spec spec = plain_spec(3, 500);
            spec.sources = 1;
            spec.source = source;
            cluster_open(&c, spec, policy ? ssp : bsp, 1);
            double *cache = hw_replica_cache(c.replicas[source]);
            for (uint64_t clock = 0; clock < 4; clock++) {
                cluster_merge(&c, source);
                for (size_t i = 0; i < 500; i++)
                    cache[i] = hw_random_normal(&c.random) * pow(10, (double)hw_random_below(&c.random, 20));
                cache[3] = -0.0;
                hawser_error error = {0};
                hw_message *message;
                check(hw_replica_cut(c.replicas[(source + 1) % 3], clock, true, false, &message, &error), &error);
                assert_null(message); /* other blocks send nothing */
                cluster_cut(&c, source, true, false);
                pass_all(&c);
                for (uint32_t b = 0; b < 3; b++) {
                    c.clock[b] = clock + 1;
                    assert_true(hw_clock_table_least(hw_replica_clocks(c.replicas[b])) == clock + 1);
                    cluster_merge(&c, b);
                    assert_true(same_bits(hw_replica_cache(c.replicas[b]), cache, 500));
                    assert_true(same_bits(hw_replica_base(c.replicas[b]), cache, 500));
                }
            }
            cluster_close(&c);
        }
}

static void partitioned_ranges_are_sent_as_values(void **state)
{
    (void)state;
    for (int policy = 0; policy < 2; policy++) {
        cluster c;
        double want[1000];
        hw_replica_spec spec = plain_spec(3, 1000);
        spec.values = true;
        cluster_open(&c, spec, policy ? ssp : bsp, 1);
        for (uint64_t clock = 0; clock < 3; clock++) {
            for (uint32_t b = 0; b < 3; b++) {
                cluster_merge(&c, b);
                for (size_t i = 1000 * b / 3; i < 1000 * (b + 1) / 3; i += clock == 1 ? 100 : 1)
                    cache_of(c.replicas[b])[i] = 1 / (double)(i + clock + 3);
            }
            for (uint32_t b = 0; b < 3; b++)
                cluster_cut(&c, b, true, false);
            pass_all(&c);
            for (uint32_t b = 0; b < 3; b++) {
                for (size_t i = 1000 * b / 3; i < 1000 * (b + 1) / 3; i += clock == 1 ? 100 : 1)
                    want[i] = 1 / (double)(i + clock + 3);
                cluster_merge(&c, b);
            }
            for (uint32_t b = 0; b < 3; b++)
                assert_true(same_bits(hw_replica_cache(c.replicas[b]), want, 1000));
        }
        assert_true(hw_replica_figures_of(c.replicas[0])->sparse_messages == 1);
        hawser_error error = {0};
        const uint64_t absent = 334;
        const double one = 1;
        assert_int_equal(hw_replica_inc(c.replicas[0], &absent, &one, 1, &error), HAWSER_BAD_ARGUMENT);
        cluster_close(&c);
    }
}

static void only_touched_ranges_are_compared(void **state)
{
    (void)state;
    cluster c;
    cluster_open(&c, plain_spec(2, 5000), bsp, 1);
    cluster_merge(&c, 0);
    cache_of(c.replicas[0])[4000] = 2;
    cache_of(c.replicas[0])[10] = 1;
    hw_replica_touch(c.replicas[0], 4000, 1);
    hw_replica_touch(c.replicas[0], 4999, SIZE_MAX);
    cluster_cut(&c, 0, true, false);
    assert_true(c.links[1][0].first->envelope.count == 1);
    cluster_cut(&c, 1, true, false);
    pass_all(&c);
    cluster_merge(&c, 0);
    cluster_merge(&c, 1);
    assert_true(cache_of(c.replicas[1])[4000] == 2 && cache_of(c.replicas[1])[10] == 0);
    const uint64_t key = 77;
    const double three = 3;
    hw_replica_touch(c.replicas[0], 0, 0); /* only increments change entries */
    check(hw_replica_inc(c.replicas[0], &key, &three, 1, NULL), &(hawser_error){0});
    cluster_cut(&c, 0, true, false);
    cluster_cut(&c, 1, true, false);
    pass_all(&c);
    cluster_merge(&c, 1);
    assert_true(cache_of(c.replicas[1])[77] == 3);
    cluster_close(&c);
}

static void increments_go_through_the_gain(void **state)
{
    (void)state;
    cluster c;
    hawser_error error = {0};
    hw_replica_spec spec = plain_spec(2, 10);
    spec.rule.gain = 4;
    cluster_open(&c, spec, bsp, 1);
    cluster_merge(&c, 0);
    const uint64_t keys[] = {2, 9, 2}, beyond = 10;
    const double values[] = {1, 2, 3};
    check(hw_replica_inc(c.replicas[0], keys, values, 3, &error), &error);
    assert_true(cache_of(c.replicas[0])[2] == 16 && cache_of(c.replicas[0])[9] == 8);
    assert_int_equal(hw_replica_inc(c.replicas[0], &beyond, values, 1, &error), HAWSER_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "'v'"));
    cluster_cut(&c, 0, true, false);
    cluster_cut(&c, 1, true, false);
    cluster_end(&c, 1);
    assert_true(base_of(c.replicas[1])[2] == 4 && base_of(c.replicas[0])[9] == 2);
    cluster_close(&c);
}

static void numbers_that_are_not_finite_are_rejected(void **state)
{
    (void)state;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int kind = 0; kind < 12; kind++) {
        hawser_error error = {0};
        hw_message *message;
        hw_replica *replica;
        hw_replica_spec spec = plain_spec(kind < 3 ? 1 : 2, 1000);
        spec.values = kind >= 6 && kind < 9;
        spec.own_end = spec.values ? 1000 : 0;
        if (kind >= 9)
            spec.filter = (hw_filter){HW_FILTER_ABSOLUTE, 100, 3};
        check(hw_replica_new(&spec, &replica, &error), &error);
        hw_replica_begin(replica, 0, bsp);
        cache_of(replica)[700] = bad[kind % 3];
        cache_of(replica)[3] = 1;
        assert_int_equal(hw_replica_cut(replica, 0, true, false, &message, &error), HAWSER_NOT_FINITE);
        assert_null(message);
        assert_non_null(strstr(error.text, "'v'"));
        assert_non_null(strstr(error.text, "block 0"));
        assert_non_null(strstr(error.text, "700"));
        hw_replica_free(replica);
    }
}

static void sum_twice(const hawser_merging *merging)
{
    *(int *)merging->user += 1;
    for (size_t i = 0; i < merging->count; i++)
        merging->state[i] += 2 * merging->sum[i] * merging->blocks;
}

static void the_users_merge_replaces_the_formula(void **state)
{
    (void)state;
    for (int policy = 0; policy < 2; policy++) {
        cluster c;
        int calls = 0;
        hw_replica_spec spec = plain_spec(2, 800);
        spec.rule.merge = sum_twice;
        spec.rule.user = &calls;
        cluster_open(&c, spec, policy ? ssp : bsp, 1);
        for (uint32_t b = 0; b < 2; b++) {
            cluster_change(&c, b, 5, 1);
            cluster_change(&c, b, 700, b);
            cluster_cut(&c, b, true, false);
        }
        pass_all(&c);
        cluster_end(&c, 1);
        assert_true(base_of(c.replicas[0])[5] == 8 && cache_of(c.replicas[1])[700] == 4);
        assert_int_equal(calls, policy ? 4 : 2); /* per merge under BSP: once with the whole sum, at each block */
        cluster_close(&c);
    }
}

/* With a tied local state, v = A alpha holds under every damping, gain and filter, and a rebuild computes the same v. */
static void tied_state_and_rebuild_agree(void **state)
{
    (void)state;
    enum { ROWS = 40, COLS = 6, BLOCKS = 3 };
    const double dampings[] = {1, 1.0 / BLOCKS};
    for (int round = 0; round < 16; round++) {
        cluster c;
        double A[BLOCKS][COLS][ROWS], copy[BLOCKS][COLS] = {{0}}, work[BLOCKS][COLS] = {{0}}, v[ROWS] = {0};
        hw_replica_spec spec = plain_spec(BLOCKS, ROWS);
        spec.rule = (hawser_rule){.damping = dampings[round % 2], .gain = round % 4 < 2 ? 1 : BLOCKS};
        spec.filter = (hw_filter){round < 8 ? HW_FILTER_NONE : HW_FILTER_RELATIVE, 12 * 9, 3};
        cluster_open(&c, spec, round & 4 ? ssp : bsp, (uint64_t)round);
        for (double *a = &A[0][0][0]; a < &A[0][0][0] + BLOCKS * COLS * ROWS; a++)
            *a = hw_random_normal(&c.random);
        for (int clock = 0; clock < 6; clock++) {
            for (uint32_t b = 0; b < BLOCKS; b++) {
                cluster_merge(&c, b);
                size_t j = (size_t)hw_random_below(&c.random, COLS);
                double step = hw_random_normal(&c.random);
                work[b][j] += step;
                for (size_t i = 0; i < ROWS; i++)
                    cluster_change(&c, b, i, step * A[b][j][i]);
                cluster_cut(&c, b, true, clock == 5);
                hw_tied_commit(copy[b], work[b], COLS, spec.rule.damping);
            }
            pass_all(&c);
        }
        cluster_end(&c, 6);
        for (uint32_t b = 0; b < BLOCKS; b++)
            for (size_t j = 0; j < COLS; j++)
                for (size_t i = 0; i < ROWS; i++)
                    v[i] += A[b][j][i] * copy[b][j];
        for (size_t i = 0; i < ROWS; i++)
            assert_true(fabs(base_of(c.replicas[round % BLOCKS])[i] - v[i]) < 1e-12);
        for (uint32_t b = 0; b < BLOCKS; b++) {
            hw_replica *replica = c.replicas[b];
            hw_replica_zero(replica);
            hw_replica_plain(replica, true);
            hw_replica_begin(replica, 1, bsp);
            c.clock[b] = 0;
        }
        c.policy = bsp;
        for (uint32_t b = 0; b < BLOCKS; b++) {
            hawser_error error = {0};
            hw_message *message;
            cluster_merge(&c, b);
            assert_true(hw_replica_gain(c.replicas[b]) == 1);
            for (size_t j = 0; j < COLS; j++)
                for (size_t i = 0; i < ROWS; i++)
                    cache_of(c.replicas[b])[i] += A[b][j][i] * copy[b][j];
            check(hw_replica_cut(c.replicas[b], 0, true, false, &message, &error), &error);
            cluster_send(&c, b, message);
            c.clock[b]++;
        }
        cluster_end(&c, 1);
        for (uint32_t b = 0; b < BLOCKS; b++) {
            for (size_t i = 0; i < ROWS; i++)
                assert_true(fabs(base_of(c.replicas[b])[i] - v[i]) < 1e-12);
            assert_true(same_bits(hw_replica_base(c.replicas[b]), hw_replica_base(c.replicas[0]), ROWS));
            hw_replica_plain(c.replicas[b], false);
            assert_true(hw_replica_gain(c.replicas[b]) == spec.rule.gain);
        }
        cluster_close(&c);
    }
}

static void updates_of_a_coming_epoch_wait(void **state)
{
    (void)state;
    cluster c;
    hawser_error error = {0};
    hw_message *message;
    cluster_open(&c, plain_spec(2, 3), ssp, 1);
    for (uint32_t b = 0; b < 2; b++)
        cluster_cut(&c, b, true, false);
    pass_all(&c);
    check(hw_replica_end(c.replicas[1], 1, &error), &error);
    hw_replica_begin(c.replicas[1], 4, ssp);
    cache_of(c.replicas[1])[1] = 6;
    check(hw_replica_cut(c.replicas[1], 0, true, false, &message, &error), &error);
    check(hw_replica_accept(c.replicas[0], message, &error), &error);
    assert_true(base_of(c.replicas[0])[1] == 0);
    check(hw_replica_end(c.replicas[0], 1, &error), &error);
    assert_true(base_of(c.replicas[0])[1] == 0);
    hw_replica_begin(c.replicas[0], 4, ssp);
    assert_true(base_of(c.replicas[0])[1] == 6 && hw_replica_clocks(c.replicas[0])->done[1] == 1);
    cluster_close(&c);
}

static hw_message *update(uint32_t source, uint64_t clock, uint32_t part, double value)
{
    hawser_error error = {0};
    hw_message *message;
    check(encode((double[]){0, value, 0}, 3, &message, &error), &error);
    message->envelope.source = source;
    message->envelope.state = 3;
    message->envelope.clock = clock;
    message->envelope.part = part;
    return message;
}

static void refuse(hw_replica *replica, hw_message *message, hawser_status status, const char *words)
{
    hawser_error error = {0};
    assert_int_equal(hw_replica_accept(replica, message, &error), status);
    if (strstr(error.text, words) == NULL)
        fail_msg("'%s' does not say '%s'", error.text, words);
}

static void wrong_messages_are_rejected(void **state)
{
    (void)state;
    for (int policy = 0; policy < 2; policy++) {
        cluster c;
        hw_message *m;
        cluster_open(&c, plain_spec(3, 3), policy ? ssp : bsp, 1);
        hw_replica *r = c.replicas[0];
        refuse(r, update(0, 0, 0, 1), HAWSER_BAD_INPUT, "block 0");
        refuse(r, update(3, 0, 0, 1), HAWSER_BAD_INPUT, "block 3");
        refuse(r, update(1, 1, 0, 1), HAWSER_BAD_INPUT, "clock 0 is due");
        refuse(r, update(1, 0, 1, 1), HAWSER_BAD_INPUT, "part 0");
        refuse(r, update(1, 0, 0, NAN), HAWSER_NOT_FINITE, "entry 1");
        (m = update(1, 0, 0, 1))->envelope.state = 4;
        refuse(r, m, HAWSER_BAD_INPUT, "state 4");
        (m = update(1, 0, 0, 1))->envelope.kind = HW_MESSAGE_DONE;
        refuse(r, m, HAWSER_BAD_INPUT, "kind 2");
        (m = update(1, 0, 0, 1))->envelope.form = HW_FORM_VALUES;
        refuse(r, m, HAWSER_BAD_INPUT, "form 2");
        (m = update(1, 0, 0, 1))->envelope.last = 2;
        refuse(r, m, HAWSER_BAD_INPUT, "due");
        (m = update(1, 0, 0, 1))->envelope.count = 4;
        refuse(r, m, HAWSER_BAD_INPUT, "4 entries");
        assert_int_equal(hw_replica_accept(r, update(1, 0, 0, 1), NULL), HAWSER_OK);
        refuse(r, update(1, 0, 0, 1), HAWSER_BAD_INPUT, "part 1");
        (m = update(1, 0, 1, 1))->envelope.last = 1;
        assert_int_equal(hw_replica_accept(r, m, NULL), HAWSER_OK);
        refuse(r, update(1, 0, 2, 1), HAWSER_BAD_INPUT, "clock 1 is due");
        assert_int_equal(hw_replica_cut(r, 1, true, false, &m, NULL), HAWSER_INTERNAL);
        assert_int_equal(hw_replica_end(r, 1, NULL), HAWSER_INTERNAL); /* no clock of block 2 has arrived */
        if (policy == 0)
            assert_int_equal(hw_replica_merge(r, 1, NULL), HAWSER_INTERNAL);
        cluster_cut(&c, 0, true, false);
        (m = update(2, 0, 0, 1))->envelope.last = 1;
        assert_int_equal(hw_replica_accept(r, m, NULL), HAWSER_OK);
        assert_int_equal(hw_replica_end(r, 1, NULL), HAWSER_OK);
        assert_true(base_of(r)[1] == 3);
        refuse(r, update(1, 1, 0, 1), HAWSER_BAD_INPUT, "over");
        cluster_close(&c);
    }
}

/* Without a merge in between, the cache would be compared with a base that has changed. */
static void a_clock_begins_with_a_merge(void **state)
{
    (void)state;
    cluster c;
    hw_message *message;
    cluster_open(&c, plain_spec(2, 3), ssp, 1);
    cluster_cut(&c, 0, true, false);
    assert_int_equal(hw_replica_cut(c.replicas[0], 1, true, true, &message, NULL), HAWSER_INTERNAL);
    cluster_merge(&c, 0);
    cluster_cut(&c, 0, true, true);
    cluster_close(&c);
}

static void the_gain_changes_between_clocks(void **state)
{
    (void)state;
    cluster c;
    cluster_open(&c, plain_spec(2, 3), bsp, 1);
    hw_replica_set_gain(c.replicas[0], 2);
    cluster_merge(&c, 0);
    assert_true(hw_replica_gain(c.replicas[0]) == 2);
    cache_of(c.replicas[0])[0] = 2;
    hw_replica_set_gain(c.replicas[0], 8); /* inside a clock: changes under gain 2 are sent as such */
    assert_true(hw_replica_gain(c.replicas[0]) == 2);
    cluster_cut(&c, 0, true, false);
    cluster_cut(&c, 1, true, false);
    pass_all(&c);
    cluster_merge(&c, 0);
    assert_true(cache_of(c.replicas[0])[0] == 1 && hw_replica_gain(c.replicas[0]) == 8);
    cluster_close(&c);
}

static void only_the_owner_changes_its_range(void **state)
{
    (void)state;
    cluster c;
    hw_replica_spec spec = plain_spec(3, 3);
    spec.values = true;
    cluster_open(&c, spec, bsp, 1);
    hw_message *m = update(0, 0, 0, 1);
    m->envelope.form = HW_FORM_VALUES;
    refuse(c.replicas[1], m, HAWSER_BAD_INPUT, "owns");
    cluster_close(&c);
}

static void specs_that_do_not_fit_are_rejected(void **state)
{
    (void)state;
    hw_replica *replica;
    for (int kind = 0; kind < 7; kind++) {
        hw_replica_spec spec = plain_spec(3, 3);
        spec.block = kind == 0 ? 3 : 0;
        spec.sources = kind == 1 ? 2 : kind == 2 ? 1 : 3;
        spec.source = kind == 2 ? 3 : 0;
        spec.values = kind == 3;
        spec.own_end = kind == 3 ? 4 : 0;
        spec.rule.damping = kind == 4 ? 0 : 1;
        spec.rule.gain = kind == 5 ? -1 : kind == 6 ? NAN : 1;
        assert_int_equal(hw_replica_new(&spec, &replica, NULL), HAWSER_BAD_ARGUMENT);
        assert_null(replica);
    }
    hw_replica_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bsp_shows_nothing_before_the_merge),
        cmocka_unit_test(ssp_folds_around_unsent_changes),
        cmocka_unit_test(a_part_is_sent_once),
        cmocka_unit_test(rollback_returns_to_the_last_cut),
        cmocka_unit_test(one_source_sends_values),
        cmocka_unit_test(partitioned_ranges_are_sent_as_values),
        cmocka_unit_test(only_touched_ranges_are_compared),
        cmocka_unit_test(increments_go_through_the_gain),
        cmocka_unit_test(numbers_that_are_not_finite_are_rejected),
        cmocka_unit_test(the_users_merge_replaces_the_formula),
        cmocka_unit_test(tied_state_and_rebuild_agree),
        cmocka_unit_test(updates_of_a_coming_epoch_wait),
        cmocka_unit_test(wrong_messages_are_rejected),
        cmocka_unit_test(a_clock_begins_with_a_merge),
        cmocka_unit_test(the_gain_changes_between_clocks),
        cmocka_unit_test(only_the_owner_changes_its_range),
        cmocka_unit_test(specs_that_do_not_fit_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
