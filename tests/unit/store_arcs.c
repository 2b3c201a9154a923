/* Which server has a key of a dense table: each key has exactly one server, both ends of the key space included, and servers
 * have equal shares. */
#include "store/arcs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"

/* Arcs ascend without gaps or overlaps, go to the servers in turn, and none is longer than another by more than one key. */
static void check_arcs(const hw_arcs *arcs, uint64_t first, uint64_t last, uint32_t servers)
{
    uint64_t least = UINT64_MAX, greatest = 0;
    assert_true(arcs->count > 0);
    assert_true(arcs->arcs[0].first == first && arcs->arcs[arcs->count - 1].last == last);
    for (size_t i = 0; i < arcs->count; i++) {
        const hw_arc *arc = &arcs->arcs[i];
        assert_true(arc->first <= arc->last);
        assert_int_equal(arc->server, i % servers);
        if (i > 0)
            assert_true(arc->first == arc[-1].last + 1 && arc->first != 0);
        least = arc->last - arc->first < least ? arc->last - arc->first : least;
        greatest = arc->last - arc->first > greatest ? arc->last - arc->first : greatest;
        assert_int_equal(hw_arcs_find(arcs, arc->first), i);
        assert_int_equal(hw_arcs_find(arcs, arc->last), i);
    }
    assert_true(greatest - least <= 1);
}

static void every_key_has_one_server(void **state)
{
    (void)state;
    hw_random random = hw_random_at(7, 1, 0, 0);
    for (uint32_t servers = 1; servers <= 70; servers += servers < 10 ? 1 : 12)
        for (int draw = 0; draw < 40; draw++) {
            uint64_t first = 0, last = UINT64_MAX, most = 1 + hw_random_below(&random, 1 << 18);
            if (draw > 0) { /* of every size, and often at an end */
                uint64_t keys = hw_random_next(&random) >> hw_random_below(&random, 64);
                first = draw % 3 == 0 ? 0 : hw_random_next(&random);
                if (draw % 3 == 1)
                    first = UINT64_MAX - keys;
                last = first + keys < first ? UINT64_MAX : first + keys;
            }
            hw_arcs arcs;
            assert_int_equal(hw_arcs_deal(first, last, servers, most, &arcs, NULL), HAWSER_OK);
            check_arcs(&arcs, first, last, servers);
            hw_arcs_free(&arcs);
        }
}

/* A range takes as few arcs as it may: `most` keys each, the same number for all servers, and not too many of them. */
static void a_range_takes_few_arcs(void **state)
{
    (void)state;
    static const struct {
        uint64_t keys, most;
        uint32_t servers;
        size_t count;
    } known[] = {
        {1000000, 131072, 1, 1},
        {1000000, 131072, 2, 8},
        {1000000, 131072, 4, 8},
        {1000000, 131072, 8, 8},
        {1000000, 131072, 3, 9},
        {262144, 131072, 2, 2},
        {262145, 131072, 2, 4},
        {100, 131072, 2, 2},
        {1, 131072, 4, 1},
        {3, 131072, 4, 3},
        {5, 1, 4, 5},
        {8, 1, 4, 8},
        {UINT64_MAX - 39, 1, 2, 128},
        {1000000, 1000, 2, 128},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        hw_arcs arcs;
        assert_int_equal(hw_arcs_deal(40, 39 + known[i].keys, known[i].servers, known[i].most, &arcs, NULL), HAWSER_OK);
        assert_int_equal(arcs.count, known[i].count);
        hw_arcs_free(&arcs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_has_one_server),
        cmocka_unit_test(a_range_takes_few_arcs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
