#include "exchange/range.h"

#include "exchange_cluster.h"

/* Doubles of every kind, also NaN payloads, -0.0 and subnormals, keep all their bits through both encodings. */
static void every_bit_pattern_survives(void **state)
{
    (void)state;
    hawser_error error = {0};
    const uint64_t odd[] = {0x8000000000000000, 1,
                            0x8000000000000001, 0x7ff0000000000000,
                            0xfff0000000000000, 0x7ff8000000000001,
                            0x7ff4000000000001, 0xffffffffffffffff,
                            0x7fefffffffffffff, 0x3ff0000000000000};
    hw_random random = hw_random_at(3, 0, 0, 0);
    double in[900], out[900];
    bool dense = false, sparse = false;
    for (int round = 0; round < 300; round++) {
        memset(in, 0, sizeof in);
        size_t count = (size_t)hw_random_below(&random, round % 2 ? 10 : 901), n = (size_t)hw_random_below(&random, 901);
        for (size_t k = 0; k < count && n > 0; k++)
            in[hw_random_below(&random, n)] = from_bits(k % 3 ? hw_random_next(&random) : odd[hw_random_below(&random, 10)]);
        hw_message *message;
        check(encode(in, n, &message, &error), &error);
        size_t first = n, last = 0, nonzero = 0;
        for (size_t i = 0; i < n; i++)
            if (memcmp(&in[i], &(double){0}, sizeof(double)) != 0) {
                first = nonzero++ ? first : i;
                last = i;
            }
        size_t window = nonzero ? 8 + 8 * (last - first + 1) : 0, pairs = 12 * nonzero;
        assert_true(message->envelope.length == (window < pairs ? window : pairs)); /* the smaller of the two */
        dense = dense || (nonzero && message->envelope.encoding == HW_DENSE);
        sparse = sparse || message->envelope.encoding == HW_SPARSE;
        memset(out, 0, sizeof out);
        message->envelope.form = HW_FORM_VALUES;
        check(decode(message, 1, n, out, &error), &error);
        assert_true(same_bits(in, out, n));
        hw_message_free(message);
    }
    assert_true(dense && sparse);
}

static void deltas_are_added_with_the_scale(void **state)
{
    (void)state;
    hawser_error error = {0};
    double delta[6] = {0, 2, 0, 0, -3, 0}, out[6] = {1, 1, 1, 1, 1, 1};
    hw_message *message;
    check(encode(delta, 6, &message, &error), &error);
    check(decode(message, 0.5, 6, out, &error), &error);
    const double want[6] = {1, 2, 1, 1, -0.5, 1};
    assert_true(same_bits(out, want, 6));
    hw_message_free(message);
}

static hw_message *sparse_message(const double *values, const uint32_t *indices, uint64_t count)
{
    hw_message *message;
    assert_int_equal(hw_message_new(count * 12, &message, NULL), HAWSER_OK);
    memcpy(message->payload, values, count * 8);
    memcpy((char *)message->payload + count * 8, indices, count * 4);
    message->envelope.kind = HW_MESSAGE_UPDATE;
    message->envelope.form = HW_FORM_DELTA;
    message->envelope.encoding = HW_SPARSE;
    message->envelope.count = count;
    return message;
}

static void refused(hw_message *message, size_t n, const char *words)
{
    hawser_error error = {0};
    double out[64];
    memset(out, 0, sizeof out);
    assert_int_equal(decode(message, 1, n, out, &error), HAWSER_BAD_INPUT);
    if (strstr(error.text, words) == NULL)
        fail_msg("'%s' does not say '%s'", error.text, words);
    for (int i = 0; i < 64; i++)
        assert_true(out[i] == 0); /* no part of it was applied */
}

static void malformed_payloads_are_rejected(void **state)
{
    (void)state;
    const double values[3] = {1, 2, 3};
    hw_message *message = sparse_message(values, (uint32_t[]){1, 5, 9}, 3);
    refused(message, 9, "index 9");
    message->envelope.count = 4;
    refused(message, 64, "36 payload bytes");
    message->envelope.count = UINT64_MAX;
    refused(message, 64, "claims");
    message->envelope.count = UINT64_MAX / 12 + 2;
    refused(message, 64, "claims");
    message->envelope.count = 0;
    refused(message, 64, "payload bytes");
    message->envelope.count = 3;
    message->envelope.encoding = 7;
    refused(message, 64, "encoding 7");
    hw_message_free(message);
    message = sparse_message(values, (uint32_t[]){1, 5, 5}, 3);
    refused(message, 64, "order");
    hw_message_free(message);
    message = sparse_message(values, (uint32_t[]){5, 1, 9}, 3);
    refused(message, 64, "order");
    hw_message_free(message);
}

static void dense_runs_stay_inside(void **state)
{
    (void)state;
    const uint64_t starts[] = {61, 62, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 63};
    for (size_t k = 0; k < 5; k++) {
        hw_message *message;
        assert_int_equal(hw_message_new(32, &message, NULL), HAWSER_OK);
        memset(message->payload, 1, 32);
        memcpy(message->payload, &starts[k], 8);
        message->envelope = (hw_envelope){.form = HW_FORM_DELTA, .encoding = HW_DENSE, .count = 3, .length = 32};
        double out[64] = {0};
        if (starts[k] == 61)
            assert_int_equal(decode(message, 1, 64, out, NULL), HAWSER_OK);
        else
            refused(message, 64, "entries");
        hw_message_free(message);
    }
}

/* Sums by the tree's definition: the left half is the largest power of two below the size. NaN stands for a block without an
 * update. */
static double tree_of(const double *x, uint32_t count)
{
    uint32_t left = 1;
    if (count == 1)
        return x[0];
    while (left * 2 < count)
        left *= 2;
    double one = tree_of(x, left), other = tree_of(x + left, count - left);
    return isnan(one) ? other : isnan(other) ? one : one + other;
}

static void sums_have_one_shape(void **state)
{
    (void)state;
    enum { MOST = 33, COUNT = 5, LEVELS = 7 };
    static double scratch[LEVELS * HW_TILE];
    hawser_error error = {0};
    hw_random random = hw_random_at(8, 0, 0, 0);
    for (uint32_t count = 1; count <= MOST; count++)
        for (int some = 0; some < 2; some++) { /* some or all blocks have updates */
            double values[COUNT], scalars[MOST];
            hw_range range;
            check(hw_range_new(HAWSER_F64, count, COUNT, 0, COUNT, &range, &error), &error);
            for (uint32_t b = 0; b < count; b++) {
                scalars[b] = NAN;
                if (some && hw_random_below(&random, 3) == 0)
                    continue;
                for (int i = 0; i < COUNT; i++)
                    values[i] = hw_random_normal(&random) * pow(10, (double)hw_random_below(&random, 9));
                scalars[b] = values[2];
                hw_message *message;
                check(encode(values, COUNT, &message, &error), &error);
                message->envelope.first = b;
                message->envelope.covers = 1;
                hw_range_park(&range, message);
            }
            double want = tree_of(scalars, count);
            assert_true(some || hw_reduce_scalars(scalars, count) == want);
            size_t over = SIZE_MAX;
            const double *sum = hw_range_sum(&range, (hw_range_piece){0, COUNT, 0}, 0, count, scratch, &over);
            assert_true(over == SIZE_MAX);
            assert_true(isnan(want) ? sum == NULL : sum != NULL && sum[2] == want);
            hw_range_free(&range);
        }
}

static void tied_states_follow_the_damping(void **state)
{
    (void)state;
    double copy[2] = {1, 0.1}, work[2] = {3, 0.3};
    hw_tied_commit(copy, work, 2, 0.25);
    assert_true(copy[0] == 1.5 && work[0] == 1.5 && work[1] == copy[1]);
    const double kept = work[1] = 1e17 / 3;
    hw_tied_commit(copy, work, 2, 1);
    assert_true(copy[1] == kept && work[1] == kept); /* without damping the value is exact */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_pattern_survives),
        cmocka_unit_test(deltas_are_added_with_the_scale),
        cmocka_unit_test(malformed_payloads_are_rejected),
        cmocka_unit_test(dense_runs_stay_inside),
        cmocka_unit_test(sums_have_one_shape),
        cmocka_unit_test(tied_states_follow_the_damping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
