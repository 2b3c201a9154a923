/* Which server has a key: every key exactly one, both ends of the key space included, at any number of servers. */
#include "store/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/wide.h"

static hw_ring make(uint32_t servers, uint32_t points)
{
    uint64_t *names = malloc(servers * sizeof *names);
    for (uint32_t i = 0; i < servers; i++)
        names[i] = 1000 + i;
    hw_ring ring;
    assert_int_equal(hw_ring_new(names, servers, points, &ring, NULL), HAWSER_OK);
    free(names);
    return ring;
}

/* Ascending, without gaps or overlaps, from the first key to the last. */
static void check_cover(const hw_arcs *arcs, uint64_t first, uint64_t last, uint32_t servers)
{
    assert_true(arcs->count > 0);
    assert_true(arcs->arcs[0].first == first && arcs->arcs[arcs->count - 1].last == last);
    for (size_t i = 0; i < arcs->count; i++) {
        assert_true(arcs->arcs[i].first <= arcs->arcs[i].last && arcs->arcs[i].server < servers);
        if (i > 0)
            assert_true(arcs->arcs[i].first == arcs->arcs[i - 1].last + 1 && arcs->arcs[i].first != 0 &&
                        arcs->arcs[i].server != arcs->arcs[i - 1].server);
        assert_int_equal(hw_arcs_find(arcs, arcs->arcs[i].first), i);
        assert_int_equal(hw_arcs_find(arcs, arcs->arcs[i].last), i);
    }
}

static void every_key_has_one_server(void **state)
{
    (void)state;
    hw_random random = hw_random_at(7, 1, 0, 0);
    for (uint32_t servers = 1; servers <= 70; servers += servers < 10 ? 1 : 12)
        for (int draw = 0; draw < 20; draw++) {
            hw_ring ring = make(servers, 1 + (uint32_t)hw_random_below(&random, 80));
            uint64_t first = 0, last = UINT64_MAX;
            if (draw > 0) { /* of every size, and often at an end */
                uint64_t keys = hw_random_next(&random) >> hw_random_below(&random, 64);
                first = draw % 3 == 0 ? 0 : hw_random_next(&random);
                if (draw % 3 == 1)
                    first = UINT64_MAX - keys;
                last = first + keys < first ? UINT64_MAX : first + keys;
            }
            hw_arcs arcs;
            assert_int_equal(hw_ring_cut(&ring, first, last, &arcs, NULL), HAWSER_OK);
            check_cover(&arcs, first, last, servers);
            hw_arcs_free(&arcs);
            hw_ring_free(&ring);
        }
}

/* A key's server, found another way: the greatest point at or before floor(offset * 2^64 / keys), by looking at all of them. */
static void arcs_are_those_of_the_circle(void **state)
{
    (void)state;
    for (uint64_t keys = 1; keys <= 300; keys += 13) {
        hw_ring ring = make(5, 9);
        hw_arcs arcs;
        assert_int_equal(hw_ring_cut(&ring, 40, 40 + keys - 1, &arcs, NULL), HAWSER_OK);
        for (uint64_t k = 0; k < keys; k++) {
            uint32_t server = ring.servers[ring.count - 1];
            for (size_t i = 0; i < ring.count; i++) {
                uint64_t low, high = hw_multiply_high(ring.points[i], keys, &low); /* point / 2^64 <= k / keys */
                if (high < k || (high == k && low == 0))
                    server = ring.servers[i];
            }
            assert_int_equal(arcs.arcs[hw_arcs_find(&arcs, 40 + k)].server, server);
        }
        hw_arcs_free(&arcs);
        hw_ring_free(&ring);
    }
}

/* When a server comes, keys move to it and nowhere else. */
static void a_new_server_takes_only_its_own(void **state)
{
    (void)state;
    for (uint32_t servers = 1; servers < 20; servers++) {
        hw_ring before = make(servers, HW_RING_POINTS), after = make(servers + 1, HW_RING_POINTS);
        uint32_t moved = 0;
        for (uint64_t key = 0; key < 20000; key++) {
            uint32_t old = hw_ring_of_key(&before, key), now = hw_ring_of_key(&after, key);
            assert_true(now == old || now == servers);
            moved += now != old;
        }
        assert_true(moved > 0);
        hw_arcs old, now;
        assert_int_equal(hw_ring_cut(&before, 0, 99999, &old, NULL), HAWSER_OK);
        assert_int_equal(hw_ring_cut(&after, 0, 99999, &now, NULL), HAWSER_OK);
        for (uint64_t key = 0; key < 100000; key += 7) {
            uint32_t a = old.arcs[hw_arcs_find(&old, key)].server, b = now.arcs[hw_arcs_find(&now, key)].server;
            assert_true(a == b || b == servers);
        }
        hw_arcs_free(&old);
        hw_arcs_free(&now);
        hw_ring_free(&before);
        hw_ring_free(&after);
    }
}

static void shares_are_even(void **state)
{
    (void)state;
    for (uint32_t servers = 2; servers <= 32; servers *= 2) {
        hw_ring ring = make(servers, HW_RING_POINTS);
        hw_arcs arcs;
        assert_int_equal(hw_ring_cut(&ring, 0, 9999999, &arcs, NULL), HAWSER_OK);
        uint64_t share[32] = {0};
        for (size_t i = 0; i < arcs.count; i++)
            share[arcs.arcs[i].server] += arcs.arcs[i].last - arcs.arcs[i].first + 1;
        for (uint32_t s = 0; s < servers; s++)
            assert_true((double)share[s] * servers / 1e7 < 1.6 && share[s] > 0);
        hw_arcs_free(&arcs);
        hw_ring_free(&ring);
    }
}

static void products_are_whole(void **state)
{
    (void)state;
    static const struct {
        uint64_t a, b, high, low;
    } known[] = {
        {0, UINT64_MAX, 0, 0},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX - 1, 1},
        {UINT64_C(1) << 63, 6, 3, 0},
        {UINT64_C(0x123456789abcdef0), UINT64_C(0xfedcba9876543210), UINT64_C(0x121fa00ad77d7422),
         UINT64_C(0x236d88fe5618cf00)},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint64_t low;
        assert_true(hw_multiply_high(known[i].a, known[i].b, &low) == known[i].high && low == known[i].low);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_has_one_server),
        cmocka_unit_test(arcs_are_those_of_the_circle),
        cmocka_unit_test(a_new_server_takes_only_its_own),
        cmocka_unit_test(shares_are_even),
        cmocka_unit_test(products_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
