/* A merge function of the user gets the right arguments and replaces the formula. */
#include "exchange_cluster.h"

enum { BLOCKS = 3, ENTRIES = 4, CLOCKS = 3 };

/* w <- soft(w - sum, threshold of the entry / (clock + 1)): a proximal gradient step whose penalty differs by entry. */
static void proximal_step(const hawser_merging *m)
{
    const double *penalty = m->user;
    assert_int_equal(m->blocks, BLOCKS);
    assert_true(m->first + m->count <= ENTRIES);
    for (size_t i = 0; i < m->count; i++) {
        double w = m->state[i] - m->sum[i], limit = penalty[m->first + i] / (double)(m->clock + 1);
        m->state[i] = fabs(w) <= limit ? 0 : w - copysign(limit, w);
    }
}

static double gradient(uint32_t b, size_t i, uint64_t clock)
{
    return 0.125 * (double)((int)(b * 5 + i * 3 + clock * 7) % 11 - 5); /* eighths: every sum is exact */
}

static void bsp_calls_the_merge_function_once_per_clock(void **state)
{
    (void)state;
    double penalty[ENTRIES] = {0, 0.25, 0.5, 4}, expected[ENTRIES] = {0};
    cluster c;
    cluster_open(&c,
                 (hw_replica_spec){.name = "w",
                                   .count = ENTRIES,
                                   .blocks = BLOCKS,
                                   .sources = BLOCKS,
                                   .rule = {.damping = 1, .gain = 1, .merge = proximal_step, .user = penalty}},
                 (hw_policy){HW_POLICY_BSP, 0}, 5);
    for (uint64_t clock = 0; clock < CLOCKS; clock++) {
        for (uint32_t b = 0; b < BLOCKS; b++) {
            cluster_merge(&c, b);
            for (size_t i = 0; i < ENTRIES; i++)
                cluster_change(&c, b, i, gradient(b, i, clock));
            cluster_cut(&c, b, true, false);
        }
        for (uint32_t b = 0; b < BLOCKS; b++)
            while (cluster_deliver(&c, b))
                continue;
        for (size_t i = 0; i < ENTRIES; i++) {
            double limit = penalty[i] / (double)(clock + 1);
            for (uint32_t b = 0; b < BLOCKS; b++)
                expected[i] -= gradient(b, i, clock);
            expected[i] = fabs(expected[i]) <= limit ? 0 : expected[i] - copysign(limit, expected[i]);
        }
    }
    cluster_end(&c, CLOCKS);
    for (uint32_t b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < ENTRIES; i++)
            assert_float_equal(base_of(c.replicas[b])[i], expected[i], 1e-15);
    assert_true(expected[0] != 0 && expected[3] == 0);
    cluster_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bsp_calls_the_merge_function_once_per_clock)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
