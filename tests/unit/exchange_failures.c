/* Every step of an exchange with the n-th allocation failing, for each n: it ends with a status, and nothing leaks. */
#include "exchange_cluster.h"

#include "failing.h"

enum { BLOCKS = 3, ENTRIES = 300, CLOCKS = 4 };

typedef struct exchange {
    hw_replica *replicas[BLOCKS];
    hw_policy policy;
} exchange;

static hawser_status open_all(exchange *e, bool values, hw_filter filter, hawser_error *error)
{
    for (uint32_t b = 0; b < BLOCKS; b++) {
        hw_replica_spec spec = {.state = 1,
                                .name = "v",
                                .count = ENTRIES,
                                .block = b,
                                .blocks = BLOCKS,
                                .sources = BLOCKS,
                                .values = values,
                                .own_begin = ENTRIES * b / BLOCKS,
                                .own_end = ENTRIES * (b + 1) / BLOCKS,
                                .rule = {.damping = 1, .gain = 3},
                                .filter = filter,
                                .seed = 5};
        HAWSER_TRY(hw_replica_new(&spec, &e->replicas[b], error));
        hw_replica_begin(e->replicas[b], 0, e->policy);
    }
    return HAWSER_OK;
}

/* Sends a message and frees it, also after a failure. */
static hawser_status send(exchange *e, uint32_t source, hw_message *message, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    for (uint32_t b = 0; message != NULL && status == HAWSER_OK && b < BLOCKS; b++) {
        hw_message *copy;
        if (b == source)
            continue;
        status = hw_message_share(message, &copy, error);
        if (status == HAWSER_OK)
            status = hw_replica_accept(e->replicas[b], copy, error);
    }
    if (message != NULL)
        hw_message_free(message);
    return status;
}

/* Changes no entry, a few or all in turn, with a part in between and with increments, which mark the entries that they
 * touch. */
static hawser_status one_clock(exchange *e, uint32_t b, uint64_t clock, bool values, hawser_error *error)
{
    hw_message *message;
    size_t begin = values ? ENTRIES * b / BLOCKS : 0, width = values ? ENTRIES / BLOCKS : ENTRIES;
    size_t count = (clock + b) % 3 == 0 ? 0 : (clock + b) % 3 == 1 ? 5 : width;
    const uint64_t keys[] = {begin, begin + 7};
    HAWSER_TRY(hw_replica_merge(e->replicas[b], clock, error));
    for (size_t i = begin; i < begin + count; i++)
        cache_of(e->replicas[b])[i] += 1.0 + (double)i;
    HAWSER_TRY(hw_replica_cut(e->replicas[b], clock, false, false, &message, error));
    HAWSER_TRY(send(e, b, message, error));
    if (!values)
        HAWSER_TRY(hw_replica_inc(e->replicas[b], keys, (const double[]){0.5, 2.0}, 2, error));
    HAWSER_TRY(hw_replica_cut(e->replicas[b], clock, true, clock + 1 == CLOCKS, &message, error));
    return send(e, b, message, error);
}

static hawser_status exchange_all(exchange *e, bool values, hw_filter filter, hawser_error *error)
{
    HAWSER_TRY(open_all(e, values, filter, error));
    for (uint64_t clock = 0; clock < CLOCKS; clock++)
        for (uint32_t b = 0; b < BLOCKS; b++)
            HAWSER_TRY(one_clock(e, b, clock, values, error));
    for (uint32_t b = 0; b < BLOCKS; b++)
        HAWSER_TRY(hw_replica_end(e->replicas[b], CLOCKS, error));
    return HAWSER_OK;
}

static void fail_each(hw_policy policy, bool values, hw_filter filter)
{
    for (long n = 1;; n++) {
        long before = atomic_load(&live);
        exchange e = {.policy = policy};
        hawser_error error = {0};
        atomic_store(&countdown, n);
        hawser_status status = exchange_all(&e, values, filter, &error);
        bool happened = atomic_load(&countdown) <= 0;
        atomic_store(&countdown, 0);
        for (uint32_t b = 0; status == HAWSER_OK && b < BLOCKS; b++)
            for (size_t i = 0; i < ENTRIES; i++)
                assert_true(fabs(base_of(e.replicas[b])[i] - base_of(e.replicas[0])[i]) <= 1e-9 * (1.0 + (double)i));
        for (uint32_t b = 0; b < BLOCKS; b++)
            hw_replica_free(e.replicas[b]);
        if (atomic_load(&live) != before)
            fail_msg("allocation %ld fails: %ld pieces leak", n, atomic_load(&live) - before);
        if (!happened) {
            assert_int_equal(status, HAWSER_OK);
            assert_true(n > 20);
            return;
        }
        if (status != HAWSER_NO_MEMORY || strlen(error.text) == 0 || strchr(error.text, '\n') != NULL)
            fail_msg("allocation %ld fails: %s, %s", n, hawser_status_name(status), error.text);
    }
}

static void any_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    const hw_policy policies[] = {{HW_POLICY_BSP, 0}, {HW_POLICY_SSP, 2}, {HW_POLICY_TAP, 0}};
    for (size_t p = 0; p < 3; p++) {
        fail_each(policies[p], true, (hw_filter){0});
        for (int kind = HW_FILTER_NONE; kind <= HW_FILTER_RELATIVE; kind++)
            fail_each(policies[p], false, (hw_filter){(hw_filter_kind)kind, kind == HW_FILTER_NONE ? 0 : 120, 2});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_failed_allocation_is_reported_and_leaks_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
