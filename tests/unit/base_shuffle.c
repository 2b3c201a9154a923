/* base_shuffle.c - an order of [0, count) has every number once, and all orders are about equally frequent. Seeds are
 * fixed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/shuffle.h"
#include "sanitized.h"

/* Which part of the key changes from order to order. */
typedef enum varied { SEED, STREAM, EPOCH, KINDS } varied;

static hw_shuffle order_of(varied kind, uint64_t count, uint64_t number)
{
    return hw_shuffle_of(count, kind == SEED ? number : 3, kind == STREAM ? number : 5, kind == EPOCH ? number : 7);
}

static void check_bijection(uint64_t count, uint64_t number)
{
    hw_shuffle order = order_of((varied)(number % KINDS), count, number);
    unsigned char *seen = calloc(count, 1);
    assert_non_null(seen);
    for (uint64_t k = 0; k < count; k++) {
        uint64_t at = hw_shuffle_at(&order, k);
        assert_true(at < count);
        assert_int_equal(seen[at]++, 0);
    }
    free(seen);
}

static void order_has_every_number_once(void **state)
{
    (void)state;
    for (uint64_t count = 1; count < 300; count++)
        check_bijection(count, count);
    static const uint64_t counts[] = {511, 512, 513, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 4999, 65536, 65537, 100003};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (uint64_t number = 0; number < 3; number++)
            check_bijection(counts[i], number);
}

static void large_order_stays_in_its_range(void **state)
{
    (void)state;
    static const uint64_t counts[] = {UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1, UINT64_C(1) << 62, (UINT64_C(1) << 63) + 1,
                                      UINT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        hw_shuffle order = order_of(SEED, counts[i], i);
        for (uint64_t k = 0; k < 1000; k++) {
            uint64_t at = hw_shuffle_at(&order, counts[i] - 1 - k);
            assert_true(at < counts[i]);
            for (uint64_t j = 0; j < 30 && j < k; j++)
                assert_true(hw_shuffle_at(&order, counts[i] - 1 - j) != at);
        }
    }
}

/* Returns by how many standard deviations a sum of (seen - expected)^2 / expected over cells is above its mean. */
static double excess(double sum, double cells)
{
    return (sum - (cells - 1)) / sqrt(2 * (cells - 1));
}

/* Every order of a few numbers is seen equally often, whichever part of the key changes. */
static void orders_are_uniform(void **state)
{
    (void)state;
    enum { MOST = 5, CODES = 3125 };
    const double orders = (double)tried_of(18000);
    for (uint64_t count = 2; count <= MOST; count++)
        for (varied kind = SEED; kind < KINDS; kind++) {
            static int seen[CODES];
            for (int i = 0; i < CODES; i++)
                seen[i] = 0;
            for (uint64_t number = 0; number < (uint64_t)orders; number++) {
                hw_shuffle order = order_of(kind, count, number);
                uint64_t code = 0;
                for (uint64_t k = 0; k < count; k++)
                    code = code * count + hw_shuffle_at(&order, k);
                seen[code]++;
            }
            double possible = tgamma((double)count + 1), expected = orders / possible, sum = 0, found = 0;
            for (int i = 0; i < CODES; i++)
                if (seen[i] > 0) {
                    found++;
                    sum += (seen[i] - expected) * (seen[i] - expected) / expected;
                }
            assert_true(found == possible);
            assert_true(fabs(excess(sum, possible)) < 4);
        }
}

/* Returns the excess of pairs (number at place a, number at place b) over all pairs of different numbers. */
static double pairs_excess(uint64_t count, uint64_t a, uint64_t b, varied kind)
{
    double sum = 0, pairs = (double)(count * (count - 1)), orders = 10 * pairs;
    int *seen = calloc(count * count, sizeof *seen);
    assert_non_null(seen);
    for (uint64_t number = 0; number < (uint64_t)orders; number++) {
        hw_shuffle order = order_of(kind, count, number);
        seen[hw_shuffle_at(&order, a) * count + hw_shuffle_at(&order, b)]++;
    }
    for (uint64_t i = 0; i < count * count; i++)
        if (i / count != i % count)
            sum += (seen[i] - 10) * (seen[i] - 10) / 10.0;
    free(seen);
    return excess(sum, pairs);
}

static void places_are_independent(void **state)
{
    (void)state;
    static const uint64_t counts[] = {7, 16, 17, 64, 130, 257};
    for (size_t i = 0; i < sizeof counts / sizeof *counts - (SANITIZED ? 2 : 0); i++) {
        uint64_t n = counts[i];
        const uint64_t places[][2] = {{0, 1}, {0, n - 1}, {n / 2, n / 2 + 1}};
        for (size_t p = n > 200 ? 2 : 0; p < sizeof places / sizeof *places; p++)
            assert_true(fabs(pairs_excess(n, places[p][0], places[p][1], (varied)(p % KINDS))) < 4);
    }
}

/* The number at a place of one epoch says nothing about the number there in the next epoch. */
static void epochs_are_independent(void **state)
{
    (void)state;
    enum { COUNT = 50, EPOCHS = 50000 };
    static int seen[COUNT * COUNT];
    uint64_t before = 0;
    for (uint64_t epoch = 0; epoch <= EPOCHS; epoch++) {
        hw_shuffle order = order_of(EPOCH, COUNT, epoch);
        uint64_t now = hw_shuffle_at(&order, 11);
        if (epoch > 0)
            seen[before * COUNT + now]++;
        before = now;
    }
    double sum = 0, expected = (double)EPOCHS / (COUNT * COUNT);
    for (int i = 0; i < COUNT * COUNT; i++)
        sum += (seen[i] - expected) * (seen[i] - expected) / expected;
    assert_true(fabs(excess(sum, COUNT * COUNT)) < 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_has_every_number_once), cmocka_unit_test(large_order_stays_in_its_range),
        cmocka_unit_test(orders_are_uniform),          cmocka_unit_test(places_are_independent),
        cmocka_unit_test(epochs_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
