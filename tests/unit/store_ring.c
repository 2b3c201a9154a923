/* Which server has a key of a sparse table, at any number of servers. */
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

/* A key's server, found another way: the greatest point at or before the key's position, by looking at all of them. */
static void a_key_belongs_to_the_point_before_it(void **state)
{
    (void)state;
    for (uint32_t servers = 1; servers <= 70; servers += servers < 10 ? 1 : 12) {
        hw_ring ring = make(servers, 1 + servers % 9);
        for (uint64_t key = 0; key < 300; key++) {
            uint32_t server = ring.servers[ring.count - 1]; /* the last arc goes on past zero */
            for (size_t i = 0; i < ring.count; i++)
                if (ring.points[i] <= hw_mix(key))
                    server = ring.servers[i];
            assert_int_equal(hw_ring_of_key(&ring, key), server);
        }
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
        hw_ring_free(&before);
        hw_ring_free(&after);
    }
}

static void shares_are_even(void **state)
{
    (void)state;
    for (uint32_t servers = 2; servers <= 32; servers *= 2) {
        hw_ring ring = make(servers, HW_RING_POINTS);
        uint32_t share[32] = {0}, keys = 100000;
        for (uint64_t key = 0; key < keys; key++)
            share[hw_ring_of_key(&ring, key)]++;
        for (uint32_t s = 0; s < servers; s++)
            assert_true((double)share[s] * servers / keys < 1.6 && share[s] > 0);
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
        cmocka_unit_test(a_key_belongs_to_the_point_before_it),
        cmocka_unit_test(a_new_server_takes_only_its_own),
        cmocka_unit_test(shares_are_even),
        cmocka_unit_test(products_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
